"""Entries that a build report brings: digests for the lock file, versions for the ledger; and why others are left out.

A report comes from somebody else. Only files and versions of this checkout are taken from it, nothing that exists is changed, and
a version enters the ledger only if every raw file behind it has a known digest and the recipe is the one of this checkout.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from builders import catalogue
from builders.catalogue import Definition
from builders.errors import ReleaseError
from pipelines.build_report.records import BuildReport, DatasetReport
from pipelines.raw.digests import Digest, default_cache, lock_cached_file
from pipelines.raw.pins import LockEntry, is_pinned, read_lock_file, record_digest
from pipelines.raw.settings import stored_file
from pipelines.release import fingerprint, ledger
from pipelines.release.ledger import LedgerEntry


@dataclass(frozen=True)
class NewEntries:
    """What a report adds to this checkout: lock entries by `<source>/<name>`, ledger entries by dataset and version.

    left_out: dataset and version, and why its ledger entry is not taken.
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
    found = NewEntries()
    left_out = []
    recorded = read_lock_file(lock_path)
    known = catalogue.entries()
    chosen = [
        dataset
        for dataset in report.datasets
        if dataset.dataset in known and (datasets is None or dataset.dataset in datasets)
    ]
    definitions = {entry.dataset: catalogue.load(known[entry.dataset]) for entry in chosen}
    for entry in chosen:
        for name, digest in _lock_entries(entry, definitions[entry.dataset]).items():
            before = recorded.get(name) or found.lock.get(name)
            if before not in (None, digest):
                raise _conflict(
                    f"{name} had other bytes for {entry.name}", digest.sha256, before.sha256 if before else ""
                )
            if name not in recorded:
                found.lock[name] = digest
    for entry in chosen:
        released = ledger.find_entry(entry.dataset, entry.version, ledger_path)
        if entry.ledger is None or (released and released.content_sha256 == entry.ledger.content_sha256):
            continue
        if released is not None:
            raise _conflict(f"{entry.name} has other rows", entry.ledger.content_sha256, released.content_sha256)
        reason = _obstacle(entry, definitions[entry.dataset], {*recorded, *found.lock})
        if reason:
            left_out.append((entry.name, reason))
        else:
            found.ledger[entry.dataset, entry.version] = entry.ledger
    return NewEntries(found.lock, found.ledger, tuple(left_out))


def write_entries(entries: NewEntries, lock_path: Path, ledger_path: Path) -> None:
    """Write new entries into the lock file and the ledger; existing entries stay."""
    with lock_cached_file(default_cache() / "raw.lock.json", "raw.lock.json", activity="writing"):
        for name, digest in entries.lock.items():
            record_digest(name, Digest(digest.sha256, digest.bytes), (lock_path,))
    for (dataset, version), entry in entries.ledger.items():
        ledger.record_entry(dataset, version, entry, ledger_path)


def _lock_entries(entry: DatasetReport, definition: Definition) -> dict[str, LockEntry]:
    """Those of files that this checkout downloads and pins by no digest."""
    stored = [stored_file(file) for file in definition.source.files.values()]
    unpinned = {f"{definition.source.name}/{file.name}" for file in stored if not is_pinned(file)}
    return {name: digest for name, digest in entry.lock.items() if name in unpinned}


def _obstacle(entry: DatasetReport, definition: Definition, locked: Collection[str]) -> str:
    """Why a version cannot enter the ledger yet; empty where it can."""
    if entry.version not in definition.dataset.versions:
        return "this checkout does not have the version"
    earlier = (digest for _, digest in fingerprint.earlier_recipes(entry.dataset, entry.version))
    if entry.recipe_sha256 not in (fingerprint.recipe_sha256(definition.entry.module), *earlier):
        return "built by another state of the recipe: build it again with this one"
    files = {f"{definition.source.name}/{file.name}": file for file in definition.source.files.values()}
    for reported in entry.files:
        file = files.get(reported.name)
        if file is None:
            return f"{reported.name} is not a raw file of this checkout"
        if file.sha256 not in (None, reported.sha256):
            return f"{reported.name} is not the file that this checkout pins"
        names = {reported.name, f"{definition.source.name}/{stored_file(file).name}"}
        if not any(map(is_pinned, (file, stored_file(file)))) and not names & set(locked):
            return f"{reported.name} has no known digest: pin sha256 {reported.sha256} in the builder if it is the right file"
    return ""


def _conflict(what: str, found: str, expected: str) -> ReleaseError:
    return ReleaseError(
        f"the report does not agree with this checkout: {what}",
        found=found,
        expected=expected,
        todo="find out which is right; nothing was written. Name the other datasets to take theirs",
    )
