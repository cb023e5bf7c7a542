"""Releases compared with the published figures of their datasets."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import UsageError
from builders.spec import Dropped
from cards.evidence import Agreement
from cards.manifest import Manifest
from pipelines.make import BuildResult, make
from pipelines.release import figures, folder
from pipelines.release.figures import Line, compare_facts, compare_with_published
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of, sample_settings

PUBLISHED: dict[str, Any] = json.loads(figures.PUBLISHED.read_text("utf-8"))
REAL = (
    "cedr-classification",
    "terra-pairclassification",
    "ru-paraphraser-sts",
    "arc-challenge-retrieval",
    "piqa-retrieval",
    "nc2016-bitext",
)


@pytest.fixture(scope="module")
def real_release(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], BuildResult]:
    """The release of a dataset from real raw files, built once."""
    settings, results = sample_settings(tmp_path_factory.mktemp("published")), dict[str, BuildResult]()
    settings = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=real_sources))

    def build(name: str) -> BuildResult:
        if name not in results:
            results[name] = make(definition_of(name), "1.0.0", settings)
        return results[name]

    return build


@pytest.mark.parametrize("name", REAL)
def test_a_build_from_real_files_agrees_with_every_published_figure(
    name: str, real_release: Callable[[str], BuildResult]
) -> None:
    lines = compare_with_published(real_release(name).release_dir)["lines"]
    assert len(lines) == len(PUBLISHED[name]["facts"])
    assert [line for line in lines if not line["agree"]] == []


def test_a_figure_that_differs_is_marked_and_the_exit_code_is_1(real_release: Callable[[str], BuildResult]) -> None:
    release_dir = real_release("terra-pairclassification").release_dir
    equal = run("check", str(release_dir), "--against", "published")
    assert equal.returncode == 0, equal.stderr
    assert "10 of 10 published figures agree" in equal.stdout
    assert "DIFFERS" not in equal.stdout
    path = release_dir / folder.STATISTICS
    statistics = path.read_text("utf-8")
    assert statistics.count('"unique_texts": 282') == 1
    try:
        path.write_text(statistics.replace('"unique_texts": 282', '"unique_texts": 281'), "utf-8")
        planted = run("check", str(release_dir), "--against", "published")
    finally:
        path.write_text(statistics, "utf-8")
    assert planted.returncode == 1
    [line] = [line for line in planted.stdout.splitlines() if "DIFFERS" in line]
    assert line.split() == ["dev", "text1_statistics", "unique_texts", "282", "281", "DIFFERS"]


@pytest.fixture
def manifest(golden_release: Callable[[str], BuildResult]) -> Manifest:
    """A complete manifest with one observed number."""
    return replace(golden_release("terra-pairclassification").manifest, observed={"documents": 3}, partial=False)


@pytest.mark.parametrize(("ours", "agree"), [(41.5, True), (42.5, True), (41.4, False), (42.6, False)])
def test_a_rounded_mean_agrees_within_its_rounding(ours: float, agree: bool, manifest: Manifest) -> None:
    facts = [{"path": ["test", "mean"], "value": 42, "within": 0.5}]
    assert compare_facts(manifest, {"test": {"mean": ours}}, facts) == [Line("test mean", 42, ours, agree)]


def test_observed_numbers_are_compared_and_a_missing_figure_differs(manifest: Manifest) -> None:
    facts = [{"path": ["observed", "documents"], "value": 3}, {"path": ["test", "pairs"], "value": 0}]
    observed, missing = compare_facts(manifest, {"test": None}, facts)
    assert (observed.ours, observed.agree) == (3, True)
    assert (missing.ours, missing.agree) == (None, False)


def test_a_partial_release_skips_the_facts_of_other_splits(manifest: Manifest) -> None:
    facts = [{"path": ["train", "num_samples"], "value": 2}, {"path": ["test", "num_samples"], "value": 1}]
    statistics = {"test": {"num_samples": 1}}
    partial = replace(manifest, partial=True)
    assert [line.what for line in compare_facts(partial, statistics, facts)] == ["test num_samples"]
    assert [line.agree for line in compare_facts(manifest, statistics, facts)] == [False, True]


def test_a_sample_is_not_compared(golden_release: Callable[[str], BuildResult]) -> None:
    with pytest.raises(UsageError, match="a sample does not have the published size"):
        compare_with_published(golden_release("cedr-classification").release_dir)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_figure_is_in_the_statistics_of_its_dataset(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert name in NAMES
    result = golden_release(name)
    statistics = json.loads((result.release_dir / folder.STATISTICS).read_text("utf-8"))
    facts = [fact for fact in PUBLISHED[name]["facts"] if "labels" not in fact["path"]]  # a sample may lack a label
    lines = compare_facts(result.manifest, statistics, facts)
    assert [line.what for line in lines if line.ours is None] == []
    assert len({json.dumps(fact) for fact in PUBLISHED[name]["facts"]}) == len(PUBLISHED[name]["facts"])


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("-contrastive")])
def test_every_training_set_is_compared_with_table_6(name: str, golden_release: Callable[..., BuildResult]) -> None:
    manifest = replace(golden_release(name, "1.0.0").manifest, sample=False)
    statistics = json.loads((golden_release(name, "1.0.0").release_dir / folder.STATISTICS).read_text("utf-8"))
    agreement = figures.count_agreeing(manifest, statistics)
    assert agreement is not None
    table = [line for line in agreement.differing if line[0].startswith("train training_sets ")]
    assert len(table) == len(statistics["train"]["training_sets"])
    assert all(int(expected.replace(",", "")) >= 5_000 for _, expected, _, _ in table)  # the smallest set of Table 6


def test_each_reading_of_ru_wanli_stands_beside_table_6_and_others_counts(
    golden_release: Callable[..., BuildResult],
) -> None:
    manifest = replace(golden_release("ru-wanli-contrastive", "2.0.0").manifest, sample=False)
    agreement = figures.count_agreeing(manifest, {"train": {"training_sets": {"ru-wanli": {"num_samples": 33_960}}}})
    assert agreement is not None
    assert (agreement.agreeing, agreement.figures) == (1, 7)  # 33,960 is the 34.0 of the table
    assert [line[:3] for line in agreement.differing if line[0] == "observed entailment pairs"] == [
        (
            "observed entailment pairs",
            "34,000",
            "9",
        ),
        ("observed entailment pairs", "35,455", "9"),
        ("observed entailment pairs", "32,253", "9"),
    ]


def test_a_build_says_what_was_expected_and_found(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [
        {"path": ["train", "num_samples"], "value": 12},
        {"path": ["dropped", "duplicate"], "value": 4, "note": "why"},
    ]
    monkeypatch.setattr(figures, "PUBLISHED", tmp_path / "published.json")
    figures.PUBLISHED.write_text(json.dumps({"cedr-classification": {"source": "Hub", "facts": facts}}))
    release = golden_release("cedr-classification", "1.0.0")
    assert figures.expected_and_found(release.release_dir, release.manifest) == []  # a sample
    statistics = json.loads((release.release_dir / folder.STATISTICS).read_text("utf-8"))
    (tmp_path / folder.STATISTICS).write_text(json.dumps(statistics))
    drops = (Dropped("duplicate of an earlier row", 2, "train"), Dropped("duplicate of another", 1, "test"))
    manifest = replace(release.manifest, sample=False, dropped=drops)
    found = statistics["train"]["num_samples"]
    assert figures.expected_and_found(tmp_path, manifest) == [
        "  expected  0 of 2 figures agree with Hub",
        f"            train num_samples: expected 12, found {found}: not known",
        "            dropped duplicate: expected 4, found 3: why",
    ]


def test_a_corrected_version_is_compared_with_the_correction_of_others(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [
        {"path": ["train", "num_samples"], "value": 12},
        {"path": ["test", "num_samples"], "value": 4, "note": "why"},
    ]
    published = {
        "cedr-classification": {"source": "Hub", "facts": facts[:1], "corrected": {"source": "v2", "facts": facts}}
    }
    monkeypatch.setattr(figures, "PUBLISHED", tmp_path / "published.json")
    figures.PUBLISHED.write_text(json.dumps(published))
    manifest = replace(golden_release("cedr-classification", "1.0.0").manifest, sample=False)
    statistics = {"train": {"num_samples": 12}, "test": {"num_samples": 3}}
    assert figures.count_agreeing(manifest, statistics) == Agreement(1, 1, "Hub")
    corrected = figures.count_agreeing(replace(manifest, version="2.0.0"), statistics)
    assert corrected == Agreement(1, 2, "v2", (("test num_samples", "4", "3", "why"),))
    assert figures.count_agreeing(replace(manifest, sample=True), statistics) is None
