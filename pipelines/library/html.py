"""The records of the Python library as HTML, as notebooks show them."""

from collections.abc import Sequence
from html import escape

from pipelines.process.safe_text import safe_text

MAX_ROWS = 48  # of a table; a notebook keeps what it shows
MAX_CHARACTERS = 200  # of a cell


def as_html(title: str, *tables: Sequence[Sequence[object]], notes: Sequence[str] = ()) -> str:
    """A title, tables and notes. tables: rows, the first of them the heading. No text becomes markup; long ones are cut."""
    parts = [f"<p><b>{_plain(title)}</b></p>"]
    for heading, *rows in tables:
        body = "".join(_row("td", row) for row in rows[:MAX_ROWS])
        parts.append(f"<table><thead>{_row('th', heading)}</thead><tbody>{body}</tbody></table>" if rows else "")
        parts += [f"<p>and {len(rows) - MAX_ROWS:,} more</p>"] if len(rows) > MAX_ROWS else []
    return "".join([*parts, *(f"<p>{_plain(note)}</p>" for note in notes)])


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_plain(cell)}</{tag}>' for cell in cells)}</tr>"


def _plain(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return escape(safe_text(text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"))
