"""The difference of two datasets as text for a terminal, Markdown for a pull request, and a page for a browser."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cards import markdown
from cards.evidence import differing
from cards.figures import figure_name
from cards.render import CARDS
from pipelines.identity import ALLOWED, USUAL
from pipelines.identity.rows import TableDifference
from pipelines.process.html import write_page
from pipelines.process.tables import WIDTH, facts, number_table, wrap

COUNTS = {"A": "before", "B": "after", "equal": "equal", "changed": "changed", "removed": "removed", "added": "added"}
BEFORE = 20  # characters that are shown before a difference
SHOWN = 12  # labels that a line names
STATISTICS = "statistics / "


def verdict(difference: Mapping[str, Any]) -> str:
    """Whether two datasets are the same, in a line."""
    words = [ALLOWED[word] for word in difference["differences"] if word in ALLOWED]
    others = f", but for {markdown.join_with_and(words)}" if words else ""
    return "different rows" if {"rows", "tables"} & set(difference["differences"]) else f"the same rows{others}"


def text_page(difference: Mapping[str, Any]) -> list[str]:
    """The difference that `embedding-datasets diff --json` prints, as lines of text."""
    lines = wrap(verdict(difference))
    if not difference["same"] and not {"rows", "tables"} & set(difference["differences"]):
        accepted = [f"--allow {word}" for word in difference["differences"] if word not in USUAL]
        lines += wrap(f"not counted as the same without {' '.join(accepted) or 'leaving out --strict'}", "  ")
    for label in ("a", "b"):
        title, *where = _titles(difference[label])
        lines += [*wrap(title, f"  {label.upper()}  "), *(line for text in where for line in wrap(text, "     "))]
    lines += ["", *wrap(f"compared as {difference['task'] or 'they are: all columns'}", "  ")]
    lines += facts(("note", note) for note in difference["notes"])
    tables: Sequence[TableDifference] = difference["tables"]
    head, rule, *rows = number_table([["table", *COUNTS], *map(_counts, tables)], WIDTH)
    lines += ["", head, rule]
    for table, row in zip(tables, rows, strict=True):
        lines += [row, *(line for remark in remarks(table) for line in wrap(remark, "  "))]
    for table in tables:
        for kind, examples in table.examples.items():
            cut = _from_differences(kind, examples)
            shown = [line for row in cut for line in wrap(markdown.code(row, 80).strip("`"), "  - ")]
            lines += ["", *wrap(f"{kind} in {_location(table)}, for example:"), *shown] if examples else []
    return [*lines, *_figure_lines(difference)]


def _figure_lines(difference: Mapping[str, Any]) -> list[str]:
    """What else differs between two releases: statistics, options, findings."""
    equal = f"{difference['equal_figures']} figures are equal"
    if not difference["figures"]:
        return ["", f"statistics, options, findings: all {equal}"] if difference["equal_figures"] else []
    groups, heads = _grouped(difference["figures"]), dict[str, list[str]]()
    statistics = {group.removeprefix(STATISTICS): groups[group] for group in groups if group.startswith(STATISTICS)}
    if len(statistics) == 2:  # side by side: most figures of one split are those of the other
        first, second = (groups.pop(f"{STATISTICS}{split}") for split in statistics)
        heads["statistics"] = ["statistics", *(f"{split} {side}" for split in statistics for side in "AB")]
        pairs = {name: (*first.get(name, ("", "")), *second.get(name, ("", ""))) for name in {**first, **second}}
        groups = {"statistics": pairs, **groups}
    lines = []
    for group, figures in groups.items():
        rows = [[name, *map(_figure, values)] for name, values in figures.items()]
        lines += ["", *number_table([heads.get(group, [group, "A", "B"]), *rows], WIDTH)]
    return [*lines, "", f"({equal})"]


def markdown_page(difference: Mapping[str, Any]) -> list[str]:
    """The difference as a section of Markdown."""
    a, b = (markdown.plain(", ".join(_titles(difference[label]))) for label in ("a", "b"))
    lines = [f"### {markdown.plain(verdict(difference))}", "", f"- A: {a}", f"- B: {b}"]
    lines += [f"- {markdown.plain(note)}" for note in difference["notes"]]
    rows = [
        [*map(markdown.plain, _counts(table)), "<br>".join(map(markdown.plain, remarks(table)))]
        for table in difference["tables"]
    ]
    columns = {"table": "---"} | dict.fromkeys(COUNTS, "---:") | {"remarks": "---"}
    lines += ["", *markdown.table(columns, rows)]
    for table in difference["tables"]:
        for kind, examples in table.examples.items():
            lines += ["", f"{kind} in {markdown.plain(_location(table))}:", ""] if examples else []
            lines += [f"- {markdown.code(row, 80)}" for row in _from_differences(kind, examples)]
    if difference["figures"]:
        figures = difference["figures"].items()
        rows = [[*map(markdown.plain, (name, *map(_figure, pair)))] for name, pair in figures]
        lines += ["", *markdown.table({"figure": "---", "A": "---:", "B": "---:"}, rows)]
    return [*lines, ""]


def write_html(path: Path, difference: Mapping[str, Any]) -> None:
    """Write the difference as a page, one file without scripts, atomically."""
    tables = [
        {
            "location": _location(table),
            "counts": {name: getattr(table, key) for name, key in COUNTS.items()},
            "remarks": remarks(table),
            "examples": {
                kind: [
                    {name: [_excerpt(side) for side in _sides(kind, name, value, table)] for name, value in row.items()}
                    for row in _from_differences(kind, rows)
                ]
                for kind, rows in table.examples.items()
            },
        }
        for table in difference["tables"]
    ]
    figures = {
        group: {name: list(map(_figure, pair)) for name, pair in figures.items()}
        for group, figures in _grouped(difference["figures"]).items()
    }
    values = {"verdict": verdict(difference), "tables": tables, "figures": figures}
    sides = {label: _titles(difference[label.lower()]) for label in ("A", "B")}
    write_page(path, CARDS / "difference.html.jinja", **{**difference, **values}, sides=sides, counts=list(COUNTS))


def _sides(kind: str, name: str, value: Any, table: TableDifference) -> list[Any]:
    """The values of A and B where both are shown, else the one value."""
    return value if kind == "changed" and name in table.differing and isinstance(value, list) else [value]


def _excerpt(value: Any) -> str:
    return markdown.visible(str(markdown.shorten(value, 400)))


def remarks(table: TableDifference) -> list[str]:
    """What is to say about a table beside its counts."""
    states = {"new": "only in B", "gone": "only in A", "same": "the same rows in the same order"}
    order = "the same rows in another order" if table.state == "reordered" else "the equal rows come in another order"
    types = (f"{name} {old} and {new}" for name, (old, new) in table.types.items())
    names = [f"{old} is {new}" for old, new in table.labels.items()]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    kinds = {
        "another id alone": table.new_ids,
        "the same texts, other values": table.same_text,
        "case, punctuation or white space alone": table.folded,
        "the same id, another text": table.same_id,
    }
    counted = "; ".join(f"{name} {count:,}" for name, count in kinds.items() if count)
    columns = (f"{name} {count:,}" for name, count in table.differing.items())
    said = {
        states.get(table.state, ""): table.state in states,
        order: table.reordered,
        f"{table.old} in A": table.old,
        f"not compared, columns of A (-) and B (+): {', '.join(table.columns)}": table.columns,
        f"types: {', '.join(types)}": table.types,
        f"labels: {', '.join(names[:SHOWN])}{more}": names,
        counted: counted,
        f"by column: {', '.join(columns)}": table.differing and table.changed,
    }
    return [sentence for sentence, is_so in said.items() if is_so]


def _titles(side: Mapping[str, Any]) -> list[str]:
    """What a dataset is called, and where it is if that says more."""
    name = str(side["name"])
    if side["dataset"]:
        name = f"{side['dataset']} {side['version']}, content {side['content_sha256'][:16]} ({name})"
    return list(dict.fromkeys([name, side["where"]]))


def _from_differences(kind: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Examples in which two long texts begin a little before they differ."""
    return [
        {
            name: _from_difference(*value) if kind == "changed" and _are_texts(value) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(text, str) for text in value)


def _from_difference(old: str, new: str) -> list[str]:
    start = max(0, differing(new, old)[0][0] - BEFORE)
    return [text if start <= BEFORE else f"…{text[start:]}" for text in (old, new)]


def _location(table: TableDifference) -> str:
    return f"{table.config}/{table.split}"


def _counts(table: TableDifference) -> list[str]:
    return [_location(table), *(f"{getattr(table, key):,}" for key in COUNTS.values())]


def _grouped(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Figures by the beginning of their names: `statistics / train`, `option`, `finding`, `dropped`; statistics in words."""
    groups: dict[str, dict[str, Any]] = {}
    for name, pair in figures.items():
        parts = name.split(" / ")
        depth = 2 if parts[0] == "statistics" and len(parts) > 2 else 1
        inner = figure_name(parts[depth:]) if parts[0] == "statistics" else " / ".join(parts[depth:])
        groups.setdefault(" / ".join(parts[:depth]), {})[inner] = pair
    return groups


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else markdown.shorten(str(value), 12)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
