"""The rows that a card shows, as a table: names of labels instead of numbers, texts cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders import tasks
from cards import markdown
from cards.columns import label_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHOWN = 160  # characters of a text
HIDDEN = ("id", "label_text")  # columns that say nothing beside the others


def example_table(task: tasks.Task, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The heading and the cells of a table of rows, as Markdown; empty without rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row if name not in HIDDEN))
    if not columns:
        return []
    return [
        [markdown.plain(name) for name in columns],
        *([_cell(task, name, row.get(name)) for name in columns] for row in rows),
    ]


def _cell(task: tasks.Task, column: str, value: Any) -> str:
    if column == task.type.label and tasks.label_names(task):
        keys = value if isinstance(value, list) else [value]
        return ", ".join(markdown.plain(label_name(task, key)) for key in keys or [None])
    if isinstance(value, str):
        return markdown.plain(value[:SHOWN]) + (" […]" if len(value) > SHOWN else "")
    if isinstance(value, float):
        return f"{value:g}"
    return markdown.plain(", ".join(map(str, value)) if isinstance(value, list) else "–" if value is None else value)
