"""The scale of STS scores: from the command line, or from the lowest to the highest score."""

import csv
import json
from pathlib import Path

import pytest

from tests.support.foreign import finding_counts, report_of, write_json_lines
from tests.support.processes import run
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables, with_rows


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A dataset whose scores run from 0 to 5, but for one of 11 in test."""
    tables = with_rows("default", "test", ("e", "Bees sting.", "Bienen stechen.", 11.0))(clean_tables("STS"))
    return write_dataset(tmp_path / "scores", tables)


def test_scores_outside_the_requested_scale_are_errors(scores: Path) -> None:
    done = run("check", str(scores), "--json", "--scale", "-1", "5.5")
    assert done.returncode == 4
    report = json.loads(done.stdout)
    assert finding_counts(report) == [("score_out_of_range", "default/test/score", 1)]
    [finding] = report["defects"]
    [name] = finding["examples"]
    assert (finding["severity"], len(name)) == ("error", 16)
    assert report["notes"][-2] == "scale of the scores: -1 to 5.5"
    assert report["audited"] == ["train", "test"], "the other rows are audited"


def test_the_ends_belong_to_the_scale(scores: Path) -> None:
    assert report_of(scores, scale=(0.0, 11.0))["findings"] == []
    assert finding_counts(report_of(scores, scale=(0.5, 11.0))) == [
        ("score_out_of_range", "default/train/score", 1),
        ("score_out_of_range", "default/test/score", 1),
    ]


def test_without_a_scale_the_assumed_one_is_reported(scores: Path) -> None:
    report = report_of(scores)
    assert report["findings"] == []
    assert report["notes"][-2] == (
        "scale of the scores unknown, assumed 0 to 11, the lowest and the highest score (pass --scale LOW HIGH)"
    )


def test_a_scale_is_ignored_for_other_tasks(tmp_path: Path) -> None:
    report = report_of(write_dataset(tmp_path, clean_tables("Clustering")), scale=(0.0, 5.0))
    assert (report["findings"], report["notes"][0]) == ([], "--scale ignored: it is for the scores of STS")


@pytest.mark.parametrize("ends", [("5", "0"), ("1", "1"), ("nan", "5"), ("0", "inf")])
def test_a_scale_that_is_not_one_is_a_usage_error(ends: tuple[str, str]) -> None:
    done = run("check", "cedr", "--scale", *ends)
    assert done.returncode == 2
    assert "--scale needs two numbers, the lower one first" in done.stderr


def test_equal_sides_below_the_top_are_reported_in_rusts(real_sources: Path, tmp_path: Path) -> None:
    for split, name in (("train", "train"), ("dev", "validation"), ("test", "test")):
        with (real_sources / "stsb_ru" / f"stsb-ru-{split}.csv").open(encoding="utf-8", newline="") as file:
            rows = [{"sentence1": a, "sentence2": b, "score": float(score)} for a, b, score in csv.reader(file)]
        write_json_lines(tmp_path / f"{name}.jsonl", *rows)
    findings = report_of(tmp_path, scale=(0.0, 5.0))["findings"]
    counts = [(one["split"], one["count"]) for one in findings if one["kind"] == "identical_pair"]
    assert counts == [("train", 23), ("train", 3), ("validation", 8), ("test", 6)]
