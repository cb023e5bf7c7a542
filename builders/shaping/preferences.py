"""Preference pairs -> reranking: the preferred one of two responses goes before the other.

Every pair stands alone: a query with two documents, one judged 1 and one judged 0. A hash of the pair's id and a response's
text decides which of the two responses is number 0 and which number 1, and ids, rows and lists all follow that number. So
nothing but the texts can tell which response is preferred, and a pair with its responses swapped gives the same rows. That
is why a response of several pairs stands in the corpus as often: were it one document, the number of lists it is in would
tell something of how it fared.

The pairs that come in have the columns id (String, unique), query, a, b (String: the responses), a_preferred (Boolean; null
where neither is). Further columns stay beside the query; they may tell of the pair, never of one response.

A cleaned version leaves out the pairs that bend a score (`rerank` says which). The texts of pairs are compared in lower case and
with their white space folded: on punctuation an answer may turn (`-2` and `2`). Queries of two splits are compared as they are
folded (builders.shaping.folding): a pair too many left out of train costs little.
"""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from builders.reading.errors import malformed, shorten
from builders.shaping.folding import fold_text
from builders.shaping.rows import EXAMPLES, drop
from builders.shaping.sampling import hash_order
from builders.shaping.text import fold_white_space
from builders.spec import Dropped, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from builders.spec import Raw

SEED = "order of responses"
TIE, EMPTY, EQUAL = "neither response is preferred", "a response is empty", "the responses are equal"
ALIKE = "the responses are equal but for case and white space"
CONTRARY = "the same pair stands there with the other response preferred"
AGAIN = "the same pair stands earlier too"
ALONE = "no other system answered the prompt"
NOTHING_LATER: Mapping[str, pl.Series] = MappingProxyType({})


def parse_preferences(
    verdicts: pl.Series,
    meanings: Mapping[int, bool | None] | Mapping[str, bool | None],
    raw: Raw,
    *,
    unit: str = "line",
) -> pl.Series:
    """The column a_preferred of verdicts as a source writes them.

    verdicts: integers or strings, one row a `unit` of the raw file, from the first. meanings: for each verdict there is,
    whether response a is preferred; None for a tie.

    Raises SourceError for a verdict without a meaning, with its place in the raw file.
    """

    rows = pl.DataFrame({"verdict": verdicts}).with_row_index("row", offset=1)
    unknown = rows.filter(~pl.col("verdict").is_in(list(meanings)))
    if unknown.height:
        row, verdict = unknown.row(0)
        what, expected = f"unknown preference in {verdicts.name!r}", " or ".join(map(repr, meanings))
        raise malformed(raw, f"{unit} {row}", what, found=shorten(str(verdict)), expected=expected)
    return verdicts.replace_strict(dict(meanings), return_dtype=pl.Boolean)


def pair_systems(ratings: pl.DataFrame, *, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Every two systems that answered one prompt as a pair, and the responses that stand alone, counted as `drop` does.

    ratings: one row a rating: id (String: the prompt's), query, system, response (String; one of each system to a prompt),
    rating (Float64, finite). Further columns belong to the prompt and stay beside the pair.

    The response with the higher mean rating is preferred, neither where the means are equal. They are compared as the exact
    fractions of the decimal numbers that a source writes, so that no rounding makes a preference. Pairs come in the order of
    the prompts, within a prompt by the names of their systems; a pair's id is `<prompt>-<n>`, n from 0.
    """

    firsts = [pl.col(name).first() for name in ratings.columns if name not in ("id", "system", "rating")]
    each = ratings.group_by("id", "system", maintain_order=True).agg(*firsts, "rating")
    means = [sum(Fraction(str(rating)) for rating in some) / len(some) for some in each["rating"].to_list()]
    places = {mean: place for place, mean in enumerate(sorted(set(means)))}
    merit = pl.Series([places[mean] for mean in means], dtype=pl.Int64)
    each = each.with_columns(merit=merit).with_row_index("row").sort(pl.col("row").min().over("id"), "system")
    each, dropped = drop(each, pl.len().over("id") == 1, ALONE, split=split)
    other = each.select("id", b_system="system", b="response", b_merit="merit")
    pairs = each.join(other, on="id", maintain_order="left_right").filter(pl.col("system") < pl.col("b_system"))
    preferred = pl.when(pl.col("merit") != pl.col("b_merit")).then(pl.col("merit") > pl.col("b_merit"))
    number = pl.int_range(pl.len()).over("id")
    pairs = pairs.with_columns(id=pl.concat_str("id", number, separator="-"), a="response", a_preferred=preferred)
    return pairs.drop("system", "response", "rating", "row", "merit", "b_system", "b_merit"), dropped


def rerank_pairs(
    pairs: pl.DataFrame, *, split: str, clean: bool = False, later: Mapping[str, pl.Series] = NOTHING_LATER
) -> Tables:
    """The reranking tables of the pairs of one split, or of one part of a split (see `together`).

    Left out and counted, in this order: ties; pairs with a blank response; pairs whose responses are equal but for white
    space around them, which readers of documents strip. With `clean` then, case and white space aside:

    - pairs whose responses are equal;
    - pairs of one query and the same two responses, in either order: all of them where they prefer different ones, else all but
      the first;
    - pairs whose query is in a later split, folded: the last one is evaluated.

    later: the folded queries of later splits, by split; `by_split` gives them.

    queries: id (the pair's), text and the further columns; corpus: id (`<pair>-0`, `<pair>-1`), title (""), text; qrels:
    query-id, corpus-id, score (Int64); top_ranked: query-id, corpus-ids (List(String): both). All in the order of the pairs.
    Observed: the pairs that came in.
    """

    kept, dropped = pairs, list[Dropped]()
    a, b = (pl.col(side).str.strip_chars() for side in ("a", "b"))
    for reason, met in ((TIE, pl.col("a_preferred").is_null()), (EMPTY, (a == "") | (b == "")), (EQUAL, a == b)):
        kept, gone = drop(kept, met, reason, split=split)
        dropped += gone
    if clean:
        kept, more = _cleaned(kept, split, later)
        dropped += more
    places = {
        side: hash_order(kept.select(pl.concat_str("id", side, separator=" ")).to_series(), SEED) for side in "ab"
    }
    a_first = places["a"] < places["b"]
    two = kept.select(
        pl.col("id").alias("query-id"),
        pl.concat_list(pl.col("id") + "-0", pl.col("id") + "-1").alias("corpus-ids"),
        text=pl.when(a_first).then(pl.concat_list("a", "b")).otherwise(pl.concat_list("b", "a")),
        score=pl.when(a_first == pl.col("a_preferred")).then([1, 0]).otherwise([0, 1]),
    )
    each = two.explode("corpus-ids", "text", "score").rename({"corpus-ids": "corpus-id"})
    others = [column for column in pairs.columns if column not in ("id", "query", "a", "b", "a_preferred")]
    frames = {
        "corpus": each.select(pl.col("corpus-id").alias("id"), pl.lit("").alias("title"), "text"),
        "queries": kept.select("id", pl.col("query").alias("text"), *others),
        "qrels": each.select("query-id", "corpus-id", "score"),
        "top_ranked": two.select("query-id", "corpus-ids"),
    }
    observed = {f"pairs in {split}": pairs.height}
    return Tables({config: {split: frame} for config, frame in frames.items()}, tuple(dropped), observed)


def _cleaned(
    pairs: pl.DataFrame, split: str, later: Mapping[str, pl.Series]
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:

    plain = {f"__{name}": fold_white_space(pl.col(name).str.to_lowercase()) for name in ("query", "a", "b")}
    rows = pairs.with_columns(**plain)
    a, b = pl.col("__a"), pl.col("__b")
    rows = rows.with_columns(__one=pl.min_horizontal(a, b), __other=pl.max_horizontal(a, b))
    same, better = ["__query", "__one", "__other"], pl.when("a_preferred").then(a).otherwise(b)
    reasons = {ALIKE: a == b, CONTRARY: better.n_unique().over(same) > 1, AGAIN: ~pl.struct(same).is_first_distinct()}
    for name, queries in later.items():
        reasons[f"the query is in the {name} split too"] = fold_text(pl.col("query")).is_in(queries.implode())
    dropped: tuple[Dropped, ...] = ()
    for reason, met in reasons.items():
        rows, gone = drop(rows, met, reason, split=split)
        dropped += gone
    return rows.select(pairs.columns), dropped


def tables_by_split(
    parts: Callable[[str, Mapping[str, pl.Series]], Iterable[Tables]],
    splits: Sequence[str],
    wanted: Sequence[str],
    *,
    clean: bool,
) -> Tables:
    """The tables of the wanted splits, as `together` puts them, with `clean` such that no query is in two splits.

    parts: the tables of one split, part by part, given what `rerank` takes as `later`. splits: all of the task, in its order;
    with `clean` those after the first wanted one are made too, wanted or not: the last one first, since it keeps its queries.
    """

    if not clean:
        return concat_tables(part for split in wanted for part in parts(split, NOTHING_LATER))
    made: dict[str, list[Tables]] = {}
    later: dict[str, pl.Series] = {}
    for split in reversed(splits[splits.index(wanted[0]) :]):
        made[split] = list(parts(split, later))
        queries = [part.frames["queries"][split].lazy().select(fold_text(pl.col("text"))) for part in made[split]]
        if split != wanted[0]:
            later = {split: pl.concat(queries).unique().collect(engine="streaming")["text"]} | later
    return concat_tables(part for split in wanted for part in made[split])


def concat_tables(parts: Iterable[Tables]) -> Tables:
    """The tables of several splits, or of several parts of a split, as one: rows in the order of the parts, counts added.

    Frames must be all eager or all lazy. Reasons come by split, then by the alphabet, whichever part met them first.
    """

    frames: dict[str, dict[str, list[Any]]] = {}
    dropped: dict[tuple[str, str], Dropped] = {}
    observed: dict[str, int] = {}
    for part in parts:
        for config, splits in part.frames.items():
            for split, frame in splits.items():
                frames.setdefault(config, {}).setdefault(split, []).append(frame)
        for gone in part.dropped:
            before = dropped.get((gone.split, gone.reason), Dropped(gone.reason, 0, gone.split))
            examples = (*before.examples, *gone.examples)[:EXAMPLES]
            dropped[gone.split, gone.reason] = Dropped(gone.reason, before.count + gone.count, gone.split, examples)
        for name, count in part.observed.items():
            observed[name] = observed.get(name, 0) + count
    whole = {
        config: {split: pl.concat(pieces) for split, pieces in splits.items()} for config, splits in frames.items()
    }
    places = {split: place for place, split in enumerate(dict.fromkeys(split for split, _ in dropped))}
    by_split = sorted(dropped.values(), key=lambda gone: (places[gone.split], gone.reason))
    return Tables(whole, tuple(by_split), observed)
