"""Preference pairs become reranking: which pairs are dropped, and that only the texts reveal the preferred response."""

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.errors import SourceError
from builders.reading.json import read_json_array, read_json_lines
from builders.shaping.preferences import (
    CONTRADICTION,
    EMPTY,
    EQUAL,
    EQUAL_IGNORING_CASE,
    REPETITION,
    SINGLE_SYSTEM,
    TIE,
    concat_tables,
    pair_systems,
    parse_preferences,
    rerank_pairs,
    rerank_splits,
)
from builders.spec import Dropped, Raw, Tables
from builders.tasks import Reranking
from pipelines.audit import integrity
from tests.support.preference_pairs import (
    CONFIGS,
    assert_same_tables,
    candidates,
    chance_limit,
    dropped_counts,
    frame,
    guess_preferences,
)

Rating = tuple[str, str, str, float]  # prompt, system, response, rating
Pair = tuple[str, str, str, bool | None]  # query, response a, response b, whether a is preferred

SCHEMA = {"id": pl.String, "query": pl.String, "a": pl.String, "b": pl.String, "a_preferred": pl.Boolean}
SPLITS = ("train", "validation", "test")

TEXTS = st.text(alphabet="ab \n\xa0é", max_size=4)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.sampled_from([True, False, None])), max_size=12)
RATINGS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("wxyz"), st.sampled_from([0.5, 1, 2, 2.5, 4])), max_size=20
).map(lambda rows: [(prompt, system, f"{prompt} by {system}", rating) for prompt, system, rating in rows])


# Verdicts


RAW = Raw("source/pairs.jsonl", Path("pairs.jsonl"))


@pytest.mark.parametrize(
    ("verdicts", "meanings"),
    [
        ([1, 0], {1: True, 0: False}),
        ([1, 2], {1: True, 2: False}),
        ([0, 1], {0: True, 1: False}),
        (["model_a", "model_b", "tie", "tie (bothbad)"],
         {"model_a": True, "model_b": False, "tie": None, "tie (bothbad)": None}),
    ],
)  # fmt: skip
def test_verdicts_say_whether_a_is_preferred(verdicts: list[Any], meanings: dict[Any, bool | None]) -> None:
    column = parse_preferences(pl.Series("winner", verdicts), meanings, RAW)
    assert column.to_list() == [True, False, None, None][: len(verdicts)]
    assert column.dtype == pl.Boolean


@pytest.mark.parametrize(("verdicts", "meanings"), [([1, 0, 2], {1: True, 0: False}), (["A", "a"], {"A": True})])
def test_an_unknown_verdict_is_an_error_that_names_its_line(verdicts: list[Any], meanings: dict[Any, bool]) -> None:
    with pytest.raises(SourceError, match="unknown preference in 'labels'") as caught:
        parse_preferences(pl.Series("labels", verdicts), meanings, RAW)
    assert f"source/pairs.jsonl, line {len(verdicts)}" in str(caught.value)
    assert repr(str(verdicts[-1])) in str(caught.value)
    assert " or ".join(map(repr, meanings)) in str(caught.value)


# Pairs of systems


def make_ratings(rows: list[Rating]) -> pl.DataFrame:
    schema = {"id": pl.String, "system": pl.String, "response": pl.String, "rating": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row").with_columns(query="ask " + pl.col("id"))


def paired_rows(rows: list[Rating]) -> list[tuple[Any, ...]]:
    pairs, _ = pair_systems(make_ratings(rows), split="test")
    return pairs.select("id", "query", "a", "b", "a_preferred").rows()


def test_every_two_systems_on_a_prompt_are_a_pair_and_the_higher_mean_is_preferred() -> None:
    rows: list[Rating] = [
        ("p", "y", "why", 1.0), ("p", "x", "ex", 5.0), ("q", "x", "ex 2", 3.0), ("p", "z", "zed", 4.0),
        ("p", "x", "ex", 2.0), ("q", "y", "why 2", 3.5),
    ]  # fmt: skip
    assert paired_rows(rows) == [
        ("p-0", "ask p", "ex", "why", True),
        ("p-1", "ask p", "ex", "zed", False),
        ("p-2", "ask p", "why", "zed", False),
        ("q-0", "ask q", "ex 2", "why 2", False),
    ]


@pytest.mark.parametrize(
    ("one", "other", "x_preferred"),
    [
        ([0.1, 0.2], [0.15], None),
        ([4.0, 5.0], [4.5], None),
        ([1.0, 1.0, 2.0], [1.0, 2.0, 1.0], None),
        ([3.6666666666666665], [3.6666666666666665], None),
        ([0.3], [0.1, 0.2, 0.6], None),
        ([-1.0, 1.0], [0.0], None),
        ([3.6666666666666665], [3.666666666666667], False),
    ],
)
def test_equal_means_alone_are_a_tie_despite_floating_point_errors(
    one: list[float], other: list[float], x_preferred: bool | None
) -> None:
    rows = [("p", system, system, rating) for system, ratings in (("x", one), ("y", other)) for rating in ratings]
    assert [pair[-1] for pair in paired_rows(rows)] == [x_preferred]


def test_a_prompt_with_one_system_makes_no_pair_and_is_counted() -> None:
    pairs, dropped = pair_systems(
        make_ratings([("p", "x", "a", 1), ("p", "x", "a", 2), ("q", "x", "b", 1)]), split="test"
    )
    assert pairs.height == 0
    assert dropped == (Dropped(SINGLE_SYSTEM, 2, "test", ("p", "q")),)


def test_further_columns_of_a_prompt_are_kept_beside_its_pairs() -> None:
    rows = make_ratings([("p", "x", "a", 1.0), ("p", "y", "b", 2.0)]).with_columns(task=pl.lit("xsum"))
    pairs, _ = pair_systems(rows, split="test")
    assert set(pairs.columns) == {"id", "query", "a", "b", "a_preferred", "task"}
    assert frame(rerank_pairs(pairs, split="test"), "queries").rows() == [("p-0", "ask p", "xsum")]


@given(RATINGS)
def test_pairs_are_all_combinations_of_two_systems_of_each_prompt(rows: list[Rating]) -> None:
    by_prompt: dict[str, dict[str, list[float]]] = {}
    for prompt, system, _, rating in rows:
        by_prompt.setdefault(prompt, {}).setdefault(system, []).append(rating)
    expected = []
    for prompt, systems in by_prompt.items():
        means = {system: fmean(ratings) for system, ratings in systems.items()}  # exact here, except for thirds
        for n, (x, y) in enumerate(combinations(sorted(systems), 2)):
            preferred = None if abs(means[x] - means[y]) < 1e-9 else means[x] > means[y]
            expected.append((f"{prompt}-{n}", f"ask {prompt}", f"{prompt} by {x}", f"{prompt} by {y}", preferred))
    assert paired_rows(rows) == expected


@given(RATINGS, st.randoms(use_true_random=False))
def test_the_order_of_ratings_only_affects_the_order_of_prompts(rows: list[Rating], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    pairs = paired_rows(shuffled)
    assert sorted(pairs, key=str) == sorted(paired_rows(rows), key=str)
    first_rated = [f"ask {prompt}" for prompt, *_ in shuffled]
    assert [query for _, query, *_ in pairs] == sorted((query for _, query, *_ in pairs), key=first_rated.index)


# Reranking tables


def make_pairs(pairs: list[Pair]) -> pl.DataFrame:
    return pl.DataFrame([(f"pair-{n}", *pair) for n, pair in enumerate(pairs)], SCHEMA, orient="row")


def rerank(pairs: list[Pair] | pl.DataFrame) -> Tables:
    return rerank_pairs(pairs if isinstance(pairs, pl.DataFrame) else make_pairs(pairs), split="test")


def test_pairs_that_share_a_query_and_a_response_share_no_row() -> None:
    tables = rerank([("one", "x", "y", True), ("one", "y", "z", True)])
    assert frame(tables, "top_ranked").rows() == [
        ("pair-0", ["pair-0-0", "pair-0-1"]),
        ("pair-1", ["pair-1-0", "pair-1-1"]),
    ]
    assert sorted(frame(tables, "corpus")["text"]) == ["x", "y", "y", "z"]


def test_queries_are_never_merged_even_if_pairs_contradict_each_other() -> None:
    tables = rerank([("q", "x", "y", True), ("q", "x", "y", True), ("q", "y", "x", True)])
    assert frame(tables, "queries")["text"].to_list() == ["q"] * 3
    assert [max(ranked, key=lambda one: one[1])[0] for ranked in candidates(tables).values()] == ["x", "x", "y"]


def test_ties_empty_and_equal_responses_are_dropped_each_for_the_first_reason_that_applies() -> None:
    good: Pair = ("q", "x", "y", True)
    bad: list[Pair] = [
        ("q", "x", "y", None), ("q", "", "", None), ("q", "x", "x", None),
        ("q", "", "y", True), ("q", "x", " \n\xa0", False), ("q", " ", "", True),
        ("q", "x", "x", True), ("q", "x", " x\n", False),
    ]  # fmt: skip
    tables = rerank([*bad, good])
    assert tables.dropped == (
        Dropped(TIE, 3, "test", ("pair-0", "pair-1", "pair-2")),
        Dropped(EMPTY, 3, "test", ("pair-3", "pair-4", "pair-5")),
        Dropped(EQUAL, 2, "test", ("pair-6", "pair-7")),
    )
    assert frame(tables, "queries")["id"].to_list() == ["pair-8"]


def test_the_numbers_of_the_responses_never_change() -> None:
    """Number 0 has the smaller of `printf %s "$ID $TEXT" | openssl mac -macopt size:8 -macopt key:"$SEED" BLAKE2BMAC`."""
    tables = rerank([("q", "x", "y", True)] * 8)
    numbered = ["".join(text for text, _ in ranked) for ranked in candidates(tables).values()]
    assert numbered == [*["xy"] * 4, "yx", "xy", "yx", "xy"]


def reason_of(pair: Pair) -> str | None:
    _, a, b, a_preferred = pair
    if a_preferred is None:
        return TIE
    if not a.strip() or not b.strip():
        return EMPTY
    return EQUAL if a.strip() == b.strip() else None


@given(PAIRS)
def test_every_input_pair_is_either_kept_or_counted_as_dropped(pairs: list[Pair]) -> None:
    tables = rerank(pairs)
    reasons = [reason_of(pair) for pair in pairs]
    assert dropped_counts(tables) == {
        reason: reasons.count(reason) for reason in (TIE, EMPTY, EQUAL) if reason in reasons
    }
    dropped = sum(dropped_counts(tables).values())
    assert tables.observed["pairs in test"] == frame(tables, "queries").height + dropped


@given(PAIRS)
def test_every_other_pair_can_be_read_back_from_the_tables(pairs: list[Pair]) -> None:
    tables = rerank(pairs)
    expected = {
        f"pair-{n}": (query, {a: int(a_preferred is True), b: int(a_preferred is False)})
        for n, (query, a, b, a_preferred) in enumerate(pairs)
        if reason_of(pairs[n]) is None
    }
    queries = dict(frame(tables, "queries").iter_rows())
    assert {query: (queries[query], dict(ranked)) for query, ranked in candidates(tables).items()} == expected


@given(PAIRS)
def test_tables_follow_the_rules_of_their_task(pairs: list[Pair]) -> None:
    tables = rerank([*pairs, ("q", "better", "worse", True)])
    frames = {config: {"test": frame(tables, config).lazy()} for config in CONFIGS}
    assert integrity.audit_integrity(Reranking(), frames, ("test",)) == []


@given(PAIRS)
def test_swapped_responses_give_the_same_rows(pairs: list[Pair]) -> None:
    swapped = [(query, b, a, None if preferred is None else not preferred) for query, a, b, preferred in pairs]
    assert_same_tables(rerank(pairs), rerank(swapped))


@given(PAIRS, PAIRS)
def test_further_pairs_do_not_change_the_rows_of_others(pairs: list[Pair], more: list[Pair]) -> None:
    few, many = rerank(pairs), rerank(pairs + more)
    for config in CONFIGS:
        assert_frame_equal(frame(few, config), frame(many, config).head(frame(few, config).height))


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_pairs_and_chunks_only_affect_the_order_of_rows(pairs: list[Pair], random: Any) -> None:
    rows = list(make_pairs(pairs).iter_slices(1))
    random.shuffle(rows)
    shuffled = rerank(pl.concat([make_pairs([]), *rows], rechunk=False))
    for config, key in (
        ("corpus", ["id"]),
        ("queries", ["id"]),
        ("qrels", ["corpus-id"]),
        ("top_ranked", ["query-id"]),
    ):
        assert_frame_equal(frame(rerank(pairs), config).sort(key), frame(shuffled, config).sort(key))


def test_concatenated_parts_keep_their_order_and_their_counts_add_up() -> None:
    empty, equal, good = ("q", "", "y", True), ("q", "x", "x", True), ("q", "x", "y", True)
    last = make_pairs([empty, empty, good]).with_columns(id="last-" + pl.col("id"))
    frames = (make_pairs([equal]), make_pairs([empty] * 4), make_pairs([good]), last)
    parts = [rerank_pairs(pairs, split="train") for pairs in frames]
    tables = concat_tables([*parts, rerank_pairs(make_pairs([empty]), split="test")])
    assert tables.dropped == (
        Dropped(EMPTY, 6, "train", ("pair-0", "pair-1", "pair-2", "pair-3", "last-pair-0")),
        Dropped(EQUAL, 1, "train", ("pair-0",)),
        Dropped(EMPTY, 1, "test", ("pair-0",)),
    )
    assert tables.observed == {"pairs in train": 9, "pairs in test": 1}
    for config in CONFIGS:
        assert_frame_equal(frame(tables, config, "train"), pl.concat([frame(part, config, "train") for part in parts]))


# Cleaned versions


def rerank_clean(*pairs: Pair) -> tuple[list[str], dict[str, int]]:
    """The numbers of the pairs that a cleaned version keeps, and how many it drops for each reason."""
    tables = rerank_pairs(make_pairs(list(pairs)), split="test", clean=True)
    numbers = [name.removeprefix("pair-") for name in frame(tables, "queries")["id"]]
    return numbers, dropped_counts(tables)


@pytest.mark.parametrize(
    ("pairs", "kept", "reasons"),
    [
        (
            [("q", "Yes, so.", "yes,\xa0 so. ", True), ("q", "-2", "2", True), ("q", "Yes!", "Yes?", True)],
            ["1", "2"],
            {EQUAL_IGNORING_CASE: 1},
        ),
        (
            [("q", "x", "y", True), ("Q ", "Y", "x", False), ("q", "x", "z", True), ("r", "x", "y", True)],
            ["0", "2", "3"],
            {REPETITION: 1},
        ),
        (
            [("q", "x", "y", True), ("q", "y", "x", True), ("q", "X", "y", True), ("q", "x", "z", False)],
            ["3"],
            {CONTRADICTION: 3},
        ),
        ([("q", "x", "y", True), ("q", "x", "y", None)], ["0"], {TIE: 1}),
    ],
    ids=[
        "responses equal ignoring case and white space",
        "repeated in any order",
        "contradicted",
        "a tie contradicts none",
    ],
)
def test_what_a_cleaned_version_drops(pairs: list[Pair], kept: list[str], reasons: dict[str, int]) -> None:
    assert rerank_clean(*pairs) == (kept, reasons)


def test_in_a_cleaned_version_queries_in_several_splits_stay_in_the_last_one() -> None:
    rows = {
        "train": [
            ("one", "x", "y", True),
            ("Two!", "x", "y", True),
            ("three", "x", "y", True),
            ("tie", "x", "y", True),
        ],
        "validation": [("two", "x", "y", True), ("one", "x", "z", True)],
        "test": [("ONE.", "v", "w", True), ("tie", "v", "w", None)],
    }

    def build(split: str, later_queries: Mapping[str, pl.Series]) -> list[Tables]:
        return [rerank_pairs(make_pairs(rows[split]), split=split, clean=True, later_queries=later_queries)]

    tables = rerank_splits(build, SPLITS, SPLITS, clean=True)
    assert {split: frame(tables, "queries", split)["text"].to_list() for split in SPLITS} == {
        "train": ["three", "tie"],
        "validation": ["two"],
        "test": ["ONE."],
    }
    assert tables.dropped == (
        Dropped("the query is also in the test split", 1, "train", ("pair-0",)),
        Dropped("the query is also in the validation split", 1, "train", ("pair-1",)),
        Dropped("the query is also in the test split", 1, "validation", ("pair-1",)),
        Dropped(TIE, 1, "test", ("pair-1",)),
    )
    alone = rerank_splits(build, SPLITS, ("validation",), clean=True)
    assert list(alone.frames["queries"]) == ["validation"]
    assert [dropped.split for dropped in alone.dropped] == ["validation"]


@given(st.lists(st.tuples(st.sampled_from("qQ"), TEXTS, TEXTS, st.booleans()), max_size=12))
def test_cleaning_leaves_clean_pairs_and_drops_none_of_them(pairs: list[Pair]) -> None:
    numbers, reasons = rerank_clean(*pairs)
    rest = [pairs[int(number)] for number in numbers]
    assert rerank_clean(*rest) == ([str(number) for number in range(len(rest))], {})
    assert len(rest) + sum(reasons.values()) == len(pairs)
    folded = [(query.lower(), frozenset(" ".join(text.lower().split()) for text in two)) for query, *two, _ in rest]
    assert len(set(folded)) == len(folded)
    assert all(len(two) == 2 for _, two in folded)


# What ids and positions reveal


def make_posts(count: int, *, a_preferred: Callable[[int], bool]) -> pl.DataFrame:
    """Three pairs on each post, in an order that reveals as much as a source's order can.

    One comment of a post is in all of its pairs: on even posts it always wins, on odd ones it always loses.
    """
    rows: list[Pair] = []
    for post in range(count):
        popular = f"comment {post} 0"
        for other in (f"comment {post} {n}" for n in (1, 2, 3)):
            better, worse = (popular, other) if post % 2 == 0 else (other, popular)
            a_wins = a_preferred(len(rows))
            a, b = (better, worse) if a_wins else (worse, better)
            rows.append((f"post {post}", a, b, a_wins))
    return make_pairs(rows)


ORDERS: dict[str, Callable[[int], bool]] = {
    "a is always preferred, as in chosen and rejected": lambda _: True,
    "b is always preferred": lambda _: False,
    "a and b alternate": lambda n: n % 2 == 0,
    "a first, then b": lambda n: n < 9_000,
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_rule_on_ids_and_positions_beats_chance(order: str) -> None:
    share, pairs = guess_preferences(rerank(make_posts(6_000, a_preferred=ORDERS[order])))
    assert pairs == 18_000
    assert share < chance_limit(pairs)


def plant_leak(tables: Tables, leak: str) -> Tables:
    """The same tables with one leak: an order by preference, or one document for all pairs of a response."""
    corpus, qrels, ranked = (frame(tables, config) for config in ("corpus", "qrels", "top_ranked"))
    winners = qrels.filter(score=1)["corpus-id"]
    by_wins = corpus.with_columns(wins=pl.col("id").is_in(winners.implode())).sort("wins", descending=True)
    best_first = qrels.sort("score", descending=True, maintain_order=True)
    if leak == "list":
        lists = best_first.group_by("query-id", maintain_order=True).agg(pl.col("corpus-id").alias("corpus-ids"))
        ranked = ranked.select("query-id").join(lists, on="query-id", maintain_order="left")
    elif leak == "qrels":
        qrels = best_first
    elif leak == "corpus":
        corpus = by_wins.drop("wins")
    elif leak == "ids":
        new_ids = dict(zip(by_wins["id"], (f"d-{n:020}" for n in range(corpus.height)), strict=True))
        corpus = corpus.with_columns(pl.col("id").replace_strict(new_ids)).sample(fraction=1, shuffle=True, seed=1)
        qrels = qrels.with_columns(pl.col("corpus-id").replace_strict(new_ids))
        ranked = ranked.with_columns(pl.col("corpus-ids").list.eval(pl.element().replace_strict(new_ids)))
    elif leak == "merged":
        texts = dict(corpus.select("id", "text").iter_rows())
        corpus = corpus.with_columns(id="text").unique(maintain_order=True)
        qrels = qrels.with_columns(pl.col("corpus-id").replace_strict(texts))
        ranked = ranked.with_columns(pl.col("corpus-ids").list.eval(pl.element().replace_strict(texts)))
    frames = {"corpus": corpus, "queries": frame(tables, "queries"), "qrels": qrels, "top_ranked": ranked}
    return Tables({config: {"test": rows} for config, rows in frames.items()})


@pytest.mark.parametrize(
    ("leak", "share"), [("list", 1.0), ("qrels", 1.0), ("corpus", 1.0), ("ids", 1.0), ("merged", 0.6)]
)
def test_the_rules_find_planted_leaks(leak: str, share: float) -> None:
    tables = rerank(make_posts(1_000, a_preferred=lambda n: n % 3 == 0))
    assert guess_preferences(plant_leak(tables, leak))[0] >= share


def read_steamshp(folder: Path) -> pl.DataFrame:
    raw = Raw("steamshp", folder / "hh_rlhf" / "steamshp" / "anthropic_helpful_test.json")
    columns = dict.fromkeys(("post_id", "history", "human_ref_A", "human_ref_B"), pl.String()) | {"labels": pl.Int64()}
    rows = read_json_lines(raw, columns)
    preferred = parse_preferences(rows["labels"], {1: True, 0: False}, raw)
    return rows.select(id="post_id", query="history", a="human_ref_A", b="human_ref_B", a_preferred=preferred)


def read_mt_bench(folder: Path) -> pl.DataFrame:
    raw = Raw("mt_bench", folder / "mt_bench_pairs" / "llmbar_mt_bench.json")
    rows = read_json_array(raw, dict.fromkeys(("input", "output_1", "output_2"), pl.String()) | {"label": pl.Int64()})
    preferred = parse_preferences(rows["label"], {1: True, 2: False}, raw, unit="record")
    numbers = pl.int_range(pl.len()).cast(pl.String)
    return rows.select(id=numbers, query="input", a="output_1", b="output_2", a_preferred=preferred)


def test_the_real_helpful_pairs_of_hh_rlhf_go_through(real_sources: Path) -> None:
    pairs = read_steamshp(real_sources)
    tables = rerank(pairs)
    assert tables.observed == {"pairs in test": 2344}
    assert dropped_counts(tables) == {EMPTY: 4, EQUAL: 2}
    preferred = pl.when("a_preferred").then("a").otherwise("b")
    better = dict(pairs.select("id", preferred).iter_rows())
    for query, ranked in candidates(tables).items():
        assert all((text == better[query]) == (score == 1) for text, score in ranked)
    share, count = guess_preferences(tables)
    assert count == 2338
    assert share < chance_limit(count)


def test_the_real_pairs_of_mt_bench_go_through(real_sources: Path) -> None:
    tables = rerank(read_mt_bench(real_sources))
    assert tables.observed == {"pairs in test": 200}
    share, count = guess_preferences(tables)
    assert count == 200 - sum(dropped_counts(tables).values())
    assert share < chance_limit(count)
