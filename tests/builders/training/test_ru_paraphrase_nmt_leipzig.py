"""ru-paraphrase-NMT-Leipzig: the threshold of p_good."""

from pathlib import Path

import pytest

from tests.support.training import build_golden, count_dropped, table_of

NAME = "ru-paraphrase-nmt-leipzig-contrastive"
THRESHOLD = "threshold of p_good, in hundredths"


@pytest.mark.parametrize(("rows", "threshold", "left"), [(5, 50, 7), (7, 50, 7), (8, 49, 8), (9, 10, 9), (99, 7, 10)])
def test_the_threshold_falls_only_where_too_few_rows_would_be_left(
    rows: int, threshold: int, left: int, tmp_path: Path
) -> None:
    tables = build_golden(NAME, tmp_path, rows=rows)
    assert tables.observed[THRESHOLD] == threshold
    assert tables.observed["rows of paraphrase-nmt-leipzig to choose from"] == left
    assert table_of(tables).height == min(rows, left)


def test_a_higher_threshold_drops_more(tmp_path: Path) -> None:
    tables = build_golden(NAME, tmp_path, rows=2, p_good=0.9)
    assert tables.observed[THRESHOLD] == 90
    assert count_dropped(tables)["a lower p_good than the threshold"] == 7
