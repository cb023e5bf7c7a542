"""ARC: the answer key chooses an option, and must match exactly one."""

import json
from pathlib import Path

import pytest

from builders.ateb import arc
from builders.errors import SourceError
from tests.support.reading import write_raw
from tests.support.recipes import build_tables, dropped_counts, frame
from tests.support.releases import definition_of

NAME = "arc-challenge-retrieval"


def make_line(key: str, labels: str) -> str:
    choices = [{"text": f"option {label}", "label": label} for label in labels]
    return json.dumps({"id": "1", "question": {"stem": "Why? ", "choices": choices}, "answerKey": key}) + "\n"


@pytest.mark.parametrize(
    ("version", "stem", "needs_options"),
    [
        ("3.0.0", "Which of these is a predator?", True),
        ("3.0.0", "Which of the following best explains a lunar eclipse?", True),
        ("3.0.0", "Which two of the following are metals?", True),
        ("3.0.0", "The technology allowed them to do which of these?", True),
        ("3.0.0", "All of the following are safe except", True),
        ("3.0.0", "Salt comes from all of these types of rock except", True),
        ("3.0.0", "How many of these resources are necessary for life?", False),
        ("3.0.0", "One of these traits helps a plant to grow. Why?", False),
        ("3.0.0", "The following mountains are formed from", False),
        ("3.0.0", "Which statement best explains why it became a solid?", False),
        ("4.0.0", "Which of these is a predator?", True),
        ("4.0.0", "Glass bends light. Which of these does too?", True),
        ("4.0.0", "A pond, with reeds, dries up. Which of these dies first?", True),
        ("4.0.0", "The soup has all these spices except", True),
        ("4.0.0", "If you bury each one of these things, which will rot first?", True),
        ("4.0.0", "Ice, steam, and fog are water. Which of these is solid?", False),
        ("4.0.0", "All these animals lay eggs. Why?", False),
        ("4.0.0", "Each one of these steps matters, said the cook. Why?", False),
    ],
)
def test_cleaned_versions_leave_out_questions_about_options_but_keep_their_answers(
    version: str, stem: str, needs_options: bool, tmp_path: Path
) -> None:
    lines = make_line("A", "ABC") + make_line("B", "ABC").replace("Why? ", stem)
    raw = write_raw(tmp_path, lines, "arc/test.jsonl")
    options = definition_of(NAME).dataset.options(version)
    tables = build_tables(NAME, {"test": raw.path}, tmp_path / "scratch", **options)
    left = {"ARC-Challenge-q-0"} if needs_options else {"ARC-Challenge-q-0", "ARC-Challenge-q-1"}
    assert set(frame(tables, config="queries")["id"]) == set(frame(tables, config="qrels")["query-id"]) == left
    assert frame(tables, config="corpus")["text"].to_list() == ["option A", "option B"]
    assert dropped_counts(tables) == ({"the question needs its options": 1} if needs_options else {})


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
