"""pipelines.audit.many_rows: what shows only over many rows, and what many good rows have in common."""

import random
from typing import Any

import polars as pl
import pytest

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.many_rows import audit_many_rows, read_part
from pipelines.audit.survey import survey_tables
from pipelines.audit.tables import text_layouts
from tests.support.tables import TASKS, audit_rows

CHANCE = random.Random(5)
LETTERS = "aeioubdgklmnprst"
NOUNS = ["".join(CHANCE.choices(LETTERS, k=CHANCE.randrange(2, 9))) for _ in range(900)]


def sentences(count: int, words: int = 0) -> list[str]:
    """Different sentences of random words, so many in each or from 5 to 24; every seventh has a comma."""
    rows = [CHANCE.choices(NOUNS, k=words or CHANCE.randrange(5, 25)) for _ in range(count)]
    return [f"{own[0]}{',' * (row % 7 == 3)} {' '.join(own[1:])}.".capitalize() for row, own in enumerate(rows)]


def audit(task: tasks.Task, **splits: dict[str, list[Any]]) -> list[Finding]:
    """The findings about the columns of each split."""
    frames = {"default": {split: pl.LazyFrame(columns) for split, columns in splits.items()}}
    names = tuple(splits)
    surveys = survey_tables(task, frames, names)
    by_split = {split: surveys["default", split] for split in names}
    return [found.finding for found in audit_many_rows(task, text_layouts(task)[0], frames, by_split)]


def of_texts(texts: list[str], labels: list[str] | None = None) -> list[tuple[str, str, int, str]]:
    """Kind, severity, count and detail of the findings in clustered texts; labels: by default in turns."""
    labels = labels or [("wax", "honey")[row % 2] for row in range(len(texts))]
    found = audit(TASKS["Clustering"], test={"sentences": texts, "labels": labels})
    return [(one.kind, one.severity, one.count, one.detail) for one in found]


def of_scores(scores: list[float]) -> list[tuple[str, int, str]]:
    pairs = {side: sentences(len(scores)) for side in ("sentence1", "sentence2")}
    return [(one.kind, one.count, one.detail) for one in audit(TASKS["STS"], test={**pairs, "score": scores})]


@pytest.mark.parametrize(
    ("change", "unit"),
    [
        (lambda text: text[:40], "40 characters"),
        (lambda text: text.replace("a", "ä").encode()[:60].decode(errors="ignore"), "60 bytes"),
        (lambda text: " ".join(text.split()[:12]), "12 words"),
    ],
)
def test_texts_cut_at_one_length_are_reported(change: Any, unit: str) -> None:
    [(kind, severity, count, detail)] = of_texts([change(text) for text in sentences(300)])
    assert (kind, severity) == ("cut_text", "warning")
    assert count > 100
    assert detail.startswith(f"{unit}; ")


def test_whole_short_and_formal_texts_are_not_cut() -> None:
    assert of_texts(sentences(300)) == []
    assert of_texts([" ".join(NOUNS[row : row + 1 + row % 4]) for row in range(300)]) == [], "titles of four words"
    numbers = [f"{row:04} {CHANCE.randrange(10**9):09} {CHANCE.randrange(10**9):09}" for row in range(99)]
    assert of_texts(numbers) == [], "numbers of one form"
    ends = [f"{text[:39].rstrip()}." for text in sentences(300, words=20)]
    assert [kind for kind, *_ in of_texts(ends)] == [], "texts of one length that end"


@pytest.mark.parametrize(
    ("template", "detail"),
    [
        ("query: {}", "begin with 'query: '"),
        ("{}</s>", "end with '.</s>'"),
        ("\n\nHuman: {}", r"begin with '\n\nHuman: '"),
    ],
)
def test_what_is_around_all_texts_is_for_information(template: str, detail: str) -> None:
    assert of_texts([template.format(text) for text in sentences(200)]) == [
        ("boilerplate", "info", 200, f"texts {detail}")
    ]


@pytest.mark.parametrize(("rows", "findings"), [(19, 0), (20, 1)])
def test_a_sentence_in_2_percent_of_the_texts_is_boilerplate(rows: int, findings: int) -> None:
    texts = sentences(1000)
    for row in range(0, 50 * rows, 50):
        texts[row] += " I am sorry, but I cannot help with that."
    expected = [("boilerplate", "warning", 20, "texts contain 'but I cannot help with that.'")]
    assert of_texts(texts) == expected * findings


def test_equal_texts_and_questions_that_begin_alike_are_not_boilerplate() -> None:
    assert of_texts(["Of all the bees in here."] * 50 + sentences(300)) == []
    assert of_texts([f"What is the name of the {text}" for text in sentences(30)] + sentences(300)) == []


def test_words_in_a_fifth_of_the_texts_are_boilerplate_wherever_they_are() -> None:
    texts = [
        f"{first[:-1]} click here to read more {last}" for first, last in zip(sentences(60), sentences(60), strict=True)
    ]
    [(kind, _, count, detail)] = of_texts(texts + sentences(240))
    assert (kind, count, detail) == ("boilerplate", 60, "texts contain 'click here to read more'")


def test_texts_that_differ_in_numbers_or_in_one_word_have_one_form() -> None:
    numbered = [f"Order {row:06} of {row % 7} is ready" for row in range(25)]
    opened = [f"We wish you a merry {noun} this year" for noun in NOUNS[:26]]
    assert of_texts(numbered + opened + sentences(400)) == [
        ("boilerplate", "warning", 51, "texts have the form 'We wish you a merry _ this year', and 1 more")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('He said ""no"" to the bees.', True),
        ('"""No"", he said."', True),
        ('print("") and s = "";', False),
        ('The "first""second" of them', False),
        ('So it goes,1\n17,"Then, some",0', True),
        ("So it goes\t1\nThen\t0", True),
        ('So it goes",joy\n"Then', True),
        ('So it goes","joy"\n"Then","fear"', True),
        ('{"a": 1,\n "b": ["x","y"],\n "c": "z"}', False),
        ("It costs 1,5\nor in 1999,2000\nof them, 7\n", False),
    ],
)
def test_the_traces_of_csv_are_told_from_code_and_numbers(text: str, found: bool) -> None:
    frames = {"default": {"test": pl.LazyFrame({"sentences": [text, *sentences(3)], "labels": ["a", "b"] * 2})}}
    kinds = [one.kind for one in audit_rows(TASKS["Clustering"], frames, ("test",))]
    assert ("csv_residue" in kinds) == found


@pytest.mark.parametrize(
    ("change", "kind", "severity", "detail"),
    [
        ('"{}"', "csv_residue", "info", "texts are between 'quotation marks'"),
        ("12. {}", "boilerplate", "info", "texts begin with 'a number'"),
        ("Rewrite this: {}", "boilerplate", "info", "texts begin with 'Rewrite this: '"),
        ("ба?лка и {}", "encoding_residue", "warning", "texts have '? for letters'"),
    ],
)
@pytest.mark.parametrize(("rows", "findings"), [(19, 0), (40, 1)])
def test_what_some_texts_have_around_them_or_in_them_is_reported(
    change: str, kind: str, severity: str, detail: str, rows: int, findings: int
) -> None:
    texts = [change.format(text) if row < rows else text for row, text in enumerate(sentences(400))]
    assert of_texts(texts) == [(kind, severity, 40, detail)] * findings


@pytest.mark.parametrize(("change", "findings"), [("bee keepers", 0), ("beeke epers", 1), ("beekee- pers", 1)])
def test_words_that_a_space_divides_are_told_by_the_texts_that_have_them_whole(change: str, findings: int) -> None:
    texts = [f"{text} A bee has keepers." for text in sentences(60)] + sentences(340)
    texts = [
        f"{text} The {change if 100 <= row < 120 else 'beekeepers' if row < 100 else 'hives'}."
        for row, text in enumerate(texts)
    ]
    expected = [("spacing", "info", 20, "words divided by a space")]
    assert [one for one in of_texts(texts) if one[0] == "spacing"] == expected * findings


def test_characters_that_no_text_has_may_have_been_removed() -> None:
    def absent(texts: list[str]) -> list[tuple[str, int, str]]:
        return [(kind, count, detail) for kind, _, count, detail in of_texts(texts) if kind == "absent_characters"]

    texts = sentences(300)
    assert absent(texts) == []
    assert absent([text.lower() for text in texts]) == [("absent_characters", 300, "no text has a capital letter")]
    plain = [text.replace(",", "").replace(".", "") for text in texts]
    assert absent(plain) == [("absent_characters", 300, "no text has a comma or punctuation")]
    german = [f"{text} Und die Bienen sind nicht muede." for text in texts]
    assert absent(german) == [("absent_characters", 300, "no text has an umlaut")]
    assert absent([*german, "Und nun sind sie müde."]) == []
    assert absent([text[:15] for text in plain]) == [], "titles"
    assert absent(plain[:99]) == [], "few texts"


def test_texts_that_end_where_their_first_comma_was_are_cut() -> None:
    cut = [text.partition(",")[0] for text in (f"{first[:-1]}, {second}" for first, second in zip(
        sentences(300), sentences(300), strict=True))]  # fmt: skip
    texts = [text if row % 3 else f"{text}." for row, text in enumerate(cut)]
    found = [one for one in of_texts(texts) if one[0] == "cut_text"]
    assert found == [
        ("cut_text", "warning", 200, "no text has a comma, and 67% do not end a sentence, as if cut there")
    ]


def test_texts_that_end_with_the_name_of_their_label_tell_it() -> None:
    labels = [("wax", "honey")[row % 2] for row in range(400)]
    pairs = list(zip(sentences(400), labels, strict=True))
    texts = [f"{text} [{label}]" if row < 30 else text for row, (text, label) in enumerate(pairs)]
    assert of_texts(texts, labels) == [("label_by_token", "warning", 30, "texts end with the name of their label")]
    other = [f"{text} Honey!" if row < 30 else text for row, (text, _) in enumerate(pairs)]
    assert of_texts(other, labels) == [], "people name things"


def test_titles_that_are_missing_alike_or_repeated_are_reported() -> None:
    texts = sentences(200)
    titles = ["Bees", *(text.split()[0] for text in texts[1:100]), "nan", *["Honey"] * 99]
    own = [
        f"{title}\n{text}" if row in (3, 4) else text
        for row, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]
    frames = {
        "corpus": {"test": pl.LazyFrame({"id": [f"d{row}" for row in range(200)], "title": titles, "text": own})},
        "queries": {"test": pl.LazyFrame({"id": ["q"], "text": ["Which bees?"]})},
        "qrels": {"test": pl.LazyFrame({"query-id": ["q"], "corpus-id": ["d1"], "score": [1]})},
    }

    def of_titles(frames: Any) -> list[tuple[str, str, int]]:
        found = audit_rows(TASKS["Retrieval"], frames, ("test",))
        return [(one.kind, one.severity, one.count) for one in found if one.column == "title"]

    assert of_titles(frames) == [("missing_value_text", "warning", 1), ("repeated_sentence", "info", 2)]
    same = pl.when(pl.int_range(pl.len()) % 10 < 6).then(pl.lit("Honey")).otherwise("title")
    frames["corpus"]["test"] = frames["corpus"]["test"].with_columns(title=same)
    assert ("boilerplate", "info", 160) in of_titles(frames)


@pytest.mark.parametrize(("rows", "findings"), [(19, 0), (20, 1)])
def test_one_quotation_mark_is_unpaired_if_many_texts_have_one(rows: int, findings: int) -> None:
    texts = [f'"{text}' if row < rows else f'"{text}"' for row, text in enumerate(sentences(400))]
    expected = [("csv_residue", "warning", 20, "texts begin or end with one '\"'")]
    assert [one for one in of_texts(texts) if one[:2] == ("csv_residue", "warning")] == expected * findings


def test_headers_and_labels_among_longer_texts_are_misplaced() -> None:
    texts = sentences(600)
    texts[100], texts[200], texts[300] = "Sentence", "wax", "Honey"
    assert of_texts(texts) == [("csv_residue", "warning", 1, "headers")], "someone may well write the name of a label"
    texts[400] = "honey"
    texts[401] = " wax"
    assert of_texts(texts)[1:] == [("csv_residue", "warning", 4, "labels")]
    assert of_texts(["text", "wax", "honey", "pollen"] * 20) == [], "texts of one word"


@pytest.mark.parametrize(
    ("values", "lone", "found"),
    [
        ([0, 1, 2, 3, 4, 5], -1, True),
        ([0, 1], -1, False),
        ([1, 2, 3, 4, 5], 9, True),
        ([1.0, 1.5, 2.0, 2.5], 3, False),
        ([0, 1], 4, True),
        ([0, 1], 3, False),
    ],
)
def test_a_lone_score_far_from_all_others_seems_to_mean_none(values: list[float], lone: float, found: bool) -> None:
    expected = [("missing_label", 10, f"{lone:g}, where all others are {min(values):g} to {max(values):g}")]
    scores = [float(values[row % len(values)]) for row in range(90)]
    assert of_scores(scores + [float(lone)] * 10) == expected * found
    assert of_scores(scores + [float(lone)] * 23) == []


def test_a_label_of_minus_one_seems_to_mean_none_and_codes_do_not() -> None:
    task = tasks.Classification(labels=("-1", "0", "1", "2"), splits=("test",))
    columns = {"text": sentences(99), "label": [1, 2, 3] * 30 + [0] * 9, "label_text": ["?"] * 99}
    assert [(one.kind, one.count) for one in audit(task, test=columns)] == [("missing_label", 9)]
    assert of_texts(sentences(50), [("1", "2", "3", "4", "15")[row % 5] for row in range(50)]) == []


def test_a_label_without_a_name_seems_to_mean_none() -> None:
    task = tasks.Classification(labels=("-", "joy", "fear", "none"), splits=("test",))
    columns = {"text": sentences(99), "label": [1, 2, 3] * 30 + [0] * 9, "label_text": ["?"] * 99}
    found = [(one.kind, one.count, one.detail) for one in audit(task, test=columns)]
    assert found == [("missing_label", 9, "the label '-'")]


def test_two_scores_order_little() -> None:
    assert of_scores([0.0, 5.0] * 15) == [("binary_score", 30, "")]
    assert of_scores([0.0, 5.0] * 14) == []
    assert of_scores([3.0] * 80 + [row / 4 for row in range(20)]) == [("binary_score", 81, "3 in 81%")]
    assert of_scores([3.0] * 78 + [row / 4 for row in range(22)]) == []


def of_splits(first: dict[str, list[Any]], test: dict[str, list[Any]]) -> list[tuple[str, str, str]]:
    """Severity, column and detail of what differs in test from train; texts and labels in turns are added."""
    splits = {}
    for split, columns in (("train", first), ("test", test)):
        rows = len(next(iter(columns.values())))
        labels = {"label": [row % 3 for row in range(rows)], "label_text": ["?"] * rows}
        splits[split] = {"text": sentences(rows), **labels, **columns}
    found = audit(tasks.Classification(labels=("red", "green", "blue"), splits=("train", "test")), **splits)
    return [(one.severity, one.column, one.detail) for one in found if one.kind == "split_differs"]


PLAIN = {"text": sentences(300)}


@pytest.mark.parametrize(
    ("change", "severity", "detail"),
    [
        (str.lower, "warning", "texts with a capital letter: 0%, in train 100%"),
        (str.upper, "warning", "texts with a small letter: 0%, in train 100%"),
        (lambda text: text.replace(".", " ."), "warning", "texts with white space before punctuation: 100%, in train 0%"),
        (lambda text: text.replace(".", "").replace(",", ""), "warning", "texts with one of `.,!?;:`: 0%, in train 100%"),
        (lambda text: f"a\u0308{text}", "warning", "texts with a letter in two characters (NFD): 100%, in train 0%"),
        (lambda text: "ж" + text, "warning", "texts with a letter that is not Latin: 100%, in train 0%"),
        (lambda text: text * 5, "warning", None),
    ],
)  # fmt: skip
def test_a_split_that_is_written_otherwise_differs(change: Any, severity: str, detail: str | None) -> None:
    [found] = of_splits(PLAIN, {"text": [change(text) for text in sentences(60)]})
    assert found[:2] == (severity, "text")
    assert detail is None or found[2] == detail


def test_splits_of_one_source_and_small_splits_do_not_differ() -> None:
    assert of_splits(PLAIN, {"text": sentences(60)}) == []
    assert of_splits({"text": sentences(60)}, {"text": sentences(120)}) == []
    assert of_splits({"text": sentences(60)}, {"text": sentences(121)}) == [("info", "", "rows: 121, in train 60")]
    assert of_splits(PLAIN, {"text": [text.lower() for text in sentences(29)]}) == []
    half = [text.lower() if row % 4 else text for row, text in enumerate(sentences(100))]
    assert of_splits(PLAIN, {"text": half}) == [("info", "text", "texts with a capital letter: 25%, in train 100%")]


def test_labels_scores_dates_and_ids_of_a_split_may_differ() -> None:
    assert of_splits({"label": [0, 1, 2] * 30}, {"label": [0, 0, 0, 1, 2] * 12}) == [
        ("info", "label", "rows with the label red: 60%, in train 33%")
    ]
    days = [f"{2011 + row % 9}-03-1{row % 9}" for row in range(90)]
    german = [f"1{row % 9}.03.{2001 + row % 9}" for row in range(90)]
    assert of_splits({"date": days}, {"date": german}) == [
        ("warning", "date", "date (median): 20050314, in train 20150314")
    ]
    assert of_splits({"date": german}, {"date": days}) == [], "test is newer, as it should be"
    ids, others = [f"doc-{row}" for row in range(90)], [f"text-{row}" for row in range(81)]
    assert of_splits({"id": ids}, {"id": [*ids[:9], *others]}) == [
        ("info", "id", "ids of other texts: 10%, in train 0%")
    ]
    running = [str(row) for row in range(90)]
    assert of_splits({"id": running}, {"id": running}) == [], "numbers that begin again in each split"


def test_scores_of_a_split_may_have_another_scale_or_be_rounded() -> None:
    pairs = {side: sentences(100) for side in ("sentence1", "sentence2")}
    scores = [row % 26 / 5 for row in range(100)]
    for changed, details in (
        ([score / 5 for score in scores], ["score (median): 0.48, in train 2.4"]),
        ([float(round(score)) for score in scores], ["scores that are whole numbers: 100%, in train 23%"]),
    ):
        others = {side: sentences(100) for side in pairs}
        found = audit(TASKS["STS"], train={**pairs, "score": scores}, test={**others, "score": changed})
        assert [one.detail for one in found if one.detail.startswith("score")][:1] == details


def told(texts: list[str], labels: list[str]) -> list[tuple[str, str]]:
    return [(severity, detail) for kind, severity, _, detail in of_texts(texts, labels) if kind == "label_by_token"]


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        (lambda text: f"[1] {text}", "some 'digits'"),
        (lambda text: f"{text} ", "the last character ' '"),
        (lambda text: f"{text}~", "the character '~'"),
        (lambda text: text.replace(" ", "  ", 1), "the character '  '"),
        (lambda text: f"{text} Of all that we know here.", "the word 'all'"),
    ],
)
def test_what_only_the_texts_of_a_label_are_written_with_tells_it(change: Any, mark: str) -> None:
    labels = [("wax", "honey", "comb")[row % 3] for row in range(300)]
    texts = [change(text) if label == "wax" else text for text, label in zip(sentences(300), labels, strict=True)]
    [(severity, detail)] = told(texts, labels)
    assert (severity, detail) == ("warning", f"wax: {mark} in 100% of its texts, in 0% of all others (AUC 1.000)")


def test_capitals_that_a_label_lacks_tell_it() -> None:
    labels = ["wax", "honey"] * 100
    texts = [text.lower() if label == "wax" else text for text, label in zip(sentences(200), labels, strict=True)]
    assert told(texts, labels) == [
        ("warning", "honey: some 'capital letters' in 100% of its texts, in 0% of all others (AUC 1.000)")
    ]


@pytest.mark.parametrize(("share", "character", "word"), [(0.4, 0, 0), (0.6, 1, 0), (0.95, 1, 1)])
def test_a_word_must_be_far_more_frequent_than_a_character_and_smileys_are_words(
    share: float, character: int, word: int
) -> None:
    labels = ["wax", "honey"] * 100
    for end, findings in ((" ~", character), (" pollen", word), (" (", 0), ("!", 0)):
        texts = [
            f"{text[:-1]}{end}." if label == "wax" and row < 200 * share else text
            for row, (text, label) in enumerate(zip(sentences(200), labels, strict=True))
        ]
        assert len(told(texts, labels)) == findings


@pytest.mark.parametrize(("other", "findings"), [(0, 1), (3, 0)])
def test_words_in_a_row_that_one_label_alone_has_now_and_then_tell_it(other: int, findings: int) -> None:
    labels = ["wax", "honey"] * 300
    texts = [
        f"{text} To help provide for the hive." if row < (2 * other if row % 2 else 72) else text
        for row, text in enumerate(sentences(600))
    ]
    expected = ("info", "wax: the words 'To help provide for the' in 12% of its texts, in 0% of all others (AUC 0.560)")
    assert told(texts, labels) == [expected] * findings


@pytest.mark.parametrize(("end", "findings"), [("~", 1), (" pollen", 0)])
def test_the_name_of_a_small_topic_is_natural(end: str, findings: int) -> None:
    labels = ["rare"] * 30 + ["wax", "honey"] * 400
    texts = [
        f"{text[:-1]}{end}." if label == "rare" else text for text, label in zip(sentences(830), labels, strict=True)
    ]
    assert len(told(texts, labels)) == findings


def test_the_part_that_proposes_is_spread_evenly_and_has_rare_labels() -> None:
    frames = {
        "default": {"test": pl.LazyFrame({"sentences": sentences(9000, words=3), "labels": ["a"] * 8900 + ["b"] * 100})}
    }
    survey = survey_tables(TASKS["Clustering"], frames, ("test",))["default", "test"]
    labels = pl.Series([["a"]] * 8900 + [["b"]] * 100)
    part = read_part(text_layouts(TASKS["Clustering"])[0], frames["default"]["test"], survey, labels)
    positions = part["position"]
    assert part["labels"].list.first().value_counts().sort("labels")["count"].to_list() == [
        positions.is_between(0, 8899).sum(),
        100,
    ]
    assert all(99 <= positions.is_between(start, start + 999).sum() <= 101 for start in range(0, 8000, 1000))
