"""The releases that a site shows, and the data of each for its pages: rows, queries, findings."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from builders import catalogue, tasks
from builders.catalogue import Definition, Entry
from builders.errors import ReleaseError, UsageError
from builders.licenses import permits_derivatives
from builders.spec import TRAINING
from cards.columns import label_name
from cards.kinds import KINDS, SAMPLE
from cards.manifest import Finding, Manifest, Table
from cards.render import ROWS_ARE
from cards.statistics import read_statistics, to_json
from pipelines.audit.statistics import count_labels
from pipelines.audit.tables import JUDGED_TABLES
from pipelines.catalogue_site.lists import (
    ALL_ROWS,
    MAX_BYTES,
    RecordList,
    listed_ids,
    named_positions,
    write_finding,
    write_queries,
    write_rows,
)
from pipelines.checking.checks import CheckResult, check_release
from pipelines.release import folder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SiteRelease:
    """A release to show. statistics: as in statistics.json, by split; none of an invalid file."""

    entry: Entry
    manifest: Manifest
    release_dir: Path
    statistics: dict[str, Any]

    @property
    def definition(self) -> Definition:
        """Its dataset, which no process can send to another."""
        return catalogue.load(self.entry)

    @property
    def path(self) -> str:
        """Its folder in the site: `cedr-classification/3.0.0`."""
        return f"{self.definition.dataset.name}/{self.manifest.version}"


def find_datasets(names: Sequence[str], releases: Path) -> list[tuple[Definition, list[SiteRelease]]]:
    """The datasets that names mean, or all with training data, each with its releases below a folder, the newest first.

    Raises UsageError for an unknown name and where the folder does not exist, ReleaseError where none of the datasets has a
    release there, and for a release that cannot be read.
    """
    if not releases.is_dir():
        raise UsageError(
            "no such folder", where=str(releases), todo="build releases, or name the folder with them: --releases DIR"
        )
    if not names:
        _log_unknown(releases)
    datasets = []
    for entry, pairs in groupby(catalogue.resolve(names or ["all", TRAINING]), itemgetter(0)):
        definition = catalogue.load(entry)
        versions = [catalogue.requested_version(definition, requested) for _, requested in pairs if requested]
        datasets.append((definition, _find_releases(definition, releases / entry.dataset, versions)))
    if not any(found for _, found in datasets):
        shown = " ".join(names) or "all --sample"
        raise ReleaseError(
            "no releases found",
            where=str(releases),
            expected="<dataset>/<version>/manifest.json of a dataset of the catalogue",
            todo=f"build some: embedding-datasets build {shown} --output {releases}",
        )
    return datasets


def _log_unknown(releases: Path) -> None:
    """Warn of folders with releases of datasets that the catalogue does not have: they are not shown."""
    for path in sorted(releases.iterdir()):
        if path.name not in catalogue.entries() and any(path.glob(f"*/{folder.MANIFEST}")):
            logger.warning("%s: not in the catalogue, its releases are not shown", path)


def _find_releases(definition: Definition, dataset_dir: Path, versions: Sequence[str]) -> list[SiteRelease]:
    """The releases of these versions, or of all, the newest first."""
    requested = [path for path in reversed(folder.version_dirs(dataset_dir)) if not versions or path.name in versions]
    found = [_read_release(definition, release_dir) for release_dir in requested]
    return [release for release in found if release is not None]


def _read_release(definition: Definition, release_dir: Path) -> SiteRelease | None:
    """A release; None for an empty folder.

    Raises ReleaseError for anything else, and for the release of another dataset or version.
    """
    manifest = folder.read_manifest(release_dir)
    if manifest is None:
        return None
    expected = f"{definition.dataset.name}@{release_dir.name}"
    if manifest.name != expected:
        raise ReleaseError(
            "the folder holds another release",
            where=str(release_dir),
            found=manifest.name,
            expected=expected,
            todo="move it to outputs/<dataset>/<version>",
        )
    try:
        statistics = to_json(read_statistics(release_dir / folder.STATISTICS))
    except ReleaseError:  # missing or invalid, which the check reports
        statistics = {}
    return SiteRelease(definition.entry, manifest, release_dir, statistics)


MAX_LABELS = 500  # in the filter of a table
SCORE_RANGES = 5


@dataclass(frozen=True)
class TablePages:
    """A table whose rows are written. note: which rows are left out, if any. filters: see `_label_filters`."""

    config: str
    split: str
    rows: int
    columns: tuple[str, ...]
    texts: tuple[str, ...]
    list: RecordList
    note: str
    label: str
    filters: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class QueryPages:
    """The judged queries of a split. queries, corpus: places of their tables in `ReleaseData.tables`."""

    split: str
    list: RecordList
    queries: int
    corpus: int
    positives: Mapping[int, int]


@dataclass(frozen=True)
class FindingData:
    """A finding. definition: of its kind. list, columns: its rows; None where they are not shown, or it is not about rows."""

    finding: Finding
    definition: str
    list: RecordList | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ReleaseData:
    """What was written of a release. withheld: why there are no rows, if there are none. problems: damage of the release."""

    release: SiteRelease
    verdict: Mapping[str, str]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    withheld: str
    tables: tuple[TablePages, ...]
    queries: tuple[QueryPages, ...]
    findings: tuple[FindingData, ...]


def write_release_data(release: SiteRelease, page_dir: Path, *, rights: bool) -> ReleaseData:
    """Check a release, and write its rows, its judged queries and the rows of its findings below the folder of its pages.

    rights: show the texts of a source whose licence forbids derivatives.
    """
    page_dir.mkdir(parents=True)
    result = check_release(release.release_dir, language_sample=SAMPLE)
    withheld = withheld_texts(release, rights=rights)
    if not withheld and not result.rows:
        withheld = "The files of this release are not those of its manifest, so its rows are not shown."
    tables, queries = ((), ()) if withheld else _write_tables(release, result, page_dir)
    return ReleaseData(
        release,
        result.report["verdict"],
        tuple(result.report["problems"]),
        tuple(result.report["notes"]),
        withheld,
        tables,
        queries,
        _write_findings(result, page_dir, with_rows=not withheld),
    )


def withheld_texts(release: SiteRelease, *, rights: bool) -> str:
    """Why the texts of a release are not shown; empty where they are."""
    licence = release.definition.license
    if rights or release.manifest.made_up or permits_derivatives(licence):
        return ""
    return (
        f"The licence of the source, {licence}, does not permit sharing derivatives, so this site shows none of its texts."
        " Who holds the rights, or was given them, builds the site with --i-have-the-rights."
    )


def _write_tables(
    release: SiteRelease, result: CheckResult, page_dir: Path
) -> tuple[tuple[TablePages, ...], tuple[QueryPages, ...]]:
    layouts = {layout.config: layout for layout in tasks.layouts(result.task)}
    written: list[TablePages] = []
    ids: dict[tuple[str, str], tuple[int, pl.DataFrame]] = {}
    for number, table in enumerate(release.manifest.tables, 1):
        frame, layout = result.rows[table.config][table.split], layouts.get(table.config)
        large = table.num_bytes > MAX_BYTES
        shown = _named_rows(table, result) if large else ALL_ROWS
        rows = write_rows(page_dir, f"table-{number}", frame, shown)
        if table.config in JUDGED_TABLES:
            ids[table.config, table.split] = number - 1, listed_ids(frame, shown)
        columns = tuple(column.name for column in table.columns)
        filtered_by = "score" if table.config == "qrels" else result.task.type.label
        label = filtered_by if filtered_by in columns else ""
        filters = _label_filters(result.task, frame, label) if label and not large else ()
        texts = tuple(name for name in ("title", *(layout.text if layout else ())) if name in columns)
        written.append(
            TablePages(
                table.config, table.split, table.rows, columns, texts, rows, _omission(table, rows), label, filters
            )
        )
    return tuple(written), tuple(_write_queries(release, result, page_dir, ids))


def _write_queries(
    release: SiteRelease, result: CheckResult, page_dir: Path, ids: Mapping[tuple[str, str], tuple[int, pl.DataFrame]]
) -> Iterator[QueryPages]:
    """Write the judged queries of each split. ids: place and `listed_ids` of each table of queries and of documents."""
    splits = [split for split in release.manifest.splits if split in result.rows.get("qrels", {})]
    for number, split in enumerate(splits, 1):
        if ("queries", split) in ids and ("corpus", split) in ids:
            (query_table, query_ids), (corpus_table, document_ids) = ids["queries", split], ids["corpus", split]
            listed, positives = write_queries(
                page_dir, f"queries-{number}", result.rows, (query_ids, document_ids), split=split
            )
            yield QueryPages(split, listed, query_table, corpus_table, positives)


def _named_rows(table: Table, result: CheckResult) -> pl.Expr:
    """The rows of a large table that a finding, a judgement or a list of candidates names."""
    positions = named_positions(result.found, table.config, table.split)
    column = JUDGED_TABLES.get(table.config)
    ids = [pl.LazyFrame(schema={"id": pl.String})]
    if column is not None and table.split in result.rows.get("qrels", {}):
        ids.append(result.rows["qrels"][table.split].select(id=column))
    if table.config == "corpus" and table.split in result.rows.get("top_ranked", {}):
        ids.append(result.rows["top_ranked"][table.split].select(id=pl.col("corpus-ids").explode()))
    is_named = pl.col("__position").is_in(positions.implode())
    if not any(column.name == "id" for column in table.columns):
        return is_named
    named: pl.Series = pl.concat(ids).unique().collect(engine="streaming")["id"]
    return is_named | pl.col("id").is_in(named.implode())


def _omission(table: Table, listed: RecordList) -> str:
    if listed.records == table.rows:
        return ""
    _, noun = ROWS_ARE.get(table.config, ("row", "rows"))
    return (
        f"This table has {table.num_bytes / 1e6:,.0f} MB. Of its {table.rows:,} {noun}, the {listed.records:,} that a query, a"
        " judgement or a finding names are shown here."
    )


def _label_filters(task: tasks.Task, frame: pl.LazyFrame, column: str) -> tuple[tuple[Any, ...], ...]:
    """The choices of a filter: (name, rows, value), or (name, rows, low, high) for scores, which are in [low, high).

    The last range includes its end.
    """
    if isinstance(task, tasks.STS):
        width = (task.high - task.low) / SCORE_RANGES
        bins = ((pl.col(column) - task.low) / width).floor().clip(0, SCORE_RANGES - 1).cast(pl.Int64)
        counts = dict(frame.group_by(bins.alias("bin")).agg(pl.len()).collect(engine="streaming").iter_rows())
        ends = [round(task.low + width * step, 6) for step in range(SCORE_RANGES + 1)]
        pairs = enumerate(pairwise(ends))
        return tuple((f"{low:g} to {high:g}", counts.get(index, 0), low, high) for index, (low, high) in pairs)
    counted = count_labels(frame, column)
    if len(counted) > MAX_LABELS:
        return ()
    return tuple((label_name(task, value), count, value) for value, count in counted.items())


def _write_findings(result: CheckResult, page_dir: Path, *, with_rows: bool) -> tuple[FindingData, ...]:
    written = []
    for number, found in enumerate(result.found, 1):
        listed, columns = write_finding(page_dir, f"finding-{number}", found, result.rows) if with_rows else (None, ())
        shown = listed if listed and listed.records else None
        written.append(FindingData(found.finding, KINDS[found.finding.kind].definition, shown, columns))
    return tuple(written)
