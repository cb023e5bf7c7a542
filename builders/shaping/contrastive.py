"""Pairs for contrastive training: the rules of sets from Russian sources, and random negatives that any program can draw again.

A table of pairs has the columns id (String, unique), query (String), positives, negatives (List(String)) and negative_kinds
(List(String), one for each negative: `provided` or `random`).

The ruMTEB paper names deduplication and the limit of length (builders.shaping.measurements); what these leave open is chosen
here, the same for every set. Rows have id, query (String), positives and negatives (List(String)).
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b

import numpy as np
import polars as pl

from builders.shaping.benchmark_index import BenchmarkIndex, find_matches, kinds_of, read_benchmark_index
from builders.shaping.folding import hash_folded
from builders.shaping.measurements import SPLIT, Measurements, drop_long, measure_tokens, read_tokens, texts_of
from builders.shaping.rows import drop, drop_each, drop_from_lists, join_tables
from builders.shaping.sampling import hash_order, sample
from builders.shaping.text import WHITE_SPACE, is_blank
from builders.spec import Dropped, Measurement, Raw, RawFiles, Tables

COLUMNS = ("id", "query", "positives", "negatives", "negative_kinds")
LISTS = ("positives", "negatives", "negative_kinds")
TRIES = 100  # draws for the negatives of one row, at most
PROVIDED, RANDOM = "provided", "random"
REPEATED = "query and positives of an earlier row"
IN_BENCHMARK = "a text of a benchmark's test data"
# The notes of a version that clean_pairs and the index of benchmarks have cleaned.
CLEANED = (
    "Without positives that equal their query, negatives that are empty, repeated or equal to the query or a positive, and"
    " repeated rows, all ignoring case, punctuation and white space. Without texts of benchmarks' test data that the index has."
)


def make_pairs(
    rows: pl.DataFrame,
    config: str,
    index: BenchmarkIndex,
    *,
    size: int,
    negatives: int = 0,
    most: int | None = None,
    alike: pl.Expr | None = None,
    clean: bool = False,
    deduplicate: bool = True,
) -> Tables:
    """The table of a config from its rows: id, query (String), positives, negatives (List(String)), in the order of the source.

    Empty positives leave their lists; rows with an empty query or without positives are dropped. deduplicate: of rows with the
    same query and positives the first is kept. clean: also what clean_pairs drops, and what the index has; else the latter is
    reported. If more than `size` rows are left, `size` of them are taken in hash order (builders.shaping.sampling), and stay in
    the order of the source. most: rows with more negatives keep as many of them, by limit_negatives. negatives: how many each row
    gets, by fill_negatives; 0 for those of the source alone. alike: random ones come from rows with the same value of this, for
    example of the same language.
    """
    kinds = pl.lit(PROVIDED).repeat_by(pl.col("negatives").list.len())
    frame, dropped = _drop_empty(rows.with_columns(negative_kinds=kinds).select(COLUMNS))
    observed = {f"rows of {config} in the source": rows.height}
    if clean:
        frame, more = clean_pairs(frame)
        frame, of_benchmarks = _drop_benchmarks(frame, index)
        dropped += more + of_benchmarks
    if deduplicate:
        key = pl.struct("query", pl.col("positives"))
        frame, more = drop(frame, ~key.is_first_distinct(), REPEATED, split=SPLIT)
        dropped += more
    observed[f"rows of {config} to choose from"] = frame.height
    if frame.height > size:
        chosen = sample(frame.select("id"), size, key="id", seed=f"training {config}")
        frame = frame.filter(pl.col("id").is_in(chosen["id"].implode()))
    if most is not None:
        frame = limit_negatives(frame, most, seed=f"training {config}")
    if negatives:
        order = frame.with_columns(alike=pl.lit("") if alike is None else alike).with_row_index("place")
        parts = [part.drop("alike") for part in order.partition_by("alike", maintain_order=True)]
        seed = f"training {config}"
        filled = [fill_negatives(part, document_pool(part), negatives, seed=seed) for part in parts]
        frame = pl.concat(filled or [order.drop("alike")]).sort("place").drop("place")
    reported = () if clean else find_matches(frame, config, SPLIT, index)
    return Tables({config: {SPLIT: frame}}, dropped, observed, reported)


def document_pool(rows: pl.DataFrame) -> pl.Series:
    """The different positives and negatives of a table, without empty ones, sorted by their UTF-8 bytes."""
    documents = pl.concat([rows[column].explode(empty_as_null=False).alias("text") for column in LISTS[:2]]).unique()
    return documents.to_frame().filter(~is_blank(pl.col("text")))["text"].sort()


def limit_negatives(rows: pl.DataFrame, count: int, *, seed: str) -> pl.DataFrame:
    """The rows with at most `count` of their negatives: the first in the hash order of `<position>:<id>`, in their old order.

    Positions are from 0; see builders.shaping.sampling.hash_order.
    """
    lists = ["negatives", "negative_kinds"]
    texts = rows.select("id", *lists).filter(pl.col("negatives").list.len() > count).explode(lists)
    texts = texts.with_columns(position=pl.int_range(pl.len()).over("id"))
    keys = texts.select(pl.format("{}:{}", "position", "id")).to_series()
    texts = texts.with_columns(hash=hash_order(keys, seed))
    kept = texts.filter(pl.struct("hash", "position").rank("ordinal").over("id") <= count)
    shorter = kept.group_by("id", maintain_order=True).agg(lists).rename({name: f"kept {name}" for name in lists})
    joined = rows.join(shorter, on="id", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce(f"kept {name}", name).alias(name) for name in lists).select(rows.columns)


def fill_negatives(rows: pl.DataFrame, pool: pl.Series, count: int, *, seed: str) -> pl.DataFrame:
    """The rows with random negatives behind those they have, up to `count` in all.

    Draw j (0, 1, ...) of a row is the text of the pool at BLAKE2b(j:id) modulo its size: digest of 8 bytes, the seed as key; the
    message is the number, a colon and the id in UTF-8; the digest is read as an unsigned big-endian integer. A text that equals
    the query, a positive or a negative of the row, after folding too, is skipped. After TRIES draws a row keeps the negatives
    that it has.
    """
    numbered, key = rows.with_row_index("row"), seed.encode()
    texts = numbered.select("row", "id", pl.col("negatives").list.len(), text=pl.concat_list("query", *LISTS[:2]))
    hashes, of_pool = (hash_folded(some).to_list() for some in (texts["text"].explode(), pool))
    table, end = texts.select("row", "id", "negatives", pl.col("text").list.len()), 0
    drawn = array("I"), array("I")  # rows, and numbers in the pool
    for row, name, provided, length in table.iter_rows():
        taken, missing = set(hashes[end : end + length]), count - provided
        end += length
        for draw in range(TRIES if of_pool else 0):
            if missing <= 0:
                break
            digest = blake2b(f"{draw}:{name}".encode(), digest_size=8, key=key).digest()
            number = int.from_bytes(digest) % len(of_pool)
            if of_pool[number] not in taken:
                taken.add(of_pool[number])
                drawn[0].append(row)
                drawn[1].append(number)
                missing -= 1
    # A text that is many negatives is in memory once: the frames share its bytes.
    row_numbers, numbers = (pl.Series(np.asarray(some)) for some in drawn)
    random = pl.select(row=row_numbers, text=pool.gather(numbers), kind=pl.lit(RANDOM))
    provided = numbered.select("row", text="negatives", kind="negative_kinds").filter(pl.col("text").list.len() > 0)
    joined = pl.concat([provided.explode("text", "kind"), random]).sort("row", maintain_order=True)
    lists = joined.group_by("row", maintain_order=True).agg(negatives="text", negative_kinds="kind")
    filled = numbered.select("row").join(lists, on="row", how="left", maintain_order="left")
    return rows.with_columns(filled.select(pl.col(LISTS[1:]).fill_null(pl.lit([], pl.List(pl.String)))))


def clean_pairs(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """A table without the texts that teach nothing or something wrong, and what was dropped, by reason.

    Texts are equal if they are after folding (builders.shaping.folding.fold_text_1). A positive that equals its query leaves its
    list, and so does a negative that is empty or equals the query, a positive or an earlier negative; these are counted as texts,
    with the ids of their rows. Then rows without positives are dropped, and rows whose query and positives are those of an
    earlier row.
    """
    numbered = rows.with_row_index("row")
    queries = numbered.select("row", folded=hash_folded(numbered["query"]))
    positives, negatives = (_explode(numbered, column) for column in LISTS[:2])
    positives, negatives = (texts.with_columns(folded=hash_folded(texts["text"])) for texts in (positives, negatives))
    positives, dropped = drop(positives, _is_in(positives, queries), "a positive is the query (texts)", split=SPLIT)
    negatives = negatives.with_columns(query=_is_in(negatives, queries), positive=_is_in(negatives, positives))
    of_texts = {
        "an empty negative (texts)": is_blank(pl.col("text")),
        "a negative is the query (texts)": pl.col("query"),
        "a negative is a positive (texts)": pl.col("positive"),
        "a negative repeats an earlier one (texts)": ~pl.struct("row", "folded").is_first_distinct(),
    }
    negatives, of_negatives = drop_each(negatives, of_texts, split=SPLIT)
    lists = positives.group_by("row").agg(lists=pl.col("folded").sort())
    folded = queries.join(lists, on="row", how="left", maintain_order="left").select("folded", "lists")
    of_pairs = {
        "no positive is left": pl.col("positives").list.len() == 0,
        f"{REPEATED}, ignoring case, punctuation and white space": ~pl.struct("folded", "lists").is_first_distinct(),
    }
    kept, of_rows = drop_each(_with_lists(numbered, positives, negatives).hstack(folded), of_pairs, split=SPLIT)
    return kept.select(COLUMNS), (*dropped, *of_negatives, *of_rows)


def _drop_empty(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    kept, dropped = drop_from_lists(rows, "positives", is_blank(pl.col("text")), "an empty positive", split=SPLIT)
    conditions = {
        "an empty query": is_blank(pl.col("query")),
        "no positive": pl.col("positives").list.len() == 0,
    }
    kept, of_rows = drop_each(kept, conditions, split=SPLIT)
    return kept, (*dropped, *of_rows)


def _drop_benchmarks(rows: pl.DataFrame, index: BenchmarkIndex) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows whose query or positive is in the index are dropped, negatives that are leave their lists: counted for each kind."""
    numbered = rows.with_row_index("row")
    positives, negatives = _explode(numbered, "positives"), _explode(numbered, "negatives")
    positives, negatives = (
        texts.with_columns(match=kinds_of(index, texts["text"])) for texts in (positives, negatives)
    )
    is_match = {kind: pl.col("match") == kind for kind in index}
    of_texts = {f"a negative is {IN_BENCHMARK}, {kind} (texts)": where for kind, where in is_match.items()}
    negatives, of_negatives = drop_each(negatives, of_texts, split=SPLIT)
    with_positive = {kind: positives.filter(match=kind)["id"].implode() for kind in index}
    of_pairs = {
        **{f"the query is {IN_BENCHMARK}, {kind}": where for kind, where in is_match.items()},
        **{f"a positive is {IN_BENCHMARK}, {kind}": pl.col("id").is_in(ids) for kind, ids in with_positive.items()},
    }
    kept = _with_lists(numbered, positives, negatives).with_columns(match=kinds_of(index, rows["query"]))
    kept, of_rows = drop_each(kept, of_pairs, split=SPLIT)
    return kept.drop("match"), (*of_negatives, *of_rows)


def _explode(numbered: pl.DataFrame, column: str) -> pl.DataFrame:
    """The texts of a column of lists: row and id, text and, of negatives, its kind."""
    columns = {"text": pl.col(column)} | ({"kind": pl.col("negative_kinds")} if column == "negatives" else {})
    lists = numbered.select("row", "id", **columns).filter(pl.col("text").list.len() > 0)
    return lists.explode(list(columns))


def _with_lists(numbered: pl.DataFrame, positives: pl.DataFrame, negatives: pl.DataFrame) -> pl.DataFrame:
    """The rows with these texts in their lists."""
    kept = numbered.select("row", "id", "query")
    of_positives = positives.group_by("row", maintain_order=True).agg(positives="text")
    of_negatives = negatives.group_by("row", maintain_order=True).agg(negatives="text", negative_kinds="kind")
    for lists in (of_positives, of_negatives):
        kept = kept.join(lists, on="row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(pl.String))
    return kept.with_columns(pl.col(name).fill_null(empty) for name in LISTS).select(COLUMNS)


def _is_in(some: pl.DataFrame, others: pl.DataFrame) -> pl.Expr:
    """Whether each text is, after folding, among those of the same row in another table."""
    keys = ["row", "folded"]
    found = some.select(keys).with_row_index("text").join(others.select(keys), on=keys, how="semi")["text"]
    return pl.lit(pl.int_range(some.height, dtype=pl.UInt32, eager=True).is_in(found.implode()))


def strip_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows whose texts have no white space at their ends, without those that teach nothing, and what was dropped.

    A positive that is empty or its query leaves its list, and so does an empty negative. Rows with an empty query or without a
    positive are dropped.
    """
    lists = [pl.col(name).list.eval(pl.element().str.strip_chars(WHITE_SPACE)) for name in ("positives", "negatives")]
    kept, dropped = drop(
        rows.with_columns(pl.col("query").str.strip_chars(WHITE_SPACE), *lists),
        pl.col("query") == "",
        "an empty query",
        split=SPLIT,
    )
    for reason, column, where in (
        ("an empty positive", "positives", pl.col("text") == ""),
        ("a positive is the query", "positives", pl.col("text") == pl.col("query")),
        ("an empty negative", "negatives", pl.col("text") == ""),
    ):
        kept, more = drop_from_lists(kept, column, where, reason, split=SPLIT)
        dropped += more
    kept, more = drop(kept, pl.col("positives").list.len() == 0, "no positive", split=SPLIT)
    return kept, (*dropped, *more)


def measure_rows(key: str, read: Callable[[Raw], pl.DataFrame]) -> Measurement:
    """The measurement of the texts whose lengths apply_rules looks up. read: the rows of the raw file with this key."""

    def texts(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
        yield texts_of(strip_rows(read(files[key]))[0])

    return measure_tokens((key,), texts)


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
    """strip_rows, drop_long and drop_repeated in turn. tokens: as measure_rows has them.

    Raises SourceError for texts that were not measured.
    """
    stripped, dropped = strip_rows(rows)
    short, of_length = drop_long(stripped, tokens)
    different, repeated = drop_repeated(short, unique_queries=unique_queries)
    return different, (*dropped, *of_length, *repeated)


def make_short_pairs(
    raw: RawFiles, rows: pl.DataFrame, config: str, *, size: int, clean: bool = False, unique_queries: bool = True
) -> Tables:
    """The table of a config from its rows: apply_rules, then make_pairs. raw: has the keys `tokens` and `index`.

    Raises SourceError for texts that were not measured.
    """
    different, dropped = apply_rules(rows, read_tokens(raw.whole("tokens")), unique_queries=unique_queries)
    index = read_benchmark_index(raw.whole("index"))
    made = make_pairs(different, config, index, size=size, clean=clean, deduplicate=False)
    return join_tables(Tables({}, dropped), made, Tables({}, observed={f"rows of {config} in the source": rows.height}))
