"""Writes the results of checks as one HTML file: tables, findings with example rows, lengths, labels and statistics.

The file has no scripts and no external resources, so it can be sent and archived. All values from data are escaped, and long ones
are cut.
"""

import math
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from builders import tasks
from builders.errors import DatasetError
from cards import markdown
from cards.columns import label_name
from cards.evidence import differing, group_findings, list_places
from cards.figures import statistics_table
from cards.kinds import KINDS
from cards.manifest import SEVERITIES
from cards.render import CARDS
from cards.statistics import to_json
from pipelines.audit import statistics
from pipelines.audit.findings import EXAMPLES, NOTE_COLUMNS, OWN_COLUMNS, FindingRows, list_rows
from pipelines.audit.tables import JUDGED_TABLES, Frames, count_rows, model_input
from pipelines.audit.texts import PATTERNS
from pipelines.checking.checks import CheckResult
from pipelines.checking.text import group_name, heading
from pipelines.checking.verdict import badge
from pipelines.process.html import write_page
from pipelines.process.safe_text import mask_tokens
from pipelines.release.examples import RULE, cut_before, find_mark

MAX_BARS = 40  # of a histogram; the last one counts all texts beyond the 99th percentile
MAX_LABELS = 20  # in a chart, the most frequent ones
MAX_CHARACTERS = 240  # of a value of an example
LABEL_COLUMNS = ("label", "labels", "score")  # shown after the texts of an example


def section(result: CheckResult) -> dict[str, Any]:
    """The section of a dataset, as values for the template. Rows are read here, not by `write`."""
    report = result.report
    complete = result.frames and all(
        count_rows(frame) for splits in result.frames.values() for frame in splits.values()
    )
    described = to_json(statistics.describe_tables(result.task, result.frames)) if complete else {}
    examples = {id(finding): rows for finding, rows in zip(result.findings, _examples(result), strict=True)}
    severities = [finding.severity for finding in result.findings if not finding.by_design]
    return {
        "report": report,
        "name": heading(report),
        "badge": badge(report["verdict"]["state"], sample=report["sample"]),
        "counts": {severity: severities.count(severity) for severity in SEVERITIES},
        "findings": [
            {
                "kind": group.first.kind,
                "severity": group.first.severity,
                "by_design": group.first.by_design,
                "name": group_name(group),
                "detail": group.detail,
                "places": list_places(group),
                "count_text": group.count_text,
                "share": group.share,
                "why": group.why,
                "rows": [example for finding in group.findings for example in examples[id(finding)]],
            }
            for group in group_findings(result.findings)
        ],
        "charts": _charts(result),
        "statistics": [  # the template escapes again, for HTML
            (unescape(name), [unescape(value) for value in values])
            for name, values in statistics_table(result.task, described, labels=False)
        ],
        "splits": list(described),
    }


def failure(name: str, error: DatasetError) -> dict[str, Any]:
    """The section of a dataset that could not be checked."""
    return {"name": name, "error": mask_tokens(str(error))}


def write(path: Path, sections: Sequence[Mapping[str, Any]]) -> None:
    """Write the report atomically: an error leaves the old file as it was."""
    found = {finding["kind"] for section in sections for finding in section.get("findings", ())}
    definitions = [
        {"kind": kind, "name": entry.title, "definition": entry.definition, "counted": entry.counted}
        for kind, entry in KINDS.items()
        if kind in found
    ]
    template = CARDS / "report.html.jinja"
    write_page(path, template, sections=sections, severities=SEVERITIES, definitions=definitions)


def _examples(result: CheckResult) -> list[list[dict[str, Any]]]:
    """The examples of each finding: the name of a row, its values by column, and the rows that it repeats, its twins.

    Labels and tables have no values.
    """
    listed = [list_rows(found, EXAMPLES).to_dicts() for found in result.found]
    ids: dict[tuple[str, str], set[str]] = {}
    for found, rows in zip(result.found, listed, strict=True):
        for table, column in JUDGED_TABLES.items() if found.finding.config in ("qrels", "top_ranked") else ():
            judged_ids = {row[column] for row in rows if row.get(column) is not None}
            ids.setdefault((table, found.finding.split), set()).update(judged_ids)
    judged = {location: _rows_by_id(result.rows, location, some) for location, some in ids.items()}
    text_columns = {layout.config: layout.text for layout in tasks.layouts(result.task)}

    def example(found: FindingRows, row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """An example from a row of list_rows, or its twin (prefix `twin `)."""
        finding = found.finding
        of_rule = [finding.column] if finding.kind == RULE else []
        names = dict.fromkeys(("title", *text_columns.get(finding.config, ()), *of_rule))
        if not prefix and not any(value is not None for column, value in row.items() if column not in OWN_COLUMNS):
            row = {"row": row["row"]}  # not a row of the table
        values = [
            (column, _marked(found, column, row[prefix + column], row.get(column if prefix else f"twin {column}")))
            for column in names
            if prefix + column in row
        ]
        labelled = [column for column in LABEL_COLUMNS if prefix + column in row]
        values += [(column, _label_text(result.task, row[prefix + column])) for column in labelled]
        for table, column in JUDGED_TABLES.items():
            other = judged.get((table, finding.split), {}).get(row.get(prefix + column) or "", {})
            values += [(f"{table}: {part}", other[part]) for part in ("title", "text") if part in other]
        values += [(column, row[column]) for column in NOTE_COLUMNS if column in row]
        shown = [
            (column, value if isinstance(value, Markup) else _readable(value))
            for column, value in values
            if value != ""
        ]
        if prefix:
            return {"name": f"{row['twin_split']}: {row['twin']}", "values": shown}
        twins = [example(found, row, "twin ")] if row.get("twin") else []
        return {"name": str(row["row"]), "values": shown, "twins": twins}

    return [
        [example(found, row) for row in rows]
        or [{"name": name, "values": [], "twins": []} for name in found.finding.examples]
        for found, rows in zip(result.found, listed, strict=True)
    ]


def _marked(found: FindingRows, column: str, text: Any, twin: Any) -> Any:
    """A text with a mark where a finding sees something wrong, or where it differs from its twin; else as it is."""
    mark = None
    if isinstance(text, str) and found.finding.column in ("", column):
        mark = find_mark(found.pattern or PATTERNS.get(found.finding.kind, ""), text)
        if mark is None and isinstance(twin, str) and twin != text:
            mark = differing(text, twin)[0]
    if mark is None or mark in ((0, len(text)), (mark[0], mark[0])):
        return text
    text, (start, end) = cut_before(text, mark) if mark[1] > MAX_CHARACTERS else (text, mark)
    parts = (_readable(part) for part in (text[:start], text[start:end], text[end:]))
    return Markup("{}<mark>{}</mark>{}").format(*parts)


def _rows_by_id(frames: Frames, location: tuple[str, str], ids: set[str]) -> dict[str, dict[str, Any]]:
    """The first row of each id in a table of queries or documents."""
    frame = frames.get(location[0], {}).get(location[1])
    if frame is None or not ids:
        return {}
    rows = frame.filter(pl.col("id").is_in(sorted(ids))).collect(engine="streaming")
    return {row["id"]: row for row in rows.unique("id", keep="first", maintain_order=True).iter_rows(named=True)}


def _label_text(task: tasks.Task, label: Any) -> Any:
    """The name of a label, or the names of a list of labels; a score and null as they are."""
    if isinstance(label, list):
        return ", ".join(label_name(task, number) for number in label or [None])
    return label_name(task, label) if isinstance(label, int) else label


def _readable(value: Any) -> str:
    """A value as text, cut where it is long, with escapes for invisible characters."""
    if value is None:
        return "null"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return markdown.visible(markdown.shorten(text, MAX_CHARACTERS))


def _charts(result: CheckResult) -> list[dict[str, Any]]:
    """Charts of the lengths of all text columns, and of the labels or scores, of every table."""
    charts: dict[tuple[str, str], dict[str, Any]] = {}
    for layout in tasks.layouts(result.task):
        for split, frame in result.frames.get(layout.config, {}).items():
            location = (layout.config, split)
            table = "/".join(result.own_locations.get(location, location))
            table_charts = [_length_chart(frame, layout.config, column) for column in layout.text]
            label = "score" if layout.config == "qrels" else result.task.type.label
            if layout.text and label == "score":
                table_charts.append(_score_chart(frame))
            elif label and layout.config in ("qrels", "default") and count_rows(frame):
                table_charts.append(_label_chart(result.task, frame, label))
            for chart in table_charts:
                charts.setdefault((table, chart["what"]), {"table": table, **chart})
    return list(charts.values())


def _length_chart(frame: pl.LazyFrame, config: str, column: str) -> dict[str, Any]:
    length = model_input(config, column).str.len_chars().alias("length")
    lengths = frame.select(length).collect(engine="streaming")["length"]
    ascending = lengths.sort()
    percentile_99, longest = ascending[(lengths.len() * 99) // 100 - (lengths.len() >= 100)], ascending[-1]
    width = _round_width(percentile_99 / (MAX_BARS - 2))
    last = min(longest // width, percentile_99 // width + 1)
    bins = (lengths // width).clip(0, last).cast(pl.Int64)
    names = [f"{start:,} to {start + width - 1:,}" for start in range(0, last * width, width)]
    names.append(f"{last * width:,} or more")
    caption = f"median {ascending[lengths.len() // 2]:,}, longest {longest:,}; bars of {width:,}"
    return _chart(f"{column}: characters", caption, _count_bins(bins, names), upright=True)


def _score_chart(frame: pl.LazyFrame) -> dict[str, Any]:
    score = pl.col("score")
    scores = frame.select(score).filter(score.is_finite()).collect(engine="streaming")["score"]
    low, high, mean = scores.to_frame().select(low=score.min(), high=score.max(), mean=score.mean()).row(0)
    if low is None:
        return _chart("score", "no finite scores", [], upright=True)
    width = (high - low) / MAX_BARS or 1.0
    bins = ((scores - low) / width).floor().clip(0, MAX_BARS - 1).cast(pl.Int64)
    names = [f"{low + index * width:.2f} to {low + (index + 1) * width:.2f}" for index in range(MAX_BARS)]
    return _chart("score", f"{low:g} to {high:g}, mean {mean:.2f}", _count_bins(bins, names), upright=True)


def _round_width(width: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is at least a width."""
    power = 10 ** max(0, math.floor(math.log10(max(width, 1))))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= width))


def _count_bins(bins: pl.Series, names: Sequence[str]) -> list[tuple[str, int]]:
    """The number of rows for each name. bins: the index of a name for each row."""
    counts = dict(bins.value_counts().iter_rows())
    return [(name, counts.get(index, 0)) for index, name in enumerate(names)]


def _label_chart(task: tasks.Task, frame: pl.LazyFrame, column: str) -> dict[str, Any]:
    counts = statistics.count_labels(frame, column)
    by_name = {_readable(label_name(task, label)): n for label, n in counts.items()}
    frequent = sorted(by_name.items(), key=lambda item: -item[1])
    omitted = f"; the {MAX_LABELS} most frequent are shown" if len(frequent) > MAX_LABELS else ""
    return _chart(column, f"distinct values: {len(by_name):,}{omitted}", frequent[:MAX_LABELS], upright=False)


def _chart(what: str, caption: str, counts: Sequence[tuple[str, int]], *, upright: bool) -> dict[str, Any]:
    """A bar chart. what: the column and its unit. counts: a name and a number for each bar, whose size is 0 to 1.

    upright: vertical bars for lengths, horizontal ones for labels.
    """
    highest = max((count for _, count in counts), default=0)
    bars = [{"name": name, "count": count, "size": count / highest} for name, count in counts]
    return {"what": what, "caption": caption, "bars": bars, "upright": upright}
