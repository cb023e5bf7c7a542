"""mlcroissant finds every croissant.json valid, without a warning, and reads through it the rows that the build wrote."""

import importlib.util
import json
import logging
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.catalogue import Definition
from cards.croissant import render_croissant
from cards.front_matter import config_names
from cards.manifest import Column, Manifest, RawEntry
from pipelines.make import BuildResult
from pipelines.release import folder
from pipelines.release.parquet import describe_file
from tests.support.card_inputs import definition_for, finding, frames_for, manifest_for
from tests.support.releases import NAMES, definition_of

pytestmark = [
    pytest.mark.extra("mlcroissant"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # mlcroissant uses rdflib and pandas as they were
]
# One golden sample of each task type.
EACH_TYPE = (
    "rubq-retrieval", "rubq-reranking", "headline-classification", "cedr-classification", "terra-pairclassification",
    "sts22-ru", "georeview-clustering-p2p", "europarl-bitext", "xnli-contrastive",
)  # fmt: skip
OTHERS = [name for name in NAMES if name not in EACH_TYPE]


@pytest.fixture(scope="session", autouse=True)
def _import_mlcroissant() -> None:
    """Import mlcroissant; what its dependencies warn of meanwhile is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("mlcroissant")


def open_croissant(path: Path) -> Any:
    """The dataset of a croissant.json, which must be valid without warnings."""
    import mlcroissant

    dataset = mlcroissant.Dataset(path)
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    return dataset


def read_rows(dataset: Any, record_set: str, filters: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows of a record set; mlcroissant gives texts as bytes."""
    return [{key: decode(value) for key, value in row.items()} for row in dataset.records(record_set, filters)]


def decode(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [decode(item) for item in value] if isinstance(value, list) else value


def rows_of(release_dir: Path, manifest: Manifest, config: str, record_set: str) -> list[dict[str, Any]]:
    """The rows of a config from its Parquet files, as a record set has them: split by split, by name."""
    frames = folder.scan_tables(release_dir, [table for table in manifest.tables if table.config == config])
    return [
        {f"{record_set}/split": split} | {f"{record_set}/{column}": value for column, value in row.items()}
        for split, frame in sorted(frames[config].items())
        for row in frame.collect().to_dicts()
    ]


def assert_rows_equal(release_dir: Path, definition: Definition, manifest: Manifest) -> None:
    dataset = open_croissant(release_dir / folder.CROISSANT)
    for config, name in config_names(definition.dataset, {table.config: 1 for table in manifest.tables}).items():
        rows = rows_of(release_dir, manifest, config, name)
        assert rows, name
        assert read_rows(dataset, name) == rows, name


@pytest.mark.parametrize("name", [*EACH_TYPE, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_mlcroissant_reads_the_rows_of_every_table(
    name: str, golden_release: Callable[[str], BuildResult], caplog: pytest.LogCaptureFixture
) -> None:
    outcome = golden_release(name)
    caplog.clear()  # another worker may have been building it
    with caplog.at_level(logging.WARNING):
        assert_rows_equal(outcome.release_dir, definition_of(name), outcome.manifest)
    assert caplog.messages == []


def test_every_task_type_is_read() -> None:
    assert {type(definition_of(name).dataset.task) for name in EACH_TYPE} == {
        type(definition_of(name).dataset.task) for name in NAMES
    }


def test_one_split_is_read_alone(golden_release: Callable[[str], BuildResult]) -> None:
    outcome = golden_release("cedr-classification")
    dataset = open_croissant(outcome.release_dir / folder.CROISSANT)
    rows = rows_of(outcome.release_dir, outcome.manifest, "default", "default")
    for split in ("train", "test"):
        read = read_rows(open_croissant(outcome.release_dir / folder.CROISSANT), "default", {"default/split": split})
        assert read == [row for row in rows if row["default/split"] == split]
    assert read_rows(dataset, "labels")[0] == {"labels/id": 0, "labels/name": "joy"}
    assert {row["splits/name"] for row in read_rows(dataset, "splits")} == {"train", "test"}


def test_several_files_of_a_table_are_read_in_order_and_a_stray_one_is_not(tmp_path: Path) -> None:
    definition = definition_for("MultilabelClassification")
    manifest = manifest_for(definition, frames_for("MultilabelClassification"))
    (tmp_path / "data").mkdir()
    tables = []
    for table in manifest.tables:
        files = []
        for number in range(3):
            path = tmp_path / "data" / f"{table.split}-0000{number}-of-00003.parquet"
            pl.DataFrame({"text": [f"{table.split} {number}", ""], "label": [[number], []]}).write_parquet(path)
            files.append(describe_file(path, tmp_path))
        tables.append(replace(table, files=tuple(files)))
    manifest = replace(manifest, tables=tuple(tables))
    shutil.copyfile(path, tmp_path / "data" / "train-00003-of-00003.parquet")
    (tmp_path / folder.CROISSANT).write_text(render_croissant(definition, manifest), encoding="utf-8")
    assert_rows_equal(tmp_path, definition, manifest)


def test_hostile_names_and_texts_do_not_make_it_invalid(tmp_path: Path) -> None:
    hostile = '</script> "}]\\ \x00\u2028 {"@id": "x"} @type http://example.org/ \n'
    definition = definition_for("Clustering", license="other", license_note=hostile)
    [table] = manifest_for(definition, frames_for("Clustering")).tables
    column = " text:\u202e{1}\n/"
    path = tmp_path / "data" / "test-00000-of-00001.parquet"
    path.parent.mkdir()
    pl.DataFrame({column: [hostile, ""], "labels": ["@id", "_:b0"]}).write_parquet(path)
    columns = (Column(column, "string"), Column("labels", "string"))
    manifest = manifest_for(
        definition,
        {},
        tables=(replace(table, columns=columns, files=(describe_file(path, tmp_path),)),),
        raw=(RawEntry(hostile, hostile, "a" * 64, 1, verified=False),),
        findings=(finding("split_leak", "info", 1, 0.5, detail=hostile, why=hostile),),
        observed={hostile: 1},
    )
    text = render_croissant(definition, manifest)
    (tmp_path / folder.CROISSANT).write_text(text, encoding="utf-8")
    [_, mangled, labels] = [field["@id"] for field in json.loads(text)["recordSet"][-1]["field"]]
    rows = read_rows(open_croissant(tmp_path / folder.CROISSANT), "default")
    assert rows == [
        {"default/split": "test", mangled: hostile, labels: "@id"},
        {"default/split": "test", mangled: "", labels: "_:b0"},
    ]
