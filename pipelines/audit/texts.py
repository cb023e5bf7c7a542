"""Findings about a text by itself: empty, short, far too long, in a wrong language or script, with traces of processing.

A new kind of finding that one text decides on its own is an entry in `TEXT_CONDITIONS` and a record in cards/kinds.py.

One pass over a text answers whether any of several patterns occurs, at about 1.5 ns a byte; a pass for each pattern costs as
much again. So a survey looks for all of them in a few passes (`examine_texts`), and each pattern is then searched in the few
texts that one of these has found (`mark_suspects`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from builders import tasks
from builders.shaping.text import MOJIBAKE_PATTERNS, is_mojibake
from cards.front_matter import LANGUAGES, language
from cards.kinds import LENGTH_OUTLIER_FACTOR, MIN_SENTENCE
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.languages import count_languages, foreign_languages
from pipelines.audit.tables import Location, copied
from pipelines.audit.text_patterns import (
    BIDI,
    CHECKED,
    CODE,
    COMBINING,
    DOUBLE_FULL_STOP,
    ESCAPES,
    FOREIGN_LETTER,
    FORMATS,
    HANDLE,
    INVISIBLE,
    LATIN_BESIDE_CYRILLIC,
    LOOKALIKES,
    MIN_SYMBOLS,
    MIXED_WORD,
    ONE_WORD,
    RESIDUE,
    RIGHT_TO_LEFT,
    ROLE,
    SET_APART,
    SET_CLOSE,
    SPACE_FIRST,
    SPACE_LAST,
    STRAY_JOINER,
    SYMBOLS,
    TRANSCRIPT,
    TWO_CHARACTERS,
    VARIABLES,
    VISIBLE,
    WORD_CHARACTER,
)


def has_lookalike_word(text: pl.Expr) -> pl.Expr:
    """Whether a word of a text mixes Latin and Cyrillic letters so that it looks like a word of one script (Boolean)."""
    word = pl.element()
    is_mixed = pl.all_horizontal([word.str.contains(form) for form in (ONE_WORD, LOOKALIKES, FOREIGN_LETTER)])
    return text.str.extract_all(MIXED_WORD).list.eval(is_mixed).list.any()


_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: the products of small numbers differ in many bits
# Before a name or a number; `No.` is also an answer, and a single capital ends sentences too (`vitamin C.`).
_ABBREVIATIONS = (
    "Mr Mrs Ms Dr Prof St Mt Ft Bros Inc Ltd Corp Co Jr Sr Vol Gen Sen Rep Gov Capt Lt Col Sgt Rev Hon Ave Blvd Fig Jan Feb"
    " Mar Apr Aug Sept Oct Nov Dec"
)
_NO_BREAK = "".join(rf"(?<!\b{abbreviation}\.)" for abbreviation in _ABBREVIATIONS.split())
_SENTENCE_BREAK = re.compile(rf"(?<=[.!?…]){_NO_BREAK}\s+|\n+")
_LONG_RUN = re.compile(rf"[^.!?\n]{{{MIN_SENTENCE}}}")
_SPEAKER = re.compile(r"\A(?:Human|Assistant|User|AI)(?: assistant| user)?: *", re.IGNORECASE)
# Fewer words without the end of a sentence are a title in a list, or a line of a program.
_IS_SENTENCE = re.compile(r"""[.!?…]["'»”’)]*\Z|(?:\S+\s+){7}""")
LOOP_END = 6  # characters that recur in a loop, or more
LONG_LOOP = 60  # characters


def repeats_a_sentence(text: pl.Expr) -> pl.Expr:
    """Whether a sentence with at least MIN_SENTENCE characters in a row other than `.!?` occurs twice in a text (Boolean)."""
    return text.map_batches(_find_repeats, return_dtype=pl.Boolean, is_elementwise=True)


def _find_repeats(texts: pl.Series) -> pl.Series:
    """Only texts with an equal run of characters between `.`, `!`, `?` or line breaks, 1 in 1,000, are divided exactly."""
    runs = texts.alias("run").to_frame().lazy().with_row_index("row")
    runs = runs.with_columns(pl.col("run").str.replace_all("[.!?]", "\n").str.split("\n")).explode("run")
    # Equal numbers of two different runs are possible, and only cost a look at the text.
    number = pl.col("run").str.strip_chars().hash() ^ (pl.col("row").cast(pl.UInt64) * _ODD)
    numbers = runs.filter(pl.col("run").str.len_bytes() >= MIN_SENTENCE).select("row", number=number)
    candidates = numbers.filter(pl.col("number").is_duplicated()).collect()["row"].unique()
    repeats = pl.repeat(False, len(texts), dtype=pl.Boolean, eager=True)
    return repeats.scatter(candidates, [_repeats(texts[row]) for row in candidates]) if len(candidates) else repeats


def _repeats(text: str) -> bool:
    """A sentence that begins with a small letter is the rest of one, behind an abbreviation, unless no letter is a capital."""
    sentences = Counter(_SPEAKER.sub("", sentence.strip()) for sentence in _SENTENCE_BREAK.split(text))
    is_lower = text == text.lower()
    return any(
        count > 1
        and _LONG_RUN.search(sentence)
        and _IS_SENTENCE.search(sentence)
        and (is_lower or not sentence[0].islower())
        for sentence, count in sentences.items()
    )


@dataclass(frozen=True)
class TextForms:
    """The forms of a text that conditions use.

    received: what a model receives. own: the value of the column, which for a document lacks the title. of_retrieval: whether it
    is a document of a retrieval task.
    """

    received: pl.Expr
    own: pl.Expr
    of_retrieval: bool = False


def _is_empty(text: pl.Expr) -> pl.Expr:
    return ~text.str.contains(VISIBLE)


def _has_outer_space(text: pl.Expr) -> pl.Expr:
    return text.str.contains(SPACE_FIRST) | text.str.contains(SPACE_LAST)


def _has_stray_mark(suspect: pl.Expr) -> pl.Expr:
    return suspect.str.contains(BIDI) & ~suspect.str.contains(RIGHT_TO_LEFT)


def _is_joined_by_nfc(suspect: pl.Expr) -> pl.Expr:
    return suspect.str.normalize("NFC").str.len_chars() < suspect.str.len_chars()


def _is_mostly_symbols(suspect: pl.Expr) -> pl.Expr:
    text = pl.when(suspect.str.contains(SYMBOLS)).then(suspect)
    visible, in_words = text.str.count_matches(r"\S"), text.str.count_matches(WORD_CHARACTER)
    return (visible >= MIN_SYMBOLS) & (4 * in_words < visible)


def _is_set_apart(text: pl.Expr) -> pl.Expr:
    return ~pl.when(text.str.contains(SET_APART)).then(text).str.contains(SET_CLOSE).fill_null(value=True)


def _is_loop(text: pl.Expr) -> pl.Expr:
    """Whether a text ends in a loop; only texts whose end occurs in it three times are looked at."""
    end = text.str.strip_chars_end(" .,!?…\n")
    is_candidate = end.str.count_matches(end.str.tail(LOOP_END), literal=True) >= 3
    return pl.when(is_candidate).then(end).map_elements(_ends_in_loop, return_dtype=pl.Boolean).fill_null(value=False)


def _ends_in_loop(text: str) -> bool:
    """Whether a text ends in one character, word or phrase, four times in a row or more: its half, or LONG_LOOP characters."""
    period = len(text) - LOOP_END - text.rfind(text[-LOOP_END:], 0, -1)
    pairs = zip(text[::-1], text[::-1][period:], strict=False)
    length = period + next(
        (place for place, (char, earlier) in enumerate(pairs) if char != earlier), len(text) - period
    )
    return length >= 4 * period and length >= min(len(text) / 2, LONG_LOOP)


def _outside_code(pattern: str) -> Callable[[TextForms], pl.Expr]:
    return lambda text: text.received.str.contains(pattern) & ~text.received.str.contains(f"```|{CODE}")


def _with_check(pattern: str, is_valid: Callable[[str], bool]) -> Callable[[TextForms], pl.Expr]:
    def has_valid_match(text: str) -> bool:
        return any(is_valid(match[0]) for match in re.finditer(pattern, text))

    def has_match(text: TextForms) -> pl.Expr:
        candidate = pl.when(text.received.str.contains(pattern)).then(text.received)
        return candidate.map_elements(has_valid_match, return_dtype=pl.Boolean)

    return has_match


def condition_column(kind: str, part: str, column: str) -> str:
    """The column of a survey that says whether a condition applies to the texts of a column."""
    return f"{kind} {part} {column}"


@dataclass(frozen=True)
class TextCondition:
    """What makes a text by itself a finding.

    kind: of the finding. part: of the kind, where its detail counts several, each by itself; a text with two of them counts once.
    pattern: what occurs in each such text, if anything; a card quotes the text from there. test: whether the condition applies;
    by default where the pattern occurs. With a pattern, only `received` is known to it.
    """

    kind: str
    part: str = ""
    pattern: str = ""
    test: Callable[[TextForms], pl.Expr] | None = None

    def applies(self, text: TextForms) -> pl.Expr:
        """Whether the condition applies (Boolean)."""
        return self.test(text) if self.test else text.received.str.contains(self.pattern)


TEXT_CONDITIONS = (
    TextCondition("empty_text", test=lambda text: _is_empty(text.received)),
    TextCondition("empty_text", "beside a title", test=lambda text: _is_empty(text.own) & ~_is_empty(text.received)),
    TextCondition("mojibake", pattern="|".join(MOJIBAKE_PATTERNS), test=lambda text: is_mojibake(text.received)),
    TextCondition(
        "invisible_character",
        pattern=f"{INVISIBLE}|{BIDI}|{STRAY_JOINER}",
        test=lambda text: text.received.str.contains(f"{INVISIBLE}|{STRAY_JOINER}") | _has_stray_mark(text.received),
    ),
    TextCondition("lookalike_word", pattern=LATIN_BESIDE_CYRILLIC, test=lambda text: has_lookalike_word(text.received)),
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
    TextCondition(
        "prompt_residue",
        "turns of a dialogue",
        ROLE,
        lambda text: text.received.str.contains(ROLE) & ~text.received.str.contains(TRANSCRIPT),
    ),
    *(TextCondition(*residue) for residue in RESIDUE),
    TextCondition("encoding_residue", "literal escapes", ESCAPES, _outside_code(ESCAPES)),
    TextCondition(
        "spacing",
        "punctuation set apart",
        test=lambda text: _is_set_apart(text.received),
    ),
    TextCondition("decomposed_letter", pattern=COMBINING, test=lambda text: _is_joined_by_nfc(text.received)),
    TextCondition("junk_text", "symbols", SYMBOLS, lambda text: _is_mostly_symbols(text.received)),
    TextCondition("junk_text", "loops", test=lambda text: _is_loop(text.received)),
    TextCondition("personal_data", "handles", HANDLE, _outside_code(HANDLE)),
    TextCondition("placeholder", "variables", VARIABLES, _outside_code(VARIABLES)),
    TextCondition("placeholder", "formats", FORMATS, _outside_code(FORMATS)),
    *(TextCondition(kind, part, pattern, _with_check(pattern, check)) for kind, part, pattern, check in CHECKED),
)
TEXT_KINDS = tuple(dict.fromkeys(condition.kind for condition in TEXT_CONDITIONS))
PATTERNS = {
    kind: "|".join(f"(?:{other.pattern})" for other in TEXT_CONDITIONS if other.kind == kind and other.pattern)
    for kind in dict.fromkeys(condition.kind for condition in TEXT_CONDITIONS if condition.pattern)
}
# Kinds whose patterns are searched in one pass. Of all patterns at once, the automaton of a search would outgrow its memory.
_OWN = (("personal_data",), ("junk_text",), ("spacing",), ("markup_residue", "placeholder", "prompt_residue"))
_PASSES = (*_OWN, tuple(kind for kind in PATTERNS if not any(kind in kinds for kinds in _OWN)))
MAX_SUSPECTS = 100_000  # texts in memory at once


def examine_texts(text: TextForms) -> dict[str, pl.Expr]:
    """The condition_column of each condition without a pattern; whether a pattern of each pass occurs, for `mark_suspects`.

    The name of the column of texts is the empty string.
    """
    own = {
        condition_column(condition.kind, condition.part, ""): condition.applies(text)
        for condition in TEXT_CONDITIONS
        if not condition.pattern
    }
    patterns = ["|".join(PATTERNS[kind] for kind in kinds) for kinds in _PASSES]
    return own | {f"suspect {number} ": text.received.str.contains(one) for number, one in enumerate(patterns)}


def mark_suspects(survey: pl.DataFrame, texts: pl.LazyFrame) -> pl.DataFrame:
    """A survey with the condition_column of each condition with a pattern, in place of what `examine_texts` says of patterns.

    texts: what the survey was made of, `position` and `text`, what a model receives. Only suspects are read again.
    """
    passes = {f"suspect {number} ": kinds for number, kinds in enumerate(_PASSES)}
    conditions = {
        condition_column(condition.kind, condition.part, ""): condition
        for condition in TEXT_CONDITIONS
        if condition.pattern
    }
    forms = TextForms(pl.col("text"), pl.col("text"))
    marks = [pl.DataFrame(schema={"position": pl.UInt32, **dict.fromkeys(conditions, pl.Boolean)})]
    for batch in survey.filter(pl.any_horizontal(*passes)).select("position", *passes).iter_slices(MAX_SUSPECTS):
        first, last = batch["position"][0], batch["position"][-1]
        is_suspect = pl.col("position").is_in(batch["position"].implode())
        read = (
            texts.slice(first, last - first + 1)
            .filter(is_suspect)
            .with_columns(copied(pl.col("text")))
            .collect(engine="streaming")
            .join(batch, on="position")
        )
        marked = read.select("position")
        for name, kinds in passes.items():
            examined = {own: one.applies(forms) for own, one in conditions.items() if one.kind in kinds}
            if read[name].any():  # to compile the patterns takes as long as to search thousands of texts for them
                marked = marked.join(read.filter(name).select("position", **examined), on="position", how="left")
        marks.append(marked)
    found = survey.drop(*passes).join(
        pl.concat(marks, how="diagonal"), on="position", how="left", maintain_order="left"
    )
    return found.with_columns(pl.col(list(conditions)).fill_null(value=False))


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


def in_wrong_script(text: pl.Expr, expected: Iterable[str]) -> pl.Expr:
    """Whether a text has letters, but none of the expected scripts. expected: as ISO 15924 names them."""
    names = sorted({name for code in expected for name in SCRIPTS[code]})
    letters = "".join(rf"\p{{{name}}}" for name in names)
    return text.str.contains(LETTER) & ~text.str.contains(rf"[\p{{L}}&&[{letters}]]")


WRONG_SCRIPT = "wrong_script"
OTHER_ENCODINGS = (("mojibake", ""), ("encoding_residue", "Windows-1251 read as Latin-1"))  # kinds and parts


def expected_languages(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, set[str]]:
    """The languages that each column of texts may be in, as ISO 639-1 codes.

    languages: the dataset's, as mteb writes them (`rus-Cyrl`). The sides of a bitext have the languages of its pair.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    if isinstance(task, tasks.BitextMining):
        return {column: {side} for column, side in zip(layout.text, task.pair.split("-"), strict=True)}
    return {column: {language(code)[0] for code in languages} for column in layout.text}


def expected_scripts(task: tasks.Task, layout: tasks.Layout, languages: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """The scripts that the texts of each column may be in; no column whose languages, or their scripts, are unknown.

    languages: as for `expected_languages`. A language has the scripts that these name, or else its usual one.
    """
    named: dict[str, set[str]] = {}
    for code in languages:
        named.setdefault(language(code)[0], set()).add(script(code))
    known = {short: {DEFAULTS.get(short, "Latn")} for short, _ in LANGUAGES.values()} | named
    return {
        column: frozenset(script for code in codes for script in known[code])
        for column, codes in expected_languages(task, layout, languages).items()
        if codes and codes <= known.keys()
    }


def audit_scripts(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about texts in another script than expected, mojibake excepted. survey: as for texts.audit_texts."""
    findings = []
    for column in layout.text:
        condition = f"{WRONG_SCRIPT} {column}"
        if condition in survey.columns:
            location = (layout.config, split, column)
            is_damaged = pl.any_horizontal(condition_column(*condition, column) for condition in OTHER_ENCODINGS)
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
            foreign = foreign_languages(texts[column], texts[f"guess {column}"], texts[f"parts {column}"], codes)
            parts[column].append(texts.select("position", foreign))
    findings = []
    for column, frames in parts.items():
        rows = pl.concat(frames)
        if counts := count_languages(rows["foreign"].drop_nulls()):
            detail = ", ".join(f"{code} {count}" for code, count in counts)
            location, is_foreign = (layout.config, split, column), pl.col("foreign").is_not_null()
            languages = findings_where("wrong_language", location, rows, is_foreign, detail=detail)
            findings += [
                replace(found, finding=replace(found.finding, texts_checked=rows.height)) for found in languages
            ]
    return findings
