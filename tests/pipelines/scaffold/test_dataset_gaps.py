"""What `new` lists of a source beyond its texts: golden sample, expected rows, digests, names, and recipes that fail."""

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import catalogue
from builders.rumteb import terra
from builders.spec import Tables, Version
from pipelines.make import GOLDEN
from pipelines.scaffold import checkout, dataset_gaps
from pipelines.scaffold.dataset_gaps import find_gaps

SOURCES = sorted({entry.source for entry in catalogue.entries().values()})


def gaps_of(source: str, *, build: bool = False) -> list[str]:
    entries = [entry for entry in catalogue.entries().values() if entry.source == source]
    return [f"{gap.where}: {gap}" for gap in find_gaps(entries, build=build) if gap.level != "later"]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_the_catalogue_is_finished(source: str) -> None:
    assert gaps_of(source) == []


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The golden sample of TERRa in a checkout of its own."""
    folder = tmp_path / "tests" / "golden" / "terra"
    shutil.copytree(GOLDEN / "terra", folder)
    (tmp_path / "cards" / "prose").mkdir(parents=True)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(checkout, "read_entries", catalogue.entries)
    return folder


def test_a_golden_sample_without_its_files_is_listed_file_by_file(golden: Path) -> None:
    (golden / "README.md").unlink()
    (golden / "raw" / "val.jsonl").rename(golden / "raw" / "dev.jsonl")
    (golden / "terra-pairclassification").rename(golden / "terra-pairs")
    (golden.parents[2] / "cards" / "prose" / "terra-old.md").touch()
    text = "\n".join(gaps_of("terra", build=True))
    for words in (
        "val.jsonl: the golden sample of terra lacks a file",
        "README.md: the golden sample has no README",
        "dev.jsonl: no raw file of the builder has this name",
        "terra-pairs: no dataset of the builder has this name",
        "terra-old.md: no builder has this name",
        "terra-pairclassification/1.0.0: terra-pairclassification@1.0.0 has no expected rows",
    ):
        assert words in text
    assert len(text.splitlines()) == 6


def test_tables_that_break_the_rules_of_the_task_are_listed(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recipe(raw: object) -> Tables:
        """Does the premise entail the hypothesis? Columns: none."""
        return Tables({"default": {"dev": pl.DataFrame({"text": ["a"]})}})

    monkeypatch.setattr(terra, "pair_classification", replace(terra.pair_classification, recipe=recipe))
    [gap] = gaps_of("terra", build=True)
    assert "the sample of terra-pairclassification@1.0.0 does not build" in gap
    assert "sentence1" in gap


@pytest.mark.parametrize(
    ("error", "words"), [(KeyError("x"), "KeyError: 'x'"), (ZeroDivisionError("no"), "ZeroDivisionError: no")]
)
def test_a_recipe_that_fails_is_listed_without_a_traceback(
    error: Exception, words: str, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recipe(raw: object) -> Tables:
        """Does the premise entail the hypothesis? Columns: none."""
        raise error

    monkeypatch.setattr(terra, "pair_classification", replace(terra.pair_classification, recipe=recipe))
    [gap] = gaps_of("terra", build=True)
    assert gap.endswith(f"the recipe of terra-pairclassification@1.0.0 fails; found {words}")


def test_versions_whose_samples_have_the_same_rows_are_listed(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"1.0.0": Version("First."), "2.0.0": Version("The same.")}
    monkeypatch.setattr(terra, "pair_classification", replace(terra.pair_classification, versions=versions))
    same, rows = gaps_of("terra", build=True)
    assert "the samples of versions 1.0.0 and 2.0.0 have the same rows" in same
    assert "terra-pairclassification@2.0.0 has no expected rows" in rows


def test_a_builder_that_cannot_be_imported_is_named_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ValueError("terra: ruMTEB has a prompt for every dataset: declare `prompts`")

    monkeypatch.setattr("pipelines.scaffold.dataset_gaps.catalogue.load", fail)
    [gap] = gaps_of("terra")
    assert "terra.py: the builder cannot be imported; found ValueError: terra: ruMTEB has a prompt" in gap


def test_a_column_that_nobody_explains_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = dataset_gaps.read_prose
    monkeypatch.setattr(
        dataset_gaps, "read_prose", lambda *names, **options: replace(read(*names, **options), columns="")
    )
    text = "\n".join(gaps_of("cedr", build=True))
    assert text.count("nobody says what the column source of cedr-classification means") == 1
