"""Integrity: defects that break a reader, or that readers silently ignore. A release that has one is not written.

mteb fails on some of these and computes wrong scores on the others (a judgement of a missing document, a query without
candidates, two documents with one id). The rules for a table by itself come first, then those for each task type.
"""

from dataclasses import replace

import polars as pl

from builders import tasks
from builders.reading.values import COLUMN_TYPES
from builders.shaping.labels import label_key
from cards.manifest import Finding
from pipelines.audit.findings import (
    FindingRows,
    findings_for_each,
    findings_where,
    table_finding,
    with_examples,
    without_rows,
)
from pipelines.audit.judgements import check_training_labels, check_training_pairs
from pipelines.audit.tables import Frames, count_rows, read_column
from pipelines.process.stages import stage

LabelledTask = (
    tasks.Classification | tasks.MultilabelClassification | tasks.PairClassification | tasks.STS | tasks.Clustering
)


def audit_integrity(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], *, sample: bool = False
) -> list[FindingRows]:
    """All integrity findings of the tables of one dataset.

    frames: config -> split -> lazy frame. splits: those that must exist. sample: whether the rows are a golden sample or the
    first of a dataset (`--limit`), where a split with one label, and labels with few rows, are only info. Rows are checked only
    if all tables, columns and types are right, and the rules of the task type only if all rows are.
    """
    with stage("audit of integrity"):
        return with_examples(_check_stages(task, frames, splits, sample=sample), frames)


def _check_stages(task: tasks.Task, frames: Frames, splits: tuple[str, ...], *, sample: bool) -> list[FindingRows]:
    layouts = tasks.layouts(task)
    configs = {layout.config for layout in layouts}
    tables = [finding for layout in layouts for finding in _check_structure(layout, frames, splits)]
    tables += [
        table_finding("unexpected_table", config, detail="not a table of this task")
        for config in frames
        if config not in configs
    ]
    if tables:
        return list(map(without_rows, tables))
    findings = [
        finding
        for layout in layouts
        for split in splits
        for finding in _check_rows(layout, split, frames[layout.config][split])
    ]
    if findings:
        return findings
    findings = [finding for split in splits for finding in _check_task(task, frames, split, sample=sample)]
    return findings + check_training_labels(task, frames, splits, sample=sample)


def _check_structure(layout: tasks.Layout, frames: Frames, splits: tuple[str, ...]) -> list[Finding]:
    """Missing tables, missing columns, wrong types, columns that a closed table may not have."""
    findings = []
    for split in splits:
        if split not in frames.get(layout.config, {}):
            findings.append(table_finding("missing_table", layout.config, split))
            continue
        schema = frames[layout.config][split].collect_schema()
        for column, expected in layout.columns.items():
            if column not in schema:
                detail = f"expected {expected}"
                findings.append(table_finding("missing_column", layout.config, split, column, detail=detail))
        for column, dtype in schema.items():
            expected_type, name = layout.columns.get(column), COLUMN_TYPES.get(dtype)
            if name is None or expected_type not in (None, name):
                detail = f"{dtype}, expected {expected_type or 'one of ' + ', '.join(COLUMN_TYPES.values())}"
                findings.append(table_finding("wrong_type", layout.config, split, column, detail=detail))
            if layout.closed and column not in layout.columns:
                findings.append(table_finding("unexpected_column", layout.config, split, column))
    others = [split for split in frames.get(layout.config, {}) if split not in splits]
    return findings + [table_finding("unexpected_table", layout.config, split) for split in others]


def _check_rows(layout: tasks.Layout, split: str, frame: pl.LazyFrame) -> list[FindingRows]:
    """Tables without rows, nulls in any column, empty and repeated ids."""
    schema = frame.collect_schema()
    if not count_rows(frame):
        return [without_rows(table_finding("empty_table", layout.config, split))]
    conditions = []
    for column, dtype in schema.items():
        is_null = pl.col(column).is_null()
        if isinstance(dtype, pl.List):
            is_null = is_null | pl.col(column).list.eval(pl.element().is_null()).list.any()
        kind = "null_text" if column in layout.text or column == "title" else "null_value"
        conditions.append((kind, (layout.config, split, column), is_null))
    if "id" in schema:
        location = (layout.config, split, "id")
        conditions.append(("duplicate_id", location, ~pl.col("id").is_first_distinct()))
        if schema["id"] == pl.String():
            conditions.append(("empty_id", location, pl.col("id") == ""))
    return findings_for_each(frame, conditions)


def _check_task(task: tasks.Task, frames: Frames, split: str, *, sample: bool) -> list[FindingRows]:
    """The rules of a task type, for one split."""
    match task:
        case tasks.Retrieval():
            return _check_judgements(frames, split)
        case tasks.Reranking():
            return _check_judgements(frames, split) + _check_candidates(frames, split)
        case tasks.BitextMining():
            return []
        case tasks.Contrastive(configs=configs):
            tables = [(frames[config][split], config) for config in configs]
            return [finding for frame, config in tables for finding in check_training_pairs(frame, config, split)]
    return _check_labels(task, frames["default"][split], split, sample=sample)


def _check_judgements(frames: Frames, split: str) -> list[FindingRows]:
    """Judgements that are dangling, repeated or negative; queries without a relevant document."""
    qrels, corpus, queries = (frames[config][split] for config in ("qrels", "corpus", "queries"))
    document_ids = read_column(corpus, "id").implode()
    query_ids = read_column(queries, "id").implode()
    with_positive = read_column(qrels.filter(pl.col("score") > 0), "query-id").implode()

    def qrels_where(kind: str, column: str, condition: pl.Expr) -> list[FindingRows]:
        return findings_where(kind, ("qrels", split, column), qrels, condition)

    return [
        *qrels_where("dangling_qrel", "corpus-id", ~pl.col("corpus-id").is_in(document_ids)),
        *qrels_where("dangling_qrel", "query-id", ~pl.col("query-id").is_in(query_ids)),
        *qrels_where("duplicate_judgement", "", ~pl.struct("query-id", "corpus-id").is_first_distinct()),
        *qrels_where("score_out_of_range", "score", pl.col("score") < 0),
        *findings_where(
            "query_without_positive", ("queries", split, "id"), queries, ~pl.col("id").is_in(with_positive)
        ),
    ]


def _check_candidates(frames: Frames, split: str) -> list[FindingRows]:
    """Candidate lists that are missing, dangling or repeated, that have dangling or repeated documents, or lack a negative."""
    ranked, queries = frames["top_ranked"][split], frames["queries"][split]
    ranked_queries = read_column(ranked, "query-id").implode()
    query_ids = read_column(queries, "id").implode()
    document_ids = read_column(frames["corpus"][split], "id").implode()
    candidates = ranked.explode("corpus-ids").rename({"corpus-ids": "corpus-id"})
    positives = frames["qrels"][split].filter(pl.col("score") > 0)
    listed = candidates.unique().with_columns(listed=pl.lit(value=True))
    looked_up = positives.join(listed, on=["query-id", "corpus-id"], how="left", maintain_order="left")
    negatives = candidates.join(positives, on=["query-id", "corpus-id"], how="anti").select("query-id").unique()
    with_negative = read_column(negatives, "query-id").implode()
    is_repeating = pl.col("corpus-ids").list.n_unique() < pl.col("corpus-ids").list.len()

    def ranked_where(kind: str, column: str, rows: pl.LazyFrame, condition: pl.Expr) -> list[FindingRows]:
        return findings_where(kind, ("top_ranked", split, column), rows, condition)

    return [
        *findings_where(
            "query_without_candidates", ("queries", split, "id"), queries, ~pl.col("id").is_in(ranked_queries)
        ),
        *ranked_where("dangling_candidate", "query-id", ranked, ~pl.col("query-id").is_in(query_ids)),
        *ranked_where("duplicate_id", "query-id", ranked, ~pl.col("query-id").is_first_distinct()),
        *ranked_where("dangling_candidate", "corpus-ids", candidates, ~pl.col("corpus-id").is_in(document_ids)),
        *ranked_where("duplicate_candidate", "corpus-ids", ranked, is_repeating),
        *ranked_where("positive_not_listed", "corpus-ids", looked_up, pl.col("listed").is_null()),
        *ranked_where("query_without_negative", "corpus-ids", ranked, ~pl.col("query-id").is_in(with_negative)),
    ]


def _check_labels(task: LabelledTask, frame: pl.LazyFrame, split: str, *, sample: bool) -> list[FindingRows]:
    """Labels and scores outside the task's, label names of other labels, lists that do not ascend, splits with only one label."""
    label = pl.col(task.type.label)
    match task:
        case tasks.STS(low=low, high=high):
            location = ("default", split, "score")
            return findings_where("score_out_of_range", location, frame, ~label.is_between(low, high) | label.is_nan())
        case tasks.Classification(labels=labels):
            name = label.replace_strict(dict(enumerate(labels)), default=None, return_dtype=pl.String)
            conditions = [
                ("label_out_of_range", "label", ~label.is_between(0, len(labels) - 1)),
                ("label_text_differs", "label_text", pl.col("label_text") != name),
            ]
            detail = "a classifier needs at least two labels"
        case tasks.MultilabelClassification(labels=labels):
            is_outside = label.list.eval(~pl.element().is_between(0, len(labels) - 1)).list.any()
            is_unordered = label.list.eval(pl.element().diff() <= 0).list.any()
            conditions = [("label_out_of_range", "label", is_outside), ("label_unordered", "label", is_unordered)]
            detail = "all rows have the same list of labels"
        case tasks.PairClassification():
            conditions = [("label_out_of_range", "labels", ~label.is_in([0, 1]))]
            detail = "average precision needs both classes"
        case tasks.Clustering():
            conditions = []
            detail = "clustering needs at least two clusters"
    located = [(kind, ("default", split, column), where) for kind, column, where in conditions]
    findings = findings_for_each(frame, located) if located else []
    key = label_key(task.type.label, frame.collect_schema()[task.type.label])
    if frame.select(key.n_unique()).collect(engine="streaming").item() >= 2:
        return findings
    one_class = table_finding("one_class_only", "default", split, task.type.label, detail=detail)
    return [*findings, without_rows(replace(one_class, severity="info") if sample else one_class)]
