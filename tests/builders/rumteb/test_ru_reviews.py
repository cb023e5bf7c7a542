"""ru_reviews: the sizes of the paper, and labels that are conflicting, unknown or too rare."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from tests.support.recipes import assert_balanced_and_distinct, build_tables, dropped_counts, split_frames, write_csv

NAME = "ru-reviews-classification"
SENTIMENTS = ("negative", "neautral", "positive")


def write_reviews(path: Path, rows: list[tuple[str, str]]) -> Path:
    return write_csv(path, ("review", "sentiment"), rows, "\t")


def test_the_splits_have_the_sizes_of_the_paper_and_no_text_with_two_labels(tmp_path: Path) -> None:
    rows = [(f'Отзыв "{number // (1 + number % 20 // 19)}"', SENTIMENTS[number % 3]) for number in range(90_000)]
    path = write_reviews(tmp_path / "reviews.csv", rows)
    tables = build_tables(NAME, {"reviews": path}, tmp_path / "scratch")
    splits = split_frames(tables)
    sizes = {"train": 45_000, "validation": 15_000, "test": 15_000}
    assert {name: frame.height for name, frame in splits.items()} == sizes
    assert_balanced_and_distinct(splits, {"train": 15_000, "validation": 5_000, "test": 5_000})
    labels: dict[str, set[str]] = {}
    for text, name in rows:
        labels.setdefault(text, set()).add(name)
    texts = pl.concat([frame["text"] for frame in splits.values()])
    assert all(len(labels[text]) == 1 for text in texts), "a text with two labels is in a split"
    assert sum(dropped_counts(tables).values()) == 90_000 - sum(len(names) == 1 for names in labels.values())


def test_too_few_texts_after_cleaning_are_an_error_too(tmp_path: Path) -> None:
    texts = [(text, number) for number in range(75) for text in (f"Отзыв {number}", f"отзыв {number}!")]
    path = write_reviews(tmp_path / "reviews.csv", [(text, SENTIMENTS[number % 3]) for text, number in texts])
    sizes = {"train_per_class": 30, "validation_per_class": 9, "test_per_class": 11}
    assert build_tables(NAME, {"reviews": path}, tmp_path / "one", **sizes).dropped == ()
    with pytest.raises(RecipeError, match="too few rows"):
        build_tables(NAME, {"reviews": path}, tmp_path / "two", **sizes, clean=True)


def test_an_unknown_sentiment_is_refused_with_its_record(tmp_path: Path) -> None:
    path = write_reviews(tmp_path / "reviews.csv", [("хорошо", "positive"), ("так себе", "neutral")])
    with pytest.raises(SourceError, match="unknown label") as caught:
        build_tables(NAME, {"reviews": path}, tmp_path)
    assert str(caught.value.where).endswith("record 2")
