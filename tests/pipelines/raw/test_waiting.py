"""Waiting times in words."""

import pytest

from pipelines.raw.requests import describe_end, describe_wait

NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (1.5, "1.5 s"), (120, "120 s"), (121, "3 min, until 12:02 UTC"), (3600, "60 min, until 13:00 UTC")],
)
def test_a_wait_of_more_than_two_minutes_is_given_in_minutes_with_its_end(seconds: float, words: str) -> None:
    assert describe_wait(seconds, NOON) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (86_400, "after 2026-03-05 12:00 UTC"),
        (400 * 86_400, "in more than a year"),
        (float("inf"), "in more than a year"),
    ],
)
def test_the_end_of_a_long_wait_has_a_date(seconds: float, words: str) -> None:
    assert describe_end(seconds, NOON) == words
