"""What the beginnings of raw files tell before anything is downloaded: `fetch --probe --records N`.

The first records of each file are written below a scratch folder, as below `--raw-dir`, and each dataset is built from them as
from files that are not the pinned ones. What a person or a model makes is taken from the golden sample.
"""

import json
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builders.catalogue import Definition, needed_files
from builders.errors import DatasetError, SourceError
from builders.raw_files import ByHand, GitHub, Hub, Member, RawFile
from builders.spec import Raw, Source
from pipelines.build_report.redaction import failure_of, report_error, unexpected_failure
from pipelines.make import BuildSettings, make
from pipelines.process import interrupts
from pipelines.process.files import write_atomically
from pipelines.process.tables import wrap
from pipelines.process.terminal import format_duration, format_size
from pipelines.raw.digests import Digest, hash_content
from pipelines.raw.heads import MEGABYTE, Head, write_heads
from pipelines.raw.listings import Listing, compare_listing, find_unseen, list_repository
from pipelines.raw.locations import GOLDEN, publisher_request
from pipelines.raw.pins import LockEntry, Pin
from pipelines.raw.settings import FileRequest, RawSettings, copy_requests, make_request, stored_file
from pipelines.release.figures import read_published

# Errors that these raise are about the content of a file. Others may be due to the rows that are not there.
READERS = (
    "pipelines.raw.pins",
    "builders.reading",
    "builders.shaping.rows",
    "builders.shaping.labels",
    "builders.shaping.preferences",
)

OTHER_FILE = " not in the "  # judgements of a corpus: what is named may follow behind the first records


@dataclass(frozen=True)
class FileLook:
    """A raw file, or a whole archive. found: what is wrong. heads: of what is read of it, by name. lock: what `accept` takes.

    unseen: what was not looked at of it. trouble: whether that is due to a server in trouble.
    """

    name: str
    bytes: int | None = None
    found: tuple[str, ...] = ()
    heads: dict[str, Head] = field(default_factory=dict)
    lock: LockEntry | None = None
    bytes_read: int = 0
    seconds: float = 0
    unseen: tuple[str, ...] = ()
    trouble: bool = False


@dataclass(frozen=True)
class DatasetLook:
    """A dataset. state: `builds` from the first records, `fails` or `unknown`. by_hand: files that a person gets."""

    name: str
    state: str
    why: str = ""
    by_hand: tuple[str, ...] = ()


@dataclass(frozen=True)
class Looks:
    """What is seen of files, and of the datasets that are built from them. records: how many were asked for."""

    files: list[FileLook]
    datasets: list[DatasetLook]
    records: int = 0

    @property
    def exit_code(self) -> int:
        """1 where something is wrong or will not build, else that of a SourceError where a server is in trouble, else 0."""
        is_wrong = any(each.found for each in self.files) or any(each.state == "fails" for each in self.datasets)
        return int(is_wrong) or SourceError.exit_code * any(each.trouble for each in self.files)


def look(
    files: Iterable[tuple[Source, RawFile]],
    datasets: Sequence[tuple[Definition, str]],
    settings: RawSettings,
    records: int,
    done: Callable[[int], None],
    *,
    sizes: Mapping[str, int | None] | None = None,
) -> Looks:
    """Look at files, and build datasets from their first records. done: called for each file that is read.

    sizes: of files by `<source>/<name>`, as their servers say without sending them.
    """
    # The rows that a source has, where exactly that is published.
    counts = {
        definition.source.name: fact["value"]
        for definition, version in datasets
        for fact in (read_published(definition.dataset.name, version) or {"facts": ()})["facts"]
        if str(fact["path"][1]).startswith("rows of ") and fact.keys() <= {"path", "value", "every"}
    }
    with TemporaryDirectory() as scratch:
        seen = _look_at_files(files, settings, records, Path(scratch), done, stated=sizes or {}, counts=counts)
        heads = {(file.name.partition("/")[0], name): head for file in seen for name, head in file.heads.items()}
        return Looks(seen, _look_at_datasets(datasets, Path(scratch), records, heads), records)


def _look_at_files(
    files: Iterable[tuple[Source, RawFile]],
    settings: RawSettings,
    records: int,
    folder: Path,
    done: Callable[[int], None],
    *,
    stated: Mapping[str, int | None],
    counts: Mapping[str, int],
) -> list[FileLook]:
    """The files that a program may fetch, each archive once; their first records are written below `folder`."""
    groups: dict[str, tuple[Source, RawFile, list[RawFile]]] = {}
    for source, file in files:
        stored = stored_file(file)
        if not isinstance(stored.location, ByHand):
            groups.setdefault(f"{source.name}/{stored.name}", (source, stored, []))[2].append(file)
    lists = cache(lambda location: list_repository(location, settings))
    patience, said = replace(settings.patience, retries=2), set[int]()

    def look_at(name: str, source: Source, stored: RawFile, members: list[RawFile]) -> FileLook:
        request, found, began = make_request(source, stored, settings), list[str](), time.monotonic()
        location, listing = request.location, Listing()
        if isinstance(location, Hub | GitHub):
            listing = lists(replace(location, path=""))
            found += [] if id(listing) in said else compare_listing(source, location, listing)
            said.add(id(listing))
        unseen = find_unseen(location, listing)
        listed_size, sha256, blob = listing.files.get(getattr(location, "path", ""), (None, None, None))
        try:
            heads, size, read, notes = write_heads(
                publisher_request(request), members, folder / source.name, records, patience
            )
        except SourceError as error:
            why = error.found or error.what
            in_trouble = error.expected is None  # the server neither denies the file nor lacks it
            is_wrong = not in_trouble and not (error.missing and error.missing.reason == "gated")
            (found if is_wrong else unseen).append(why if is_wrong else f"the file: {why}")
            heads = {
                file.name: _look_elsewhere(source, file, settings, folder, records) for file in members * error.gone
            }
            unseen += [f"the records of {file}: {head.unread}" for file, head in heads.items() if head.unread]
            return FileLook(
                name, listed_size, tuple(found), heads, unseen=tuple(unseen), trouble=in_trouble or listing.trouble
            )
        numbers = (size, listed_size, request.pin.bytes, stated.get(name))
        sizes = {f"{number:,}" for number in numbers if number is not None}
        found += (
            [f"server, list and pin name different sizes: {', '.join(sorted(sizes))} bytes"] if len(sizes) > 1 else []
        )
        stored_bytes = folder / source.name / "stored"
        is_whole = size is not None and stored_bytes.stat().st_size == size <= MEGABYTE  # otherwise it may have holes
        whole = hash_content(stored_bytes) if is_whole else Digest(sha256 or "", 0)
        compared = [
            ("sha256", request.pin.sha256 or sha256, whole.sha256), ("sha256", request.pin.sha256, sha256),
            ("git blob", request.pin.git_blob or blob, whole.git_blob), ("git blob", request.pin.git_blob, blob),
        ]  # fmt: skip
        found += dict.fromkeys(
            f"{kind} {digest}, expected {pin}" for kind, pin, digest in compared if pin and digest and pin != digest
        )
        found += [f"{file}: {head.failure}" for file, head in heads.items() if head.failure]
        found += filter(None, [request.doubt_size(size or listed_size or stored.about or 0)])
        for file in members:
            found += _compare_member(make_request(source, file, settings), heads[file.name], folder)
        rows = sum(head.records or 0 for head in heads.values())
        if rows and counts.get(source.name, rows) != rows:
            found.append(f"{rows:,} rows by its header, of {counts[source.name]:,} that are published")
        unseen += [f"of {source.name}/{file}, {head.later}" for file, head in heads.items() if head.later]
        unseen += [f"the records of {file}: {head.unread}" for file, head in heads.items() if head.unread]
        commit = listing.commit if isinstance(location, Hub) else None
        lock = LockEntry(whole.sha256, size, commit) if whole.sha256 and size and not found else None
        return FileLook(
            name, size, tuple(found), heads, lock, read, time.monotonic() - began, (*unseen, *notes), listing.trouble
        )

    looks = []
    for name, group in groups.items():
        looks.append(look_at(name, *group))
        done(1)
    return looks


def _compare_member(request: FileRequest, head: Head, folder: Path) -> list[str]:
    """What differs from the pin of a member of an archive: its size by the directory, its digest where all of it was read."""
    path = folder / request.name
    if not (isinstance(request.file.location, Member) and path.is_file()) or path.suffix in {".gz", ".zst"}:
        return []  # what is packed is packed again
    found = Digest("", head.bytes or request.pin.bytes or 0) if head.is_cut else hash_content(path)
    pin = Pin(bytes=request.pin.bytes) if head.is_cut else request.pin
    return [] if pin.matches(found) else [f"{request.file.name}: {found}, expected {request.pin}"]


def _look_elsewhere(source: Source, file: RawFile, settings: RawSettings, folder: Path, records: int) -> Head:
    """What is seen of a file that its publisher no longer has, at its copies; of one in another format, that it is there."""
    wanted = make_request(source, file, settings)
    unread = "mirrors, which may have it, are not asked" if settings.mirrors and wanted.pin.has_digest else ""
    for copy, same in copy_requests(wanted):
        request, name = publisher_request(copy), copy.file.name
        try:
            head = write_heads(request, [copy.file], folder / source.name, records, settings.patience)[0][name]
        except SourceError as error:
            unread = unread if error.gone else f"{request.url}: {error.found or error.what}"
            continue
        return head if same else Head(is_cut=True, unread=f"its copy in another format is there: {request.url}")
    return Head(is_cut=True, unread=unread, failure="" if unread else "its publisher no longer has it, nor any copy")


def _look_at_datasets(
    datasets: Iterable[tuple[Definition, str]], folder: Path, records: int, heads: Mapping[tuple[str, str], Head]
) -> list[DatasetLook]:
    """Build each dataset from the first records of its files below `folder`, or only read them where a model measures them."""
    looks = []
    for definition, version in datasets:
        source, lacking = definition.source, list[str]()
        files = {key: source.files[key] for key in needed_files(definition, definition.dataset.task.splits, version)}
        hands = {file.name: each for file in files.values() if isinstance(each := stored_file(file).location, ByHand)}
        for file in files.values():
            path, golden = folder / source.name / file.name, GOLDEN / source.name / "raw" / file.name
            if not path.is_file() and file.name in hands and golden.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(golden, path)
            lacking += [] if path.is_file() else [file.name]
        begun = {
            file.name: heads[source.name, file.name] for file in files.values() if (source.name, file.name) in heads
        }
        unusable = [f"{name}: {head.failure}" for name, head in begun.items() if head.failure]
        why = unusable[0] if unusable else f"the beginning of {', '.join(lacking[:3])} is not known" if lacking else ""
        is_cut = any(head.is_cut or head.seen > records for head in begun.values())
        state, why = (
            ("fails" if unusable else "unknown", why)
            if why
            else _try(definition, version, files, folder, records, is_cut=is_cut)
        )
        by_hand = tuple(name for name, location in hands.items() if not location.made_by)
        looks.append(DatasetLook(f"{definition.dataset.name}@{version}", state, why, by_hand))
    return looks


def _try(
    definition: Definition, version: str, files: dict[str, RawFile], folder: Path, records: int, *, is_cut: bool
) -> tuple[str, str]:
    """The state of a dataset whose files have a beginning, and why. is_cut: whether one of them is only a beginning."""
    source = definition.source
    raws = {
        key: Raw(f"{source.name}/{file.name}", folder / source.name / file.name, limit=records)
        for key, file in files.items()
    }
    names = tuple(raw.name for raw in raws.values())
    raw = RawSettings(folder, folder / "cache", offline=True, lock=folder / "raw.lock.json", mirrors=(), unpinned=names)
    settings = BuildSettings(folder / "outputs", raw, limit=records, ledger=folder / "ledger.json")
    try:
        with interrupts.stop_at_any_error():
            measured = [each for each in source.measurements if {each.key, *each.inputs} <= raws.keys()]
            for measurement in measured[:1]:
                for _ in measurement.texts(raws):
                    pass
            if not measured:
                make(definition, version, settings)
    except DatasetError as error:
        failure = failure_of(error)
        is_content = failure.module.startswith(READERS) and not (is_cut and OTHER_FILE in error.what)
    except Exception as error:  # noqa: BLE001 - a builder that meets its real file for the first time
        failure, is_content = unexpected_failure(f"{definition.dataset.name}@{version}", error), True
    else:
        return "builds", "read; a model measures its texts first" if measured else ""
    reported = report_error(failure, {"<first records>": folder})  # the page may be published
    what = "; ".join(filter(None, (reported.what, reported.where, reported.found)))
    return ("fails", what) if is_content else ("unknown", f"read, but not built of so few records: {what}")


def page(seen: Looks) -> list[str]:
    """What will build, what will not and why, what is wrong with files, who must do what, and how much there is to download."""
    lines = []
    titles = {"builds": "build from their first records", "fails": "will not build", "unknown": "not known"}
    for state, title in titles.items():
        those = [each for each in seen.datasets if each.state == state]
        lines += ["", *wrap(f"{title}: {len(those)}")] if those else []
        for why in dict.fromkeys(each.why for each in those):
            lines += wrap(", ".join(each.name for each in those if each.why == why), "  ")
            lines += wrap(why, "    ") if why else []
    wrong = [line for each in seen.files if each.found for line in wrap(f"{each.name}: {'; '.join(each.found)}", "  ")]
    by_hand = {file: each.name for each in seen.datasets for file in each.by_hand}
    size, read, seconds = (
        sum(getattr(each, name) or 0 for each in seen.files) for name in ("bytes", "bytes_read", "seconds")
    )
    unknown = sum(each.bytes is None for each in seen.files)
    duration = format_duration(size * seconds / read) if read else "an unknown time"
    total = f"at least {format_size(size)}, {unknown} of unknown size; {duration} at the speed of this probe"
    return [
        *lines,
        *(["", "wrong with files:", *wrong] if wrong else []),
        "",
        *wrap(total, "to download: "),
        *wrap(", ".join(by_hand) or "nothing", "by hand: "),
        *wrap(f"read {format_size(read)} in {format_duration(seconds)}", "this probe: "),
        "",
        "not looked at:",
        *(line for text in not_looked_at(seen) for line in wrap(text, "  ")),
    ]


def not_looked_at(seen: Looks) -> list[str]:
    """What the probe did not look at: always, and of these files."""
    sources: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for file in seen.files:
        for text in file.unseen:
            sources[text][file.name.partition("/")[0] if "repository" in text or "licence" in text else file.name] = (
                None
            )
    few = [
        f"{file.name.partition('/')[0]}/{name} {head.seen:,}"
        for file in seen.files
        for name, head in file.heads.items()
        if head.is_cut
        and not head.failure
        and head.seen < (seen.records if head.records is None else min(seen.records, head.records))
    ]
    return [
        "what follows the first records of each file, and what a person or a model makes: golden samples take its place",
        "copies, mirrors, and versions and splits that were not asked for",
        *(f"{text}: {', '.join(names)}" for text, names in sources.items()),
        *([f"as many records as asked for, {seen.records:,}: {', '.join(few)}"] if few else []),
    ]


def to_json(seen: Looks) -> dict[str, Any]:
    """All of it for programs and for `accept`."""
    return {
        "format": 1,
        "probe": [asdict(each) for each in seen.files],
        "datasets": [asdict(each) for each in seen.datasets],
        "not_looked_at": not_looked_at(seen),
    }


def write_report(path: Path, seen: Looks) -> None:
    """Write all of it to a file."""
    write_atomically(path, json.dumps(to_json(seen), indent=2, ensure_ascii=False) + "\n")
