"""pipelines.scores.results: what counts as far above chance, and which packages baselines need."""

from importlib.util import find_spec

import pytest

from builders.errors import UsageError
from cards.scores import Baseline, Shortcut
from pipelines.scores.results import (
    Results,
    find_shortcuts,
    make_baseline,
    package_versions,
    require_packages,
    standard_error,
)


def results(*baselines: Baseline, rows: int = 10_000, positives: int | None = None) -> Results:
    return Results([make_baseline("chance", 0.5), *baselines], rows, positives)


def test_a_fifth_of_the_way_to_a_perfect_score_is_far() -> None:
    assert find_shortcuts(results(make_baseline("longer", 0.599)), "map_at_1000") == []
    expected = [Shortcut("longer", "map_at_1000", 60.0, 50.0)]
    assert find_shortcuts(results(make_baseline("longer", 0.6)), "map_at_1000") == expected


def test_a_score_on_few_rows_is_not_far() -> None:
    longer = make_baseline("longer", 0.62)
    assert find_shortcuts(results(longer, rows=100), "map_at_1000") == []
    assert find_shortcuts(results(longer, rows=200), "map_at_1000") != []


def test_of_two_labels_the_area_under_the_curve_is_judged() -> None:
    length = make_baseline("length", 0.9, auc=0.55, labels="all")
    assert find_shortcuts(results(length, positives=5_000), "max_ap") == []
    length = make_baseline("length", 0.5, auc=0.7, labels="all")
    assert find_shortcuts(results(length, positives=5_000), "max_ap") == [Shortcut("length", "auc", 70.0, 50.0)]


def test_a_score_below_the_most_frequent_label_is_not_a_shortcut() -> None:
    frequent = make_baseline("majority", 0.9)
    assert find_shortcuts(results(frequent, make_baseline("sentence1", 0.91)), "accuracy") == []


def test_baselines_that_read_whole_rows_are_never_shortcuts() -> None:
    assert find_shortcuts(results(make_baseline("words", 1.0), make_baseline("bm25", 1.0)), "map_at_1000") == []


def test_standard_errors_are_those_at_chance() -> None:
    assert standard_error(results(rows=100, positives=50), "auc") == pytest.approx(5.8, abs=0.01)
    assert standard_error(results(rows=101), "cosine_spearman") == 10
    assert standard_error(results(rows=100), "accuracy") == 5


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pipelines.scores.results.find_spec", lambda name: None if name == "sklearn" else find_spec(name)
    )
    with pytest.raises(UsageError, match=r"not installed: scikit-learn\n.*pip install 'embedding-datasets\[scores\]'"):
        require_packages()


def test_the_versions_of_what_computes_baselines_are_recorded() -> None:
    require_packages()
    assert set(package_versions()) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
