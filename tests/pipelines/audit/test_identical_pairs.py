"""pipelines.audit.duplicates: pairs with equal sides, and scores that such a pair may have."""

import pytest

from pipelines.audit.duplicates import FOLDED_DETAIL
from tests.support.tables import clean_tables, combine, quality_findings, with_rows, with_value


def test_equal_sides_with_the_highest_score_or_the_label_1_are_no_finding() -> None:
    for task_type, best in (("STS", 5.0), ("PairClassification", 1)):
        rows = (("e", "Bees.", "Bees.", best), ("f", "Ants bite.", "ants bite", best))
        assert quality_findings(task_type, with_rows("default", "test", *rows)(clean_tables(task_type))) == []


def test_sides_that_differ_in_a_letter_are_no_finding() -> None:
    tables = with_rows("default", "test", ("e", "Bees sting.", "Bee sting.", 0.0))(clean_tables("STS"))
    assert quality_findings("STS", tables) == []


@pytest.mark.parametrize("score", [float("nan"), 6.0])
def test_a_score_outside_the_scale_is_not_below_its_top(score: float) -> None:
    tables = with_rows("default", "test", ("e", "Bees.", "Bees.", score))(clean_tables("STS"))
    assert "identical_pair" not in {finding.kind for finding in quality_findings("STS", tables)}


def test_equal_sides_of_a_bitext_are_no_finding() -> None:
    tables = with_value("en-de", "test", "sentence2", 0, "0 test sentence number 0")(clean_tables("BitextMining"))
    assert quality_findings("BitextMining", tables) == []


def test_the_detail_gives_the_scores_and_tells_exact_pairs_from_folded_ones() -> None:
    tables = combine(
        with_rows(
            "default", "test", ("e", "Bees.", "Bees.", 4.8), ("f", "Wax.", "Wax.", 3.2), ("g", "Ants", "ants.", 4.0)
        )
    )(clean_tables("STS"))
    findings = [finding for finding in quality_findings("STS", tables) if finding.kind == "identical_pair"]
    assert [(finding.count, finding.examples, finding.detail) for finding in findings] == [
        (2, ("e", "f"), "scores 3.2 to 4.8, the highest is 5"),
        (1, ("g",), f"{FOLDED_DETAIL}; score 4, the highest is 5"),
    ]
