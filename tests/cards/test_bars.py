"""Bars of Unicode blocks."""

import pytest

from cards.figures import bar


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, ""), (1, "████"), (0.5, "██"), (0.25 + 1 / 32, "█▏"), (0.00001, "▏"), (0.999, "████")],
)
def test_a_bar_is_exact_to_an_eighth_of_a_character(share: float, expected: str) -> None:
    assert bar(share, width=4) == expected
