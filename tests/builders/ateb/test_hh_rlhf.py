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


def test_version_3_keeps_the_three_pairs_whose_answers_differ_in_an_exclamation_mark(
    complete_release: Callable[..., BuildResult],
) -> None:
    before, after = (complete_release("hhrlhf-harmlessness-classification", version) for version in ("2.0.0", "3.0.0"))
    assert [(dropped.reason, dropped.count) for dropped in after.manifest.dropped] == [("the answer is empty", 4)]
    old, rows = read_table(before), read_table(after)
    assert (old.height, rows.height) == (4614, 4620)
    returned = rows.join(old, on="id", how="anti")
    assert returned["id"].to_list() == [f"{pair}-{side}" for pair in (74, 435, 1068) for side in ("chosen", "rejected")]
    answers = [text.rsplit("\n\nAssistant: ", 1)[1].replace("’", "'") for text in returned["text"]]
    assert sorted(answers) == ["You're welcome!"] * 3 + ["You're welcome."] * 3
    assert rows.join(old, on="id", how="semi", maintain_order="left").equals(old)
