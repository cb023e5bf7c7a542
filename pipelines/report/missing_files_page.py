"""Missing raw files as a user reads them: to download, behind terms, fetched by hand, and the command or page for each."""

import logging
import re
import shlex
import textwrap
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from builders.catalogue import Definition, entries, requested_splits
from builders.errors import MissingFile, MissingReason
from pipelines.raw.cache import default_cache
from pipelines.raw.missing_files import MissingRawFile, NeededFiles, find_buildable, find_missing_files
from pipelines.raw.settings import RawSettings
from pipelines.report.tables import WIDTH, wrap
from pipelines.terminal import format_size, summary_level

NUMBER = re.compile(r"\d+")
MANY = 6  # files of one source that are listed a line each
TITLES: dict[MissingReason, str] = {
    "offline": "to download",
    "gated": "to download once the terms on each page are accepted",
    "by hand": "to be fetched by hand",
    "unavailable": "failed to download, for the reasons above",
}


logger = logging.getLogger(__name__)


def missing_files_page(
    missing: Sequence[MissingRawFile], raw: RawSettings, *, splits: tuple[str, ...] | None = None
) -> list[str]:
    """The missing files as lines: those to download, those with terms, those fetched by hand, and what to do about each group."""
    lines = []
    for reason, title in TITLES.items():
        files = [file for file in missing if file.reason == reason]
        if not files:
            continue
        lines += ["", f"{title}: {total_size([file.bytes for file in files])}" if reason != "by hand" else title]
        for _, together in groupby(files, key=lambda file: (file.source.name, file.datasets)):
            lines += _group_lines(list(together))
        if reason == "gated":
            lines += wrap("then, with a token of that account (HF_TOKEN, or hf auth login):", "  ")
        if reason != "by hand":
            lines += _command(_fetch(files, raw, splits))
    if not lines:
        return []
    folder = raw.raw_dir or "DIR"
    place = f"files that you have: put them below {folder}, under these names"
    return [*lines, "", *wrap(place if raw.raw_dir else f"{place}, and pass --raw-dir DIR", break_words=False)]


def missing_files_summary(
    needs: Sequence[NeededFiles],
    raw: RawSettings,
    splits: tuple[str, ...] | None = None,
    failed: Collection[MissingFile] = (),
) -> list[str]:
    """How many raw files some datasets lack, each file, and what could be built without them; no lines where nothing is missing.

    splits: those that the command line names. failed: the files whose downloads failed.
    """
    missing = find_missing_files(needs, raw, failed)
    if not missing:
        return []
    lines = [count_missing(len(missing)), *missing_files_page(missing, raw, splits=splits)]
    return lines + buildable_lines("test", find_buildable("test", needs, raw), raw)


def log_missing_files(
    datasets: Iterable[tuple[Definition, str]],
    raw: RawSettings,
    splits: tuple[str, ...] | None = None,
    failed: Collection[MissingFile] = (),
) -> None:
    """Log the summary of the raw files that some datasets lack, if there are any; parameters as for `missing_files_summary`."""
    needs = [NeededFiles(definition, version, requested_splits(definition, splits)) for definition, version in datasets]
    lines = missing_files_summary(needs, raw, splits, failed)
    if lines:
        logger.log(summary_level(failed=True), "\n".join(lines))


def count_missing(number: int) -> str:
    """ "12 raw files are missing"."""
    return f"{number} raw file{' is' if number == 1 else 's are'} missing"


def buildable_lines(split: str, names: Sequence[str], raw: RawSettings) -> list[str]:
    """What could be built of one split alone, and the command for it; no lines where nothing could."""
    if not names:
        return []
    could = f"with --splits {split}, {len(names)} more could be built: {', '.join(names)}"
    return ["", *wrap(could), *_command(["build", *names, "--splits", split, *_raw_options(raw)])]


def total_size(sizes: Sequence[int | None]) -> str:
    """A sum of sizes, as far as they are known: "7 files, 1.4 GB and 3 of unknown size"."""
    known = [size for size in sizes if size is not None]
    unknown = len(sizes) - len(known)
    files = f"{len(sizes)} file{'' if len(sizes) == 1 else 's'}"
    if not known:
        return f"{files}, size unknown"
    return f"{files}, {format_size(sum(known))}" + (f" and {unknown} of unknown size" if unknown else "")


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
    return [name for one in series for name in (one if len(one) < 3 else [f"{one[0]} ... {one[-1]}"])]


def _file_lines(file: MissingRawFile) -> list[str]:
    lines = [f"  {file.name}" + (f"  {format_size(file.bytes)}" if file.bytes is not None else "")]
    notes = [file.url] if file.reason == "gated" else []
    if file.members:
        notes.append(f"or, extracted: {', '.join(f'{file.source.name}/{one}' for one in file.members)}")
    if file.instructions is not None:
        notes.append(file.instructions.rstrip("."))
    return lines + [line for note in notes if note for line in wrap(note, "    ", break_words=False)]


def _fetch(files: Sequence[MissingRawFile], raw: RawSettings, splits: tuple[str, ...] | None) -> list[str]:
    """The command that downloads files: named by source, where all datasets of the source need them."""
    needed = dict.fromkeys(dataset for file in files for dataset in file.datasets)
    names = dict[str, None]()
    for name in needed:
        source = entries()[name].source if name in entries() else None
        whole = source is not None and all(
            entry.dataset in needed for entry in entries().values() if entry.source == source
        )
        names[source if whole and source is not None else name] = None
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
