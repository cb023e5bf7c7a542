"""Tables and pages of plain text for the terminal."""

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from cards import markdown
from cards.manifest import SEVERITIES, count_text
from pipelines.release.comparison import Change
from pipelines.report.finding_names import finding_name

WIDTH = 80  # of a page, whatever the terminal: the same command prints the same text everywhere


def table(
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    optional: Sequence[str] = (),
    numbers: Collection[str] = (),
) -> str:
    """Rows as aligned columns; the first row is the heading. numbers: the columns that are aligned to the right.

    width: of the terminal. Where the columns need more, the optional ones are left out, the first named first, which a line at
    the end says; then cells are folded, at spaces and behind `/`, else behind `-` and `_`. None for output that no terminal
    shows: each row is one line, with all columns.
    """
    dropped = []
    for name in optional if width is not None else ():
        if sum(_widths(rows)) + 2 * (len(rows[0]) - 1) > (width or 0):
            column = rows[0].index(name)
            rows = [[*row[:column], *row[column + 1 :]] for row in rows]
            dropped.append(name)
    widths = _widths(rows)
    if width is not None:
        widths = _fit_columns(rows, widths, width - 2 * (len(widths) - 1))
    right = [column for column, name in enumerate(rows[0]) if name in numbers]
    lines = [line for row in _table_lines(rows, widths, right) for line in row]
    if dropped:
        lines += ["", *wrap(f"(the terminal is too narrow for: {', '.join(dropped)})", width=width or WIDTH)]
    return "\n".join(lines)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]


def _fit_columns(rows: Sequence[Sequence[str]], widths: Sequence[int], space: int) -> list[int]:
    """Widths with `space` as their sum, or as near as possible: the widest column shrinks, while its words stay whole."""
    fitted = list(widths)
    words = [
        max(len(piece.rstrip()) for row in rows for piece in _pieces(row[column])) for column in range(len(widths))
    ]
    for least in (words, [min(size, 8) for size in widths]):  # words are broken only if nothing else helps
        while sum(fitted) > space:
            wide = [column for column, size in enumerate(fitted) if size > least[column]]
            if not wide:
                break
            fitted[max(wide, key=fitted.__getitem__)] -= 1
    return fitted


def _table_lines(
    rows: Sequence[Sequence[str]], widths: Sequence[int], numbers: Collection[int] = ()
) -> list[list[str]]:
    """The lines of each row, one for each line of its longest cell; those of the heading with the rule below them.

    numbers: the columns that are aligned to the right.
    """
    listed = []
    for row in rows:
        lines = zip_longest(*map(fold, row, widths), fillvalue="")
        listed.append([_align_cells(line, widths, numbers) for line in lines])
    listed[0].append("  ".join("-" * size for size in widths))
    return listed


def _align_cells(cells: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    sized = zip(cells, widths, strict=True)
    aligned = [cell.rjust(size) if at in numbers else cell.ljust(size) for at, (cell, size) in enumerate(sized)]
    return "  ".join(aligned).rstrip()


def fold(cell: str, width: int) -> list[str]:
    """A text as lines of at most `width` characters, as `table` folds it; a longer word is broken anywhere."""
    lines = [""]
    for part in re.split(r"(?<=[\s/])(?=[^\s/])", cell):
        for piece in [part] if len(part.rstrip()) <= width else _pieces(part):
            rest = piece
            if lines[-1] and len((lines[-1] + rest).rstrip()) > width:
                lines.append("")
            while len(rest.rstrip()) > width:
                lines[-1:] = [rest[:width], ""]
                rest = rest[width:]
            lines[-1] += rest
    return [line.rstrip() for line in lines]


def _pieces(cell: str) -> list[str]:
    """The parts of a text between which a line may end."""
    return re.split(r"(?<=[\s/_-])(?=[^\s/_-])", cell)


def wrap(text: str, label: str = "", *, width: int = WIDTH, break_words: bool = True) -> list[str]:
    """A text as lines of at most `width` characters: a label, and the text beside it, each line below the first.

    break_words: break a word that is longer than a line. False for what is to be copied, such as an address or a path.
    """
    indent = " " * len(label) or "  "
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=break_words,
    )
    return lines or [label.rstrip()]


def fact(name: str, text: str) -> list[str]:
    """A line `  name      text` of a page, wrapped."""
    return wrap(text, f"  {name:<10}")


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
    head, rule, *lines = _number_table([heading, *rows], width)
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


def difference_page(difference: Mapping[str, Any]) -> list[str]:
    """The difference that `pipelines.diff --json` prints, as lines of text."""
    lines = ["the same rows" if difference["same"] else "different rows"]
    for label, one in (("A", difference["a"]), ("B", difference["b"])):
        lines += wrap(f"{one['dataset']} {one['version']}, content {one['content_sha256'][:16]}", f"  {label}  ")
        lines += wrap(one["name"], "     ")
    lines += ["", *changes_page(difference["tables"])]
    equal = f"{difference['equal_figures']} figures are equal"
    if not difference["figures"]:
        return [*lines, "", f"statistics, options, findings: all {equal}"]
    for group, figures in _grouped(difference["figures"]).items():
        rows = [[name, *(_figure(value) for value in pair)] for name, pair in figures.items()]
        lines += ["", *_number_table([[group, "A", "B"], *rows], WIDTH)]
    return [*lines, "", f"({equal})"]


def check_page(report: Mapping[str, Any]) -> str:
    """The report that `pipelines.check --json` prints, as text."""
    marks = [mark for mark in ("sample", "partial") if report[mark]]
    name = " ".join(filter(None, (report["dataset"], report["subset"], report["version"])))
    marked = f"{name} ({', '.join(marks)})" if marks else name
    lines = wrap(f"{marked}: {report['verdict']['summary']}")
    if report["content_sha256"]:
        lines += fact("content", report["content_sha256"])
    else:
        rows = ", ".join(f"{table['config']}/{table['split']} {table['rows']:,}" for table in report["tables"])
        lines += [*fact("task", report["task"]), *fact("rows", rows)]
    for note in report["notes"]:
        lines += fact("note", note)
    for problem in report["problems"]:
        lines += fact("problem", problem)
    if report["failed_on"]:
        lines += fact("fails", f"--fail-on {','.join(report['failed_on'])}")
    if report["findings"]:
        lines += ["", *findings_table(report["findings"])]
    return "\n".join(lines)


def by_severity(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The findings, errors first, else in their order."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one["severity"]))


def findings_table(findings: Sequence[Mapping[str, Any]], *, brief: bool = False) -> list[str]:
    """A line for each finding; below it its plain name, what tells it from others, its examples, and why it stays.

    brief: without the examples and the reason.
    """
    findings = by_severity(findings)
    rows = [["severity", "finding", "count", "share", "where"]]
    for one in findings:
        where = "/".join(filter(None, (one["config"], one["split"], one["column"])))
        count = count_text(one["count"], one["texts_checked"]).removesuffix(" looked at")
        rows.append([one["severity"], one["kind"], count, f"{one['share']:.2%}", where])
    widths = _widths(rows)
    widths[-1] = max(min(widths[-1], WIDTH - sum(widths[:-1]) - 10), 8)
    heading, *heads = [[f"  {line}" for line in row] for row in _table_lines(rows, widths, numbers=(2, 3))]
    page = heading
    indent = " " * (widths[0] + 4)
    for head, one in zip(heads, findings, strict=True):
        examples = "; ".join(markdown.shorten(markdown.visible(name), 60) for name in one["examples"])
        reason = f"kept: {one['why']}" if one["why"] else ""
        page += head
        looked_at = "" if one["texts_checked"] is None else f"{one['texts_checked']:,} texts looked at"
        detail = "; ".join(filter(None, (finding_name(one["kind"], one["detail"]), one["detail"], looked_at)))
        for text in filter(None, (detail,) if brief else (detail, examples, reason)):
            page += wrap(text, indent)
    return page


def _number_table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as a name and right-aligned numbers; the first row is the heading. Long names are cut in the middle to fit."""
    widths = _widths(rows)
    numbers = sum(widths[1:]) + 2 * len(widths[1:])
    widths[0] = longest = min(widths[0], max(width - numbers, 20))
    cut = [[cut_middle(name, longest), *cells] for name, *cells in rows]
    return [line for row in _table_lines(cut, widths, numbers=range(1, len(widths))) for line in row]


def cut_middle(name: str, length: int, end: int = 10) -> str:
    """A name of at most `length` characters: of a longer one, its beginning and its last `end` characters."""
    return name if len(name) <= length else f"{name[: length - end - 3]}...{name[-end:]}"


def _grouped(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Figures by the beginning of their names: `statistics / train`, `option`, `finding`, `dropped`."""
    groups: dict[str, dict[str, Any]] = {}
    for name, pair in figures.items():
        parts = name.split(" / ")
        depth = 2 if parts[0] == "statistics" and len(parts) > 2 else 1
        groups.setdefault(" / ".join(parts[:depth]), {})[" / ".join(parts[depth:])] = pair
    return groups


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
        return "-" if value is None else markdown.shorten(str(value), 12)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
