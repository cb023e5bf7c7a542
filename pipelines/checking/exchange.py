"""The results of checks for other programs: Markdown for a pull request, annotations of GitHub Actions, SARIF 2.1.0.

Texts of a dataset never become markup or a command: they are escaped as each format asks for it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from builders.errors import DatasetError
from cards import markdown
from cards.kinds import KINDS, find_kind
from cards.manifest import Finding, Severity
from pipelines.checking.text import by_severity, finding_name

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
GITHUB_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def _heading(report: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (report["dataset"], report["subset"], report["version"])))


def _message(finding: Finding) -> str:
    """A finding in one line: what it is, how many, where, and what distinguishes it from others."""
    what = finding_name(finding.kind, finding.detail)
    return f"{what}: {finding.count_text} ({finding.share:.2%}) in {finding.location}" + (
        f"; {finding.detail}" if finding.detail else ""
    )


def markdown_page(report: Mapping[str, Any], findings: Sequence[Finding]) -> list[str]:
    """A section of Markdown: the verdict, problems and notes, and a table of the findings, the worst first."""
    lines = [f"### {markdown.plain(_heading(report))}", "", markdown.plain(f"{report['verdict']['summary']}."), ""]
    remarks = [*(f"problem: {text}" for text in report["problems"]), *(f"note: {text}" for text in report["notes"])]
    lines += [f"- {markdown.plain(text)}" for text in remarks]
    if findings:
        lines += [
            "",
            "| severity | finding | count | share | where | for example |",
            "| --- | --- | ---: | ---: | --- | --- |",
        ]
    for finding in by_severity(findings):
        name = markdown.plain(finding_name(finding.kind, finding.detail))
        detail = f"<br>{markdown.plain(finding.detail)}" if finding.detail else ""
        example = markdown.code(finding.examples[0], 60) if finding.examples else ""
        cells = (finding.severity, name + detail, finding.count_text, f"{finding.share:.2%}", finding.location, example)
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def github_page(report: Mapping[str, Any], findings: Sequence[Finding]) -> list[str]:
    """Commands that GitHub Actions shows beside a run: one for each problem and finding."""
    name = _heading(report)
    lines = [f"::error title={_property(name)}::{_data(problem)}" for problem in report["problems"]]
    for finding in by_severity(findings):
        title = _property(f"{name}: {finding.kind}")
        lines.append(f"::{GITHUB_LEVELS[finding.severity]} title={title}::{_data(_message(finding))}")
    return lines or [f"::notice title={_property(name)}::{_data(report['verdict']['summary'])}"]


def github_failure(name: str, error: DatasetError) -> str:
    """The command for a dataset that could not be checked."""
    return f"::error title={_property(name)}::{_data(' '.join(str(error).split()))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(
    results: Sequence[tuple[Mapping[str, Any], Sequence[Finding]]], failures: Sequence[tuple[str, DatasetError]]
) -> dict[str, Any]:
    """All results as one SARIF log. failures: what could not be checked, and why."""
    used = dict.fromkeys(finding.kind for _, findings in results for finding in findings)
    rules = [
        {"id": kind, "shortDescription": {"text": find_kind(kind).title}, "fullDescription": {"text": find_kind(kind).definition}}
        for kind in used
    ]  # fmt: skip
    listed = [_sarif_result(report, finding) for report, findings in results for finding in by_severity(findings)]
    for report, _ in results:
        listed += [
            {"ruleId": "damaged_release", "level": "error", "message": {"text": problem}, "locations": [_location(report, "")]}
            for problem in report["problems"]
        ]  # fmt: skip
    notifications = [{"level": "error", "message": {"text": f"{name}: {error}"}} for name, error in failures]
    invocation = {"executionSuccessful": not failures, "toolExecutionNotifications": notifications}
    driver = {"name": "embedding-datasets", "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": listed,
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(report: Mapping[str, Any], finding: Finding) -> dict[str, Any]:
    level = SARIF_LEVELS[finding.severity if finding.kind in KINDS else "info"]
    properties = {
        "count": finding.count,
        "share": finding.share,
        "detail": finding.detail,
        "examples": list(finding.examples),
    }
    return {
        "ruleId": finding.kind,
        "level": level,
        "message": {"text": _message(finding)},
        "locations": [_location(report, finding.location)],
        "properties": properties,
    }


def _location(report: Mapping[str, Any], table: str) -> dict[str, Any]:
    logical = [{"fullyQualifiedName": "/".join(filter(None, (_heading(report), table)))}]
    return {"physicalLocation": {"artifactLocation": {"uri": str(report["path"])}}, "logicalLocations": logical}
