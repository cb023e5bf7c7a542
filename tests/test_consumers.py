"""`datasets.load_dataset` on a release folder returns the rows that the build wrote, as a whole and streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipelines.release import folder
from tests.support.releases import NAMES, definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.make import BuildResult


@pytest.mark.parametrize("name", NAMES)
def test_datasets_loads_every_table_of_a_release_folder(
    name: str, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    import datasets

    outcome = golden_release(name)
    path = str(outcome.release_dir)
    frames = folder.scan_tables(outcome.release_dir, outcome.manifest.tables)
    subset = definition_of(name).dataset.subset
    aliases = {f"{subset}-{config}": config for config in frames if subset}
    assert set(datasets.get_dataset_config_names(path)) == {*frames, *aliases}
    for config, table in ({config: config for config in frames} | aliases).items():
        loaded: Any = datasets.load_dataset(path, config, cache_dir=str(tmp_path))
        splits = frames[table]
        assert set(loaded) == set(splits)
        for split, frame in splits.items():
            rows = frame.collect().to_dicts()
            assert loaded[split].to_list() == rows
            streamed: Any = datasets.load_dataset(path, config, split=split, streaming=True, cache_dir=str(tmp_path))
            assert list(streamed) == rows


@pytest.mark.parametrize("name", NAMES)
def test_the_card_declares_the_types_and_sizes_that_datasets_reads(
    name: str, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    import datasets

    outcome = golden_release(name)
    for table in outcome.manifest.tables:
        builder = datasets.load_dataset_builder(str(outcome.release_dir), table.config, cache_dir=str(tmp_path))
        declared, actual = (
            builder.info.features,
            datasets.Dataset.from_parquet(
                [str(outcome.release_dir / file.path) for file in table.files], cache_dir=str(tmp_path)
            ),
        )
        assert declared == actual.features
        assert builder.info.splits[table.split].num_examples == actual.num_rows
