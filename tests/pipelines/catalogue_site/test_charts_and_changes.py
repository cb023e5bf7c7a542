"""Statistics as charts, and rows that differ between versions."""

from dataclasses import replace
from pathlib import Path

from builders import tasks
from pipelines.catalogue_site.lists import compare_versions
from pipelines.catalogue_site.pages import MAX_BARS, bar_chart, label_charts, length_charts
from pipelines.make import make
from tests.support.releases import definition_of, other_golden, sample_settings
from tests.support.sites import read_records

QUANTILES = {"p01": 10, "p05": 20, "p25": 40, "p50": 50, "p75": 60, "p95": 80, "p99": 200}
FIGURES = {"min_text_length": 1, "max_text_length": 900, "text_length_quantiles": QUANTILES}


def test_labels_have_their_names_and_are_sorted_by_count() -> None:
    labels = {"labels": {"None": {"count": 1}, "0": {"count": 2}, "1": {"count": 5}}}
    [chart] = label_charts(
        tasks.MultilabelClassification(labels=("joy", "fear")), {"test": {"num_samples": 8, "label_statistics": labels}}
    )
    assert [(bar["name"], bar["count"], bar["share"], bar["size"]) for bar in chart["bars"]] == [
        ("fear", 5, 0.625, 1.0), ("joy", 2, 0.25, 0.4), ("(none)", 1, 0.125, 0.2),
    ]  # fmt: skip


def test_of_many_labels_the_largest_are_shown_and_the_others_counted() -> None:
    chart = bar_chart("labels", "test", {str(n): n for n in range(MAX_BARS + 5)}, 0)
    assert len(chart["bars"]) == MAX_BARS
    assert chart["bars"][0]["name"] == str(MAX_BARS + 4)
    assert chart["omitted"] == 5


def test_lengths_of_the_same_texts_share_a_scale() -> None:
    short = FIGURES | {"text_length_quantiles": {name: value // 2 for name, value in QUANTILES.items()}}
    statistics = {"train": {"text_statistics": FIGURES}, "test": {"text_statistics": short}}
    train, test = length_charts(statistics)
    assert (train["split"], train["places"]["p50"], test["places"]["p50"]) == ("train", 0.25, 0.125)
    assert (train["shortest"], train["longest"]) == (1, 900)


def test_statistics_without_quantiles_have_no_chart() -> None:
    assert length_charts({"test": {"text_statistics": {"min_text_length": 1}, "num_samples": 3}}) == []


def test_a_row_that_has_an_id_and_other_values_is_changed(tmp_path: Path) -> None:
    settings = sample_settings(tmp_path)
    terra = definition_of("terra-pairclassification")
    old = make(terra, "1.0.0", settings)
    golden = other_golden(tmp_path / "other")
    new = make(terra, "1.0.0", replace(settings, output=tmp_path / "others", golden=golden))
    sides = ((old.release_dir, old.manifest), (new.release_dir, new.manifest))
    [change] = compare_versions(tmp_path, "changes", *sides, with_rows=True)
    assert (change.state, change.removed, change.added, change.changed) == ("changed", 0, 0, 1)
    [[name, position, before, after]] = read_records(tmp_path, change.lists["changed"].folder)
    assert (name, position) == ("0", 0)
    column = change.new_columns.index("sentence2")
    assert after[column] == "Совсем другая гипотеза."
    assert before[column] != after[column]
    assert before[:column] + before[column + 1 :] == after[:column] + after[column + 1 :]
    [unlisted] = compare_versions(tmp_path, "none", *sides, with_rows=False)
    assert (unlisted.changed, unlisted.lists) == (1, {})
    [same] = compare_versions(tmp_path, "same", sides[0], sides[0], with_rows=True)
    assert same.state == "same"
