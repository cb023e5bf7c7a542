"""The labels and scores of a table that this package did not build: labels as numbers with names, the range of the scores.

mteb 2.26 accepts labels that are words, unless there are exactly two; those are a finding.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import table_finding
from pipelines.foreign.columns import is_list

Splits = Mapping[str, pl.LazyFrame]


def score_range(splits: Splits) -> tuple[float, float]:
    """The lowest and the highest score, for a dataset whose scale is unknown: none declares it."""
    scored = [frame.select("score") for frame in splits.values() if frame.collect_schema().get("score") == pl.Float64]
    score = pl.col("score").fill_nan(None)
    ends = pl.concat([pl.LazyFrame(schema={"score": pl.Float64}), *scored]).select(low=score.min(), high=score.max())
    low, high = ends.collect(engine="streaming").row(0)
    return low or 0.0, high or 0.0


def scale_notes(task: tasks.Task, scale: tuple[float, float] | None) -> list[str]:
    """What a report says about the scale of the scores. scale: the one from the command line."""
    if not isinstance(task, tasks.STS):
        return ["--scale ignored: it is for the scores of STS"] if scale else []
    scores = f"{task.low:g} to {task.high:g}"
    if scale:
        return [f"scale of the scores: {scores}"]
    return [f"scale of the scores unknown, assumed {scores}, the lowest and the highest score (pass --scale LOW HIGH)"]


def number_labels(config: str, splits: Splits) -> tuple[tuple[str, ...], dict[str, pl.LazyFrame], list[Finding]]:
    """The names of all labels in ascending order of the labels, the splits with each label as its index, and the defects.

    A label has the name that most of its rows have as `label_text`, else the label itself. Labels that are neither words nor
    numbers stay as they are, and audit.integrity reports them.
    """
    kinds = {split: _label_kind(frame.collect_schema().get("label")) for split, frame in splits.items()}
    words = "words" in kinds.values()
    usable = {split: _normalize_labels(frame, words=words) for split, frame in splits.items() if kinds[split]}
    if not usable:
        return (), dict(splits), []
    pairs = pl.concat([_labels_with_text(frame) for frame in usable.values()])
    counts = pairs.group_by("label", "label_text").len().collect(engine="streaming")
    labels = counts["label"].unique().sort()
    findings = [
        table_finding("wrong_type", config, split, "label", detail="numbers, where another split has words")
        for split in usable
        if words and kinds[split] == "numbers"
    ]
    multilabel = [split for split, frame in usable.items() if is_list(frame.collect_schema()["label"])]
    if words and labels.len() == 2 and not multilabel:
        detail = "two labels that are words: mteb can score two labels only as numbers"
        findings += [table_finding("wrong_type", config, split, "label", detail=detail) for split in usable]
    if not words and (labels != labels.floor()).any():
        findings += [
            table_finding("wrong_type", config, split, "label", detail="fractions are not labels") for split in usable
        ]
    names = _name_labels(labels, counts)
    frames, indices = dict(splits), pl.Series(range(labels.len()), dtype=pl.Int64)
    for split, frame in usable.items():
        if split in multilabel:
            numbers = pl.col("label").list.eval(_replace(pl.element(), labels, indices))
            frames[split] = frame.drop("label_text").with_columns(numbers.list.sort())
        else:
            name = _replace(pl.col("label"), labels, pl.Series(names, dtype=pl.String))
            label_text = pl.coalesce("label_text", name)
            frames[split] = frame.with_columns(_replace(pl.col("label"), labels, indices), label_text=label_text)
    return names, frames, findings


def _replace(label: pl.Expr, old: pl.Series, new: pl.Series) -> pl.Expr:
    return label.replace_strict(old, new, default=None, return_dtype=new.dtype)


def _label_kind(dtype: Any) -> str:
    """Whether labels, or lists of them, are `words` or `numbers`; empty for neither."""
    dtype = dtype.inner if is_list(dtype) else dtype
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "words"
    return "numbers" if isinstance(dtype, pl.Boolean | pl.Null) or (dtype is not None and dtype.is_numeric()) else ""


def _normalize_labels(frame: pl.LazyFrame, *, words: bool) -> pl.LazyFrame:
    """Labels as strings or as floats, with null for NaN; label_text as a string, null where there is none."""
    schema = frame.collect_schema()
    dtype = pl.String() if words else pl.Float64()
    text = pl.col("label_text") if schema.get("label_text") == pl.String else pl.lit(None, pl.String)
    if is_list(schema["label"]):
        return frame.with_columns(pl.col("label").cast(pl.List(dtype)), label_text=text)
    label = pl.col("label").cast(dtype)
    return frame.with_columns(label if words else label.fill_nan(None), label_text=text)


def _labels_with_text(frame: pl.LazyFrame) -> pl.LazyFrame:
    """One row for each label of each row: label, label_text."""
    pairs = frame.select("label", "label_text")
    return (pairs.explode("label") if is_list(pairs.collect_schema()["label"]) else pairs).drop_nulls("label")


def _name_labels(labels: pl.Series, counts: pl.DataFrame) -> tuple[str, ...]:
    """A distinct name for each label. counts: label, label_text, len."""
    by_frequency = counts.drop_nulls("label_text").sort("len", "label_text", descending=[True, False])
    most_frequent = by_frequency.unique("label", keep="first", maintain_order=True)
    texts = dict(most_frequent.select("label", "label_text").iter_rows())
    plain = {
        label: f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label) for label in labels
    }
    names = [texts.get(label, plain[label]) for label in labels]
    repeated = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name} ({plain[label]})" if name in repeated else name for name, label in zip(names, labels, strict=True)
    )
