"""Findings about a text by itself: empty, short or far too long, with traces of what was done to it before, and the like.

A new kind of finding that one text decides on its own is an entry in `TEXT_CONDITIONS` and in `KINDS`; a pattern that it looks
for belongs in text_patterns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from builders import tasks
from builders.shaping.mojibake import is_mojibake
from pipelines.audit import text_patterns as patterns
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.kinds import LENGTH_OUTLIER_FACTOR
from pipelines.audit.lookalikes import has_lookalike_word
from pipelines.audit.repeated_sentences import repeats_a_sentence
from pipelines.audit.tables import Location


@dataclass(frozen=True)
class TextForms:
    """The forms of a text that conditions use.

    received: what a model receives. own: the value of the column, which for a document lacks the title. suspect: received, or
    empty if text_patterns has no pattern that occurs in it. of_retrieval: whether it is a document of a retrieval task.
    """

    received: pl.Expr
    own: pl.Expr
    suspect: pl.Expr
    of_retrieval: bool = False


def _is_empty(text: pl.Expr) -> pl.Expr:
    return ~text.str.contains(patterns.CHARACTER)


def _has_stray_mark(suspect: pl.Expr) -> pl.Expr:
    return suspect.str.contains(patterns.BIDI) & ~suspect.str.contains(patterns.RIGHT_TO_LEFT)


# For each kind of finding that a text decides on its own, and for each part of it that the detail counts (empty if it has no
# parts), whether it applies to the text. A part of a kind is counted on its own, and a text with two parts once for the kind.
TEXT_CONDITIONS: Mapping[tuple[str, str], Callable[[TextForms], pl.Expr]] = MappingProxyType(
    {
        ("empty_text", ""): lambda text: _is_empty(text.received),
        ("empty_text", "beside a title"): lambda text: _is_empty(text.own) & ~_is_empty(text.received),
        ("mojibake", ""): lambda text: is_mojibake(text.suspect),
        ("encoding_residue", ""): lambda text: text.suspect.str.contains(patterns.ENCODING),
        ("html_residue", ""): lambda text: text.suspect.str.contains(patterns.HTML),
        ("preprocessing_residue", "treebank brackets"): lambda text: text.suspect.str.contains(
            patterns.TREEBANK_BRACKET
        ),
        ("preprocessing_residue", "link stumps"): lambda text: text.suspect.str.contains(patterns.LINK_STUMP),
        ("invisible_character", ""): lambda text: (
            text.suspect.str.contains(f"{patterns.INVISIBLE}|{patterns.STRAY_JOINER}") | _has_stray_mark(text.suspect)
        ),
        ("lookalike_word", ""): lambda text: has_lookalike_word(text.suspect),
        ("short_text", ""): lambda text: (
            ~_is_empty(text.received) & ~text.received.str.contains(patterns.TWO_CHARACTERS)
        ),
        ("surrounding_whitespace", ""): lambda text: (
            ~_is_empty(text.received)
            & (text.received.str.contains(patterns.SPACE_FIRST) | text.received.str.contains(patterns.SPACE_LAST))
        ),
        ("double_full_stop", ""): lambda text: text.received.str.contains(patterns.DOUBLE_FULL_STOP),
        # The slowest condition by far, and an article may well quote itself: not worth the time in a corpus of millions.
        ("repeated_sentence", ""): lambda text: (
            pl.lit(value=False) if text.of_retrieval else repeats_a_sentence(text.received)
        ),
        ("personal_data", "e-mail addresses"): lambda text: text.suspect.str.contains(patterns.E_MAIL),
        ("personal_data", "phone numbers"): lambda text: text.suspect.str.contains(patterns.PHONE),
        ("prompt_residue", ""): lambda text: (
            text.suspect.str.contains(patterns.ROLE) & ~text.suspect.str.contains(patterns.TRANSCRIPT)
        ),
    }
)


def condition_column(kind: str, part: str, column: str) -> str:
    """The column of a survey that says whether a condition applies to the texts of a column."""
    return f"{kind} {part} {column}"


def audit_texts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about single texts of a table. survey: what pipelines.audit.survey read of its rows."""
    findings = []
    for column in layout.text:
        location = (layout.config, split, column)
        for kind in dict.fromkeys(kind for kind, _ in TEXT_CONDITIONS):
            findings += _find_condition(kind, survey, location)
        findings += _find_length_outliers(survey, f"length {column}", location)
    return findings


def _find_condition(kind: str, survey: pl.DataFrame, location: Location) -> list[FindingRows]:
    """The finding for the texts to which a part of a kind applies; its detail counts the parts that have a name."""
    columns = {part: condition_column(kind, part, location[2]) for one, part in TEXT_CONDITIONS if one == kind}
    counts = {part: survey[column].sum() for part, column in columns.items()}
    if not any(counts.values()):
        return []
    detail = ", ".join(f"{part} {count:,}" for part, count in counts.items() if part and count)
    return findings_where(kind, location, survey, pl.any_horizontal(columns.values()), detail=detail)


def _find_length_outliers(survey: pl.DataFrame, column: str, location: Location) -> list[FindingRows]:
    lengths = survey[column].filter(survey[column] > 0).sort()
    if lengths.is_empty():
        return []
    median, longest = lengths[lengths.len() // 2], lengths[-1]
    detail = f"median {median} characters, longest {longest}"
    return findings_where(
        "length_outlier", location, survey, pl.col(column) > LENGTH_OUTLIER_FACTOR * median, detail=detail
    )
