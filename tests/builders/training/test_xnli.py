"""XNLI: rows of premises with several hypotheses, and labels that the source does not have."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from tests.support.training import build_golden

TRAIN = "ru/train-00000-of-00001.parquet"


def with_first_label(label: int | None, raw: Path) -> None:
    frame = pl.read_parquet(raw / TRAIN)
    first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(label, pl.Int64)).otherwise("label")
    frame.with_columns(label=first).write_parquet(raw / TRAIN)


@pytest.mark.parametrize("label", [3, -1])
def test_another_label_is_refused_with_its_record(label: int, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown label") as caught:
        build_golden("xnli-contrastive", tmp_path, lambda raw: with_first_label(label, raw))
    assert "record 1" in str(caught.value.where)
