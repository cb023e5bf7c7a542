"""Sets of pairs from bitexts: sentences in English with their translations into Russian, or the other way round.

The ruMTEB paper does not say which side is the query: here a coin decides, the hash of the row's id. Everything before it takes
the English side for the query and the Russian one for the positive.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import polars as pl

from builders.reading.parquet import read_parquet
from builders.shaping.benchmark_index import read_benchmark_index
from builders.shaping.contrastive import make_pairs
from builders.shaping.measurements import SPLIT, drop_below, measure_cosines, measure_tokens, read_cosines, read_tokens
from builders.shaping.popularity import PairSet, select_pool, texts_to_measure
from builders.shaping.rows import drop, join_tables
from builders.shaping.sampling import hash_order
from builders.spec import Dropped, Measurement, Raw, RawFiles, Tables

SEED = "bitext direction"
TIMES = 2  # the rows that a threshold leaves at least, in sizes of the set
ALL = 1 << 62  # more pairs than any bitext has
SIDES = ("query", "positive")  # English, Russian
COSINE = "LaBSE cosine"


def bitext_set(
    config: str,
    read: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]],
    pool: int = ALL,
    checks: Mapping[str, pl.Expr] = MappingProxyType({}),
) -> PairSet:
    """A set whose rows are translations, without popularity: its pool is the first rows in hash order.

    read: batches of the source, from its raw files: number (Int64: the pair in the source, from 0) and the columns of SIDES
    (String, may be null). pool: how many pairs to choose from, of those that the rules leave. checks: conditions of pairs to
    drop, by reason, beside those of all bitexts.
    """
    english, russian = map(pl.col, SIDES)
    empty = (english.fill_null("") == "") | (russian.fill_null("") == "")
    equal = english.str.to_lowercase() == russian.str.to_lowercase()
    always = {"an empty side": empty, "two sides that are equal, ignoring case": equal}
    return PairSet(config, pool, read, checks={**always, **checks})


def read_translations(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """The pairs of the Parquet file `train` with the column `translation` (en, ru), as a bitext_set reads them."""
    sides = pl.Struct({"en": pl.String(), "ru": pl.String()})
    read = read_parquet(files["train"], {"translation": sides}, optional=("translation.en", "translation.ru"))
    numbers = pl.int_range(pl.len(), dtype=pl.Int64)
    yield read.unnest("translation").select(number=numbers, query="en", positive="ru")


def measure_bitext(
    source: str, bitext: PairSet, inputs: tuple[str, ...], *, cosines: bool = True
) -> tuple[Measurement, ...]:
    """The measurements of a bitext: the lengths of its texts and the cosines of its pairs. inputs: keys of its raw files."""
    lengths = measure_tokens(inputs, partial(texts_to_measure, (bitext,), source))
    of_pairs = measure_cosines((*inputs, "tokens"), partial(pairs_of_bitext, source, bitext))
    return (lengths, of_pairs) if cosines else (lengths,)


def pairs_of_bitext(source: str, bitext: PairSet, files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """The pairs whose cosines build_bitext looks up, as a batch for a measurement: first (English), second (String).

    Raises SourceError for texts whose lengths were not measured.
    """
    with tempfile.TemporaryDirectory() as scratch:
        rows = _different_pairs(source, bitext, files, Path(scratch))[0]
    yield rows.select(first="query", second=pl.col("positives").list.first())


def build_bitext(raw: RawFiles, source: str, bitext: PairSet, *, rows: int, clean: bool = False) -> Tables:
    """The tables of a bitext.

    raw: also has the keys `index` and `tokens`, and `cosines` where pairs below a threshold of the LaBSE cosine are dropped: the
    largest that leaves TIMES times `rows`. source: its name, with which ids begin. rows: of the set; clean: as in
    builders.shaping.contrastive.make_pairs.

    Raises SourceError for texts and pairs that were not measured.
    """
    different, dropped, observed = _different_pairs(source, bitext, raw.files, raw.scratch, raw.checkpoints)
    if "cosines" in raw.files:
        cosines = read_cosines(raw.whole("cosines")).of_pairs(different["query"], different["positives"].list.first())
        scored = different.with_columns(cosines.alias(COSINE))
        different, below, threshold = drop_below(scored, COSINE, TIMES * rows)
        dropped, observed = (*dropped, *below), observed | threshold
    index = read_benchmark_index(raw.whole("index"))
    made = make_pairs(draw_direction(different), bitext.config, index, size=rows, clean=clean, deduplicate=False)
    queries = made.frames[bitext.config][SPLIT].lazy().select(pl.col("query").str.contains(r"\p{Cyrillic}"))
    english = {"rows whose query has no Cyrillic letter": int((~queries.collect()["query"]).sum())}
    return join_tables(Tables({}, dropped), made, Tables({}, observed=observed | english))


def draw_direction(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with query and only positive exchanged where the hash of the id is odd (builders.shaping.sampling.hash_order)."""
    positive = pl.col("positives").list.first()
    is_odd = pl.lit(hash_order(rows["id"], SEED) % 2 == 1)
    return rows.with_columns(
        query=pl.when(is_odd).then(positive).otherwise("query"),
        positives=pl.concat_list(pl.when(is_odd).then("query").otherwise(positive)),
    )


def _different_pairs(
    source: str, bitext: PairSet, files: Mapping[str, Raw], scratch: Path, checkpoints: Path | None = None
) -> tuple[pl.DataFrame, tuple[Dropped, ...], dict[str, int]]:
    """The pool of a bitext without repeated sides, what was dropped, and counts."""
    tokens = read_tokens(replace(files["tokens"], limit=None))
    pool = select_pool(bitext, files, source, tokens, scratch, checkpoints=checkpoints, times=1)
    russian = pl.col("positives").list.first().str.normalize("NFC")
    rows, repeated = drop(pool.rows, ~russian.is_first_distinct(), "the positive of an earlier row", split=SPLIT)
    return rows, (*pool.dropped, *repeated), pool.observed
