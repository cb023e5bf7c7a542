"""ARC: the answer key chooses an option, and must match exactly one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from builders.ateb import arc
from builders.errors import SourceError
from tests.support.reading import write_raw

if TYPE_CHECKING:
    from pathlib import Path


def make_line(key: str, labels: str) -> str:
    choices = [{"text": f"option {label}", "label": label} for label in labels]
    return json.dumps({"id": "1", "question": {"stem": "Why? ", "choices": choices}, "answerKey": key}) + "\n"


def test_the_answer_key_is_the_label_of_the_gold_option(tmp_path: Path) -> None:
    raw = write_raw(tmp_path, make_line("B", "ABC") + make_line("1", "12345"), "arc/test.jsonl")
    questions = arc.read_questions(raw)
    assert questions.columns == ["query", "options", "gold"]
    assert questions.rows() == [
        ("Why? ", ["option A", "option B", "option C"], 1),
        ("Why? ", ["option 1", "option 2", "option 3", "option 4", "option 5"], 0),
    ]


@pytest.mark.parametrize(
    ("key", "labels", "found"),
    [
        ("E", "ABCD", "'E for the options A, B, C, D'"),
        ("A", "ABA", "'A for the options A, B, A'"),
        ("A", "", "'A for the options '"),
    ],
)
def test_an_answer_key_that_does_not_match_one_option_is_an_error_that_names_its_line(
    key: str, labels: str, found: str, tmp_path: Path
) -> None:
    raw = write_raw(tmp_path, make_line("B", "ABC") + make_line(key, labels), "arc/test.jsonl")
    with pytest.raises(SourceError, match="the answer key does not match exactly one option") as caught:
        arc.read_questions(raw)
    assert caught.value.where == "arc/test.jsonl, line 2"
    assert caught.value.found == found
    assert caught.value.expected == "the label of one option"
