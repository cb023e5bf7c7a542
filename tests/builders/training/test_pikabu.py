"""Pikabu: how many records its files must have, and the shortest text."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.spec import Raw, RawFiles
from builders.training.pikabu import CONFIG, FILES
from pipelines.make import GOLDEN
from tests.support.releases import definition_of
from tests.support.training import build_golden, rows_of

NAME = "pikabu-contrastive"


def test_files_with_another_number_of_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="another number of records") as caught:
        build_golden(NAME, tmp_path)
    assert caught.value.found == "24 records"
    assert caught.value.expected == "6,907,622"


def test_a_part_of_the_files_need_not_have_all_records(tmp_path: Path) -> None:
    found = definition_of(NAME)
    raw_dir = GOLDEN / "pikabu" / "raw"
    files = {key: Raw(f"pikabu/{file.name}", raw_dir / file.name) for key, file in found.source.files.items()}
    files |= {name: replace(files[name], limit=1) for name in FILES}
    tables = found.dataset.recipe(RawFiles(("train",), files, tmp_path), characters=20)
    assert tables.observed[f"rows of {CONFIG} in the source"] == 20


def test_captions_are_dropped_by_their_number_of_characters(tmp_path: Path) -> None:
    caption = ("Подпись", ["Мой кот."])
    assert rows_of(build_golden(NAME, tmp_path / "8", records=24, characters=8), CONFIG)[400003] == caption
    assert 400003 not in rows_of(build_golden(NAME, tmp_path / "9", records=24, characters=9), CONFIG)
