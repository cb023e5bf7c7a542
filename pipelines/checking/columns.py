"""From anybody's columns to those of a task: which task it is, names, types, labels; what breaks readers is a finding.

What mteb 2.26 casts itself is not a finding: numbers as `_id`, as ids of judgements and candidates, and as clusters; whole
numbers written as floats; whole scores.

mteb 2.26 accepts labels that are words, unless there are exactly two; those are a finding.

What a type needs is derived from its layouts in builders.tasks: a new task type is recognised without a change here, unless two
types have the same columns.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from builders import tasks
from builders.errors import SourceError, UsageError
from cards.manifest import Finding
from pipelines.audit.findings import table_finding
from pipelines.audit.tables import Frames
from pipelines.checking.data_files import PART_CONFIGS, Location, Tables
from pipelines.checking.layouts import propose

# Columns of strings in which mteb accepts numbers.
NUMBERS_ALLOWED = {
    ("qrels", "query-id"),
    ("qrels", "corpus-id"),
    ("top_ranked", "query-id"),
    ("default", "labels"),
}


def is_list(dtype: Any) -> bool:
    """Whether a polars type is a list type."""
    return isinstance(dtype, pl.List | pl.Array)


def fit_table(
    layout: tasks.Layout, location: Location, frame: pl.LazyFrame, *, keep_id: bool = False
) -> tuple[pl.LazyFrame, list[Finding], list[str]]:
    """A table with the columns and types of a layout, its defects, and notes: what was ignored or interpreted differently.

    `label` keeps its type: see number_labels. keep_id: also a column `id` that the layout does not have.

    Columns that cannot be converted stay as they are, and audit.integrity reports them. A table of labelled texts keeps its other
    columns, as numbers or strings without nulls: they may tell the label.
    """
    findings, notes = [], []
    schema = frame.collect_schema()
    lists = [
        column
        for column, kind in layout.columns.items()
        if column != "label" and not kind.startswith("list") and is_list(schema.get(column))
    ]
    if set(layout.text) & set(lists):
        frame = frame.explode(lists)
        schema = frame.collect_schema()
        notes.append(f"{location[0]}: each row is a list of texts, an older layout; one row per text was read")
    columns: dict[str, pl.Expr] = {}
    sources = set()
    for column, expected in layout.columns.items():
        source = _source_column(column, schema)
        if source is None:
            if column == "title":
                columns[column] = pl.lit("")
            continue
        sources.add(source)
        if source == column.replace("-", "_") != column:
            findings.append(table_finding("missing_column", *location, column, detail=f"it is named {source}"))
        if column in ("label", "label_text"):
            columns[column] = pl.col(source)
            continue
        numbers_allowed = source == "_id" or (layout.config, column) in NUMBERS_ALLOWED
        columns[column], problem = _cast(frame, source, schema[source], expected, numbers_allowed=numbers_allowed)
        if problem:
            findings.append(table_finding("wrong_type", *location, column, detail=problem))
    others = [column for column in schema if column not in sources]
    if layout.closed:
        findings += [table_finding("unexpected_column", *location, column) for column in others]
    elif others:
        notes.append(f"{location[0]}: ignored columns {', '.join(others)}")
    if any(layout is kind.layouts[0] for kind in tasks.EVALUATED.values() if kind.label):
        # Their own ids need not be unique, so they name no rows; but they may tell the label.
        columns |= {
            "_id" if name == "id" else name: other
            for name in others
            if (other := _other_column(name, schema[name])) is not None
        }
    if keep_id and "id" in others:
        columns["id"] = pl.col("id").cast(pl.String)
    return frame.select(**columns), findings, notes


def _other_column(name: str, dtype: Any) -> pl.Expr | None:
    """A column that is not one of its table's layout, as numbers or strings; None where it has a nested or binary type."""
    column = pl.col(name)
    if is_list(dtype) and isinstance(dtype.inner, pl.String):
        return column.cast(pl.List(pl.String)).list.join(", ", ignore_nulls=True).fill_null("")
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return None
    return column.cast(pl.Float64).fill_null(math.nan) if dtype.is_numeric() else column.cast(pl.String).fill_null("")


def _source_column(column: str, schema: Mapping[str, Any]) -> str | None:
    """The name of a column in a table: `_id` for `id`, as in mteb, and `query_id` for `query-id`."""
    names = ["_id", "id"] if column == "id" else [column, column.replace("-", "_")]
    return next((name for name in names if name in schema), None)


def _cast(frame: pl.LazyFrame, name: str, dtype: Any, expected: str, *, numbers_allowed: bool) -> tuple[pl.Expr, str]:
    """A column cast to the expected type, or unchanged where that is impossible, and what is wrong with its own type.

    numbers_allowed: whether mteb accepts numbers, and lists of them, for strings.
    """
    column, problem = pl.col(name), f"{dtype}, expected {expected}"
    match expected:
        case "string" if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
            return column.cast(pl.String), ""
        case "string" if dtype.is_numeric() or dtype == pl.Boolean:
            return column.cast(pl.String), "" if numbers_allowed else problem
        case "string" if is_list(dtype) and numbers_allowed:
            return column.cast(pl.List(pl.String)).list.join(" / "), ""
        case "list<string>" if is_list(dtype):
            return column.cast(pl.List(pl.String)), ""
        case "int64" if dtype.is_integer() or isinstance(dtype, pl.Boolean | pl.Null):
            return column.cast(pl.Int64), ""
        case "int64" if dtype.is_numeric():
            number = column.cast(pl.Float64).fill_nan(None)
            fractions = _count_true(frame, number != number.floor())
            away_from_zero = pl.when(number < 0).then(number.floor()).otherwise(number.ceil())  # 0.5 stays relevant
            return away_from_zero.cast(pl.Int64), f"{fractions:,} values are not whole numbers" if fractions else ""
        case "float64" if dtype.is_numeric() or dtype == pl.Null:
            return column.cast(pl.Float64), ""
        case "int64" | "float64" if dtype == pl.String:
            number = column.cast(pl.Int64 if expected == "int64" else pl.Float64, strict=False)
            if not _count_true(frame, column.is_not_null() & number.is_null()):
                return number, "" if expected == "int64" else problem
            if name == "labels":
                return column.rank("dense").cast(pl.Int64) - 1, problem
    return column, ""


def _count_true(frame: pl.LazyFrame, condition: pl.Expr) -> int:
    return int(frame.select(condition.sum()).collect(engine="streaming").item())


SHOWN = 30  # columns that an error lists


def parse_column_map(texts: Sequence[str]) -> dict[str, str]:
    """`text=sentence` as {"text": "sentence"}: our column, and the one in the files.

    Raises UsageError for another form, and for a column that is named twice.
    """
    columns: dict[str, str] = {}
    for text in texts:
        ours, _, theirs = text.partition("=")
        if not ours or not theirs:
            raise UsageError(
                f"--map {text!r} does not name two columns",
                expected="our column = the column in the file",
                todo="write it so: --map text=sentence",
            )
        if ours in columns or theirs in columns.values():
            twice = ours if ours in columns else theirs
            raise UsageError(f"--map names the column {twice!r} twice", todo="name it once")
        columns[ours] = theirs
    return columns


def rename_columns(tables: Tables, columns: Mapping[str, str], task: str | None = None) -> tuple[Tables, list[str]]:
    """The tables with the column names of their task instead of their own, and notes on what is ignored.

    columns: the columns of tables by our name, as parse_column_map returns them. task: the type of the task, if it is known.

    Raises UsageError for a name that is not a column of the task, or of no table.
    """
    if not columns:
        return tables, []
    types = [tasks.TYPES[task]] if task else tasks.TYPES.values()
    ours = dict.fromkeys(column for task_type in types for layout in task_type.layouts for column in layout.columns)
    present = {
        config: list(dict.fromkeys(name for frame in splits.values() for name in frame.collect_schema().names()))
        for config, splits in tables.items()
    }
    theirs = dict.fromkeys(name for names in present.values() for name in names)
    for own, other in columns.items():
        if own not in ours:
            of_task = f"a column of {task}" if task else "a column of a task type"
            raise UsageError(
                f"--map {own}={other}: {own!r} is not {of_task}",
                expected=", ".join(ours),
                todo="write our column first, then the one in the file: --map text=sentence",
            )
        if other not in theirs:
            raise UsageError(
                f"--map {own}={other}: no table has a column {other!r}",
                found=", ".join([*theirs][:SHOWN]) + (", ..." if len(theirs) > SHOWN else ""),
                todo="write our column first, then one of these: --map text=sentence",
            )
    renamed = {
        config: {split: _rename(frame, columns) for split, frame in splits.items()} for config, splits in tables.items()
    }
    notes = [
        f"{config}: the column {own} is ignored, because --map reads {other} as {own}"
        for config, names in present.items()
        for own, other in columns.items()
        if {own, other} <= {*names} and own not in columns.values()
    ]
    return renamed, notes


def _rename(frame: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """A frame with the mapped columns under our names, which replace columns of these names."""
    names = frame.collect_schema().names()
    renamed = {own: other for own, other in columns.items() if other in names}
    others = [name for name in names if name not in renamed and name not in renamed.values()]
    return frame.select(*others, **{own: pl.col(other) for own, other in renamed.items()})


Splits = Mapping[str, pl.LazyFrame]


def score_range(splits: Splits) -> tuple[float, float]:
    """The lowest and the highest score, for a dataset whose scale is unknown: none declares it."""
    scored = [frame.select("score") for frame in splits.values() if frame.collect_schema().get("score") == pl.Float64]
    score = pl.col("score").fill_nan(None)
    ends = pl.concat([pl.LazyFrame(schema={"score": pl.Float64}), *scored]).select(low=score.min(), high=score.max())
    low, high = ends.collect(engine="streaming").row(0)
    return low or 0.0, high or 0.0


def scale_notes(task: tasks.Task, scale: tuple[float, float] | None) -> list[str]:
    """The notes of a report on the scale of the scores. scale: the one from the command line."""
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


# Types with several tables are recognised by their configs, types with one table by its columns.
REQUIRED_CONFIGS = {
    name: tuple(layout.config for layout in task_type.layouts)
    for name, task_type in tasks.EVALUATED.items()
    if len(task_type.layouts) > 1
}
REQUIRED_COLUMNS = {
    name: tuple(column for column in (*task_type.layouts[0].text, task_type.label) if column)
    for name, task_type in tasks.TYPES.items()
    if len(task_type.layouts) == 1
}
[QRELS_COLUMNS] = (
    frozenset(layout.columns) for layout in tasks.EVALUATED["Retrieval"].layouts if layout.config == "qrels"
)
LANGUAGE_PAIR = re.compile(r"([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?-([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?")


def find_subsets(tables: Frames) -> dict[str, dict[str, str]]:
    """The configs of each subset by part: `corpus`, `queries`, `qrels` and `top_ranked`, or `default` for a single table."""
    subsets: dict[str, dict[str, str]] = {}
    for config in tables:
        name, _, part = ("", "", config) if config in PART_CONFIGS else config.rpartition("-")
        if part in PART_CONFIGS and (not name or f"{name}-corpus" in tables):
            subsets.setdefault(name, {}).setdefault("queries" if part == "query" else part, config)
    if "default" in tables and columns_of(tables["default"]).keys() >= QRELS_COLUMNS:
        subsets.setdefault("", {})["qrels"] = "default"  # mteb prefers it to the config `qrels`
    assigned = {config for configs in subsets.values() for config in configs.values()}
    return subsets | {config: {"default": config} for config in tables if config not in assigned}


def infer_type(name: str, configs: Mapping[str, str], tables: Frames, requested: str | None) -> str | None:
    """The task type of a subset; None where no type matches, or another than the requested one.

    configs: of the subset, as find_subsets returns them.

    Raises UsageError where several types match.
    """
    if "default" not in configs:
        if requested:
            return requested if requested in REQUIRED_CONFIGS else None
        return max(
            REQUIRED_CONFIGS,
            key=lambda name: (len(configs.keys() & set(REQUIRED_CONFIGS[name])), -len(REQUIRED_CONFIGS[name])),
        )
    columns = columns_of(tables[name])
    if requested:
        matches = requested in REQUIRED_COLUMNS and set(tasks.TYPES[requested].layouts[0].text) & columns.keys()
        return requested if matches else None
    types = _matching_types(columns, name)
    if len(types) > 1:
        raise UsageError(
            f"several task types match the columns of {name}",
            found=", ".join(columns),
            expected="; ".join(f"{task_type}: {', '.join(REQUIRED_COLUMNS[task_type])}" for task_type in types),
            todo="select one: " + " or ".join(f"--task {task_type}" for task_type in types),
        )
    return types[0] if types else None


def is_readable(config: str, splits: Splits, requested: str | None) -> bool:
    """Whether a config is a part of a task, or its columns are those of a task type, of the requested one if there is one."""
    if config in PART_CONFIGS or config.endswith(tuple(f"-{part}" for part in PART_CONFIGS)):
        return True
    columns = columns_of(splits)
    if requested in REQUIRED_COLUMNS:
        return set(REQUIRED_COLUMNS[requested]) <= columns.keys()
    return bool(_matching_types(columns, config)) or columns.keys() >= QRELS_COLUMNS


def _matching_types(columns: Mapping[str, Any], config: str) -> list[str]:
    """The types whose columns a table has. A bitext has those of other pairs, so its config must name two languages."""
    types = [task_type for task_type, required in REQUIRED_COLUMNS.items() if set(required) <= columns.keys()]
    excluded = {"Classification" if is_list(columns.get("label")) else "MultilabelClassification"}
    if {"PairClassification", "STS"} & set(types) or not LANGUAGE_PAIR.fullmatch(config):
        excluded.add("BitextMining")
    return [task_type for task_type in types if task_type not in excluded]


SENTENCE = re.compile(
    r"(?:\S+\s){2,}\S+[.!?]$|(?:\S+\s){5}"
)  # as the name of a column: a row of a file without a header


def no_task_type(where: str, tables: Frames, requested: str | None) -> SourceError:
    """The error for a dataset in which no subset has a task type, or none has the requested one."""
    found = [f"{config}: {', '.join(columns_of(splits))}" for config, splits in tables.items()]
    expected = [f"{task_type}: configs {', '.join(configs)}" for task_type, configs in REQUIRED_CONFIGS.items()]
    expected += [f"{task_type}: {', '.join(columns)}" for task_type, columns in REQUIRED_COLUMNS.items()]
    pairs = any(columns_of(splits).keys() >= set(REQUIRED_COLUMNS["BitextMining"]) for splits in tables.values())
    todo = "rename its configs or columns, or say which are which: --map text=sentence"
    if any(SENTENCE.search(name) for splits in tables.values() for name in columns_of(splits)):
        todo = "put a line with names of columns first: the first row was taken for them"
    elif requested is None and (proposed := propose(tables)):
        todo = f"say which columns are which, for example {proposed}"
    if pairs and not requested:
        todo = "name a config of translations en-de, for example, or pass --task BitextMining --language eng --language deu"
    return SourceError(
        f"no table of the task type {requested}" if requested else "no table of a known task type",
        where=where,
        found="; ".join(found[:5]) + ("; ..." if len(found) > 5 else ""),
        expected="; ".join(
            requirement for requirement in expected if requested is None or requirement.startswith(f"{requested}:")
        ),
        todo=todo,
    )


def columns_of(splits: Mapping[str, pl.LazyFrame]) -> Mapping[str, Any]:
    """The columns of a config with their polars types, as its first split has them."""
    return next(iter(splits.values())).collect_schema()
