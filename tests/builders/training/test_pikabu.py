"""Pikabu: how many records its files must have, the shortest text, and builds that are killed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from builders.reading.json import json_lines
from builders.spec import Raw, RawFiles
from builders.training import pikabu
from builders.training.pikabu import CONFIG, FILES
from pipelines.make import GOLDEN, BuildResult, make
from tests.support.killed_builds import run_killed
from tests.support.releases import definition_of, sample_settings
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


@pytest.mark.slow
def test_a_killed_build_resumes_with_the_first_file_that_is_not_finished(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = run_killed(tmp_path, NAME, most=1_000, every=61, below="cache")
    undisturbed, read, resumed = golden_release(NAME, "1.0.0").manifest, list[str](), list[int]()

    def read_and_record(raw: Raw, *arguments: Any, **options: Any) -> Any:
        read.append(raw.name.rpartition("/")[2])
        return json_lines(raw, *arguments, **options)

    monkeypatch.setattr(pikabu, "json_lines", read_and_record)
    for folder in folders[:-1]:
        parts = [path.name for path in folder.glob("cache/checkpoints/*/*/*") if path.suffix != ".part"]
        finished = [name for name in FILES if f"{CONFIG}-{name}" in parts]
        result = make(definition_of(NAME), "1.0.0", sample_settings(folder))
        for field in ("content_sha256", "dropped", "observed"):
            assert getattr(result.manifest, field) == getattr(undisturbed, field)
        if result.state != "up to date":
            assert finished + read == [*FILES], "each file is read once"
            resumed.append(len(finished))
        assert not list(folder.glob("cache/checkpoints/*/*"))
        read.clear()
    assert resumed == sorted(resumed)
    assert resumed[0] == 0 < resumed[1] < resumed[-1]
