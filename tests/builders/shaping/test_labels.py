"""Label names become numbers, and unknown names are errors."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.labels import label_key, label_numbers
from builders.spec import Raw

NUMBERS = {"joy": 0, "fear": 3}
RAW = Raw("cedr/train.jsonl", Path("train.jsonl"))


@pytest.mark.parametrize(
    ("names", "labels", "numbers"),
    [
        (pl.Series(["fear", "joy"]), NUMBERS, [3, 0]),
        (pl.Series(["fear", "joy"]), ("joy", "anger", "fear"), [2, 0]),
        (pl.Series([["fear", "joy"], [], ["joy", "joy"]], dtype=pl.List(pl.String)), NUMBERS, [[0, 3], [], [0]]),
        (pl.Series([], dtype=pl.String), NUMBERS, []),
    ],
    ids=["names", "numbers in the order of a sequence", "lists become distinct and ascending", "an empty column"],
)
def test_label_names_become_numbers(names: pl.Series, labels: Any, numbers: list[Any]) -> None:
    assert label_numbers(names, labels, RAW).to_list() == numbers


@pytest.mark.parametrize(
    "names",
    [pl.Series("labels", ["joy", "anger"]), pl.Series("labels", [[], ["joy", "anger"]], dtype=pl.List(pl.String))],
)
def test_an_unknown_label_is_an_error_with_its_location(names: pl.Series) -> None:
    with pytest.raises(SourceError, match="unknown label in 'labels'") as caught:
        label_numbers(names, NUMBERS, RAW)
    assert "cedr/train.jsonl, line 2" in str(caught.value)
    assert "'anger'" in str(caught.value)
    assert "joy, fear" in str(caught.value)


def test_keys_of_label_lists_are_equal_if_the_lists_are() -> None:
    frame = pl.DataFrame({"label": [[1, 2], [12], [1, 2], []]})
    keys = frame.select(label_key("label", frame.schema["label"])).to_series()
    assert (keys == keys[0]).to_list() == [True, False, True, False]
