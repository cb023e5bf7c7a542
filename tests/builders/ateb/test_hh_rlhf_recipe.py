"""HH-RLHF: transcripts are split at the last answer, and real helpful pairs go through."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from builders.ateb.hh_rlhf import ANSWER
from builders.errors import SourceError
from builders.shaping.preferences import EMPTY, EQUAL
from tests.support.preference_pairs import (
    build_tables,
    candidates,
    chance_limit,
    dropped_counts,
    guess_preferences,
    json_lines,
    read_rows,
    write_file,
)
from tests.support.releases import definition_of

NAME = "hhrlhf-helpful-reranking"
FILE = "helpful-base/test.jsonl.gz"


def test_a_helpful_build_of_the_test_split_needs_only_its_own_file() -> None:
    definition = definition_of(NAME)
    assert [definition.source.files[key].name for key in definition.dataset.needs["test"]] == [FILE]


def test_a_transcript_without_an_answer_is_an_error_that_names_line_and_key(tmp_path: Path) -> None:
    rows = [{"chosen": "\n\nHuman: a\n\nAssistant: b", "rejected": "\n\nHuman: a"}]
    write_file(tmp_path / FILE, gzip.compress(json_lines(rows)))
    with pytest.raises(SourceError, match="without an answer") as caught:
        build_tables(NAME, tmp_path, "test")
    assert "hh_rlhf/helpful-base/test.jsonl.gz, line 1, key 'rejected'" in str(caught.value)


def test_the_real_helpful_pairs_go_through_as_transcripts(real_sources: Path, tmp_path: Path) -> None:
    rows = read_rows(real_sources / "hh_rlhf" / "steamshp" / "anthropic_helpful_test.json")

    def make_transcript(row: dict[str, Any], side: str) -> str:
        history = "\n\n" + row["history"]
        for marker, own in (("\n\nHUMAN: ", "\n\nHuman: "), ("\n\nASSISTANT: ", f"{ANSWER} ")):
            history = history.replace(marker, own)
        return f"{history}{ANSWER} {row[f'human_ref_{side}']}"

    pairs = [
        {"chosen": make_transcript(row, "BA"[row["labels"]]), "rejected": make_transcript(row, "AB"[row["labels"]])}
        for row in rows
    ]
    write_file(tmp_path / FILE, gzip.compress(json_lines(pairs)))
    tables = build_tables(NAME, tmp_path, "test")
    assert tables.observed == {"pairs in test": 2344}
    assert dropped_counts(tables) == {EMPTY: 4, EQUAL: 2}
    for query, ranked in candidates(tables).items():
        row = rows[int(query.removeprefix("test-"))]
        preferred = row["human_ref_A" if row["labels"] else "human_ref_B"]
        assert [text for text, score in ranked if score] == [f" {preferred}"]
    share, count = guess_preferences(tables)
    assert count == 2338
    assert share < chance_limit(count)
