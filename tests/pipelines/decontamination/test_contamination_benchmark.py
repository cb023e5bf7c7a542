"""benchmarks/contamination.py on a few texts: ours finds every leak and nothing else, and the table has what each finds."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks.contamination import PROGRAMS, Cost, check_matches, is_installed, prepare, read_found, table
from benchmarks.planted_leaks import LEAKS, OTHERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 300 documents, 40 of them leaks, and an index of 1,000 texts."""
    path = tmp_path_factory.mktemp("leaks")
    prepare(path, documents=300, texts=1_000, leaks=40, seed=3)
    return path


@pytest.fixture(scope="module")
def costs(folder: Path) -> dict[str, list[Cost]]:
    """What ours and the script of 13-grams cost; they leave what they found in the folder."""
    return {name: [PROGRAMS[name].run(folder)] for name in ("ours", "13-grams")}


def planted_rows(folder: Path, kinds: dict[str, float]) -> set[int]:
    return set(pl.read_parquet(folder / "plants.parquet").filter(pl.col("kind").is_in(list(kinds)))["row"])


def test_ours_finds_every_planted_leak_and_nothing_else(folder: Path, costs: dict[str, list[Cost]]) -> None:
    found = read_found(folder, "ours")
    assert found.rows == planted_rows(folder, LEAKS)
    assert found.listed - found.rows <= planted_rows(folder, {"edited more": 1, "a passage": 1}), "as passages"
    assert found.wrong == 0
    assert costs["ours"][0].documents == 300


@pytest.mark.usefixtures("costs")
def test_13_grams_list_passages_and_miss_short_texts(folder: Path) -> None:
    found = read_found(folder, "13-grams")
    plants = pl.read_parquet(folder / "plants.parquet")
    assert set(plants.filter(kind="a passage")["row"]) <= found.listed
    assert found.listed < planted_rows(folder, LEAKS | OTHERS)
    assert found.wrong == 0


@pytest.mark.usefixtures("costs")
def test_a_match_that_is_none_is_counted(folder: Path) -> None:
    matches, plants = pl.read_parquet(folder / "ours.parquet"), pl.read_parquet(folder / "plants.parquet")
    contained = (pl.col("kind") == "contained") & (pl.col("corpus_column") == "text")
    changed = matches.with_columns(kind=pl.when(contained).then(pl.lit("exact")).otherwise("kind"))
    assert check_matches(folder, changed, plants).wrong == matches.filter(contained).height > 0


def test_the_table_has_a_column_for_each_program_that_ran(folder: Path, costs: dict[str, list[Cost]]) -> None:
    lines = table(folder, costs | {"datatrove": []}).splitlines()
    assert lines[1] == "| | ours | 13-grams |"
    assert "| found: exact (8) | 100.00% | " in "\n".join(lines)
    assert "| wrong | 0 | 0 |" in lines
    assert "datatrove: not run, because it is not installed; see --help" in lines


def test_datatrove_runs_only_where_all_that_it_needs_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.contamination.find_spec", lambda name: None if name == "spacy" else object())
    assert not is_installed("datatrove")
    assert is_installed("ours")
