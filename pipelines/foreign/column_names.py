"""Reads tables whose columns have other names than those of their task, as `--map text=sentence` says."""

from collections.abc import Mapping, Sequence

import polars as pl

from builders.errors import UsageError
from builders.tasks import EVALUATED
from pipelines.foreign.tables import Tables

SHOWN = 30  # columns that an error lists


def parse_column_map(texts: Sequence[str]) -> dict[str, str]:
    """`text=sentence` as {"text": "sentence"}: our column, and the one in the files.

    Raises UsageError for another form, and for a column that is named twice.
    """
    columns: dict[str, str] = {}
    for text in texts:
        ours, _, theirs = text.partition("=")
        if not ours or not theirs:
            what = f"--map {text!r} does not name two columns"
            raise UsageError(
                what, expected="our column = the column in the file", todo="write it so: --map text=sentence"
            )
        if ours in columns or theirs in columns.values():
            twice = ours if ours in columns else theirs
            raise UsageError(f"--map names the column {twice!r} twice", todo="name it once")
        columns[ours] = theirs
    return columns


def rename_columns(tables: Tables, columns: Mapping[str, str], task: str | None = None) -> tuple[Tables, list[str]]:
    """The tables with the names of their task in place of their own, wherever they have these, and notes on what is ignored.

    columns: the columns of tables by our name, as parse_column_map returns them. task: the type of the task, if it is known.

    Raises UsageError for a name that is not a column of the task, or of no table.
    """
    if not columns:
        return tables, []
    ours = _task_columns(task)
    present = {config: list(dict.fromkeys(_all_columns(splits))) for config, splits in tables.items()}
    theirs = dict.fromkeys(name for names in present.values() for name in names)
    for own, other in columns.items():
        if own not in ours:
            of_task = f"a column of {task}" if task else "a column of a task type"
            todo = "write our column first, then the one in the file: --map text=sentence"
            raise UsageError(f"--map {own}={other}: {own!r} is not {of_task}", expected=", ".join(ours), todo=todo)
        if other not in theirs:
            found = ", ".join([*theirs][:SHOWN]) + (", ..." if len(theirs) > SHOWN else "")
            todo = "write our column first, then one of these: --map text=sentence"
            raise UsageError(f"--map {own}={other}: no table has a column {other!r}", found=found, todo=todo)
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


def _task_columns(task: str | None) -> list[str]:
    types = [EVALUATED[task]] if task else EVALUATED.values()
    return list(dict.fromkeys(column for one in types for layout in one.layouts for column in layout.columns))


def _all_columns(splits: Mapping[str, pl.LazyFrame]) -> list[str]:
    return [name for frame in splits.values() for name in frame.collect_schema().names()]


def _rename(frame: pl.LazyFrame, columns: Mapping[str, str]) -> pl.LazyFrame:
    """A frame with the mapped columns under our names, which replace columns of these names."""
    names = frame.collect_schema().names()
    renamed = {own: other for own, other in columns.items() if other in names}
    others = [name for name in names if name not in renamed and name not in renamed.values()]
    return frame.select(*others, **{own: pl.col(other) for own, other in renamed.items()})
