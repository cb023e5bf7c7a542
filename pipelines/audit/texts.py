"""Findings about a text by itself: empty, short, far too long, in a wrong language or script, with traces of processing.

A new kind of finding that one text decides on its own is an entry in `TEXT_CONDITIONS` and in `KINDS`; a pattern that it looks
for belongs in text_patterns.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import polars as pl

from builders import tasks
from builders.shaping.text import is_mojibake
from cards.front_matter import LANGUAGES, language
from cards.kinds import LENGTH_OUTLIER_FACTOR
from pipelines.audit import text_patterns as patterns
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.languages import foreign_languages
from pipelines.audit.tables import Location, model_inputs
from pipelines.audit.text_patterns import has_lookalike_word, repeats_a_sentence


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
    columns = {part: condition_column(kind, part, location[2]) for other, part in TEXT_CONDITIONS if other == kind}
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


# ISO 15924 -> the scripts of its letters, as regular expressions name them (Unicode's property Script).
SCRIPTS = {
    "Arab": ("Arabic",), "Armn": ("Armenian",), "Beng": ("Bengali",), "Cyrl": ("Cyrillic",), "Deva": ("Devanagari",),
    "Geor": ("Georgian",), "Grek": ("Greek",), "Gujr": ("Gujarati",), "Guru": ("Gurmukhi",), "Hans": ("Han", "Bopomofo"),
    "Hant": ("Han", "Bopomofo"), "Hebr": ("Hebrew",), "Jpan": ("Han", "Hiragana", "Katakana"), "Knda": ("Kannada",),
    "Kore": ("Hangul", "Han"), "Latn": ("Latin",), "Mlym": ("Malayalam",), "Taml": ("Tamil",), "Telu": ("Telugu",),
    "Thai": ("Thai",),
}  # fmt: skip
# The script of a language (ISO 639-1) that is named without one; Latin for all others.
DEFAULTS = {
    "ar": "Arab", "be": "Cyrl", "bg": "Cyrl", "bn": "Beng", "el": "Grek", "fa": "Arab", "gu": "Gujr", "he": "Hebr",
    "hi": "Deva", "hy": "Armn", "ja": "Jpan", "ka": "Geor", "kk": "Cyrl", "kn": "Knda", "ko": "Kore", "ky": "Cyrl",
    "mk": "Cyrl", "ml": "Mlym", "mr": "Deva", "ne": "Deva", "pa": "Guru", "ru": "Cyrl", "sr": "Cyrl", "ta": "Taml",
    "te": "Telu", "th": "Thai", "tt": "Cyrl", "uk": "Cyrl", "ur": "Arab", "zh": "Hans",
}  # fmt: skip
# Letters of one script only, which excludes the likes of ʼ and mathematical letters.
LETTER = r"[\p{L}--[\p{Common}\p{Inherited}]]"


def script(code: str) -> str:
    """The script of a language, as ISO 15924 names it. code: as mteb writes it (`rus-Cyrl`), with or without its script.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    name = code.partition("-")[2]
    return name if name in SCRIPTS else DEFAULTS.get(language(code)[0], "Latn")


def scripts_by_language(codes: Iterable[str]) -> dict[str, set[str]]:
    """The scripts of each language (ISO 639-1): the usual one, or those that the codes name. codes: as for `script`."""
    scripts = {short: {DEFAULTS.get(short, "Latn")} for short, _ in LANGUAGES.values()}
    named: dict[str, set[str]] = {}
    for code in codes:
        named.setdefault(language(code)[0], set()).add(script(code))
    return scripts | named


def in_wrong_script(text: pl.Expr, expected: Iterable[str]) -> pl.Expr:
    """Whether a text has letters, but none of the expected scripts. expected: as ISO 15924 names them."""
    names = sorted({name for code in expected for name in SCRIPTS[code]})
    letters = "".join(rf"\p{{{name}}}" for name in names)
    return text.str.contains(LETTER) & ~text.str.contains(rf"[\p{{L}}&&[{letters}]]")


WRONG_SCRIPT = "wrong_script"


def expected_languages(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, set[str]]:
    """The languages that each column of texts may be in, as ISO 639-1 codes.

    languages: the dataset's, as mteb writes them (`rus-Cyrl`). The sides of a bitext have the languages of its pair.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    if isinstance(task, tasks.BitextMining):
        return {column: {side} for column, side in zip(layout.text, task.pair.split("-"), strict=True)}
    return {column: {language(code)[0] for code in languages} for column in layout.text}


def script_conditions(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, pl.Expr]:
    """Whether the text of each column is in a wrong script; no column whose languages, or their scripts, are unknown.

    languages: as for `expected_languages`.
    """
    known = scripts_by_language(languages)
    conditions = {}
    for column, codes in expected_languages(task, layout, languages).items():
        if codes and codes <= known.keys():
            scripts = {script for code in codes for script in known[code]}
            conditions[column] = in_wrong_script(model_inputs(layout)[column], scripts)
    return conditions


def audit_scripts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about texts in another script than expected, mojibake excepted. survey: as for texts.audit_texts."""
    findings = []
    for column in layout.text:
        condition = f"{WRONG_SCRIPT} {column}"
        if condition in survey.columns:
            location = (layout.config, split, column)
            is_damaged = pl.col(condition_column("mojibake", "", column))
            findings += findings_where(WRONG_SCRIPT, location, survey, pl.col(condition) & ~is_damaged)
    return findings


def audit_languages(
    layout: tasks.Layout, split: str, expected: Mapping[str, set[str]], batches: Iterable[pl.DataFrame]
) -> list[FindingRows]:
    """The findings about texts in another language than expected. batches: the sampled texts, see languages.sample_texts."""
    schema = {"position": pl.UInt32, "foreign": pl.String}
    parts = {column: [pl.DataFrame(schema=schema)] for column in expected}
    for batch in batches:
        for column, codes in expected.items():
            texts = batch.drop_nulls(column)
            foreign = foreign_languages(texts[column], texts[f"guess {column}"], codes)
            parts[column].append(texts.select("position", foreign))
    findings = []
    for column, frames in parts.items():
        rows = pl.concat(frames)
        counts = rows["foreign"].drop_nulls().value_counts().sort("count", "foreign", descending=[True, False])
        detail = ", ".join(f"{code} {count}" for code, count in counts.iter_rows())
        location = (layout.config, split, column)
        languages = findings_where("wrong_language", location, rows, pl.col("foreign").is_not_null(), detail=detail)
        findings += [replace(found, finding=replace(found.finding, texts_checked=rows.height)) for found in languages]
    return findings
