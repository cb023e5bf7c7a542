"""embedding-datasets build NAME... : from raw files to releases."""

from __future__ import annotations

import difflib
import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import DatasetError, PublishError, SourceError, UsageError
from pipelines import command
from pipelines.process import interrupts

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from pipelines.build_report.recording import Record
    from pipelines.build_report.redaction import Failure
    from pipelines.hub.commits import Publication
    from pipelines.hub.planning import Plan
    from pipelines.make import BuildResult, BuildSettings

EXAMPLES = """\
  embedding-datasets build rubq --sample                      from the golden sample: no network, seconds
  embedding-datasets build europarl cedr --raw-dir DIR        from raw files in DIR/document_mt/..., DIR/cedr/...
  embedding-datasets build rubq-retrieval@1.0.0               one dataset, one version
  embedding-datasets build hhrlhf-harmlessness --splits test  only what one split needs; marked as partial
  embedding-datasets build hellaswag --raw-dir DIR --unpinned hellaswag/hellaswag_val.jsonl    from a part of the file
  embedding-datasets build cedr --push ORG                    build, check and publish as ORG/cedr-classification
  embedding-datasets build all --dry-run                      show what would be done, and from which files"""

logger = logging.getLogger(__name__)
Names = list[tuple[str, str]]  # datasets of one source, with their versions


def main() -> int:
    """Build what the command line names; returns the exit code: that of the first dataset that failed, if any did."""
    options = command.parse(parser(), _find_mistakes)
    if options.sample and "polars" not in sys.modules:  # of a few rows, what other threads do takes longer to hand over
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from builders.spec import AS_PUBLISHED
    from pipelines.build_report.redaction import Failure, failure_of
    from pipelines.make import BuildSettings
    from pipelines.raw.missing_files import large_download

    datasets = command.resolve_datasets(options.names)
    datasets = command.all_versions(datasets, options.names) if options.all_versions else datasets
    signer = command.statement_signer(options, len(datasets))
    raw = replace(command.raw_settings(options), unpinned=tuple(options.unpinned))
    _require_files(datasets, options.unpinned)
    others = [f"{definition.dataset.name}@{version}" for definition, version in datasets if version != AS_PUBLISHED]
    if options.partial and others:
        todo = f"name {others[0].partition('@')[0]}@{AS_PUBLISHED}, or leave it out"
        raise UsageError(f"--partial is for versions {AS_PUBLISHED}", found=others[0], todo=todo)
    settings = BuildSettings(
        options.output,
        raw,
        options.splits,
        options.sample,
        options.limit,
        options.force,
        options.findings,
        partial=options.partial,
    )
    if options.dry_run:
        return _dry_run(datasets, settings, options.push, as_json=options.json)
    if not options.sample and (much := large_download(datasets, options.splits, raw)):
        command.confirm(much, yes=options.yes)
    # Before hours of building: is publishing permitted at all?
    push = _pusher(options.push, record=not options.no_record) if options.push else None
    codes = list[int]()
    with _recorded(datasets, settings, options.report) as record:
        for (definition, version), result in zip(
            datasets, _results(datasets, settings, jobs=options.jobs), strict=True
        ):
            name = definition.dataset.name
            if isinstance(result, Failure):
                record("failed", None, result)  # which logs the error
                codes.append(
                    command.print_failure(result.error, True, as_json=options.json, dataset=name, version=version)
                )
                continue
            failure, publication = None, None
            if push is not None:
                try:
                    publication = push(result)
                except DatasetError as error:
                    failure = failure_of(error)
            record(result.state, result.manifest, failure)
            if options.attest:
                from pipelines.release import statements

                provenance = statements.provenance(result.release_dir, result.manifest, options.by)
                command.write_statement(options.attest, provenance, signer)
            _show(result, publication, as_json=options.json, brief=len(datasets) > 1 and not options.verbose)
            if failure is not None:
                command.print_failure(failure.error, as_json=options.json, dataset=name, version=version)
                codes.append(PublishError.exit_code)
    return next(iter(codes), 0)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("build", "Build datasets: raw files in, releases out.", EXAMPLES)
    arguments.add_argument("names", nargs="+", metavar="NAME", help=f"{command.NAMES}; NAME@VERSION for one version")
    command.add_raw_options(arguments)
    command.add_yes_option(arguments)
    arguments.add_argument(
        "--output", type=Path, default=Path("outputs"), metavar="DIR", help="where releases are written (outputs/)"
    )
    arguments.add_argument(
        "--partial", action="store_true", help="accept a release without the published rows that cannot be made (0.1.0)"
    )
    arguments.add_argument(
        "--splits", type=command.split_names, metavar="A,B", help="only these splits; the release is partial"
    )
    arguments.add_argument("--sample", action="store_true", help="build from the golden sample of the source")
    arguments.add_argument(
        "--limit", type=command.positive_int, metavar="N", help="only the first N raw records; marked as sample"
    )
    arguments.add_argument(
        "--unpinned",
        action="append",
        default=[],
        metavar="SOURCE/FILE",
        help="take this file below --raw-dir though it is not the pinned one; marked as sample, built with its numbers",
    )
    arguments.add_argument(
        "--jobs", type=command.positive_int, default=1, metavar="N", help="build N sources in parallel (default: 1)"
    )
    arguments.add_argument("--push", metavar="ORG", help="publish each release to this organisation of the Hub")
    arguments.add_argument("--no-record", action="store_true", help="with --push: as with publish")
    command.add_output(
        arguments,
        "--report",
        "report",
        metavar="FILE",
        help="where the build report is written (several datasets: DIR/build-report.json)",
    )
    command.add_findings_option(arguments)
    command.add_attest_options(arguments, "how one dataset was built")
    command.add_flags(
        arguments,
        {
            "--dry-run": "show what would be done, and do nothing",
            "--all-versions": "every version of each dataset, the oldest first",
            "--force": "build even if up to date; replace other rows unless published",
            "--json": "one JSON object per dataset on stdout, for programs",
        },
    )
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    return {
        **command.attest_mistakes(options),
        "--push publishes whole datasets: leave out --sample, --limit, --splits and --unpinned": (
            options.push and (options.sample or options.limit or options.splits or options.unpinned)
        ),
        "--no-record belongs to --push": options.no_record and not options.push,
        "--unpinned takes a file below --raw-dir DIR, without --sample": (
            options.unpinned and (options.sample or not options.raw_dir)
        ),
    }


def _require_files(datasets: list[tuple[Definition, str]], names: list[str]) -> None:
    """Raise UsageError for a name that is not a raw file of a dataset to build."""
    sources = [definition.source for definition, _ in datasets]
    known = {f"{source.name}/{file.name}" for source in sources for file in source.files.values()}
    if unknown := [name for name in names if name not in known]:
        near = difflib.get_close_matches(unknown[0], known, n=5, cutoff=0)
        raise UsageError("--unpinned names no raw file of these datasets", found=unknown[0], expected=" or ".join(near))


def _recorded(
    datasets: list[tuple[Definition, str]], settings: BuildSettings, report: Path | None
) -> AbstractContextManager[Record]:
    """Write the report and, at the end, the summary of a build of several datasets."""
    from pipelines.build_report.recording import record_build
    from pipelines.build_report.records import FILE_NAME

    is_sample = settings.sample or settings.limit or settings.raw.unpinned  # which says nothing of real files
    if report is None and len(datasets) > 1 and not is_sample:
        report = settings.output / FILE_NAME
    raw = None if settings.sample else settings.raw
    return record_build(datasets, settings.splits, raw, settings.output, report=report, limit=settings.limit)


def _results(
    datasets: list[tuple[Definition, str]], settings: BuildSettings, *, jobs: int
) -> Iterator[BuildResult | Failure]:
    """The result for each dataset, in order; one that fails does not stop the others."""
    from pipelines.process.stages import show_stages, stage

    per_source = [
        [(definition.dataset.name, version) for definition, version in group]
        for _, group in groupby(datasets, key=lambda pair: pair[0].source.name)
    ]
    if jobs == 1 or len(per_source) == 1:
        for name, version in chain.from_iterable(per_source):
            with show_stages(name):
                result = _attempt(name, version, settings)
            yield result
        return
    from pipelines.process import workers

    processes, began = min(jobs, len(per_source)), time.monotonic()
    with stage("building", total=len(per_source), unit="sources") as advance:
        work = partial(_attempt_all, settings=settings)
        killed = partial(
            workers.killed_error,
            what="a parallel build was killed {} times",
            where=lambda names: ", ".join(name for name, _ in names),
            todo="run it again: what is built is not built twice. If memory was short, with a lower --jobs",
        )
        built = workers.run_in_processes(work, per_source, processes, killed=killed, on_end=lambda _: advance(1))
        with closing(built):
            for _ in per_source:
                with show_stages(f"{processes} workers", began=began):
                    results = next(built)
                yield from results


def _attempt_all(names: Names, settings: BuildSettings) -> list[BuildResult | Failure]:
    """The results for the datasets of one source, in a worker."""
    return [_attempt(name, version, settings) for name, version in names]


def _attempt(name: str, version: str, settings: BuildSettings) -> BuildResult | Failure:
    from pipelines.process.stages import stage

    with stage("starting"):  # the first of these imports takes a second
        from builders import catalogue
        from pipelines.build_report.redaction import failure_of, unexpected_failure
        from pipelines.make import make

    try:
        with interrupts.stop_at_any_error():
            return make(catalogue.load(catalogue.entries()[name]), version, settings)
    except DatasetError as error:
        return failure_of(error)
    except OSError:  # a full disk, a folder without permission: the other datasets would meet it too
        raise
    except Exception as error:  # a builder that meets its real file for the first time must not stop the others
        logger.exception("%s@%s", name, version)
        return unexpected_failure(f"{name}@{version}", error)


def _pusher(org: str, *, record: bool) -> Callable[[BuildResult], Publication[Plan]]:
    """A function that publishes the result of a build.

    Raises PublishError where there is no token with write access, and where nothing can record what is published (`record`).
    """
    from builders import catalogue
    from pipelines.hub import planning, publishing
    from pipelines.raw.digests import default_cache

    client, options = publishing.login(), planning.PublishOptions(org, default_cache(), record=record)
    publishing.require_record(client, options)

    def push(result: BuildResult) -> Publication[Plan]:
        definition = catalogue.load(catalogue.entries()[result.dataset])
        return publishing.publish(definition, result.release_dir, options, client)

    return push


def _show(result: BuildResult, publication: Publication[Plan] | None, *, as_json: bool, brief: bool) -> None:
    """Print a result. brief: in a line; else with its findings, and on a terminal with the next step."""
    from pipelines.build_report import page

    if as_json:
        command.print_json(page.to_json(result, publication))
        return
    command.print_page(page.page(result, publication, timed=command.is_terminal(), brief=brief))
    for note in result.notes:
        logger.info(note)
    logger.debug("%s@%s: what `datasets` loads was not looked at: check and publish do", result.dataset, result.version)
    if command.is_terminal() and not brief:
        command.print_page([f"next: embedding-datasets check {shlex.quote(str(result.release_dir))}"])


def _dry_run(datasets: list[tuple[Definition, str]], settings: BuildSettings, org: str | None, *, as_json: bool) -> int:
    """Show what a build would do; returns the exit code that it would end with, as far as that is known."""
    from pipelines.build_report import page
    from pipelines.hub.publishable import require_rights
    from pipelines.make import plan_build
    from pipelines.raw.missing_files import list_needs, log_missing_files

    codes, lacking = list[int](), []
    for definition, version in datasets:
        try:
            plan = plan_build(definition, version, settings)
            if org:
                require_rights(definition, version, rights=False)
        except DatasetError as error:
            name = definition.dataset.name
            codes.append(command.print_failure(error, as_json=as_json, dataset=name, version=version))
            continue
        if plan.state == "impossible":
            codes.append(SourceError.exit_code)
            lacking.append((definition, version))
        if as_json:
            command.print_json(page.plan_to_json(plan))
            continue
        print(f"{plan.dataset} {version}: {plan.state}")
        for file_name, file in plan.raw.items():
            where = "" if file.origin in {"missing", "by-hand"} else f"  {file.where}"  # the summary has the rest
            print(f"  {file.origin:<10}{file_name}{where}")
        if org:
            print(f"  then publish it: embedding-datasets publish {plan.dataset}@{version} --org {org} --dry-run")
    log_missing_files(list_needs(lacking, settings.splits), settings.raw, settings.splits)
    return next(iter(codes), 0)


if __name__ == "__main__":
    command.run(main)
