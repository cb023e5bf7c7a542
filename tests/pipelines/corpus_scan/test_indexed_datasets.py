"""Releases and datasets of others are indexed alike."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.errors import ReleaseError, SourceError
from pipelines.checking.datasets import ForeignOptions, read_tables
from pipelines.decontamination.index_file import read_index
from pipelines.decontamination.indexing import from_foreign, from_release, index_tables
from pipelines.make import BuildResult
from tests.support.benchmark_tables import retrieval


def test_a_release_is_indexed_with_its_version_and_content_hash(
    tmp_path: Path, golden_release: Callable[..., BuildResult]
) -> None:
    release = golden_release("cedr-classification")
    [table] = index_tables([from_release(release.release_dir)], tmp_path / "index")
    manifest = release.manifest
    assert (table.dataset, table.version, table.content_sha256) == (
        "cedr-classification",
        manifest.version,
        manifest.content_sha256,
    )
    assert (table.config, table.split, table.column, table.languages) == ("default", "test", "text", ("rus-Cyrl",))
    assert table.rows == next(one.rows for one in manifest.tables if one.split == "test")


def test_a_release_of_an_unknown_dataset_is_refused(
    tmp_path: Path, golden_release: Callable[..., BuildResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = golden_release("cedr-classification")
    monkeypatch.setattr("builders.catalogue.entries", dict)
    with pytest.raises(ReleaseError, match="unknown dataset"):
        from_release(release.release_dir)


def test_a_dataset_of_others_is_indexed_under_its_own_names(tmp_path: Path) -> None:
    tables = {
        "ru": {
            "dev": pl.LazyFrame({"sentence1": ["a b", "c d"], "sentence2": ["e f", "g h"], "score": [0.5, 4]}),
            "test": pl.LazyFrame({"sentence1": ["i j"], "sentence2": ["k l"], "score": [5.0]}),
        }
    }
    [foreign] = read_tables(tables, "somebody/pairs", {}, ForeignOptions(scale=(0, 5)), {})
    index_tables([from_foreign(foreign, "somebody/pairs", "main")], tmp_path / "index")
    index = read_index(tmp_path / "index")
    assert [
        (one.dataset, one.version, one.content_sha256, one.config, one.split, one.column) for one in index.tables
    ] == [
        ("somebody/pairs", "main", "", "ru", "test", "sentence1"),
        ("somebody/pairs", "main", "", "ru", "test", "sentence2"),
    ]


def test_a_dataset_without_a_table_of_texts_is_refused(tmp_path: Path) -> None:
    facts = retrieval("facts", ["a"], [("b", [0])])
    without = replace(facts, frames={name: tables for name, tables in facts.frames.items() if name != "queries"})
    with pytest.raises(SourceError, match="a table with texts is missing") as raised:
        index_tables([without], tmp_path / "index")
    assert "facts, queries/test" in str(raised.value)
    corpus = {"test": facts.frames["corpus"]["test"].drop("title")}
    with pytest.raises(SourceError, match="the column title is missing"):
        index_tables([replace(facts, frames={**facts.frames, "corpus": corpus})], tmp_path / "index")
    assert not list(tmp_path.iterdir())
