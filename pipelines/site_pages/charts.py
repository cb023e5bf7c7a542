"""The statistics of a release as charts: the shares of labels and scores, the lengths of texts, the positives of queries.

They are values for a template, which draws them as SVG: nothing here is markup.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from builders.tasks import Task
from cards.columns import label_name

MAX_BARS = 40  # of a chart, the largest ones
QUANTILES = ("p01", "p05", "p25", "p50", "p75", "p95", "p99")
# The figures of texts, by their key in statistics.json, and what the charts call them.
TEXTS = {
    "text_statistics": "texts", "text1_statistics": "sentence1", "text2_statistics": "sentence2",
    "sentence1_statistics": "sentence1", "sentence2_statistics": "sentence2",
    "documents_text_statistics": "documents", "queries_text_statistics": "queries",
}  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """A bar: its name, the count that it shows, its share of all, and its length, 0 to 1."""

    name: str
    count: int
    share: float
    size: float


@dataclass(frozen=True)
class BarChart:
    """Counts of one split as horizontal bars. omitted: how many bars are left out."""

    title: str
    split: str
    bars: tuple[Bar, ...]
    omitted: int


@dataclass(frozen=True)
class LengthChart:
    """The lengths of some texts of one split, in characters: quantiles, and where they are on a scale from 0 to 1."""

    title: str
    split: str
    shortest: int
    longest: int
    quantiles: Mapping[str, int]
    places: Mapping[str, float]


def label_charts(task: Task, statistics: Mapping[str, Any]) -> list[BarChart]:
    """The shares of labels in each split."""
    charts = []
    for split, values in statistics.items():
        for figures in values.values():
            if isinstance(figures, dict) and isinstance(figures.get("labels"), dict):
                counts = {label_name(task, label): int(one["count"]) for label, one in figures["labels"].items()}
                charts.append(bar_chart("labels", split, counts, int(values.get("num_samples") or 0)))
    return charts


def bar_chart(title: str, split: str, counts: Mapping[str, int], total: int, *, by_size: bool = True) -> BarChart:
    """Counts as bars, the largest first unless they have an order of their own. total: what the shares are of."""
    ordered = sorted(counts.items(), key=lambda item: -item[1]) if by_size else list(counts.items())
    highest, whole = max(counts.values(), default=0) or 1, total or sum(counts.values()) or 1
    bars = [Bar(name, count, count / whole, count / highest) for name, count in ordered[:MAX_BARS]]
    return BarChart(title, split, tuple(bars), len(ordered) - len(bars))


def length_charts(statistics: Mapping[str, Any]) -> list[LengthChart]:
    """The lengths of the texts in each split, those of the same texts on one scale."""
    figures = [(title, split, one) for split, values in statistics.items() for title, one in _text_figures(values)]
    return [_length_chart(title, split, one, _scale(title, figures)) for title, split, one in figures]


def _text_figures(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, title in TEXTS.items():
        figures = values.get(key)
        if isinstance(figures, dict) and set(QUANTILES) <= set(figures.get("text_length_quantiles") or ()):
            yield title, figures


def _scale(title: str, figures: list[tuple[str, str, Mapping[str, Any]]]) -> int:
    """The right end of the scale of some texts: the longest 99th percentile of their splits. Outliers would squeeze the rest."""
    return max(one["text_length_quantiles"]["p99"] for name, _, one in figures if name == title) or 1


def _length_chart(title: str, split: str, figures: Mapping[str, Any], scale: int) -> LengthChart:
    quantiles = {name: int(figures["text_length_quantiles"][name]) for name in QUANTILES}
    places = {name: min(1.0, length / scale) for name, length in quantiles.items()}
    return LengthChart(title, split, figures["min_text_length"], figures["max_text_length"], quantiles, places)
