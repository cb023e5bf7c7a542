"""Findings about columns that tell the label of a row, although they are neither its text nor its label.

A model never sees such a column, but it shows that texts with different labels differ in more than their label. An example is the
origin of a text: a model that recognises the style of a newspaper then also knows that a text expresses no emotion.
"""

import math

import polars as pl

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import EXAMPLES, FindingRows, without_rows
from pipelines.audit.kinds import KINDS, MIN_ASSOCIATION, MIN_LABEL_ROWS, NUMBER_GROUPS
from pipelines.audit.tables import Frames

NO_LABEL = "no label"
SHOWN_VALUES, SHOWN_CHARACTERS = 3, 40  # of a column, in an example


def find_leaking_columns(task: tasks.Task, frames: Frames, split: str) -> list[FindingRows]:
    """A finding for each column of a split that tells at least one label; none for tasks without labels."""
    if not task.type.label:
        return []
    [layout], frame = task.type.layouts, frames["default"][split]
    columns = [column for column in frame.collect_schema() if column not in layout.columns and column != "id"]
    if not columns:
        return []
    rows = frame.select(task.type.label, *columns).collect(engine="streaming")
    labels = row_labels(task, rows[task.type.label])
    findings = []
    for column in columns:
        values = _values(rows[column])
        if 1 < values.n_unique() < len(values):
            findings += _find_leaked_labels(values, labels, ("default", split, column))
    return findings


def number_groups(numbers: pl.Series) -> pl.Series:
    """Numbers as the names of at most NUMBER_GROUPS groups of about equal size; one group for each number if there are few.

    Equal numbers are in one group, which is named after its lowest and its highest number.
    """
    if numbers.n_unique() <= NUMBER_GROUPS:
        return numbers.cast(pl.String)
    rank = (numbers.rank("min") - 1).cast(pl.Int64)
    groups = pl.DataFrame({"number": numbers, "group": rank * NUMBER_GROUPS // len(numbers)})
    ends = [pl.col("number").min().over("group"), pl.col("number").max().over("group")]
    return groups.select(name=pl.format("{} to {}", *ends))["name"]


def row_labels(task: tasks.Task, labels: pl.Series) -> pl.Series:
    """The names of the labels of each row, as a list: of the only label, of several labels, or of a group of scores."""
    names = pl.Series(tasks.label_names(task), dtype=pl.String)
    if isinstance(task, tasks.MultilabelClassification):
        name = pl.element().replace_strict(range(len(names)), names, default=None, return_dtype=pl.String)
        named = labels.list.eval(name)
        none = pl.Series([[NO_LABEL]], dtype=pl.List(pl.String))
        return pl.select(pl.when(named.list.len() == 0).then(none).otherwise(named))[:, 0]
    if len(names):
        labels = labels.replace_strict(range(len(names)), names, default=None, return_dtype=pl.String)
    return (number_groups(labels) if isinstance(task, tasks.STS) else labels).reshape((-1, 1)).arr.to_list()


def _values(column: pl.Series) -> pl.Series:
    """The values of a column as strings: lists joined, numbers in groups."""
    if isinstance(column.dtype, pl.List):
        return column.cast(pl.List(pl.String)).list.join(", ")
    return number_groups(column) if column.dtype.is_numeric() else column.cast(pl.String)


def _find_leaked_labels(values: pl.Series, labels: pl.Series, location: tuple[str, str, str]) -> list[FindingRows]:
    """A finding for the labels that the values tell from all others, the label that leaks most first.

    Each label is compared with all others. The chi-squared statistic of the table of values and of having the label is
    (sum of n(value, label)^2 / n(value) - n p^2) / (p (1 - p)), where p is the share of rows with the label. Cramér's V with the
    correction of Bergsma (2013) is 0 on average for a column without any relation to the labels, also if it has many values.
    """
    n = len(values)
    rows = pl.DataFrame({"value": values, "label": labels})
    counts = rows.explode("label").drop_nulls().group_by("value", "label").agg(both=pl.len().cast(pl.Float64))
    counts = counts.join(rows.group_by("value").agg(rows=pl.len().cast(pl.Float64)), on="value")
    by_label = counts.group_by("label").agg(
        with_label=pl.col("both").sum(),
        squares=(pl.col("both") ** 2 / pl.col("rows")).sum(),
        gained=(2 * pl.col("both") - pl.col("rows")).clip(0).sum(),
    )
    degrees = values.n_unique() - 1
    share = pl.col("with_label") / n
    phi = (pl.col("squares") / n - share**2) / (share * (1 - share))
    corrected = (phi - degrees / (n - 1)).clip(0)
    smaller = min(degrees - degrees**2 / (n - 1), 1 - 1 / (n - 1))
    leaked = by_label.filter(pl.col("with_label").is_between(MIN_LABEL_ROWS, n - MIN_LABEL_ROWS)).with_columns(
        association=(corrected / smaller).sqrt(),
        without=pl.max_horizontal(share, 1 - share),
        guessed=1 - share + pl.col("gained") / n,
        chance=phi * n <= degrees + 3 * math.sqrt(2 * degrees),
    )
    leaked = leaked.filter(pl.col("association") >= MIN_ASSOCIATION, ~pl.col("chance"))
    leaked = leaked.sort(
        pl.col("association").round(9), "label", descending=[True, False]
    )  # the two of a pair are tied
    if leaked.is_empty():
        return []
    best = leaked.row(0, named=True)
    detail = (
        f"{best['label']}: guessed right for {best['guessed']:.0%} of the rows from this column, for {best['without']:.0%}"
        f" without it; Cramér's V {best['association']:.2f}"
    )
    severity, total = KINDS["label_leaking_column"].severity, by_label.height
    examples = tuple(_describe_label(label, counts) for label in leaked["label"].head(EXAMPLES))
    finding = Finding("label_leaking_column", severity, *location, len(leaked), len(leaked) / total, examples, detail)
    return [without_rows(finding)]


def _describe_label(label: str, counts: pl.DataFrame) -> str:
    """The share of a label in the values with the most rows too many or too few: `anger: 40% of forum, 2% of news`."""
    having = counts.filter(pl.col("label") == label).select("value", "both")
    values = counts.select("value", "rows").unique().join(having, on="value", how="left").fill_null(0)
    expected = pl.col("rows") * values["both"].sum() / values["rows"].sum()
    telling = values.with_columns(excess=(pl.col("both") - expected).abs().round(9))
    telling = telling.sort("excess", "value", descending=[True, False]).head(SHOWN_VALUES)
    telling = telling.with_columns(share=pl.col("both") / pl.col("rows")).sort(
        ["share", "value"], descending=[True, False]
    )
    shares = [
        f"{share:.0%} of {value[:SHOWN_CHARACTERS] or 'the empty value'}"
        for value, share in telling.select("value", "share").iter_rows()
    ]
    return f"{label}: {', '.join(shares)}"
