"""What the checks must know of the rows of a dataset instead of their texts, from one reading of them."""

from __future__ import annotations

from dataclasses import replace
from html.entities import name2codepoint
from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from builders.shaping.folding import fold_text
from builders.shaping.labels import label_key
from builders.shaping.text import WHITE_SPACE
from pipelines.audit.integrity import finding_where, row_name
from pipelines.audit.kinds import KINDS
from pipelines.audit.statistics import collision_free_seed, model_input

if TYPE_CHECKING:
    from cards.manifest import Finding, Severity
    from pipelines.audit.integrity import Frames

_ELEMENTS = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|center|cite|code|dd|del|div|dl|dt|em|embed|figcaption|figure|font"
    "|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|label|li|link|main|meta|nav|nobr|noscript|ol|option|p"
    "|pre|s|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|u|ul"
)
_ENTITIES = "|".join(sorted(name2codepoint))
HTML = rf"(?i:</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>)|<!--|&(?:apos|{_ENTITIES}|#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}});"
# A list of characters, not a class of them: the search is many times as fast.
ENCODING = "|".join(map(chr, (*range(0x80, 0xA0), 0xFFFD))) + "|_x[0-9A-F]{4}_"


def text_layouts(task: tasks.Task) -> list[tasks.Layout]:
    return [layout for layout in tasks.layouts(task) if layout.text]


def survey_tables(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], seed: int
) -> dict[tuple[str, str], pl.DataFrame]:
    """For each table with texts what the checks must know of its rows, in their order, instead of the texts.

    Columns: id, as examples name the row; `<mark> <column>` for every text column and mark; same, which two rows have in
    common where all their texts are equal; folded, likewise after folding, where splits are compared; label, if there is one.
    """

    tables = [(layout, split, frames[layout.config][split]) for layout in text_layouts(task) for split in splits]
    compared = [layout.config for layout in text_layouts(task) if layout.config != "corpus" and len(splits) > 1]
    folding_seed = collision_free_seed(
        [
            table.select(text=fold_text(text))
            for layout, _, table in tables
            if layout.config in compared
            for text in model_inputs(layout)
        ]
    )
    surveys = {}
    for layout, split, table in tables:
        columns = {"id": row_name(table.collect_schema().names()).cast(pl.String)}
        for column, text in zip(layout.text, model_inputs(layout), strict=True):
            columns |= {f"{mark} {column}": value for mark, value in _marks(text, seed).items()}
        columns["same"] = _together([text.hash(seed) for text in model_inputs(layout)])
        if layout.config in compared:
            columns["folded"] = _together([fold_text(text).hash(folding_seed) for text in model_inputs(layout)])
        if label := task.type.label:
            columns["label"] = label_key(label, table.collect_schema()[label])
        surveys[layout.config, split] = table.with_row_index("__row").select(**columns).collect(engine="streaming")
    return surveys


def model_inputs(layout: tasks.Layout) -> list[pl.Expr]:
    return [model_input(layout.config, column) for column in layout.text]


def _marks(text: pl.Expr, seed: int) -> dict[str, pl.Expr]:
    """What is asked of a text by itself; the marks that are named after a kind say that the text is of it."""
    bare = text.str.strip_chars(WHITE_SPACE).str.len_chars()
    return {
        "number": text.hash(seed),
        "length": text.str.len_chars(),
        "empty_text": bare == 0,
        "short_text": bare == 1,
        "html_residue": text.str.contains(HTML),
        "encoding_residue": text.str.contains(ENCODING),
    }


def _together(numbers: list[pl.Expr]) -> pl.Expr:
    """One value of the numbers of several texts, equal where all of them are."""

    return numbers[0] if len(numbers) == 1 else pl.concat_str(numbers, separator=" ")


def findings_where(
    kind: str,
    place: tuple[str, str, str],
    rows: pl.LazyFrame | pl.DataFrame,
    wrong: pl.Expr,
    *,
    detail: str = "",
    severity: Severity | None = None,
) -> list[Finding]:
    """A finding for the rows that meet a condition, with the severity of its kind unless one is given."""
    found = finding_where(kind, severity or KINDS[kind].severity, place, rows.lazy(), wrong)
    return [replace(finding, detail=detail) for finding in found]
