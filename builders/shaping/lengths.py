"""Texts that are too long for training: counted in tokens of one tokenizer, as the ruMTEB paper does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.raw_files import by_hand
from builders.shaping.measurements import TOKENS, read_measurements
from builders.shaping.rows import drop
from builders.spec import Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from builders.raw_files import RawFile
    from builders.shaping.measurements import Measurements
    from builders.spec import Dropped, Raw

TOKENIZER = "ai-forever/ruRoberta-large"  # the paper names no revision: the file of measurements says which one it was
LIMIT = 500  # tokens, without special ones
SPLIT = "train"


def tokens_file(source: str) -> RawFile:
    """The raw file with the token counts of a source: the key `tokens` in its files."""
    return by_hand(
        "tokens.parquet",
        f"the lengths of all texts in tokens of {TOKENIZER}: pip install '.[measurements]', then "
        f"embedding-datasets decide {source} --raw-dir DIR; or copy the file from somebody who has it",
    )


def measure_tokens(
    inputs: tuple[str, ...], texts: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]
) -> Measurement:
    """The measurement that writes the raw file `tokens` of a source; see builders.spec.Measurement for its arguments."""
    return Measurement("tokens", TOKENS, TOKENIZER, "", inputs, texts)


def read_tokens(raw: Raw) -> Measurements:
    """The token counts of a source.

    Raises SourceError for a file that is damaged or of another tokenizer.
    """
    return read_measurements(raw, TOKENS, TOKENIZER)


def texts_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The different texts of rows with id, query, positives and negatives, as a batch to measure: text (String)."""
    lists = [rows[column].explode(empty_as_null=False).alias("text") for column in ("positives", "negatives")]
    return pl.concat([rows["query"].alias("text"), *lists]).unique(maintain_order=True).to_frame()


def drop_long(rows: pl.DataFrame, tokens: Measurements, limit: int = LIMIT) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows without texts of more than `limit` tokens, and what was dropped, by reason.

    rows: id, query (String), positives, negatives (List(String)), and any other columns. A long query takes its row with it. A
    long positive or negative leaves its list, counted as a text; a row that loses its last positive so is dropped.

    Raises SourceError for texts that were not measured.
    """
    reason = f"of more than {limit} tokens"
    kept, dropped = drop(rows, pl.lit(tokens.of(rows["query"]) > limit), f"a query {reason}", split=SPLIT)
    kept, of_positives = _drop_from_lists(kept, "positives", tokens, limit, f"a positive {reason} (texts)")
    none_left = pl.col("positives").list.len() == 0
    kept, of_rows = drop(kept, none_left, f"no positive of at most {limit} tokens", split=SPLIT)
    kept, of_negatives = _drop_from_lists(kept, "negatives", tokens, limit, f"a negative {reason} (texts)")
    return kept, (*dropped, *of_positives, *of_rows, *of_negatives)


def _drop_from_lists(
    rows: pl.DataFrame, column: str, tokens: Measurements, limit: int, reason: str
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The rows without the long texts in a column of lists; the count is of texts, with the ids of their rows."""
    numbered = rows.with_row_index("__row")
    texts = numbered.select("__row", "id", text=column).filter(pl.col("text").list.len() > 0).explode("text")
    short, dropped = drop(texts, pl.lit(tokens.of(texts["text"]) > limit), reason, split=SPLIT)
    if not dropped:
        return rows, ()
    lists = short.group_by("__row", maintain_order=True).agg(__texts="text")
    joined = numbered.join(lists, on="__row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(pl.String))
    return joined.with_columns(pl.col("__texts").fill_null(empty).alias(column)).select(rows.columns), dropped
