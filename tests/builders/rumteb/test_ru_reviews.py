"""ru_reviews: the sizes of the paper, and labels that are conflicting, unknown or too rare."""

from pathlib import Path

import pytest

from builders.errors import RecipeError, SourceError
from tests.support.recipes import build_tables, write_csv

NAME = "ru-reviews-classification"
SENTIMENTS = ("negative", "neautral", "positive")


def write_reviews(path: Path, rows: list[tuple[str, str]]) -> Path:
    return write_csv(path, ("review", "sentiment"), rows, "\t")


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
