"""Label names become numbers, and unknown names are errors."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.labels import label_key, label_numbers
from builders.spec import Raw

NUMBERS = {"joy": 0, "fear": 3}


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    return Raw("cedr/train.jsonl", tmp_path / "train.jsonl")


def test_label_names_become_numbers(raw: Raw) -> None:
    assert label_numbers(pl.Series("label", ["fear", "joy"]), NUMBERS, raw).to_list() == [3, 0]


def test_a_sequence_of_names_numbers_them_in_order(raw: Raw) -> None:
    assert label_numbers(pl.Series("label", ["fear", "joy"]), ("joy", "anger", "fear"), raw).to_list() == [2, 0]


def test_lists_of_label_names_become_distinct_numbers_in_ascending_order(raw: Raw) -> None:
    names = pl.Series("labels", [["fear", "joy"], [], ["joy", "joy"]], dtype=pl.List(pl.String))
    assert label_numbers(names, NUMBERS, raw).to_list() == [[0, 3], [], [0]]


@pytest.mark.parametrize(
    "names",
    [pl.Series("labels", ["joy", "anger"]), pl.Series("labels", [[], ["joy", "anger"]], dtype=pl.List(pl.String))],
)
def test_an_unknown_label_is_an_error_with_its_location(names: pl.Series, raw: Raw) -> None:
    with pytest.raises(SourceError, match="unknown label in 'labels'") as caught:
        label_numbers(names, NUMBERS, raw)
    assert "cedr/train.jsonl, line 2" in str(caught.value)
    assert "'anger'" in str(caught.value)
    assert "joy, fear" in str(caught.value)


def test_an_empty_column_has_no_labels(raw: Raw) -> None:
    assert label_numbers(pl.Series("l", [], dtype=pl.String), NUMBERS, raw).to_list() == []


def test_keys_of_label_lists_are_equal_if_the_lists_are() -> None:
    frame = pl.DataFrame({"label": [[1, 2], [12], [1, 2], []]})
    keys = frame.select(label_key("label", frame.schema["label"])).to_series()
    assert (keys == keys[0]).to_list() == [True, False, True, False]
