"""Findings about a text by itself: empty, short, with residue of HTML or of a wrong decoding, or far too long.

A new kind of finding that one text decides on its own is an entry in `TEXT_CONDITIONS` and in `KINDS`.
"""

from __future__ import annotations

from html.entities import name2codepoint
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from builders.shaping.text import WHITE_SPACE
from pipelines.audit.findings import findings_where
from pipelines.audit.kinds import LENGTH_OUTLIER_FACTOR
from pipelines.audit.mojibake import is_mojibake

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from builders import tasks
    from pipelines.audit.findings import FindingRows
    from pipelines.audit.tables import Location

_ELEMENTS = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|center|cite|code|dd|del|div|dl|dt|em|embed|figcaption|figure|font"
    "|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|label|li|link|main|meta|nav|nobr|noscript|ol|option|p"
    "|pre|s|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|u|ul"
)
_ENTITIES = "|".join(sorted(name2codepoint))
HTML = rf"(?i:</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>)|<!--|&(?:apos|{_ENTITIES}|#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}});"
# An alternation of characters, not a character class: the search is several times as fast.
ENCODING = "|".join(map(chr, (*range(0x80, 0xA0), 0xFFFD))) + "|_x[0-9A-F]{4}_"


def _stripped_length(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars(WHITE_SPACE).str.len_chars()


# For each kind of finding that a text decides on its own, whether it applies to the text.
TEXT_CONDITIONS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = MappingProxyType(
    {
        "empty_text": lambda text: _stripped_length(text) == 0,
        "short_text": lambda text: _stripped_length(text) == 1,
        "mojibake": is_mojibake,
        "html_residue": lambda text: text.str.contains(HTML),
        "encoding_residue": lambda text: text.str.contains(ENCODING),
    }
)


def audit_texts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about single texts of a table. survey: what pipelines.audit.survey read of its rows."""
    findings = []
    for column in layout.text:
        location = (layout.config, split, column)
        for kind in TEXT_CONDITIONS:
            findings += findings_where(kind, location, survey, pl.col(f"{kind} {column}"))
        findings += _find_length_outliers(survey, f"length {column}", location)
    return findings


def _find_length_outliers(survey: pl.DataFrame, column: str, location: Location) -> list[FindingRows]:
    lengths = survey[column].filter(survey[column] > 0).sort()
    if lengths.is_empty():
        return []
    median, longest = lengths[lengths.len() // 2], lengths[-1]
    detail = f"median {median} characters, longest {longest}"
    return findings_where(
        "length_outlier", location, survey, pl.col(column) > LENGTH_OUTLIER_FACTOR * median, detail=detail
    )
