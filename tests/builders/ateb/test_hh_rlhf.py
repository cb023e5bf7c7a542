"""HH-RLHF: the real test split gives two rows per pair, except for empty answers."""

from collections.abc import Callable

from pipelines.make import BuildResult
from tests.support.real_releases import label_counts, read_table


def test_the_real_test_split_gives_two_rows_per_pair_except_for_four_empty_answers(
    complete_release: Callable[[str], BuildResult],
) -> None:
    release = complete_release("hhrlhf-harmlessness-classification")
    assert release.manifest.partial is True
    [dropped] = release.manifest.dropped
    assert (dropped.count, dropped.reason) == (4, "the answer is empty")
    rows = read_table(release)
    assert rows.height == 2 * 2312 - 4
    assert label_counts(rows) == {"harmless": 2308, "harmful": 2312}
