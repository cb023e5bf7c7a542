"""GENIE: ratings may come in any order."""

from pathlib import Path

from tests.support.preference_pairs import (
    assert_same_tables,
    build_tables,
    golden_raw,
    json_lines,
    read_rows,
    write_file,
)

NAME = "genie-reranking"


def test_the_order_of_ratings_does_not_matter(tmp_path: Path) -> None:
    rows = read_rows(golden_raw(NAME) / "ratings.jsonl")
    prompts = list(dict.fromkeys((row["task"], row["prompt"]) for row in rows))
    rows.sort(key=lambda row: (prompts.index((row["task"], row["prompt"])), row["response"], -row["rating"]))
    write_file(tmp_path / "ratings.jsonl", json_lines(rows))
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))
