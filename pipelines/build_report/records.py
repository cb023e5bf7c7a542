"""The report of a build: for each dataset what was fetched, what was built, how it compares, what failed; as frozen records.

It is made to be sent to the maintainers by anyone who has the raw files. It holds no row of data, no secret and no absolute path,
and no time but `written_at`. A report on disk is updated dataset by dataset, so that an interrupted build leaves what is known so
far, and later builds into the same folder complete it.

docs/build-report.schema.json is generated from these records: python -m pipelines.build_report.records prints it.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from builders.errors import DatasetError, ReleaseError
from builders.spec import version_key
from cards.manifest import INVALID_JSON, Count, Severity, Sha256, VersionNumber, describe_record
from pipelines.process.files import locked, write_atomically
from pipelines.process.safe_text import MAX_QUOTED
from pipelines.raw.pins import LockEntry
from pipelines.release import fingerprint
from pipelines.release.ledger import LedgerEntry

FORMAT = 1
FILE_NAME = "build-report.json"

Origin = Literal["download", "cache", "raw-dir", "none"]
KnownBy = Literal["source", "lock file", "nobody"]
State = Literal["pending", "built", "up to date", "failed"]


@dataclass(frozen=True)
class ReportedFile:
    """A raw file that a dataset needs.

    name: `<source>/<name>`. url: None for a file fetched by hand. origin: `download` where a build of this report fetched it,
    `none` where it could not be had; sha256 and bytes are then None. known_by: who knew its digest before the report was begun;
    `nobody` for one that is seen for the first time.
    """

    name: str
    url: str | None
    origin: Origin
    known_by: KnownBy
    sha256: Sha256 | None = None
    bytes: Count | None = None


@dataclass(frozen=True)
class ReportedDrop:
    """Rows that the recipe left out."""

    reason: str
    count: Count
    split: str


@dataclass(frozen=True)
class ReportedFinding:
    """A finding, without its examples. known: whether the version declares it."""

    kind: str
    severity: Severity
    location: str
    count: int
    share: float
    detail: str
    known: bool


@dataclass(frozen=True)
class ReportedFigure:
    """A published figure beside ours, which is None where the statistics lack it. difference: ours minus the published one."""

    what: str
    published: int | float
    ours: int | float | None
    difference: int | float | None
    agree: bool
    note: str


@dataclass(frozen=True)
class ReportedFigures:
    """All published figures of a dataset. corrected: a version that corrects the published dataset; differences are expected."""

    source: str
    corrected: bool
    agree: Count
    differ: Count
    lines: tuple[ReportedFigure, ...]


@dataclass(frozen=True)
class ReportedError:
    """An error, without what may quote a row; a part that it does not have is empty.

    where: file and line or record, or the address.
    """

    kind: str
    exit_code: int
    what: str
    where: str
    found: str
    expected: str


@dataclass(frozen=True, kw_only=True)
class DatasetReport:
    """One version of one dataset.

    state: `pending` until its build ends. lock: entries of pipelines/raw.lock.json, for files that the source pins by no digest.
    ledger: the entry of pipelines/ledger.json, None for a sample or a part. verified: whether all digests were known before the
    build; if not, the ledger entry is valid once those of `lock` are accepted. figures: None where none are published.
    """

    dataset: str
    version: VersionNumber
    source: str
    state: State
    sample: bool = False
    partial: bool = False
    recipe_sha256: Sha256
    files: tuple[ReportedFile, ...] = ()
    lock: dict[str, LockEntry] = field(default_factory=dict)
    content_sha256: Sha256 | None = None
    rows: dict[str, Count] = field(default_factory=dict)
    verified: bool = False
    ledger: LedgerEntry | None = None
    figures: ReportedFigures | None = None
    dropped: tuple[ReportedDrop, ...] = ()
    findings: tuple[ReportedFinding, ...] = ()
    errors: tuple[ReportedError, ...] = ()

    @property
    def name(self) -> str:
        """The dataset and its version, as on the command line: `rubq-retrieval@1.0.0`."""
        return f"{self.dataset}@{self.version}"


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """All datasets of one or more builds, by name and version.

    complete: whether the build of each has ended. tools: versions of the libraries of the last build. written_at: ISO 8601, UTC.
    """

    format: int = 1
    complete: bool
    written_at: str
    tools: dict[str, str]
    datasets: tuple[DatasetReport, ...]


@dataclass(frozen=True)
class _Format:
    format: int


def read_report(path: Path) -> BuildReport | None:
    """The report in a file; None where the file does not exist.

    Raises ReleaseError for any other file, with the path of the first value that is wrong, and for a later format.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _invalid(path, error.strerror or str(error)) from None
    try:
        written = msgspec.json.decode(data, type=_Format).format
        if written <= FORMAT:
            return msgspec.json.decode(data, type=BuildReport)
    except INVALID_JSON as error:
        raise _invalid(path, str(error)) from None
    raise ReleaseError(
        "a later version of this package wrote the build report",
        where=str(path),
        found=f"format {written}",
        expected=f"format {FORMAT} or lower",
        todo="update this package, or move the report away",
    )


def encode(report: BuildReport) -> bytes:
    """The bytes of a report: indented, UTF-8, keys in the order of the records, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(asdict(report)), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of a report."""
    return describe_record(BuildReport, "build-report.json")


def update_report(path: Path, *entries: DatasetReport) -> None:
    """Write datasets into a report, in place of its earlier entries; one that is about to be built leaves these as they are.

    A file that an earlier build of the report fetched, or saw first, stays marked as such while its digest is the same.
    """
    with locked(path.with_name(f".{path.name}.lock"), "the build report", remove=True):
        old = read_report(path)
        merged = {(dataset.dataset, dataset.version): dataset for dataset in old.datasets} if old else {}
        for entry in entries:
            before = merged.get((entry.dataset, entry.version))
            if before is None or entry.state != "pending":
                earlier = {file.name: file for file in before.files} if before else {}
                files = tuple(_with_earlier(file, earlier.get(file.name)) for file in entry.files)
                merged[entry.dataset, entry.version] = replace(entry, files=files)
        datasets = tuple(merged[key] for key in sorted(merged, key=lambda key: (key[0], version_key(key[1]))))
        report = BuildReport(
            format=FORMAT,
            complete=all(dataset.state != "pending" for dataset in datasets),
            written_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tools=fingerprint.tools_and_commit(),
            datasets=datasets,
        )
        write_atomically(path, encode(report))


def _with_earlier(file: ReportedFile, earlier: ReportedFile | None) -> ReportedFile:
    """A file with what an earlier entry knows of the same bytes."""
    if earlier is None or earlier.sha256 not in (None, file.sha256):
        return file
    first_seen = earlier.known_by == "nobody" and file.known_by == "lock file"
    fetched = file.origin == "cache" and file.url is not None and earlier.origin in ("download", "none")
    return replace(
        file,
        known_by="nobody" if first_seen else file.known_by,
        origin="download" if fetched else file.origin,
    )


def _invalid(path: Path, found: str) -> ReleaseError:
    return ReleaseError(
        "not a build report",
        where=str(path),
        found=found[:MAX_QUOTED],
        expected="a report of this package (docs/build-report.schema.json)",
        todo="move it away, or give another file with --report",
    )


def error_to_json(error: DatasetError) -> dict[str, Any]:
    """The parts of an error, null where it lacks one, and its exit code."""
    parts = {part: getattr(error, part) for part in ("what", "where", "found", "expected", "todo")}
    return {**parts, "exit_code": error.exit_code}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
