"""Query2doc: which rows are drawn, what their negatives are, and ids that the source has twice."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from tests.support.training import build_golden

NAME = "query2doc-contrastive"


def test_a_query_id_for_the_second_time_is_refused_with_its_record(tmp_path: Path) -> None:
    def repeat_first_line(raw: Path) -> None:
        path = raw / "train.jsonl"
        lines = path.read_bytes()
        path.write_bytes(lines + lines.split(b"\n", 1)[0])

    with pytest.raises(SourceError, match="query_id for the second time") as caught:
        build_golden(NAME, tmp_path, repeat_first_line)
    assert "line 15" in str(caught.value.where)
    assert "100001" in str(caught.value.found)
