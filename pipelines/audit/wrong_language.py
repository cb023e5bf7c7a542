"""Findings about texts in a language that their column should not contain, as pipelines.audit.languages detects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from cards.front_matter import language
from pipelines.audit.findings import findings_where
from pipelines.audit.languages import foreign_languages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cards.manifest import Finding


def expected_languages(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, set[str]]:
    """The languages that each column of texts may be in, as ISO 639-1 codes.

    languages: the dataset's, as mteb writes them (`rus-Cyrl`). The sides of a bitext have the languages of its pair.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    if isinstance(task, tasks.BitextMining):
        return {column: {side} for column, side in zip(layout.text, task.pair.split("-"), strict=True)}
    return {column: {language(code)[0] for code in languages} for column in layout.text}


def audit_languages(
    layout: tasks.Layout, split: str, expected: Mapping[str, set[str]], batches: Iterable[pl.DataFrame]
) -> list[Finding]:
    """The findings about texts in another language than expected. batches: the sampled texts, see languages.sample_texts."""
    schema = {"id": pl.String, "foreign": pl.String}
    parts = {column: [pl.DataFrame(schema=schema)] for column in expected}
    for batch in batches:
        for column, codes in expected.items():
            texts = batch.drop_nulls(column)
            foreign = pl.Series("foreign", foreign_languages(texts[column], codes), pl.String)
            parts[column].append(texts.select("id", foreign))
    findings = []
    for column, frames in parts.items():
        rows = pl.concat(frames)
        counts = rows["foreign"].drop_nulls().value_counts().sort("count", "foreign", descending=[True, False])
        numbers = ", ".join(f"{code} {count}" for code, count in counts.iter_rows())
        detail = f"{numbers}; texts checked: {rows.height:,}"
        location = (layout.config, split, column)
        findings += findings_where("wrong_language", location, rows, pl.col("foreign").is_not_null(), detail=detail)
    return findings
