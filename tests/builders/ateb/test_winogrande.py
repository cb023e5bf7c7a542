"""WinoGrande: the query adds a full stop to every sentence, and answers count from 1."""

import json
from pathlib import Path

import pytest

from builders.ateb import winogrande
from builders.errors import SourceError
from tests.support.reading import write_raw
from tests.support.recipes import build_tables, frame
from tests.support.releases import definition_of

RECORD = {"qID": "3A-1", "sentence": "Ann saw _ .", "option1": "Bo", "option2": "Al", "answer": "2"}


@pytest.mark.parametrize("sentence", ["Ann saw _ .", "Ann saw _", "Did Ann see _?", "{} saw _."])
def test_the_query_adds_a_full_stop_whatever_the_sentence_ends_with(sentence: str, tmp_path: Path) -> None:
    raw = write_raw(tmp_path, json.dumps(RECORD | {"sentence": sentence}) + "\n", "source/dev.jsonl")
    assert winogrande.read_questions(raw).rows() == [(f"Sentence: {sentence}.", ["Bo", "Al"], 1)]


@pytest.mark.parametrize("sentence", ["Ann saw _ .", "Ann saw _", "Did Ann see _?"])
def test_from_3_0_0_on_the_query_ends_as_the_sentence_does(sentence: str, tmp_path: Path) -> None:
    raw = write_raw(tmp_path, json.dumps(RECORD | {"sentence": sentence}) + "\n", "source/dev.jsonl")
    options = definition_of("winogrande-retrieval").dataset.options("3.0.0")
    tables = build_tables("winogrande-retrieval", {"dev": raw.path}, tmp_path / "scratch", **options)
    assert frame(tables, config="queries")["text"].to_list() == [f"Sentence: {sentence}"]


def test_an_answer_other_than_1_and_2_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    lines = "".join(json.dumps(RECORD | {"answer": answer}) + "\n" for answer in ("1", ""))
    with pytest.raises(SourceError, match=r"source/dev\.jsonl, line 2"):
        winogrande.read_questions(write_raw(tmp_path, lines, "source/dev.jsonl"))
