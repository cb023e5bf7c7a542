"""The rows that a card shows, as a table: names of labels instead of numbers, texts cut.

A long text is cut in the middle, because its end often decides: the hypothesis after the premise, the last answer of a dialogue.
What all texts of a column begin with, such as an instruction, is cut.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from builders import tasks
from cards import markdown
from cards.columns import label_name
from cards.markdown import CUT

HEAD, TAIL = 100, 60  # characters of a long text that are shown, at most
SHARED = 60  # characters that all texts of a column begin with, from which on they are cut
NEAR = 20  # characters in which a cut looks for the end of a word
HIDDEN = re.compile(r"id|.+_id|label_text|lang|negative_kinds")  # columns that say nothing beside the others


def example_table(task: tasks.Task, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The heading and the cells of a table of rows, as Markdown; empty without rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row if not HIDDEN.fullmatch(name)))
    if not columns:
        return []
    shared = {name: _shared_beginning([row.get(name) for row in rows]) for name in columns}
    return [
        [markdown.plain(name) for name in columns],
        *([_cell(task, name, row.get(name), shared[name]) for name in columns] for row in rows),
    ]


def _cell(task: tasks.Task, column: str, value: Any, shared: int) -> str:
    if column == task.type.label and tasks.label_names(task):
        keys = value if isinstance(value, list) else [value]
        return ", ".join(markdown.plain(label_name(task, key)) for key in keys or [None])
    if isinstance(value, str) and value.strip():
        return markdown.plain(f"{CUT} {_cut(value[shared:])}" if shared else _cut(value))
    if isinstance(task, tasks.Contrastive) and isinstance(value, list) and value:  # lists of whole documents
        more = f" (and {len(value) - 1} more)" if len(value) > 1 else ""
        return markdown.plain(_cut(value[0]) + more) or "–"
    if isinstance(value, float):
        return f"{value:g}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else value
    return markdown.plain(shown) or "–"


def _shared_beginning(values: Sequence[Any]) -> int:
    """How many characters of the texts of a column are cut because all begin with them; the rest begins with a word."""
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < 2 or len(set(texts)) == 1:
        return 0
    first, last = min(texts), max(texts)  # what these two begin with, all do
    differ = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    beginning = first[: next(differ, len(first))]
    end = max(beginning.rfind(" "), beginning.rfind("\n")) + 1
    return end if end > SHARED else 0


def _cut(text: str) -> str:
    """A text without its middle if it is long; whole words, where they are short enough."""
    if len(text) <= HEAD + TAIL:
        return text
    head, tail = text[:HEAD], text[-TAIL:]
    before = re.search(rf"\s\S{{0,{NEAR}}}$", head)
    after = re.search(rf"^\S{{0,{NEAR}}}\s", tail)
    return f"{head[: before.start()] if before else head} {CUT} {tail[after.end() :] if after else tail}"
