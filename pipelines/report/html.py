"""A report to read in a browser: what was checked, its findings with the texts they are about, lengths, labels, statistics.

One file that needs nothing else, no script and no other address: it can be sent, and read in ten years. Everything that comes
from data is escaped, and cut where it is long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl

from builders import tasks
from cards import markdown
from cards.manifest import SEVERITIES
from cards.render import CARDS
from pipelines.audit import kinds, statistics
from pipelines.audit.label_statistics import count_labels
from pipelines.audit.tables import count_rows, model_input, row_name
from pipelines.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from builders.errors import DatasetError
    from cards.manifest import Finding
    from pipelines.audit.tables import Frames
    from pipelines.report.checks import CheckResult

BARS = 40  # of a histogram at most, the last for what is longer than 99 % of the texts
LABELS = 20  # that are drawn, the most frequent ones
CHARACTERS = 240  # of a text that is shown
VALUES = ("label", "labels", "score")  # that are told beside the texts of an example
POINTING = {"queries": "query-id", "corpus": "corpus-id"}  # what a judgement is about, and by which column
DRAWN = ("labels", "hf_subset_descriptive_stats")  # of the statistics: what a chart shows, or what stands there twice


@dataclass(frozen=True)
class Bar:
    """A bar of a chart: what it stands for, how often that is there, and its length from 0 to 1."""

    name: str
    count: int
    size: float


@dataclass(frozen=True)
class Example:
    """An example of a finding: its name, and what its row holds, by column."""

    name: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chart:
    """A chart: of which table, of what, in words below it, its bars; upright for lengths, lying for labels."""

    table: str
    what: str
    caption: str
    bars: tuple[Bar, ...]
    upright: bool


def section(checked: CheckResult) -> dict[str, Any]:
    """What a report shows of one dataset: all that has to be read from its rows is read here."""
    report = checked.report
    full = checked.frames and all(count_rows(frame) for own in checked.frames.values() for frame in own.values())
    described = statistics.as_json(statistics.describe_tables(checked.task, checked.frames)) if full else {}
    examples = _examples(checked)
    return {
        "report": report,
        "name": " ".join(filter(None, (report["dataset"], report["subset"], report["version"]))),
        "state": "damaged" if report["problems"] else "defective" if report["defects"] else "sound",
        "findings": [
            told | {"definition": kinds.KINDS[told["kind"]].definition, "rows": rows}
            for told, rows in zip(report["findings"], examples, strict=True)
        ],
        "charts": _charts(checked),
        "statistics": _statistics(described),
        "splits": list(described),
    }


def failure(name: str, error: DatasetError) -> dict[str, Any]:
    """What a report shows of a dataset that could not be checked."""
    return {"name": name, "error": str(error)}


def write(path: Path, sections: Sequence[Mapping[str, Any]]) -> None:
    """Write the report whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _template().render(sections=sections, severities=SEVERITIES))


def _examples(checked: CheckResult) -> list[list[Example]]:
    """For each finding its examples, with what stands in their rows as far as these can be found again."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for one in checked.findings:
        wanted.setdefault((one.config, one.split), set()).update(one.examples)
    rows = {place: _rows(checked.rows, place, names) for place, names in wanted.items()}
    pointed: dict[tuple[str, str], set[str]] = {}
    for (config, split), found in rows.items():
        for other, key in POINTING.items() if config in ("qrels", "top_ranked") else ():
            names = {row[key] for row in found.values() if row.get(key) is not None}
            pointed.setdefault((other, split), set()).update(names)
    texts = {place: _rows(checked.rows, place, names) for place, names in pointed.items()}
    columns = {layout.config: layout.text for layout in tasks.layouts(checked.task)}
    labels = tasks.label_names(checked.task)

    def example(one: Finding, name: str) -> Example:
        row = rows[one.config, one.split].get(name, {})
        told = [(column, row[column]) for column in ("title", *columns.get(one.config, ())) if column in row]
        told += [(column, _named(row[column], labels)) for column in VALUES if column in row]
        for config, key in POINTING.items():
            there = texts.get((config, one.split), {}).get(row.get(key) or "", {})
            told += [(f"{config}: {column}", there[column]) for column in ("title", "text") if column in there]
        return Example(name, tuple((column, _shown(value)) for column, value in told if value != ""))

    return [[example(one, name) for name in one.examples] for one in checked.findings]


def _rows(frames: Frames, place: tuple[str, str], names: set[str]) -> dict[str, dict[str, Any]]:
    """The first row of each name in a table, by name."""

    frame = frames.get(place[0], {}).get(place[1])
    if frame is None or not names:
        return {}
    schema = frame.collect_schema()
    named = frame.with_row_index("__row").with_columns(__name=row_name(schema.names()).cast(pl.String))
    there = named.filter(pl.col("__name").is_in(sorted(names))).collect(engine="streaming")
    return {
        row["__name"]: row for row in there.unique("__name", keep="first", maintain_order=True).iter_rows(named=True)
    }


def _named(label: Any, names: tuple[str, ...]) -> Any:
    """A label, or each of a list, by its name where it has one."""
    if isinstance(label, list):
        return ", ".join(str(_named(one, names)) for one in label) or "none"
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else label


def _shown(value: Any) -> str:
    """A value for reading: cut where it is long, with every character visible; null for none."""
    if value is None:
        return "null"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return markdown.visible(markdown.shorten(text, CHARACTERS))


def _charts(checked: CheckResult) -> list[Chart]:
    """Lengths of all columns of texts, and how many rows have each label, or score, of every table."""
    charts: dict[tuple[str, str], Chart] = {}
    for layout in tasks.layouts(checked.task):
        for split, frame in checked.frames.get(layout.config, {}).items():
            table = "/".join(checked.own_locations.get((layout.config, split), (layout.config, split)))
            made = [_lengths(frame, layout.config, column) for column in layout.text]
            label = "score" if layout.config == "qrels" else checked.task.type.label
            if layout.text and label == "score":
                made.append(_scores(frame))
            elif label and layout.config in ("qrels", "default") and count_rows(frame):
                made.append(_labels(checked.task, frame, label))
            for chart in made:
                charts.setdefault((table, chart.what), replace(chart, table=table))
    return list(charts.values())


def _lengths(frame: pl.LazyFrame, config: str, column: str) -> Chart:

    text = model_input(config, column).str.len_chars().alias("length")
    lengths = frame.select(text).collect(engine="streaming")["length"]
    ordered = lengths.sort()
    usual, longest = ordered[(lengths.len() * 99) // 100 - (lengths.len() >= 100)], ordered[-1]
    width = _round_width(usual / (BARS - 2))
    last = min(longest // width, usual // width + 1)
    places = (lengths // width).clip(0, last).cast(pl.Int64)
    names = [f"{place * width:,} to {(place + 1) * width - 1:,}" for place in range(last)] + [
        f"{last * width:,} or more"
    ]
    caption = f"median {ordered[lengths.len() // 2]:,}, longest {longest:,}; bars of {width:,}"
    return Chart("", f"{column}: characters", caption, _bars(places, names), upright=True)


def _scores(frame: pl.LazyFrame) -> Chart:

    score = pl.col("score")
    scores = frame.select(score).filter(score.is_finite()).collect(engine="streaming")["score"]
    low, high, mean = scores.to_frame().select(low=score.min(), high=score.max(), mean=score.mean()).row(0)
    if low is None:
        return Chart("", "score", "none that is a number", (), upright=True)
    width = (high - low) / BARS or 1.0
    places = ((scores - low) / width).floor().clip(0, BARS - 1).cast(pl.Int64)
    names = [f"{low + place * width:.2f} to {low + (place + 1) * width:.2f}" for place in range(BARS)]
    return Chart("", "score", f"{low:g} to {high:g}, mean {mean:.2f}", _bars(places, names), upright=True)


def _round_width(width: float) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... that is not below a width."""
    power = 10 ** max(0, math.floor(math.log10(max(width, 1))))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= width))


def _bars(places: pl.Series, names: Sequence[str]) -> tuple[Bar, ...]:
    counts = dict(places.value_counts().iter_rows())
    most = max(counts.values())
    return tuple(Bar(name, counts.get(place, 0), counts.get(place, 0) / most) for place, name in enumerate(names))


def _labels(task: tasks.Task, frame: pl.LazyFrame, column: str) -> Chart:
    counts = count_labels(frame, column)
    names = tasks.label_names(task) if column != "score" else ()
    named = {_shown("none" if label is None else _named(label, names)): count for label, count in counts.items()}
    frequent = sorted(named.items(), key=lambda item: -item[1])
    most = frequent[0][1]
    bars = [Bar(name, count, count / most) for name, count in frequent[:LABELS]]
    others = f", {len(frequent) - LABELS:,} rarer ones not drawn" if len(frequent) > LABELS else ""
    return Chart("", column, f"{len(named):,} of them{others}", tuple(bars), upright=False)


def _statistics(described: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The name of every statistic with its value for each split."""
    splits = [dict(_flat(values)) for values in described.values()]
    names = dict.fromkeys(name for values in splits for name in values)
    return [(name, [values.get(name, "–") for values in splits]) for name in names]


def _flat(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = " / ".join((*path, key.replace("_", " ")))
        if key in DRAWN:
            continue
        if isinstance(value, dict) and key in ("text_length_quantiles", "shares"):
            told = [f"{part} {_number(figure)}" for part, figure in value.items()]
            yield name, ", ".join(told) or "–"
        elif isinstance(value, dict):
            yield from _flat(value, (*path, key.replace("_", " ")))
        elif value is not None:
            yield name, _number(value)


def _number(value: float) -> str:
    return markdown.number(value)


@cache
def _template() -> jinja2.Template:

    loader = jinja2.FileSystemLoader(CARDS)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.jinja")
