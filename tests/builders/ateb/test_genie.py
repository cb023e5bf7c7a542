"""GENIE: ratings may come in any order, malformed ratings are errors, and a missing table is explained."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.preference_pairs import (
    assert_same_tables,
    build_tables,
    golden_raw,
    json_lines,
    read_rows,
    write_file,
)
from tests.support.releases import definition_of

NAME = "genie-reranking"


def test_the_order_of_ratings_does_not_matter(tmp_path: Path) -> None:
    rows = read_rows(golden_raw(NAME) / "ratings.jsonl")
    prompts = list(dict.fromkeys((row["task"], row["prompt"]) for row in rows))
    rows.sort(key=lambda row: (prompts.index((row["task"], row["prompt"])), row["response"], -row["rating"]))
    write_file(tmp_path / "ratings.jsonl", json_lines(rows))
    assert_same_tables(build_tables(NAME, tmp_path), build_tables(NAME, golden_raw(NAME)))


def test_the_error_for_a_missing_table_says_what_to_write_and_where_to_put_it(
    hub: FaultyServer, tmp_path: Path
) -> None:
    settings = RawSettings(cache=tmp_path / "cache", lock=tmp_path / "raw.lock.json", hub=hub.url)
    with pytest.raises(SourceError, match=r"genie/ratings\.jsonl must be fetched by hand") as caught:
        locate(definition_of(NAME).source, "ratings", settings)
    assert '{"task": "...", "prompt": "...", "response": "...", "system": "...", "rating": 4}' in str(caught.value)
    assert "put it at" in str(caught.value)
    assert not hub.log
