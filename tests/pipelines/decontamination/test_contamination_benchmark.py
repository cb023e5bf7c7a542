"""benchmarks/contamination.py on a few texts: every leak is found and nothing else."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks.contamination import PROGRAMS, Cost, check_matches, prepare, table
from benchmarks.planted_leaks import LEAKS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 300 documents, 40 of them leaks, and an index of 1,000 texts."""
    path = tmp_path_factory.mktemp("leaks")
    prepare(path, documents=300, texts=1_000, leaks=40, seed=3)
    return path


@pytest.fixture(scope="module")
def costs(folder: Path) -> dict[str, list[Cost]]:
    """What a scan costs; it leaves its matches in the folder."""
    return {"ours": [PROGRAMS["ours"].run(folder)]}


def planted_rows(folder: Path, kinds: dict[str, float]) -> set[int]:
    return set(pl.read_parquet(folder / "plants.parquet").filter(pl.col("kind").is_in(list(kinds)))["row"])


def test_ours_finds_every_planted_leak_and_nothing_else(folder: Path, costs: dict[str, list[Cost]]) -> None:
    found = check_matches(folder, pl.read_parquet(folder / "ours.parquet"))
    assert found.rows == planted_rows(folder, LEAKS)
    assert found.listed - found.rows <= planted_rows(folder, {"edited more": 1, "a passage": 1}), "as passages"
    assert found.wrong == 0
    assert costs["ours"][0].documents == 300


@pytest.mark.slow
def test_ten_thousand_planted_leaks_are_found_and_nothing_else(tmp_path: Path) -> None:
    prepare(tmp_path, documents=30_000, texts=45_000, leaks=10_000, seed=20)
    PROGRAMS["ours"].run(tmp_path)
    found = check_matches(tmp_path, pl.read_parquet(tmp_path / "ours.parquet"))
    assert found.rows == planted_rows(tmp_path, LEAKS)
    assert len(found.rows) >= 10_000
    assert found.listed - found.rows <= planted_rows(tmp_path, {"edited more": 1, "a passage": 1}), "as passages"
    assert found.wrong == 0


@pytest.mark.usefixtures("costs")
def test_a_match_that_is_none_is_counted(folder: Path) -> None:
    matches = pl.read_parquet(folder / "ours.parquet")
    contained = (pl.col("kind") == "contained") & (pl.col("corpus_column") == "text")
    changed = matches.with_columns(kind=pl.when(contained).then(pl.lit("exact")).otherwise("kind"))
    assert check_matches(folder, changed).wrong == matches.filter(contained).height > 0


def test_the_table_has_a_column_for_each_program_that_ran(folder: Path, costs: dict[str, list[Cost]]) -> None:
    lines = table(folder, costs | {"one-thread": []}).splitlines()
    assert lines[1] == "| figure | ours |"
    assert "| found: exact (8) | 100.00% |" in lines
    assert "| wrong | 0 |" in lines
