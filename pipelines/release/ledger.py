"""The ledger: the content hash of every version built from complete real sources, committed with the code.

    {dataset: {version: {"content_sha256": ..., "tables": [{config, split, rows, content_sha256}], "raw": {name: sha256},
                         "published": [repository, ...], "commits": {repository: sha}}},
     "parts": {dataset: {version: {"splits": [...], "tables": [...], "raw": {...}}}}}

`parts` has what was built from complete real files of some splits: no version, so it blocks nothing; it says that the recipe has
met real files. Years later the ledger says whether a rebuilt version is the one that was released. `published` is there once a
version is on the Hub: from then on its rows cannot be replaced. `commits` holds the commit that the tag of the version was on
when the publication was recorded; repositories recorded by an older version of this package have none.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON, Count, Manifest, Sha256
from pipelines.process.files import locked, write_atomically
from pipelines.process.installation import is_checkout

LEDGER = Path(__file__).parents[1] / "ledger.json"

CommitSha = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}$(?!\n)")]


@dataclass(frozen=True)
class LedgerTable:
    """A table of a release: its size and its rows' hash."""

    config: str
    split: str
    rows: Count
    content_sha256: Sha256

    @property
    def location(self) -> str:
        """What messages call it: `corpus/test`."""
        return f"{self.config}/{self.split}"


@dataclass(frozen=True)
class LedgerEntry:
    """What the ledger keeps of a version.

    raw: sha256 by name of the raw file. published: repositories on the Hub, sorted. commits: the commit of the version's tag, by
    repository, where it is known.
    """

    content_sha256: Sha256
    tables: tuple[LedgerTable, ...]
    raw: dict[str, Sha256]
    published: tuple[str, ...] = ()
    commits: dict[str, CommitSha] = field(default_factory=dict)


@dataclass(frozen=True)
class LedgerPart:
    """What the ledger keeps of some splits of a version. raw: sha256 by name of the raw file."""

    splits: tuple[str, ...]
    tables: tuple[LedgerTable, ...]
    raw: dict[str, Sha256]


Entries = dict[str, dict[str, LedgerEntry]]
Parts = dict[str, dict[str, LedgerPart]]
PARTS = "parts"
Status = Literal["verified on complete real files", "verified on a part", "golden sample only"]
VERIFIED, PART, SAMPLE = get_args(Status)


def status(dataset: str, ledger: Path = LEDGER) -> Status:
    """Which real files a recipe has met: all of a version, those of some splits, or none.

    Raises ReleaseError for a damaged ledger.
    """
    entries, parts = _read(ledger)
    found: Status = VERIFIED if dataset in entries else PART if dataset in parts else SAMPLE
    return found


def release_status(manifest: Manifest) -> Status:
    """The status of a dataset once this release is in the ledger."""
    if ledger_entry(manifest):
        return VERIFIED  # type: ignore[no-any-return]
    known = status(manifest.dataset)
    return PART if known == SAMPLE and ledger_part(manifest) else known


def ledger_entry(manifest: Manifest) -> LedgerEntry | None:
    """The entry of a release; None for a sample, a part, or a release from files of unknown digest."""
    return release_entry(manifest) if manifest.complete and all(file.verified for file in manifest.raw) else None


def release_entry(manifest: Manifest) -> LedgerEntry:
    """The entry of a release, whatever it was built from."""
    return LedgerEntry(manifest.content_sha256, *_tables_and_raw(manifest))


def ledger_part(manifest: Manifest) -> LedgerPart | None:
    """The entry of a release of some splits; None for a sample, and for one from files of unknown digest."""
    if not manifest.partial or manifest.sample or not all(file.verified for file in manifest.raw):
        return None
    return LedgerPart(tuple(dict.fromkeys(table.split for table in manifest.tables)), *_tables_and_raw(manifest))


def _tables_and_raw(manifest: Manifest) -> tuple[tuple[LedgerTable, ...], dict[str, Sha256]]:
    tables = [LedgerTable(table.config, table.split, table.rows, table.content_sha256) for table in manifest.tables]
    return tuple(tables), {file.name: file.sha256 for file in manifest.raw}


def find_entry(dataset: str, version: str, ledger: Path = LEDGER) -> LedgerEntry | None:
    """The entry of a version; None where the ledger has none.

    Raises ReleaseError for a damaged ledger.
    """
    return read_ledger(ledger).get(dataset, {}).get(version)


def can_record(ledger: Path = LEDGER) -> bool:
    """Whether entries can be written: into the ledger of a checkout or a file of the user, where permissions allow it."""
    return (ledger != LEDGER or is_checkout()) and os.access(ledger.parent, os.W_OK)


def record_entry(dataset: str, version: str, entry: LedgerEntry, ledger: Path = LEDGER) -> bool:
    """Write an entry, with the publications of the one before; returns whether the ledger changed.

    It changes only in a writable checkout.
    """
    return _update(
        dataset,
        version,
        lambda old: replace(entry, published=old.published if old else (), commits=old.commits if old else {}),
        ledger,
    )


def record_part(dataset: str, version: str, part: LedgerPart, ledger: Path = LEDGER) -> bool:
    """Write what was built of some splits, in place of what was there; returns whether the ledger changed."""

    return _update(dataset, version, lambda _: part, ledger, is_part=True)


def record_publication(manifest: Manifest, repo: str, commit: str, ledger: Path = LEDGER) -> bool:
    """Write that a version is published in a repository of the Hub; returns whether the ledger changed.

    commit: the sha that the tag is on. The first one recorded for a repository stays. This also records a version from files of
    unknown digest, which `ledger_entry` leaves out.
    """

    def add_repository(old: LedgerEntry | None) -> LedgerEntry:
        entry = old or release_entry(manifest)
        commits = {repo: commit, **entry.commits}
        return replace(entry, published=tuple(sorted({*entry.published, repo})), commits=dict(sorted(commits.items())))

    return _update(manifest.dataset, manifest.version, add_repository, ledger)


def _update(
    dataset: str,
    version: str,
    change: Callable[[Any], LedgerEntry | LedgerPart],
    ledger: Path,
    *,
    is_part: bool = False,
) -> bool:
    """Replace an entry, or a part, by what `change` returns for it; returns whether the ledger changed."""
    if not can_record(ledger):
        return False
    with locked(ledger.with_name(f".{ledger.name}.lock"), "the ledger", remove=True):
        entries, parts = _read(ledger)
        before = _dump(entries, parts)
        versions: dict[str, Any] = (parts if is_part else entries).setdefault(dataset, {})
        versions[version] = change(versions.get(version))
        after = _dump(entries, parts)
        if before != after:
            write_atomically(ledger, after)
        return before != after


def read_ledger(ledger: Path = LEDGER) -> Entries:
    """All entries, by dataset and version; none where the file is missing.

    Raises ReleaseError for a damaged ledger.
    """
    return _read(ledger)[0]


def read_parts(ledger: Path = LEDGER) -> Parts:
    """What was built of some splits, by dataset and version. Raises ReleaseError for a damaged ledger."""
    return _read(ledger)[1]


def _read(ledger: Path) -> tuple[Entries, Parts]:
    if not ledger.is_file():
        return {}, {}
    try:
        sections = msgspec.json.decode(ledger.read_bytes(), type=dict[str, msgspec.Raw])
        parts = msgspec.json.decode(sections.pop(PARTS, b"{}"), type=Parts)
        return {name: msgspec.json.decode(raw, type=dict[str, LedgerEntry]) for name, raw in sections.items()}, parts
    except INVALID_JSON as error:
        raise ReleaseError(
            "damaged ledger",
            where=str(ledger),
            found=str(error),
            todo="repair it by hand, or restore it from version control",
        ) from None


def _dump(entries: Entries, parts: Parts) -> str:
    """The text of the ledger: all keys in a fixed order; `published`, `commits` and `parts` only where there are any."""
    return json.dumps(_sorted(entries) | ({PARTS: _sorted(parts)} if parts else {}), indent=2) + "\n"


def _sorted(section: Mapping[str, Mapping[str, LedgerEntry | LedgerPart]]) -> dict[str, Any]:
    return {
        name: {version: _plain(entry) for version, entry in sorted(versions.items())}
        for name, versions in sorted(section.items())
    }


def _plain(entry: LedgerEntry | LedgerPart) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if value or name not in ("published", "commits")}
