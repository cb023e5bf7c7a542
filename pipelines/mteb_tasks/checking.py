"""Checks a task of mteb: its dataset at mteb's revision, read as mteb's metadata say, and these metadata.

mteb's code is not run on the rows. Where a task's class changes them, a note says so, and other numbers of rows than in mteb's
statistics are for information.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from builders import tasks
from builders.errors import SourceError, UsageError
from builders.tasks import EVALUATED
from cards.front_matter import LANGUAGES
from cards.kinds import KINDS
from cards.manifest import Finding
from pipelines.audit.findings import table_finding
from pipelines.audit.tables import count_rows
from pipelines.checking.checks import CheckResult, check_foreign
from pipelines.checking.data_files import belongs_to
from pipelines.checking.datasets import ForeignDataset, ForeignOptions, read_datasets, reading_rows
from pipelines.checking.targets import Target, fetch_tables, list_tables
from pipelines.hub import client, repository
from pipelines.hub.repository import COMMIT, Snapshot
from pipelines.mteb_tasks.registry import describe_dataset, find_tasks, first_reading, load_mteb, own_steps
from pipelines.raw.digests import default_cache

PREFIX = "mteb:"
SUBSETS = "hf_subset_descriptive_stats"  # in mteb's statistics of a split
COUNTS = {"num_samples": "rows", "num_documents": "documents", "num_queries": "queries with judgements"}  # there


def resolve_tasks(name: str) -> list[Target]:
    """The tasks that `mteb:NAME` means. Raises UsageError as find_tasks does."""
    found = find_tasks(name.removeprefix(PREFIX))
    return [Target(f"{PREFIX}{task.metadata.name}", mteb_task=task) for task in found]


def check_task(target: Target, options: ForeignOptions, *, language_sample: int | None) -> list[CheckResult]:
    """Audit the dataset of a task, in the splits that it evaluates and the one it trains on; a result for each subset.

    options: subsets are those of the task to check, all where none is named; task type, languages, columns and scale are mteb's.

    Raises SourceError where the dataset cannot be fetched or read, and for a task of another kind than ours; UsageError for a
    subset that the task does not evaluate.
    """
    task, of = target.mteb_task, target.mteb_task.metadata
    if of.modalities != ["text"] or of.type not in EVALUATED:
        kind = f"{of.type} of {', '.join(of.modalities)}"
        expected = f"{', '.join(EVALUATED)} of text alone"
        raise SourceError("tasks of this type are not supported", where=target.name, found=kind, expected=expected)
    hub, dataset = client.connect(), describe_dataset([task])
    if unknown := sorted({*options.subsets} - {*dataset.subsets}):
        expected = ", ".join(dataset.subsets[:20]) or "no --subset"
        raise UsageError("not a subset of the task", where=target.name, found=", ".join(unknown), expected=expected)
    at, main = (repository.snapshot(hub, dataset.path, revision) for revision in (dataset.revision, repository.MAIN))
    if at is None:
        what = "the Hub does not have the dataset at the revision that mteb reads"
        found = f"main at {main.sha}" if main else "no such repository, or one that needs a token (HF_TOKEN)"
        todo = "set `path` and `revision` in mteb's metadata to a commit that exists"
        raise SourceError(what, where=dataset.path, found=found, expected=dataset.revision, todo=todo)
    front_matter, tables = list_tables(hub, dataset.path, at)
    names = options.subsets or dataset.subsets
    subsets = tuple(name for name in names if any(belongs_to(config, name) for config in tables))
    train = tuple(filter(None, [getattr(task, "train_split", "")]))
    files = fetch_tables(hub, dataset.path, at, default_cache(), subsets=subsets, splits=(*dataset.splits, *train))
    options = replace(
        options, task=of.type, languages=_detectable(of.bcp47_codes), subsets=subsets, train=(*train, "train")[0],
        scale=(float(task.min_score), float(task.max_score)) if of.type == "STS" else None,
    )  # fmt: skip
    ways = [replace(options, columns=dict(columns)) for kind, columns in dataset.readings if kind == of.type]
    notes = [f"mteb {load_mteb().__version__}: {of.type}, evaluated on {', '.join(dataset.splits)} by {of.main_score}"]
    notes += [f"not applied, mteb's own {step}, which may change the rows" for step in own_steps(task)]
    notes += [f"superseded in mteb by {of.superseded_by}"] if of.superseded_by else []
    notes += [f"mteb reads {at.sha}; main is at {main.sha}"] if main and main.sha != at.sha else []
    notes += ["no config has the name of a subset of mteb: read as one dataset"] if names and not subsets else []
    findings = [_differs(detail) for detail in _compare_metadata(of, at, front_matter.get("license") or [])]
    findings += [_missing(name, "", "subset") for name in names if subsets and name not in subsets]
    results = []
    with reading_rows(files):
        for read in first_reading(partial(read_datasets, files, way) for way in ways):
            codes = of.hf_subsets_to_langscripts.get(read.subset, of.bcp47_codes)
            own, spoken = next(iter(read.own_locations.values()))[0], _detectable(codes)
            counts = {split: dict(_count(read, split)) for split in read.task.splits}
            findings += [_missing(own, split, "split") for split in dataset.splits if split not in counts]
            findings += _compare_rows(task, read.subset, own, counts)
            told = [
                f"language not checked, since it cannot be detected: {code}" for code in codes if code not in spoken
            ]
            described = replace(
                read, languages=spoken, findings=(*findings, *read.findings), notes=(*notes, *told, *read.notes)
            )
            result = check_foreign(files.path, target.name, described, options, language_sample)
            about = {"task": of.name, "type": of.type, "repository": dataset.path, "main_score": of.main_score}
            rows = {split: counts.get(split, {}) for split in dataset.splits}
            result.report.update(path=target.name, revision=at.sha, mteb=about | {"rows": rows})
            results.append(result)
            findings = []  # those of the task are listed once
    return results


def _detectable(codes: Sequence[str]) -> tuple[str, ...]:
    return tuple(code for code in codes if code.split("-")[0] in LANGUAGES)


def _missing(config: str, split: str, what: str) -> Finding:
    return table_finding("missing_table", config, split, detail=f"mteb evaluates this {what}")


def _differs(detail: str, config: str = "", split: str = "", count: int = 1, share: float = 1.0) -> Finding:
    kind = KINDS["metadata_differs"]
    return Finding(kind.name, kind.severity, config, split, "", count, share, detail=detail)


def _compare_metadata(of: Any, at: Snapshot, on_card: str | list[str]) -> Iterator[str]:
    """How the revision, the repository and the licence of a task are not those of its dataset. on_card: its licences."""
    path, revision, stated = of.dataset["path"], of.dataset["revision"], of.license or "not specified"
    if not COMMIT.fullmatch(revision):
        yield f"the revision {revision} is not a full commit; it is {at.sha} now"
    if at.repo not in ("", path):
        yield f"the repository is called {at.repo} now"
    licenses = [str(name).lower() for name in (on_card if isinstance(on_card, list) else [on_card])] if on_card else []
    # A licence with an address in mteb is `other` on the Hub.
    if licenses and stated not in ("not specified", *licenses) and not stated.startswith("http"):
        yield f"licence {stated} in mteb, {', '.join(licenses)} on the card"


def _compare_rows(task: Any, subset: str, config: str, counts: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    """The splits with other numbers of rows than in mteb's statistics. config: of the dataset. counts: by split, as in these."""
    for split, ours in counts.items():
        published = (task.metadata.descriptive_stats or {}).get(split, {})
        theirs = published.get(SUBSETS, {}).get(subset, {}) if task.metadata.is_multilingual else published
        for name, count in ours.items():
            if (stated := theirs.get(name, count)) != count:
                difference, detail = abs(count - stated), f"{count:,} {COUNTS[name]}, {stated:,} in mteb's statistics"
                finding = _differs(detail, config, split, difference, difference / max(count, stated))
                yield replace(finding, severity="info") if own_steps(task) else finding


def _count(dataset: ForeignDataset, split: str) -> Iterator[tuple[str, int]]:
    """The rows of a split under mteb's names; of retrieval, what can be read of documents and of queries with judgements."""
    [layout, *others], frames = tasks.layouts(dataset.task), dataset.frames
    corpus, queries, qrels = (frames.get(part, {}).get(split) for part in ("corpus", "queries", "qrels"))
    if not others and split in frames[layout.config]:
        yield "num_samples", count_rows(frames[layout.config][split])
    if corpus is not None:
        yield "num_documents", count_rows(corpus)
    if queries is not None and qrels is not None and "query-id" in qrels.collect_schema():
        yield "num_queries", count_rows(queries.join(qrels.select(id="query-id"), on="id", how="semi"))
