"""Datasets whose recipes draw the splits: cleaned versions ignore copies, and too few rows are an error."""

import json
from pathlib import Path

import pytest

from builders.errors import RecipeError
from pipelines.make import GOLDEN
from tests.support.recipes import assert_balanced_and_distinct, build_tables, dropped_counts, split_frames, write_csv
from tests.support.releases import definition_of

RUBRICS = ("спорт", "Происшествия", "ПОЛИТИКА", "Наука", "Культура", "экономика")
SENTIMENTS = ("negative", "neautral", "positive")
# By dataset: the key of the raw file, and the number of classes.
DATASETS = {
    "georeview-classification": ("reviews", 5),
    "georeview-clustering-p2p": ("reviews", 5),
    "headline-classification": ("clusters", 6),
    "inappropriateness-classification": ("messages", 2),
    "ru-reviews-classification": ("reviews", 3),
}
SIZES = {"train_per_class": 30, "validation_per_class": 9, "test_per_class": 11}
CLUSTERING_SIZES = {"rubrics": 5, "texts_per_rubric": 50, "longer_than": 0, "shorter_than": 100}


def write_texts(name: str, path: Path, texts: list[tuple[str, int]]) -> Path:
    """Write the raw file of a dataset with these texts, each in the class with its number."""
    if name == "headline-classification":
        clusters = {
            str(row): {"rubric": RUBRICS[number % 6], "headlines": [text]} for row, (text, number) in enumerate(texts)
        }
        path.write_text(json.dumps(clusters, ensure_ascii=False), encoding="utf-8")
    elif name.startswith("georeview"):
        rows = [f"rating={number % 5 + 1}.\trubrics=Р{number % 5}\ttext={text}\n" for text, number in texts]
        path.write_text("".join(rows), encoding="utf-8", newline="")
    elif name == "ru-reviews-classification":
        write_csv(path, ("review", "sentiment"), [(text, SENTIMENTS[number % 3]) for text, number in texts], "\t")
    else:
        write_csv(path, ("text", "inappropriate"), [(text, number % 2) for text, number in texts])
    return path


# The rows of each class in train, validation and test.
PAPER = {
    "georeview-classification": (10_000, 1_000, 1_000),
    "headline-classification": (6_000, 2_000, 2_000),
    "inappropriateness-classification": (20_000, 2_000, 5_000),
    "ru-reviews-classification": (15_000, 5_000, 5_000),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_splits_have_the_sizes_of_the_paper(name: str, tmp_path: Path) -> None:
    key, classes = DATASETS[name]
    texts = [(f"Текст «{number}», и ещё", number) for number in range(classes * (sum(PAPER[name]) + 500))]
    splits = split_frames(build_tables(name, {key: write_texts(name, tmp_path / "raw", texts)}, tmp_path / "scratch"))
    assert [rows.height // classes for rows in splits.values()] == [*PAPER[name]]
    assert_balanced_and_distinct(splits, dict(zip(splits, PAPER[name], strict=True)))


@pytest.mark.parametrize("name", DATASETS)
def test_a_cleaned_version_is_the_same_with_and_without_copies_that_differ_in_case_and_punctuation(
    name: str, tmp_path: Path
) -> None:
    key, classes = DATASETS[name]
    texts = [(f"Текст «{number}», и ещё", number) for number in range(50 * classes)]
    copies = [(f" ТЕКСТ {number} - и ещё!", number) for _, number in texts[::3]]
    conflicting = [("Так себе.", 0), ("так себе", 1), ("Ну…", 0), ("ну", 0), ("ну", 1)]
    sizes = CLUSTERING_SIZES if "clustering" in name else SIZES
    options = definition_of(name).dataset.options("2.0.0") | sizes
    plain, noisy = (
        build_tables(name, {key: write_texts(name, tmp_path / file, rows)}, tmp_path / f"{file}-scratch", **options)
        for file, rows in (("plain", texts), ("noisy", [*texts, *copies, *conflicting, ("!", 0), ("я", 1)]))
    )
    assert plain.dropped == ()
    assert dropped_counts(noisy) == {
        "a text is empty or a single character": 2,
        "the same text has a different label in another row": len(conflicting),
        "duplicate of an earlier row": len(copies),
    }
    for split, rows in split_frames(plain).items():
        assert rows.equals(split_frames(noisy)[split]), split


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, (key, _) in DATASETS.items()] + [("sensitive-topics-classification", "topics")],
)
def test_a_source_too_small_for_the_paper_is_an_error_instead_of_a_smaller_dataset(
    name: str, key: str, tmp_path: Path
) -> None:
    source = definition_of(name).source
    path = GOLDEN / source.name / "raw" / source.files[key].name
    with pytest.raises(RecipeError, match="too few") as caught:
        build_tables(name, {key: path}, tmp_path)
    assert caught.value.found
    assert "at least" in str(caught.value.expected)
