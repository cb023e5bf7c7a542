"""The rules of findings on real texts that two people judged: tests/judgements, measured by benchmarks/judged_hits.py."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from benchmarks import judged_hits
from pipelines.make import BuildResult
from tests.support.real_releases import COMPLETE, read_table

KINDS = sorted(path.stem for path in judged_hits.JUDGEMENTS.glob("*.tsv"))


@pytest.mark.parametrize("kind", KINDS)
def test_judgements_hold_no_text(kind: str) -> None:
    lines = (judged_hits.JUDGEMENTS / f"{kind}.tsv").read_text("utf-8").splitlines()
    assert lines[0].split("\t")[6:9] == ["sha256", "first", "second"]
    assert all(len(line.split("\t")) == 10 for line in lines)
    assert {verdict for line in lines[1:] for verdict in line.split("\t")[7:9]} <= {"yes", "no", "unclear"}
    assert max(len(line.split("\t")[9]) for line in lines) < 80


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_judged_is_still_called_as_the_page_says(
    kind: str, real_sources: Path, complete_release: Callable[[str], BuildResult]
) -> None:
    """Of the texts that are here and in a test's time: raw files, and the releases that are built in seconds."""
    is_here = (pl.col("version") == "raw") | pl.col("dataset").is_in(list(COMPLETE))
    here = judged_hits.read_judgements(kind).filter(is_here)

    def tables(dataset: str, version: str, table: str) -> pl.DataFrame:
        if version == "raw":
            return judged_hits.read_raw(real_sources, dataset, table)
        return read_table(complete_release(dataset), *table.split("/"))

    counts = judged_hits.measure(kind, judged_hits.with_texts(here, tables))
    assert counts["all"] == here.height
    assert counts["right"] >= 0.8 * counts["hits"]
    assert counts["found"] >= 0.9 * counts["true"]
