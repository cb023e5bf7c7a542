"""AlpacaFarm: the order of outputs in the raw file does not matter, and malformed pairs are errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from tests.support.preference_pairs import assert_same_tables, build_tables, golden_raw, write_file

NAME = "alpacafarm-reranking"
FILE = "alpaca_human_preference.json"


def read_golden() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((golden_raw(NAME) / FILE).read_text())
    return rows


def swap_outputs(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"output_1": row["output_2"], "output_2": row["output_1"], "preference": 3 - row["preference"]}


def test_swapped_outputs_give_the_same_tables(tmp_path: Path) -> None:
    write_file(tmp_path / FILE, json.dumps([swap_outputs(row) for row in read_golden()]).encode())
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preference": 0}, "unknown preference in 'preference'"),
        ({"preference": 3}, "unknown preference in 'preference'"),
        ({"preference": "1"}, "preference has the wrong type"),
        ({"input": None}, "input is null"),
        ({"output_2": 5}, "output_2 has the wrong type"),
    ],
)
def test_a_malformed_pair_is_an_error_that_names_its_record(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = read_golden()
    rows[2] |= change
    write_file(tmp_path / FILE, json.dumps(rows).encode())
    with pytest.raises(SourceError, match=message) as caught:
        build_tables(NAME, tmp_path)
    assert "alpacafarm/alpaca_human_preference.json, record 3" in str(caught.value)
