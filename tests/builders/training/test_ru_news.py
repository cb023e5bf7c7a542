"""RuNews: the sample is drawn from all lines, which are numbered from the first."""

from pathlib import Path

import pytest

from builders.reading import json as json_reader
from builders.training.ru_news import CONFIG
from tests.support.training import build_golden, rows_of

NAME = "ru-news-contrastive"


def test_a_larger_sample_has_the_rows_of_a_smaller_one(tmp_path: Path) -> None:
    samples = [set(rows_of(build_golden(NAME, tmp_path / str(n), rows=n), CONFIG)) for n in (2, 4, 6, 100)]
    assert samples[0] < samples[1] < samples[2] < samples[3]
    assert samples[3] == {0, 1, 7, 9, 10, 11, 12, 14, 15, 16}


def test_lines_are_numbered_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows_of(build_golden(NAME, tmp_path / "whole"), CONFIG)
    monkeypatch.setattr(json_reader, "BATCH", 100)
    assert rows_of(build_golden(NAME, tmp_path / "batches"), CONFIG) == whole
