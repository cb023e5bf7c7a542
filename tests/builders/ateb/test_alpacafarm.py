"""AlpacaFarm: the order of outputs in the raw file does not matter, and malformed pairs are errors."""

import json
from pathlib import Path
from typing import Any

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
