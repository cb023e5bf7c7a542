"""Audits datasets that may be broken: first the defects that break readers, then all findings of the rows that remain."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from builders import tasks
from cards.kinds import SAMPLE
from cards.manifest import SEVERITIES, Finding
from pipelines.audit import integrity, quality
from pipelines.audit.findings import FindingRows, without_rows
from pipelines.audit.tables import read_column
from pipelines.checking.data_files import Tables
from pipelines.checking.datasets import ForeignDataset

# Defects of a table: without its split, the other tables can be audited.
TABLE_KINDS = {
    "missing_table",
    "missing_column",
    "wrong_type",
    "unexpected_table",
    "unexpected_column",
    "empty_table",
}
# Defects of a row: without the row, the others can be audited.
ROW_KINDS = {"null_text", "null_value", "empty_id", "duplicate_id"}


def audit_foreign(
    dataset: ForeignDataset, *, language_sample: int | None = SAMPLE
) -> tuple[list[FindingRows], ForeignDataset | None]:
    """The findings of a dataset with their rows, and the dataset reduced to the rows that could be audited, None for none.

    Not audited are splits that lack a table or a column, rows with a null or with the id of an earlier row, and judgements and
    candidates that point to nothing; pipelines.audit.integrity reports all of these. Locations are those of the dataset's task.
    """
    defects, splits = _find_defects(dataset)
    findings = [*map(without_rows, dataset.findings), *defects]
    if (auditable := _auditable_rows(dataset, splits, [found.finding for found in findings])) is not None:
        findings += quality.audit_tables(
            auditable.task,
            auditable.frames,
            auditable.task.splits,
            auditable.languages,
            language_sample=language_sample,
        )
    return findings, auditable


def at_own_locations(dataset: ForeignDataset, findings: Sequence[FindingRows]) -> list[tuple[FindingRows, Finding]]:
    """Each finding with its rows, and the finding at the dataset's own location; errors first.

    A finding in a table that several splits share, or have copies of, occurs once: at its first location.
    """
    pairs: dict[Finding, tuple[FindingRows, Finding]] = {}
    for found in findings:
        finding = found.finding
        location = dataset.own_locations.get((finding.config, finding.split), (finding.config, finding.split))
        first_location = dataset.shared_files.get(location, location)
        same = replace(finding, twins=())  # their names begin with the split
        pairs.setdefault(_move(same, first_location), (found, _move(finding, location)))
    return sorted(pairs.values(), key=lambda pair: SEVERITIES.index(pair[1].severity))


def _move(finding: Finding, location: tuple[str, str]) -> Finding:
    return replace(finding, config=location[0], split=location[1])


def _find_defects(dataset: ForeignDataset) -> tuple[list[FindingRows], tuple[str, ...]]:
    """The defects of all tables, and the splits without defects of a table.

    audit.integrity stops at the first stage with defects. So it runs again without the splits and rows that it reported, until
    it reports nothing new.
    """
    defects: dict[tuple[str, str, str], FindingRows] = {}
    task, frames, splits = dataset.task, dataset.frames, dataset.task.splits
    cleaned: set[tuple[str, str]] = set()
    while splits:
        frames = _select_splits(frames, splits)
        found = integrity.audit_integrity(task, frames, splits)
        findings = [rows.finding for rows in found]
        for rows in found:
            defects.setdefault((rows.finding.kind, rows.finding.location, rows.finding.detail), rows)
        broken_splits = {finding.split for finding in findings if finding.kind in TABLE_KINDS}
        broken_rows = _locations_of_broken_rows(findings) - cleaned
        if broken_splits:
            splits = tuple(split for split in splits if split not in broken_splits)
        elif broken_rows:
            frames = _drop_broken_rows(task, frames, broken_rows, null_texts=False)
            cleaned |= broken_rows
        else:
            break
    return list(defects.values()), splits


def _auditable_rows(
    dataset: ForeignDataset, splits: tuple[str, ...], findings: Sequence[Finding]
) -> ForeignDataset | None:
    """The dataset with these splits and without rows that have defects; None where no split has a text left."""
    frames = _select_splits(dataset.frames, splits)
    if any(finding.severity == "error" for finding in findings):
        frames = _drop_broken_rows(dataset.task, frames, _locations_of_broken_rows(findings), null_texts=True)
        frames = _drop_dangling(frames) if "qrels" in frames and splits else frames
        with_texts = [layout.config for layout in tasks.layouts(dataset.task) if layout.text]
        splits = tuple(
            split
            for split in splits
            if not any(frames[config][split].head(1).collect().is_empty() for config in with_texts)
        )
    if not splits:
        return None
    return replace(dataset, task=replace(dataset.task, splits=splits), frames=_select_splits(frames, splits))


def _locations_of_broken_rows(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(finding.config, finding.split) for finding in findings if finding.kind in ROW_KINDS}


def _select_splits(frames: Tables, splits: tuple[str, ...]) -> Tables:
    return {config: {split: tables[split] for split in splits if split in tables} for config, tables in frames.items()}


def _drop_broken_rows(task: tasks.Task, frames: Tables, locations: set[tuple[str, str]], *, null_texts: bool) -> Tables:
    """The tables; at some locations without the rows that have a null, an empty id, or the id of an earlier row.

    null_texts: drop the rows with a null text too; else their text becomes empty, as a null title always does.
    """
    layouts = {layout.config: layout for layout in tasks.layouts(task)}
    return {
        config: {
            split: _sound_rows(layouts[config], frame, null_texts=null_texts) if (config, split) in locations else frame
            for split, frame in tables.items()
        }
        for config, tables in frames.items()
    }


def _sound_rows(layout: tasks.Layout, frame: pl.LazyFrame, *, null_texts: bool) -> pl.LazyFrame:
    schema = frame.collect_schema()
    filled = [column for column in schema if column == "title" or (column in layout.text and not null_texts)]
    lists = [column for column, dtype in schema.items() if isinstance(dtype, pl.List)]
    frame = frame.with_columns(pl.col(filled).fill_null(""), pl.col(lists).list.drop_nulls()).drop_nulls()
    key = "query-id" if layout.config == "top_ranked" else "id" if "id" in schema else None
    return frame if key is None else frame.filter(pl.col(key) != "").filter(pl.col(key).is_first_distinct())


def _drop_dangling(frames: Tables) -> Tables:
    """The tables of a retrieval task without judgements and candidates of queries and documents that do not exist."""
    joined = {config: dict(tables) for config, tables in frames.items()}
    for split, qrels in frames["qrels"].items():
        queries, documents = (read_column(frames[config][split], "id").implode() for config in ("queries", "corpus"))
        has_query = pl.col("query-id").is_in(queries)
        joined["qrels"][split] = qrels.filter(has_query, pl.col("corpus-id").is_in(documents))
        if "top_ranked" in frames:
            candidates = frames["top_ranked"][split].filter(has_query).explode("corpus-ids")
            candidates = candidates.filter(pl.col("corpus-ids").is_in(documents))
            joined["top_ranked"][split] = candidates.group_by("query-id", maintain_order=True).agg("corpus-ids")
    return joined
