"""Tables of plain text for the terminal, folded and wrapped to its width."""

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

WIDTH = 80  # of a page, whatever the terminal: the same command prints the same text everywhere


def table(
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    optional: Sequence[str] = (),
    numbers: Collection[str] = (),
) -> str:
    """Rows as aligned columns; the first row is the heading. numbers: the columns that are aligned to the right.

    width: of the terminal. Where the columns need more, the optional ones are left out, the first named first, which a line at
    the end says; then cells are folded, at spaces and behind `/`, else behind `-` and `_`. None for output that no terminal
    shows: each row is one line, with all columns.
    """
    dropped = []
    for name in optional if width is not None else ():
        if sum(column_widths(rows)) + 2 * (len(rows[0]) - 1) > (width or 0):
            column = rows[0].index(name)
            rows = [[*row[:column], *row[column + 1 :]] for row in rows]
            dropped.append(name)
    widths = column_widths(rows)
    if width is not None:
        widths = _fit_columns(rows, widths, width - 2 * (len(widths) - 1))
    right = [column for column, name in enumerate(rows[0]) if name in numbers]
    lines = [line for row in table_lines(rows, widths, right) for line in row]
    if dropped:
        lines += ["", *wrap(f"(the terminal is too narrow for: {', '.join(dropped)})", width=width or WIDTH)]
    return "\n".join(lines)


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The length of the longest cell of each column."""
    return [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]


def _fit_columns(rows: Sequence[Sequence[str]], widths: Sequence[int], space: int) -> list[int]:
    """Widths with `space` as their sum, or as near as possible: the widest column shrinks, while its words stay whole.

    Only if nothing else helps, names are broken at their hyphens, then words anywhere.
    """
    fitted, cells = list(widths), list(zip(*rows, strict=True))
    words, pieces = (
        [max(len(part.rstrip()) for cell in column for part in split(cell)) for column in cells]
        for split in (lambda cell: cell.split() or [""], _pieces)
    )
    for least in [words] if sum(words) <= space else [pieces, [min(size, 8) for size in widths]]:
        while sum(fitted) > space:
            wide = [column for column, size in enumerate(fitted) if size > least[column]]
            if not wide:
                break
            fitted[max(wide, key=fitted.__getitem__)] -= 1
    return fitted


def table_lines(rows: Sequence[Sequence[str]], widths: Sequence[int], numbers: Collection[int] = ()) -> list[list[str]]:
    """The lines of each row, one for each line of its longest cell; those of the heading with the rule below them.

    numbers: the columns that are aligned to the right.
    """
    listed = []
    for row in rows:
        lines = zip_longest(*map(fold, row, widths), fillvalue="")
        listed.append([_align_cells(line, widths, numbers) for line in lines])
    listed[0].append("  ".join("-" * size for size in widths))
    return listed


def _align_cells(cells: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    sized = zip(cells, widths, strict=True)
    aligned = [cell.rjust(size) if at in numbers else cell.ljust(size) for at, (cell, size) in enumerate(sized)]
    return "  ".join(aligned).rstrip()


def fold(cell: str, width: int) -> list[str]:
    """A text as lines of at most `width` characters, as `table` folds it; a longer word is broken anywhere."""
    lines = [""]
    for part in re.split(r"(?<=[\s/])(?=[^\s/])", cell):
        for piece in [part] if len(part.rstrip()) <= width else _pieces(part):
            rest = piece
            if lines[-1] and len((lines[-1] + rest).rstrip()) > width:
                lines.append("")
            while len(rest.rstrip()) > width:
                lines[-1:] = [rest[:width], ""]
                rest = rest[width:]
            lines[-1] += rest
    return [line.rstrip() for line in lines]


def _pieces(cell: str) -> list[str]:
    """The parts of a text between which a line may end."""
    return re.split(r"(?<=[\s/_-])(?=[^\s/_-])", cell)


def wrap(text: str, label: str = "", *, width: int = WIDTH, break_words: bool = True) -> list[str]:
    """A text as lines of at most `width` characters: a label, and the text beside it, each line below the first.

    break_words: break a word that is longer than a line. False for what is to be copied, such as an address or a path.
    """
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label) or "  ",
        break_on_hyphens=False,
        break_long_words=break_words,
    )
    return lines or [label.rstrip()]


def fact(name: str, text: str) -> list[str]:
    """A line `  name      text` of a page, wrapped."""
    return wrap(text, f"  {name:<10}")


def facts(pairs: Iterable[tuple[str, str | None]]) -> list[str]:
    """The lines of `fact` for each name that has a text."""
    return [line for name, text in pairs if text for line in fact(name, text)]


def number_table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as a name and right-aligned numbers; the first row is the heading. Long names are cut in the middle to fit."""
    widths = column_widths(rows)
    numbers = sum(widths[1:]) + 2 * len(widths[1:])
    widths[0] = longest = min(widths[0], max(width - numbers, 20))
    cut = [[cut_middle(name, longest), *cells] for name, *cells in rows]
    return [line for row in table_lines(cut, widths, numbers=range(1, len(widths))) for line in row]


def cut_middle(name: str, length: int, end: int = 10) -> str:
    """A name of at most `length` (5 or more) characters: of a longer one, its beginning and at most `end` of its last ones."""
    end = min(end, length - 4)
    return name if len(name) <= length else f"{name[: length - end - 3]}...{name[-end:]}"
