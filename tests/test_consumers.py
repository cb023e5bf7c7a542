"""`datasets.load_dataset` on a release folder returns the rows that the build wrote, as a whole and streaming."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.tasks import Classification, label_names
from cards.front_matter import config_names, parse_front_matter
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.releases import FIRST_OF_EACH_TASK_TYPE, NAMES, definition_of

MTEB = pytest.mark.extra("mteb")
BARE = {"ru-scibench-grnti-classification", "ru-scibench-oecd-classification"}
# One of each task type, and those whose labels or configs have no names, or their own names.
IN_CI = {*FIRST_OF_EACH_TASK_TYPE, *BARE, "massive-intent-classification"}
EVERY = [pytest.param(name, marks=() if name in IN_CI else pytest.mark.slow) for name in NAMES]


@pytest.mark.parametrize("name", EVERY)
def test_datasets_loads_every_table_of_a_release_folder(
    name: str, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    import datasets

    outcome = golden_release(name)
    path = str(outcome.release_dir)
    frames = folder.scan_tables(outcome.release_dir, outcome.manifest.tables)
    names = config_names(definition_of(name).dataset, frames)
    assert datasets.get_dataset_config_names(path) == list(names.values())
    for config, splits in frames.items():
        loaded: Any = datasets.load_dataset(path, names[config], cache_dir=str(tmp_path))
        assert set(loaded) == set(splits)
        for split, frame in splits.items():
            rows = frame.collect().to_dicts()
            assert loaded[split].to_list() == rows
            streamed: Any = datasets.load_dataset(
                path, names[config], split=split, streaming=True, cache_dir=str(tmp_path)
            )
            assert list(streamed) == rows


def test_one_config_of_every_dataset_loads_without_a_name(golden_release: Callable[[str], BuildResult]) -> None:
    import datasets

    for name in NAMES:
        outcome = golden_release(name)
        tables = {table.config: table for table in outcome.manifest.tables}
        shown = tables.get("queries") or tables[outcome.manifest.tables[0].config]
        default = config_names(definition_of(name).dataset, tables)[shown.config]
        assert datasets.get_dataset_default_config_name(str(outcome.release_dir)) == default, name


@pytest.mark.parametrize("name", NAMES)
def test_no_two_configs_of_a_card_have_the_same_files(name: str, golden_release: Callable[[str], BuildResult]) -> None:
    card = (golden_release(name).release_dir / folder.CARD).read_bytes()
    paths = [file["path"] for config in parse_front_matter(card, name)["configs"] for file in config["data_files"]]
    assert len(paths) == len(set(paths))


def plain(feature: Any) -> Any:
    """A feature as the Parquet files have it: without the names of labels."""
    import datasets

    if isinstance(feature, datasets.ClassLabel):
        return datasets.Value("int64")
    return datasets.List(plain(feature.feature)) if isinstance(feature, datasets.List) else feature


@pytest.mark.parametrize("name", EVERY)
def test_the_card_declares_the_types_and_sizes_that_datasets_reads(
    name: str, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    import datasets

    outcome = golden_release(name)
    names = config_names(definition_of(name).dataset, (table.config for table in outcome.manifest.tables))
    for table in outcome.manifest.tables:
        builder = datasets.load_dataset_builder(str(outcome.release_dir), names[table.config], cache_dir=str(tmp_path))
        declared, actual = (
            builder.info.features,
            datasets.Dataset.from_parquet(
                [str(outcome.release_dir / file.path) for file in table.files], cache_dir=str(tmp_path)
            ),
        )
        assert {column: plain(feature) for column, feature in declared.items()} == actual.features
        assert builder.info.splits[table.split].num_examples == actual.num_rows


def test_datasets_knows_the_names_of_all_labels_that_are_numbers(
    golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    import datasets

    for name in NAMES:
        task = definition_of(name).dataset.task
        if not label_names(task):
            continue
        path = str(golden_release(name).release_dir)
        feature = datasets.load_dataset_builder(path, cache_dir=str(tmp_path)).info.features[task.type.label]
        feature = getattr(feature, "feature", feature)
        assert getattr(feature, "names", ()) == (() if name in BARE else list(label_names(task))), name


@MTEB
@pytest.mark.parametrize(("classes", "equal"), [(2, True), (10, True), (11, False)])
def test_mteb_draws_other_rows_of_more_than_ten_named_labels(classes: int, equal: bool) -> None:
    """The reason for bare labels: where mteb's task draws rows, a score is comparable only if it draws the same ones."""
    import datasets
    from mteb.abstasks import AbsTaskClassification

    features = [datasets.ClassLabel(names=[f"name {number}" for number in range(classes)]), datasets.Value("int64")]
    rows = {"id": list(range(600)), "label": [number % classes for number in range(600)]}
    drawn = []
    for label in features:
        table = datasets.Dataset.from_dict(rows, datasets.Features({"id": datasets.Value("int64"), "label": label}))
        splits = datasets.DatasetDict({"train": table, "test": table})
        drawn.append(AbsTaskClassification.stratified_subsampling(splits, seed=42, n_samples=200)["test"]["id"][:])
    assert (drawn[0] == drawn[1]) is equal


def test_labels_are_bare_where_mteb_draws_rows_by_them() -> None:
    all_rows = {"massive-intent-classification", "massive-scenario-classification"}  # mteb's tasks use all test rows
    tasks = {name: definition_of(name).dataset.task for name in NAMES}
    many = {name for name, task in tasks.items() if isinstance(task, Classification) and len(task.labels) > 10}
    assert many - all_rows == BARE
    assert {name for name, task in tasks.items() if isinstance(task, Classification) and task.bare_labels} == BARE
