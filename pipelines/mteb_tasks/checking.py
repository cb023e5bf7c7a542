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
from cards.front_matter import LANGUAGES
from cards.manifest import Finding, Severity
from pipelines.audit.findings import table_finding
from pipelines.audit.tables import count_rows
from pipelines.checking.checks import CheckResult, check_foreign
from pipelines.checking.data_files import belongs_to
from pipelines.checking.datasets import ForeignDataset, ForeignOptions, read_datasets, reading_rows
from pipelines.checking.targets import Target, fetch_tables, list_tables
from pipelines.hub import client, repository
from pipelines.mteb_tasks.registry import describe_dataset, find_tasks, first_reading, load_mteb, own_steps
from pipelines.raw.digests import default_cache

PREFIX = "mteb:"
SUBSETS = "hf_subset_descriptive_stats"  # in mteb's statistics of a split
COUNTS = {"num_samples": "rows", "num_documents": "documents", "num_queries": "queries with judgements"}  # there


def resolve_tasks(name: str) -> list[Target]:
    """The tasks that `mteb:NAME` means. Raises UsageError as find_tasks does."""
    return [Target(f"{PREFIX}{task.metadata.name}", mteb_task=task) for task in find_tasks(name.removeprefix(PREFIX))]


def check_task(target: Target, options: ForeignOptions, *, language_sample: int | None) -> list[CheckResult]:
    """Audit the dataset of a task, in the splits that it evaluates and the one it trains on; a result for each subset.

    options: subsets are those of the task to check, all where none is named; task type, languages, columns and scale are mteb's.

    Raises SourceError where the dataset cannot be fetched or read, and for a task of another kind than ours; UsageError for a
    subset that the task does not evaluate.
    """
    task, of = target.mteb_task, target.mteb_task.metadata
    if of.modalities != ["text"] or of.type not in tasks.EVALUATED:
        raise SourceError(
            "tasks of this type are not supported",
            where=target.name,
            found=f"{of.type} of {', '.join(of.modalities)}",
            expected=f"{', '.join(tasks.EVALUATED)} of text alone",
        )
    hub, dataset = client.connect(), describe_dataset([task])
    if unknown := sorted({*options.subsets} - {*dataset.subsets}):
        raise UsageError(
            "not a subset of the task",
            where=target.name,
            found=", ".join(unknown),
            expected=", ".join(dataset.subsets[:20]) or "no --subset",
        )
    at, main = (repository.snapshot(hub, dataset.path, revision) for revision in (dataset.revision, repository.MAIN))
    if at is None:
        raise SourceError(
            "the repository lacks the revision of mteb" if main else "no such repository on the Hub, or a private one",
            where=dataset.path,
            found=f"main at {main.sha}" if main else None,
            expected=dataset.revision,
            todo="set `path` and `revision` in mteb's metadata to a commit",
        )
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
    steps = own_steps(task)
    notes = [
        f"mteb {load_mteb().__version__}: {of.type}, evaluated on {', '.join(dataset.splits)} by {of.main_score}",
        *(f"not applied, mteb's own {step}, which may change the rows" for step in steps),
        *([f"superseded in mteb by {of.superseded_by}"] if of.superseded_by else []),
        *([f"mteb reads {at.sha}; main is at {main.sha}"] if main and main.sha != at.sha else []),
        *(["no config has the name of a subset of mteb: read as one dataset"] if names and not subsets else []),
    ]
    with reading_rows(files):
        readings = first_reading(partial(read_datasets, files, way) for way in ways)
        lacking = sorted({*names} - {read.subset for read in readings}) if subsets else []
        findings = [
            *(table_finding("metadata_differs", "", detail=text) for text in _compare_metadata(of, at, front_matter)),
            *(table_finding("missing_table", name, detail="mteb evaluates this subset") for name in lacking),
        ]
        results = []
        for read in readings:
            codes = of.hf_subsets_to_langscripts.get(read.subset, of.bcp47_codes)
            spoken, own = _detectable(codes), next(iter(read.own_locations.values()))[0]
            counts = {split: _count(read, split) for split in read.task.splits}
            findings += [
                *(
                    table_finding("missing_table", own, split, detail="mteb evaluates this split")
                    for split in dataset.splits
                    if split not in counts
                ),
                *_compare_rows(of, read.subset, own, counts, "info" if steps else "warning"),
                # What mteb's own code may convert is an error for other readers alone.
                *(
                    replace(finding, severity="info") if finding.kind == "wrong_type" and steps else finding
                    for finding in read.findings
                ),
            ]
            told = [f"language that cannot be detected, not checked: {code}" for code in codes if code not in spoken]
            described = replace(read, languages=spoken, findings=tuple(findings), notes=(*notes, *told, *read.notes))
            results.append(check_foreign(files.path, target.name, described, options, language_sample))
            about = {
                "task": of.name,
                "repository": dataset.path,
                "main_score": of.main_score,
                "rows": {split: counts.get(split, {}) for split in dataset.splits},
            }
            results[-1].report.update(path=target.name, revision=at.sha, mteb=about)
            findings = []  # those of the task are listed once
    return results


def _detectable(codes: Sequence[str]) -> tuple[str, ...]:
    return tuple(code for code in codes if code.split("-")[0] in LANGUAGES)


def _compare_metadata(of: Any, at: repository.Snapshot, front_matter: Mapping[str, Any]) -> list[str]:
    """How the revision, the repository and the licence of a task are not those of its dataset."""
    path, revision, license_ = of.dataset["path"], of.dataset["revision"], of.license or "not specified"
    declared = front_matter.get("license") or []
    on_card = [str(name).lower() for name in (declared if isinstance(declared, list) else [declared])]
    # A licence with an address in mteb is `other` on the Hub.
    other = on_card and not license_.startswith("http") and license_ not in ("not specified", *on_card)
    return [
        *(
            []
            if repository.COMMIT.fullmatch(revision)
            else [f"the revision {revision} is not a full commit; it is {at.sha} now"]
        ),
        *([] if at.repo in ("", path) else [f"the repository is called {at.repo} now"]),
        *([f"licence {license_} in mteb, {', '.join(on_card)} on the card"] if other else []),
    ]


def _compare_rows(
    of: Any, subset: str, config: str, counts: Mapping[str, Mapping[str, int]], severity: Severity
) -> Iterator[Finding]:
    """The splits with other numbers of rows than in mteb's statistics. config: of the dataset. counts: by split, as in these."""
    for split, ours in counts.items():
        published = (of.descriptive_stats or {}).get(split, {})
        theirs = published.get(SUBSETS, {}).get(subset, {}) if of.is_multilingual else published
        for name in [name for name in ours if theirs.get(name, ours[name]) != ours[name]]:
            least, most = sorted((ours[name], theirs[name]))
            detail = f"{ours[name]:,} {COUNTS[name]}, {theirs[name]:,} in mteb's statistics"
            yield Finding(
                "metadata_differs", severity, config, split, "", most - least, 1 - least / most, detail=detail
            )


def _count(dataset: ForeignDataset, split: str) -> dict[str, int]:
    """The rows of a split under mteb's names; of retrieval, what can be read of documents and of queries with judgements."""
    layouts, frames = tasks.layouts(dataset.task), dataset.frames
    tables = {part: frames.get(part, {}).get(split) for part in ("corpus", "queries", "qrels", layouts[0].config)}
    counted = {"num_samples": tables[layouts[0].config]} if len(layouts) == 1 else {"num_documents": tables["corpus"]}
    if tables["queries"] is not None and tables["qrels"] is not None and "query-id" in tables["qrels"].collect_schema():
        judged = tables["qrels"].select(id="query-id")
        counted["num_queries"] = tables["queries"].join(judged, on="id", how="semi")
    return {name: count_rows(frame) for name, frame in counted.items() if frame is not None}
