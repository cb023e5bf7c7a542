"""The audit of a dataset that a reader can load: all findings but those of integrity; those that its builder declares are known.

This module only runs the families and sorts what they find. A new kind of finding is a record in cards.kinds, which says what it
means, and a search in its family: texts, many rows (columns and splits), duplicates (leaks too), judgements (labels and training
pairs too) or shortcuts.

Texts are compared whole and exactly, by the numbers that represent them (pipelines.audit.tables); only these numbers are
all in memory at once. The text of a document is its title and text as mteb joins them. One kind is checked on a sample of large
tables unless all rows are requested: detecting the language of every text would take longer than building the dataset.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import polars as pl

from builders import tasks
from builders.errors import FindingsError
from builders.spec import KnownFinding
from cards.kinds import KINDS, SAMPLE
from cards.manifest import SEVERITIES, Finding
from pipelines.audit.belonging import find_unrelated_pairs
from pipelines.audit.copies.duplicates import (
    audit_duplicates,
    audit_leaks,
    find_identical_pairs,
    find_near_duplicates_by_split,
)
from pipelines.audit.findings import FindingRows, with_examples
from pipelines.audit.judgements import (
    audit_judgements,
    audit_labels,
    audit_training_pairs,
    find_sorted_labels,
    with_folded_texts,
)
from pipelines.audit.languages import SampledTexts, sample_texts
from pipelines.audit.many_rows import audit_many_rows
from pipelines.audit.shortcuts import find_candidate_shortcuts, find_label_shortcuts, find_leaking_columns
from pipelines.audit.survey import Surveys, survey_tables
from pipelines.audit.tables import Frames, model_inputs, text_layouts
from pipelines.audit.texts import audit_languages, audit_scripts, audit_texts, expected_languages
from pipelines.process.stages import counted, stage


def audit_tables(
    task: tasks.Task,
    frames: Frames,
    splits: tuple[str, ...],
    languages: tuple[str, ...] = (),
    *,
    surveys: Mapping[tuple[str, str], pl.DataFrame] | None = None,
    sampled_texts: Callable[[], SampledTexts] | None = None,
    language_sample: int | None = SAMPLE,
) -> list[FindingRows]:
    """All findings of a dataset without integrity errors, with their rows.

    frames: config -> split -> lazy frame. splits: those to audit. languages: the dataset's, as mteb writes them (`rus-Cyrl`);
    without any, languages are not checked (those of a bitext always are, by its pair). surveys, sampled_texts: what survey_tables
    returns, and a function that returns what languages.sample_tables does, if the caller has them. language_sample: the number of
    rows of each table whose language is checked; None for all. The findings are sorted by severity, then by kind in the order of
    KINDS, then by config in the order of the task's layouts, by split in the order of the task, and by column.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    splits = tuple(split for split in task.splits if split in splits)
    surveys = survey_tables(task, frames, splits, languages) if surveys is None else surveys

    def find_foreign_texts(layout: tasks.Layout, split: str, expected: Mapping[str, set[str]]) -> list[FindingRows]:
        if sampled_texts is not None and language_sample == SAMPLE:
            batches: Iterable[pl.DataFrame] = [sampled_texts()[layout.config, split]]
        else:
            batches = sample_texts(frames[layout.config][split], model_inputs(layout), language_sample)
        with stage("audit of languages", unit="rows") as advance:
            return audit_languages(layout, split, expected, counted(batches, advance))

    with ThreadPoolExecutor(1) as executor:  # language detection keeps one core busy; the other families use the rest
        pending = [
            executor.submit(find_foreign_texts, layout, split, expected)
            for layout in text_layouts(task)
            if any((expected := expected_languages(task, layout, languages)).values())
            for split in splits
        ]
        findings = _audit_families(task, frames, splits, surveys)
        findings += [finding for future in pending for finding in future.result()]
    return with_examples(_sort_findings(findings, task, splits), frames)


def _audit_families(
    task: tasks.Task,
    frames: Frames,
    splits: tuple[str, ...],
    surveys: Mapping[tuple[str, str], pl.DataFrame],
) -> list[FindingRows]:
    """The findings of all families except wrong_language."""
    findings, corpora = [], dict[str, pl.DataFrame]()
    for layout in text_layouts(task):
        by_split = {split: surveys[layout.config, split] for split in splits}
        for split, survey in by_split.items():
            findings += audit_texts(layout, split, survey)
            findings += audit_scripts(layout, split, survey)
        with stage("audit of many rows"):
            findings += audit_many_rows(task, layout, frames, by_split)
        # Two splits may share a corpus: documents cannot leak.
        groups: list[Surveys] = (
            [{split: by_split[split]} for split in splits] if layout.config == "corpus" else [by_split]
        )
        for group in groups:
            near_duplicates = find_near_duplicates_by_split(layout, frames[layout.config], group)
            if layout.config == "corpus":
                corpora |= {split: with_folded_texts(group[split], near_duplicates[split, split]) for split in group}
            with stage("audit of duplicates and leaks"):
                findings += audit_duplicates(task, layout, group, near_duplicates)
                findings += audit_leaks(task, layout, group, near_duplicates)
        with stage("audit of labels"):
            findings += audit_labels(task, layout, frames, by_split)
    for split in splits:
        if isinstance(task, tasks.Contrastive):
            with stage("audit of training pairs"):
                for config in task.configs:
                    findings += audit_training_pairs(frames[config][split], config, split)
        elif ("default", split) in surveys:
            with stage("audit of labels"):
                findings += find_identical_pairs(task, surveys["default", split], split)
                findings += find_leaking_columns(task, frames, split)
                findings += find_label_shortcuts(task, frames, surveys["default", split], split)
                findings += find_sorted_labels(task, surveys["default", split], ("default", split, task.type.label))
        with stage("audit of pairs"):
            findings += find_unrelated_pairs(task, frames, split)
        if split in corpora:
            with stage("audit of judgements"):
                findings += audit_judgements(task, frames, split, corpora[split])
        if isinstance(task, tasks.Reranking):
            with stage("audit of candidates"):
                findings += find_candidate_shortcuts(frames, split, surveys["corpus", split])
    return findings


def _sort_findings(findings: list[FindingRows], task: tasks.Task, splits: tuple[str, ...]) -> list[FindingRows]:
    configs, kinds = [layout.config for layout in tasks.layouts(task)], list(KINDS)

    def sort_key(found: FindingRows) -> tuple[int, int, int, int, str]:
        finding = found.finding
        location = configs.index(finding.config), splits.index(finding.split), finding.column
        return SEVERITIES.index(finding.severity), kinds.index(finding.kind), *location

    return sorted(findings, key=sort_key)


def explain_findings(findings: Sequence[Finding], known_findings: Sequence[KnownFinding]) -> list[Finding]:
    """The findings, the known ones with the reason why they stay (`why`)."""
    return [
        replace(finding, why=next((known.why for known in known_findings if _matches(finding, known)), finding.why))
        for finding in findings
    ]


def declare_by_design(findings: Sequence[Finding], by_design: Mapping[str, str]) -> list[Finding]:
    """The findings, those of some kinds as implied by the design of the dataset: for information, with the reason of the kind.

    by_design: the reason by kind. An error stays an error: whatever the design, it breaks readers.
    """
    return [
        replace(finding, severity="info", by_design=True, why=by_design[finding.kind])
        if finding.kind in by_design and finding.severity != "error"
        else finding
        for finding in findings
    ]


def verify_known_findings(
    release: str, findings: Sequence[Finding], known_findings: Sequence[KnownFinding], module: str
) -> None:
    """Check that every known finding occurs with exactly the declared count.

    release: `<dataset>@<version>`; module: that of the builder; both for the error.

    Raises FindingsError with the counts that differ.
    """
    counts = [
        (known, sum(finding.count for finding in findings if _matches(finding, known))) for known in known_findings
    ]
    changes = [(known, count) for known, count in counts if count != known.count]
    if changes:
        raise FindingsError(
            f"{release}: {len(changes)} of {len(known_findings)} known findings are not as declared",
            found="; ".join(f"{_describe(known)}: {count:,}" for known, count in changes),
            expected="; ".join(f"{_describe(known)}: {known.count:,}" for known, _ in changes),
            todo=f"inspect the rows, then fix the recipe in a new version or correct `known` in {module}",
        )


def known_findings_of_splits(known_findings: Sequence[KnownFinding], splits: Sequence[str]) -> tuple[KnownFinding, ...]:
    """The known findings that a release of some splits must have. Leaks are left out: they need all splits."""
    leaks = ("split_leak", "near_leak", "contained_text")
    within_a_split = [
        known for known in known_findings if known.kind not in leaks and not known.detail.startswith("in ")
    ]
    return tuple(known for known in within_a_split if known.location.split("/")[1].split(".")[0] in splits)


def _matches(finding: Finding, known_finding: KnownFinding) -> bool:
    is_same = (finding.kind, finding.location) == (known_finding.kind, known_finding.location)
    return is_same and known_finding.detail in ("", finding.detail)


def _describe(known_finding: KnownFinding) -> str:
    detail = f" ({known_finding.detail})" if known_finding.detail else ""
    return f"{known_finding.kind} in {known_finding.location}{detail}"
