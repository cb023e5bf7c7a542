"""RuWANLI: the readings of the paper that its options select, and labels that the source does not have."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError
from tests.support.training import build_golden, table_of

NAME = "ru-wanli-contrastive"


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
    tables = build_golden(NAME, tmp_path, **options)
    rows = table_of(tables)
    assert rows.height == tables.observed[observed]
    assert rows["id"].is_unique().all()


def test_another_label_is_refused_with_its_record(tmp_path: Path) -> None:
    def relabel(raw: Path) -> None:
        path = raw / "data" / "train.parquet"
        first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("entails")).otherwise("label")
        pl.read_parquet(path).with_columns(label=first).write_parquet(path)

    with pytest.raises(SourceError, match="unknown label") as caught:
        build_golden(NAME, tmp_path, relabel)
    assert "record 1" in str(caught.value.where)
    assert caught.value.expected == "entailment or neutral or contradiction"
