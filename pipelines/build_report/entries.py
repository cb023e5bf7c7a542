"""Entries that a build report brings: digests for the lock file, versions for the ledger; and why others are left out.

A report comes from somebody else, and may be wrong or forged. What it says of a dataset is taken only where it agrees with
itself, with the raw files that this checkout pins, with the lock file and the ledger, and was built by a recipe of this checkout.
Nothing that exists is changed. Only a build shows whether the rows are right (`accept --rebuild`).
"""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from builders import catalogue
from builders.errors import ReleaseError
from builders.raw_files import ByHand
from builders.spec import Source
from cards.manifest import INVALID_JSON
from pipelines.build_report.records import BuildReport, DatasetReport
from pipelines.make import BuildSettings, make
from pipelines.raw.digests import default_cache, lock_cached_file
from pipelines.raw.pins import LockEntry, is_pinned, lock_names, read_lock_file, record_entry
from pipelines.raw.settings import RawSettings, stored_file, unpinned_files
from pipelines.release import fingerprint, ledger
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.ledger import LedgerEntry


@dataclass(frozen=True)
class NewEntries:
    """What a report adds to this checkout: lock entries by their name there, ledger entries by dataset and version.

    left_out: dataset and version, and why its ledger entry, or nothing of it, is taken.
    """

    lock: dict[str, LockEntry] = field(default_factory=dict)
    ledger: dict[tuple[str, str], LedgerEntry] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()


def new_entries(
    report: BuildReport, datasets: Collection[str] | None, lock_path: Path, ledger_path: Path
) -> NewEntries:
    """The entries of a report that the lock file and the ledger do not have. datasets: only these; None for all.

    Raises ReleaseError where the report has another digest, or other rows, than the lock file, the ledger or itself.
    """
    found, left_out = NewEntries(), list[tuple[str, str]]()
    recorded, known = read_lock_file(lock_path), catalogue.entries()
    chosen = [entry for entry in report.datasets if datasets is None or entry.dataset in datasets]
    left_out += [
        (entry.name, "nothing is taken: no dataset of this checkout") for entry in chosen if entry.dataset not in known
    ]
    chosen = [entry for entry in chosen if entry.dataset in known]
    definitions = {entry.dataset: catalogue.load(known[entry.dataset]) for entry in chosen}
    trusted = []
    for entry in chosen:
        if reason := _unusable(entry, definitions[entry.dataset]):
            left_out.append((entry.name, f"nothing is taken: {reason}"))
            continue
        _require_agreement(entry)
        trusted.append(entry)
        for name, digest in _lock_entries(entry, definitions[entry.dataset].source).items():
            _add_digest(found, recorded, name, digest, entry.name)
    for entry in trusted:
        released = ledger.find_entry(entry.dataset, entry.version, ledger_path)
        if entry.ledger is None or (released and released.content_sha256 == entry.ledger.content_sha256):
            continue
        if released is not None:
            raise _conflict(f"{entry.name} has other rows", entry.ledger.content_sha256, released.content_sha256)
        if reason := _unpinned(entry, definitions[entry.dataset], recorded | found.lock):
            left_out.append((entry.name, f"not for the ledger: {reason}"))
        else:
            found.ledger[entry.dataset, entry.version] = entry.ledger
    return NewEntries(found.lock, found.ledger, tuple(left_out))


def probe_entries(content: bytes, sources: Collection[str] | None, lock_path: Path) -> NewEntries | None:
    """The digests that a probe learned of files that this checkout pins by none; None for another report. sources: only these.

    Raises ReleaseError where the lock file has another digest.
    """
    try:
        probed = msgspec.json.decode(content, type=dict[str, Any])["probe"]
        learned = {file["name"]: msgspec.convert(file["lock"], LockEntry) for file in probed if file["lock"]}
    except (*INVALID_JSON, LookupError, TypeError):
        return None
    recorded, found = read_lock_file(lock_path), NewEntries()
    loaded = {entry.source: catalogue.load(entry).source for entry in catalogue.entries().values()}
    unpinned = set[str]().union(*map(unpinned_files, loaded.values()))
    for name, digest in learned.items():
        if name in unpinned and (not sources or name.partition("/")[0] in sources):
            _add_digest(found, recorded, name, digest, "the probe")
    return found


def _add_digest(
    found: NewEntries, recorded: Mapping[str, LockEntry], name: str, digest: LockEntry, reporter: str
) -> None:
    """Add the digest of a file, unless it is recorded. Raises ReleaseError where another one is recorded or was added."""
    before = recorded.get(name) or found.lock.get(name) or digest
    if (before.sha256, before.bytes) != (digest.sha256, digest.bytes):
        raise _conflict(f"{name} had other bytes for {reporter}", digest.sha256, before.sha256)
    if name not in recorded:
        found.lock[name] = digest


def rebuild_entries(entries: NewEntries, raw: RawSettings) -> None:
    """Build the versions for the ledger from the raw files on this machine, in a scratch folder.

    Raises SourceError for raw files that are not here, ReleaseError where these or the rows are others than those of the report,
    and what `make` raises.
    """
    known = catalogue.entries()
    with tempfile.TemporaryDirectory() as scratch:
        settings = BuildSettings(
            output=Path(scratch, "outputs"), raw=replace(raw, offline=True), ledger=Path(scratch, "ledger.json")
        )
        for (name, version), entry in entries.ledger.items():
            built = make(catalogue.load(known[name]), version, settings).manifest
            if (ours := {file.name: file.sha256 for file in built.raw}) != entry.raw:
                raise _conflict(f"{name}@{version} was built from other raw files here", str(ours), str(entry.raw))
            if built.content_sha256 != entry.content_sha256:
                raise _conflict(
                    f"{name}@{version} has other rows when built here", entry.content_sha256, built.content_sha256
                )


def write_entries(entries: NewEntries, lock_path: Path, ledger_path: Path) -> None:
    """Write new entries into the lock file and the ledger; existing entries stay."""
    with lock_cached_file(default_cache() / "raw.lock.json", "raw.lock.json", activity="writing"):
        for name, entry in entries.lock.items():
            record_entry(name, entry, (lock_path,))
    for (dataset, version), released in entries.ledger.items():
        ledger.record_entry(dataset, version, released, ledger_path)


def _lock_entries(entry: DatasetReport, source: Source) -> dict[str, LockEntry]:
    """Those of files that this checkout pins by no digest: of files that it downloads, of one that all sources share, and of the
    keys of all published rows.
    """
    unpinned = unpinned_files(source)
    kinds = ("contamination index", *(() if entry.partial else ("published",)))
    made = {
        f"{source.name}/{file.name}": lock_names(source.name, file)[-1]
        for file in source.files.values()
        if isinstance(file.location, ByHand) and file.location.made_by in kinds
    }
    return {name: digest for name, digest in entry.lock.items() if name in unpinned} | {
        made[file.name]: LockEntry(file.sha256, file.bytes)
        for file in entry.files
        if file.name in unpinned & made.keys() and file.sha256 is not None and file.bytes is not None
    }


def _unusable(entry: DatasetReport, definition: catalogue.Definition) -> str:
    """Why nothing of a dataset is taken; empty where it was built from the raw files and by the recipe of this checkout."""
    dataset, source = definition.dataset, definition.source
    if entry.version not in dataset.versions:
        return "this checkout does not have the version"
    if entry.state not in ("built", "up to date"):
        return f"it was not built: {entry.state}"
    if entry.sample:
        return "a sample"
    if entry.source != source.name:
        return f"the report takes it from {entry.source}, this checkout from {source.name}"
    earlier = (digest for _, digest in fingerprint.earlier_recipes(entry.dataset, entry.version))
    if entry.recipe_sha256 not in (fingerprint.recipe_sha256(definition.entry.module), *earlier):
        return "built by another state of the recipe: build it again with this one"
    needed = {f"{source.name}/{source.files[key].name}" for key in _needed(entry, definition)}
    files = {file.name: file for file in entry.files}
    if len(files) != len(entry.files) or (files.keys() != needed and not (entry.partial and files.keys() < needed)):
        others = sorted(files.keys() ^ needed)
        return (
            f"it names {len(entry.files)} raw files, and the version needs {len(needed)}: see {', '.join(others[:3])}"
        )
    for file in source.files.values():
        reported = files.get(f"{source.name}/{file.name}")
        if reported is None:
            continue
        if reported.sha256 is None or reported.bytes is None:
            return f"{reported.name} was not there"
        if file.sha256 not in (None, reported.sha256) or file.bytes not in (None, reported.bytes):
            return f"{reported.name} is not the file that this checkout pins"
    return ""


def _needed(entry: DatasetReport, definition: catalogue.Definition) -> list[str]:
    return catalogue.needed_files(definition, definition.dataset.task.splits, entry.version)


def _require_agreement(entry: DatasetReport) -> None:
    """Raise ReleaseError where what a report says of a dataset contradicts itself."""
    for file in entry.files:
        locked = entry.lock.get(file.name)
        if locked is not None and (locked.sha256, locked.bytes) != (file.sha256, file.bytes):
            raise _conflict(f"{file.name} has two digests or sizes for {entry.name}", locked.sha256, str(file.sha256))
    if entry.ledger is None:
        return
    if entry.partial:
        raise _conflict(f"{entry.name} is a part, and has a ledger entry", "partial", "a whole version")
    tables = {(table.config, table.split): table.content_sha256 for table in entry.ledger.tables}
    raw = {file.name.partition("/")[2]: file.sha256 for file in entry.files}  # the ledger has names within the source
    claims = [
        (f"the raw files of {entry.name} differ from those of its ledger entry", entry.ledger.raw, raw),
        (f"{entry.name} has two content hashes", entry.ledger.content_sha256, entry.content_sha256),
        (f"the content hash of {entry.name} is not that of its tables", entry.ledger.content_sha256, dataset_sha256(tables)),
        (f"{entry.name} has two numbers of rows", {t.location: t.rows for t in entry.ledger.tables}, entry.rows),
        (f"{entry.name} has two tables of one name", len(entry.ledger.tables), len(tables)),
    ]  # fmt: skip
    for what, found, expected in claims:
        if found != expected:
            raise _conflict(what, str(found)[:500], str(expected)[:500])


def _unpinned(entry: DatasetReport, definition: catalogue.Definition, recorded: Mapping[str, LockEntry]) -> str:
    """Why a version cannot enter the ledger yet: a raw file that nobody could recognise again, or another; empty where it can."""
    source = definition.source
    reported = {file.name: file for file in entry.files}
    for file in (source.files[key] for key in _needed(entry, definition)):
        names, stored = lock_names(source.name, file), stored_file(file)
        name = names[0]
        found = reported[name]
        if any(recorded[known].sha256 != found.sha256 for known in names if known in recorded):
            return f"{name} is not the file of the lock file"
        if file.name in source.moving and (name not in recorded or recorded[name].commit is None):
            return f"{name} is moving, and the report has no commit of it: fetch it again into an empty cache"
        if not any(map(is_pinned, (file, stored))) and not {*names, f"{source.name}/{stored.name}"} & recorded.keys():
            return f"{name} has no known digest: pin sha256 {found.sha256} in the builder if it is the right file"
    return ""


def _conflict(what: str, found: str, expected: str) -> ReleaseError:
    return ReleaseError(
        f"the report does not agree with this checkout: {what}",
        found=found,
        expected=expected,
        todo="find out which is right; nothing was written. Name the other datasets to take theirs",
    )
