"""Releases compared with the published figures of their datasets."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from builders.errors import UsageError
from pipelines import check
from pipelines.make import BuildResult, make
from pipelines.release import staging
from pipelines.report import published_figures
from tests.support.paths import ROOT
from tests.support.releases import NAMES, definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PUBLISHED: dict[str, Any] = json.loads(published_figures.PUBLISHED.read_text("utf-8"))
REAL = (
    "cedr-classification",
    "terra-pairclassification",
    "ru-paraphraser-sts",
    "arc-challenge-retrieval",
    "piqa-retrieval",
    "nc2016-bitext",
)


@pytest.fixture(scope="module")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], BuildResult]:
    """The release of a dataset from real raw files, built once."""
    folder, made = tmp_path_factory.mktemp("parity"), dict[str, BuildResult]()
    settings = sample_settings(folder)
    settings = replace(settings, sample=False, places=replace(settings.places, raw_dir=real_sources))

    def outcome(name: str) -> BuildResult:
        if name not in made:
            made[name] = make(definition_of(name), "1.0.0", settings, lambda _: None)
        return made[name]

    return outcome


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.check", *arguments, "--against", "published"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", REAL)
def test_a_build_from_real_files_agrees_with_every_published_figure(
    name: str, real: Callable[[str], BuildResult]
) -> None:
    lines = published_figures.compare_with_published(real(name).place)["lines"]
    assert len(lines) == len(PUBLISHED[name]["facts"])
    assert [line for line in lines if not line["agree"]] == []


def test_a_figure_that_differs_is_printed_as_one_and_ends_with_1(real: Callable[[str], BuildResult]) -> None:
    place = real("terra-pairclassification").place
    sound = run(str(place))
    assert sound.returncode == 0, sound.stderr
    assert "10 of 10 published figures agree" in sound.stdout
    assert "DIFFERS" not in sound.stdout
    path = place / staging.STATISTICS
    statistics = path.read_text("utf-8")
    assert statistics.count('"unique_texts": 282') == 1
    try:
        path.write_text(statistics.replace('"unique_texts": 282', '"unique_texts": 281'), "utf-8")
        planted = run(str(place))
    finally:
        path.write_text(statistics, "utf-8")
    assert planted.returncode == 1
    [line] = [line for line in planted.stdout.splitlines() if "DIFFERS" in line]
    assert line.split() == ["dev", "text1_statistics", "unique_texts", "282", "281", "DIFFERS"]


def lines_of(statistics: dict[str, Any], *facts: dict[str, Any], partial: bool = False) -> list[published_figures.Line]:
    return published_figures.compare_facts({"observed": {"documents": 3}, "partial": partial}, statistics, facts)


@pytest.mark.parametrize(("ours", "agree"), [(41.5, True), (42.5, True), (41.4, False), (42.6, False)])
def test_a_rounded_mean_agrees_within_its_rounding(ours: float, agree: bool) -> None:
    [line] = lines_of({"test": {"mean": ours}}, {"path": ["test", "mean"], "value": 42, "within": 0.5})
    assert line == published_figures.Line("test mean", 42, ours, agree)


def test_what_was_observed_counts_and_what_is_missing_differs() -> None:
    seen, missing = lines_of(
        {"test": None}, {"path": ["observed", "documents"], "value": 3}, {"path": ["test", "pairs"], "value": 0}
    )
    assert (seen.ours, seen.agree) == (3, True)
    assert (missing.ours, missing.agree) == (None, False)


def test_a_partial_release_is_not_asked_about_other_splits() -> None:
    facts = {"path": ["train", "num_samples"], "value": 2}, {"path": ["test", "num_samples"], "value": 1}
    assert [line.what for line in lines_of({"test": {"num_samples": 1}}, *facts, partial=True)] == ["test num_samples"]
    assert [line.agree for line in lines_of({"test": {"num_samples": 1}}, *facts)] == [False, True]


def test_of_several_versions_the_newest_that_rebuilds_what_was_published_is_compared(tmp_path: Path) -> None:
    for version in ("1.0.0", "1.10.0", "1.2.0", "2.0.0"):
        (tmp_path / version).mkdir()
    assert check._newest(tmp_path, published_figures.VERSIONS).name == "1.10.0"
    assert check._newest(tmp_path).name == "2.0.0"


def test_a_sample_is_not_compared(golden_release: Callable[[str], BuildResult]) -> None:
    with pytest.raises(UsageError, match="a sample has not the size"):
        published_figures.compare_with_published(golden_release("cedr-classification").place)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_figure_is_one_that_the_statistics_of_its_dataset_have(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert name in NAMES
    outcome = golden_release(name)
    statistics = json.loads((outcome.place / staging.STATISTICS).read_text("utf-8"))
    facts = [fact for fact in PUBLISHED[name]["facts"] if "labels" not in fact["path"]]  # a sample may lack a label
    lines = published_figures.compare_facts(outcome.manifest, statistics, facts)
    assert [line.what for line in lines if line.ours is None] == []
    paths = [tuple(fact["path"]) for fact in PUBLISHED[name]["facts"]]
    assert len(set(paths)) == len(paths)
