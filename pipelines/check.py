"""embedding-datasets check NAME|PATH|ORG/NAME[@REVISION]... : verify and audit releases, audit any other dataset.

With --org ORG: all datasets that an organisation has published, against the ledger.
"""

from __future__ import annotations

import json
import logging
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import DatasetError, PublishError, UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse

    from cards.evidence import Quote
    from pipelines.checking.checks import CheckResult
    from pipelines.checking.targets import Target
    from pipelines.checking.verdict import Condition
    from pipelines.mteb_tasks.pages import Outcome
    from pipelines.release.statements import Verified

EXAMPLES = """\
  releases of this package, verified against their manifests and audited again:
    embedding-datasets check cedr                              the newest release of a dataset below outputs/
    embedding-datasets check outputs/                          all of them
    embedding-datasets check ORG/cedr-classification@v1.0.0    a published one
  any dataset, in the layouts of docs/checking.md, on disk or on the Hub:
    embedding-datasets check mteb/stsbenchmark-sts --language eng-Latn
    embedding-datasets check ORG/NAME@REVISION --subset ru --audit-language all
    embedding-datasets check data.csv --task Classification --map text=sentence --map label=target
    embedding-datasets check my/folder --task BitextMining --language eng-Latn --language deu-Latn
    embedding-datasets check my/folder --write-rules           rules that the data keep, as checks.yaml beside them
  tasks of mteb, by name (needs the extra `mteb`):
    embedding-datasets check mteb:CEDRClassification           as mteb reads it, and against mteb's metadata
    embedding-datasets check "mteb:MTEB(rus, v1.1)"            a benchmark, or all tasks of a language: mteb:rus
    embedding-datasets check mteb:TERRa --format mteb          what was found, as mteb records known issues
  output:
    embedding-datasets check rumteb --html report.html         a page to read and to send: findings, examples, histograms
    embedding-datasets check cedr --against published          its statistics beside the published ones, line by line
    embedding-datasets check cedr --json                       for programs: docs/checking.md lists the keys
    embedding-datasets check data/ --format github             beside a run of GitHub Actions; markdown and sarif too
    embedding-datasets check data/ --sarif check.sarif --markdown check.md --badge badge.json   all of these from one check
    embedding-datasets check cedr --findings rows/             all rows of every finding, as Parquet
    embedding-datasets check data.csv --profile                train a model on the rows: are labels shifted or wrong?
  all that an organisation has published, against the ledger:
    embedding-datasets check --org ORG                         downloads and verifies all of it
    embedding-datasets check --org ORG cedr rubq --no-download  compares the digests and commits of two sources
  in a script, to fail on what matters there:
    embedding-datasets check ORG/NAME --fail-on warning
    embedding-datasets check ORG/NAME --fail-on split_leak:0.1%,html_residue"""


logger = logging.getLogger(__name__)

FORMATS = ("text", "json", "markdown", "github", "sarif", "mteb")


def main() -> int:
    """Check what the command line names; returns 1 for a damaged release and on `--fail-on`, 4 for errors in the rows, else 0.

    With `--against published`, 1 where a figure differs and no note says why. With `--org`, 1 where a dataset is not sound or
    could not be checked, 5 where the Hub cannot be reached.
    """
    options = command.parse(parser(), _find_mistakes)
    if options.org:
        return _check_organisation(options)
    from pipelines.audit.rules import RULES_FILE
    from pipelines.checking import html
    from pipelines.checking.checks import finding_folder, write_rules
    from pipelines.checking.targets import Target, resolve_targets
    from pipelines.checking.verdict import badge, parse_conditions
    from pipelines.mteb_tasks.checking import PREFIX, resolve_tasks
    from pipelines.process.stages import show_stages
    from pipelines.release.finding_files import write_findings

    conditions = parse_conditions(options.fail_on)
    statement = _read_statement(options)
    codes, sections, counted = [0], [], Counter[str]()
    about_all = options.format == "sarif" or options.markdown or options.sarif or options.badge
    outcomes: list[tuple[Target, Outcome]] = []

    def fail(target: Target, error: DatasetError) -> None:
        _show_failure(target.name, error, options.format)
        codes.append(error.exit_code)
        counted["not checked"] += 1
        sections.append(html.failure(target.name, error))
        outcomes.append((target, error))

    for name in options.names:
        try:
            targets = resolve_tasks(name) if name.startswith(PREFIX) else resolve_targets(name, options.releases)
        except DatasetError as error:
            fail(Target(name), error)
            continue
        for target in targets:
            try:
                if options.against:
                    codes.append(_compare(target, as_json=options.format == "json"))
                    continue
                with show_stages("/".join(Path(target.name).parts[-2:])):
                    results = _check(target, options, statement)
                if options.write_rules:
                    write_rules(results, (target.file.parent if target.file else target.folder or Path()) / RULES_FILE)
                brief = max(len(options.names), len(targets), len(results)) > 1 and not options.verbose
                for result in results:
                    codes.append(_show(result, conditions, options.format, brief=brief))
                    counted[badge(result.report["verdict"]["state"], sample=result.report["sample"])[0]] += 1
                    sections += [html.section(result)] if options.html else []
                    if options.findings:
                        write_findings(options.findings / finding_folder(result.report), result.found)
                outcomes += [(target, results)] if target.mteb_task or about_all else []
            except DatasetError as error:
                fail(target, error)
    if options.html and any("report" in section for section in sections):  # failures alone tell nothing else
        html.write(options.html, sections)
    _show_outcomes(outcomes, options)
    _close(counted, options)
    return next(filter(None, codes), 0)


def _show_outcomes(outcomes: Sequence[tuple[Target, Outcome]], options: argparse.Namespace) -> None:
    """Print or write what is said of several datasets together: SARIF, the files of other forms, what concerns tasks of mteb."""
    from cards.markdown import fenced
    from pipelines.checking import text
    from pipelines.mteb_tasks.pages import documentation, issue_lines, task_table
    from pipelines.process.files import write_atomically
    from pipelines.process.safe_text import safe_text

    of_mteb = [(target, outcome) for target, outcome in outcomes if target.mteb_task]
    results = [result for _, outcome in outcomes if isinstance(outcome, list) for result in outcome]
    failures = [(target.name, outcome) for target, outcome in outcomes if isinstance(outcome, DatasetError)]
    pairs = [(result.report, result.findings) for result in results]
    if options.format == "sarif":
        command.print_json(text.sarif(pairs, failures))
    elif options.format == "mteb":
        for _, outcome in of_mteb:
            command.print_page(documentation(outcome) if isinstance(outcome, list) else [])
        command.print_page(issue_lines(of_mteb))
    elif options.format in ("text", "markdown") and len(of_mteb) > 1:
        page = task_table(of_mteb, command.width())
        command.print_page(["", *(fenced(page) if options.format == "markdown" else page).splitlines()])
    if options.markdown:
        pages = [text.markdown_page(*pair, _quote(result)) for pair, result in zip(pairs, results, strict=True)]
        pages += [text.markdown_failure(name, error) for name, error in failures]
        lines = [text.MARKDOWN_MARK, *(line for page in pages for line in page)]
        write_atomically(options.markdown, safe_text("".join(f"{line}\n" for line in lines)))
    if options.sarif:
        write_atomically(options.sarif, safe_text(json.dumps(text.sarif(pairs, failures))))
    if options.badge:
        write_atomically(options.badge, safe_text(json.dumps(text.badge([report for report, _ in pairs], failures))))


def _close(counted: Counter[str], options: argparse.Namespace) -> None:
    """Say how many of several datasets have which verdict, what was written, and on a terminal the next step."""
    if options.format == "text" and counted.total() > max(1, counted["not checked"]):
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in counted.items())
        more = "" if options.verbose else "; -v shows the findings"
        command.print_page(["", f"{counted.total()} datasets: {verdicts}{more}"])
    written = {"report": options.html, "markdown": options.markdown, "sarif": options.sarif, "badge": options.badge}
    for name, path in {**written, "findings": options.findings}.items():
        if path and path.exists():  # a report of failures alone is not written
            logger.info("%s: %s", name, path)
    has_problems = options.format == "text" and counted.keys() - {"no problems", "not checked"}
    if has_problems and not options.html and command.is_terminal():
        command.print_page([f"next: {command.PROGRAM} check {shlex.join(options.names)} --html report.html"])


def _quote(result: CheckResult) -> Sequence[Quote | None]:
    """A text of each finding of a result, where its rows could be audited."""
    from pipelines.release.examples import quote_findings

    return quote_findings(result.task, result.frames, result.found) if result.frames else ()


def _read_statement(options: argparse.Namespace) -> Verified | None:
    """The statement to compare with a release, its signature verified; None without one."""
    if options.statement is None:
        return None
    from pipelines.release.statements import verify_statement

    return verify_statement(options.statement, options.key)


def _check(target: Target, options: argparse.Namespace, statement: Verified | None) -> list[CheckResult]:
    from cards.kinds import SAMPLE
    from pipelines.checking.checks import check_target
    from pipelines.checking.datasets import load_profiler, with_rules
    from pipelines.mteb_tasks.checking import check_task

    language_sample = None if options.audit_language == "all" else SAMPLE
    foreign = command.foreign_options(options)
    if options.profile:
        foreign = replace(foreign, profiler=load_profiler(for_programs=options.format == "json"))
    foreign = with_rules(foreign, options.rules) if options.rules else foreign
    if target.mteb_task:
        return check_task(target, foreign, language_sample=language_sample)
    return check_target(target, foreign, language_sample=language_sample, statement=statement)


def _show(result: CheckResult, conditions: Sequence[Condition], form: str, *, brief: bool) -> int:
    """Print the result of a check, in one of FORMATS; returns its exit code. brief: as text, without its findings."""
    from pipelines.checking import text
    from pipelines.checking.verdict import met_conditions

    report = result.report
    report["failed_on"] = met_conditions(conditions, report["verdict"]["state"], result.findings)
    quotes = _quote(result) if form == "markdown" or (form == "text" and not brief) else ()
    if form == "json":
        command.print_json(report)
    elif form == "markdown":
        command.print_page(text.markdown_page(report, result.findings, quotes))
    elif form == "github":
        command.print_page(text.github_page(report, result.findings))
    elif form == "text":
        command.print_page(text.check_page(report, result.findings, quotes, brief=brief).splitlines())
    return 1 if report["problems"] else 4 if report["defects"] else int(bool(report["failed_on"]))


def _show_failure(name: str, error: DatasetError, form: str) -> None:
    """Show the error of something that could not be checked. name: what the command line or the folder calls it."""
    from pipelines.build_report.records import error_to_json
    from pipelines.checking.text import github_failure

    command.print_error(error)
    if form == "json":
        failure = {"dataset": name, "version": None, "state": "failed", "error": error_to_json(error), "path": name}
        command.print_json(failure)
    if form == "github":
        command.print_page([github_failure(name, error)])


def _check_organisation(options: argparse.Namespace) -> int:
    """Check what an organisation has published; what was checked before the Hub failed is shown too."""
    from builders import catalogue
    from pipelines.hub import client, organisation
    from pipelines.hub.inspection import PublishedDataset
    from pipelines.hub.planning import publication_ledger
    from pipelines.hub.revisions import Expectations
    from pipelines.process.stages import show_stages, stage
    from pipelines.raw.digests import default_cache
    from pipelines.release.ledger import LEDGER, all_expected_refs, can_record, read_ledger

    if versioned := [name for name in options.names if "@" in name]:
        raise UsageError("--org checks all versions", found=versioned[0], todo="leave out the version")
    names = {entry.dataset for entry, _ in catalogue.resolve(options.names)} if options.names else set[str]()
    entries, datasets, code = read_ledger(options.ledger or LEDGER), list[PublishedDataset](), 0
    try:
        hub = client.connect()
        record = publication_ledger(hub, options.ledger)
        if options.record and (record is None or not can_record(record)):
            raise UsageError("nowhere to record the tags", todo="pass --ledger FILE, or run it in a writable checkout")
        expected = Expectations(
            entries, all_expected_refs(record) if record else {}, record, options.releases, default_cache(),
            requested=options.ledger, download=not options.no_download, observe=options.record,
        )  # fmt: skip
        with show_stages(options.org):
            ours, others = organisation.find_repositories(hub, options.org, expected, names)
        inspected = organisation.inspect_repositories(hub, ours, expected)
        while True:
            with show_stages(options.org), stage(f"dataset {len(datasets) + 1}"):
                dataset = next(inspected, None)
            if dataset is None:
                break
            datasets.append(dataset)
            if options.format == "json":
                command.print_json(organisation.to_json(dataset))
    except DatasetError as error:
        command.print_error(error)
        code = error.exit_code if isinstance(error, UsageError) else PublishError.exit_code
    else:
        words = "%s: %d requests of the API and %d of files; the Hub permits 1,000 and 5,000 in five minutes"
        logger.info(words, options.org, hub.requests.count("api"), hub.requests.count("resolve"))
    if options.format != "json" and (datasets or not code):
        print(organisation.page(options.org, datasets, others, expected), flush=True)
    return code or int(not datasets or any(dataset.state != "sound" for dataset in datasets))


def _compare(target: Target, *, as_json: bool) -> int:
    """Print a release's statistics beside the published ones; returns 1 where a figure differs and no note says why."""
    from pipelines.checking.targets import locate_target
    from pipelines.release import figures

    release_dir, _ = locate_target(target, versions=figures.VERSIONS)
    report = figures.compare_with_published(release_dir) | {"path": target.name}
    if as_json:
        command.print_json(report)
    else:
        print(figures.page(report), flush=True)
    return int(any(not line["agree"] and not line["note"] for line in report["lines"]))


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser(
        "check", "Verify releases against their manifests, and find the problems in the rows of any dataset.", EXAMPLES
    )
    arguments.add_argument(
        "names",
        nargs="*",
        metavar="NAME|PATH|ORG/NAME[@REVISION]|mteb:NAME",
        help=f"{command.NAMES}; a folder with a release, with the releases of a dataset or of several, or with any "
        "dataset laid out as on the Hub; a single data file; a repository on the Hub at a branch, tag or commit; "
        "a task, a benchmark or a language of mteb",
    )
    command.add_releases_option(arguments, "--output")
    arguments.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit with 1 on this: warning, error, compromised, KIND or KIND:SHARE (split_leak:0.1%%); repeatable, or joined "
        "by commas; default: error,compromised. Errors in the rows exit with 4 in any case",
    )
    command.add_output(
        arguments, "--html", "page", metavar="FILE", help="write a report to read in a browser, one file"
    )
    command.add_findings_option(arguments)
    for option, words in (
        ("--markdown", "write the tables of --format markdown into a file too"),
        ("--sarif", "write the log of --format sarif into a file too"),
        ("--badge", "write the verdict as a badge: JSON for the endpoint of shields.io"),
    ):
        command.add_output(arguments, option, "check", metavar="FILE", help=words)
    arguments.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        metavar="FORM",
        help="what is printed: text; json, an object per dataset; markdown, for a pull request; github, annotations of a run of"
        " GitHub Actions; sarif, one log for code scanning; mteb, entries of its known issues and of its documentation",
    )
    arguments.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json, for programs"
    )
    arguments.add_argument(
        "--against",
        choices=["published"],
        help="only compare the statistics of releases with the published figures",
    )
    arguments.add_argument(
        "--audit-language",
        choices=["sample", "all"],
        default="sample",
        help="detect the language of a sample of the texts (the default), or of every text, which takes a while",
    )
    arguments.add_argument(
        "--profile",
        action="store_true",
        help="also train a simple model on labelled rows, about a minute for 10,000: it finds labels that are shifted, permuted"
        " or doubtful, an order of rows that predicts the label, outliers and weak groups; needs the extra `scores`",
    )
    own = arguments.add_argument_group("for rules of your own (docs/checking.md)")
    own.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="the rules of this file; without it, those of checks.yaml beside the data",
    )
    own.add_argument(
        "--write-rules",
        action="store_true",
        help="write checks.yaml beside the data, with rules that they keep; never replace it",
    )
    signed = arguments.add_argument_group("for a statement about a release (docs/reproducibility.md)")
    signed.add_argument(
        "--statement", type=Path, metavar="FILE", help="verify this signed statement, and compare it with the release"
    )
    signed.add_argument(
        "--key",
        type=Path,
        action="append",
        default=[],
        metavar="PUBLIC",
        help="a public key (PEM) of an accepted signer; repeatable; default: those in keys/ of a checkout",
    )
    published = arguments.add_argument_group(
        "for everything an organisation has published (names limit it to those datasets)"
    )
    published.add_argument(
        "--org", metavar="ORG", help="check each dataset of ORG on the Hub: its tags, main, the ledger"
    )
    published.add_argument(
        "--no-download", action="store_true", help="compare digests and commits only; no data file is fetched"
    )
    published.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="what was published; the commits are in refs/ beside it (pipelines/ledger.json)",
    )
    published.add_argument(
        "--record", action="store_true", help="record the tags that hold their version and are not recorded yet"
    )
    others = command.add_foreign_options(arguments)
    others.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="the scale of their scores (STS): 0 5; without it, from the lowest to the highest score",
    )
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    own = (options.task, options.language, options.map)
    audits = (options.html, options.findings, options.against, options.fail_on, options.profile, *own)
    written = options.markdown or options.sarif or options.badge
    tasks = [name.startswith("mteb:") for name in options.names]
    low, high = options.scale or (0, 1)
    is_scale = low < high and math.isfinite(low) and math.isfinite(high)
    return {
        "--scale needs two numbers, the lower one first": not is_scale,
        "--against only compares figures: leave out --html, --fail-on, --findings and --profile": (
            options.against and (options.html or options.fail_on or options.findings or options.profile)
        ),
        "--org and --against print text or JSON: leave out --markdown, --sarif, --badge and every other --format": (
            (options.org or options.against) and (options.format not in ("text", "json") or written)
        ),
        "--org verifies datasets and audits none: use it with --releases, --ledger, --no-download and --json": (
            options.org and any(audits)
        ),
        "--no-download, --ledger and --record belong to --org": (
            not options.org and (options.no_download or options.ledger or options.record)
        ),
        "mteb says how its tasks are read: leave out --task, --language, --map, --scale, --against, --statement": (
            any(tasks) and any((*own, options.scale, options.against, options.statement))
        ),
        "--format mteb is for tasks of mteb: mteb:NAME": options.format == "mteb" and not all(tasks),
        "name a dataset, a folder or a repository, or an organisation with --org": (
            not options.org and not options.names
        ),
    }


if __name__ == "__main__":
    command.run(main)
