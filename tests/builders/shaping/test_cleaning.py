"""What a cleaned version leaves out, and what it keeps."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.shaping.cleaning import clean_rows, each_text_once
from builders.shaping.folding import fold_text
from builders.shaping.sampling import split
from builders.spec import Dropped
from pipelines.audit import quality


def rows(*texts: str, labels: list[int] | None = None) -> pl.DataFrame:
    return pl.DataFrame({"text": texts, "label": labels or [0] * len(texts)}, {"text": pl.String, "label": pl.Int64})


def pairs(*texts: tuple[str, str], scores: list[float] | None = None) -> pl.DataFrame:
    first, second = zip(*texts, strict=True)
    return pl.DataFrame({"sentence1": first, "sentence2": second, "score": scores or [1.0] * len(texts)})


def cleaned(frame: pl.DataFrame, **more: pl.DataFrame) -> tuple[list[str], list[tuple[str, int]]]:
    """The texts of the first of the splits that are left, and the reasons with their counts."""
    frames = {"train": frame} | more
    kept, dropped = clean_rows(frames, ("train",))
    return kept["train"]["text"].to_list(), [(one.reason, one.count) for one in dropped]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Хорошо!", "хорошо"),
        ("да,нет", "Да – нет…"),
        (" две\xa0\nстроки ", "две строки"),
        ("№ 5", "No 5"),
        ("\ufb01n", "fin"),
        ("е\u0308лка", "ёлка"),
    ],
)
def test_case_punctuation_white_space_and_the_way_of_writing_a_character_are_folded(text: str, same: str) -> None:
    frame = pl.DataFrame({"one": [text], "other": [same]}).select(fold_text(pl.all()))
    assert frame["one"][0] == frame["other"][0]


@pytest.mark.parametrize(("text", "other"), [(":)", ":("), ("...", "!"), ("5+5", "5 5"), ("кот", "кит"), ("", ".")])
def test_texts_that_say_something_else_are_not_folded_together(text: str, other: str) -> None:
    frame = pl.DataFrame({"one": [text], "other": [other]}).select(fold_text(pl.all()))
    assert frame["one"][0] != frame["other"][0]


def test_texts_of_no_more_than_a_character_go() -> None:
    texts, dropped = cleaned(rows("да", "", "\xa0", " я ", "\n!"))
    assert texts == ["да"]
    assert dropped == [("a text is empty or a single character", 4)]


def test_of_equal_texts_the_first_stays() -> None:
    texts, dropped = cleaned(rows("один", "два", "один", "Один"))
    assert texts == ["один", "два", "Один"]
    assert dropped == [("the text stands in an earlier row too", 1)]


def test_a_text_with_two_labels_goes_altogether() -> None:
    texts, dropped = cleaned(rows("один", "два", "один", "один", labels=[0, 1, 1, 0]))
    assert texts == ["два"]
    assert dropped == [("the text has another label too", 3)]


def test_labels_may_be_lists() -> None:
    frame = pl.DataFrame({"text": ["один", "один", "два", "два"], "label": [[0, 1], [0], [], []]})
    kept, _ = clean_rows({"test": frame}, ("test",))
    assert kept["test"].rows() == [("два", [])]


def test_the_split_that_is_evaluated_keeps_what_others_have_too() -> None:
    frames = {"train": rows("один", "два", "три"), "validation": rows("два", "пять"), "test": rows("ПЯТЬ!", "один")}
    kept, dropped = clean_rows(frames, ("train", "validation", "test"))
    assert {split: frame["text"].to_list() for split, frame in kept.items()} == {
        "train": ["три"],
        "validation": ["два"],
        "test": ["ПЯТЬ!", "один"],
    }
    assert dropped == (
        Dropped("the text is in the test split too", 1, "train", ("row 0",)),
        Dropped("the text is in the validation split too", 1, "train", ("row 1",)),
        Dropped("the text is in the test split too", 1, "validation", ("row 1",)),
    )


def test_a_split_that_is_not_wanted_is_looked_at_and_not_returned() -> None:
    kept, dropped = clean_rows({"train": rows("один", "два"), "test": rows("один", "один")}, ("train",))
    assert list(kept) == ["train"]
    assert [(one.split, one.count) for one in dropped] == [("train", 1)]


def test_a_pair_is_compared_whole() -> None:
    frame = pairs(("а б", "в"), ("а", "б в"), ("аб", "вг"), ("аб", "вг"), ("вг", "аб"))
    kept, dropped = clean_rows({"test": frame}, ("test",), texts=("sentence1", "sentence2"), label="score")
    assert kept["test"].select("sentence1", "sentence2").rows() == [("аб", "вг"), ("вг", "аб")]
    assert [(one.reason, one.count) for one in dropped] == [
        ("a text is empty or a single character", 2),
        ("the pair stands in an earlier row too", 1),
    ]


def test_where_pairs_are_symmetric_a_swapped_one_is_the_same() -> None:
    frame = pairs(("кот", "пёс"), ("пёс", "кот"), ("дом", "сад"), ("сад", "дом"), scores=[1, 1, 1, 0])
    texts = ("sentence1", "sentence2")
    kept, dropped = clean_rows({"test": frame}, ("test",), texts=texts, label="score", symmetric=True)
    assert kept["test"].rows() == [("кот", "пёс", 1.0)]
    assert [(one.reason, one.count) for one in dropped] == [
        ("the pair has another score too", 2),
        ("the pair stands in an earlier row too", 1),
    ]


def test_dropped_rows_are_named_by_their_id_where_they_have_one() -> None:
    _, dropped = clean_rows({"test": rows("один", "").with_columns(id=pl.Series(["a", "b"]))}, ("test",))
    assert dropped == (Dropped("a text is empty or a single character", 1, "test", ("b",)),)


TEXT = st.sampled_from(["", "а", "аб", "Аб", "аб!", "бв", " бв", "бв\xa0", "в г", "в-г"])
SPLIT = st.lists(st.tuples(TEXT, st.integers(0, 1)), max_size=8)
MENDED = {"split_leak", "duplicate_text", "duplicate_pair", "conflicting_label", "empty_text", "short_text"}


@given(train=SPLIT, test=SPLIT)
def test_what_is_mended_is_not_found_again(train: list[tuple[str, int]], test: list[tuple[str, int]]) -> None:
    schema = {"text": pl.String, "label": pl.Int64}
    frames = {"train": pl.DataFrame(train, schema, orient="row"), "test": pl.DataFrame(test, schema, orient="row")}
    kept, dropped = clean_rows(frames, ("train", "test"))
    left = sum(frame.height for frame in kept.values())
    assert left + sum(one.count for one in dropped) == len(train) + len(test)
    if all(frame.height for frame in kept.values()):
        task = tasks.Classification(labels=("no", "yes"), splits=("train", "test"))
        lazy = {"default": {split: frame.lazy() for split, frame in kept.items()}}
        assert not MENDED & {finding.kind for finding in quality.audit_rows(task, lazy, task.splits)}


# What splits are drawn from


def pool(*texts: str, labels: list[int] | None = None) -> pl.DataFrame:
    return rows(*texts, labels=labels).with_columns(id=pl.int_range(pl.len()).cast(pl.String))


def test_of_texts_that_are_equal_when_folded_the_first_is_kept() -> None:
    kept, dropped = each_text_once(pool("Один.", "два", "один", "ДВА!", "три"), fold=True)
    assert kept["text"].to_list() == ["Один.", "два", "три"]
    assert dropped == (Dropped("the text stands in an earlier row too", 2, "all", ("2", "3")),)


def test_a_text_with_two_labels_once_it_is_folded_is_kept_under_none() -> None:
    kept, dropped = each_text_once(pool("Один.", "два", "один", labels=[0, 1, 1]), fold=True)
    assert kept.rows() == [("два", 1, "1")]
    assert dropped == (Dropped("the text has another label too", 2, "all", ("0", "2")),)


def test_texts_of_no_more_than_a_character_are_not_drawn_from() -> None:
    kept, dropped = each_text_once(pool("да", "", " я ", labels=[0, 1, 0]), fold=True, split="test")
    assert kept["text"].to_list() == ["да"]
    assert dropped == (Dropped("a text is empty or a single character", 2, "test", ("1", "2")),)


def test_without_folding_texts_are_compared_as_they_are_and_short_ones_stay() -> None:
    kept, dropped = each_text_once(pool("да", "Да", "да", "я", "ты", "ты", labels=[0, 1, 0, 0, 0, 1]))
    assert kept["id"].to_list() == ["0", "1", "3"]
    assert [(one.reason, one.examples) for one in dropped] == [
        ("the text has another label too", ("4", "5")),
        ("the text stands in an earlier row too", ("2",)),
    ]


def test_what_stands_for_a_text_and_lists_of_labels_will_do() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"], "hash": [7, 7, 8, 8], "topics": [[0, 1], [0], [2], [2]]})
    kept, _ = each_text_once(frame, text="hash", label="topics")
    assert kept.rows() == [("c", 8, [2])]


@given(SPLIT)
def test_splits_that_are_drawn_from_a_clean_pool_share_no_text(texts: list[tuple[str, int]]) -> None:
    frame = pool(*(text for text, _ in texts), labels=[label for _, label in texts])
    kept, dropped = each_text_once(frame, fold=True)
    assert kept.height + sum(one.count for one in dropped) == len(texts)
    assert kept["id"].cast(pl.Int64).is_sorted()
    drawn = split(kept, {"train": kept.height // 2, "test": kept.height - kept.height // 2}, key="id", seed="any")
    if kept.height > 1:
        again, more = clean_rows(drawn, ("train", "test"))
        assert more == ()
        assert sum(one.height for one in again.values()) == kept.height
