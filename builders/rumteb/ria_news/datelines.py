"""Datelines of Russian news agencies: `москва, 1 дек — риа новости, имя фамилия.` before the first sentence."""

import polars as pl

# One or several places (`афины/никосия`, `фарнборо (великобритания)`, `г. москва`), without the end of a sentence.
PLACE = r"""(?:\p{L}{1,3}\.[ -]?)?[\p{L}\d"«][\p{L}\d ,()/'’"«»-]*"""
MONTHS = "янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек"
DATE = rf"\d{{1,2}}(?:-\d{{1,2}})? ?(?:{MONTHS})\p{{L}}{{0,5}}\.?(?: \d{{4}}(?: г(?:\.|ода))?)?"
AGENCY = """["«]?(?:риа новости|р-спорт|ria\\.ru|прайм)["»]?"""
WORD = r"\p{L}[\p{L}'’-]+"
NAME = rf"(?:\p{{L}}\. ?|{WORD} ){{1,2}}{WORD}"
REPORTERS = rf"{NAME}(?:(?:,| и) ?{NAME}){{0,3}}"
DASH = "[ ,/]*[–—―−-]+ ?"
REST = rf"(?:, ?{REPORTERS})? ?\.+ ?"
DATELINE = rf"(?i)^{PLACE}, ?{DATE}{DASH}{AGENCY}(?: ?/ ?{AGENCY})*{REST}"
# Also the branches of an agency (`риа новости-урал`, `прайм-тасс`), and agencies between slashes.
BRANCH = rf"{AGENCY}(?:-\p{{L}}+[\"»]?)?"
ANY_DATELINE = rf"(?i)^{PLACE}, ?{DATE}{DASH}/?{BRANCH}(?: ?/ ?{BRANCH})*/?{REST}"


def remove_dateline(text: pl.Expr, *, branches: bool = True) -> pl.Expr:
    """The text without the dateline that it begins with, and the space that follows; a text without one is unchanged.

    White space must be folded (builders.shaping.text). A dateline is a place, a comma, a day and a month, a dash of any kind, one
    or more agencies joined by slashes, optionally a comma and up to four names of reporters, and a full stop. Case is ignored.
    branches: also with the name of an agency's branch, and with agencies between slashes.
    """
    return text.str.replace(ANY_DATELINE if branches else DATELINE, "")
