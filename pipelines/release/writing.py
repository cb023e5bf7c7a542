"""A release written from raw files: recipe, Parquet, audit, statistics, card, Croissant, manifest; or from its own rows."""

import encodings.utf_32_le  # noqa: F401 - a codec is imported when first used: not in a thread, where Ctrl-C can block it
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import polars as pl

from builders import tasks
from builders.catalogue import Definition
from builders.errors import FindingsError, ReleaseError
from builders.licenses import permits_derivatives
from builders.published import select_published
from builders.spec import AS_PUBLISHED, Dropped, Raw, RawFiles, Tables
from cards.croissant import render_croissant
from cards.evidence import Evidence
from cards.manifest import Finding, Manifest, Table, encode
from cards.render import render
from cards.scores import Scores, encode_scores, with_scores
from cards.statistics import to_json
from pipelines.audit import integrity, quality, statistics
from pipelines.audit.findings import FindingRows
from pipelines.audit.languages import sample_tables
from pipelines.audit.survey import survey_tables
from pipelines.audit.tables import Frames
from pipelines.process.files import link_or_copy
from pipelines.process.stages import read_stages, stage
from pipelines.raw.pins import is_waiting
from pipelines.release import fingerprint, folder, ledger, parquet
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.examples import choose_examples, quote_findings
from pipelines.release.figures import count_agreeing
from pipelines.release.finding_files import report_rows, reported_before, write_findings
from pipelines.release.shared_texts import shared_with_others

SCRATCH = ".scratch"  # inside the staging folder, which the next build removes if this one is killed


def write_release(
    definition: Definition,
    planned: Manifest,
    raw: Mapping[str, Raw],
    release_dir: Path,
    checkpoints: Path | None,
    *,
    findings_dir: Path | None = None,
    scores: Scores | None = None,
) -> Manifest:
    """Write a release into an empty folder: run the recipe, write its tables, read them back, audit and describe them.

    raw: the raw files by key. checkpoints: a folder that outlives the build, for a dataset with checkpoints. findings_dir:
    where to write the rows of all findings, also of those that no release may have. scores: of the release before this one;
    they are kept if its rows are the same. Returns the manifest, which is written last: a folder with a manifest is complete.

    Raises SourceError or RecipeError where the recipe does, FindingsError for findings that no release may have and for known
    findings that differ from the declared ones, ReleaseError for what cannot be written or does not read back.
    """
    tables, written = _run_recipe(definition, planned, raw, release_dir, checkpoints)
    manifest = _with_tables(planned, written, tables.dropped, tables.observed)
    reported = partial(report_rows, tables.reported)
    return _describe(definition, manifest, release_dir, reported, findings_dir=findings_dir, scores=scores)


def write_again(
    definition: Definition,
    planned: Manifest,
    old: Manifest,
    old_dir: Path,
    release_dir: Path,
    *,
    findings_dir: Path | None = None,
    scores: Scores | None = None,
) -> Manifest:
    """Write a release with the rows of an earlier one into an empty folder: all but its data files is new.

    old, old_dir: the earlier release; its data files are linked, and must hold the rows of its manifest. The rest is as for
    `write_release`.
    """
    for table in old.tables:
        for file in table.files:
            (release_dir / file.path).parent.mkdir(exist_ok=True)
            link_or_copy(old_dir / file.path, release_dir / file.path)
    manifest = _with_tables(planned, old.tables, old.dropped, old.observed)
    reported = reported_before(old)
    return _describe(definition, manifest, release_dir, lambda _: reported, findings_dir=findings_dir, scores=scores)


def _describe(
    definition: Definition,
    manifest: Manifest,
    release_dir: Path,
    reported: Callable[[Frames], list[FindingRows]],
    *,
    findings_dir: Path | None,
    scores: Scores | None,
) -> Manifest:
    """Audit and describe the tables of a release, whose files are in its folder; the manifest, completed, is written last.

    reported: the findings that the recipe reports.
    """
    frames = folder.open_tables(release_dir, manifest.tables)
    with ThreadPoolExecutor(1) as background:  # large files take a while to delete
        deleted = background.submit(_remove_scratch, release_dir)
        found, described = _audit(definition, manifest, frames, release_dir)
        found += reported(frames)
        deleted.result()
    if findings_dir is not None:
        write_findings(findings_dir, found)
    _refuse_errors(manifest, [rows.finding for rows in found])
    findings = _with_known(definition, manifest, [rows.finding for rows in found])
    manifest = replace(manifest, findings=tuple(findings))
    folder.write_json(release_dir / folder.STATISTICS, described)
    with stage("card"):
        card = render(definition, manifest, described, _evidence(definition, manifest, described, frames, found))
    if scores is not None and scores.content_sha256 == manifest.content_sha256:
        card = with_scores(card, scores)
        (release_dir / folder.SCORES).write_bytes(encode_scores(scores))
    (release_dir / folder.CARD).write_text(card, encoding="utf-8", newline="\n")
    croissant = render_croissant(definition, manifest)
    (release_dir / folder.CROISSANT).write_text(croissant, encoding="utf-8", newline="\n")
    manifest = replace(manifest, documents=folder.describe_documents(release_dir))
    (release_dir / folder.MANIFEST).write_bytes(encode(manifest))
    return manifest


def _remove_scratch(release_dir: Path) -> None:
    if (release_dir / SCRATCH).is_dir():
        shutil.rmtree(release_dir / SCRATCH)


def _run_recipe(
    definition: Definition, planned: Manifest, raw: Mapping[str, Raw], release_dir: Path, checkpoints: Path | None
) -> tuple[Tables, list[Table]]:
    """What a recipe returns, without its frames, and their files. What it wrote into the folder SCRATCH is left there."""
    scratch = release_dir / SCRATCH
    scratch.mkdir()
    with read_stages(raw) as files:  # until the tables are written: a lazy one reads its files only then
        with stage("making rows"):
            given = RawFiles(planned.splits, files, scratch, checkpoints)
            dataset = definition.dataset
            recipe = partial(select_published, dataset) if planned.version == AS_PUBLISHED else dataset.recipe
            tables = recipe(given, **planned.recipe.options)
        written = [
            parquet.write_table(frame, release_dir, config, split)
            for config, splits in tables.frames.items()
            for split, frame in splits.items()
        ]
    return replace(tables, frames={}), written  # the audit reads the files: the rows need not be in memory meanwhile


def _audit(
    definition: Definition,
    manifest: Manifest,
    frames: dict[str, dict[str, pl.LazyFrame]],
    release_dir: Path,
) -> tuple[list[FindingRows], dict[str, dict[str, object]]]:
    """The findings and the statistics of tables, which are read back from their files meanwhile.

    Tables with findings that no release may have are audited no further and have no statistics.

    Raises ReleaseError for files that hold other rows than were written.
    """
    task, splits = definition.dataset.task, manifest.splits
    with ThreadPoolExecutor(2) as background:  # none of the readers of the rows keeps all cores busy
        read_back = background.submit(_read_back, manifest.tables, release_dir)
        try:
            found = integrity.audit_integrity(task, frames, splits, sample=manifest.sample)
            if any(rows.finding.severity == "error" for rows in found):
                return found, {}
            sampled_texts = background.submit(sample_tables, task, frames).result
            languages = definition.dataset.languages
            surveys = survey_tables(task, frames, splits, languages)
            description = background.submit(statistics.describe_tables, task, frames, surveys, sampled_texts)
            found += quality.audit_tables(task, frames, splits, languages, surveys=surveys, sampled_texts=sampled_texts)
            return found, to_json(description.result())
        finally:
            read_back.result()  # rows that differ from what was written explain every other error


def _read_back(written: Sequence[Table], release_dir: Path) -> None:
    for table in written:
        if parquet.hash_table(release_dir, table).hexdigest() != table.content_sha256:
            raise ReleaseError("the files do not read back as the rows that were written", where=table.location)


def _with_known(definition: Definition, manifest: Manifest, findings: list[Finding]) -> list[Finding]:
    """The findings, known ones and those by design with their reason.

    Raises FindingsError where complete raw files give other known findings than the version declares.
    """
    declared, by_design = definition.dataset.versions[manifest.version].known, definition.dataset.by_design
    if manifest.sample:
        return quality.declare_by_design(findings, by_design)
    if manifest.partial:
        declared = quality.known_findings_of_splits(declared, manifest.splits)
    quality.verify_known_findings(manifest.name, findings, declared, definition.entry.module)
    return quality.declare_by_design(quality.explain_findings(findings, declared), by_design)


def _with_tables(
    planned: Manifest, written: Sequence[Table], dropped: tuple[Dropped, ...], observed: Mapping[str, int]
) -> Manifest:
    """The manifest of a planned release with its tables, without findings and documents."""
    hashes = {(table.config, table.split): table.content_sha256 for table in written}
    return replace(
        planned,
        content_sha256=dataset_sha256(hashes),
        tables=tuple(written),
        dropped=dropped,
        observed=dict(observed),
        tools=fingerprint.tools_and_commit(),
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _evidence(
    definition: Definition,
    manifest: Manifest,
    described: dict[str, dict[str, object]],
    frames: dict[str, dict[str, pl.LazyFrame]],
    found: Sequence[FindingRows],
) -> Evidence:
    """What the card shows of the rows; no texts of a source whose licence forbids derivatives."""
    task, agreement = definition.dataset.task, count_agreeing(manifest, described)
    comparison = shared_with_others(manifest.dataset, manifest.content_sha256)
    status = ledger.release_status(manifest)
    waiting = tuple(version for version in definition.dataset.versions if is_waiting(definition, version))
    if not (manifest.made_up or permits_derivatives(definition.license)):
        return Evidence(agreement=agreement, quotable=False, comparison=comparison, status=status, waiting=waiting)
    evaluated = tasks.evaluated_split(task)
    split = evaluated if evaluated in manifest.splits else manifest.splits[-1]
    examples, quotes = choose_examples(task, frames, split, found), quote_findings(task, frames, found)
    return Evidence(examples, quotes, agreement, comparison=comparison, status=status, waiting=waiting)


def _refuse_errors(manifest: Manifest, findings: list[Finding]) -> None:
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors:
        return
    lines = [
        f"{error.kind} in {error.location}: {error.count}"
        + (f" ({', '.join(error.examples)})" if error.examples else "")
        + (f" [{error.detail}]" if error.detail else "")
        for error in errors
    ]
    raise FindingsError(
        f"{manifest.name}: {len(errors)} blocking defect{'s' if len(errors) > 1 else ''}",
        found="; ".join(lines),
        todo="fix the recipe; if the raw files are as published, report it to the maintainers",
    )
