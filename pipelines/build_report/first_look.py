"""What the beginnings of raw files tell before anything is downloaded: `fetch --probe --records N`.

The first records of each file are written below a scratch folder, as below `--raw-dir`, and each dataset is built from them as
from files that are not the pinned ones. What a person or a model makes is taken from the golden sample.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builders.catalogue import Definition, needed_files
from builders.errors import DatasetError, SourceError
from builders.raw_files import ByHand, GitHub, Hub, RawFile
from builders.spec import Raw, Source
from pipelines.build_report.redaction import failure_of, report_error, unexpected_failure
from pipelines.make import BuildSettings, make
from pipelines.process.files import file_sha256, write_atomically
from pipelines.process.tables import wrap
from pipelines.process.terminal import format_duration, format_size
from pipelines.raw.heads import MEGABYTE, Head, write_heads
from pipelines.raw.listings import Listing, compare_listing, list_repository
from pipelines.raw.locations import GOLDEN, publisher_request
from pipelines.raw.pins import LockEntry
from pipelines.raw.settings import RawSettings, make_request, stored_file

# Errors that these raise are about the content of a file. Others may be due to the rows that are not there.
READERS = ("builders.reading", "builders.shaping.rows", "builders.shaping.labels", "builders.shaping.preferences")


@dataclass(frozen=True)
class FileLook:
    """A raw file, or a whole archive. found: what is wrong. heads: of what is read of it, by name. lock: what `accept` takes."""

    name: str
    bytes: int | None = None
    found: tuple[str, ...] = ()
    heads: dict[str, Head] = field(default_factory=dict)
    lock: LockEntry | None = None
    bytes_read: int = 0
    seconds: float = 0


@dataclass(frozen=True)
class DatasetLook:
    """A dataset. state: `builds` from the first records, `fails` or `unknown`. by_hand: files that a person gets."""

    name: str
    state: str
    why: str = ""
    by_hand: tuple[str, ...] = ()


@dataclass(frozen=True)
class Looks:
    """What is seen of files, and of the datasets that are built from them."""

    files: list[FileLook]
    datasets: list[DatasetLook]

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with a file, or a dataset will not build."""
        return any(each.found for each in self.files) or any(each.state == "fails" for each in self.datasets)


def look(
    files: Iterable[tuple[Source, RawFile]],
    datasets: Iterable[tuple[Definition, str]],
    settings: RawSettings,
    records: int,
    done: Callable[[int], None],
) -> Looks:
    """Look at files, and build datasets from their first records. done: called for each file that is read."""
    with TemporaryDirectory() as scratch:
        seen = _look_at_files(files, settings, records, Path(scratch), done)
        return Looks(seen, _look_at_datasets(datasets, Path(scratch), records))


def _look_at_files(
    files: Iterable[tuple[Source, RawFile]],
    settings: RawSettings,
    records: int,
    folder: Path,
    done: Callable[[int], None],
) -> list[FileLook]:
    """The files that a program may fetch, each archive once; their first records are written below `folder`."""
    groups: dict[str, tuple[Source, RawFile, list[RawFile]]] = {}
    for source, file in files:
        stored = stored_file(file)
        if not isinstance(stored.location, ByHand):
            groups.setdefault(f"{source.name}/{stored.name}", (source, stored, []))[2].append(file)
    lists = cache(lambda location: list_repository(location, settings))
    patience, compared = replace(settings.patience, retries=2), set[int]()

    def look_at(name: str, source: Source, stored: RawFile, members: list[RawFile]) -> FileLook:
        request, found, began = make_request(source, stored, settings), list[str](), time.monotonic()
        location, listing = request.location, Listing()
        if isinstance(location, Hub | GitHub):
            listing = lists(replace(location, path=""))
            found += [] if id(listing) in compared else compare_listing(source, location, listing)
            compared.add(id(listing))
        listed_size, digest, _ = listing.files.get(getattr(location, "path", ""), (None, None, None))
        try:
            heads, size, read = write_heads(
                publisher_request(request), members, folder / source.name, records, patience
            )
        except SourceError as error:
            return FileLook(name, listed_size, (*found, error.found or error.what))
        sizes = {f"{number:,}" for number in (size, listed_size, request.pin.bytes) if number is not None}
        found += (
            [f"server, list and pin name different sizes: {', '.join(sorted(sizes))} bytes"] if len(sizes) > 1 else []
        )
        if digest is None and size <= MEGABYTE:
            digest = file_sha256(folder / source.name / "stored")
        if digest and request.pin.sha256 not in (None, digest):
            found.append(f"sha256 {digest}, pinned is {request.pin.sha256}")
        found += [f"{file}: {head.failure}" for file, head in heads.items() if head.failure]
        commit = listing.commit if isinstance(location, Hub) else None
        lock = LockEntry(digest, size, commit) if digest and not found else None
        return FileLook(name, size, tuple(found), heads, lock, read, time.monotonic() - began)

    looks = []
    for name, group in groups.items():
        looks.append(look_at(name, *group))
        done(1)
    return looks


def _look_at_datasets(datasets: Iterable[tuple[Definition, str]], folder: Path, records: int) -> list[DatasetLook]:
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
        why = f"the beginning of {', '.join(lacking[:3])} is not known" if lacking else ""
        state, why = ("unknown", why) if lacking else _try(definition, version, files, folder, records)
        by_hand = tuple(name for name, location in hands.items() if not location.made_by)
        looks.append(DatasetLook(f"{definition.dataset.name}@{version}", state, why, by_hand))
    return looks


def _try(
    definition: Definition, version: str, files: dict[str, RawFile], folder: Path, records: int
) -> tuple[str, str]:
    """The state of a dataset whose files have a beginning, and why."""
    source = definition.source
    raws = {
        key: Raw(f"{source.name}/{file.name}", folder / source.name / file.name, limit=records)
        for key, file in files.items()
    }
    names = tuple(raw.name for raw in raws.values())
    raw = RawSettings(folder, folder / "cache", offline=True, lock=folder / "raw.lock.json", mirrors=(), unpinned=names)
    try:
        measured = [each for each in source.measurements if {each.key, *each.inputs} <= raws.keys()]
        for measurement in measured[:1]:
            for _ in measurement.texts(raws):
                pass
        if not measured:
            make(
                definition,
                version,
                BuildSettings(folder / "outputs", raw, limit=records, ledger=folder / "ledger.json"),
            )
    except DatasetError as error:
        failure = failure_of(error)
        is_content = failure.module.startswith(READERS)
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
    probed = f"read {format_size(read)} in {format_duration(seconds)}; not looked at: what follows the first records"
    return [
        *lines,
        *(["", "wrong with files:", *wrong] if wrong else []),
        "",
        *wrap(total, "to download: "),
        *wrap(", ".join(by_hand) or "nothing", "by hand: "),
        *wrap(f"{probed}, and what is fetched by hand", "this probe: "),
    ]


def to_json(seen: Looks) -> dict[str, Any]:
    """All of it for programs and for `accept`."""
    return {
        "format": 1,
        "probe": [asdict(each) for each in seen.files],
        "datasets": [asdict(each) for each in seen.datasets],
    }


def write_report(path: Path, seen: Looks) -> None:
    """Write all of it to a file."""
    write_atomically(path, json.dumps(to_json(seen), indent=2, ensure_ascii=False) + "\n")
