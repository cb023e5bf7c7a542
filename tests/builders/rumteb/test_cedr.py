"""CEDR: the real files have the published rows, labels and duplicates, and version 3.0.0 has every text once."""

from collections.abc import Callable

import polars as pl

from builders.shaping.folding import fold_text_1
from pipelines.make import BuildResult
from tests.support.real_releases import finding_counts, read_table


def test_the_real_files_have_the_published_rows_labels_and_duplicates(
    complete_release: Callable[[str], BuildResult],
) -> None:
    release = complete_release("cedr-classification")
    train, test = read_table(release, split="train"), read_table(release)
    assert (train.height, test.height) == (7528, 1882)
    assert (train["text"].n_unique(), test["text"].n_unique()) == (7500, 1875)
    for rows, counts, empty in ((train, [1569, 1417, 607, 589, 411], 3043), (test, [353, 379, 170, 141, 125], 734)):
        labels = rows["label"].explode().drop_nulls()
        assert [(labels == number).sum() for number in range(5)] == counts
        assert (rows["label"].list.len() == 0).sum() == empty
    findings = finding_counts(release)
    assert findings["duplicate_text", "train", "text"] == 28 + 1, (
        "one only after folding; four differ in a sign or a face"
    )
    assert findings["duplicate_text", "test", "text"] == 7
    leaks = {finding.detail: finding.count for finding in release.manifest.findings if finding.kind == "split_leak"}
    assert leaks == {"in train": 7, "in train, ignoring case, punctuation, white space and Unicode form": 6}
    told = {
        finding.location: finding.examples
        for finding in release.manifest.findings
        if finding.kind == "label_leaking_column"
    }
    assert told == {
        "default/train.source": ("no label: 76% of lenta, 49% of lj, 4% of twitter",),
        "default/test.source": ("no label: 77% of lenta, 45% of lj, 3% of twitter",),
    }


def test_the_newest_version_has_every_text_once_ignoring_case_and_punctuation(
    complete_release: Callable[..., BuildResult],
) -> None:
    release = complete_release("cedr-classification", "3.0.0")
    splits = {split: read_table(release, split=split) for split in ("train", "test")}
    assert {split: rows.height for split, rows in splits.items()} == {"train": 7482, "test": 1873}
    texts = pl.concat(rows.select(fold_text_1(pl.col("text"))) for rows in splits.values())
    assert texts.n_unique() == texts.height
    folded = ", ignoring case, punctuation and white space"
    assert [(drop.split, drop.reason, drop.count) for drop in release.manifest.dropped] == [
        ("train", "a text is damaged by a wrong decoding", 1),
        ("train", f"the same text has a different label in another row{folded}", 3),
        ("train", "duplicate of an earlier row", 28),
        ("train", f"duplicate of an earlier row{folded}", 3),
        ("train", "the text is also in the test split", 11),
        ("test", f"the same text has a different label in another row{folded}", 2),
        ("test", "duplicate of an earlier row", 7),
    ]
