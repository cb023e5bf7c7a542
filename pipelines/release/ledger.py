"""The ledger: the content hash of every version built from complete real sources, committed with the code.

    {dataset: {version: {"content_sha256": ..., "tables": [{config, split, rows, content_sha256}], "raw": {name: sha256}}},
     "parts": {dataset: {version: {"splits": [...], "tables": [...], "raw": {...}}}}}

`parts` has what was built from complete real files of some splits: no version, so it blocks nothing; it says that the recipe has
met real files. Years later the ledger says whether a rebuilt version is the one that was released. Where a version is published,
the record of refs says: from then on its rows cannot be replaced. It has the tags that repositories should have, and their
commits, in refs/<dataset>.jsonl beside the ledger, a line of JSON an event, appended and never rewritten:

    {"repo": "ORG/NAME", "tag": "v1.0.0", "commit": sha, "event": "publish", "why": text, "content_sha256": hash, "when": time}

The last event of a tag counts; one without a commit says that the tag is no longer expected, as after a repository was renamed.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from builders.errors import ReleaseError
from builders.spec import AS_PUBLISHED
from cards.manifest import INVALID_JSON, Count, Manifest, Sha256
from pipelines.process.files import locked, replacing, write_atomically
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
    """What the ledger keeps of a version. raw: sha256 by name of the raw file."""

    content_sha256: Sha256
    tables: tuple[LedgerTable, ...]
    raw: dict[str, Sha256]


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
    entries, parts, _ = _read(ledger)
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
    """The entry of a release of some splits; None for a sample, one from files of unknown digest, and of published rows."""
    known = all(file.verified for file in manifest.raw) and manifest.version != AS_PUBLISHED
    if not manifest.partial or manifest.sample or not known:
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


def record_entry(dataset: str, version: str, entry: LedgerEntry | LedgerPart, ledger: Path = LEDGER) -> bool:
    """Write an entry, or what was built of some splits, in place of what was there; returns whether the ledger changed.

    It changes only where `can_record`.
    """
    if not can_record(ledger):
        return False
    with locked(ledger.with_name(f".{ledger.name}.lock"), "the ledger", remove=True):
        entries, parts, publications = _read(ledger)
        for name in publications:  # or what the ledger said of them would be lost
            _append(name, [], ledger)
        before = _dump(entries, parts)
        section: dict[str, Any] = parts if isinstance(entry, LedgerPart) else entries
        section.setdefault(dataset, {})[version] = entry
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


@dataclass(frozen=True)
class _Publication:
    """What the ledger of 0.2.0 kept of a publication, beside the rest of an entry: the commit of the tag by repository."""

    content_sha256: Sha256
    commits: dict[str, CommitSha] = field(default_factory=dict)


Publications = dict[str, dict[str, _Publication]]  # of datasets that have any, by version


def _read(ledger: Path) -> tuple[Entries, Parts, Publications]:
    if not ledger.is_file():
        return {}, {}, {}
    try:
        sections = msgspec.json.decode(ledger.read_bytes(), type=dict[str, msgspec.Raw])
        parts = msgspec.json.decode(sections.pop(PARTS, b"{}"), type=Parts)
        entries = {name: msgspec.json.decode(raw, type=dict[str, LedgerEntry]) for name, raw in sections.items()}
        published = {name: msgspec.json.decode(raw, type=dict[str, _Publication]) for name, raw in sections.items()}
    except INVALID_JSON as error:
        raise ReleaseError(
            "damaged ledger",
            where=str(ledger),
            found=str(error),
            todo="repair it by hand, or restore it from version control",
        ) from None
    return entries, parts, {name: of for name, of in published.items() if any(each.commits for each in of.values())}


def _dump(entries: Entries, parts: Parts) -> str:
    """The text of the ledger: all keys in a fixed order; `parts` only where there are any."""
    return json.dumps(_sorted(entries) | ({PARTS: _sorted(parts)} if parts else {}), indent=2) + "\n"


def _sorted(section: Mapping[str, Mapping[str, LedgerEntry | LedgerPart]]) -> dict[str, Any]:
    return {
        name: {version: asdict(entry) for version, entry in sorted(versions.items())}
        for name, versions in sorted(section.items())
    }


REFS = "refs"  # the folder beside the ledger

Event = Literal["publish", "restore", "take-over", "repair", "observed"]


@dataclass(frozen=True)
class RefEvent:
    """What happened to a tag. event: `observed` where it was found on the Hub. why: in words. when: in UTC.

    commit: where the tag is from then on; None where it is no longer expected. content_sha256: of the release there, if any.
    """

    repo: str
    tag: str
    commit: CommitSha | None
    event: Event
    why: str
    content_sha256: Sha256 | None = None
    when: str = ""


RecordedRefs = dict[str, dict[str, RefEvent]]  # the last event by repository and tag, of those that have a commit


def record_file(dataset: str, beside: Path) -> Path:
    """The record of a dataset. beside: the ledger."""
    return beside.parent / REFS / f"{dataset}.jsonl"


def read_events(dataset: str, beside: Path) -> list[RefEvent]:
    """All events, the oldest first; none where there is no record. Publications in a ledger of 0.2.0 come before the record.

    Raises ReleaseError for a damaged ledger or record.
    """
    return [*_earlier_events(dataset, beside), *_recorded(dataset, beside)]


def _earlier_events(dataset: str, ledger: Path) -> list[RefEvent]:
    return [
        RefEvent(repo, f"v{version}", commit, "observed", "in the ledger of 0.2.0", published.content_sha256)
        for version, published in _read(ledger)[2].get(dataset, {}).items()
        for repo, commit in published.commits.items()
    ]


def _recorded(dataset: str, beside: Path) -> list[RefEvent]:
    path, events = record_file(dataset, beside), list[RefEvent]()
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else (), 1):
        try:
            events.append(msgspec.json.decode(line, type=RefEvent))
        except INVALID_JSON as error:
            raise ReleaseError(
                "damaged record of refs",
                where=f"{path}:{number}",
                found=str(error),
                todo="repair it by hand, or restore it from version control",
            ) from None
    return events


def expected_refs(dataset: str, beside: Path) -> RecordedRefs:
    """The tags that the repositories of a dataset should have. Raises ReleaseError for a damaged record."""
    last = {(event.repo, event.tag): event for event in read_events(dataset, beside)}
    refs: RecordedRefs = {}
    for (repo, tag), event in last.items():
        if event.commit is not None:
            refs.setdefault(repo, {})[tag] = event
    return refs


def all_expected_refs(beside: Path) -> dict[str, RecordedRefs]:
    """The expected tags of every dataset with a record. Raises ReleaseError for a damaged record."""
    names = {path.stem for path in (beside.parent / REFS).glob("*.jsonl")} | _read(beside)[2].keys()
    return {name: refs for name in sorted(names) if (refs := expected_refs(name, beside))}


def find_repositories(dataset: str, version: str, beside: Path) -> tuple[str, ...]:
    """The repositories that a version is published in, sorted. Raises ReleaseError for a damaged record."""
    return tuple(sorted(repo for repo, tags in expected_refs(dataset, beside).items() if f"v{version}" in tags))


def append_event(dataset: str, event: RefEvent, beside: Path) -> bool:
    """Add an event that happens now, where the record can be written; returns whether it could."""
    if not can_record(beside):
        return False
    _append(dataset, [replace(event, when=datetime.now(UTC).isoformat(timespec="seconds"))], beside)
    return True


def _append(dataset: str, events: Sequence[RefEvent], beside: Path) -> None:
    """Add events to a record, after the publications in a ledger of 0.2.0 that it lacks: the last event of a tag counts."""
    path = record_file(dataset, beside)
    path.parent.mkdir(exist_ok=True)
    with locked(path.with_name(f".{path.name}.lock"), "the record of refs", remove=True):
        known, content = set(_recorded(dataset, beside)), path.read_bytes() if path.is_file() else b""
        added = [*(event for event in _earlier_events(dataset, beside) if event not in known), *events]
        lines = "".join(f"{json.dumps(asdict(event), ensure_ascii=False)}\n" for event in added).encode()
        end = b"\n" if content and not content.endswith(b"\n") else b""  # an editor may have taken the last one
        # As a whole: a disk that is full, or a machine that stops, must not leave a piece of a line.
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(content + end + lines)
            file.flush()
            os.fsync(file.fileno())
