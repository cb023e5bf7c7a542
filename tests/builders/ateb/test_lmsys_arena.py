"""Chatbot Arena: the order of sides does not matter, malformed battles are errors, and real pairs go through."""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.reading.json import read_json_array
from builders.shaping.preferences import TIE
from builders.spec import Raw
from pipelines.make import GOLDEN
from tests.support.preference_pairs import (
    BATTLES,
    assert_same_tables,
    build_tables,
    chance_limit,
    dropped_counts,
    golden_raw,
    guess_preferences,
    make_battle,
    read_rows,
    write_battles,
)

NAME = "lmsys-reranking"


def swap_sides(row: dict[str, Any]) -> dict[str, Any]:
    winners = {"model_a": "model_b", "model_b": "model_a"}
    sides = {"conversation_a": row["conversation_b"], "conversation_b": row["conversation_a"]}
    return row | sides | {"winner": winners.get(row["winner"], row["winner"])}


def test_swapped_sides_give_the_same_tables(tmp_path: Path) -> None:
    write_battles(tmp_path, [swap_sides(row) for row in read_rows(GOLDEN / "lmsys_arena" / "battles.jsonl")])
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))


def reverse_fields(value: Any) -> Any:
    """The same value with the fields of every object in reverse order, and a further one."""
    if isinstance(value, dict):
        return {"unknown": "x"} | {name: reverse_fields(value[name]) for name in reversed(value)}
    return [reverse_fields(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_fields_in_the_file_does_not_matter_and_others_are_ignored(tmp_path: Path) -> None:
    rows = [reverse_fields(row) for row in read_rows(GOLDEN / "lmsys_arena" / "battles.jsonl")]
    (tmp_path / BATTLES).parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / BATTLES)
    fields = pq.read_schema(tmp_path / BATTLES).field("conversation_a").type.value_type
    assert [field.name for field in fields] == ["unknown", "role", "content"]
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))


def test_the_real_pairs_of_mt_bench_go_through_as_battles(real_sources: Path, tmp_path: Path) -> None:
    columns = dict.fromkeys(("input", "output_1", "output_2"), pl.String()) | {"label": pl.Int64()}
    pairs = read_json_array(Raw("mt_bench", real_sources / "mt_bench_pairs" / "llmbar_mt_bench.json"), columns)
    winners = ("", "model_a", "model_b")
    rows = [make_battle(n, *texts, winners[label]) for n, (*texts, label) in enumerate(pairs.iter_rows())]
    rows[0]["winner"] = "tie"
    write_battles(tmp_path, rows)
    tables = build_tables(NAME, tmp_path)
    assert tables.observed == {"battles": 200, "pairs in test": 200}
    assert dropped_counts(tables)[TIE] == 1
    share, count = guess_preferences(tables)
    assert count == 200 - sum(dropped_counts(tables).values())
    assert share < chance_limit(count)
