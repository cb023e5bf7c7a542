"""What is wrong with a dataset that can be read: found in all rows of all splits, told on its card.

What breaks a reader is an error and is found by audit.integrity. The kinds found here (audit.kinds) are warnings, which
bend a score or spoil a text: a maintainer mends them in a next version or knows why they stay; and infos, which many a sound
dataset has.

Texts are compared whole and exactly, by numbers that stand for them (pipelines.audit.statistics.telling_seed). A document's text
is its title and text as mteb joins them. The texts are never all in memory at once; a few numbers of each are.

One kind alone looks at a sample, unless it is asked for all: to tell the language of every text would take longer than to build
the dataset.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from cards.front_matter import language
from cards.manifest import SEVERITIES, Severity
from pipelines.audit import judgements, leaks
from pipelines.audit.kinds import KINDS, MANY_TIMES
from pipelines.audit.languages import SAMPLE, foreign_languages, sample_texts
from pipelines.audit.statistics import hash_seed, model_input
from pipelines.audit.survey import findings_where, survey_tables, text_layouts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cards.manifest import Finding
    from pipelines.audit.integrity import Frames
    from pipelines.audit.statistics import LanguageSamples


def audit_rows(
    task: tasks.Task,
    frames: Frames,
    splits: tuple[str, ...],
    languages: tuple[str, ...] = (),
    *,
    seed: int | None = None,
    heard: LanguageSamples | None = None,
    language_sample: int | None = SAMPLE,
) -> list[Finding]:
    """All findings of a dataset that pipelines.audit.integrity has passed.

    frames: config -> split -> lazy frame. splits: those to look at. languages: the dataset's, as mteb writes them
    (`rus-Cyrl`); with none, no text is in a wrong one (but the sides of a bitext have their languages by its pair). seed,
    heard: those of `seed_of` and `heard_of` in audit.statistics, where they are known. language_sample: of how many rows
    of each table the language is told; None: of all. Findings come by severity, then by kind as in KINDS, then by config as in
    the task's layouts, split as in the task, and column.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    splits = tuple(split for split in task.splits if split in splits)
    seed = hash_seed(task, frames) if seed is None else seed
    surveys = survey_tables(task, frames, splits, seed)

    def batches(layout: tasks.Layout, split: str) -> Iterable[pl.DataFrame]:
        if heard is not None and language_sample == SAMPLE:
            return [heard[layout.config, split]]
        texts = {column: model_input(layout.config, column) for column in layout.text}
        return sample_texts(frames[layout.config][split], texts, surveys[layout.config, split]["id"], language_sample)

    with ThreadPoolExecutor(1) as beside:  # a detector keeps one core busy, the other checks have the rest
        spoken = [
            beside.submit(_languages, batches(layout, split), expected, layout, split)
            for layout in text_layouts(task)
            if any((expected := _expected(task, layout, languages)).values())
            for split in splits
        ]
        found = _found(task, frames, splits, surveys, seed)
        return _ordered([*found, *(one for telling in spoken for one in telling.result())], task, splits)


def _found(
    task: tasks.Task,
    frames: Frames,
    splits: tuple[str, ...],
    surveys: Mapping[tuple[str, str], pl.DataFrame],
    seed: int,
) -> list[Finding]:
    """All findings but those of languages."""
    found = []
    for layout in text_layouts(task):
        tables, known = frames[layout.config], {split: surveys[layout.config, split] for split in splits}
        for split in splits:
            found += _texts(task, known[split], layout, split)
        if layout.config == "corpus":  # of two splits it may be the same
            for split in splits:
                found += leaks.find_near_matches(tables, {split: known[split]}, layout)
        else:
            found += leaks.find_leaks(known, layout) + leaks.find_near_matches(tables, known, layout)
        if isinstance(task, tasks.PairClassification | tasks.STS):
            found += leaks.find_swapped_pairs(known, layout)
    for split in splits:
        if isinstance(task, tasks.Retrieval | tasks.Reranking):
            documents = surveys["corpus", split]
            found += judgements.find_judgement_findings(
                task, frames, split, documents.select("same", **{"corpus-id": "id"})
            )
            found += judgements.find_queries_in_corpus(frames, split, documents, seed)
        if task.type.label:
            found += judgements.find_conflicting_labels(surveys["default", split], ("default", split, task.type.label))
        if task.type.label and not isinstance(task, tasks.STS):
            found += judgements.find_label_imbalance(
                task, frames["default"][split], ("default", split, task.type.label)
            )
    return found


def _ordered(found: list[Finding], task: tasks.Task, splits: tuple[str, ...]) -> list[Finding]:
    configs, kinds = [layout.config for layout in tasks.layouts(task)], list(KINDS)

    def place(finding: Finding) -> tuple[int, int, int, int, str]:
        where = configs.index(finding.config), splits.index(finding.split), finding.column
        return SEVERITIES.index(finding.severity), kinds.index(finding.kind), *where

    return sorted(found, key=place)


def _texts(task: tasks.Task, survey: pl.DataFrame, layout: tasks.Layout, split: str) -> list[Finding]:
    """What is wrong with texts by themselves and among those of their split."""

    found = []
    by_design: Severity | None = "info" if isinstance(task, tasks.Reranking) or len(layout.text) > 1 else None
    for column in layout.text:
        place = (layout.config, split, column)
        for kind in ("empty_text", "short_text", "html_residue", "encoding_residue"):
            found += findings_where(kind, place, survey, pl.col(f"{kind} {column}"))
        again = ~pl.col(f"number {column}").is_first_distinct()
        found += findings_where("duplicate_text", place, survey, again, severity=by_design)
        found += _outliers(survey, f"length {column}", place)
    if len(layout.text) > 1:
        found += findings_where(
            "duplicate_pair", (layout.config, split, ""), survey, ~pl.col("same").is_first_distinct()
        )
    return found


def _outliers(survey: pl.DataFrame, column: str, place: tuple[str, str, str]) -> list[Finding]:

    lengths = survey[column].filter(survey[column] > 0).sort()
    if lengths.is_empty():
        return []
    median, longest = lengths[lengths.len() // 2], lengths[-1]
    detail = f"median {median} characters, longest {longest}"
    return findings_where("length_outlier", place, survey, pl.col(column) > MANY_TIMES * median, detail=detail)


def _expected(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, set[str]]:
    """The languages that each column of texts may be in, as ISO 639-1 codes."""
    if isinstance(task, tasks.BitextMining):
        return {column: {side} for column, side in zip(layout.text, task.pair.split("-"), strict=True)}
    return {column: {language(code)[0] for code in languages} for column in layout.text}


def _languages(
    batches: Iterable[pl.DataFrame], expected: Mapping[str, set[str]], layout: tasks.Layout, split: str
) -> list[Finding]:
    """Texts in a language that their column should not hold."""

    schema = {"id": pl.String, "other": pl.String}
    named = {column: [pl.DataFrame(schema=schema)] for column in expected}
    for rows in batches:
        for column, known in expected.items():
            answers = rows.drop_nulls(column)
            others = pl.Series("other", foreign_languages(answers[column], known), pl.String)
            named[column].append(answers.select("id", others))
    found = []
    for column, parts in named.items():
        answers = pl.concat(parts)
        counts = answers["other"].drop_nulls().value_counts().sort("count", "other", descending=[True, False])
        told = ", ".join(f"{other} {count}" for other, count in counts.iter_rows())
        detail = f"{told}; texts looked at: {answers.height:,}"
        place = (layout.config, split, column)
        found += findings_where("wrong_language", place, answers, pl.col("other").is_not_null(), detail=detail)
    return found
