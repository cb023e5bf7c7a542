"""RuWANLI: the readings of the paper that its options select."""

from pathlib import Path
from typing import Any

import pytest

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
