"""Findings about texts in a language or a script that their column should not contain, as languages and scripts decide."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from builders import tasks
from cards.front_matter import language
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.languages import foreign_languages
from pipelines.audit.scripts import in_wrong_script, scripts_by_language
from pipelines.audit.tables import model_inputs
from pipelines.audit.texts import condition_column

WRONG_SCRIPT = "wrong_script"


def expected_languages(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, set[str]]:
    """The languages that each column of texts may be in, as ISO 639-1 codes.

    languages: the dataset's, as mteb writes them (`rus-Cyrl`). The sides of a bitext have the languages of its pair.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    if isinstance(task, tasks.BitextMining):
        return {column: {side} for column, side in zip(layout.text, task.pair.split("-"), strict=True)}
    return {column: {language(code)[0] for code in languages} for column in layout.text}


def script_conditions(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, pl.Expr]:
    """Whether the text of each column is in a wrong script; no column whose languages, or their scripts, are unknown.

    languages: as for `expected_languages`.
    """
    known = scripts_by_language(languages)
    conditions = {}
    for column, codes in expected_languages(task, layout, languages).items():
        if codes and codes <= known.keys():
            scripts = {script for code in codes for script in known[code]}
            conditions[column] = in_wrong_script(model_inputs(layout)[column], scripts)
    return conditions


def audit_scripts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about texts in another script than expected, mojibake excepted. survey: as for texts.audit_texts."""
    findings = []
    for column in layout.text:
        condition = f"{WRONG_SCRIPT} {column}"
        if condition in survey.columns:
            location = (layout.config, split, column)
            is_damaged = pl.col(condition_column("mojibake", "", column))
            findings += findings_where(WRONG_SCRIPT, location, survey, pl.col(condition) & ~is_damaged)
    return findings


def audit_languages(
    layout: tasks.Layout, split: str, expected: Mapping[str, set[str]], batches: Iterable[pl.DataFrame]
) -> list[FindingRows]:
    """The findings about texts in another language than expected. batches: the sampled texts, see languages.sample_texts."""
    schema = {"position": pl.UInt32, "foreign": pl.String}
    parts = {column: [pl.DataFrame(schema=schema)] for column in expected}
    for batch in batches:
        for column, codes in expected.items():
            texts = batch.drop_nulls(column)
            foreign = foreign_languages(texts[column], texts[f"guess {column}"], codes)
            parts[column].append(texts.select("position", foreign))
    findings = []
    for column, frames in parts.items():
        rows = pl.concat(frames)
        counts = rows["foreign"].drop_nulls().value_counts().sort("count", "foreign", descending=[True, False])
        detail = ", ".join(f"{code} {count}" for code, count in counts.iter_rows())
        location = (layout.config, split, column)
        found = findings_where("wrong_language", location, rows, pl.col("foreign").is_not_null(), detail=detail)
        findings += [replace(one, finding=replace(one.finding, texts_checked=rows.height)) for one in found]
    return findings
