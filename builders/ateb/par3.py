"""PAR3: novels in several English translations, aligned paragraph by paragraph (Thai et al., 2022)."""

from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from builders.raw_files import by_hand
from builders.reading.pickle import pickle_members
from builders.reading.values import check_record, malformed, shorten
from builders.shaping.cleaning import is_short
from builders.shaping.folding import fold_text_1
from builders.shaping.rows import drop, drop_each
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import PairClassification

NAMES = ("other paragraph", "same paragraph")
TRANSLATIONS, PARAGRAPHS = "translator_data", "translator_paras"  # keys of a book and of a translation
SCHEMA = {"id": pl.String(), "book": pl.String(), "position": pl.Int64(), "first": pl.String(), "second": pl.String()}
INFINITE = np.iinfo(np.int64).max

SOURCE = Source(
    name="par3",
    title="PAR3, parallel paragraphs of world literature",
    license="mit",
    license_note=(
        "The repository is under the MIT licence. It calls the novels public-domain; it does not name the terms of each English"
        " translation, and contains at most half of the paragraphs of any."
    ),
    homepage="https://github.com/katherinethai/par3",
    citation="thai2022par3",
    annotations=("machine-generated",),
    files={
        "books": by_hand(
            "par3.pkl",
            "open the dataset download link in the README of https://github.com/katherinethai/par3 (a folder on Google Drive:"
            " https://drive.google.com/drive/folders/1t7Cd_cRC4utDG3ngpX3YapXZvs-rCr64) and download par3.pkl, about 285 MB",
        ),
    },
)


@dataset(
    "dipper-pairclassification",
    pretty_name="PAR3 translation pairs, DIPPER of ATEB (English)",
    task_ids=("semantic-similarity-classification",),
    benchmark="ateb",
    task=PairClassification(names=NAMES),
    needs=("books",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(
            "Text lengths no longer reveal the label: the negative of a pair is chosen for its similarity in length to the true"
            " translation that it replaces, not to the other side of the pair. Drops paragraphs with a translation that repeats"
            " that of an earlier paragraph of any book, or is a single character.",
            {"clean": True},
        ),
    },
    sample={"apart": 2},
    citation=("krishna2023dipper",),
)
def pair_classification(raw: RawFiles, *, apart: int = 5, clean: bool = False) -> Tables:
    """Are two paragraphs of a novel translations of the same paragraph?

    The first two translations of every book, in source order. Every paragraph gives two rows: its first translation with its
    second one (label 1), and with the second translation of another paragraph of the book (label 0), chosen from those at least
    `apart` positions away. The one closest in length (in characters) is chosen: to the first translation or, with `clean`, to the
    second one, which it replaces. Ties go to the nearest paragraph, then to the earlier one. Columns: id (String:
    `<book>-<position, 0-based>-<label>`); sentence1, sentence2 (String); labels (Int64: 1 same paragraph, 0 other paragraph).

    clean: also drop paragraphs with a translation that is a single character, or that equals that of an earlier paragraph of any
    book once folded (builders.shaping.folding). So no pair is repeated or has both labels.

    Raises SourceError, naming the book, for a file that does not have the structure of par3.pkl, and for translations with
    different numbers of paragraphs.
    """
    sides = ("first", "second")
    exclusions = {
        "the book has fewer than two translations": pl.col("second").is_null(),
        "a translation of the paragraph is missing": pl.any_horizontal(pl.col(sides).str.strip_chars() == ""),
    }
    if clean:
        exclusions |= {
            "a translation of the paragraph is a single character": pl.any_horizontal(is_short(pl.col(sides))),
        } | {
            f"an earlier paragraph has the same {side} translation": ~fold_text_1(pl.col(side)).is_first_distinct()
            for side in sides
        }
    rows, dropped = drop_each(read_paragraphs(raw["books"]), exclusions, split="test")
    rows = rows.with_columns(negative=choose_negatives(rows, apart, like="second" if clean else "first"))
    reason = f"no paragraph of the book is {apart} or more positions away"
    rows, isolated = drop(rows, pl.col("negative").is_null(), reason, split="test")
    labels = {"second": 1, "negative": 0}
    pairs = (
        rows.with_row_index("row")
        .unpivot(list(labels), index=["row", "id", "first"], variable_name="side", value_name="sentence2")
        .with_columns(labels=pl.col("side").replace_strict(labels, return_dtype=pl.Int64))
        .sort("row", "labels", descending=[False, True])
        .select(pl.concat_str("id", "labels", separator="-"), pl.col("first").alias("sentence1"), "sentence2", "labels")
    )
    observed = {"books": rows["book"].n_unique(), "paragraphs": rows.height}
    return Tables({"default": {"test": pairs}}, dropped + isolated, observed)


def read_paragraphs(raw: Raw) -> pl.DataFrame:
    """All paragraphs of the books in par3.pkl, in order.

    Columns: id (String: `<book>-<position>`), book (String), position (Int64, 0-based), first and second (String: the paragraph
    in the book's first two translations; null if there are fewer). Everything else in the file is ignored: the original
    paragraphs, Google's translation and the alignments of sentences.
    """
    members = pickle_members(raw, {TRANSLATIONS: pl.Struct({})}, unit="book")
    return pl.concat([pl.DataFrame(schema=SCHEMA), *(_read_book(raw, title, book) for title, book in members)])


def _read_book(raw: Raw, title: str, book: dict[str, Any]) -> pl.DataFrame:
    location = f"book {shorten(title)}"
    texts: list[list[str]] = []
    for name, translation in islice(book[TRANSLATIONS].items(), 2):
        translation_location = f"{location}, translation {shorten(str(name))}"
        check_record(raw, translation_location, translation, {PARAGRAPHS: pl.List(pl.String)})
        texts.append(translation[PARAGRAPHS])
    lengths = [len(paragraphs) for paragraphs in texts]
    if len(set(lengths)) > 1:
        raise malformed(
            raw,
            location,
            "translations are not aligned",
            found=f"{lengths[0]:,} and {lengths[1]:,} paragraphs",
            expected="equal numbers of paragraphs",
        )
    positions = range(lengths[0] if lengths else 0)
    return pl.DataFrame(
        {
            "id": [f"{title}-{position}" for position in positions],
            "book": [title] * len(positions),
            "position": positions,
            "first": texts[0] if texts else [],
            "second": texts[1] if len(texts) > 1 else [None] * len(positions),
        },
        SCHEMA,
    )


def choose_negatives(paragraphs: pl.DataFrame, apart: int, like: str) -> pl.Series:
    """For each paragraph, the second translation of another paragraph of its book; null if none is far enough away.

    The other paragraph is at least `apart` (1 or more) positions away. Of these, the one whose second translation is closest in
    length (in characters) to the paragraph's translation `like` ("first" or "second") is chosen; ties go to the nearest, then to
    the earlier one. paragraphs: as `read_paragraphs` returns them, without nulls.
    """
    negatives: list[str | None] = []
    for book in paragraphs.partition_by("book", maintain_order=True):
        positions, texts = book["position"].to_numpy(), book["second"].to_list()
        targets, lengths = (book[side].str.len_chars().cast(pl.Int64).to_numpy() for side in (like, "second"))
        for position, target in zip(positions, targets, strict=True):
            distances = np.abs(positions - position)
            # One character outweighs every distance: in a book of 100 positions, 2 characters and 7 positions cost 2 * 100 + 7.
            costs = np.abs(lengths - target) * (positions[-1] + 1) + distances
            costs[distances < apart] = INFINITE
            best = int(costs.argmin())
            negatives.append(texts[best] if costs[best] < INFINITE else None)
    return pl.Series("negative", negatives, pl.String)
