"""Kinopoisk: Russian film reviews from 2004 to 2012, each marked good, neutral or bad by its author (Blinov et al., 2013)."""

import polars as pl

from builders.published import published_files
from builders.raw_files import hub
from builders.reading.json import read_json_lines
from builders.rumteb.kinopoisk.more_rules import MORE_RULES
from builders.rumteb.kinopoisk.rules import GAP, RULES, SHIELD
from builders.rumteb.kinopoisk.vocabulary import BLANK, WORD
from builders.shaping.cleaning import DEDUPLICATED, deduplicate_texts
from builders.shaping.labels import label_numbers
from builders.shaping.rows import drop
from builders.shaping.sampling import draw_splits
from builders.spec import OWN_DRAW, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

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


LABELS = ("negative", "neutral", "positive")
GRADES = {"Bad": 0, "Neutral": 1, "Good": 2}

SOURCE = Source(
    name="kinopoisk",
    title="Kinopoisk, Russian film reviews",
    license="mit",
    license_note="As stated on upstream's dataset card; the reviews were written by users of kinopoisk.ru.",
    homepage="https://huggingface.co/datasets/blinoff/kinopoisk",
    citation="blinov2013kinopoisk",
    files={
        "reviews": hub(
            "blinoff/kinopoisk",
            "32b12e528232904a0b1666a1b7df69403a3c7f4a",
            "kinopoisk.jsonl",
            sha256="15bbd1ec69610aa77e853a61823872c825239ba4daa0ad77b4244a682cfedf1c",
            bytes=142_508_585,
        ),
        **published_files("kinopoisk-sentiment-classification"),
    },
)


def read_reviews(raw: RawFiles, *, thorough: bool = False) -> pl.DataFrame:
    """All reviews: id, text (without ratings), label (Int64), label_text, and whole (the text with its ratings).

    thorough: see remove_ratings.
    """
    columns = {"review_id": pl.String(), "grade3": pl.String(), "content": pl.String()}
    reviews = read_json_lines(raw["reviews"], columns, numbers_as_text=("review_id",))
    nth = pl.int_range(1, pl.len() + 1).over("review_id")
    return reviews.select(
        pl.when(nth == 1).then("review_id").otherwise(pl.concat_str("review_id", pl.lit("-"), nth)).alias("id"),
        remove_ratings(pl.col("content"), thorough=thorough).alias("text"),
        label_numbers(reviews["grade3"], GRADES, raw["reviews"]).alias("label"),
        label_text=pl.col("grade3").replace_strict({name: LABELS[number] for name, number in GRADES.items()}),
        whole="content",
    )


@dataset(
    "kinopoisk-sentiment-classification",
    pretty_name="Kinopoisk sentiment classification (Russian)",
    task_ids=("sentiment-classification",),
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("reviews",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but all ratings are removed, not only the final one.",
        "2.0.0": Version(
            f"{DEDUPLICATED} Removes ratings in more forms, such as 4 балла из 5 and 85/100, and keeps more of what only"
            " looks like one.",
            {"clean": True},
        ),
    },
    sample={"train_per_class": 4, "validation_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=read_reviews,
)
def sentiment(
    raw: RawFiles,
    *,
    train_per_class: int = 3_500,
    validation_per_class: int = 500,
    test_per_class: int = 500,
    clean: bool = False,
) -> Tables:
    """Is a film review negative, neutral or positive?

    Balanced splits of the reviews, after removing the ratings that authors write into their texts
    (builders.rumteb.kinopoisk). Reviews with nothing else are dropped, and so are duplicates: of equal texts, the first
    is kept, or none if their labels differ. `clean` removes ratings in more forms, and compares texts ignoring case,
    punctuation and white space (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: upstream's review_id,
    followed by `-2`, `-3` ... if it is repeated); text (String); label (Int64: 0 negative, 1 neutral, 2 positive); label_text
    (String).
    """
    rows = read_reviews(raw, thorough=clean)
    rated = int((rows["text"] != rows["whole"]).sum())
    observed = {"reviews": rows.height, "reviews with a rating in their text": rated}
    rows, empty = drop(
        rows.drop("whole"), pl.col("text").str.strip_chars() == "", "the text is only a rating", split="all"
    )
    rows, repeated = deduplicate_texts(rows, fold=clean)
    return draw_splits(
        rows,
        raw.splits,
        seed="kinopoisk-sentiment-classification",
        dropped=(*empty, *repeated),
        observed=observed,
        train=train_per_class,
        validation=validation_per_class,
        test=test_per_class,
    )
