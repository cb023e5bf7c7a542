"""Preference pairs as reranking: what is kept, what is left out, and that nothing but the texts gives the better one away."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.ateb.shp import DOMAINS, INSTRUCTION
from builders.errors import SourceError
from builders.reading import read_json_array, read_json_lines
from builders.shaping.preferences import (
    AGAIN,
    ALIKE,
    CONTRARY,
    EMPTY,
    EQUAL,
    TIE,
    concat_tables,
    parse_preferences,
    rerank_pairs,
    tables_by_split,
)
from builders.spec import Dropped, Raw, Tables
from builders.tasks import Reranking
from pipelines.audit import integrity
from pipelines.make import GOLDEN, BuildResult, BuildSettings, make
from tests.support.preference_pairs import CONFIGS, assert_same, best_guess, chance, frame, judged, quick
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Pair = tuple[str, str, str, bool | None]  # query, response a, response b, whether a is preferred

SCHEMA = {"id": pl.String, "query": pl.String, "a": pl.String, "b": pl.String, "a_preferred": pl.Boolean}
SPLITS = ("train", "validation", "test")

texts = st.text(alphabet="ab \n\xa0é", max_size=4)
pairs_drawn = st.lists(st.tuples(texts, texts, texts, st.sampled_from([True, False, None])), max_size=12)


def table(pairs: list[Pair]) -> pl.DataFrame:
    return pl.DataFrame([(f"pair-{n}", *pair) for n, pair in enumerate(pairs)], SCHEMA, orient="row")


def tables(pairs: list[Pair] | pl.DataFrame) -> Tables:
    return rerank_pairs(pairs if isinstance(pairs, pl.DataFrame) else table(pairs), split="test")


def test_a_pair_is_a_query_with_the_preferred_response_judged_1_and_the_other_0() -> None:
    made = tables([("Why?", "Because.", "Hm.", True), ("How?", "No idea.", "Like this.", False)])
    assert frame(made, "queries").rows() == [("pair-0", "Why?"), ("pair-1", "How?")]
    assert sorted(judged(made)["pair-0"]) == [("Because.", 1), ("Hm.", 0)]
    assert sorted(judged(made)["pair-1"]) == [("Like this.", 1), ("No idea.", 0)]
    assert not made.dropped
    assert made.observed == {"pairs in test": 2}


def test_texts_are_kept_as_they_stand() -> None:
    made = tables([(" q\n", "\ta \n", "Ａ\u200b", True)])
    assert frame(made, "queries")["text"].to_list() == [" q\n"]
    assert dict(judged(made)["pair-0"]) == {"\ta \n": 1, "Ａ\u200b": 0}


def test_a_pair_stands_alone_whatever_it_shares_with_others() -> None:
    made = tables([("one", "x", "y", True), ("one", "y", "z", True)])
    assert frame(made, "top_ranked").rows() == [
        ("pair-0", ["pair-0-0", "pair-0-1"]),
        ("pair-1", ["pair-1-0", "pair-1-1"]),
    ]
    assert sorted(frame(made, "corpus")["text"]) == ["x", "y", "y", "z"]


def test_queries_are_never_merged_even_where_pairs_contradict_each_other() -> None:
    made = tables([("q", "x", "y", True), ("q", "x", "y", True), ("q", "y", "x", True)])
    assert frame(made, "queries")["text"].to_list() == ["q"] * 3
    assert [max(candidates, key=lambda one: one[1])[0] for candidates in judged(made).values()] == ["x", "x", "y"]


def test_what_a_source_knows_of_a_pair_stays_beside_its_query() -> None:
    pairs = table([("q", "x", "y", True)]).with_columns(language=pl.lit("eng"))
    assert frame(tables(pairs), "queries").rows(named=True) == [{"id": "pair-0", "text": "q", "language": "eng"}]


def test_ties_empty_and_equal_responses_are_left_out_each_under_the_first_reason_that_fits() -> None:
    kept: Pair = ("q", "x", "y", True)
    out: list[Pair] = [
        ("q", "x", "y", None), ("q", "", "", None), ("q", "x", "x", None),
        ("q", "", "y", True), ("q", "x", " \n\xa0", False), ("q", " ", "", True),
        ("q", "x", "x", True), ("q", "x", " x\n", False),
    ]  # fmt: skip
    made = tables([*out, kept])
    assert made.dropped == (
        Dropped(TIE, 3, "test", ("pair-0", "pair-1", "pair-2")),
        Dropped(EMPTY, 3, "test", ("pair-3", "pair-4", "pair-5")),
        Dropped(EQUAL, 2, "test", ("pair-6", "pair-7")),
    )
    assert frame(made, "queries")["id"].to_list() == ["pair-8"]


def test_the_responses_have_the_numbers_they_always_had() -> None:
    """Number 0 has the smaller of `printf %s "$ID $TEXT" | openssl mac -macopt size:8 -macopt key:"$SEED" BLAKE2BMAC`."""
    made = tables([("q", "x", "y", True)] * 8)
    assert ["".join(text for text, _ in two) for two in judged(made).values()] == [*["xy"] * 4, "yx", "xy", "yx", "xy"]


def test_parts_put_together_follow_each_other_and_their_counts_add_up() -> None:
    empty, equal, fine = ("q", "", "y", True), ("q", "x", "x", True), ("q", "x", "y", True)
    last = table([empty, empty, fine]).with_columns(id="last-" + pl.col("id"))
    parts = [rerank_pairs(pairs, split="train") for pairs in (table([equal]), table([empty] * 4), table([fine]), last)]
    made = concat_tables([*parts, rerank_pairs(table([empty]), split="test")])
    assert made.dropped == (
        Dropped(EMPTY, 6, "train", ("pair-0", "pair-1", "pair-2", "pair-3", "last-pair-0")),
        Dropped(EQUAL, 1, "train", ("pair-0",)),
        Dropped(EMPTY, 1, "test", ("pair-0",)),
    )
    assert made.observed == {"pairs in train": 9, "pairs in test": 1}
    for config in CONFIGS:
        assert_frame_equal(frame(made, config, "train"), pl.concat([frame(part, config, "train") for part in parts]))


def kept_clean(*pairs: Pair) -> tuple[list[str], dict[str, int]]:
    """The pairs, by number, that a clean version keeps, and the reasons for which it leaves out the others."""
    made = rerank_pairs(table(list(pairs)), split="test", clean=True)
    kept = [name.removeprefix("pair-") for name in frame(made, "queries")["id"]]
    return kept, {gone.reason: gone.count for gone in made.dropped}


def test_a_clean_version_has_no_pair_whose_responses_differ_in_case_and_white_space_alone() -> None:
    assert kept_clean(
        ("q", "Yes, so.", "yes,\xa0 so. ", True), ("q", "-2", "2", True), ("q", "Yes!", "Yes?", True)
    ) == (
        ["1", "2"],
        {ALIKE: 1},
    )


def test_a_clean_version_has_a_pair_once_in_whichever_order_its_responses_stand() -> None:
    assert kept_clean(("q", "x", "y", True), ("Q ", "Y", "x", False), ("q", "x", "z", True), ("r", "x", "y", True)) == (
        ["0", "2", "3"],
        {AGAIN: 1},
    )


def test_a_clean_version_has_none_of_the_pairs_that_contradict_each_other() -> None:
    assert kept_clean(("q", "x", "y", True), ("q", "y", "x", True), ("q", "X", "y", True), ("q", "x", "z", False)) == (
        ["3"],
        {CONTRARY: 3},
    )


def test_a_tie_contradicts_nothing() -> None:
    assert kept_clean(("q", "x", "y", True), ("q", "x", "y", None)) == (["0"], {TIE: 1})


def test_of_a_clean_version_the_last_split_keeps_the_queries_that_others_have_too() -> None:
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

    def parts(split: str, later: Mapping[str, pl.Series]) -> list[Tables]:
        return [rerank_pairs(table(rows[split]), split=split, clean=True, later=later)]

    made = tables_by_split(parts, SPLITS, SPLITS, clean=True)
    assert {split: frame(made, "queries", split)["text"].to_list() for split in SPLITS} == {
        "train": ["three", "tie"],
        "validation": ["two"],
        "test": ["ONE."],
    }
    assert made.dropped == (
        Dropped("the query is in the test split too", 1, "train", ("pair-0",)),
        Dropped("the query is in the validation split too", 1, "train", ("pair-1",)),
        Dropped("the query is in the test split too", 1, "validation", ("pair-1",)),
        Dropped(TIE, 1, "test", ("pair-1",)),
    )
    alone = tables_by_split(parts, SPLITS, ("validation",), clean=True)
    assert list(alone.frames["queries"]) == ["validation"]
    assert [gone.split for gone in alone.dropped] == ["validation"]


@quick
@given(st.lists(st.tuples(st.sampled_from("qQ"), texts, texts, st.booleans()), max_size=12))
def test_what_a_clean_version_keeps_is_clean_and_what_is_clean_it_keeps(pairs: list[Pair]) -> None:
    names, reasons = kept_clean(*pairs)
    kept = [pairs[int(name)] for name in names]
    assert kept_clean(*kept) == ([str(place) for place in range(len(kept))], {})
    assert len(kept) + sum(reasons.values()) == len(pairs)
    seen = [(query.lower(), frozenset(" ".join(text.lower().split()) for text in two)) for query, *two, _ in kept]
    assert len(set(seen)) == len(seen)
    assert all(len(two) == 2 for _, two in seen)


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    return Raw("source/pairs.jsonl", tmp_path / "pairs.jsonl")


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
def test_verdicts_say_whether_a_is_preferred(verdicts: list[Any], meanings: dict[Any, bool | None], raw: Raw) -> None:
    column = parse_preferences(pl.Series("winner", verdicts), meanings, raw)
    assert column.to_list() == [True, False, None, None][: len(verdicts)]
    assert column.dtype == pl.Boolean


@pytest.mark.parametrize(("verdicts", "meanings"), [([1, 0, 2], {1: True, 0: False}), (["A", "a"], {"A": True})])
def test_an_unknown_verdict_is_an_error_with_its_place(
    verdicts: list[Any], meanings: dict[Any, bool], raw: Raw
) -> None:
    with pytest.raises(SourceError, match="unknown preference in 'labels'") as caught:
        parse_preferences(pl.Series("labels", verdicts), meanings, raw)
    assert f"source/pairs.jsonl, line {len(verdicts)}" in str(caught.value)
    assert repr(str(verdicts[-1])) in str(caught.value)
    assert " or ".join(map(repr, meanings)) in str(caught.value)


def reason_of(pair: Pair) -> str | None:
    _, a, b, a_preferred = pair
    if a_preferred is None:
        return TIE
    if not a.strip() or not b.strip():
        return EMPTY
    return EQUAL if a.strip() == b.strip() else None


@quick
@given(pairs_drawn)
def test_pairs_in_are_pairs_kept_and_pairs_left_out_by_reason(pairs: list[Pair]) -> None:
    made = tables(pairs)
    reasons = [reason_of(pair) for pair in pairs]
    assert {gone.reason: gone.count for gone in made.dropped} == {
        reason: reasons.count(reason) for reason in (TIE, EMPTY, EQUAL) if reason in reasons
    }
    assert made.observed["pairs in test"] == frame(made, "queries").height + sum(gone.count for gone in made.dropped)


@quick
@given(pairs_drawn)
def test_every_pair_kept_comes_back_from_its_tables(pairs: list[Pair]) -> None:
    made = tables(pairs)
    expected = {
        f"pair-{n}": (query, {a: int(a_preferred is True), b: int(a_preferred is False)})
        for n, (query, a, b, a_preferred) in enumerate(pairs)
        if reason_of(pairs[n]) is None
    }
    queries = dict(frame(made, "queries").iter_rows())
    assert {query: (queries[query], dict(candidates)) for query, candidates in judged(made).items()} == expected


@quick
@given(pairs_drawn)
def test_no_table_breaks_a_rule_of_its_task(pairs: list[Pair]) -> None:
    made = tables([*pairs, ("q", "better", "worse", True)])
    frames = {config: {"test": frame(made, config).lazy()} for config in CONFIGS}
    assert integrity.check_integrity(Reranking(), frames, ("test",)) == []


@quick
@given(pairs_drawn)
def test_a_pair_with_its_responses_swapped_gives_the_same_rows(pairs: list[Pair]) -> None:
    swapped = [(query, b, a, None if preferred is None else not preferred) for query, a, b, preferred in pairs]
    assert_same(tables(pairs), tables(swapped))


@quick
@given(pairs_drawn, pairs_drawn)
def test_further_pairs_change_nothing_of_the_others(pairs: list[Pair], more: list[Pair]) -> None:
    few, many = tables(pairs), tables(pairs + more)
    for config in CONFIGS:
        assert_frame_equal(frame(few, config), frame(many, config).head(frame(few, config).height))


@quick
@given(pairs_drawn, st.randoms(use_true_random=False))
def test_neither_the_order_of_pairs_nor_chunks_change_more_than_the_order_of_rows(
    pairs: list[Pair], random: Any
) -> None:
    rows = list(table(pairs).iter_slices(1))
    random.shuffle(rows)
    mixed = tables(pl.concat([table([]), *rows], rechunk=False))
    for config, key in (
        ("corpus", ["id"]),
        ("queries", ["id"]),
        ("qrels", ["corpus-id"]),
        ("top_ranked", ["query-id"]),
    ):
        assert_frame_equal(frame(tables(pairs), config).sort(key), frame(mixed, config).sort(key))


def posts(count: int, *, a_preferred: Callable[[int], bool]) -> pl.DataFrame:
    """Three pairs on each post, in the order in which the better comments came: as tell-tale as a source can be.

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
    return table(rows)


ORDERS: dict[str, Callable[[int], bool]] = {
    "a is always preferred, as in chosen and rejected": lambda _: True,
    "b is always preferred": lambda _: False,
    "a and b take turns": lambda n: n % 2 == 0,
    "a first, then b": lambda n: n < 9_000,
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_rule_over_ids_and_places_does_better_than_chance(order: str) -> None:
    share, pairs = best_guess(tables(posts(6_000, a_preferred=ORDERS[order])))
    assert pairs == 18_000
    assert share < chance(pairs)


def give_away(made: Tables, leak: str) -> Tables:
    """The same tables with one thing that tells: an order by preference, or one document for all pairs of a response."""
    corpus, qrels, ranked = (frame(made, config) for config in ("corpus", "qrels", "top_ranked"))
    winners = qrels.filter(score=1)["corpus-id"]
    by_merit = corpus.with_columns(wins=pl.col("id").is_in(winners.implode())).sort("wins", descending=True)
    best_first = qrels.sort("score", descending=True, maintain_order=True)
    if leak == "list":
        lists = best_first.group_by("query-id", maintain_order=True).agg(pl.col("corpus-id").alias("corpus-ids"))
        ranked = ranked.select("query-id").join(lists, on="query-id", maintain_order="left")
    elif leak == "qrels":
        qrels = best_first
    elif leak == "corpus":
        corpus = by_merit.drop("wins")
    elif leak == "ids":
        new = dict(zip(by_merit["id"], (f"d-{n:020}" for n in range(corpus.height)), strict=True))
        corpus = corpus.with_columns(pl.col("id").replace_strict(new)).sample(fraction=1, shuffle=True, seed=1)
        qrels = qrels.with_columns(pl.col("corpus-id").replace_strict(new))
        ranked = ranked.with_columns(pl.col("corpus-ids").list.eval(pl.element().replace_strict(new)))
    elif leak == "merged":
        text_of = dict(corpus.select("id", "text").iter_rows())
        corpus = corpus.with_columns(id="text").unique(maintain_order=True)
        qrels = qrels.with_columns(pl.col("corpus-id").replace_strict(text_of))
        ranked = ranked.with_columns(pl.col("corpus-ids").list.eval(pl.element().replace_strict(text_of)))
    frames = {"corpus": corpus, "queries": frame(made, "queries"), "qrels": qrels, "top_ranked": ranked}
    return Tables({config: {"test": rows} for config, rows in frames.items()})


@pytest.mark.parametrize(
    ("leak", "share"), [("list", 1.0), ("qrels", 1.0), ("corpus", 1.0), ("ids", 1.0), ("merged", 0.6)]
)
def test_the_guesses_find_what_gives_the_better_one_away(leak: str, share: float) -> None:
    made = tables(posts(1_000, a_preferred=lambda n: n % 3 == 0))
    assert best_guess(give_away(made, leak))[0] >= share


def steamshp(folder: Path) -> pl.DataFrame:
    raw = Raw("steamshp", folder / "hh_rlhf" / "steamshp" / "anthropic_helpful_test.json")
    columns = dict.fromkeys(("post_id", "history", "human_ref_A", "human_ref_B"), pl.String()) | {"labels": pl.Int64()}
    rows = read_json_lines(raw, columns)
    preferred = parse_preferences(rows["labels"], {1: True, 0: False}, raw)
    return rows.select(id="post_id", query="history", a="human_ref_A", b="human_ref_B", a_preferred=preferred)


def mt_bench(folder: Path) -> pl.DataFrame:
    raw = Raw("mt_bench", folder / "mt_bench_pairs" / "llmbar_mt_bench.json")
    rows = read_json_array(raw, dict.fromkeys(("input", "output_1", "output_2"), pl.String()) | {"label": pl.Int64()})
    preferred = parse_preferences(rows["label"], {1: True, 2: False}, raw, unit="record")
    numbers = pl.int_range(pl.len()).cast(pl.String)
    return rows.select(id=numbers, query="input", a="output_1", b="output_2", a_preferred=preferred)


def test_the_helpful_pairs_of_hh_rlhf_go_through(real_sources: Path) -> None:
    pairs = steamshp(real_sources)
    made = tables(pairs)
    assert made.observed == {"pairs in test": 2344}
    assert {gone.reason: gone.count for gone in made.dropped} == {EMPTY: 4, EQUAL: 2}
    preferred = pl.when("a_preferred").then("a").otherwise("b")
    better = dict(pairs.select("id", preferred).iter_rows())
    assert all((text == better[query]) == (score == 1) for query, two in judged(made).items() for text, score in two)
    share, count = best_guess(made)
    assert count == 2338
    assert share < chance(count)


def test_the_pairs_of_mt_bench_go_through(real_sources: Path) -> None:
    made = tables(mt_bench(real_sources))
    assert made.observed == {"pairs in test": 200}
    share, count = best_guess(made)
    assert count == 200 - sum(gone.count for gone in made.dropped)
    assert share < chance(count)


@pytest.fixture
def shp(tmp_path: Path, settings: BuildSettings) -> Callable[..., BuildResult]:
    """Build shp-reranking from a copy of the golden sample, every record (file, its keys and values) changed at will."""

    def build(change: Callable[[str, dict[str, Any]], dict[str, Any]], version: str = "1.0.0") -> BuildResult:
        folder = tmp_path / "golden" / "shp" / "raw"
        shutil.rmtree(folder, ignore_errors=True)
        for path in (GOLDEN / "shp" / "raw").rglob("*.json"):
            name = path.relative_to(GOLDEN / "shp" / "raw").as_posix()
            records = [change(name, json.loads(line)) for line in path.read_text("utf-8").splitlines()]
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        return make(
            definition_of("shp-reranking"), version, replace(settings, golden=tmp_path / "golden"), lambda _: None
        )

    return build


def test_all_18_subreddits_are_in_every_split(golden_release: Callable[[str], BuildResult]) -> None:
    outcome = golden_release("shp-reranking")
    assert len(DOMAINS) == 18
    for split in SPLITS:
        queries = pl.read_parquet(outcome.place / "queries" / f"{split}-*.parquet")
        assert queries["domain"].unique(maintain_order=True).to_list() == sorted(DOMAINS)
        assert queries["text"].str.starts_with(f"{INSTRUCTION} ").all()


def test_a_and_b_swapped_in_all_raw_files_give_the_same_release(
    shp: Callable[..., BuildResult], golden_release: Callable[[str], BuildResult]
) -> None:
    def swap(_: str, record: dict[str, Any]) -> dict[str, Any]:
        other = {"A": "B", "B": "A"}
        swapped = {
            key[:-1] + other[key[-1]] if key[-2:] in ("_A", "_B") else key: value for key, value in record.items()
        }
        return swapped | {"labels": 1 - record["labels"]}

    for version in ("1.0.0", "2.0.0"):
        expected = golden_release("shp-reranking", version).manifest["content_sha256"]
        assert shp(swap, version).manifest["content_sha256"] == expected


def test_ids_times_and_scores_of_reddit_decide_nothing(
    shp: Callable[..., BuildResult], golden_release: Callable[[str], BuildResult]
) -> None:
    keys = [f"{name}_{side}" for name in ("c_root_id", "created_at_utc", "score") for side in ("A", "B")]
    outcome = shp(lambda _, record: {key: value for key, value in record.items() if key not in keys})
    assert outcome.manifest["content_sha256"] == golden_release("shp-reranking", "1.0.0").manifest["content_sha256"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("labels", 2, "unknown preference in 'labels'"),
        ("labels", -1, "unknown preference in 'labels'"),
        ("labels", None, "labels is null"),
        ("domain", "askvet_train", "a pair of another file"),
        ("domain", "askhr_test", "a pair of another file"),
        ("history", None, "history is null"),
        ("human_ref_B", 7, "human_ref_B has the wrong type"),
    ],
)
def test_a_malformed_pair_is_an_error_with_its_place(
    key: str, value: Any, message: str, shp: Callable[..., BuildResult]
) -> None:
    def spoil(name: str, record: dict[str, Any]) -> dict[str, Any]:
        return record | {key: value} if name == "askvet/test.json" else record

    with pytest.raises(SourceError, match=message) as caught:
        shp(spoil)
    assert "shp/raw/askvet/test.json, line 1" in str(caught.value)
