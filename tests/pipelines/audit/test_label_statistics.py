"""pipelines.audit.statistics: labels are counted in ascending order."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipelines.audit.statistics import count_labels


@given(st.lists(st.lists(st.integers(0, 11), unique=True, max_size=4), min_size=1))
def test_labels_are_in_ascending_order_after_rows_without_a_label(rows: list[list[int]]) -> None:
    counted = Counter(label for row in rows for label in (row or [None]))
    expected = sorted(counted.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    frame = pl.DataFrame({"label": rows}, {"label": pl.List(pl.Int64)}).lazy()
    assert list(count_labels(frame, "label").items()) == expected
