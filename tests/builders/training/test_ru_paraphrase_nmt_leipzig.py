"""ru-paraphrase-NMT-Leipzig: the threshold of p_good, and other values than probabilities."""

from pathlib import Path

import pytest

from builders.errors import SourceError
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


@pytest.mark.parametrize("value", ["1.5", "-0.1", "nan"])
def test_a_p_good_that_is_not_a_probability_is_refused_with_its_record(value: str, tmp_path: Path) -> None:
    def change(raw: Path) -> None:
        text = (raw / "train.csv").read_text("utf-8")
        (raw / "train.csv").write_text(text.replace(",0.91\n", f",{value}\n"), "utf-8")

    with pytest.raises(SourceError) as caught:
        build_golden(NAME, tmp_path, change)
    assert "p_good" in str(caught.value)
    assert value in str(caught.value.found)
