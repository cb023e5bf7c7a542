"""MEDI: the file is refused where its tasks are not those of the paper."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders import papers
from builders.errors import SourceError
from builders.spec import Tables
from builders.training import medi
from tests.support.releases import definition_of
from tests.support.training import build_golden

DATASET = definition_of("medi-contrastive").dataset


def build(tmp_path: Path, change: pl.Expr | None = None, **options: Any) -> Tables:
    """The tables of the golden sample, with a change of its task names."""

    def rename(raw: Path) -> None:
        for shard in medi.SHARDS if change is not None else ():
            pl.read_parquet(raw / shard).with_columns(task_name=change).write_parquet(raw / shard)

    return build_golden(DATASET.name, tmp_path, rename, **(DATASET.options("1.0.0", sample=True) | options))


def test_there_are_30_sets_with_the_rows_of_the_paper_and_its_remainder_is_300_tasks_of_600_rows() -> None:
    printed = papers.sets_of("medi-contrastive")
    assert [*printed] == [*medi.SETS]
    assert sum(row.pairs for row in printed.values()) == 1_255_000
    assert 1_255_000 + 300 * 600 == DATASET.options("1.0.0")["rows"] == 1_435_000
    assert len(medi.CONFIG_OF) == 30


def test_another_number_of_rows_is_refused_even_if_other_counts_are_accepted(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="another number of rows") as caught:
        build(tmp_path, rows=1_435_000, accept_counts=True)
    assert caught.value.found is not None
    assert caught.value.found.startswith("70 rows. All tasks: AllNLI 2, PAQ_pairs 2,")
    assert "agnews 6, " in caught.value.found


def test_an_unknown_name_is_refused_with_all_names_and_their_counts(tmp_path: Path) -> None:
    renamed = pl.col("task_name").replace({"xsum": "xsum_summaries"})
    with pytest.raises(SourceError, match="lacks tasks") as caught:
        build(tmp_path, renamed, accept_counts=True)
    assert caught.value.found is not None
    assert caught.value.found.startswith("xsum. All tasks: ")
    assert "xsum_summaries 2" in caught.value.found


def test_other_counts_are_refused_with_the_option_that_accepts_them(tmp_path: Path) -> None:
    moved = pl.col("task_name").replace({"task1500_other_words": "nq"})
    with pytest.raises(SourceError, match="other counts than the paper") as caught:
        build(tmp_path / "one", moved)
    assert caught.value.found is not None
    assert "nq 4 rows, not 2; 1 other tasks with 2 rows, not 2 of 2 each" in caught.value.found
    assert "accept_counts=True" in str(caught.value.todo)
    tables = build(tmp_path / "two", moved, accept_counts=True)
    assert tables.observed["rows of nq in the source"] == 4
    assert tables.observed["rows of tasks that are left out"] == 2
