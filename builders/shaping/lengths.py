"""Texts that are too long for training: counted in tokens of one tokenizer, as the ruMTEB paper does."""

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from builders.raw_files import RawFile, by_hand
from builders.shaping.lists import drop_from_lists
from builders.shaping.measurements import TOKENS, Measurements, read_measurements
from builders.shaping.rows import drop
from builders.spec import Dropped, Measurement, Raw

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

    def is_long(texts: pl.DataFrame) -> pl.Series:
        return tokens.of(texts["text"]) > limit

    kept, dropped = drop(rows, pl.lit(tokens.of(rows["query"]) > limit), f"a query {reason}", split=SPLIT)
    kept, of_positives = drop_from_lists(kept, "positives", is_long, f"a positive {reason}", split=SPLIT)
    none_left = pl.col("positives").list.len() == 0
    kept, of_rows = drop(kept, none_left, f"no positive of at most {limit} tokens", split=SPLIT)
    kept, of_negatives = drop_from_lists(kept, "negatives", is_long, f"a negative {reason}", split=SPLIT)
    return kept, (*dropped, *of_positives, *of_rows, *of_negatives)
