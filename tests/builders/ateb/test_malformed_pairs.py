"""Malformed records of preference sets are errors that name the record."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from builders.ateb.instrusum import SYSTEMS
from builders.ateb.lmsys_arena import PATH as BATTLES
from builders.errors import SourceError
from tests.support.preference_pairs import build_tables, change_last_record, golden_raw

OTHER_ROLE = {
    f"conversation_{side}": [{"content": "x", "role": "user"}, {"content": "y", "role": role}]
    for side, role in (("a", "assistant"), ("b", "system"))
}
# By dataset: a raw file, and what the number of a record counts there.
FILES = {
    "alpacafarm-reranking": ("alpaca_human_preference.json", "record"),
    "beavertails-helpful-reranking": ("test.parquet", "record"),
    "genie-reranking": ("ratings.jsonl", "line"),
    "instrusum-reranking": ("human_eval.json", "record"),
    "lmsys-reranking": (BATTLES, "record"),
    "shp-reranking": ("askvet/test.json", "line"),
}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("alpacafarm-reranking", {"preference": 0}, "unknown preference in 'preference'"),
        ("alpacafarm-reranking", {"preference": 3}, "unknown preference in 'preference'"),
        ("alpacafarm-reranking", {"preference": "1"}, "preference has the wrong type"),
        ("alpacafarm-reranking", {"input": None}, "input is null"),
        ("alpacafarm-reranking", {"output_2": 5}, "output_2 has the wrong type"),
        ("beavertails-helpful-reranking", {"better_response_id": 2}, "unknown preference in 'better_response_id'"),
        (
            "genie-reranking",
            {"prompt": "What makes rain?", "system": "t5-11b"},
            "a second response of the same system to the same prompt",
        ),
        ("genie-reranking", {"rating": "good"}, "rating has the wrong type"),
        ("genie-reranking", {"rating": None}, "rating is null"),
        ("genie-reranking", {"system": 7}, "system has the wrong type"),
        (
            "instrusum-reranking",
            {"annotations": {SYSTEMS[0]: {"summary": "x", "score": {}}}},
            rf"annotations\.{SYSTEMS[0]}\.score\.overall is missing",
        ),
        ("lmsys-reranking", {"winner": "model_c"}, "unknown preference in 'winner'"),
        ("lmsys-reranking", {"turn": None}, "turn is null"),
        ("lmsys-reranking", {"openai_moderation": None}, "openai_moderation is null"),
        ("lmsys-reranking", OTHER_ROLE, "a message of an unexpected role in 'conversation_b'"),
        ("shp-reranking", {"labels": 2}, "unknown preference in 'labels'"),
        ("shp-reranking", {"labels": -1}, "unknown preference in 'labels'"),
        ("shp-reranking", {"labels": None}, "labels is null"),
        ("shp-reranking", {"domain": "askvet_train"}, "a pair from another file"),
        ("shp-reranking", {"domain": "askhr_test"}, "a pair from another file"),
        ("shp-reranking", {"history": None}, "history is null"),
        ("shp-reranking", {"human_ref_B": 7}, "human_ref_B has the wrong type"),
    ],
)
def test_a_malformed_record_is_an_error_that_names_it(
    name: str, change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file, unit = FILES[name]
    shutil.copytree(golden_raw(name), tmp_path, dirs_exist_ok=True)
    (tmp_path / "scratch").mkdir()
    number = change_last_record(tmp_path / file, change)
    with pytest.raises(SourceError, match=message) as caught:
        build_tables(name, tmp_path, "test")
    assert f"/{file}, {unit} {number}" in str(caught.value)
