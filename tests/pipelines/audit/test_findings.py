"""pipelines.audit.findings: every row of every finding, with its twin. pipelines.audit.findings: a row has the same name
in every version that holds it.
"""

import hashlib
import json
from typing import Any

import polars as pl
import pytest

from pipelines.audit.findings import FindingRows, list_rows, name_rows
from pipelines.audit.quality import audit_tables
from tests.support.tables import TASKS, Tables, as_lazy, clean_tables, with_rows, with_value


def audit(task_type: str, tables: Tables) -> list[FindingRows]:
    return audit_tables(TASKS[task_type], as_lazy(tables), TASKS[task_type].splits)


def test_both_labels_of_a_conflict_are_written() -> None:
    tables = with_value("default", "test", "text", 4, "0 test sentence number 0")(clean_tables("Classification"))
    conflict = next(one for one in audit("Classification", tables) if one.finding.kind == "conflicting_label")
    row = list_rows(conflict).row(0, named=True)
    assert (row["label_text"], row["twin label_text"]) == ("red", "green")


def test_a_pair_that_is_not_in_a_table_has_a_name_and_no_values() -> None:
    twins = [(f"d{number}", "", "Wax They build with it.") for number in range(4, 12)]
    findings = audit("Retrieval", with_rows("corpus", "test", *twins)(clean_tables("Retrieval")))
    unjudged = next(finding for finding in findings if finding.finding.kind == "unjudged_twin")
    rows = list_rows(unjudged)
    assert rows["row"].to_list() == [f"q2 d{number}" for number in range(4, 12)]
    assert unjudged.finding.examples == tuple(rows["row"][:5])


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
