"""builders.shaping.contrastive: random negatives that any program can draw again, and what a cleaned table lacks."""

from hashlib import blake2b

import polars as pl

from builders.shaping.contrastive import clean_pairs, document_pool, fill_negatives, limit_negatives, make_pairs
from builders.shaping.folding import hash_texts
from builders.shaping.sampling import hash_order
from tests.support.training import table_of

NOTHING = {"exact": pl.Series([], dtype=pl.UInt64), "folded": pl.Series([], dtype=pl.UInt64)}


def rows(*pairs: tuple[str, list[str], list[str]]) -> pl.DataFrame:
    lists = pl.List(pl.String)
    return pl.DataFrame(
        {
            "id": [f"s:{number}" for number in range(len(pairs))],
            "query": [query for query, _, _ in pairs],
            "positives": pl.Series([positives for _, positives, _ in pairs], dtype=lists),
            "negatives": pl.Series([negatives for _, _, negatives in pairs], dtype=lists),
        }
    )


def with_kinds(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(negative_kinds=pl.lit("provided").repeat_by(pl.col("negatives").list.len()))


def test_the_draws_of_a_row_follow_from_its_id_and_the_seed_alone() -> None:
    pool = pl.Series([f"text {number}" for number in range(1000)])
    [name, *_] = filled = fill_negatives(with_kinds(rows(("q", ["p"], ["n"]))), pool, 4, seed="key").row(0)
    digests = [blake2b(f"{draw}:{name}".encode(), digest_size=8, key=b"key").digest() for draw in range(3)]
    assert filled[3] == ["n", *(pool[int.from_bytes(digest) % 1000] for digest in digests)]
    assert filled[4] == ["provided", "random", "random", "random"]


def test_other_rows_change_no_draw() -> None:
    pool = pl.Series([f"text {number}" for number in range(100)])
    one = with_kinds(rows(("q", ["p"], [])))
    both = with_kinds(rows(("q", ["p"], []), ("r", ["s"], [])))
    assert fill_negatives(both, pool, 7, seed="key").head(1).equals(fill_negatives(one, pool, 7, seed="key"))


def test_a_draw_never_gives_the_query_a_positive_or_a_negative_not_even_in_other_case() -> None:
    pool = pl.Series(["A query.", "THE POSITIVE", "the negative!", "other", "Another"])
    filled = fill_negatives(with_kinds(rows(("a query", ["the positive"], ["The negative"]))), pool, 7, seed="key")
    negatives, kinds = filled["negatives"][0].to_list(), filled["negative_kinds"][0].to_list()
    assert negatives[0] == "The negative"
    assert sorted(negatives[1:]) == ["Another", "other"]  # all that the pool has; then the tries end
    assert kinds == ["provided", "random", "random"]


def test_the_pool_has_each_document_once_in_the_order_of_its_bytes_and_no_empty_one() -> None:
    assert document_pool(rows(("q", ["б", "Z"], ["a", " "]), ("r", ["a"], []))).to_list() == ["Z", "a", "б"]


def test_cleaning_drops_texts_from_lists_and_keeps_kinds_beside_their_negatives() -> None:
    frame = rows(("q", ["Q!", "p", "r"], ["P.", "n", "", "N", "q", "m"])).with_columns(
        negative_kinds=pl.Series([["provided", "random", "provided", "random", "provided", "random"]])
    )
    cleaned, dropped = clean_pairs(frame)
    assert cleaned.row(0)[2:] == (["p", "r"], ["n", "m"], ["random", "random"])
    assert {drop.reason: drop.count for drop in dropped} == {
        "a positive is the query (texts)": 1,
        "an empty negative (texts)": 1,
        "a negative is the query (texts)": 1,
        "a negative is a positive (texts)": 1,
        "a negative repeats an earlier one (texts)": 1,
    }


def test_rows_that_differ_only_in_the_order_of_positives_are_the_same_after_cleaning() -> None:
    frame = with_kinds(rows(("q", ["a", "b"], []), ("Q", ["B", "a"], ["n"]), ("q", ["a"], [])))
    cleaned, dropped = clean_pairs(frame)
    assert cleaned["id"].to_list() == ["s:0", "s:2"]
    assert [drop.examples for drop in dropped] == [("s:1",)]


def test_rows_without_a_query_or_a_positive_are_dropped_in_every_version() -> None:
    made = make_pairs(rows((" ", ["a"], []), ("q", ["", "\n"], []), ("r", ["", "b"], [])), "set", NOTHING, size=9)
    assert table_of(made)["id"].to_list() == ["s:2"]
    assert table_of(made)["positives"].to_list() == [["b"]]
    assert {drop.reason: drop.count for drop in made.dropped} == {
        "an empty positive (texts)": 3, "an empty query": 1, "no positive": 1,
    }  # fmt: skip


def test_a_sample_stays_in_the_order_of_the_source() -> None:
    many = rows(*((f"q{number}", [f"p{number}"], []) for number in range(50)))
    ids = table_of(make_pairs(many, "set", NOTHING, size=20))["id"].to_list()
    assert len(ids) == 20
    assert ids == sorted(ids, key=lambda name: int(name[2:]))
    assert ids != many["id"].to_list()[:20]


def test_texts_of_the_index_are_reported_and_dropped_when_cleaning() -> None:
    index = {
        "exact": pl.Series(hash_texts(pl.Series(["Who opened the door today?"]))).sort(),
        "folded": pl.Series(hash_texts(pl.Series(["who opened the door today"]))).sort(),
    }  # fmt: skip
    frame = rows(
        ("Who opened the door today?", ["a"], []),
        ("b", ["c", "who OPENED the door, today"], []),
        ("d", ["e"], ["Who opened the door today", "f"]),
    )
    made = make_pairs(frame, "set", index, size=9)
    assert [(one.column, one.ids, one.detail) for one in made.reported] == [
        ("query", ("s:0",), "exact 1"), ("positives", ("s:1",), "folded 1"), ("negatives", ("s:2",), "folded 1"),
    ]  # fmt: skip
    cleaned = make_pairs(frame, "set", index, size=9, clean=True)
    assert table_of(cleaned).select("id", "negatives").rows() == [("s:2", ["f"])]
    assert cleaned.reported == ()


def test_of_too_many_negatives_those_first_in_hash_order_stay_in_their_old_order() -> None:
    texts = [f"n{number}" for number in range(9)]
    frame = with_kinds(rows(("q", ["p"], texts), ("r", ["p"], texts[:3]), ("s", ["p"], [])))
    limited = limit_negatives(frame, 4, seed="s")
    hashes = hash_order(pl.Series([f"{number}:s:0" for number in range(9)]), "s")
    chosen = sorted(sorted(range(9), key=hashes.to_list().__getitem__)[:4])
    assert limited["negatives"].to_list() == [[f"n{number}" for number in chosen], texts[:3], []]
    assert limited["negative_kinds"].list.len().to_list() == [4, 3, 0]
    assert limited.drop("negatives", "negative_kinds").equals(frame.drop("negatives", "negative_kinds"))


def test_random_negatives_can_come_from_rows_that_are_alike() -> None:
    frame = rows(*((f"q{number}", [f"{word}{number}"], []) for number in range(6) for word in ("дом", "house")))
    is_russian = pl.col("positives").list.first().str.starts_with("д")
    made = table_of(make_pairs(frame, "set", NOTHING, size=100, negatives=3, alike=is_russian))
    assert made["id"].to_list() == frame["id"].to_list()
    for (positive,), negatives in zip(made["positives"], made["negatives"], strict=True):
        assert len(negatives) == 3
        assert {text[0] for text in negatives} == {positive[0]}
