"""SHP: all subreddits are included, only the texts and the label count, and malformed pairs are errors."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.ateb.shp import SPLITS
from builders.spec import Raw, RawFiles
from pipelines.make import GOLDEN
from tests.support.recipes import frame
from tests.support.releases import definition_of

NAME = "shp-reranking"


Change = Callable[[str, dict[str, Any]], dict[str, Any]]
Rows = dict[tuple[str, str], list[tuple[Any, ...]]]  # by config and split


@pytest.fixture
def build_changed(tmp_path: Path) -> Callable[..., Rows]:
    """The rows that the recipe makes of a changed golden sample; `change` takes a file name and a record and returns a record."""

    def build(change: Change, version: str = "1.0.0", splits: tuple[str, ...] = SPLITS[1:]) -> Rows:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        source, dataset = GOLDEN / "shp" / "raw", definition_of(NAME).dataset
        files = {}
        for key in dataset.needs[splits[0]]:
            file = definition_of(NAME).source.files[key]
            records = [
                change(file.name, json.loads(line)) for line in (source / file.name).read_text("utf-8").splitlines()
            ]
            (folder / key).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
            files[key] = Raw(f"shp/raw/{file.name}", folder / key)
        (folder / "scratch").mkdir()
        tables = dataset.recipe(RawFiles(splits, files, folder / "scratch"), **dataset.options(version))
        return {(config, split): frame(tables, split, config).rows() for config in tables.frames for split in splits}

    return build


def unchanged(_: str, record: dict[str, Any]) -> dict[str, Any]:
    return record


def test_swapping_a_and_b_in_all_raw_files_gives_the_same_rows(build_changed: Callable[..., Rows]) -> None:
    def swap(_: str, record: dict[str, Any]) -> dict[str, Any]:
        other = {"A": "B", "B": "A"}
        swapped = {
            key[:-1] + other[key[-1]] if key[-2:] in ("_A", "_B") else key: value for key, value in record.items()
        }
        return swapped | {"labels": 1 - record["labels"]}

    for version in ("1.0.0", "2.0.0"):
        assert build_changed(swap, version) == build_changed(unchanged, version)


def test_reddits_ids_times_and_scores_are_ignored(build_changed: Callable[..., Rows]) -> None:
    keys = [f"{name}_{side}" for name in ("c_root_id", "created_at_utc", "score") for side in ("A", "B")]
    tables = build_changed(lambda _, record: {key: value for key, value in record.items() if key not in keys})
    assert tables == build_changed(unchanged)
