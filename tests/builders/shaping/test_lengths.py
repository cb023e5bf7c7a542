"""Texts that are too long for training."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.measurements import Measurements, drop_long, read_tokens, texts_of
from tests.support.measurements import write_tokens

LISTS = pl.List(pl.String)
SCHEMA = {"id": pl.String, "query": pl.String, "positives": LISTS, "negatives": LISTS, "votes": pl.Int64}


def table(*rows: tuple[str, str, list[str], list[str]]) -> pl.DataFrame:
    return pl.DataFrame([(*row, 7) for row in rows], SCHEMA, orient="row")


@pytest.fixture
def tokens(tmp_path: Path) -> Measurements:
    counts = {"q": 1, "500": 500, "501": 501, "900": 900, "a": 2, "b": 3}
    return read_tokens(write_tokens(tmp_path / "tokens.parquet", counts))


def test_a_text_of_500_tokens_stays_and_one_of_501_goes(tokens: Measurements) -> None:
    rows, dropped = drop_long(table(("1", "500", ["500"], []), ("2", "501", ["a"], [])), tokens)
    assert rows["id"].to_list() == ["1"]
    assert [(drop.reason, drop.count, drop.examples) for drop in dropped] == [
        ("a query of more than 500 tokens", 1, ("2",))
    ]


def test_a_long_positive_leaves_its_row_which_goes_with_its_last_one(tokens: Measurements) -> None:
    given = table(("1", "q", ["501", "a", "900", "b"], []), ("2", "q", ["900"], ["a"]), ("3", "q", ["b"], []))
    rows, dropped = drop_long(given, tokens)
    assert rows.select("id", "positives").rows() == [("1", ["a", "b"]), ("3", ["b"])]
    assert {drop.reason: drop.count for drop in dropped} == {
        "a positive of more than 500 tokens (texts)": 3,
        "no positive of at most 500 tokens": 1,
    }


def test_a_long_negative_leaves_its_row_which_stays_without_any(tokens: Measurements) -> None:
    given = table(("1", "q", ["a"], ["900"]), ("2", "q", ["a"], ["b", "501"]), ("3", "q", ["a"], []))
    rows, dropped = drop_long(given, tokens)
    assert rows["negatives"].to_list() == [[], ["b"], []]
    assert [(drop.reason, drop.count) for drop in dropped] == [("a negative of more than 500 tokens (texts)", 2)]
    assert rows.schema == given.schema


def test_rows_without_long_texts_are_returned_as_they_are(tokens: Measurements) -> None:
    given = table(("1", "q", ["a", "b"], ["500"]))
    rows, dropped = drop_long(given, tokens)
    assert rows.equals(given)
    assert dropped == ()


def test_the_limit_is_an_argument(tokens: Measurements) -> None:
    rows, dropped = drop_long(table(("1", "q", ["a", "b"], [])), tokens, limit=2)
    assert rows["positives"].to_list() == [["a"]]
    assert [drop.reason for drop in dropped] == ["a positive of more than 2 tokens (texts)"]


def test_all_texts_of_a_table_are_what_has_to_be_measured(tmp_path: Path) -> None:
    given = table(("1", "вопрос", ["ответ", "другой"], []), ("2", "вопрос", ["ответ"], ["мимо"]))
    texts = texts_of(given)["text"].to_list()
    assert texts == ["вопрос", "ответ", "другой", "мимо"]
    whole = read_tokens(write_tokens(tmp_path / "whole.parquet", dict.fromkeys(texts, 1)))
    assert drop_long(given, whole)[0].height == 2
    lacking = read_tokens(write_tokens(tmp_path / "lacking.parquet", dict.fromkeys(texts[:3], 1)))
    with pytest.raises(SourceError, match="1 text not measured"):
        drop_long(given, lacking)
