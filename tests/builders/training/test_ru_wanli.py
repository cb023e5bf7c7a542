"""RuWANLI: the readings of the paper that its options select, and labels that the source does not have."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError
from builders.spec import Raw, RawFiles, Tables
from builders.training import ru_wanli
from pipelines.make import GOLDEN
from tests.support.releases import definition_of

RECIPE = definition_of("ru-wanli-contrastive").dataset.recipe


def build(tmp_path: Path, label: str | None = None, **options: Any) -> Tables:
    """The tables of the golden sample. label: of its first row, instead of its own."""
    raw = tmp_path / "raw"
    shutil.copytree(GOLDEN / "ru_wanli" / "raw", raw)
    if label:
        path = raw / "data" / "train.parquet"
        first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(label)).otherwise("label")
        pl.read_parquet(path).with_columns(label=first).write_parquet(path)
    files = {key: Raw(f"ru_wanli/{file.name}", raw / file.name) for key, file in ru_wanli.SOURCE.files.items()}
    return RECIPE(RawFiles(("train",), files, tmp_path), **options)


@pytest.mark.parametrize(
    ("options", "observed"),
    [
        ({}, "premises with entailment"),
        ({"row_per": "entailment"}, "entailment pairs"),
        ({"contradiction": True}, "premises with entailment and contradiction"),
        ({"row_per": "entailment", "contradiction": True}, "entailment pairs of premises with contradiction"),
    ],
    ids=str,
)
def test_each_reading_of_the_paper_gives_the_rows_that_every_build_counts(
    options: dict[str, Any], observed: str, tmp_path: Path
) -> None:
    tables = build(tmp_path, **options)
    frame = tables.frames["ru-wanli"]["train"].lazy().collect()
    assert frame.height == tables.observed[observed]
    assert frame["id"].is_unique().all()


def test_another_label_is_refused_with_its_record(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown label") as caught:
        build(tmp_path, "entails")
    assert "record 1" in str(caught.value.where)
    assert caught.value.expected == "entailment or neutral or contradiction"
