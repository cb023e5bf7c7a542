"""InstruSum: only the overall score counts, both file formats are read, and missing ratings are errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from tests.support.preference_pairs import build_tables, golden_raw, write_file

NAME = "instrusum-reranking"


def read_golden() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((golden_raw(NAME) / "human_eval.json").read_text())
    return rows


def test_an_article_without_a_system_rating_is_an_error_that_names_its_record(tmp_path: Path) -> None:
    rows = read_golden()
    del rows[1]["annotations"]["hybrid"]["score"]["overall"]
    write_file(tmp_path / "human_eval.json", json.dumps(rows).encode())
    with pytest.raises(SourceError, match=r"annotations\.hybrid\.score\.overall is missing") as caught:
        build_tables(NAME, tmp_path)
    assert "instrusum/human_eval.json, record 2" in str(caught.value)
