"""The raw files that several datasets need: each once, where it would come from, or why it is missing and how to get it."""

import logging
import re
import shlex
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from builders.catalogue import Definition, entries, needed_files, requested_splits
from builders.errors import DatasetError, MissingFile, MissingReason
from builders.raw_files import ByHand, Hub, RawFile
from builders.spec import Source
from pipelines.process.tables import WIDTH, wrap
from pipelines.process.terminal import format_duration, format_size, summary_level
from pipelines.raw.digests import default_cache
from pipelines.raw.locations import PlannedFile, locate, missing_reason, plan_file
from pipelines.raw.requests import HUB, file_url
from pipelines.raw.settings import RawSettings, make_request, stored_file


@dataclass(frozen=True)
class NeededFiles:
    """The raw files that some splits of a version of a dataset need."""

    definition: Definition
    version: str
    splits: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """The keys of the files in the source."""
        return needed_files(self.definition, self.splits, self.version)


def list_needs(datasets: Iterable[tuple[Definition, str]], splits: tuple[str, ...] | None = None) -> list[NeededFiles]:
    """What some versions of datasets need. splits: as on the command line; None for all.

    Raises UsageError for a split that does not exist.
    """
    return [NeededFiles(definition, version, requested_splits(definition, splits)) for definition, version in datasets]


def plan_downloads(needs: Iterable[NeededFiles], raw: RawSettings) -> list[PlannedFile]:
    """The files that some datasets need, each once; nothing is opened.

    A member of an archive that lies somewhere by itself is a separate file.

    Raises SourceError for a directory in place of a file, UsageError where `raw_dir` does not exist.
    """
    planned = (plan_file(need.definition.source, key, raw) for need in needs for key in need.keys)
    return list({plan.name: plan for plan in planned}.values())


SPEED = 10_000_000  # bytes a second from the network, for estimates
LARGE = 1_000_000_000  # bytes to download before which a person is asked


def large_download(datasets: Iterable[tuple[Definition, str]], splits: tuple[str, ...] | None, raw: RawSettings) -> str:
    """What some datasets would download, where that is more than LARGE or of unknown size; empty where it is neither."""
    plans: dict[str, PlannedFile] = {}
    for each in datasets:
        with suppress(DatasetError):  # the command says so when it comes to that dataset
            planned = plan_downloads(list_needs([each], splits), raw)
            plans |= {plan.name: plan for plan in planned if plan.origin == "download"}
    sizes = [plan.bytes for plan in plans.values()]
    known, unknown = sum(size or 0 for size in sizes), [plan.name for plan in plans.values() if plan.bytes is None]
    names = f"; of unknown size: {', '.join(unknown[:MANY])}{', ...' * (len(unknown) > MANY)}" * bool(unknown)
    took = f", about {format_duration(known / SPEED)}" * bool(known)
    text = f"to download: {total_size(sizes)}{took}{names}"
    return text * (known > LARGE or bool(unknown))


@dataclass(frozen=True)
class MissingRawFile:
    """A raw file, or a whole archive, that is not on this machine.

    bytes: its size, where it is known. datasets: those that need it. members: where it is an archive, the files that are read in
    it; each of them may lie below --raw-dir instead.
    """

    source: Source
    file: RawFile
    reason: MissingReason
    bytes: int | None
    datasets: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name, `<source>/<name>`."""
        return f"{self.source.name}/{self.file.name}"

    @property
    def url(self) -> str | None:
        """The page with its terms, the address that it is downloaded from, or None where a person fetches it."""
        location = self.file.location
        if self.reason == "gated" and isinstance(location, Hub):
            return f"{HUB}/datasets/{location.repo}"
        return file_url(location)

    @property
    def made_by(self) -> str:
        """The command of this package that makes it; empty where a person gets it."""
        return self.file.location.made_by if isinstance(self.file.location, ByHand) else ""

    @property
    def instructions(self) -> str | None:
        """How a person fetches it; None where a program may."""
        return self.file.location.instructions if isinstance(self.file.location, ByHand) else None


def is_said(error: DatasetError, before: Collection[str]) -> bool:
    """Whether the summary of missing files says all of an error, or an earlier error did. before: files that failed already."""
    missing = error.missing
    return missing is not None and (missing.reason != "unavailable" or missing.name in before or error.repeated)


def find_missing_files(
    needs: Iterable[NeededFiles], raw: RawSettings, failed: Collection[MissingFile] = ()
) -> list[MissingRawFile]:
    """The raw files that are missing, in the order in which they are needed; opens no connection.

    failed: the files whose downloads failed. Any other file that can be downloaded is missing with --offline only.
    """
    reasons = {file.name: file.reason for file in failed}
    missing: dict[str, MissingRawFile] = {}
    for need in needs:
        source = need.definition.source
        for key in need.keys:
            file, stored = source.files[key], stored_file(source.files[key])
            name = f"{source.name}/{stored.name}"
            if (reason := _missing_reason(source, key, raw, reasons.get(name))) is None:
                continue
            size = make_request(source, stored, raw).size
            before = missing.get(name) or MissingRawFile(source, stored, reason, size, (), ())
            members = (*before.members, *(() if file is stored else (file.name,)))
            missing[name] = replace(
                before,
                datasets=tuple(dict.fromkeys((*before.datasets, need.definition.dataset.name))),
                members=tuple(dict.fromkeys(members)),
            )
    return list(missing.values())


def _missing_reason(source: Source, key: str, raw: RawSettings, download: MissingReason | None) -> MissingReason | None:
    """Why a file is missing; None where it is here or can be downloaded. download: why it could not be.

    A directory in its place is an error of another kind.
    """
    try:
        origin = plan_file(source, key, raw).origin
    except DatasetError:
        return None
    if origin in ("missing", "by-hand"):
        return missing_reason(stored_file(source.files[key]).location)
    return download if origin == "download" else None


def find_buildable(needs: Iterable[NeededFiles], raw: RawSettings) -> list[str]:
    """The datasets that have all raw files for the split `test` here, verified; none of those that were asked for it alone."""
    return [
        need.definition.dataset.name
        for need in needs
        if "test" in need.splits and need.splits != ("test",) and _can_test(need, raw)
    ]


def _can_test(need: NeededFiles, raw: RawSettings) -> bool:
    source, local = need.definition.source, replace(raw, offline=True, mirrors=())
    try:
        for key in replace(need, splits=("test",)).keys:
            if plan_file(source, key, raw).origin != "mirror":
                locate(source, key, local)
    except DatasetError:
        return False
    return True


NUMBER = re.compile(r"\d+")
MANY = 6  # files of one source that are listed a line each
MAKERS = {
    "contamination index": "an index of benchmarks",
    "decide": "by decide SOURCE",
    "mine": "by decide DATASET --model MODEL",
    "published": "by decide DATASET --published ORG/NAME@REVISION",
}
TITLES: dict[MissingReason, str] = {
    "by hand": "to be fetched by hand",
    "gated": "to download once the terms on each page are accepted",
    "unavailable": "failed to download, for the reasons above",
    "offline": "to download",
}


logger = logging.getLogger(__name__)


ORIGINS = {
    "raw-dir": "here",
    "cache": "here",
    "download": "to download",
    "missing": "missing",
    "by-hand": "by hand",
    "mirror": "on a mirror",
}


def download_page(plans: Sequence[PlannedFile]) -> list[str]:
    """The plan as lines: the files by source, of a few sources each with its size and its address or path, then the totals.

    Of a series of files, the first and the last are named, and the address of the first. Names, addresses and paths stay whole.
    """
    lines = []
    for source, group in groupby(plans, key=lambda plan: plan.source):
        files = list(group)
        lines += wrap(f"{source}: {_counts(files)}")
        if len({plan.source for plan in plans}) > MANY:
            continue
        for _, series in groupby(files, key=lambda plan: (NUMBER.sub("#", plan.name), plan.origin)):
            file, *others = list(series)
            name = file.name.removeprefix(f"{source}/") + "".join(
                f" ... {plan.name.rpartition('/')[2]}" for plan in others[-1:]
            )
            size = total_size([plan.bytes for plan in (file, *others)]) if others else _size(file.bytes)
            terms = ", accept its terms first" if file.gated and file.origin == "download" else ""
            lines.append(f"  {name}  {size}  {'made here' if file.made_by else file.origin}{terms}")
            if file.origin in {"raw-dir", "cache", "download", "mirror"}:
                lines.append(f"    {file.where}{' ...' if others else ''}")
    wanted = [plan for plan in plans if plan.origin == "download"]
    made = "; what is made here: embedding-datasets fetch NAME... --plan" * any(plan.made_by for plan in plans)
    seconds = format_duration(sum(plan.bytes or 0 for plan in wanted) / SPEED)
    pages = dict.fromkeys(plan.where.partition("/resolve/")[0] for plan in wanted if plan.gated)
    return [
        *lines,
        *([""] if lines else []),
        *wrap(f"total: {_counts(plans)}"),
        *(
            wrap(f"about {seconds} to download at {format_size(SPEED)} a second{made}", "time: ")
            if wanted or made
            else []
        ),
        *(f"accept the terms at {page}" for page in pages),
    ]


def _size(size: int | None) -> str:
    return "size unknown" if size is None else format_size(size)


def _counts(plans: Sequence[PlannedFile]) -> str:
    """ "to download 2 files, 3 MB; here 1 file, size unknown"."""
    sizes: dict[str, list[int | None]] = {
        word: [] for word in ("to download", "here", "on a mirror", "missing", "by hand", "made here")
    }
    for plan in plans:
        sizes["made here" if plan.made_by else ORIGINS[plan.origin]].append(plan.bytes)
    return "; ".join(f"{word} {total_size(known)}" for word, known in sizes.items() if known)


def missing_files_page(
    missing: Sequence[MissingRawFile], raw: RawSettings, *, splits: tuple[str, ...] | None = None
) -> list[str]:
    """The missing files as lines: those fetched by hand, those with terms, those to download, each group with what to do.

    The command that downloads those without terms is not among them.
    """
    lines = []
    for reason, title in TITLES.items():
        files = [file for file in missing if file.reason == reason]
        if not files:
            continue
        lines += _made_lines([file for file in files if file.made_by])
        files = [file for file in files if not file.made_by]
        if files:
            lines += ["", f"{title}: {total_size([file.bytes for file in files])}" if reason != "by hand" else title]
        for _, together in groupby(files, key=lambda file: (file.source.name, file.datasets)):
            lines += _group_lines(list(together))
        if reason == "gated":
            lines += wrap("then, with a token of that account (HF_TOKEN, or hf auth login):", "  ")
            lines += _command(_fetch(files, raw, splits))
    place = f"files that you have: put them below {raw.raw_dir or 'DIR'}, under these names"
    return [*lines, "", *wrap(place if raw.raw_dir else f"{place}, and pass --raw-dir DIR", break_words=False)]


def _made_lines(files: Sequence[MissingRawFile]) -> list[str]:
    """The files that this package makes, by the command that makes them, and how to get them all in order."""
    lines = ["", *wrap("made here, in this order: embedding-datasets fetch NAME... --plan > plan.sh")] if files else []
    for made_by, command in MAKERS.items():
        if names := dict.fromkeys(file.source.name for file in files if file.made_by == made_by):
            lines += wrap(
                f"{len([file for file in files if file.made_by == made_by])} for {', '.join(names)}", f"  {command}: "
            )
    return lines


def missing_files_summary(
    needs: Sequence[NeededFiles],
    raw: RawSettings,
    splits: tuple[str, ...] | None = None,
    failed: Collection[MissingFile] = (),
    describe: Callable[[str], str] = str,
) -> list[str]:
    """Each raw file that some datasets lack, then how many, the command to get them, and what could be built without them.

    No lines where nothing is missing. splits: those that the command line names. failed: the files whose downloads failed.
    describe: a sentence with how many are missing.
    """
    missing = find_missing_files(needs, raw, failed)
    if not missing:
        return []
    lines = [
        "the raw files that are missing:",
        *missing_files_page(missing, raw, splits=splits),
        "",
        describe(count_missing(len(missing))),
    ]
    if free := [file for file in missing if file.reason in ("offline", "unavailable") and not file.made_by]:
        lines += _command(_fetch(free, raw, splits))
    if names := find_buildable(needs, raw):
        could = f"with --splits test, {len(names)} more could be built: {', '.join(names)}"
        lines += ["", *wrap(could), *_command(["build", *names, "--splits", "test", *_raw_options(raw)])]
    return lines


def log_missing_files(
    needs: Sequence[NeededFiles],
    raw: RawSettings,
    splits: tuple[str, ...] | None = None,
    failed: Collection[MissingFile] = (),
) -> None:
    """Log the summary of the raw files that some datasets lack, if there are any; parameters as for `missing_files_summary`."""
    if lines := missing_files_summary(needs, raw, splits, failed):
        logger.log(summary_level(failed=True), "\n".join(lines))


def count_missing(number: int) -> str:
    """ "12 raw files are missing"."""
    return f"{number} raw file{' is' if number == 1 else 's are'} missing"


def total_size(sizes: Sequence[int | None]) -> str:
    """A sum of sizes, as far as they are known: "7 files, at least 1.4 GB (3 of unknown size)"."""
    known = [size for size in sizes if size is not None]
    unknown = len(sizes) - len(known)
    files = f"{len(sizes)} file{'' if len(sizes) == 1 else 's'}"
    if not known:
        return f"{files}, size unknown"
    total = format_size(sum(known))
    return f"{files}, at least {total} ({unknown} of unknown size)" if unknown else f"{files}, {total}"


def _group_lines(files: Sequence[MissingRawFile]) -> list[str]:
    """Files of one source that the same datasets need: a line each, or their names in a row where they are many."""
    source = files[0].source.name
    if len(files) <= MANY:
        lines = [line for file in files for line in _file_lines(file)]
    else:
        lines = [f"  {source}/: {total_size([file.bytes for file in files])}"]
        names = ", ".join(_fold_series([file.file.name for file in files]))
        lines += wrap(names, "    ", break_words=False)
    return lines + wrap(f"for {', '.join(files[0].datasets)}", "    ")


def _fold_series(names: Iterable[str]) -> list[str]:
    """Names, with a series that differs in a number only as its first and its last: `docs-0.gz ... docs-19.gz`."""
    series = [list(group) for _, group in groupby(names, key=lambda name: NUMBER.sub("#", name))]
    return [name for run in series for name in (run if len(run) < 3 else [f"{run[0]} ... {run[-1]}"])]


def _file_lines(file: MissingRawFile) -> list[str]:
    lines = [f"  {file.name}" + (f"  {format_size(file.bytes)}" if file.bytes is not None else "")]
    notes = [file.url] if file.reason == "gated" else []
    if file.members:
        notes.append(f"or, extracted: {', '.join(f'{file.source.name}/{member}' for member in file.members)}")
    if file.instructions is not None:
        notes.append(file.instructions.rstrip("."))
    return lines + [line for note in notes if note for line in wrap(note, "    ", break_words=False)]


def _fetch(files: Sequence[MissingRawFile], raw: RawSettings, splits: tuple[str, ...] | None) -> list[str]:
    """The command that downloads files: named by source, where all datasets of the source need them."""
    needed = dict.fromkeys(dataset for file in files for dataset in file.datasets)
    names = dict[str, None]()
    for name in needed:
        source = entries()[name].source
        whole = all(entry.dataset in needed for entry in entries().values() if entry.source == source)
        names[source if whole else name] = None
    return ["fetch", *names, *(["--splits", ",".join(splits)] if splits else []), *_raw_options(raw)]


def _raw_options(raw: RawSettings) -> list[str]:
    options = ["--raw-dir", str(raw.raw_dir)] if raw.raw_dir else []
    return options + (["--cache", str(raw.cache)] if raw.cache != default_cache() else [])


def _command(arguments: Sequence[str]) -> list[str]:
    """A command to copy, continued with a backslash where it is wider than the page."""
    lines = textwrap.wrap(
        f"embedding-datasets {shlex.join(arguments)}",
        WIDTH - 8,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return ["    " + line for line in " \\\n  ".join(lines).splitlines()]
