"""Turn preference pairs into reranking: of two responses to a query, the preferred one should rank first.

Every pair becomes a query with its own two documents, one judged 1 and one judged 0. Ids must not reveal which one is
preferred: a hash of the pair's id and the response's text decides which response is number 0 and which is number 1, and all ids,
rows and lists follow that number. Swapping the two responses of a pair therefore gives the same rows. For the same reason, a
response that occurs in several pairs becomes several documents: as a single document, the number of lists it appears in would
hint at how often it won.

Input columns: id (String, unique), query, a, b (String: the responses), a_preferred (Boolean; null for a tie). Further columns
are kept beside the query; they may describe the pair, but neither response.

Cleaned versions also drop pairs that would distort scores (see `rerank_pairs`). Pairs are compared in lower case with white
space collapsed; punctuation counts, because it can be the whole difference between two answers (`-2` and `2`). Queries of
different splits are compared more loosely (builders.shaping.folding.fold_text_1): dropping one train pair too many costs little.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import polars as pl

from builders.shaping.folding import fold_text_1
from builders.shaping.rows import drop, drop_each, merge_dropped, refuse
from builders.shaping.sampling import hash_order
from builders.shaping.text import fold_white_space
from builders.spec import Dropped, Raw, Tables

SEED = "order of responses"
TIE = "neither response is preferred"
EMPTY = "a response is empty"
EQUAL = "the responses are equal"
EQUAL_IGNORING_CASE = "the responses differ only in case or white space"
CONTRADICTION = "the same pair occurs with the other response preferred"
REPETITION = "the same pair occurs earlier"
SINGLE_SYSTEM = "no other system answered the prompt"
# The notes of version 2.0.0 of every preference set.
CLEAN_NOTES = "Drops pairs whose responses differ only in case or white space, repeated pairs and contradictory pairs."
NO_QUERIES: Mapping[str, pl.Series] = MappingProxyType({})


def parse_preferences(
    verdicts: pl.Series,
    meanings: Mapping[int, bool | None] | Mapping[str, bool | None],
    raw: Raw,
    *,
    unit: str = "line",
) -> pl.Series:
    """The column a_preferred, from verdicts as the source writes them.

    verdicts: integers or strings, one per `unit` of the raw file, from the first. meanings: for each valid verdict, whether
    response a is preferred; None for a tie.

    Raises SourceError for any other verdict, with its position in the raw file.
    """
    refuse(
        pl.DataFrame({"verdict": verdicts}),
        ~pl.col("verdict").is_in(list(meanings)),
        raw,
        f"unknown preference in {verdicts.name!r}",
        found="verdict",
        expected=" or ".join(map(repr, meanings)),
        unit=unit,
    )
    return verdicts.replace_strict(dict(meanings), return_dtype=pl.Boolean)


def pair_systems(ratings: pl.DataFrame, *, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Pair the responses of every two systems to the same prompt; responses without a counterpart are dropped and counted.

    ratings: one row per rating: id (String: the prompt's), query, system, response (String; one per system and prompt), rating
    (Float64, finite). Further columns describe the prompt and are kept beside the pair.

    The response with the higher mean rating is preferred; equal means are a tie. Means are compared as exact fractions of the
    decimal numbers in the source, so rounding never decides a preference. Pairs are ordered by prompt, then by the names of
    their systems. A pair's id is `<prompt>-<n>`, with n from 0.
    """
    others = [pl.col(name).first() for name in ratings.columns if name not in ("id", "system", "rating")]
    responses = ratings.group_by("id", "system", maintain_order=True).agg(*others, "rating")
    means = [sum(Fraction(str(rating)) for rating in group) / len(group) for group in responses["rating"].to_list()]
    ranks = {mean: rank for rank, mean in enumerate(sorted(set(means)))}
    rank = pl.Series([ranks[mean] for mean in means], dtype=pl.Int64)
    responses = responses.with_columns(rank=rank).with_row_index("row")
    responses = responses.sort(pl.col("row").min().over("id"), "system")
    responses, dropped = drop(responses, pl.len().over("id") == 1, SINGLE_SYSTEM, split=split)
    partners = responses.select("id", b_system="system", b="response", b_rank="rank")
    pairs = responses.join(partners, on="id", maintain_order="left_right").filter(pl.col("system") < pl.col("b_system"))
    preferred = pl.when(pl.col("rank") != pl.col("b_rank")).then(pl.col("rank") > pl.col("b_rank"))
    number = pl.int_range(pl.len()).over("id")
    pairs = pairs.with_columns(id=pl.concat_str("id", number, separator="-"), a="response", a_preferred=preferred)
    return pairs.drop("system", "response", "rating", "row", "rank", "b_system", "b_rank"), dropped


def rerank_pairs(
    pairs: pl.DataFrame, *, split: str, clean: bool = False, later_queries: Mapping[str, pl.Series] = NO_QUERIES
) -> Tables:
    """The reranking tables for the pairs of a split, or for one part of a split (see `concat_tables`).

    Dropped and counted, in this order: ties; pairs with a blank response; pairs whose responses are equal after stripping the
    white space around them, which readers of documents strip too. With `clean` also, ignoring case and white space:

    - pairs whose responses are equal;
    - pairs with the same query and the same two responses in either order: all of them if their preferences differ, otherwise
      all but the first;
    - pairs whose query, once folded, is also in a later split: the last split is the one evaluated.

    later_queries: the folded queries of later splits, by split, as `rerank_splits` passes them.

    Returns queries: id (the pair's), text and the further columns; corpus: id (`<pair>-0`, `<pair>-1`), title (""), text; qrels:
    query-id, corpus-id, score (Int64); top_ranked: query-id, corpus-ids (List(String): both), all in the order of the pairs.
    Observed: the number of input pairs.
    """
    a, b = (pl.col(side).str.strip_chars() for side in "ab")
    exclusions = {TIE: pl.col("a_preferred").is_null(), EMPTY: (a == "") | (b == ""), EQUAL: a == b}
    rest, dropped = drop_each(pairs, exclusions, split=split)
    if clean:
        rest, more = _drop_unclean(rest, split, later_queries)
        dropped += more
    hashes = {
        side: hash_order(rest.select(pl.concat_str("id", side, separator=" ")).to_series(), SEED) for side in "ab"
    }
    a_first = hashes["a"] < hashes["b"]
    lists = rest.select(
        pl.col("id").alias("query-id"),
        pl.concat_list(pl.col("id") + "-0", pl.col("id") + "-1").alias("corpus-ids"),
        text=pl.when(a_first).then(pl.concat_list("a", "b")).otherwise(pl.concat_list("b", "a")),
        score=pl.when(a_first == pl.col("a_preferred")).then([1, 0]).otherwise([0, 1]),
    )
    documents = lists.explode("corpus-ids", "text", "score").rename({"corpus-ids": "corpus-id"})
    others = [column for column in pairs.columns if column not in ("id", "query", "a", "b", "a_preferred")]
    frames = {
        "corpus": documents.select(pl.col("corpus-id").alias("id"), pl.lit("").alias("title"), "text"),
        "queries": rest.select("id", pl.col("query").alias("text"), *others),
        "qrels": documents.select("query-id", "corpus-id", "score"),
        "top_ranked": lists.select("query-id", "corpus-ids"),
    }
    observed = {f"pairs in {split}": pairs.height}
    return Tables({config: {split: frame} for config, frame in frames.items()}, dropped, observed)


def _drop_unclean(
    pairs: pl.DataFrame, split: str, later_queries: Mapping[str, pl.Series]
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    query, a, b = (fold_white_space(pl.col(column).str.to_lowercase()) for column in ("query", "a", "b"))
    rows = pairs.with_columns(
        __query=query,
        __first=pl.min_horizontal(a, b),
        __second=pl.max_horizontal(a, b),
        __preferred=pl.when("a_preferred").then(a).otherwise(b),
    )
    pair = ["__query", "__first", "__second"]
    exclusions = {
        EQUAL_IGNORING_CASE: pl.col("__first") == pl.col("__second"),
        CONTRADICTION: pl.col("__preferred").n_unique().over(pair) > 1,
        REPETITION: ~pl.struct(pair).is_first_distinct(),
    }
    exclusions |= {
        f"the query is also in the {later} split": fold_text_1(pl.col("query")).is_in(queries.implode())
        for later, queries in later_queries.items()
    }
    rows, dropped = drop_each(rows, exclusions, split=split)
    return rows.select(pairs.columns), dropped


def rerank_splits(
    build: Callable[[str, Mapping[str, pl.Series]], Iterable[Tables]],
    splits: Sequence[str],
    requested: Sequence[str],
    *,
    clean: bool,
) -> Tables:
    """The tables of the requested splits, concatenated; with `clean`, no query is in two splits.

    build: takes a split and the `later_queries` of `rerank_pairs`, and returns the tables of the split, part by part. splits:
    all splits of the task, in order. With `clean`, every split after the first requested one is built as well, starting with
    the last, because later splits keep the queries they share with earlier ones.
    """
    if not clean:
        return concat_tables(part for split in requested for part in build(split, NO_QUERIES))
    parts: dict[str, list[Tables]] = {}
    later_queries: dict[str, pl.Series] = {}
    for split in reversed(splits[splits.index(requested[0]) :]):
        parts[split] = list(build(split, later_queries))
        queries = [part.frames["queries"][split].lazy().select(fold_text_1(pl.col("text"))) for part in parts[split]]
        if split != requested[0]:
            distinct = pl.concat(queries).unique().collect(engine="streaming")["text"]
            later_queries = {split: distinct} | later_queries
    return concat_tables(part for split in requested for part in parts[split])


def concat_tables(parts: Iterable[Tables]) -> Tables:
    """Concatenate the tables of several splits, or of several parts of a split: rows in the order of the parts, counts summed.

    Frames must be either all eager or all lazy. Dropped rows are listed by split, then alphabetically by reason, so the order
    does not depend on which part has a reason first.
    """
    frames: dict[str, dict[str, list[Any]]] = {}
    dropped: list[Dropped] = []
    observed: dict[str, int] = {}
    for part in parts:
        for config, splits in part.frames.items():
            for split, frame in splits.items():
                frames.setdefault(config, {}).setdefault(split, []).append(frame)
        dropped += part.dropped
        for name, count in part.observed.items():
            observed[name] = observed.get(name, 0) + count
    concatenated = {
        config: {split: pl.concat(pieces) for split, pieces in splits.items()} for config, splits in frames.items()
    }
    return Tables(concatenated, merge_dropped(dropped), observed)
