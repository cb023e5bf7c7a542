"""Writes the data of one release for its pages: rows, queries and findings; and what the pages say of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from builders import tasks
from builders.licenses import permits_derivatives
from cards.columns import label_name
from cards.manifest import Finding, Table
from cards.render import ROWS_ARE
from pipelines.audit.kinds import KINDS
from pipelines.audit.label_statistics import count_labels
from pipelines.audit.languages import SAMPLE
from pipelines.audit.tables import JUDGED_TABLES
from pipelines.report.checks import CheckResult, check_release
from pipelines.site_pages.data_scripts import RecordList
from pipelines.site_pages.finding_pages import named_positions, write_finding
from pipelines.site_pages.judged_queries import write_queries
from pipelines.site_pages.releases import SiteRelease
from pipelines.site_pages.row_pages import MAX_BYTES, NamedRows, listed_ids, write_rows

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
    if permits_derivatives(licence) or rights:
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
        named = _named_rows(table, result) if table.num_bytes > MAX_BYTES else None
        rows = write_rows(page_dir, f"table-{number}", frame, named)
        if table.config in JUDGED_TABLES:
            ids[table.config, table.split] = number - 1, listed_ids(frame, named)
        columns = tuple(column.name for column in table.columns)
        label = _label_column(result.task, table.config, columns)
        filters = _label_filters(result.task, frame, label) if label and named is None else ()
        texts = tuple(name for name in ("title", *(layout.text if layout else ())) if name in columns)
        pages = TablePages(
            table.config, table.split, table.rows, columns, texts, rows, _omission(table, rows), label, filters
        )
        written.append(pages)
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


def _named_rows(table: Table, result: CheckResult) -> NamedRows:
    """The rows of a large table that a finding, a judgement or a list of candidates names."""
    positions = named_positions(result.found, table.config, table.split)
    column = JUDGED_TABLES.get(table.config)
    ids = [pl.LazyFrame(schema={"id": pl.String})]
    if column is not None and table.split in result.rows.get("qrels", {}):
        ids.append(result.rows["qrels"][table.split].select(id=column))
    if table.config == "corpus" and table.split in result.rows.get("top_ranked", {}):
        ids.append(result.rows["top_ranked"][table.split].select(id=pl.col("corpus-ids").explode()))
    named: pl.Series = pl.concat(ids).unique().collect(engine="streaming")["id"]
    return NamedRows(positions, named)


def _omission(table: Table, listed: RecordList) -> str:
    if listed.records == table.rows:
        return ""
    _, noun = ROWS_ARE.get(table.config, ("row", "rows"))
    return (
        f"This table has {table.num_bytes / 1e6:,.0f} MB. Of its {table.rows:,} {noun}, the {listed.records:,} that a query, a"
        " judgement or a finding names are shown here."
    )


def _label_column(task: tasks.Task, config: str, columns: tuple[str, ...]) -> str:
    """The column that the rows of a table can be filtered by; empty where there is none."""
    label = "score" if config == "qrels" else task.type.label
    return label if label in columns else ""


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
    for number, one in enumerate(result.found, 1):
        definition = KINDS[one.finding.kind].definition
        if not with_rows:
            written.append(FindingData(one.finding, definition, None, ()))
            continue
        pages = write_finding(page_dir, f"finding-{number}", one, result.rows)
        listed = pages.rows if pages.rows.records else None
        written.append(FindingData(one.finding, definition, listed, pages.columns))
    return tuple(written)
