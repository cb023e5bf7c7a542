"""ParaPhraser: the real files have the published pairs, and later versions have every pair once."""

from collections.abc import Callable

import polars as pl
import pytest

from builders.shaping.folding import fold_text_1
from cards.kinds import FOLDED_DETAIL, MEANING_DETAIL
from pipelines.make import BuildResult
from tests.support.real_releases import finding_counts, read_table


def test_the_real_files_have_the_published_pairs(complete_release: Callable[[str], BuildResult]) -> None:
    release = complete_release("ru-paraphraser-sts")
    assert read_table(release, split="train").height == 7227
    rows = read_table(release)
    assert rows.height == 1924
    assert rows.n_unique(["sentence1", "sentence2"]) == 1899
    assert (rows["sentence1"].n_unique(), rows["sentence2"].n_unique()) == (1514, 1383)
    assert sorted(rows["score"].unique()) == [-1.0, 0.0, 1.0]
    assert finding_counts(release)["duplicate_pair", "test", ""] == 25 + 1, "one only after folding"


@pytest.mark.slow  # the newest version is much the same
def test_the_cleaned_version_has_every_pair_once_with_one_score(complete_release: Callable[..., BuildResult]) -> None:
    release = complete_release("ru-paraphraser-sts", "2.0.0")
    for split, rows in (("train", 7198), ("test", 1892)):
        pairs = read_table(release, split=split).select(pl.concat_list("sentence1", "sentence2").list.sort())
        assert (pairs.height, pairs.n_unique()) == (rows, rows)
    assert [(dropped.split, dropped.reason, dropped.count) for dropped in release.manifest.dropped] == [
        ("train", "the same pair has a different score in another row", 6),
        ("train", "duplicate of an earlier row", 23),
        ("test", "the same pair has a different score in another row", 14),
        ("test", "duplicate of an earlier row", 18),
    ]
    problems = {"conflicting_label", "duplicate_pair", "split_leak", "swapped_pair", "empty_text"}
    found = [finding for finding in release.manifest.findings if finding.kind in problems]
    exact = {one.detail for one in found if not one.detail.startswith((FOLDED_DETAIL, MEANING_DETAIL))}
    assert exact == set(), "this version compares a text exactly within its split"
    assert len(found) > 0


def test_the_newest_version_has_every_pair_once_ignoring_case_and_punctuation_and_no_damaged_text(
    complete_release: Callable[..., BuildResult],
) -> None:
    release = complete_release("ru-paraphraser-sts", "3.0.0")
    for split, rows in (("train", 7196), ("test", 1890)):
        sides = [fold_text_1(pl.col(side)) for side in ("sentence1", "sentence2")]
        pairs = read_table(release, split=split).select(pl.concat_list(sides).list.sort())
        assert (pairs.height, pairs.n_unique()) == (rows, rows)
    folded = ", ignoring case, punctuation and white space"
    assert [(drop.split, drop.reason, drop.count) for drop in release.manifest.dropped] == [
        ("train", "the same pair has a different score in another row", 6),
        ("train", f"the same pair has a different score in another row{folded}", 2),
        ("train", "duplicate of an earlier row", 23),
        ("test", "a text is damaged by a wrong decoding", 1),
        ("test", "the same pair has a different score in another row", 14),
        ("test", "duplicate of an earlier row", 18),
        ("test", f"duplicate of an earlier row{folded}", 1),
    ]
    assert "26894" not in read_table(release)["id"]
