"""Premise and hypothesis become one text with one of three labels."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.shaping.cleaning import SHORT
from builders.shaping.factuality import FEVER, LABELS, NLI, classify_pairs, number_labels, read_splits
from builders.spec import Raw, RawFiles
from tests.support.recipes import frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def classify(
    folder: Path, *rows: tuple[str, str, str], numbers: dict[str, int] = NLI, unit: str = "line"
) -> pl.DataFrame:
    numbered = pl.DataFrame(rows, ["premise", "hypothesis", "gold"], orient="row").with_row_index("id")
    numbered = number_labels(numbered, Raw("s/a.csv", folder / "a.csv"), label="gold", numbers=numbers, unit=unit)
    return frame(classify_pairs({"test": numbered}, ("test",)))


def test_the_text_is_atebs_with_both_sides_unchanged(tmp_path: Path) -> None:
    row = classify(tmp_path, ("It rains. ", "It  is\nwet", "entailment")).to_dicts()[0]
    assert row == {
        "id": 0,
        "text": "Premise: It rains.  Hypothesis: It  is\nwet",
        "label": 0,
        "label_text": "entailment",
    }


@given(premise=TEXTS, hypothesis=TEXTS)
def test_no_character_of_either_side_is_lost_or_added(premise: str, hypothesis: str) -> None:
    rows = pl.DataFrame({"premise": [premise], "hypothesis": [hypothesis], "label": [1]})
    tables = classify_pairs({"test": rows}, ("test",))
    assert frame(tables)["text"].item() == f"Premise: {premise} Hypothesis: {hypothesis}"


def test_labels_are_numbered_in_the_order_of_snli_whatever_their_names(tmp_path: Path) -> None:
    assert LABELS == ("entailment", "neutral", "contradiction")
    rows = classify(tmp_path, ("", "", "REFUTES"), ("", "", "SUPPORTS"), ("", "", "NOT ENOUGH INFO"), numbers=FEVER)
    assert rows.rows() == [
        (0, "Premise:  Hypothesis: ", 2, "contradiction"),
        (1, "Premise:  Hypothesis: ", 0, "entailment"),
        (2, "Premise:  Hypothesis: ", 1, "neutral"),
    ]


@pytest.mark.parametrize("label", ["-", "", "Neutral", "SUPPORTS"])
def test_an_unknown_label_is_an_error_that_names_its_record(label: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown label in 'gold'") as caught:
        classify(tmp_path, ("a", "b", "neutral"), ("c", "d", label), unit="record")
    assert caught.value.where == "s/a.csv, record 2"
    assert caught.value.expected == "entailment, neutral, contradiction"


def test_a_split_is_read_only_if_all_its_files_are_there(tmp_path: Path) -> None:
    files = {"train": ("one", "two"), "validation": ("three",), "test": ("four", "five")}
    raw = {key: Raw(key, tmp_path / key) for key in ("two", "three", "five", "four")}
    splits = read_splits(RawFiles(("test",), raw, tmp_path), files, lambda file: pl.DataFrame({"file": [file.name]}))
    assert {split: rows["file"].to_list() for split, rows in splits.items()} == {
        "validation": ["three"],
        "test": ["four", "five"],
    }


def test_a_cleaned_version_compares_both_sides_and_drops_sides_of_one_character() -> None:
    schema = {"id": pl.String, "premise": pl.String, "hypothesis": pl.String, "label": pl.Int64}
    train = [("a", "It rains.", "It is wet.", 0), ("b", "It rains.", "?", 1), ("c", " ", "It is dry.", 2)]
    test = [
        ("d", "it rains", "It is wet!", 0),
        ("e", "It", "rains.", 0),
        ("f", "It", "rains.", 0),
        ("g", "It snows.", "It", 1),
    ]
    frames = {"train": pl.DataFrame(train, schema, orient="row"), "test": pl.DataFrame(test, schema, orient="row")}
    tables = classify_pairs(frames, ("train", "test"), clean=True)
    assert frame(tables)["id"].to_list() == ["d", "e", "g"]
    short, shared, repeated = tables.dropped
    assert (short.reason, short.split, short.examples) == (SHORT, "train", ("b", "c"))
    assert ("in the test split" in shared.reason, shared.split, shared.examples) == (True, "train", ("a",))
    assert ("an earlier row" in repeated.reason, repeated.split, repeated.examples) == (True, "test", ("f",))
    assert [dropped.count for dropped in tables.dropped] == [2, 1, 1]
    assert list(classify_pairs(frames, ("test",), clean=True).frames["default"]) == ["test"]
    assert classify_pairs(frames, ("train", "test")).dropped == ()
