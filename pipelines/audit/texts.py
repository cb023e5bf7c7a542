"""Findings about a text by itself: empty, short, far too long, in a wrong language or script, with traces of processing.

A new kind of finding that one text decides on its own is an entry in `TEXT_CONDITIONS` and a record in cards/kinds.py.

Patterns are regular expressions as polars reads them (Rust: no look-around), each for `str.contains`. One pass over a text
answers whether any of them occurs, at about 1.5 ns a byte; a pass for each pattern costs as much again. So `suspects` looks for
all of them at once, and the patterns are then searched one by one in the few texts that it leaves.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html.entities import name2codepoint

import polars as pl

from builders import tasks
from builders.shaping.text import MOJIBAKE_PATTERNS, WHITE_SPACE, is_mojibake
from cards.front_matter import LANGUAGES, language
from cards.kinds import LENGTH_OUTLIER_FACTOR, MIN_SENTENCE
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.languages import foreign_languages
from pipelines.audit.tables import Location, model_inputs

_ELEMENTS = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|center|cite|code|dd|del|div|dl|dt|em|embed|figcaption|figure|font"
    "|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|label|li|main|meta|nav|nobr|noscript|ol|option|p"
    "|pre|s|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|u|ul"
)
# All lower or all upper case. `link` only with an attribute: without one it says nothing in HTML, and `<Link>` and `<link>` are
# what people and models write in place of a link.
_NAMES = f"{_ELEMENTS}|{_ELEMENTS.upper()}"
_ENTITIES = "|".join(sorted(name2codepoint))
HTML = (
    rf"<(?:{_NAMES})(?:\s[^<>]*)?/?>|</\s*(?:{_NAMES})\s*>|<(?:link|LINK)\s[^<>]*>|<!--"
    rf"|&(?:apos|{_ENTITIES}|#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}});"
)
ENCODING = r"[\x{80}-\x{9F}\x{FFFD}]|_x[0-9A-F]{4}_"

# Soft hyphen, zero-width space, word joiner, byte order mark, Hangul filler, annotation marks: a tokenizer divides a word there.
INVISIBLE = r"[\x{AD}\x{180E}\x{200B}\x{2060}-\x{2064}\x{206A}-\x{206F}\x{3164}\x{FEFF}\x{FFF9}-\x{FFFB}]"
# Marks of the direction of writing. They belong in a text with letters that are written from right to left.
BIDI = r"[\x{61C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}]"
RIGHT_TO_LEFT = r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]"
# Joiners, the emoji variation selector and tags. They belong after an emoji or a key, and joiners in the scripts that need them.
_JOINED = (
    r"\p{Emoji}\p{Emoji_Component}\p{Extended_Pictographic}\p{Arabic}\p{Syriac}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}"
)
STRAY_JOINER = rf"(?:^|[^{_JOINED}])[\x{{200C}}\x{{200D}}\x{{FE0F}}\x{{E0020}}-\x{{E007F}}]"

TREEBANK_BRACKET = "-[LR][RSC]B-"
LINK_STUMP = r"(?:^|[^hHqQ])ttp?s?://"  # `ttp://`, `tts://`, `tt://`; not `mqtts://`

E_MAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
_NUMBER = (
    r"\([0-9]{3}\) ?[0-9]{3}[-. ]?[0-9]{2}[-. ]?[0-9]{2}|[0-9]{3}[-.][0-9]{3}[-.][0-9]{4}"
    r"|(?:8[ (-]{1,2}|\+7[ (-]{0,2})[0-9]{3}[ )-]{0,2}[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}"
    r"|\+[0-9]{1,3}[ (-]{1,2}[0-9]{2,4}[ )-]{1,2}[0-9]{3,4}[ -]?[0-9]{2,4}(?:[ -]?[0-9]{2,4})?"
)
PHONE = rf"(?:^|[^0-9+.-]|[^0-9]-|\+?1[-. ])(?:{_NUMBER})(?:$|[^0-9-]|-[^0-9])"

_ROLE = r"(?:Human|HUMAN|Assistant|ASSISTANT|Instruction|Input|### ?Response) ?:"
ROLE = rf"(?:\n|[.!?] )[ \t]*{_ROLE}"
TRANSCRIPT = rf"\A\s*{_ROLE}"

# Each is decided by the first or the last few characters of a text, whereas stripping a text takes time for each of its bytes.
_SPACE = "".join(f"\\x{{{ord(char):X}}}" for char in WHITE_SPACE)
CHARACTER = f"[^{_SPACE}]"
TWO_CHARACTERS = f"[^{_SPACE}][{_SPACE}]*[^{_SPACE}]"
SPACE_FIRST = rf"\A[{_SPACE}]"
SPACE_LAST = rf"[{_SPACE}]\z"
DOUBLE_FULL_STOP = rf"(?:\A|[^.])\.\.[{_SPACE}]*\z"

# What a reader of CSV turns into one quotation mark. Beside a word and a space: not `print("")`, nor the two of `"one""two"`.
DOUBLED_MARK = r"""(?:\A|[\s(\[«—-])""[\p{L}\p{N}]|[\p{L}\p{N}.!?,…)%]""(?:[\s.,!?;:)…—-]|\z)"""
# The end of a record and its line, or the start of the next: `text,1`, `text",joy`, `"text","joy"` and `"`, `17,"text`.
SEVERAL_RECORDS = (
    r'[^\s\d][,;\t]-?[0-9]+(?:\.[0-9]+)?"?\r?\n|"[,;\t][^\s",;()=\[\]{}<>]{1,20}"?\r?\n|"[,;\t]"[^"\n]*"\r?\n"'
    r'|\n"?[0-9A-Za-z_-]{1,40}[,;\t]"[^\s",]'
)

LATIN_BESIDE_CYRILLIC = r"[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z]"


# The same letters in both scripts, in the same order. A reader sees no difference; a tokenizer divides the word into pieces that
# no model has learnt.
LATIN = "aceijopxyABCEHIJKMOPTXY"
CYRILLIC = "асеіјорхуАВСЕНІЈКМОРТХУ"

_WORD = rf"[\p{{L}}\p{{M}}]*(?:{LATIN_BESIDE_CYRILLIC})[\p{{L}}\p{{M}}]*"
# A lower-case word, also with a capital at its start, or one in capitals; not two words without a space (`idА`, `SkyТеперь`).
_ONE_WORD = r"^(?:\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+)$"
# Every letter of one of the scripts looks like one of the other; not `3D-шутер`, `PRщик` or `ахахf`.
_MIXED = rf"^(?:[{LATIN}]|\p{{Cyrillic}})+$|^(?:[{CYRILLIC}]|\p{{Latin}})+$"


def has_lookalike_word(text: pl.Expr) -> pl.Expr:
    """Whether a word of a text mixes Latin and Cyrillic letters so that it looks like a word of one script (Boolean)."""
    word = pl.element()
    is_mixed = word.str.contains(_ONE_WORD) & word.str.contains(_MIXED)
    return text.str.extract_all(_WORD).list.eval(is_mixed).list.any()


_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: the products of small numbers differ in many bits
_SENTENCE_BREAK = re.compile(r"(?<=[.!?…])\s+|\n+")
_LONG_RUN = re.compile(rf"[^.!?\n]{{{MIN_SENTENCE}}}")


def repeats_a_sentence(text: pl.Expr) -> pl.Expr:
    """Whether a sentence with at least MIN_SENTENCE characters in a row other than `.!?` occurs twice in a text (Boolean)."""
    return text.map_batches(_find_repeats, return_dtype=pl.Boolean, is_elementwise=True)


def _find_repeats(texts: pl.Series) -> pl.Series:
    """Only texts with an equal run of characters between `.`, `!`, `?` or line breaks, 1 in 1,000, are divided exactly."""
    runs = texts.str.replace_all("[.!?]", "\n").str.split("\n").alias("run").to_frame().with_row_index("row")
    is_long = pl.col("run").str.len_bytes() >= MIN_SENTENCE
    # Equal numbers of two different runs are possible, and only cost a look at the text.
    number = pl.col("run").str.strip_chars().hash() ^ (pl.col("row").cast(pl.UInt64) * _ODD)
    numbers = runs.lazy().explode("run").filter(is_long).select("row", number=number).collect()
    candidates = numbers.filter(numbers["number"].is_duplicated())["row"].unique()
    repeats = [_repeats(text) for text in texts.gather(candidates)]
    return pl.repeat(False, len(texts), dtype=pl.Boolean, eager=True).scatter(candidates, repeats)


def _repeats(text: str) -> bool:
    sentences = Counter(sentence.strip() for sentence in _SENTENCE_BREAK.split(text))
    return any(count > 1 and _LONG_RUN.search(sentence) for sentence, count in sentences.items())


@dataclass(frozen=True)
class TextForms:
    """The forms of a text that conditions use.

    received: what a model receives. own: the value of the column, which for a document lacks the title. suspect: received, or
    empty if no pattern of a condition occurs in it. of_retrieval: whether it is a document of a retrieval task.
    """

    received: pl.Expr
    own: pl.Expr
    suspect: pl.Expr
    of_retrieval: bool = False


def _is_empty(text: pl.Expr) -> pl.Expr:
    return ~text.str.contains(CHARACTER)


def _has_outer_space(text: pl.Expr) -> pl.Expr:
    return text.str.contains(SPACE_FIRST) | text.str.contains(SPACE_LAST)


def _has_stray_mark(suspect: pl.Expr) -> pl.Expr:
    return suspect.str.contains(BIDI) & ~suspect.str.contains(RIGHT_TO_LEFT)


@dataclass(frozen=True)
class TextCondition:
    """What makes a text by itself a finding.

    kind: of the finding. part: of the kind, where its detail counts several, each by itself; a text with two of them counts once.
    pattern: what occurs in each such text, if anything; a card quotes the text from there. test: whether the condition applies,
    by default where the pattern occurs.
    """

    kind: str
    part: str = ""
    pattern: str = ""
    test: Callable[[TextForms], pl.Expr] | None = None

    def applies(self, text: TextForms) -> pl.Expr:
        """Whether the condition applies (Boolean)."""
        return self.test(text) if self.test else text.suspect.str.contains(self.pattern)


TEXT_CONDITIONS = (
    TextCondition("empty_text", test=lambda text: _is_empty(text.received)),
    TextCondition("empty_text", "beside a title", test=lambda text: _is_empty(text.own) & ~_is_empty(text.received)),
    TextCondition("mojibake", pattern="|".join(MOJIBAKE_PATTERNS), test=lambda text: is_mojibake(text.suspect)),
    TextCondition("encoding_residue", pattern=ENCODING),
    TextCondition("html_residue", pattern=HTML),
    TextCondition("preprocessing_residue", "treebank brackets", TREEBANK_BRACKET),
    TextCondition("preprocessing_residue", "link stumps", LINK_STUMP),
    TextCondition(
        "invisible_character",
        pattern=f"{INVISIBLE}|{BIDI}|{STRAY_JOINER}",
        test=lambda text: text.suspect.str.contains(f"{INVISIBLE}|{STRAY_JOINER}") | _has_stray_mark(text.suspect),
    ),
    TextCondition("lookalike_word", pattern=LATIN_BESIDE_CYRILLIC, test=lambda text: has_lookalike_word(text.suspect)),
    TextCondition(
        "short_text", test=lambda text: ~_is_empty(text.received) & ~text.received.str.contains(TWO_CHARACTERS)
    ),
    TextCondition(
        "surrounding_whitespace", test=lambda text: ~_is_empty(text.received) & _has_outer_space(text.received)
    ),
    TextCondition("double_full_stop", pattern=DOUBLE_FULL_STOP),
    # The slowest condition by far, and an article may well quote itself: not worth the time in a corpus of millions.
    TextCondition(
        "repeated_sentence",
        test=lambda text: pl.lit(value=False) if text.of_retrieval else repeats_a_sentence(text.received),
    ),
    TextCondition("personal_data", "e-mail addresses", E_MAIL),
    TextCondition("personal_data", "phone numbers", PHONE),
    TextCondition(
        "prompt_residue",
        pattern=ROLE,
        test=lambda text: text.suspect.str.contains(ROLE) & ~text.suspect.str.contains(TRANSCRIPT),
    ),
    TextCondition("csv_residue", "doubled quotation marks", DOUBLED_MARK),
    TextCondition("csv_residue", "several records", SEVERAL_RECORDS),
)
TEXT_KINDS = tuple(dict.fromkeys(condition.kind for condition in TEXT_CONDITIONS))
PATTERNS = {
    kind: "|".join(other.pattern for other in TEXT_CONDITIONS if other.kind == kind)
    for kind in dict.fromkeys(condition.kind for condition in TEXT_CONDITIONS if condition.pattern)
}
_ALL = "|".join(PATTERNS.values())


def suspects(text: pl.Expr) -> pl.Expr:
    """The texts in which one of the patterns occurs; every other text is empty."""
    return pl.when(text.str.contains(_ALL)).then(text).otherwise(pl.lit(""))


def condition_column(kind: str, part: str, column: str) -> str:
    """The column of a survey that says whether a condition applies to the texts of a column."""
    return f"{kind} {part} {column}"


def audit_texts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about single texts of a table. survey: what pipelines.audit.survey read of its rows."""
    findings = []
    for column in layout.text:
        location = (layout.config, split, column)
        for kind in TEXT_KINDS:
            findings += _find_condition(kind, survey, location)
        findings += _find_length_outliers(survey, f"length {column}", location)
    return findings


def _find_condition(kind: str, survey: pl.DataFrame, location: Location) -> list[FindingRows]:
    """The finding for the texts to which a part of a kind applies; its detail counts the parts that have a name."""
    parts = [condition.part for condition in TEXT_CONDITIONS if condition.kind == kind]
    columns = {part: condition_column(kind, part, location[2]) for part in parts}
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
