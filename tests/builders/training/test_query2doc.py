"""Query2doc: which rows are drawn, what their negatives are, and ids that the source has twice."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from tests.support.training import build_golden, table_of

NAME = "query2doc-contrastive"


def test_a_larger_sample_has_the_rows_of_a_smaller_one(tmp_path: Path) -> None:
    samples = [set(table_of(build_golden(NAME, tmp_path / str(n), rows=n))["id"]) for n in (3, 6, 9, 100)]
    assert samples[0] < samples[1] < samples[2] < samples[3]
    assert [len(sample) for sample in samples] == [3, 6, 9, 10]


def test_negatives_are_random_passages_of_other_queries_compared_by_text(tmp_path: Path) -> None:
    rows = table_of(build_golden(NAME, tmp_path))
    passages = {text for (text,) in rows["positives"]}
    for row in rows.iter_rows(named=True):
        assert len(row["negatives"]) == 7
        assert set(row["negative_kinds"]) == {"random"}
        assert set(row["negatives"]) <= passages - set(row["positives"])


def test_a_query_id_for_the_second_time_is_refused_with_its_record(tmp_path: Path) -> None:
    def repeat_first_line(raw: Path) -> None:
        path = raw / "train.jsonl"
        lines = path.read_bytes()
        path.write_bytes(lines + lines.split(b"\n", 1)[0])

    with pytest.raises(SourceError, match="query_id for the second time") as caught:
        build_golden(NAME, tmp_path, repeat_first_line)
    assert "line 15" in str(caught.value.where)
    assert "100001" in str(caught.value.found)
