"""The rows that a card shows as examples: typical ones, not the first ones.

The first row of a table may be one that a finding is about, have no label, or be unusually short. Of the rows of a split, a card
shows the one that has

1. no finding, and no text that occurs again in the table,
2. a label, where the task has labels: an empty list is none,
3. texts of about the median length: for each, a difference of at most a quarter of it,

and of these the first by the hash of its texts (builders.shaping.sampling). Where no row has all three, the first condition
outweighs the second, and that the third. In retrieval and reranking, the query is chosen so; beside it the card shows its first
relevant document, the judgement and the candidates of the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks
from builders.shaping.sampling import hash_order
from pipelines.audit.tables import model_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.audit.findings import FindingRows
    from pipelines.audit.tables import Frames

SEED = "example"


def choose_examples(
    task: tasks.Task, frames: Frames, split: str, findings: Iterable[FindingRows]
) -> dict[str, dict[str, Any]]:
    """A row of each table of a split, by config and column; no row of an empty table."""
    layouts = {layout.config: layout for layout in tasks.layouts(task)}
    first = "queries" if "queries" in layouts else next(iter(layouts))
    positions = [
        one.rows.select("position")
        for one in findings
        if (one.finding.config, one.finding.split) == (first, split) and "position" in one.rows.collect_schema()
    ]
    found = pl.concat([pl.LazyFrame(schema={"position": pl.UInt32}), *positions]).unique().collect(engine="streaming")
    chosen = _typical_row(layouts[first], frames[first][split], task.type.label, found["position"])
    if chosen is None:
        return {}
    [row] = _first_row(frames[first][split].slice(chosen, 1))
    return {first: row} if first != "queries" else _around_query(frames, split, row)


def _typical_row(layout: tasks.Layout, table: pl.LazyFrame, label: str, found: pl.Series) -> int | None:
    """The position of the row to show, or None in an empty table."""
    schema, texts = table.collect_schema(), list(model_inputs(layout).values())
    labelled = pl.col(label).list.len() > 0 if label and isinstance(schema[label], pl.List) else pl.lit(value=True)
    rows = (
        table.with_row_index("__row")
        .select(
            "__row",
            found=pl.col("__row").is_in(found.implode()),
            labelled=labelled,
            text=pl.concat_str(texts, separator="\n"),
            **{f"length {side}": text.str.len_chars().cast(pl.Float64) for side, text in enumerate(texts)},
        )
        .collect(engine="streaming")
    )
    if rows.is_empty():
        return None
    lengths = [pl.col(f"length {side}") for side in range(len(texts))]
    rows = rows.with_columns(order=hash_order(rows["text"], SEED)).with_columns(
        clean=~pl.col("found") & pl.col("order").is_unique(),
        near=pl.all_horizontal((length - length.median()).abs() <= length.median() / 4 for length in lengths),
    )
    best = rows.sort("clean", "labelled", "near", "order", "__row", descending=[True, True, True, False, False])
    return int(best["__row"][0])


def _around_query(frames: Frames, split: str, query: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A query with its first relevant document, the judgement of it and its candidates, in the order of the tables.

    A table that has none of these, as in a release of the first raw records, is left out.
    """
    of_query = pl.col("query-id") == query["id"]
    judgements = _first_row(frames["qrels"][split].filter(of_query).sort("score", descending=True, maintain_order=True))
    relevant = pl.col("id").is_in([judgement["corpus-id"] for judgement in judgements])
    rows = {"corpus": _first_row(frames["corpus"][split].filter(relevant)), "queries": [query], "qrels": judgements}
    if "top_ranked" in frames:
        rows["top_ranked"] = _first_row(frames["top_ranked"][split].filter(of_query))
    return {config: found[0] for config, found in rows.items() if found}


def _first_row(rows: pl.LazyFrame) -> list[dict[str, Any]]:
    """The first of some rows, if there is one."""
    return rows.head(1).collect(engine="streaming").to_dicts()
