"""Labels as texts."""

from typing import Any

import polars as pl
import pytest

from pipelines.checking.batches import label_texts


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ([3, None, -1], ["3", None, "-1"]),
        ([3.0, 0.25, 100.0, None], ["3", "0.25", "100", None]),
        (["3.0", " joy ", "-0.50", "0.0", "1.2.0"], ["3", "joy", "-0.5", "0", "1.2.0"]),
        ([True, False], ["1", "0"]),
        ([[2, 1], None, []], ["1,2", None, ""]),
    ],
)
def test_equal_labels_are_equal_texts(labels: list[Any], texts: list[str | None]) -> None:
    assert label_texts(pl.Series(labels)).to_list() == texts
