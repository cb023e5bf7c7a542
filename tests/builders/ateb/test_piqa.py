"""PIQA: labels count from 0, and blanks at the end of solutions are kept."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.ateb import piqa
from builders.errors import SourceError
from pipelines.make import BuildResult
from tests.support.reading import write_raw
from tests.support.real_releases import read_table


def test_labels_count_from_0_and_blanks_are_kept(tmp_path: Path) -> None:
    record = {"goal": "sponge", "sol1": "dries ", "sol2": " flies"}
    rows = write_raw(tmp_path, json.dumps(record) + "\n", "source/valid.jsonl")
    questions = piqa.read_questions(rows, write_raw(tmp_path, "0\n", "source/valid-labels.lst"))
    assert questions.rows() == [("sponge", ["dries ", " flies"], 0)]
    with pytest.raises(SourceError, match="unknown label"):
        piqa.read_questions(rows, write_raw(tmp_path, "2\n", "source/valid-labels.lst"))


def test_blanks_at_the_end_of_real_solutions_are_kept(real_release: Callable[[str], BuildResult]) -> None:
    texts = read_table(real_release("piqa-retrieval"), "corpus")["text"]
    assert sum(text != text.rstrip() for text in texts) == 113
