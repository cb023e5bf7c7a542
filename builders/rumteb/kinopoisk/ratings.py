"""Remove the ratings that authors of Russian film reviews write into their texts (rules.py, more_rules.py beside this file)."""

import polars as pl

from builders.rumteb.kinopoisk.more_rules import MORE_RULES
from builders.rumteb.kinopoisk.rules import GAP, RULES, SHIELD
from builders.rumteb.kinopoisk.vocabulary import BLANK, WORD

NO_TEXT = r"[^\p{L}\p{N}\n]*"
LABEL = rf"(?:\p{{L}}+{BLANK}+){{0,2}}(?:оценк[ау]|вердикт|итого?|став(?:лю|им)|поставлю){WORD}{{0,3}}\s*[:—–=-]*\s*"
END = rf"({BLANK}*[.!?…*]|{NO_TEXT}$)"
# Repairs of the text around each gap, in order.
CLEANUP = {
    "brackets, quotes and asterisks that enclose only a rating are removed": (
        rf"[(\[*«]+{BLANK}*{GAP}[.!…\s--\n]*[)\]*»]+",
        GAP,
    ),
    "a label is removed if it and its rating were a whole sentence or line": (
        rf"(?im)(?:^{NO_TEXT}|([.!?…]{BLANK}+)){LABEL}{GAP}{END}",
        f"${{1}}{GAP}${{2}}",
    ),
    "a first line without any letters or digits left is removed, with the line breaks after it": (
        rf"\A(\n*){NO_TEXT}{GAP}{NO_TEXT}\n+",
        "${1}",
    ),
    "any other such line is removed, with the line breaks before it": (rf"(?m)(?:\A|\n+){NO_TEXT}{GAP}{NO_TEXT}$", ""),
    "blanks and punctuation after a rating are removed if it began a line or a sentence": (
        rf"(?m)(^|[.!?…(])({BLANK}*){GAP}[.,;:!…*—–\s--\n-]*",
        "${1}${2}",
    ),
    "a comma, colon or dash before a rating is removed if it ended a line, a sentence or a clause": (
        rf"(?m)(?:{BLANK}*[,:=—–-])?{BLANK}*{GAP}([,;]|{END})",
        "${1}",
    ),
    "otherwise, one blank before a rating is removed": (rf"{BLANK}?{GAP}", ""),
    "text that only looked like a rating is restored": (SHIELD, ""),
}


def remove_ratings(texts: pl.Expr, *, thorough: bool = True) -> pl.Expr:
    """The texts (String) without their ratings. Other text is kept byte for byte, except as CLEANUP says.

    A text that contains only a rating becomes empty or white space. thorough: False removes what 1.0.0 removes
    (builders.rumteb.kinopoisk.more_rules).
    """
    for rule in (*MORE_RULES, *RULES) if thorough else RULES:
        texts = texts.str.replace_all(rule.pattern, rule.replacement)
    for pattern, replacement in CLEANUP.values():
        texts = texts.str.replace_all(pattern, replacement)
    return texts
