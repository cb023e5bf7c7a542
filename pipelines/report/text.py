"""Tables and pages of plain text for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cards import markdown
from cards.manifest import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.release.comparison import Change


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def changes_page(changes: Sequence[Change]) -> list[str]:
    """How the tables of two releases differ, as lines."""
    heading = ["table", "rows before", "rows after", "added", "removed", "changed", "note"]
    rows = [
        [
            f"{change.config}/{change.split}",
            *(f"{count:,}" for count in (change.before, change.after, change.added, change.removed, change.changed)),
            "; ".join(_remarks(change)),
        ]
        for change in changes
    ]
    lines = table([heading, *rows]).splitlines()
    for change in changes:
        for kind, examples in (change.examples or {}).items():
            if examples:
                lines += ["", f"{kind} in {change.config}/{change.split}, for example:"]
                lines += [f"  {markdown.code(example, 80).strip('`')}" for example in examples]
    return lines


def difference_page(difference: Mapping[str, Any]) -> list[str]:
    """The difference that `pipelines.diff --json` prints, as lines of text."""
    a, b = difference["a"], difference["b"]
    lines = ["the same rows" if difference["same"] else "different rows"]
    lines += [
        f"  {label}  {one['dataset']} {one['version']}  {one['content_sha256'][:16]}  {one['name']}"
        for label, one in (("A", a), ("B", b))
    ]
    lines += ["", *changes_page(difference["tables"])]
    equal = f"{difference['equal_figures']} figures are equal"
    if difference["figures"]:
        rows = [[name, *(_figure(value) for value in pair)] for name, pair in difference["figures"].items()]
        lines += ["", *table([["figure", "A", "B"], *rows]).splitlines(), f"({equal})"]
    else:
        lines += ["", f"statistics, options, findings: all {equal}"]
    return lines


def check_page(report: Mapping[str, Any]) -> str:
    """The report that `pipelines.check --json` prints, as text."""
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
        lines += ["", *(f"  {line}" for line in _findings_table(report["findings"]).splitlines())]
    return "\n".join(lines)


def _findings_table(findings: Sequence[Mapping[str, Any]]) -> str:
    explained = any(finding["why"] for finding in findings)
    heading = ["severity", "finding", "where", "count", "share", "examples", *(["reason"] if explained else [])]
    rows = [
        [
            finding["severity"],
            finding["kind"],
            "/".join(filter(None, (finding["config"], finding["split"], finding["column"]))),
            count_text(finding["count"], finding["texts_checked"]),
            f"{finding['share']:.2%}",
            "; ".join(finding["examples"])[:60] or finding["detail"][:60],
            *([finding["why"]] if explained else []),
        ]
        for finding in findings
    ]
    return table([heading, *rows])


def _remarks(change: Change) -> Iterator[str]:
    if change.state in {"new", "gone", "same"}:
        yield change.state
    if change.columns:
        yield f"columns {', '.join(change.columns)}"
    if change.reordered:
        yield "the same rows in another order"
    if change.state == "changed" and not change.key:
        yield "matched by whole rows"


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)[:60]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
