"""PKU-SafeRLHF: only helpfulness counts, and real pairs go through."""

import json
from pathlib import Path

from pipelines.make import GOLDEN
from tests.support.preference_pairs import (
    assert_same_tables,
    build_tables,
    chance_limit,
    dropped_counts,
    golden_raw,
    guess_preferences,
    read_rows,
    write_parquet,
)

NAME = "beavertails-helpful-reranking"


def test_safety_does_not_affect_the_pairs(tmp_path: Path) -> None:
    for split in ("train", "test"):
        rows = read_rows(GOLDEN / "pku_safe_rlhf" / f"{split}.jsonl")
        unsafe = {"is_response_0_safe": False, "is_response_1_safe": False, "safer_response_id": 0}
        file = f"{split}.parquet"
        write_parquet(tmp_path / file, [row | unsafe for row in rows], golden_raw(NAME) / file)
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))


def test_the_real_pairs_of_a_safe_and_an_unsafe_answer_go_through(real_sources: Path, tmp_path: Path) -> None:
    """Upstream's sample says which answer is safe, not which is more helpful: the test takes the safe one as more helpful."""
    rows = json.loads((real_sources / "pku_safe_rlhf" / "guardreasoner_safe_rlhf.json").read_text("utf-8"))
    texts = [
        row["input"].removeprefix("Human user:\n").removesuffix("\n\n").split("\n\nAI assistant:\n") for row in rows
    ]
    pairs = [
        {"prompt": safe[0], "response_0": safe[1], "response_1": unsafe[1], "is_response_0_safe": True,
         "is_response_1_safe": False, "better_response_id": 0, "safer_response_id": 0}
        for safe, unsafe in zip(texts[:1000], texts[1000:], strict=True)
    ]  # fmt: skip
    assert [safe[0] for safe in texts[:1000]] == [unsafe[0] for unsafe in texts[1000:]]
    write_parquet(tmp_path / "test.parquet", pairs, golden_raw(NAME) / "test.parquet")
    tables = build_tables(NAME, tmp_path, "test")
    assert tables.observed == {"pairs in test": 1000}
    share, count = guess_preferences(tables)
    assert count == 1000 - sum(dropped_counts(tables).values())
    assert share < chance_limit(count)
