"""The results of checks and comparisons: plain text for the terminal, and forms that other programs read.

These are Markdown for a pull request, annotations of GitHub Actions, and SARIF 2.1.0. Texts of a dataset never become markup or a
command there: they are escaped as each form asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError
from cards import markdown
from cards.evidence import FindingGroup, Quote, differing, group_findings, list_places
from cards.kinds import FOLDED_DETAIL, KINDS, MEANING_DETAIL, find_kind
from cards.manifest import SEVERITIES, Finding, Severity
from pipelines.checking.verdict import COLORS
from pipelines.process.tables import WIDTH, column_widths, fact, facts, number_table, table_lines, wrap

if TYPE_CHECKING:
    from pipelines.release.comparison import Change


def finding_name(kind: str, detail: str) -> str:
    """The plain name of a finding; whether it is exact or folded, where texts are compared in both ways."""
    name = find_kind(kind).title
    if FOLDED_DETAIL in detail or MEANING_DETAIL in detail:
        return f"{name}, folded"
    # Conflicts between splits, and between pairs in either order, are looked for in both ways at once.
    is_exact = find_kind(kind).exact_or_folded and not (kind == "conflicting_label" and detail)
    return f"{name}, exact" if is_exact else name


def changes_page(changes: Sequence[Change], *, width: int = WIDTH) -> list[str]:
    """How the tables of two releases differ, as lines."""
    heading = ["table", "before", "after", "added", "removed", "changed"]
    rows = [
        [
            f"{change.config}/{change.split}",
            *(f"{count:,}" for count in (change.before, change.after, change.added, change.removed, change.changed)),
        ]
        for change in changes
    ]
    head, rule, *lines = number_table([heading, *rows], width)
    page = [head, rule]
    for change, line in zip(changes, lines, strict=True):
        page += [line, *(wrapped for remark in _remarks(change) for wrapped in wrap(remark, "  ", width=width))]
    for change in changes:
        for kind, examples in (change.examples or {}).items():
            if examples:
                page += ["", *wrap(f"{kind} in {change.config}/{change.split}, for example:", width=width)]
                for example in examples:
                    page += wrap(markdown.code(example, 80).strip("`"), "  - ", width=width)
    return page


def check_page(
    report: Mapping[str, Any],
    findings: Sequence[Finding],
    quotes: Sequence[Quote | None] = (),
    *,
    brief: bool = False,
) -> str:
    """The report that `pipelines.check --json` prints, and its findings, as text. quotes: a text of each finding.

    brief: its verdict in a line, cut to the width, without its rows and findings; notes and problems are said as always.
    """
    marks = [mark for mark in ("sample", "partial") if report[mark]]
    marked = f"{heading(report)} ({', '.join(marks)})" if marks else heading(report)
    head = f"{marked}: {report['verdict']['summary']}"
    lines = [head if len(head) <= WIDTH else f"{head[: WIDTH - 1]}…"] if brief else wrap(head)
    if report["content_sha256"] and not brief:
        lines += fact("content", report["content_sha256"])
    elif not brief:
        rows = ", ".join(f"{table['config']}/{table['split']} {table['rows']:,}" for table in report["tables"])
        lines += [*fact("task", report["task"]), *fact("rows", rows)]
    failed = f"--fail-on {','.join(report['failed_on'])}"
    said = {"note": report["notes"], "problem": report["problems"], "fails": [failed] if report["failed_on"] else []}
    lines += facts((name, text) for name, texts in said.items() for text in texts)
    if findings and not brief:
        lines += ["", *findings_table(findings, quotes)]
    return "\n".join(lines)


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, errors first, else in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def findings_table(
    findings: Sequence[Finding], quotes: Sequence[Quote | None] = (), *, brief: bool = False
) -> list[str]:
    """A line for each kind of finding; below it its plain name, what tells its findings apart, a text, and why it is kept.

    What the design of a dataset implies is a line below the table. quotes: a text of each finding and of its twin, where it has
    any. brief: without the names of rows and the reason.
    """
    groups = group_findings(findings, quotes)
    shown = [group for group in groups if not group.first.by_design]
    rows = [["severity", "finding", "count", "share", "where"]]
    for group in shown:
        count = group.count_text.removesuffix(" looked at")
        rows.append([group.first.severity, group.first.kind, count, f"{group.share:.2%}", group.location])
    widths = column_widths(rows)
    widths[-1] = max(min(widths[-1], WIDTH - sum(widths[:-1]) - 10), 8)
    heading, *heads = [[f"  {line}" for line in row] for row in table_lines(rows, widths, numbers=(2, 3))]
    page = heading if shown else []
    indent = " " * (widths[0] + 4)
    for head, group in zip(heads, shown, strict=True):
        examples = "; ".join(markdown.shorten(markdown.visible(name), 60) for name in group.examples)
        checked = group.count_text.partition(" of ")[2].replace(" looked", " texts looked")
        checked = "" if group.first.counts_labels else checked
        page += [*head, *wrap("; ".join(filter(None, (group_name(group), group.detail, checked))), indent)]
        if len(group.findings) > 1:
            page += wrap("; ".join(list_places(group)), indent)
        page += [f"{indent}{line}" for line in _quote_lines(group.quote, WIDTH - len(indent) - 2)]
        for text in () if brief else filter(None, (examples, *(f"kept: {why}" for why in group.why))):
            page += wrap(text, indent)
    for group in groups[len(shown) :]:
        counted = f"{find_kind(group.first.kind).title}: {group.count_text} ({group.share:.2%})"
        page += fact("by design", f"{counted}; {group.first.why}")
    return page


def group_name(group: FindingGroup) -> str:
    """The plain name of findings; whether all are exact or folded, where texts are compared in both ways."""
    kind = group.first.kind
    return find_kind(kind).title if group.detail is None else finding_name(kind, group.detail)


BEFORE = 20  # characters before what is wrong in a long text


def _quote_lines(quote: Quote | None, width: int) -> list[str]:
    """A text and its twin, each in one line, with escapes for what nobody would see, cut to a width; equal ones once.

    The last line has a `^` below each character that is wrong, or in which the twin differs, and the note. Of a long text the
    line begins a little before that.
    """
    if quote is None:
        return []
    texts = list(dict.fromkeys(text for text in (quote.text, quote.twin) if text is not None))
    start, end = quote.mark or (0, 0)
    if len(texts) > 1:
        start, end = differing(*texts)[-1]
        end = max(end, start + 1)  # of a text that only lacks words, where they would be
    first = max(0, start - BEFORE) if start > width // 2 else 0
    cut = [("…" if first else "") + _one_line(text[first:]) for text in texts]
    lines = [f"“{text if len(text) <= width else f'{text[: width - 1]}…'}”" for text in cut]
    before = 1 + bool(first) + len(_one_line(texts[-1][first:start]))
    marks = "^" * min(len(_one_line(texts[-1][start:end])), width + 1 - before)
    return [*lines, f"{' ' * before}{marks} {quote.note}".rstrip()] if marks else lines


def _one_line(text: str) -> str:
    return markdown.visible(text.replace("\n", "⏎"))


def _remarks(change: Change) -> list[str]:
    said = {
        change.state: change.state in {"new", "gone", "same"},
        f"columns {', '.join(change.columns)}": change.columns,
        "the same rows in another order": change.reordered,
        "matched by whole rows": change.state == "changed" and not change.key,
    }
    return [remark for remark, is_so in said.items() if is_so]


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
GITHUB_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def heading(report: Mapping[str, Any]) -> str:
    """A dataset as its report names it, with its subset and version."""
    return " ".join(filter(None, (report["dataset"], report["subset"], report["version"])))


def _message(finding: Finding) -> str:
    """A finding in one line: what it is, how many, where, and what distinguishes it from others."""
    what = finding_name(finding.kind, finding.detail)
    return f"{what}: {finding.count_text} ({finding.share:.2%}) in {finding.location}" + (
        f"; {finding.detail}" if finding.detail else ""
    )


def markdown_page(
    report: Mapping[str, Any], findings: Sequence[Finding], quotes: Sequence[Quote | None] = ()
) -> list[str]:
    """A section of Markdown: the verdict, problems and notes, and a table of the findings by kind, the worst first.

    quotes: a text of each finding and of its twin, where it has any.
    """
    lines = [f"### {markdown.plain(heading(report))}", "", markdown.plain(f"{report['verdict']['summary']}."), ""]
    remarks = [*(f"problem: {text}" for text in report["problems"]), *(f"note: {text}" for text in report["notes"])]
    lines += [f"- {markdown.plain(text)}" for text in remarks]
    rows = []
    for group in group_findings(findings, quotes):
        reason = f"by design: {group.first.why}" if group.first.by_design else ""
        name = "<br>".join(markdown.plain(text) for text in (group_name(group), group.detail, reason) if text)
        examples = (group.quote.text,) if group.quote else group.examples
        where = "<br>".join(map(markdown.plain, list_places(group)))
        shown = markdown.code(examples[0], 60) if examples else ""
        rows.append((group.first.severity, name, group.count_text, f"{group.share:.2%}", where, shown))
    columns = {
        "severity": "---",
        "finding": "---",
        "count": "---:",
        "share": "---:",
        "where": "---",
        "for example": "---",
    }
    return [*lines, *(["", *markdown.table(columns, rows)] if rows else []), ""]


def github_page(report: Mapping[str, Any], findings: Sequence[Finding]) -> list[str]:
    """Commands that GitHub Actions shows beside a run: one for each problem and finding, without those by design."""
    name = heading(report)
    lines = [f"::error title={_property(name)}::{_data(problem)}" for problem in report["problems"]]
    for finding in by_severity([finding for finding in findings if not finding.by_design]):
        title = _property(f"{name}: {finding.kind}")
        lines.append(f"::{GITHUB_LEVELS[finding.severity]} title={title}::{_data(_message(finding))}")
    return lines or [f"::notice title={_property(name)}::{_data(report['verdict']['summary'])}"]


def github_failure(name: str, error: DatasetError) -> str:
    """The command for a dataset that could not be checked."""
    return f"::error title={_property(name)}::{_data(' '.join(str(error).split()))}"


MARKDOWN_MARK = "<!-- embedding-datasets check -->"  # the first line of a file, by which we know it again
BADGE_COLORS = {"good": "brightgreen", "warning": "yellow", "error": "red"}


def markdown_failure(name: str, error: DatasetError) -> list[str]:
    """The section of Markdown for a dataset that could not be checked."""
    return [f"### {markdown.plain(name)}", "", markdown.plain(f"not checked: {' '.join(str(error).split())}"), ""]


def badge(reports: Sequence[Mapping[str, Any]], failures: Sequence[tuple[str, DatasetError]]) -> dict[str, Any]:
    """The endpoint of a badge of shields.io: the worst verdict without its reasons, or how many could not be checked."""
    verdicts = [report["verdict"] for report in reports]
    worst = max(verdicts, key=lambda verdict: [*COLORS].index(verdict["state"]), default=None)
    message = f"{len(failures)} not checked" if failures or not worst else worst["summary"].partition(":")[0]
    color = "lightgrey" if failures or not worst else BADGE_COLORS[COLORS[worst["state"]]]
    return {
        "schemaVersion": 1,
        "label": "embedding data",
        "message": message,
        "color": color,
        "isError": bool(failures),
    }


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
    run = {
        "tool": {"driver": {"name": "embedding-datasets", "rules": rules}},
        "invocations": [{"executionSuccessful": not failures, "toolExecutionNotifications": notifications}],
        "results": listed,
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(report: Mapping[str, Any], finding: Finding) -> dict[str, Any]:
    return {
        "ruleId": finding.kind,
        "level": SARIF_LEVELS[finding.severity if finding.kind in KINDS else "info"],
        "message": {"text": _message(finding)},
        "locations": [_location(report, finding.location)],
        "properties": {
            "count": finding.count,
            "share": finding.share,
            "detail": finding.detail,
            "examples": list(finding.examples),
        },
        **({"suppressions": [{"kind": "external", "justification": finding.why}]} if finding.by_design else {}),
    }


def _location(report: Mapping[str, Any], table: str) -> dict[str, Any]:
    logical = [{"fullyQualifiedName": "/".join(filter(None, (heading(report), table)))}]
    return {"physicalLocation": {"artifactLocation": {"uri": str(report["path"])}}, "logicalLocations": logical}
