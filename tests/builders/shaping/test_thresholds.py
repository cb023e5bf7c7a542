"""The rule for thresholds that a paper leaves open."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.shaping.measurements import drop_below, largest_threshold


@pytest.mark.parametrize(
    ("values", "rows", "threshold"),
    [
        ([0.91, 0.85, 0.84, 0.20], 2, 0.85),
        ([0.91, 0.8549, 0.84, 0.20], 2, 0.85),
        ([0.91, 0.85, 0.85, 0.85], 2, 0.85),
        ([0.91, 0.85], 5, 0.85),
        ([0.29, 0.29], 1, 0.29),
        ([-0.015], 1, -0.02),
        ([1.0, 1.0], 1, 1.0),
        ([], 3, 0.0),
    ],
)
def test_it_is_the_largest_hundredth_that_leaves_enough_rows(values: list[float], rows: int, threshold: float) -> None:
    assert largest_threshold(pl.Series(values, dtype=pl.Float64), rows) == threshold


@given(values=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=50), rows=st.integers(1, 60))
def test_one_hundredth_more_would_leave_too_few(values: list[int], rows: int) -> None:
    series = pl.Series([value / 10_000 for value in values])
    step = round(largest_threshold(series, rows) * 100)
    wanted = min(rows, len(series))
    assert (series >= step / 100).sum() >= wanted
    assert (series >= (step + 1) / 100).sum() < wanted


FRAME = pl.DataFrame({"id": ["a", "b", "c", "d"], "score": [0.9, 0.62, 0.5, 0.1]})


@pytest.mark.parametrize(
    ("rows", "at_most", "ids", "hundredths"),
    [
        (2, 1.0, ["a", "b"], 62),
        (2, 0.5, ["a", "b", "c"], 50),
        (3, 0.5, ["a", "b", "c"], 50),
        (4, 0.5, ["a", "b", "c", "d"], 10),
    ],
)
def test_rows_below_the_threshold_are_counted_and_the_threshold_is_observed(
    rows: int, at_most: float, ids: list[str], hundredths: int
) -> None:
    kept, dropped, observed = drop_below(FRAME, "score", rows, at_most=at_most)
    assert kept["id"].to_list() == ids
    assert sum(one.count for one in dropped) == 4 - len(ids)
    assert observed == {"threshold of score, in hundredths": hundredths}
