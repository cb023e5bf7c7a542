"""CEDR: the real files have the published rows, labels and duplicates, and later versions have every text once."""

from collections.abc import Callable

import polars as pl

from builders.shaping.folding import fold_disguise_3, fold_meaning_2, fold_text_1
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


def test_version_3_has_every_text_once_ignoring_case_and_punctuation(
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


def test_version_4_keeps_texts_that_differ_in_a_smiley_or_an_exclamation_mark(
    complete_release: Callable[..., BuildResult],
) -> None:
    before, after = (complete_release("cedr-classification", version) for version in ("3.0.0", "4.0.0"))
    splits = {split: read_table(after, split=split) for split in ("train", "test")}
    assert {split: rows.height for split, rows in splits.items()} == {"train": 7484, "test": 1875}
    assert [(drop.split, drop.reason, drop.count) for drop in after.manifest.dropped] == [
        ("train", "a text is damaged by a wrong decoding", 1),
        ("train", "duplicate of an earlier row", 28),
        ("train", "duplicate of an earlier row, ignoring case, white space and punctuation without a meaning", 1),
        ("train", "the text is also in the test split", 14),
        ("test", "duplicate of an earlier row", 7),
    ]
    for rows in splits.values():
        assert rows.select(fold_meaning_2(pl.col("text")))["text"].n_unique() == rows.height
    across = {split: set(rows.select(fold_disguise_3(pl.col("text")))["text"]) for split, rows in splits.items()}
    assert not across["train"] & across["test"]
    # The rows that return and that go, apart from the four repaired texts.
    damage = "_x000D_|</ i >"
    old = {split: read_table(before, split=split).filter(~pl.col("text").str.contains(damage)) for split in splits}
    assert splits["train"].join(old["train"], on="text", how="anti").filter(~pl.col("text").str.contains("\n"))[
        "text", "label"
    ].rows() == [("удивительно :(", [1]), ("Удивительно!", [2]), ("Удивительно .", [2])]
    assert old["train"].join(splits["train"], on="text", how="anti")["text"].to_list() == ["Ужас !!!"]
    returned = splits["test"].join(old["test"], on="text", how="anti").filter(~pl.col("text").str.starts_with("« Я"))
    assert returned["text", "label"].rows() == [("ужас))", [0]), ("УЖАС (((((((", [1])]


def test_version_4_repairs_spreadsheet_escapes_and_a_stray_tag(complete_release: Callable[..., BuildResult]) -> None:
    before, after = (complete_release("cedr-classification", version) for version in ("3.0.0", "4.0.0"))
    assert after.manifest.observed == {"texts repaired in train": 3, "texts repaired in test": 1}
    assert not {"encoding_residue", "html_residue"} & {finding.kind for finding in after.manifest.findings}
    lines = pl.col("text").str.contains("\n", literal=True)
    damaged = read_table(before, split="train").filter(lines)["text"].to_list()
    repaired = read_table(after, split="train").filter(lines)["text"].to_list()
    assert repaired == [text.replace("_x005F" * 8 + "_x000D_\n", "\n") for text in damaged]
    assert len(repaired) == 3
    tags = read_table(after).filter(pl.col("text").str.starts_with("« Я потерял лучшего кореша в мире , "))
    assert tags.height == 1
