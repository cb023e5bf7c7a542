"""Dropped rows are counted by reason; refused rows are errors that name their location."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.rows import drop, drop_each, refuse
from builders.spec import Dropped, Raw


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    return Raw("cedr/train.jsonl", tmp_path / "train.jsonl")


def test_dropped_rows_are_counted_with_five_of_their_ids() -> None:
    frame = pl.DataFrame({"id": [str(i) for i in range(10)], "text": ["", "a"] * 4 + ["", None]})
    rest, dropped = drop(frame, pl.col("text") == "", "the text is empty", split="train")
    assert dropped == (Dropped("the text is empty", 5, "train", ("0", "2", "4", "6", "8")),)
    assert rest["id"].to_list() == ["1", "3", "5", "7", "9"]
    assert rest.columns == frame.columns


def test_a_condition_that_no_row_meets_is_not_reported() -> None:
    frame = pl.DataFrame({"id": [1], "text": ["a"]})
    rest, dropped = drop(frame, pl.col("text") == "", "empty", split="train")
    assert rest.equals(frame)
    assert dropped == ()


def test_each_condition_applies_to_the_rows_that_earlier_ones_left() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"], "text": ["", "x", "x", ""], "label": [0, 1, 1, 1]})
    conditions = {
        "never met": pl.col("label") > 1,
        "the label is 0": pl.col("label") == 0,
        "duplicate of an earlier row": ~pl.col("text").is_first_distinct(),
    }
    rest, dropped = drop_each(frame, conditions, split="test")
    assert rest["id"].to_list() == ["b", "d"], "the first empty text was dropped before duplicates were looked for"
    assert dropped == (
        Dropped("the label is 0", 1, "test", ("a",)),
        Dropped("duplicate of an earlier row", 1, "test", ("c",)),
    )


def test_rows_that_meet_no_condition_or_a_null_one_are_not_refused(raw: Raw) -> None:
    rows = pl.DataFrame({"score": [0.5, None]})
    refuse(rows, pl.col("score") > 1, raw, "score out of range", found="score", expected="0 to 1")
    refuse(rows.clear(), pl.lit(value=True), raw, "score out of range", found="score", expected="0 to 1")


def test_the_first_refused_row_is_named_and_all_are_counted(raw: Raw) -> None:
    rows = pl.DataFrame({"score": [0.5, 2, 0, *[3] * 1_233]})
    with pytest.raises(SourceError) as caught:
        refuse(rows, pl.col("score") > 1, raw, "score out of range", found="score", expected="0 to 1", unit="record")
    assert str(caught.value).splitlines()[:4] == [
        "cedr/train.jsonl: score out of range",
        "  where:    cedr/train.jsonl, record 2",
        "  found:    '2.0' (the first of 1,234)",
        "  expected: 0 to 1",
    ]


def test_rows_may_have_locations_of_their_own(raw: Raw) -> None:
    rows = pl.DataFrame({"line": [7, 9], "word": ["a", "b"]})
    found, line = pl.format("word {}", "word"), pl.format("line {}", "line")
    with pytest.raises(SourceError, match="wrong word") as caught:
        refuse(rows, pl.col("word") == "b", raw, "wrong word", found=found, expected="a", location=line)
    assert (caught.value.where, caught.value.found) == ("cedr/train.jsonl, line 9", "'word b'")
