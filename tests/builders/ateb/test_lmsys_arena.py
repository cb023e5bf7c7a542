"""Chatbot Arena: the order of sides does not matter, malformed battles are errors, and real pairs go through."""

from pathlib import Path

import polars as pl

from builders.reading.json import read_json_array
from builders.shaping.preferences import TIE
from builders.spec import Raw
from tests.support.preference_pairs import (
    build_tables,
    chance_limit,
    dropped_counts,
    guess_preferences,
    make_battle,
    write_battles,
)

NAME = "lmsys-reranking"


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
