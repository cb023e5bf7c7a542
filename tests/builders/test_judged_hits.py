"""The rules of findings on real texts that two readers judged: tests/judgements, measured by benchmarks/judged_hits.py."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from benchmarks import judged_hits
from pipelines.make import BuildResult
from tests.support.real_releases import COMPLETE, read_table

VERDICTS = {"yes", "no", "unclear"}


@pytest.mark.parametrize(
    ("name", "words"),
    [*((kind, VERDICTS) for kind in judged_hits.OWN_FILES), ("texts", {"-", *judged_hits.KINDS})],
)
def test_judgements_hold_no_text(name: str, words: set[str]) -> None:
    lines = [line.split("\t") for line in (judged_hits.JUDGEMENTS / f"{name}.tsv").read_text("utf-8").splitlines()]
    assert lines[0][6:9] == ["sha256", "first", "second"]
    assert all(len(line) == 10 for line in lines)
    said = {word.removesuffix("?") for line in lines[1:] for verdict in line[7:9] for word in verdict.split(",")}
    assert said <= words
    assert max(len(line[9]) for line in lines) < 80


def test_what_was_judged_is_still_called_as_the_page_says(
    real_sources: Path, complete_release: Callable[[str], BuildResult]
) -> None:
    """Of the texts that are here and in a test's time: raw files, and the releases that are built in seconds."""

    def tables(dataset: str, version: str, table: str) -> pl.DataFrame:
        if version == "raw":
            return judged_hits.read_raw(real_sources, dataset, table)
        return read_table(complete_release(dataset), *table.split("/"))

    def read(name: str) -> pl.DataFrame:
        is_here = (pl.col("version") == "raw") | pl.col("dataset").is_in(list(COMPLETE))
        return judged_hits.with_texts(judged_hits.read_judgements(name).filter(is_here), tables)

    for kind, counts in judged_hits.measure_all(read).items():
        # Of the first two there are a dozen true ones.
        least = {"junk_text": 0.5, "placeholder": 0.5, "spacing": 0.7}.get(kind, 0.8)
        # The readers did not see three line separators.
        assert counts["hits"] - counts["right"] <= max(0.2 * counts["hits"], 3), kind
        assert counts["found"] >= least * counts["true"], kind
