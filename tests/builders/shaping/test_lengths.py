"""Texts that are too long for training."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.measurements import Measurements, drop_long, read_tokens, texts_of
from tests.support.measurements import write_tokens

LISTS = pl.List(pl.String)
SCHEMA = {"id": pl.String, "query": pl.String, "positives": LISTS, "negatives": LISTS, "votes": pl.Int64}
Row = tuple[str, str, list[str], list[str]]  # id, query, positives, negatives


def table(*rows: Row) -> pl.DataFrame:
    return pl.DataFrame([(*row, 7) for row in rows], SCHEMA, orient="row")


@pytest.fixture
def tokens(tmp_path: Path) -> Measurements:
    counts = {"q": 1, "500": 500, "501": 501, "900": 900, "a": 2, "b": 3}
    return read_tokens(write_tokens(tmp_path / "tokens.parquet", counts))


@pytest.mark.parametrize(
    ("given", "limit", "left", "dropped"),
    [
        (
            [("1", "500", ["500"], []), ("2", "501", ["a"], [])],
            500,
            [("1", "500", ["500"], [])],
            {"a query of more than 500 tokens": (1, ("2",))},
        ),
        (
            [("1", "q", ["501", "a", "900", "b"], []), ("2", "q", ["900"], ["a"]), ("3", "q", ["b"], [])],
            500,
            [("1", "q", ["a", "b"], []), ("3", "q", ["b"], [])],
            {
                "a positive of more than 500 tokens (texts)": (3, ("1", "1", "2")),
                "no positive of at most 500 tokens": (1, ("2",)),
            },
        ),
        (
            [("1", "q", ["a"], ["900"]), ("2", "q", ["a"], ["b", "501"]), ("3", "q", ["a"], [])],
            500,
            [("1", "q", ["a"], []), ("2", "q", ["a"], ["b"]), ("3", "q", ["a"], [])],
            {"a negative of more than 500 tokens (texts)": (2, ("1", "2"))},
        ),
        ([("1", "q", ["a", "b"], ["500"])], 500, [("1", "q", ["a", "b"], ["500"])], {}),
        (
            [("1", "q", ["a", "b"], [])],
            2,
            [("1", "q", ["a"], [])],
            {"a positive of more than 2 tokens (texts)": (1, ("1",))},
        ),
    ],
    ids=[
        "a row goes with its query",
        "a positive leaves its row, which goes with its last one",
        "a negative leaves its row, which stays",
        "nothing is too long",
        "another limit",
    ],
)
def test_a_text_of_500_tokens_stays_and_one_of_501_goes(
    given: list[Row], limit: int, left: list[Row], dropped: dict[str, tuple[int, tuple[str, ...]]], tokens: Measurements
) -> None:
    rows, drops = drop_long(table(*given), tokens, limit)
    assert rows.equals(table(*left))
    assert {drop.reason: (drop.count, drop.examples) for drop in drops} == dropped


def test_all_texts_of_a_table_are_what_has_to_be_measured(tmp_path: Path) -> None:
    given = table(("1", "вопрос", ["ответ", "другой"], []), ("2", "вопрос", ["ответ"], ["мимо"]))
    texts = texts_of(given)["text"].to_list()
    assert texts == ["вопрос", "ответ", "другой", "мимо"]
    whole = read_tokens(write_tokens(tmp_path / "whole.parquet", dict.fromkeys(texts, 1)))
    assert drop_long(given, whole)[0].height == 2
    lacking = read_tokens(write_tokens(tmp_path / "lacking.parquet", dict.fromkeys(texts[:3], 1)))
    with pytest.raises(SourceError, match="1 text not measured"):
        drop_long(given, lacking)
