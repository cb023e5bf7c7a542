"""SHP: all subreddits are included, only the texts and the label count, and malformed pairs are errors."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from builders.ateb.shp import DOMAINS, INSTRUCTION, SPLITS
from builders.errors import SourceError
from pipelines.make import GOLDEN, BuildResult, BuildSettings, make
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "shp-reranking"


@pytest.fixture
def build_changed(tmp_path: Path, settings: BuildSettings) -> Callable[..., BuildResult]:
    """Build shp-reranking from a copy of the golden sample; `change` takes a file name and a record and returns a record."""

    def build(change: Callable[[str, dict[str, Any]], dict[str, Any]], version: str = "1.0.0") -> BuildResult:
        source, copy = GOLDEN / "shp" / "raw", tmp_path / "golden" / "shp" / "raw"
        shutil.rmtree(copy, ignore_errors=True)
        for path in source.rglob("*.json"):
            name = path.relative_to(source).as_posix()
            records = [change(name, json.loads(line)) for line in path.read_text("utf-8").splitlines()]
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        return make(definition_of(NAME), version, replace(settings, golden=tmp_path / "golden"))

    return build


def test_every_split_has_all_18_subreddits(golden_release: Callable[[str], BuildResult]) -> None:
    result = golden_release(NAME)
    assert len(DOMAINS) == 18
    for split in SPLITS:
        queries = pl.read_parquet(result.release_dir / "queries" / f"{split}-*.parquet")
        assert queries["domain"].unique(maintain_order=True).to_list() == sorted(DOMAINS)
        assert queries["text"].str.starts_with(f"{INSTRUCTION} ").all()


def test_swapping_a_and_b_in_all_raw_files_gives_the_same_release(
    build_changed: Callable[..., BuildResult], golden_release: Callable[[str, str], BuildResult]
) -> None:
    def swap(_: str, record: dict[str, Any]) -> dict[str, Any]:
        other = {"A": "B", "B": "A"}
        swapped = {
            key[:-1] + other[key[-1]] if key[-2:] in ("_A", "_B") else key: value for key, value in record.items()
        }
        return swapped | {"labels": 1 - record["labels"]}

    for version in ("1.0.0", "2.0.0"):
        expected = golden_release(NAME, version).manifest.content_sha256
        assert build_changed(swap, version).manifest.content_sha256 == expected


def test_reddits_ids_times_and_scores_are_ignored(
    build_changed: Callable[..., BuildResult], golden_release: Callable[[str, str], BuildResult]
) -> None:
    keys = [f"{name}_{side}" for name in ("c_root_id", "created_at_utc", "score") for side in ("A", "B")]
    result = build_changed(lambda _, record: {key: value for key, value in record.items() if key not in keys})
    assert result.manifest.content_sha256 == golden_release(NAME, "1.0.0").manifest.content_sha256


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("labels", 2, "unknown preference in 'labels'"),
        ("labels", -1, "unknown preference in 'labels'"),
        ("labels", None, "labels is null"),
        ("domain", "askvet_train", "a pair from another file"),
        ("domain", "askhr_test", "a pair from another file"),
        ("history", None, "history is null"),
        ("human_ref_B", 7, "human_ref_B has the wrong type"),
    ],
)
def test_a_malformed_pair_is_an_error_that_names_its_line(
    key: str, value: Any, message: str, build_changed: Callable[..., BuildResult]
) -> None:
    def corrupt(name: str, record: dict[str, Any]) -> dict[str, Any]:
        return record | {key: value} if name == "askvet/test.json" else record

    with pytest.raises(SourceError, match=message) as caught:
        build_changed(corrupt)
    assert "shp/raw/askvet/test.json, line 1" in str(caught.value)
