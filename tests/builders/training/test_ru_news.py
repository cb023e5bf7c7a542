"""RuNews: the sample is drawn from all lines, which are numbered from the first."""

from pathlib import Path

import pytest

from builders.reading import json as json_reader
from builders.training.ru_news import CONFIG
from tests.support.training import build_golden, rows_of

NAME = "ru-news-contrastive"


def test_lines_are_numbered_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows_of(build_golden(NAME, tmp_path / "whole"), CONFIG)
    monkeypatch.setattr(json_reader, "BATCH", 100)
    assert rows_of(build_golden(NAME, tmp_path / "batches"), CONFIG) == whole
