"""python -m pipelines.build NAME... : from raw files to releases."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError, PublishError, SourceError
from pipelines import command
from pipelines.terminal import configure_logging, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from builders.catalogue import Definition
    from pipelines.hub.publishing import Publication
    from pipelines.make import BuildResult, BuildSettings

EXAMPLES = """\
  python -m pipelines.build rubq --sample                      from the golden sample: no network, seconds
  python -m pipelines.build europarl cedr --raw-dir DIR        from raw files in DIR/document_mt/..., DIR/cedr/...
  python -m pipelines.build rubq-retrieval@1.0.0               one dataset, one version
  python -m pipelines.build hhrlhf-harmlessness --splits test  only what one split needs; marked as partial
  python -m pipelines.build cedr --push ORG                    built, checked and published as ORG/cedr-classification
  python -m pipelines.build all --dry-run                      what would be done, and from where"""


def main() -> int:
    """Build what the command line names; returns the exit code: that of the first dataset that failed, if any did."""
    options = _parse()
    wanted = command.resolve_datasets(options.names)
    settings = _settings(options)
    if options.dry_run:
        return _dry_run(wanted, settings, options.push, as_json=options.json)
    push = _pusher(options.push) if options.push else None  # before hours of building: may we publish at all?
    code = 0
    for result in _results(options, wanted, settings):
        if isinstance(result, DatasetError):
            command.print_error(result)
            code = code or result.exit_code
            continue
        failure, published = None, None
        if push is not None:
            try:
                published = push(result)
            except DatasetError as error:
                failure = error
        _show(result, published, as_json=options.json)
        if failure is not None:
            command.print_error(failure)
            code = code or PublishError.exit_code
    return code


def _parse() -> argparse.Namespace:
    arguments = command.parser("build", "Build datasets: raw files in, releases out.", EXAMPLES)
    arguments.add_argument("names", nargs="+", metavar="NAME", help=f"{command.NAMES}; NAME@VERSION for one version")
    command.add_raw_options(arguments)
    arguments.add_argument(
        "--output", type=Path, default=Path("outputs"), metavar="DIR", help="releases go here (outputs/)"
    )
    arguments.add_argument(
        "--splits", type=command.split_names, metavar="A,B", help="only these splits; the release is partial"
    )
    arguments.add_argument("--sample", action="store_true", help="build from the golden sample in the repository")
    arguments.add_argument(
        "--limit", type=command.positive_int, metavar="N", help="only the first N raw records; marked as sample"
    )
    arguments.add_argument(
        "--jobs", type=command.positive_int, default=1, metavar="N", help="so many sources at once (1)"
    )
    arguments.add_argument(
        "--push", metavar="ORG", help="publish to this organisation of the Hub when built and checked"
    )
    arguments.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    arguments.add_argument(
        "--force", action="store_true", help="build even if up to date, replace other rows unless published"
    )
    arguments.add_argument("--json", action="store_true", help="one JSON object a dataset on stdout, for programs")
    options = arguments.parse_args()
    if options.push and (options.sample or options.limit or options.splits):
        arguments.error("--push publishes whole datasets: leave out --sample, --limit and --splits")
    return options


def _settings(options: argparse.Namespace) -> BuildSettings:
    from pipelines.make import BuildSettings

    return BuildSettings(
        options.output, command.raw_settings(options), options.splits, options.sample, options.limit, options.force
    )


def _results(
    options: argparse.Namespace, wanted: list[tuple[Definition, str]], settings: BuildSettings
) -> Iterator[BuildResult | DatasetError]:
    """What became of each dataset, in order; one that fails does not stop the others."""
    per_source = [
        [(built.entry.dataset, version) for built, version in group]
        for _, group in groupby(wanted, key=lambda pair: pair[0].source.name)
    ]
    if options.jobs == 1 or len(per_source) == 1:
        for datasets in per_source:
            for name, version in datasets:
                yield _attempt(name, version, settings)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Threads of polars do not survive a fork: every worker is a new process.
    workers = min(options.jobs, len(per_source))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=configure_logging) as pool:
        for results in pool.map(_attempt_all, per_source, [settings] * len(per_source)):
            yield from results


def _attempt_all(datasets: list[tuple[str, str]], settings: BuildSettings) -> list[BuildResult | DatasetError]:
    return [_attempt(name, version, settings) for name, version in datasets]


def _attempt(name: str, version: str, settings: BuildSettings) -> BuildResult | DatasetError:
    from builders import catalogue
    from pipelines.make import make

    try:
        return make(catalogue.load(catalogue.entries()[name]), version, settings, say)
    except DatasetError as error:
        return error


def _pusher(org: str) -> Callable[[BuildResult], Publication]:
    """What publishes the outcome of a build.

    Raises PublishError where there is no token that may write.
    """
    from builders import catalogue
    from pipelines.hub import planning, publishing
    from pipelines.raw.cache import default_cache

    connection, order = publishing.login(), planning.PublishOptions(org, default_cache())

    def push(outcome: BuildResult) -> Publication:
        built = catalogue.load(catalogue.entries()[outcome.dataset])
        return publishing.publish(built, outcome.place, order, connection, say)

    return push


def _show(outcome: BuildResult, published: Publication | None, *, as_json: bool) -> None:
    manifest = outcome.manifest
    rows = {f"{table['config']}/{table['split']}": table["rows"] for table in manifest["tables"]}
    if as_json:
        kept = ("content_sha256", "sample", "partial", "dropped", "findings")
        head = {
            "dataset": outcome.dataset,
            "version": outcome.version,
            "state": outcome.state,
            "path": str(outcome.place),
        }
        pushed = {"published": _publication(published)} if published else {}
        _print_json(head | {"rows": rows} | {key: manifest[key] for key in kept} | pushed)
        return
    marks = [mark for mark in ("sample", "partial") if manifest[mark]]
    if not all(file["verified"] for file in manifest["raw"]) and not manifest["sample"]:
        marks.append("unverified raw files")
    counts = ", ".join(f"{name} {count:,}" for name, count in rows.items())
    print(f"{outcome.dataset} {outcome.version}: {', '.join([outcome.state, *marks])}")
    print(f"  rows      {counts}")
    print(f"  content   {manifest['content_sha256']}")
    if manifest["dropped"]:
        print(
            "  dropped   "
            + "; ".join(f"{drop['count']:,} {drop['split']}: {drop['reason']}" for drop in manifest["dropped"])
        )
    if manifest["findings"]:
        print("  findings  " + _findings(manifest["findings"]))
    print(f"  in        {outcome.place}")
    if published is not None:
        print(f"  on Hub    {published.state}: {published.url}, {published.plan.tag}")
    for note in outcome.notes:
        say(note)


def _publication(published: Publication) -> dict[str, str]:
    plan = published.plan
    return {
        "repo": plan.repo,
        "tag": plan.tag,
        "state": published.state,
        "commit": published.commit,
        "url": published.url,
    }


def _findings(findings: list[dict[str, Any]]) -> str:
    shown = [
        f"{one['kind']} {one['count']:,} ({'/'.join(filter(None, (one['config'], one['split'])))})" for one in findings
    ]
    more = f"; and {len(shown) - 4} more: see README.md" if len(shown) > 4 else ""
    return "; ".join(shown[:4]) + more


def _dry_run(wanted: list[tuple[Definition, str]], settings: BuildSettings, org: str | None, *, as_json: bool) -> int:
    """Say for each dataset what a build would do; the exit code is the one that the build would end with, as far as known."""
    from pipelines.make import plan_build

    code = 0
    for built, version in wanted:
        try:
            foreseen = plan_build(built, version, settings)
        except DatasetError as error:
            command.print_error(error)
            code = code or error.exit_code
            continue
        if foreseen["state"] == "impossible":
            code = code or SourceError.exit_code
        if as_json:
            _print_json(foreseen)
            continue
        print(f"{built.dataset.name} {version}: {foreseen['state']}")
        for file in foreseen["raw"]:
            print(f"  {file['origin']:<10}{file['name']}  {file['where']}")
        if org:
            print(
                f"  then publish it: python -m pipelines.publish {built.dataset.name}@{version} --org {org} --dry-run"
            )
    return code


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    command.run(main)
