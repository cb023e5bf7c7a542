"""Habr: articles in English, and how leads are ranked."""

from pathlib import Path

from builders.training.habr import CONFIG
from tests.support.training import build_golden, rows_of

NAME = "habr-contrastive"


def test_articles_in_english_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    assert 300019 not in rows_of(build_golden(NAME, tmp_path / "ru"), CONFIG)
    english = rows_of(build_golden(NAME, tmp_path / "en", english=True), CONFIG)
    assert english[300019] == ("How we built a parser", ["A short story of a parser."])


def test_articles_are_ranked_by_score_then_by_readings(tmp_path: Path) -> None:
    pools = [set(rows_of(build_golden(NAME, tmp_path / str(n), rows=n, times=1), CONFIG)) for n in (1, 2, 3, 11)]
    assert pools[:3] == [{300015}, {300015, 300014}, {300015, 300014, 300013}]
    assert 300005 in pools[3]
