"""python -m pipelines.check NAME|PATH|ORG/NAME[@REVISION]... : releases and anybody's datasets, looked at afresh."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines import command
from pipelines.foreign import datasets
from pipelines.hub import client
from pipelines.release import staging
from pipelines.report import checks, published_figures

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

EXAMPLES = """\
  releases of this package, verified against their manifests and audited anew:
    python -m pipelines.check cedr                              the newest release of a dataset below outputs/
    python -m pipelines.check outputs/*/*                       all of them
    python -m pipelines.check ORG/cedr-classification@v1.0.0    one that was published
  anybody's dataset in one of the eight layouts, on disk or on the Hub:
    python -m pipelines.check mteb/stsbenchmark-sts --language eng-Latn
    python -m pipelines.check ORG/NAME@REVISION --subset ru --audit-language all
    python -m pipelines.check my/folder --task BitextMining --language eng-Latn --language deu-Latn
  what for:
    python -m pipelines.check rumteb --html report.html         a page to read and to send: findings, examples, histograms
    python -m pipelines.check cedr --against published          its statistics beside the published ones, line by line
    python -m pipelines.check cedr --json                       for programs: docs/checking.md lists the keys"""


@dataclass(frozen=True)
class Target:
    """A dataset to check: as it was named, and its folder or its repository and revision."""

    name: str
    folder: Path | None = None
    repository: tuple[str, str] | None = None


def main() -> int:
    """Check what the command line names; returns 0 where all is well, 1 for a damaged release, 4 for defects in the rows.

    With `--against published`, 1 where a figure differs and no note says why.
    """
    options = _parse()
    from pipelines.report import html  # after the parser, which needs none of what this imports

    codes, sections = [0], []
    for name in options.names:
        try:
            wanted = resolve_targets(name, options.output)
        except DatasetError as error:
            command.print_error(error)
            codes.append(error.exit_code)
            continue
        for one in wanted:
            try:
                if options.against:
                    codes.append(_compare(one, options))
                    continue
                for checked in _check(one, options):
                    codes.append(_show(checked.report, options))
                    sections += [html.section(checked)] if options.html else []
            except DatasetError as error:
                command.print_error(error)
                codes.append(error.exit_code)
                sections.append(html.failure(one.name, error))
    if options.html and sections:
        html.write(options.html, sections)
    return next(filter(None, codes), 0)


def check(place: Path) -> dict[str, Any]:
    """A release verified against its manifest and audited afresh: `report` of pipelines.report.checks.check_release.

    Raises ReleaseError for a folder that is no release.
    """
    from pipelines.audit.languages import SAMPLE

    return checks.check_release(place, language_sample=SAMPLE).report


def resolve_release(name: str) -> Path:
    """A release's folder: the path that is named, its newest version, or where `ORG/NAME@TAG` was fetched to.

    Raises UsageError where there is no such folder, SourceError or ReleaseError where the Hub has no such release.
    """
    if (at := client.parse_reference(name)) is not None:
        from pipelines.raw.cache import default_cache

        return client.fetch_release_at(client.connect(), *at, default_cache())
    path = Path(name)
    if not path.is_dir():
        raise UsageError(
            "there is no such folder",
            where=str(path),
            todo="name a release: outputs/<dataset>/<version> or ORG/NAME@TAG",
        )
    return _newest(path)


def resolve_targets(name: str, output: Path) -> list[Target]:
    """The datasets that a name means: a folder, a repository on the Hub, or what it names in the catalogue, below `output`.

    Raises UsageError for a name that means nothing.
    """
    from builders import catalogue

    if (at := client.parse_reference(name, "main")) is not None:
        return [Target(name, repository=at)]
    if Path(name).is_dir():
        return [Target(name, Path(name))]
    if Path(name).name != name:
        raise UsageError("there is no such folder", where=name, todo="name a folder, ORG/NAME@REVISION or a dataset")
    try:
        entries = catalogue.resolve([name])
    except UsageError as error:
        what = f"there is no such folder, and {error.what}"
        raise UsageError(what, where=name, found=error.found, expected=error.expected, todo=error.todo) from None
    wanted = [(entry.dataset, output / entry.dataset / (version or "")) for entry, version in entries]
    return [Target(name if len(wanted) == 1 else dataset, folder) for dataset, folder in wanted]


def _folder(wanted: Target, subsets: Sequence[str] = (), *, versions: str = "") -> tuple[Path, str | None]:
    """Where a dataset lies, fetched if it is on the Hub, then with its commit.

    versions: how the versions begin of which the newest is meant.

    Raises ReleaseError for a dataset of the catalogue that was not built.
    """
    if wanted.repository is not None:
        place = checks.fetch_dataset(*wanted.repository, subsets)
        return place, place.name
    assert wanted.folder is not None
    if not wanted.folder.is_dir():
        todo = f"build it: python -m pipelines.build {wanted.name}, or say where releases are: --output DIR"
        raise ReleaseError(f"{wanted.name} has not been built", where=str(wanted.folder), todo=todo)
    return _newest(wanted.folder, versions), None


def _newest(path: Path, begin: str = "") -> Path:
    """The newest of the releases in a folder (of the versions that begin so, if there are any); else the folder itself."""
    from builders.spec import VERSION, version_key

    versions = [child for child in path.iterdir() if child.is_dir() and VERSION.fullmatch(child.name)]
    if versions and not (path / staging.MANIFEST).exists():
        return max(versions, key=lambda child: (child.name.startswith(begin), version_key(child.name)))
    return path


def _check(wanted: Target, options: argparse.Namespace) -> list[checks.CheckResult]:
    from pipelines.audit.languages import SAMPLE

    asked = datasets.ForeignOptions(options.task, tuple(options.language), tuple(options.subset))
    folder, commit = _folder(wanted, asked.subsets)
    sample = None if options.audit_language == "all" else SAMPLE
    if (folder / staging.MANIFEST).exists():
        results = [checks.check_release(folder, language_sample=sample)]
    else:
        name = wanted.repository[0] if wanted.repository else folder.resolve().name
        results = checks.check_folder(folder, name, asked, language_sample=sample)
    for one in results:
        one.report.update(path=wanted.name, revision=commit)
    return results


def _show(report: dict[str, Any], options: argparse.Namespace) -> int:
    """Print what was found out; returns the exit code that it means."""
    print(json.dumps(report, ensure_ascii=False) if options.json else _page(report), flush=True)
    return 1 if report["problems"] else 4 if report["defects"] else 0


def _compare(wanted: Target, options: argparse.Namespace) -> int:
    """Print a release's statistics beside the published ones; returns 1 where a figure differs and no note says why."""
    report = published_figures.compare_with_published(_folder(wanted, versions=published_figures.VERSIONS)[0]) | {
        "path": wanted.name
    }
    print(json.dumps(report, ensure_ascii=False) if options.json else published_figures.page(report), flush=True)
    return int(any(not line["agree"] and not line["note"] for line in report["lines"]))


def _parse() -> argparse.Namespace:
    arguments = command.parser(
        "check",
        "Look at datasets afresh: releases against their manifests, and what is wrong with the rows of any dataset.",
        EXAMPLES,
    )
    arguments.add_argument(
        "names",
        nargs="+",
        metavar="NAME|PATH|ORG/NAME[@REVISION]",
        help=f"{command.NAMES}; a folder with a release, with the releases of a dataset, or with any dataset laid out as on "
        "the Hub; a repository on the Hub at a branch, tag or commit",
    )
    arguments.add_argument(
        "--output", type=Path, default=Path("outputs"), metavar="DIR", help="where releases are (outputs/)"
    )
    arguments.add_argument("--html", type=Path, metavar="FILE", help="write a report to read in a browser, one file")
    arguments.add_argument("--json", action="store_true", help="one JSON object a dataset on stdout, for programs")
    arguments.add_argument(
        "--against",
        choices=["published"],
        help="compare the statistics of releases with published figures, and no more",
    )
    arguments.add_argument(
        "--audit-language",
        choices=["sample", "all"],
        default="sample",
        help="tell the language of a sample of the texts (the default), or of every text, which takes a while",
    )
    others = arguments.add_argument_group("for datasets that are no releases of this package")
    others.add_argument(
        "--task", choices=datasets.TYPES, metavar="TYPE", help=f"what their task is: {', '.join(datasets.TYPES)}"
    )
    others.add_argument(
        "--language",
        action="append",
        default=[],
        metavar="CODE",
        help="a language of theirs as in mteb: rus-Cyrl; repeatable",
    )
    others.add_argument(
        "--subset", action="append", default=[], metavar="NAME", help="a subset of several as in mteb: ru; repeatable"
    )
    options = arguments.parse_args()
    if options.against and options.html:
        arguments.error("--against compares figures and writes no --html")
    return options


def _page(report: dict[str, Any]) -> str:
    marks = [mark for mark in ("sample", "partial") if report[mark]]
    state = "damaged" if report["problems"] else "defective" if report["defects"] else "sound"
    name = " ".join(filter(None, (report["dataset"], report["subset"], report["version"])))
    lines = [f"{name}: {', '.join([state, *marks])}"]
    if report["content_sha256"]:
        lines.append(f"  content   {report['content_sha256']}")
    else:
        rows = ", ".join(f"{table['config']}/{table['split']} {table['rows']:,}" for table in report["tables"])
        lines += [f"  task      {report['task']}", f"  rows      {rows}"]
    lines += [f"  note      {note}" for note in report["notes"]]
    lines += [f"  problem   {problem}" for problem in report["problems"]]
    if report["findings"]:
        heading = ["severity", "finding", "where", "count", "share", "examples"]
        known = any(one["why"] for one in report["findings"])
        rows_of_table = [
            [
                one["severity"],
                one["kind"],
                "/".join(filter(None, (one["config"], one["split"], one["column"]))),
                f"{one['count']:,}",
                f"{one['share']:.2%}",
                "; ".join(one["examples"])[:60] or one["detail"][:60],
                *([one["why"]] if known else []),
            ]
            for one in report["findings"]
        ]
        table = command.table([[*heading, *(["why it stays"] if known else [])], *rows_of_table])
        lines += ["", *(f"  {line}" for line in table.splitlines())]
    return "\n".join(lines)


if __name__ == "__main__":
    command.run(main)
