"""αNLI: both observations become the query, and labels count from 1."""

import json
from pathlib import Path

import pytest

from builders.ateb import alphanli
from builders.errors import SourceError
from tests.support.reading import write_raw


def test_a_query_has_both_observations_and_labels_count_from_1(tmp_path: Path) -> None:
    record = {"story_id": "x-1", "obs1": "It rained. ", "obs2": "It {} dried.", "hyp1": "Sun.", "hyp2": "Snow."}
    rows = write_raw(tmp_path, json.dumps(record) + "\n", "source/dev.jsonl")
    questions = alphanli.read_questions(rows, write_raw(tmp_path, "1\n", "source/dev-labels.lst"))
    assert questions.rows() == [("Start: It rained.  End: It {} dried.", ["Sun.", "Snow."], 0)]
    with pytest.raises(SourceError, match="unknown label"):
        alphanli.read_questions(rows, write_raw(tmp_path, "0\n", "source/dev-labels.lst"))
