"""PIQA: labels count from 0, and blanks at the end of solutions are kept."""

from collections.abc import Callable

from pipelines.make import BuildResult
from tests.support.real_releases import read_table


def test_blanks_at_the_end_of_real_solutions_are_kept(real_release: Callable[[str], BuildResult]) -> None:
    texts = read_table(real_release("piqa-retrieval"), "corpus")["text"]
    assert sum(text != text.rstrip() for text in texts) == 113
