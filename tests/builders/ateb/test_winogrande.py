"""WinoGrande: the query adds a full stop to every sentence, and answers count from 1."""

import json
from pathlib import Path

import pytest

from builders.ateb import winogrande
from builders.errors import SourceError
from tests.support.reading import write_raw

RECORD = {"qID": "3A-1", "sentence": "Ann saw _ .", "option1": "Bo", "option2": "Al", "answer": "2"}


def test_an_answer_other_than_1_and_2_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    lines = "".join(json.dumps(RECORD | {"answer": answer}) + "\n" for answer in ("1", ""))
    with pytest.raises(SourceError, match=r"source/dev\.jsonl, line 2"):
        winogrande.read_questions(write_raw(tmp_path, lines, "source/dev.jsonl"))
