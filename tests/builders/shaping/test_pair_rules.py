"""The rules that the sets from Russian sources share."""

from pathlib import Path

import polars as pl

from builders.shaping.contrastive import drop_repeated, make_short_pairs, strip_rows
from builders.spec import Raw, RawFiles
from pipelines.make import GOLDEN
from tests.support.measurements import write_tokens
from tests.support.training import table_of


def rows(*pairs: tuple[str, list[str], list[str]]) -> pl.DataFrame:
    lists = pl.List(pl.String)
    schema = {"id": pl.String, "query": pl.String, "positives": lists, "negatives": lists}
    return pl.DataFrame([(str(number), *pair) for number, pair in enumerate(pairs)], schema, orient="row")


def test_texts_lose_white_space_at_their_ends_and_nothing_else() -> None:
    stripped, dropped = strip_rows(rows(("\ufeff Кот  спит .\u2028", ["\n да\u00a0", "нет ."], [" мимо\t"])))
    assert stripped.rows() == [("0", "\ufeff Кот  спит .", ["да", "нет ."], ["мимо"])]
    assert dropped == ()


def test_empty_texts_and_positives_that_are_the_query_are_dropped_by_reason() -> None:
    given = rows(
        (" ", ["a"], []),
        ("q", ["q ", "a", ""], ["", "n"]),
        ("r", [" r"], ["n"]),
        ("s", [], []),
        ("Q", ["q"], []),
    )
    kept, dropped = strip_rows(given)
    assert kept.rows() == [("1", "q", ["a"], ["n"]), ("4", "Q", ["q"], [])]
    assert {drop.reason: (drop.count, drop.examples) for drop in dropped} == {
        "an empty query": (1, ("0",)),
        "an empty positive (texts)": (1, ("1",)),
        "a positive is the query (texts)": (2, ("1", "2")),
        "an empty negative (texts)": (1, ("1",)),
        "no positive": (2, ("2", "3")),
    }


def test_of_equal_pairs_and_then_of_equal_queries_the_first_is_kept() -> None:
    given = rows(("q", ["a"], ["n"]), ("q", ["a"], ["m"]), ("q", ["b"], []), ("r", ["a"], []), ("Q", ["a"], []))
    kept, dropped = drop_repeated(given)
    assert kept["id"].to_list() == ["0", "3", "4"]
    assert [(drop.reason, drop.examples) for drop in dropped] == [
        ("query and positives of an earlier row", ("1",)),
        ("the query of an earlier row", ("2",)),
    ]
    assert drop_repeated(given, unique_queries=False)[0]["id"].to_list() == ["0", "2", "3", "4"]


def test_a_letter_of_two_characters_is_the_same_as_that_of_one() -> None:
    kept, _ = drop_repeated(rows(("мой", ["ёж"], []), ("мои\u0306", ["е\u0308ж"], [])))
    assert kept.rows() == [("0", "мой", ["ёж"], [])]


def test_a_text_that_is_too_long_makes_no_other_row_a_repeated_one(tmp_path: Path) -> None:
    given = rows(("q", ["long"], []), ("q", ["a"], []), ("q", ["b"], []), ("r", ["a"], ["long"]))
    files = {
        "tokens": write_tokens(tmp_path / "tokens.parquet", {"q": 1, "r": 1, "a": 1, "b": 1, "long": 501}),
        "index": Raw("source/benchmark-index.parquet", GOLDEN / "ru_hnp" / "raw" / "benchmark-index.parquet"),
    }
    made = make_short_pairs(RawFiles(("train",), files, tmp_path), given, "set", size=9)
    assert table_of(made)["id"].to_list() == ["1", "3"]
    assert table_of(made)["negatives"].to_list() == [[], []]
    assert made.observed == {"rows of set in the source": 4, "rows of set to choose from": 2}
    assert sum(drop.count for drop in made.dropped) == 4, "a positive, its row, a query, a negative"
