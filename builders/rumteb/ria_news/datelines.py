"""Datelines of Russian news agencies: `москва, 1 дек — риа новости, имя фамилия.` before the first sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# A place, or several (`афины/никосия`, `фарнборо (великобритания)`, `г. москва`): no sentence ends in it.
PLACE = r"""(?:\p{L}{1,3}\.[ -]?)?[\p{L}\d"«][\p{L}\d ,()/'’"«»-]*"""
MONTHS = "янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек"
DATE = rf"\d{{1,2}}(?:-\d{{1,2}})? ?(?:{MONTHS})\p{{L}}{{0,5}}\.?(?: \d{{4}}(?: г(?:\.|ода))?)?"
AGENCY = """["«]?(?:риа новости|р-спорт|ria\\.ru|прайм)["»]?"""
WORD = r"\p{L}[\p{L}'’-]+"
NAME = rf"(?:\p{{L}}\. ?|{WORD} ){{1,2}}{WORD}"
REPORTERS = rf"{NAME}(?:(?:,| и) ?{NAME}){{0,3}}"
DASH = "[ ,/]*[–—―−-]+ ?"
DATELINE = rf"(?i)^{PLACE}, ?{DATE}{DASH}{AGENCY}(?: ?/ ?{AGENCY})*(?:, ?{REPORTERS})? ?\.+ ?"


def has_dateline(text: pl.Expr) -> pl.Expr:
    """Whether a text, its white space folded, begins with a dateline.

    A dateline is a place, a comma, a day and a month, a dash of any kind, an agency (or some, joined by slashes), perhaps a
    comma and the names of up to four reporters, and a full stop. Case does not matter.
    """
    return text.str.contains(DATELINE)


def without_dateline(text: pl.Expr) -> pl.Expr:
    """The text after its dateline and the space that follows it; a text without one as it is."""
    return text.str.replace(DATELINE, "")
