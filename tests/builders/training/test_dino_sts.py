"""DINO-STS: the readings of the paper that its options select, and labels as text and as numbers."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.training import build_golden, table_of

NAME = "dino-sts-contrastive"
FILE = "sts-dino-x1x2-postprocessed.jsonl"
EMPTY = 1  # a positive of the postprocessed file that no reading can use


@pytest.mark.parametrize(
    ("options", "observed", "unusable"),
    [
        ({}, "postprocessed: sentences with a positive", EMPTY),
        ({"row_per": "pair"}, "postprocessed: pairs of the top label", EMPTY),
        ({"form": "raw"}, "raw: sentences with a positive", 0),
        ({"form": "raw", "row_per": "pair"}, "raw: pairs of the top label", 0),
    ],
    ids=str,
)
def test_each_reading_of_the_paper_gives_the_rows_that_every_build_counts(
    options: dict[str, Any], observed: str, unusable: int, tmp_path: Path
) -> None:
    tables = build_golden(NAME, tmp_path, **options)
    rows = table_of(tables)
    assert rows.height == tables.observed[observed] - unusable
    assert rows["id"].is_unique().all()


def test_labels_as_text_and_as_numbers_are_the_same(tmp_path: Path) -> None:
    def quote_labels(raw: Path) -> None:
        lines = (raw / FILE).read_text("utf-8").replace('"label": "0.9"', '"label": 0.9')
        (raw / FILE).write_text(lines.replace('"label": 0.1}', '"label": "0.1"}'), "utf-8")

    expected = table_of(build_golden(NAME, tmp_path / "as it is"))
    assert table_of(build_golden(NAME, tmp_path / "changed", quote_labels)).equals(expected)


def test_another_form_or_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="form is 'postprocessed' or 'raw'"):
        build_golden(NAME, tmp_path, form="cooked")
