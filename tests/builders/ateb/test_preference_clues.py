"""Ids and positions of preference sets do not reveal the better response, even if the source always has it in the same place,
and they do not depend on that place.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from builders.ateb.instrusum import SYSTEMS
from tests.support.preference_pairs import (
    assert_same_tables,
    build_tables,
    chance_limit,
    golden_raw,
    guess_preferences,
    json_lines,
    make_battle,
    read_rows,
    write_battles,
    write_file,
    write_parquet,
)
from tests.support.releases import definition_of


def write_alpacafarm(folder: Path, count: int) -> None:
    rows = [
        {"instruction": f"do {n}", "input": "", "output_1": f"good {n}", "output_2": f"bad {n}", "preference": 1}
        for n in range(count)
    ]
    write_file(folder / "alpaca_human_preference.json", json.dumps(rows).encode())


def write_hh_rlhf(folder: Path, count: int) -> None:
    rows = [
        {side: f"\n\nHuman: do {n}\n\nAssistant: {side} {n}" for side in ("chosen", "rejected")} for n in range(count)
    ]
    for split in ("train", "test"):
        write_file(folder / "helpful-base" / f"{split}.jsonl.gz", gzip.compress(json_lines(rows)))


def write_pku_safe_rlhf(folder: Path, count: int) -> None:
    rows = [
        {"prompt": f"do {n}", "response_0": f"bad {n}", "response_1": f"good {n}", "is_response_0_safe": True,
         "is_response_1_safe": True, "better_response_id": 1, "safer_response_id": 0}
        for n in range(count)
    ]  # fmt: skip
    for split in ("train", "test"):
        like = golden_raw("beavertails-helpful-reranking") / f"{split}.parquet"
        write_parquet(folder / f"{split}.parquet", rows, like)


def write_lmsys_arena(folder: Path, count: int) -> None:
    write_battles(folder, [make_battle(n, f"do {n}", f"good {n}", f"bad {n}", "model_a") for n in range(count)])


def write_instrusum(folder: Path, count: int) -> None:
    def make_summaries(n: int) -> dict[str, Any]:
        return {
            system: {"summary": f"{system} of {n}", "score": {"overall": 5 - index}}
            for index, system in enumerate(SYSTEMS)
        }

    rows = [
        {"article": f"news {n}", "requirement": "short", "annotations": make_summaries(n)} for n in range(count // 10)
    ]
    write_file(folder / "human_eval.json", json.dumps(rows).encode())


def write_genie(folder: Path, count: int) -> None:
    rows = [
        {"task": "t", "prompt": f"do {n}", "response": f"{system} {n}", "system": system, "rating": rating}
        for n in range(count // 3)
        for system, rating in (("best", 3), ("middle", 2), ("worst", 1))
    ]
    write_file(folder / "ratings.jsonl", json_lines(rows))


WRITERS = {
    "alpacafarm-reranking": write_alpacafarm,
    "hhrlhf-helpful-reranking": write_hh_rlhf,
    "beavertails-helpful-reranking": write_pku_safe_rlhf,
    "lmsys-reranking": write_lmsys_arena,
    "instrusum-reranking": write_instrusum,
    "genie-reranking": write_genie,
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_rule_on_ids_and_positions_finds_the_better_response(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path, 3_000)
    tables = build_tables(name, tmp_path)
    assert not tables.dropped
    for split in definition_of(name).dataset.task.splits:
        share, pairs = guess_preferences(tables, split)
        assert pairs == 3_000
        assert share < chance_limit(pairs)


def test_the_order_of_outputs_does_not_matter(tmp_path: Path) -> None:
    name, file = "alpacafarm-reranking", "alpaca_human_preference.json"
    swapped = [
        row | {"output_1": row["output_2"], "output_2": row["output_1"], "preference": 3 - row["preference"]}
        for row in json.loads((golden_raw(name) / file).read_text())
    ]
    write_file(tmp_path / file, json.dumps(swapped).encode())
    assert_same_tables(build_tables(name, tmp_path), build_tables(name, golden_raw(name)))


def test_the_order_of_ratings_does_not_matter(tmp_path: Path) -> None:
    name, file = "genie-reranking", "ratings.jsonl"
    rows = read_rows(golden_raw(name) / file)
    prompts = list(dict.fromkeys((row["task"], row["prompt"]) for row in rows))
    rows.sort(key=lambda row: (prompts.index((row["task"], row["prompt"])), row["response"], -row["rating"]))
    write_file(tmp_path / file, json_lines(rows))
    assert_same_tables(build_tables(name, tmp_path), build_tables(name, golden_raw(name)))
