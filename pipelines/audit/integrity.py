"""What must hold in every version of every dataset: defects that break a reader, or that readers pass over in silence.

mteb fails outright on some of these and scores wrongly, without a word, on the others (a judgement of an absent document, a
query without candidates, two documents with one id). So a release that has any of them is not written.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from builders import tasks
from builders.column_types import type_name
from cards.manifest import Finding, Severity

Frames = Mapping[str, Mapping[str, "pl.LazyFrame"]]

TRAIN_ROWS_OF_A_LABEL = 8  # mteb trains its classifiers on 8 texts of each label; with fewer it takes what there is


def check_integrity(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], *, sample: bool = False
) -> list[Finding]:
    """All defects of the tables of one dataset.

    frames: config -> split -> lazy frame. splits: those that must be there. sample: a golden sample, in which few rows of
    a label are no error. Rows are looked at only where the tables, columns and types are right.
    """
    found = [finding for layout in tasks.layouts(task) for finding in _structure(layout, frames, splits)]
    wanted = {layout.config for layout in tasks.layouts(task)}
    found += [
        _whole("unexpected_table", config, detail="no table of this task") for config in frames if config not in wanted
    ]
    if found:
        return found
    for layout in tasks.layouts(task):
        for split in splits:
            found += _rows(layout, split, frames[layout.config][split])
    if found:
        return found
    return [finding for split in splits for finding in _task_rules(task, frames, split, sample=sample)]


def row_name(columns: list[str]) -> pl.Expr:
    """How a row is named in examples: by its id, the ids of a judgement, else its 0-based position."""

    if "id" in columns:
        return pl.col("id")
    if "query-id" in columns and "corpus-id" in columns:
        return pl.concat_str("query-id", pl.lit(" "), "corpus-id", ignore_nulls=True)
    if "query-id" in columns:
        return pl.col("query-id")
    return pl.concat_str(pl.lit("row "), pl.col("__row").cast(pl.String))


def count_where(frame: pl.LazyFrame, wrong: pl.Expr) -> tuple[int, int, tuple[str, ...]]:
    """How many rows meet a condition, of how many, and the first five of them by id."""

    name = row_name(frame.collect_schema().names())
    marked = frame.with_row_index("__row").with_columns(wrong.fill_null(value=False).alias("__wrong"))
    counts = marked.select(pl.len().alias("rows"), pl.col("__wrong").sum().alias("wrong")).collect(engine="streaming")
    rows, count = counts.row(0)
    if not count:
        return 0, rows, ()
    examples = marked.filter("__wrong").select(name.alias("__name")).head(5).collect()["__name"]
    return count, rows, tuple(str(example) for example in examples)


def finding_where(
    kind: str, severity: Severity, place: tuple[str, str, str], frame: pl.LazyFrame, wrong: pl.Expr
) -> list[Finding]:
    """A finding for the rows that meet a condition; none where no row does. place: config, split, column."""
    count, rows, examples = count_where(frame, wrong)
    return [Finding(kind, severity, *place, count, count / rows, examples)] if count else []


def _whole(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> Finding:
    return Finding(kind, "error", config, split, column, 1, 1.0, (), detail)


def _structure(layout: tasks.Layout, frames: Frames, splits: tuple[str, ...]) -> list[Finding]:
    """Missing tables, missing columns, wrong types, columns a closed table may not have."""
    found = []
    for split in splits:
        if split not in frames.get(layout.config, {}):
            found.append(_whole("missing_table", layout.config, split))
            continue
        schema = frames[layout.config][split].collect_schema()
        for column, wanted in layout.columns.items():
            if column not in schema:
                found.append(_whole("missing_column", layout.config, split, column, detail=f"expected {wanted}"))
        for column, dtype in schema.items():
            wanted_type, name = layout.columns.get(column), type_name(dtype)
            if name is None or wanted_type not in (None, name):
                detail = f"{dtype}, expected {wanted_type or 'one of the types of builders.tasks'}"
                found.append(_whole("wrong_type", layout.config, split, column, detail=detail))
            if layout.closed and column not in layout.columns:
                found.append(_whole("unexpected_column", layout.config, split, column))
    unasked = [split for split in frames.get(layout.config, {}) if split not in splits]
    return found + [_whole("unexpected_table", layout.config, split) for split in unasked]


def _rows(layout: tasks.Layout, split: str, frame: pl.LazyFrame) -> list[Finding]:
    """Nulls in any column, ids that are empty or stand twice, tables without a row."""

    schema = frame.collect_schema()
    if not frame.select(pl.len()).collect(engine="streaming").item():
        return [_whole("empty_table", layout.config, split)]
    found = []
    for column, dtype in schema.items():
        null = pl.col(column).is_null()
        if isinstance(dtype, pl.List):
            null = null | pl.col(column).list.eval(pl.element().is_null()).list.any()
        kind = "null_text" if column in layout.text or column == "title" else "null_value"
        found += finding_where(kind, "error", (layout.config, split, column), frame, null)
    if "id" in schema:
        place = (layout.config, split, "id")
        found += finding_where("duplicate_id", "error", place, frame, ~pl.col("id").is_first_distinct())
        if schema["id"] == pl.String():
            found += finding_where("empty_id", "error", place, frame, pl.col("id") == "")
    return found


def _task_rules(task: tasks.Task, frames: Frames, split: str, *, sample: bool) -> list[Finding]:

    match task:
        case tasks.Retrieval():
            return _judgements(frames, split)
        case tasks.Reranking():
            return _judgements(frames, split) + _candidates(frames, split)
        case tasks.Classification(labels=labels):
            return _labels(frames["default"][split], split, labels, sample=sample)
        case tasks.MultilabelClassification(labels=labels):
            return _label_lists(frames["default"][split], split, labels, sample=sample)
        case tasks.PairClassification():
            place, frame = ("default", split, "labels"), frames["default"][split]
            wrong = finding_where("label_out_of_range", "error", place, frame, ~pl.col("labels").is_in([0, 1]))
            one_class = frame.select(pl.col("labels").n_unique()).collect().item() < 2
            return wrong + (
                [_whole("one_class_only", *place, detail="average precision needs both")] if one_class else []
            )
        case tasks.STS(low=low, high=high):
            outside = ~pl.col("score").is_between(low, high) | pl.col("score").is_nan()
            return finding_where(
                "score_out_of_range", "error", ("default", split, "score"), frames["default"][split], outside
            )
        case tasks.Clustering():
            frame = frames["default"][split]
            clusters = frame.select(pl.col("labels").n_unique()).collect().item()
            detail = "a clustering needs two clusters or more"
            return [_whole("one_class_only", "default", split, "labels", detail=detail)] if clusters < 2 else []
        case tasks.BitextMining():
            return []


def _judgements(frames: Frames, split: str) -> list[Finding]:
    """Judgements that point nowhere, stand twice or are negative; queries without a relevant document."""

    qrels, corpus, queries = (frames[config][split] for config in ("qrels", "corpus", "queries"))
    documents = corpus.select("id").collect(engine="streaming")["id"].implode()
    asked = queries.select("id").collect(engine="streaming")["id"].implode()
    positive = qrels.filter(pl.col("score") > 0).select("query-id").collect(engine="streaming")["query-id"].implode()

    def judged(kind: str, column: str, wrong: pl.Expr) -> list[Finding]:
        return finding_where(kind, "error", ("qrels", split, column), qrels, wrong)

    return [
        *judged("dangling_qrel", "corpus-id", ~pl.col("corpus-id").is_in(documents)),
        *judged("dangling_qrel", "query-id", ~pl.col("query-id").is_in(asked)),
        *judged("duplicate_judgement", "", ~pl.struct("query-id", "corpus-id").is_first_distinct()),
        *judged("score_out_of_range", "score", pl.col("score") < 0),
        *finding_where(
            "query_without_positive", "error", ("queries", split, "id"), queries, ~pl.col("id").is_in(positive)
        ),
    ]


def _candidates(frames: Frames, split: str) -> list[Finding]:
    """Candidate lists that are missing, stand twice, repeat or invent documents, or lack a positive or a negative."""

    ranked, queries = frames["top_ranked"][split], frames["queries"][split]
    place = ("top_ranked", split, "corpus-ids")
    listed = ranked.select("query-id").collect()["query-id"].implode()
    asked = queries.select("id").collect()["id"].implode()
    pairs = ranked.explode("corpus-ids").rename({"corpus-ids": "corpus-id"}).with_columns(listed=pl.lit(value=True))
    documents = frames["corpus"][split].select("id").collect(engine="streaming")["id"].implode()
    positive = frames["qrels"][split].filter(pl.col("score") > 0)
    sought = positive.join(pairs.unique(), on=["query-id", "corpus-id"], how="left", maintain_order="left")
    negatives = pairs.join(positive, on=["query-id", "corpus-id"], how="anti").select("query-id").unique()
    with_negative = negatives.collect()["query-id"].implode()
    repeated = pl.col("corpus-ids").list.n_unique() < pl.col("corpus-ids").list.len()
    return [
        *finding_where(
            "query_without_candidates", "error", ("queries", split, "id"), queries, ~pl.col("id").is_in(listed)
        ),
        *finding_where(
            "dangling_candidate", "error", ("top_ranked", split, "query-id"), ranked, ~pl.col("query-id").is_in(asked)
        ),
        *finding_where(
            "duplicate_id", "error", ("top_ranked", split, "query-id"), ranked, ~pl.col("query-id").is_first_distinct()
        ),
        *finding_where("dangling_candidate", "error", place, pairs, ~pl.col("corpus-id").is_in(documents)),
        *finding_where("duplicate_candidate", "error", place, ranked, repeated),
        *finding_where("positive_not_listed", "error", place, sought, pl.col("listed").is_null()),
        *finding_where("query_without_negative", "error", place, ranked, ~pl.col("query-id").is_in(with_negative)),
    ]


def _labels(frame: pl.LazyFrame, split: str, labels: tuple[str, ...], *, sample: bool) -> list[Finding]:
    """Labels without a name, names that are not the label's, labels with too few rows to train on."""

    label = pl.col("label")
    outside = ~label.is_between(0, len(labels) - 1)
    name = label.replace_strict(dict(enumerate(labels)), default=None, return_dtype=pl.String)
    counts = frame.group_by("label").len().collect(engine="streaming")
    return [
        *finding_where("label_out_of_range", "error", ("default", split, "label"), frame, outside),
        *finding_where(
            "label_text_differs", "error", ("default", split, "label_text"), frame, pl.col("label_text") != name
        ),
        *_few_rows(dict(counts.iter_rows()), split, labels, sample=sample),
    ]


def _label_lists(frame: pl.LazyFrame, split: str, labels: tuple[str, ...], *, sample: bool) -> list[Finding]:
    """The same for lists of labels, which must also ascend."""

    place, label = ("default", split, "label"), pl.col("label")
    outside = label.list.eval(~pl.element().is_between(0, len(labels) - 1)).list.any()
    unordered = label.list.eval(pl.element().diff() <= 0).list.any()
    counts = frame.select(label.explode()).drop_nulls().group_by("label").len().collect(engine="streaming")
    return [
        *finding_where("label_out_of_range", "error", place, frame, outside),
        *finding_where("label_unordered", "error", place, frame, unordered),
        *_few_rows(dict(counts.iter_rows()), split, labels, sample=sample),
    ]


def _few_rows(counts: dict[int, int], split: str, labels: tuple[str, ...], *, sample: bool) -> list[Finding]:
    """Labels of the train split with fewer rows than mteb draws: it takes what there is, so this is a warning, not an error."""
    rows = [(name, counts.get(label, 0)) for label, name in enumerate(labels)]
    few = tuple(f"{name}: {count}" for name, count in rows if count < TRAIN_ROWS_OF_A_LABEL)
    if split != "train" or not few:
        return []
    severity: Severity = "info" if sample else "warning"
    return [
        Finding("few_rows_of_label", severity, "default", split, "label", len(few), len(few) / len(labels), few[:5])
    ]
