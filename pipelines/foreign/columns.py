"""The columns of a table that we did not build, as its task's: types, labels and scales, and what readers stumble over.

What mteb 2.26 casts by itself is no finding: numbers as `_id`, as the ids of judgements and candidates, as clusters; whole
numbers written as floats; scores that are whole; labels that are words, unless there are two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks
from cards.manifest import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    Splits = Mapping[str, pl.LazyFrame]

FORMS: Mapping[str, tasks.Task] = MappingProxyType(  # a task of each type, for its layouts
    {
        task.type.name: task
        for task in (
            tasks.Retrieval(),
            tasks.Reranking(),
            tasks.Classification(labels=()),
            tasks.MultilabelClassification(labels=()),
            tasks.PairClassification(names=("0", "1")),
            tasks.STS(low=0, high=1),
            tasks.Clustering(),
            tasks.BitextMining(pair="default"),
        )
    }
)
RENAMED = {"query-id": "query_id", "corpus-id": "corpus_id", "corpus-ids": "corpus_ids"}
# Columns of strings that mteb casts numbers to.
NUMBERED = {("qrels", "query-id"), ("qrels", "corpus-id"), ("top_ranked", "query-id"), ("default", "labels")}


@dataclass(frozen=True)
class Fit:
    """A table with the columns of its task, what is wrong with those it has, and what was taken otherwise than it stands."""

    frame: pl.LazyFrame
    found: tuple[Finding, ...]
    notes: tuple[str, ...]


def is_list(dtype: Any) -> bool:
    """Whether a polars type is one of lists."""

    return isinstance(dtype, pl.List | pl.Array)


def fit_table(layout: tasks.Layout, place: tuple[str, str], frame: pl.LazyFrame) -> Fit:
    """A table as one of a task's, but for `label`, which `task_of` sees to.

    place: config and split. Columns that cannot be taken for the task's stay as they are, for audit.integrity to find. Rows
    that need no id are named by their number.
    """

    found, notes = [], []
    schema = frame.collect_schema()
    lists = [column for column in layout.columns if column != "label" and is_list(schema.get(column))]
    if set(layout.text) & set(lists):
        frame = frame.explode(lists)
        schema = frame.collect_schema()
        notes.append(f"{place[0]}: rows that are lists of texts, as in older sets, are taken apart")
    taken: dict[str, pl.Expr] = {}
    used = set()
    for column, wanted in layout.columns.items():
        source = _source(column, schema)
        if source is None:
            if column == "title":
                taken[column] = pl.lit("")
            continue
        used.add(source)
        if source == RENAMED.get(column):
            found.append(_wrong("missing_column", place, column, f"it is named {source}"))
        if column in ("label", "label_text"):
            taken[column] = pl.col(source)
            continue
        numbers = source == "_id" or (layout.config, column) in NUMBERED
        taken[column], wrong = _cast(frame, source, schema[source], wanted, numbers=numbers)
        if wrong:
            found.append(_wrong("wrong_type", place, column, wrong))
    others = [column for column in schema if column not in used]
    if layout.closed:
        found += [_wrong("unexpected_column", place, column, "") for column in others]
    elif others:
        notes.append(f"{place[0]}: columns not looked at: {', '.join(others)}")
    if "id" not in layout.columns and layout.text:
        frame = frame.with_row_index("__row")
        taken = {"id": pl.concat_str(pl.lit("row "), pl.col("__row").cast(pl.String)), **taken}
    return Fit(frame.select(**taken), tuple(found), tuple(notes))


def _source(column: str, schema: Mapping[str, Any]) -> str | None:
    """What a table calls a column: mteb takes `_id` for `id`, wherever it stands."""
    names = ["_id", "id"] if column == "id" else [column, RENAMED.get(column, column)]
    return next((name for name in names if name in schema), None)


def _wrong(kind: str, place: tuple[str, str], column: str, detail: str) -> Finding:
    return Finding(kind, "error", *place, column, 1, 1.0, (), detail)


def _cast(frame: pl.LazyFrame, name: str, dtype: Any, wanted: str, *, numbers: bool) -> tuple[pl.Expr, str]:
    """A column as the wanted type, and what is wrong with its own; as it stands where it cannot be had so.

    numbers: whether readers take numbers, and lists of them, for strings.
    """

    column, wrong = pl.col(name), f"{dtype}, expected {wanted}"
    match wanted:
        case "string" if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
            return column.cast(pl.String), ""
        case "string" if dtype.is_numeric() or dtype == pl.Boolean:
            return column.cast(pl.String), "" if numbers else wrong
        case "string" if is_list(dtype) and numbers:
            return column.cast(pl.List(pl.String)).list.join(" / "), ""
        case "list<string>" if is_list(dtype):
            return column.cast(pl.List(pl.String)), ""
        case "int64" if dtype.is_integer() or isinstance(dtype, pl.Boolean | pl.Null):
            return column.cast(pl.Int64), ""
        case "int64" if dtype.is_numeric():
            number = column.cast(pl.Float64).fill_nan(None)
            fractions = _count(frame, number != number.floor())
            outward = pl.when(number < 0).then(number.floor()).otherwise(number.ceil())  # what is not 0 stays so
            return outward.cast(pl.Int64), f"{fractions:,} values are no whole numbers" if fractions else ""
        case "float64" if dtype.is_numeric() or dtype == pl.Null:
            return column.cast(pl.Float64), ""
        case "int64" | "float64" if dtype == pl.String:
            number = column.cast(pl.Int64 if wanted == "int64" else pl.Float64, strict=False)
            if not _count(frame, column.is_not_null() & number.is_null()):
                return number, "" if wanted == "int64" else wrong
            if name == "labels":
                return column.rank("dense").cast(pl.Int64) - 1, wrong
    return column, ""


def _count(frame: pl.LazyFrame, wrong: pl.Expr) -> int:
    return int(frame.select(wrong.sum()).collect(engine="streaming").item())


def infer_task(
    kind: str, config: str, splits: Splits, pair: str
) -> tuple[tasks.Task, dict[str, pl.LazyFrame], list[Finding]]:
    """The task that one table with all its splits is, with the tables, their labels made numbers, and what is wrong with these.

    pair: the languages of a bitext.
    """
    names = tuple(splits)
    match kind:
        case "STS":
            low, high = _scale(splits)
            return tasks.STS(low, high, names), dict(splits), []
        case "PairClassification":
            return tasks.PairClassification(("0", "1"), names), dict(splits), []
        case "Clustering":
            return tasks.Clustering(names), dict(splits), []
        case "BitextMining":
            return tasks.BitextMining(pair, names), dict(splits), []
    labels, frames, found = _labelled(config, splits)
    asked = names if "train" in names else ("train", *names)  # from which mteb learns
    if kind == "Classification":
        return tasks.Classification(labels, asked), frames, found
    return tasks.MultilabelClassification(labels, asked), frames, found


def _scale(splits: Splits) -> tuple[float, float]:
    """The least and the greatest score that there is: nobody tells the scale of a set that we did not build."""

    scored = [frame.select("score") for frame in splits.values() if frame.collect_schema().get("score") == pl.Float64]
    score = pl.col("score").fill_nan(None)
    ends = pl.concat([pl.LazyFrame(schema={"score": pl.Float64}), *scored]).select(low=score.min(), high=score.max())
    low, high = ends.collect(engine="streaming").row(0)
    return low or 0.0, high or 0.0


def _labelled(config: str, splits: Splits) -> tuple[tuple[str, ...], dict[str, pl.LazyFrame], list[Finding]]:
    """The names of all labels, in ascending order of these, and the splits with each label as its place among them.

    A name is what most rows of the label have as `label_text`, else the label itself. Labels that are neither words nor numbers
    stay as they are, for audit.integrity to find.
    """

    kinds = {split: _kind(frame.collect_schema().get("label")) for split, frame in splits.items()}
    words = "words" in kinds.values()
    usable = {split: _plain(frame, words=words) for split, frame in splits.items() if kinds[split]}
    if not usable:
        return (), dict(splits), []
    told = pl.concat([_told(frame) for frame in usable.values()])
    counts = told.group_by("label", "label_text").len().collect(engine="streaming")
    labels = counts["label"].unique().sort()
    found = [
        _wrong("wrong_type", (config, split), "label", "numbers, where another split has words")
        for split in usable
        if words and kinds[split] == "numbers"
    ]
    listed = [split for split, frame in usable.items() if is_list(frame.collect_schema()["label"])]
    if words and labels.len() == 2 and not listed:
        detail = "two labels that are words: mteb scores two only as numbers"
        found += [_wrong("wrong_type", (config, split), "label", detail) for split in usable]
    if not words and (labels != labels.floor()).any():
        found += [_wrong("wrong_type", (config, split), "label", "fractions, which are no classes") for split in usable]
    names = _names(labels, counts)
    frames, places = dict(splits), pl.Series(range(labels.len()), dtype=pl.Int64)
    for split, frame in usable.items():
        if split in listed:
            several = pl.col("label").list.eval(_replaced(pl.element(), labels, places))
            frames[split] = frame.drop("label_text").with_columns(several.list.sort())
        else:
            name = _replaced(pl.col("label"), labels, pl.Series(names, dtype=pl.String))
            label_text = pl.coalesce("label_text", name)
            frames[split] = frame.with_columns(_replaced(pl.col("label"), labels, places), label_text=label_text)
    return names, frames, found


def _replaced(label: pl.Expr, old: pl.Series, new: pl.Series) -> pl.Expr:
    return label.replace_strict(old, new, default=None, return_dtype=new.dtype)


def _kind(dtype: Any) -> str:
    """What labels, or lists of them, are: `words` or `numbers`, or empty where they are neither."""

    dtype = dtype.inner if is_list(dtype) else dtype
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "words"
    return "numbers" if isinstance(dtype, pl.Boolean | pl.Null) or (dtype is not None and dtype.is_numeric()) else ""


def _plain(frame: pl.LazyFrame, *, words: bool) -> pl.LazyFrame:
    """Labels as strings or as floats, NaN as null; label_text as a string, null where there is none."""

    schema = frame.collect_schema()
    dtype = pl.String() if words else pl.Float64()
    text = pl.col("label_text") if schema.get("label_text") == pl.String else pl.lit(None, pl.String)
    if is_list(schema["label"]):
        return frame.with_columns(pl.col("label").cast(pl.List(dtype)), label_text=text)
    label = pl.col("label").cast(dtype)
    return frame.with_columns(label if words else label.fill_nan(None), label_text=text)


def _told(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Every label of every row with its name."""
    pairs = frame.select("label", "label_text")
    return (pairs.explode("label") if is_list(pairs.collect_schema()["label"]) else pairs).drop_nulls("label")


def _names(labels: pl.Series, counts: pl.DataFrame) -> tuple[str, ...]:
    """A name for each label, no two alike; counts: label, label_text, len."""
    named = counts.drop_nulls("label_text").sort("len", "label_text", descending=[True, False])
    first = dict(named.unique("label", keep="first", maintain_order=True).select("label", "label_text").iter_rows())
    itself = {
        label: f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label) for label in labels
    }
    names = [first.get(label, itself[label]) for label in labels]
    twice = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name} ({itself[label]})" if name in twice else name for name, label in zip(names, labels, strict=True)
    )
