"""Findings that show only over many rows: cut texts, boilerplate, traces of CSV, labels that mean none, and splits that differ.

A part of the rows, always the same, proposes what to count, and all rows decide. So a clean table is not read again, and what the
least share of the texts have is overlooked in fewer than 1 of 100 cases, what half as many again have in 1 of 10,000.

A text is boilerplate where it recurs in different texts. Equal texts are another finding, so they count once.

Every later split is compared with the first, which is train where there is one. A measure is a number of each row, or whether
something holds. A difference is how much more often, of two rows, that of the one split has the higher number than that of the
other: 1 is always, 0 is as often. Of what holds or not, it is the difference in shares. It is a finding if it is large and
STANDARD_ERRORS above chance.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from os.path import commonprefix
from typing import Any

import polars as pl

from builders import tasks
from cards.kinds import (
    BOILERPLATE_WORDS,
    DIFFERENCES,
    LONG_TEXT_WORDS,
    MIN_CHARACTERS,
    MIN_LABEL_ROWS,
    MIN_RECURRING,
    MIN_SENTENCE,
    MIN_SPIKE,
    MIN_TEXTS,
    SHARES,
    SHORT_TRAIN,
    SPIKE_WINDOW,
    STANDARD_ERRORS,
    STRONG,
)
from cards.manifest import Severity
from pipelines.audit.findings import FindingRows, findings_where, summary_finding
from pipelines.audit.shortcuts import ID_COLUMNS, find_telling_marks, row_labels, strength_within_groups
from pipelines.audit.survey import Surveys
from pipelines.audit.tables import Frames, Location, copied, model_input, read_column
from pipelines.audit.texts import PATTERNS

# Of the rows of a table, those that propose: a tenth, at least so many if there are as many, and of so many characters at most.
PART, LEAST_PART, PART_CHARACTERS = 0.1, 500, 500_000
CANDIDATE = 0.4  # of the least share: what so many rows of the part have is counted in all rows
ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: its multiples are spread evenly
TEXT, POSITION = pl.col("text"), pl.col("position")


def audit_many_rows(task: tasks.Task, layout: tasks.Layout, frames: Frames, surveys: Surveys) -> list[FindingRows]:
    """The findings about the splits of a table, and about the texts and labels of each."""
    tables, named = frames[layout.config], "" if isinstance(task, tasks.STS) else task.type.label
    labels = {split: row_labels(task, read_column(tables[split], named)) for split in surveys if named}
    parts = {split: read_part(layout, tables[split], survey, labels.get(split)) for split, survey in surveys.items()}
    findings = _compare_splits(task, layout, tables, surveys, parts, labels=labels) if layout.config != "corpus" else []
    for split, survey in surveys.items():
        findings += _find_missing_labels(task, survey, (layout.config, split, task.type.label))
        for column in layout.text:
            location, part = (layout.config, split, column), parts[split].select("position", "labels", text=column)
            texts = tables[split].with_row_index("position").select("position", text=model_input("", column))
            findings += _find_misplaced_values(texts, survey, labels.get(split), location)
            if len(survey) >= MIN_RECURRING:
                findings += [
                    *_find_cut_texts(texts, part, location),
                    *_find_boilerplate(texts, part, survey[f"is_first {column}"], location),
                    *_find_divided_words(texts, part["text"], location),
                    *_find_absent_characters(texts, part, survey[f"length {column}"], location),
                    *(find_telling_marks(texts, part, labels[split], location) if named else ()),
                    *(_find_named_labels(texts, part, labels[split], location) if named else ()),
                ]
        if layout.config == "corpus":
            findings += _find_titles(tables[split].with_row_index("position"), (layout.config, split, "title"))
    return findings


def read_part(
    layout: tasks.Layout, frame: pl.LazyFrame, survey: pl.DataFrame, labels: pl.Series | None = None
) -> pl.DataFrame:
    """The rows of a table that propose, spread evenly, and about as many of each label.

    labels: the names of those of each row, as lists. Columns: `position`, the texts without titles, and `labels`.
    """
    n, characters = survey.height, sum(int(survey[f"length {column}"].sum()) for column in layout.text)
    size = min(max(PART * n, LEAST_PART), PART_CHARACTERS * n / max(characters, 1))
    evenly = pl.lit(n) if labels is None else pl.min_horizontal(n, pl.col("label").n_unique() * pl.len().over("label"))
    is_chosen = (POSITION.cast(pl.UInt64) * ODD).cast(pl.Float64) < 2.0**64 * size / evenly
    rows = survey.select("position", "^label$").with_columns(labels=labels).filter(is_chosen)
    texts = frame.with_row_index("position").filter(POSITION.is_in(rows["position"].implode()))
    own = texts.select("position", **{column: copied(model_input("", column)) for column in layout.text})
    return own.collect(engine="streaming").join(rows.select("position", "labels"), on="position", maintain_order="left")


UNITS: dict[str, tuple[int, Callable[[pl.Expr], pl.Expr]]] = {  # with the least length of a text that may be cut
    "characters": (20, lambda text: text.str.len_chars()),
    "bytes": (20, lambda text: text.str.len_bytes()),
    "words": (8, lambda text: text.str.count_matches(r"\S+")),
}
SENTENCE_END = r"""(?:\A|[^.])[.!?]["»”’')\]]*\s*\z"""  # `...` is what some put where they cut


def _find_cut_texts(texts: pl.LazyFrame, part: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if many more texts have the greatest length, in one of the units, than the lengths just below it.

    Of several units, that which most texts were cut in: of those that are cut in bytes, some have as many characters too.
    """
    units = {unit: measure(TEXT) for unit, (_, measure) in UNITS.items()}
    sizes, share, found = part.select(**units), SHARES["greatest length"], list[FindingRows]()
    for unit, (least, _) in UNITS.items():
        most = int(sizes.select(pl.max(unit)).item())
        if most >= least and (sizes[unit] == most).sum() >= CANDIDATE * share * len(sizes):
            rows = texts.select("position", **units, is_open=~TEXT.str.contains(SENTENCE_END)).collect()
            cut, start = rows.filter(pl.col(unit) == most), int(SPIKE_WINDOW * most)
            below = rows[unit].is_between(start, most - 1).sum() / (most - start)
            is_spike = len(cut) >= max(MIN_RECURRING, share * len(rows), MIN_SPIKE * below) and rows[unit].max() == most
            # Texts of one form have as many words too.
            if is_spike and 2 * cut["is_open"].sum() >= len(cut) and len(cut.unique(["characters", "words"])) > 1:
                detail = f"{most:,} {unit}; {cut['is_open'].sum() / len(cut):.0%} of them do not end a sentence"
                found += findings_where("cut_text", location, rows, pl.col(unit) == most, detail=detail)
    return sorted(found, key=lambda one: -one.finding.count)[:1]


HEADERS = (
    "text", "sentence", "sentences", "sentence1", "sentence2", "premise", "hypothesis", "query", "label", "labels",
)  # fmt: skip


def _find_misplaced_values(
    texts: pl.LazyFrame, survey: pl.DataFrame, labels: pl.Series | None, location: Location
) -> list[FindingRows]:
    """The findings about texts that are the header of a table, or labels, as in glued and in shifted rows."""
    rows, findings = survey.select("position", "^label$", length=f"length {location[2]}"), []
    # Where the median text has 20 characters, it is neither header nor label, and these have 40 at most.
    short = rows.filter(pl.col("length") <= 40, pl.median("length") >= 20)["position"]
    own = texts.filter(POSITION.is_in(short.implode())) if len(short) else texts.head(0)
    found = own.with_columns(TEXT.str.strip_chars().str.to_lowercase()).collect()
    known = [] if labels is None else [*rows["label"].unique(), *labels.explode().unique()]
    for what, values, share in (("headers", HEADERS, 0.0), ("labels", known, SHARES["labels as texts"])):
        some = found.filter(TEXT.is_in([str(value).lower() for value in values]))["position"]
        if len(some) > share * len(rows):
            findings += findings_where("csv_residue", location, rows, POSITION.is_in(some.implode()), detail=what)
    return findings


ENDS = {"begin": r"\A[^\p{L}\p{N}]*([\p{L}\p{N}]{3,})", "end": r"([\p{L}\p{N}]{3,})[^\p{L}\p{N}]*\z"}


def _find_named_labels(
    texts: pl.LazyFrame, part: pl.DataFrame, labels: pl.Series, location: Location
) -> list[FindingRows]:
    """The findings about texts that begin or end with the name of their label, as hardly any does with another's."""
    findings, names = [], labels.explode().drop_nulls().unique().str.to_lowercase()
    own = labels.alias("labels").to_frame().with_row_index("position")
    for end, pattern in ENDS.items():
        word = TEXT.str.extract(pattern).str.to_lowercase()
        if part.select(word.is_in(names.implode()).sum()).item() < CANDIDATE * SHARES["named label"] * len(part):
            continue
        rows = texts.select("position", word=word).collect(engine="streaming").join(own, on="position")
        named = rows.filter(pl.col("word").is_in(names.implode()))
        is_own = pl.col("labels").list.eval(pl.element().str.to_lowercase()).list.contains(pl.col("word"))
        own_rows = named.filter(is_own)
        enough = len(own_rows) >= max(MIN_RECURRING, SHARES["named label"] * len(rows), SHARES["word"] * len(named))
        if enough and own_rows["word"].n_unique() > 1:
            is_found, detail = (
                POSITION.is_in(own_rows["position"].implode()),
                f"texts {end} with the name of their label",
            )
            findings += findings_where("label_by_token", location, rows, is_found, detail=detail, severity="warning")
    return findings


# A text that recurs: how, in a detail; the text; the pattern of texts that have it; and the least share of texts.
Phrase = tuple[str, str, str, float]
# What some texts have that nothing proposes, with its kind and severity. Of texts that are divided into sentences, some have the
# one mark of a quotation that goes on.
FIXED: dict[Phrase, tuple[str, Severity | None]] = {
    ("begin or end with one", '"', r'\A"[^"]*\z|\A[^"]*"\z', SHARES["unpaired quotation mark"]): ("csv_residue", None),
    ("are between", "quotation marks", r"\A\"[^\"]*\"\z|\A«[^«»]*»\z|\A“[^“”]*”\z", SHARES["quotation marks"]): (
        "csv_residue",
        "info",
    ),
    ("begin with", "a number", r"\A\s*[0-9]{1,5}[.)] [^0-9]", SHARES["number first"]): ("boilerplate", "info"),
    ("have", "? for letters", r"(?:\A|\s)\?[а-яё]|[а-яё]\?[а-яё]", SHARES["lost letters"]): (
        "encoding_residue",
        None,
    ),
}


def _find_boilerplate(
    texts: pl.LazyFrame, part: pl.DataFrame, is_first: pl.Series, location: Location
) -> list[FindingRows]:
    """The findings about texts that recur in a column: around nearly all others, within them, or as their form.

    is_first: whether no earlier row has the same text.
    """
    if len(is_first) < MIN_TEXTS:
        return []
    part = part.unique("text", keep="first", maintain_order=True)
    phrases = [
        fixed for fixed in FIXED if part["text"].str.contains(fixed[2]).sum() >= CANDIDATE * fixed[3] * len(part)
    ]
    edges = list(_propose_edges(part["text"]))
    edges = edges or list(_propose_heads(part["text"]))
    inner = part["text"].str.replace_all("|".join(pattern for _, _, pattern, _ in edges), "")
    phrases += [*edges, *_propose_phrases(inner), *_propose_forms(inner)]
    has = {f"{at}": TEXT.str.contains(pattern) for at, (_, _, pattern, _) in enumerate(phrases)}
    rows = (texts if phrases else texts.head(0)).select("position", **has).collect(engine="streaming")
    findings, counts = [], [int((rows[name] & is_first).sum()) for name in has]
    for how in dict.fromkeys(how for how, *_ in phrases):
        group = [
            (count, phrase, name)
            for count, phrase, name in zip(counts, phrases, has, strict=True)
            if phrase[0] == how and count >= max(MIN_RECURRING, phrase[3] * int(is_first.sum()))
        ]
        if group:
            best = max(group)[1]
            kind, severity = FIXED.get(best, ("boilerplate", "info" if best in edges else None))
            others = f", and {len(group) - 1:,} more" * (len(group) > 1)
            findings += findings_where(
                kind,
                location,
                rows,
                pl.any_horizontal(name for _, _, name in group),
                detail=f"texts {how} {best[1][:60]!r}{others}",
                severity=severity,
            )
    return findings


def _find_divided_words(texts: pl.LazyFrame, part: pl.Series, location: Location) -> list[FindingRows]:
    """A finding about texts with words that a space divides, and that more other texts have whole."""
    words = TEXT.str.to_lowercase().str.replace_all(r"[^\p{L} -]+", " | ").str.split(" ")
    part = part.alias("text").gather_every(2 if len(part) >= LEAST_PART else 1)
    some = part.to_frame().select(words).to_series().to_list()
    counts = Counter(chain.from_iterable(map(set, some)))

    wholes = {word: n for word, n in counts.items() if n > 2 and len(word) > 5}

    def has_divided(words: Sequence[str]) -> bool:
        parts = ((a.removesuffix("-"), b) for a, b in pairwise(words))
        return any(a + b in wholes and a and 4 * min(counts[a], counts[b]) < wholes[a + b] for a, b in parts)

    if sum(map(has_divided, some)) < CANDIDATE * max(MIN_RECURRING / 2, SHARES["clause"] * len(part)):
        return []
    is_divided = words.map_elements(has_divided, return_dtype=pl.Boolean)
    rows = texts.select("position", divided=is_divided).collect(engine="streaming")
    if rows["divided"].sum() < max(MIN_RECURRING, SHARES["clause"] * len(rows)):
        return []
    return findings_where("spacing", location, rows, pl.col("divided"), detail="words divided by a space")


def _propose_edges(texts: pl.Series) -> Iterator[Phrase]:
    """The text before nearly all texts, and the one after them, if there is one of three characters or more."""
    for how, ends, step, pattern in (
        ("begin with", texts.str.head(3), 1, r"\A{}"),
        ("end with", texts.str.tail(3), -1, r"{}\z"),
    ):
        usual, count = ends.value_counts(sort=True).row(0)
        common = commonprefix([text[::step] for text in texts.filter(ends == usual)])[::step]  # noqa: RUF071 - of texts
        if count >= SHARES["start or end"] * len(texts) and len(common.strip()) >= 3:
            yield how, common, pattern.format(pl.escape_regex(common)), SHARES["start or end"]


def _propose_heads(texts: pl.Series) -> Iterator[Phrase]:
    """The text before the first colon that some texts have."""
    heads = Counter(texts.str.extract(r"\A(\p{L}[^:\n]{2,80}: )").drop_nulls())
    for head in _frequent(heads, SHARES["clause"] * len(texts)):
        yield "begin with", head, rf"\A{pl.escape_regex(head)}", SHARES["clause"]


def _propose_phrases(texts: pl.Series) -> Iterator[Phrase]:
    """The clauses and lines that recur, and the words in a row that do so more often."""
    least, some = BOILERPLATE_WORDS, texts.gather_every(2).str.split(" ").to_list()
    pieces = Counter(
        piece for text in texts for piece in {*re.split(r"(?<=[.,;:!?…])\s+|\n", text)} if piece.count(" ") >= least - 1
    )
    runs = (set(map(" ".join, zip(*(words[at:] for at in range(least)), strict=False))) for words in some)
    counts = Counter(run for own in runs for run in own)
    for found, share, n in ((pieces, SHARES["clause"], len(texts)), (counts, SHARES["words"], len(some))):
        for text in _frequent(found, share * n):
            if len(text.split()) >= least:
                yield "contain", text, pl.escape_regex(text), share


def _propose_forms(texts: pl.Series) -> Iterator[Phrase]:
    """The forms of texts that differ in their numbers alone, or in one word."""
    least, words, word = SHARES["clause"] * len(texts), texts.str.split(" ").to_frame("words"), pl.col("words").list
    numbered = Counter(texts.filter(texts.str.contains("[0-9]")).str.replace_all("[0-9]+", "0"))
    # All texts of a form with one open word have two of their words where that is not, and the same number of words.
    ends = [[word.len(), *(word.get(end, null_on_oob=True).alias(f"{end}") for end in (at, -1 - at))] for at in (0, 1)]
    is_alike = pl.any_horizontal(pl.len().over(end) >= CANDIDATE * max(least, MIN_RECURRING / 2) for end in ends)
    # Longer texts of one form are near-duplicates.
    alike = words.filter(is_alike, word.len().is_between(BOILERPLATE_WORDS + 1, LONG_TEXT_WORDS))["words"].to_list()
    opened = Counter(
        (" ".join([*own[:at], ""]), " ".join(["", *own[at + 1 :]])) for own in alike for at in range(len(own))
    )
    few = SHARES["numbered form"]
    forms = [(text.split("0"), "[0-9]+", few) for text in _frequent(numbered, few * len(texts))]
    for pieces, gap, share in [*forms, *((around, r"\S+", SHARES["clause"]) for around in _frequent(opened, least))]:
        if len("".join(pieces).split()) > 1:
            pattern = rf"\A{gap.join(map(pl.escape_regex, pieces))}\z"
            yield "have the form", "_".join(pieces), pattern, share


def _frequent(counts: Counter[Any], least: float) -> list[Any]:
    """What may be frequent enough, the most frequent first."""
    frequent = [(-n, value) for value, n in counts.items() if n >= CANDIDATE * max(least, MIN_RECURRING / 2)]
    return [value for _, value in sorted(frequent)[:20]]


COMMA = "a comma"
ABSENT = {  # in texts that have the second, the first is natural
    COMMA: (r"[,،、，]", r"\p{Cased}"),
    "punctuation": (r"[\p{P}--[-]]", r"\p{Cased}"),
    "a capital letter": (r"\p{Lu}", r"\p{Ll}"),
    "an umlaut": ("[äöüßÄÖÜ]", r"\b(?:und|der|die|das|nicht)\b"),
    "an accent": ("[à-ýÀ-Ýœ]", r"\b(?:les|une|los|una|para|uma)\b"),
    "a Polish or Czech letter": ("[ąćęłńśźżěščřžýáíéůú]", r"\b(?:jest|przez|jako|jsem|které)\b"),
}


def _find_absent_characters(
    texts: pl.LazyFrame, part: pl.DataFrame, lengths: pl.Series, location: Location
) -> list[FindingRows]:
    """The findings about what no text has though such texts usually do, and about texts that end where a comma was."""
    if len(lengths) < MIN_TEXTS or lengths.sum() < MIN_CHARACTERS or (lengths.median() or 0) < MIN_SENTENCE:  # type: ignore[operator]
        return []
    has = {
        name: TEXT.str.contains(pattern)
        for name, (pattern, usual) in ABSENT.items()
        if not part["text"].str.contains(pattern).any() and part["text"].str.contains(usual).mean() >= SHARES["usual"]  # type: ignore[operator]
    }
    if not has:
        return []
    rows = texts.select("position", is_open=~TEXT.str.contains(SENTENCE_END), **has).collect(engine="streaming")
    absent, is_open = [name for name in has if not rows[name].any()], rows["is_open"].sum() / len(rows)
    if COMMA in absent and "punctuation" not in absent and 0.05 <= is_open <= SHARES["word"]:
        detail = f"no text has a comma, and {is_open:.0%} do not end a sentence, as if cut there"
        return findings_where("cut_text", location, rows, pl.col("is_open"), detail=detail)
    if not absent:
        return []
    detail = f"no text has {' or '.join(absent)}"
    return [summary_finding("absent_characters", location, len(rows), 1.0, detail=detail)]


def _find_titles(documents: pl.LazyFrame, location: Location) -> list[FindingRows]:
    """The findings about titles: those that say that there is none, that most documents share, or that texts repeat."""
    title, text = pl.col("title").str.strip_chars(), TEXT.str.strip_chars_start()
    rest = text.str.slice(title.str.len_chars())
    again = text.str.starts_with(title) & ((rest == "") | rest.str.contains(r"\A\s*[\n.:|–—-]"))
    titles, own = documents.select("position", title=title), pl.col("title")
    findings = findings_where("missing_value_text", location, titles, own.str.contains(PATTERNS["missing_value_text"]))
    hashes = titles.select(hash=own.hash(), is_titled=own != "").collect(engine="streaming")
    if hashes["is_titled"].any():  # texts are not read where no document has a title
        repeated = documents.filter(title != "", again).select("position").collect(engine="streaming")["position"]
        is_repeated = POSITION.is_in(repeated.implode())
        detail = "texts that begin with their title"
        findings += findings_where("repeated_sentence", location, titles, is_repeated, detail=detail)
    runs = hashes.filter("is_titled")["hash"].sort().rle().struct.unnest()
    most = runs["len"].to_numpy().max(initial=0)
    if most >= max(MIN_TEXTS, SHARES["title"] * len(hashes)):
        is_usual = own.hash().is_in(runs.filter(pl.col("len") == most)["value"].implode())
        usual = titles.filter(is_usual).select(own.min()).collect(engine="streaming").item()
        detail = f"documents have the title {usual[:60]!r}"
        findings += findings_where("boilerplate", location, titles, own == usual, detail=detail, severity="info")
    return findings


NO_NAME = r"\A(?:[-–—_?]+|N/?A|n/a|nan|null)?\z"  # of a label; `none` and `unknown` are answers


def _find_missing_labels(task: tasks.Task, survey: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if a label or a score seems to mean none, by its name or as a number; or if scores are only two."""
    if not isinstance(task, tasks.STS | tasks.Classification | tasks.Clustering) or len(survey) < MIN_LABEL_ROWS:
        return []
    names, is_score = dict(enumerate(tasks.label_names(task))), isinstance(task, tasks.STS)
    labels = survey["label"].replace_strict(names, return_dtype=pl.String) if names else survey["label"]
    rows = survey.select("position", name=labels.cast(pl.String), number=labels.cast(pl.Float64, strict=False))
    has_none = pl.col("name").str.contains(NO_NAME)
    unnamed = rows.filter(has_none)["name"]
    if names and 0 < len(unnamed) <= SHARES["missing"] * len(rows):
        return findings_where("missing_label", location, rows, has_none, detail=f"the label {unnamed[0]!r}")
    values, counts = rows["number"].unique().sort().to_list(), Counter(rows["number"])
    for lone, *others in (values, values[::-1]) if len(values) > 2 and None not in values else ():
        gap = SHARES["gap of four" if len(others) > 3 else "gap of two"] * abs(others[-1] - others[0])
        is_odd = (is_score and abs(others[0] - lone) >= gap) or (lone < 0 <= min(others) and len(others) > 2)
        if is_odd and counts[lone] <= SHARES["missing"] * len(rows):
            return findings_where(
                "missing_label",
                location,
                rows,
                pl.col("number") == lone,
                detail=f"{lone:g}, where all others are {min(others):g} to {max(others):g}",
            )
    usual, count = counts.most_common(1)[0]
    if is_score and len(values) > 2 and count >= SHARES["one score"] * len(rows):
        is_usual = pl.col("number") == usual
        return findings_where("binary_score", location, rows, is_usual, detail=f"{usual:g} in {count / len(rows):.0%}")
    return [summary_finding("binary_score", location, len(rows), 1.0)] if is_score and len(values) == 2 else []


# A measure of two splits: the column that the finding names, what is measured, the values of the rows of both, and the least
# difference for a finding.
Measure = tuple[str, str, Sequence[pl.Series], float]


def _compare_splits(
    task: tasks.Task,
    layout: tasks.Layout,
    frames: Mapping[str, pl.LazyFrame],
    surveys: Surveys,
    parts: Surveys,
    *,
    labels: Mapping[str, pl.Series],
) -> list[FindingRows]:
    """The findings about the splits of a table that differ from the first. parts: the rows that propose."""
    (first, *others), findings = surveys, []
    for split in others:
        if first == "train" and MIN_LABEL_ROWS <= len(surveys[first]) < len(surveys[split]) / SHORT_TRAIN:
            detail = f"rows: {len(surveys[split]):,}, in {first} {len(surveys[first]):,}"
            location = (layout.config, split, "")
            findings.append(summary_finding("split_differs", location, len(surveys[split]), 1.0, detail=detail))
        tables, (pair, near) = (
            [frames[name] for name in (first, split)],
            ([by[first], by[split]] for by in (surveys, parts)),
        )
        measures = [*_measure_texts(layout, tables, pair, near)]
        measures += _measure_labels(task, pair, [labels[name] for name in (first, split) if name in labels])
        measures += _measure_columns(layout, tables, pair) if layout.config == "default" else []
        for column, what, values, least in measures if min(map(len, pair)) >= MIN_LABEL_ROWS else ():
            rows = [pl.DataFrame({"number": some.cast(pl.Float64), "label": at == 1}) for at, some in enumerate(values)]
            strength, error, _ = strength_within_groups(pl.concat(rows).drop_nulls().with_columns(group=0))
            difference, is_share = abs(2 * strength - 1), values[0].dtype == pl.Boolean
            if difference >= max(least, 2 * STANDARD_ERRORS * error):
                figures = [some.select((pl.mean if is_share else pl.median)("number")).item() for some in rows]
                before, now = (f"{figure:.0%}" if is_share else f"{figure:.10g}" for figure in figures)
                findings.append(
                    summary_finding(
                        "split_differs",
                        (layout.config, split, column),
                        len(pair[1]),
                        1.0,
                        detail=f"{what}: {now}, in {first} {before}",
                        strong=difference >= STRONG,
                    )
                )
    return findings


FORMS = (
    ("a carriage return", r"\r", DIFFERENCES["letters"]),
    ("a capital letter", r"\p{Lu}", DIFFERENCES["letters"]),
    ("a small letter", r"\p{Ll}", DIFFERENCES["letters"]),
    ("a Latin letter", r"\p{Latin}", DIFFERENCES["letters"]),
    ("a letter that is not Latin", r"[\p{L}--\p{Latin}]", DIFFERENCES["letters"]),
    ("white space before punctuation", r"\s[.,!?;:]", DIFFERENCES["letters"]),
    ("one of `.,!?;:`", "[.,!?;:]", DIFFERENCES["punctuation"]),
    ("a letter in two characters (NFD)", r"[\p{Latin}\p{Cyrillic}\p{Greek}]\p{M}", DIFFERENCES["decomposed letters"]),
)


def _measure_texts(
    layout: tasks.Layout, tables: Sequence[pl.LazyFrame], surveys: Sequence[pl.DataFrame], parts: Sequence[pl.DataFrame]
) -> Iterator[Measure]:
    """The lengths of texts, and what they are written with where the parts differ in that."""
    for column in layout.text:
        yield column, "length (median)", [survey[f"length {column}"] for survey in surveys], DIFFERENCES["length"]
        for name, pattern, least in FORMS:
            one, other = (part.select(pl.col(column).str.contains(pattern).mean()).item() for part in parts)
            if abs(one - other) >= CANDIDATE * least:
                has = model_input(layout.config, column).str.contains(pattern)
                values = [table.select(has).collect(engine="streaming").to_series() for table in tables]
                yield column, f"texts with {name}", values, least


def _measure_labels(
    task: tasks.Task, surveys: Sequence[pl.DataFrame], labels: Sequence[pl.Series]
) -> Iterator[Measure]:
    """The scores and how they are rounded; of labels, the one whose share differs most."""
    shares = [{label: n / len(names) for label, n in Counter(names.explode().drop_nulls()).items()} for names in labels]
    if isinstance(task, tasks.STS):
        scores = [survey["label"] for survey in surveys]
        yield "score", "score (median)", scores, DIFFERENCES["scores"]
        for what, digits in (("whole numbers", 0), ("numbers with one decimal", 1)):
            values = [some.round(digits) == some for some in scores]
            yield "score", f"scores that are {what}", values, DIFFERENCES["rounding"]
    elif shares:
        one, other = shares
        label = max(sorted(one | other), key=lambda label: abs(one.get(label, 0) - other.get(label, 0)))
        values = [names.list.contains(label) for names in labels]
        yield task.type.label, f"rows with the label {label}", values, DIFFERENCES["label"]


DATE, DAY_FIRST = r"^((?:19|20)\d\d(?:-\d\d-\d\d)?)(?:[T ]|$)", r"^(\d\d)[./](\d\d)[./]((?:19|20)\d\d)"


def _measure_columns(
    layout: tasks.Layout, tables: Sequence[pl.LazyFrame], surveys: Sequence[pl.DataFrame]
) -> Iterator[Measure]:
    """The dates in other columns, where they are older, and the ids that other texts have in the first split."""
    shared = set.intersection(*(set(table.collect_schema().items()) for table in tables))
    for column in sorted(
        name for name, dtype in shared if dtype in (pl.String, pl.Int64) and name not in layout.columns
    ):
        values = [read_column(table, column).cast(pl.String) for table in tables]
        days = [some.str.replace(DAY_FIRST, "$3-$2-$1").str.extract(DATE).str.replace_all("-", "") for some in values]
        dates = [some.str.pad_end(8, "0").cast(pl.Int64) for some in days]
        numbers = [some.cast(pl.Int64, strict=False).sort() for some in values]
        if all(some.null_count() <= 0.05 * len(some) for some in dates):
            if dates[1].median() < dates[0].median():  # type: ignore[operator]
                yield column, "date (median)", dates, DIFFERENCES["dates"]
        # Numbers that begin again in each split are usual ids.
        elif column in ID_COLUMNS and any(some.null_count() or some[-1] - some[0] >= 2 * len(some) for some in numbers):
            first = pl.DataFrame({"id": values[0], "first": surveys[0]["texts"]}).unique("id", keep="first")
            rows = surveys[1].select("texts", id=values[1]).join(first, on="id", how="left", maintain_order="left")
            is_other = (rows["texts"] != rows["first"]).fill_null(value=False)
            yield column, "ids of other texts", [values[0].is_null(), is_other], DIFFERENCES["ids"]
