"""What a cleaned version leaves out of tables of texts with labels: classification, clustering, pairs, STS.

The rules are those of the findings (docs/findings.md), so that what is mended here is not found again. Where a row has two
columns of texts, its text here is both of them together.

Splits of the source are cleaned as they are, and the evaluated one keeps what they share (`clean_rows`). Where a recipe draws
its splits, the rows they are drawn from are cleaned before, so that it gets as many as it promises (`each_text_once`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.shaping.folding import fold_text
from builders.shaping.labels import label_key
from builders.shaping.rows import drop
from builders.shaping.text import fold_white_space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from builders.spec import Dropped

SHORT = "a text is empty or a single character"


def clean_rows(
    frames: Mapping[str, pl.DataFrame],
    splits: tuple[str, ...],
    *,
    texts: tuple[str, ...] = ("text",),
    label: str = "label",
    symmetric: bool = False,
) -> tuple[dict[str, pl.DataFrame], tuple[Dropped, ...]]:
    """The wanted splits without the rows that bend a score, and what became of those. Left out are, in this order:

    - rows with a text that is empty or a single character, white space around it aside;
    - rows whose text stands in their split with another label too, all of them;
    - rows whose text stands in an earlier row of their split;
    - rows whose text is in a later split too, exactly or folded (builders.shaping.folding): the last split is the one evaluated.

    frames: by split, in the order of the task; rows keep their order. splits: those to return; the frames of the splits that
    come after them must be there. label: the column of labels, lists of labels or scores. symmetric: a pair and its reverse
    are one text.
    """

    what, other = "text" if len(texts) == 1 else "pair", "score" if label == "score" else "label"
    kept: dict[str, pl.DataFrame] = {}
    became: dict[str, tuple[Dropped, ...]] = {}
    known: dict[str, pl.DataFrame] = {}
    for split in reversed(list(frames)):
        rows = _compared(frames[split], texts, label, symmetric=symmetric)
        reasons = {
            SHORT: pl.any_horizontal(is_short(pl.col(text)) for text in texts),
            f"the {what} has another {other} too": pl.col("__label").n_unique().over("__exact") > 1,
            f"the {what} stands in an earlier row too": ~pl.col("__exact").is_first_distinct(),
        }
        for later, there in known.items():
            again = [pl.col(name).is_in(there[name].implode()) for name in there.columns]
            reasons[f"the {what} is in the {later} split too"] = pl.any_horizontal(again)
        became[split] = ()
        for reason, where in reasons.items():
            rows, dropped = drop(rows, where, reason, split=split, key="__row")
            became[split] += dropped
        kept[split], known[split] = rows.select(frames[split].columns), rows.select("__exact", "__folded")
    return {split: kept[split] for split in splits}, tuple(one for split in splits for one in became[split])


def each_text_once(
    rows: pl.DataFrame, *, text: str = "text", label: str = "label", fold: bool = False, split: str = "all"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The rows to draw splits or a sample from, no text twice, and what became of the others. Left out are, in this order:

    - with `fold`, rows whose text is empty or a single character, white space around it aside;
    - rows whose text has another label too, all of them;
    - rows whose text stands in an earlier row.

    fold: texts count as equal where they are folded (builders.shaping.folding), else where they are the same. rows: they keep
    their order, and have an `id`. text: a column of texts or, without `fold`, of what stands for them. label: the column of
    labels or lists of labels. split: where the rows are from, for the counts.
    """

    dropped: tuple[Dropped, ...] = ()
    columns = rows.columns
    if fold:
        rows, dropped = drop(rows, is_short(pl.col(text)), SHORT, split=split)
    rows = rows.with_columns(
        __text=fold_text(pl.col(text)) if fold else pl.col(text), __label=label_key(label, rows.schema[label])
    )
    labels = rows.filter(pl.col("__text").is_duplicated()).group_by("__text").agg(pl.col("__label").n_unique())
    several = pl.col("__text").is_in(labels.filter(pl.col("__label") > 1).get_column("__text").implode())
    rows, conflicting = drop(rows, several, "the text has another label too", split=split)
    again = ~pl.col("__text").is_first_distinct()
    rows, repeated = drop(rows, again, "the text stands in an earlier row too", split=split)
    return rows.select(columns), (*dropped, *conflicting, *repeated)


def is_short(text: pl.Expr) -> pl.Expr:
    """Whether a text is empty or a single character, white space around it aside."""
    return fold_white_space(text).str.len_chars() < 2


def _compared(frame: pl.DataFrame, texts: tuple[str, ...], label: str, *, symmetric: bool) -> pl.DataFrame:
    """The rows with what they are compared by (__exact and __folded: their text, __label) and their name (__row)."""

    def together(fold: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        parts = [fold(pl.col(text)) for text in texts]
        if len(parts) == 1:
            return parts[0]
        first, second = (pl.min_horizontal(parts), pl.max_horizontal(parts)) if symmetric else parts
        return pl.concat_str(
            first.str.len_bytes(), pl.lit(" "), first, second
        )  # the length says where the first one ends

    name = pl.col("id") if "id" in frame.columns else pl.format("row {}", pl.int_range(pl.len()))
    return frame.with_columns(
        __exact=together(lambda text: text),
        __folded=together(fold_text),
        __label=label_key(label, frame.schema[label]),
        __row=name,
    )
