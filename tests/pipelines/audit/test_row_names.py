"""pipelines.audit.findings: a row has the same name in every version that holds it."""

import hashlib
import json
from typing import Any

import polars as pl
import pytest

from pipelines.audit.findings import name_rows


def names(frame: pl.DataFrame, *positions: int | None) -> list[str | None]:
    return name_rows(frame.lazy(), pl.Series(positions, dtype=pl.UInt32)).to_list()


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"id": "d1", "query-id": "q1"}, "d1"),
        ({"query-id": "q1", "corpus-id": "d1", "score": 1}, "q1 d1"),
        ({"query-id": "q1", "corpus-ids": ["d1"]}, "q1"),
    ],
    ids=["id", "judgement", "candidates"],
)
def test_a_row_with_ids_is_named_by_them(columns: dict[str, Any], name: str) -> None:
    assert names(pl.DataFrame([columns]), 0) == [name]


@pytest.mark.parametrize(
    "values",
    [["пчела", 1], ["bee \U0001f41d", 0.1], ["a\nb", [0, 2]], ["", []], [None, True]],
    ids=["number", "fraction", "list", "empty", "null"],
)
def test_any_other_row_is_named_by_the_hash_of_its_values_as_json(values: list[Any]) -> None:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    frame = pl.DataFrame({"text": [values[0]], "label": [values[1]]})
    assert names(frame, 0) == [hashlib.sha256(text.encode()).hexdigest()[:16]]


def test_the_second_of_two_equal_rows_has_a_number() -> None:
    frame = pl.DataFrame({"text": ["bee", "ant", "bee", "bee"], "label": [0, 0, 0, 1]})
    first, ant, second, other = names(frame, 0, 1, 2, 3)
    assert second == f"{first}-2"
    assert len({first, ant, second, other}) == 4


def test_a_name_does_not_depend_on_where_the_row_is() -> None:
    frame = pl.DataFrame({"text": ["bee", "ant", "wasp"], "label": [0, 1, 0]})
    assert names(frame, 0, 1, 2) == names(frame.reverse(), 2, 1, 0)
    assert names(frame, 1) == names(frame[1:], 0)


def test_names_are_in_the_order_of_the_positions_which_may_repeat_or_be_null() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c"]})
    assert names(frame, 2, 0, 2, None) == ["c", "a", "c", None]
