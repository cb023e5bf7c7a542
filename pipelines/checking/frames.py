"""Tables in memory: frames of polars, pandas and PyArrow, and what `datasets` loads, as the lazy frames that a check reads.

No library is imported to recognise its frames: anyone who has a frame has imported its library.
"""

from collections.abc import Mapping
from typing import Any, cast

import polars as pl

from builders.errors import UsageError
from pipelines.checking.data_files import PART_CONFIGS, Tables
from pipelines.process.safe_text import first_line

SPLIT = "train"  # of a frame without a name, as `datasets` calls the rows of a file without a split
PART_SPLIT = "test"  # of corpus, queries and judgements without a split
CLASSES = {
    "polars": ("DataFrame", "LazyFrame"), "pandas": ("DataFrame",), "datasets": ("Dataset", "IterableDataset"),
    "pyarrow": ("Table",),
}  # fmt: skip
CONVERSION_ERRORS = (TypeError, ValueError, NotImplementedError)  # PyArrow's errors are among these
EXPECTED = "a frame of polars or pandas, a datasets.Dataset, or {split: frame}, or {config: {split: frame}}"


def as_tables(data: object) -> Tables:
    """Tables by config and split: from one frame, from {split: frame}, or from {config: {split: frame}}.

    A `datasets.Dataset` keeps its split. {"corpus": frame, "queries": frame, "qrels": frame} are configs, with the split `test`.

    Raises UsageError for anything else, for an iterable dataset, and for a frame that polars cannot hold.
    """
    if _class_name(data):
        return {"default": {str(getattr(data, "split", None) or SPLIT): _as_lazy(data, "the frame")}}
    if not isinstance(data, Mapping) or not data:
        raise UsageError("not a dataset", found=_describe(data), expected=EXPECTED)
    if all(isinstance(value, Mapping) for value in data.values()):
        return {_name(config): _splits(splits, f"{config}/") for config, splits in data.items()}
    if {*data} <= {*PART_CONFIGS}:
        return {config: _splits({PART_SPLIT: frame}, f"{config}/") for config, frame in data.items()}
    return {"default": _splits(data, "")}


def _splits(splits: Mapping[Any, object], prefix: str) -> dict[str, pl.LazyFrame]:
    """The frames of a config. prefix: what precedes the split in an error."""
    if not splits:
        raise UsageError("a config without a split", where=prefix.rstrip("/"), expected=EXPECTED)
    return {_name(split): _as_lazy(frame, f"{prefix}{split}") for split, frame in splits.items()}


def _name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError("a config or split needs a name", found=repr(value), expected="a text, such as 'test'")
    return value


def _class_name(value: object) -> str | None:
    """The library and the class of a frame, such as `pandas.DataFrame`; None for a value of any other kind."""
    for base in type(value).__mro__:
        library = base.__module__.partition(".")[0]
        if base.__name__ in CLASSES.get(library, ()):
            return f"{library}.{base.__name__}"
    return None


def _as_lazy(value: Any, where: str) -> pl.LazyFrame:
    name = _class_name(value)
    if name == "datasets.IterableDataset":
        raise UsageError(
            "an iterable dataset cannot be checked",
            where=where,
            todo="load it without streaming=True, or take its rows: datasets.Dataset.from_list(list(dataset))",
        )
    if name is None:
        raise UsageError("not a table", where=where, found=_describe(value), expected=EXPECTED)
    try:
        frame = _convert(name, value)
        objects = [column for column, kind in frame.collect_schema().items() if kind == pl.Object]
    except (pl.exceptions.PolarsError, *CONVERSION_ERRORS) as error:
        raise _unreadable(where, value, first_line(error)) from error
    if objects:
        raise _unreadable(f"{where}, column {objects[0]!r}", value, "Python objects")
    return frame


def _convert(name: str, value: Any) -> pl.LazyFrame:
    match name:
        case "pandas.DataFrame":
            value = pl.from_pandas(value)  # without its index
        case "datasets.Dataset":
            value = value.with_format(None).to_polars()
        case "pyarrow.Table":
            value = pl.from_arrow(value)
    return cast("pl.LazyFrame", value.lazy())


def _unreadable(where: str, value: Any, reason: str) -> UsageError:
    """The error for a frame that polars cannot hold; of pandas, with the first column that it cannot."""
    if _class_name(value) == "pandas.DataFrame" and value.columns.is_unique:
        for column in value.columns:
            try:
                pl.from_pandas(value[[column]])
            except (pl.exceptions.PolarsError, *CONVERSION_ERRORS) as error:
                where, reason = f"{where}, column {column!r}", first_line(error)
                break
    return UsageError(
        "the table cannot be read",
        where=where,
        found=reason,
        expected="columns with unique names, each of one type",
        todo="convert the column, or leave it out",
    )


def _describe(value: object) -> str:
    return "an empty dict" if value == {} else f"a value of the type {type(value).__qualname__}"
