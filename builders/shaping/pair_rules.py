"""The rules that the sets from Russian sources share, before a table of pairs is made of their rows.

The ruMTEB paper names deduplication and the limit of length (builders.shaping.lengths); what these leave open is chosen here, the
same for every set. Rows have id, query (String), positives and negatives (List(String)).
"""

from dataclasses import replace

import polars as pl

from builders.shaping.benchmark_index import BenchmarkIndex
from builders.shaping.contrastive import Pairs, make_pairs
from builders.shaping.lengths import drop_long, texts_of
from builders.shaping.lists import drop_from_lists
from builders.shaping.measurements import Measurements
from builders.shaping.rows import drop, drop_each
from builders.shaping.text import WHITE_SPACE
from builders.spec import Dropped

SPLIT = "train"


def strip_text(text: pl.Expr) -> pl.Expr:
    """The text without white space at its ends."""
    return text.str.strip_chars(WHITE_SPACE)


def strip_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows whose texts have no white space at their ends, without those that teach nothing, and what was dropped.

    A positive that is empty or its query leaves its list, and so does an empty negative. Rows with an empty query or without a
    positive are dropped.
    """
    lists = [pl.col(name).list.eval(strip_text(pl.element())) for name in ("positives", "negatives")]
    kept, dropped = drop(
        rows.with_columns(strip_text(pl.col("query")), *lists), pl.col("query") == "", "an empty query", split=SPLIT
    )
    for reason, column, where in (
        ("an empty positive", "positives", _is_empty),
        ("a positive is the query", "positives", _is_query),
        ("an empty negative", "negatives", _is_empty),
    ):
        kept, more = drop_from_lists(kept, column, where, reason, split=SPLIT)
        dropped += more
    kept, more = drop(kept, pl.col("positives").list.len() == 0, "no positive", split=SPLIT)
    return kept, (*dropped, *more)


def texts_to_measure(rows: pl.DataFrame) -> pl.DataFrame:
    """The texts whose lengths make_short_pairs looks up, as a batch for a measurement: text (String)."""
    return texts_of(strip_rows(rows)[0])


def drop_repeated(rows: pl.DataFrame, *, unique_queries: bool = True) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows without those that have the query and the positives of an earlier row, after Unicode normalisation (NFC).

    unique_queries: then also of rows with equal queries the first one is kept.
    """
    query = pl.col("query").str.normalize("NFC")
    positives = pl.col("positives").list.eval(pl.element().str.normalize("NFC"))
    conditions = {"query and positives of an earlier row": ~pl.struct(query, positives).is_first_distinct()}
    if unique_queries:
        conditions["the query of an earlier row"] = ~query.is_first_distinct()
    return drop_each(rows, conditions, split=SPLIT)


def apply_rules(
    rows: pl.DataFrame, tokens: Measurements, *, unique_queries: bool = True
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """strip_rows, drop_long and drop_repeated in turn. tokens: the lengths of texts_to_measure(rows).

    Raises SourceError for texts that were not measured.
    """
    stripped, dropped = strip_rows(rows)
    short, of_length = drop_long(stripped, tokens)
    different, repeated = drop_repeated(short, unique_queries=unique_queries)
    return different, (*dropped, *of_length, *repeated)


def make_short_pairs(
    rows: pl.DataFrame,
    config: str,
    tokens: Measurements,
    index: BenchmarkIndex,
    *,
    size: int,
    clean: bool = False,
    unique_queries: bool = True,
) -> Pairs:
    """A config from its rows: apply_rules, then builders.shaping.contrastive.make_pairs.

    Raises SourceError for texts that were not measured.
    """
    different, dropped = apply_rules(rows, tokens, unique_queries=unique_queries)
    made = make_pairs(different, config, index, size=size, clean=clean, deduplicate=False)
    observed = made.observed | {f"rows of {config} in the source": rows.height}
    return replace(made, dropped=(*dropped, *made.dropped), observed=observed)


def _is_empty(texts: pl.DataFrame) -> pl.Series:
    return texts["text"] == ""


def _is_query(texts: pl.DataFrame) -> pl.Series:
    return texts["text"] == texts["query"]
