"""Nested records as a list of objects and as an object of lists: the same rows from both, and errors for other shapes."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builders.reading import json_lines
from builders.spec import Raw
from tests.support.reading import source_error

COLUMNS = {"id": pl.Int64, "answers": pl.List(pl.Struct({"text": pl.String, "votes": pl.Int64}))}
OPTIONAL = ("answers[].votes",)


def read(file: Raw) -> list[dict[str, Any]]:
    frames = json_lines(file, COLUMNS, optional=OPTIONAL, records=("answers",))
    return [row for frame in frames for row in frame.to_dicts()]


def test_both_shapes_of_nested_records_give_the_same_rows(raw: Callable[..., Raw]) -> None:
    records = [{"text": "да", "votes": 2, "author": "a"}, {"text": "нет", "votes": None, "author": "b"}]
    lists = {"text": ["да", "нет"], "votes": [2, None], "author": ["a", "b"]}
    lines = "".join(json.dumps({"id": 1, "answers": answers}) + "\n" for answers in (records, lists))
    first, second = read(raw(lines))
    assert first == second == {"id": 1, "answers": [{"text": "да", "votes": 2}, {"text": "нет", "votes": None}]}


@pytest.mark.parametrize("answers", [[], {}, {"text": [], "votes": []}, {"text": [], "votes": None}], ids=str)
def test_no_records_are_an_empty_list_in_every_shape(answers: Any, raw: Callable[..., Raw]) -> None:
    assert read(raw(json.dumps({"id": 1, "answers": answers}))) == [{"id": 1, "answers": []}]


@pytest.mark.parametrize("votes", [{}, {"votes": None}], ids=["absent", "null"])
def test_a_key_that_the_lists_lack_is_null_in_every_record(votes: dict[str, Any], raw: Callable[..., Raw]) -> None:
    line = json.dumps({"id": 1, "answers": {"text": ["да", "нет"]} | votes})
    assert [answer["votes"] for answer in read(raw(line))[0]["answers"]] == [None, None]


@pytest.mark.parametrize(
    ("answers", "message", "found"),
    [
        ({"text": ["a", "b"], "votes": [1]}, "lists of different lengths", "2 of text, 1 of votes"),
        ({"text": "ab", "votes": [1]}, "answers.text has the wrong type", '"ab" (a string)'),
        ({"text": ["a", 3], "votes": [1, 2]}, "answers[].text has the wrong type", "3 (an integer)"),
        ({"votes": [1, 2]}, "answers[].text is missing", ""),
        ("none", "answers has the wrong type", '"none" (a string)'),
    ],
    ids=str,
)
def test_records_of_another_shape_are_refused_with_their_line(
    answers: Any, message: str, found: str, raw: Callable[..., Raw]
) -> None:
    lines = '{"id": 1, "answers": []}\n' + json.dumps({"id": 2, "answers": answers}) + "\n"
    error = source_error(lambda: read(raw(lines)))
    assert message in str(error)
    assert str(error.where).endswith("line 2")
    assert found in str(error.found)
