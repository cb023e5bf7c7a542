"""PAR3: novels of world literature in two or more English translations, aligned paragraph by paragraph (Thai et al., 2022)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from builders.reading import read_pickle
from builders.reading.errors import malformed, shorten
from builders.shaping.cleaning import is_short
from builders.shaping.folding import fold_text
from builders.shaping.rows import drop
from builders.spec import RawFiles, Source, Tables, Version, by_hand, dataset
from builders.tasks import PairClassification

if TYPE_CHECKING:
    from builders.errors import SourceError
    from builders.spec import Dropped, Raw

NAMES = ("other paragraph", "same paragraph")
TEXTS = "translator_paras"
NEVER = np.iinfo(np.int64).max
PARAGRAPH = {"id": pl.String(), "book": pl.String(), "place": pl.Int64(), "first": pl.String(), "second": pl.String()}

SOURCE = Source(
    name="par3",
    title="PAR3, parallel paragraphs of world literature",
    license="mit",
    license_note=(
        "The repository is under the MIT licence. It calls the novels public-domain; it does not say under which terms each"
        " English translation is, and gives no more than half of the paragraphs of any."
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
    benchmark="ateb",
    task=PairClassification(names=NAMES),
    needs=("books",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Lengths tell nothing of the label any more: a pair 0 has the paragraph closest in length to the translation"
            " whose place it takes, not to its other side. Left out: paragraphs of which a translation repeats that of"
            " another, in any book, or is a single character.",
            {"clean": True},
        ),
    },
    sample={"apart": 2},
    citation=("krishna2023dipper",),
)
def pair_classification(raw: RawFiles, *, apart: int = 5, clean: bool = False) -> Tables:
    """Are two paragraphs of a novel translations of the same paragraph?

    The first two translations of every book, in the source's order. Each paragraph gives two rows: its first translation with its
    second one (1), and with the second translation of another paragraph of the book (0): of those at least `apart` places away
    the closest in length (characters) to its first translation or, with `clean`, to its second one, whose place it takes; among
    equals the nearest, then the earlier one. Columns: id (String: `<book>-<place, 0-based>-<label>`); sentence1, sentence2
    (String); labels (Int64: 1 same paragraph, 0 another).

    clean: without paragraphs of which a translation is a single character, or equal once folded (builders.shaping.folding) to
    that of an earlier paragraph, of any book: so no pair stands twice, nor with both labels.
    """
    rows, alone = drop(
        paragraphs(raw["books"]), pl.col("second").is_null(), "the book has fewer than two translations", split="test"
    )
    blank = pl.any_horizontal(pl.col("first", "second").str.strip_chars() == "")
    rows, missing = drop(rows, blank, "a translation of the paragraph is missing", split="test")
    again: tuple[Dropped, ...] = ()
    if clean:
        rows, again = _each_once(rows)
    reason = f"no paragraph of the book is {apart} places away or more"
    found = others(rows, apart, like="second" if clean else "first")
    rows, near = drop(rows.with_columns(other=found), pl.col("other").is_null(), reason, split="test")
    sides = {"second": 1, "other": 0}
    pairs = (
        rows.with_row_index("row")
        .unpivot(list(sides), index=["row", "id", "first"], variable_name="side", value_name="sentence2")
        .with_columns(labels=pl.col("side").replace_strict(sides, return_dtype=pl.Int64))
        .sort("row", "labels", descending=[False, True])
    )
    identity = pl.concat_str("id", "labels", separator="-")
    table = pairs.select(identity, pl.col("first").alias("sentence1"), "sentence2", "labels")
    observed = {"books": rows.get_column("book").n_unique(), "paragraphs": rows.height}
    return Tables({"default": {"test": table}}, (*alone, *missing, *again, *near), observed)


def paragraphs(raw: Raw) -> pl.DataFrame:
    """All paragraphs of the books in a file with the structure of par3.pkl, in its order.

    Columns: id (String: `<book>-<place>`), book (String), place (Int64, 0-based), first and second (String: the paragraph in the
    book's first two translations; null where there are not as many). What the file holds besides, the paragraphs in the
    original language, Google's translation and alignments of sentences, is not looked at.

    Raises SourceError, with the book, for another structure, translations of different lengths, and text with half a
    surrogate pair, which is no Unicode.
    """
    books = read_pickle(raw)
    if not isinstance(books, dict):
        raise _unlike(raw, "", books, "a dict of books by title")
    frames = [_book(raw, title, book) for title, book in islice(books.items(), raw.limit)]
    return pl.concat([pl.DataFrame(schema=PARAGRAPH), *frames])


def others(rows: pl.DataFrame, apart: int, like: str = "first") -> pl.Series:
    """For each paragraph the second translation of the one that stands beside it in a pair 0, null where there is none.

    It is of the same book and at least `apart` (1 or more) places away; of these the closest in length to the paragraph's
    translation `like`, first or second, in characters; among equals the nearest, then the earlier one. rows: as `paragraphs`
    gives them, no null.
    """
    found: list[str | None] = []
    for book in rows.partition_by("book", maintain_order=True):
        places, texts = book.get_column("place").to_numpy(), book.get_column("second").to_list()
        ours, theirs = (book.get_column(side).str.len_chars().cast(pl.Int64).to_numpy() for side in (like, "second"))
        for place, length in zip(places, ours, strict=True):
            away = np.abs(places - place)
            cost = np.abs(theirs - length) * (places[-1] + 1) + away  # a distance is less than one character's cost
            cost[away < apart] = NEVER
            best = int(cost.argmin())
            found.append(texts[best] if cost[best] < NEVER else None)
    return pl.Series("other", found, pl.String)


def _each_once(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The paragraphs whose two translations are texts of their own, and what became of the others."""
    one_character = pl.any_horizontal(is_short(pl.col(side)) for side in ("first", "second"))
    rows, dropped = drop(rows, one_character, "a translation of the paragraph is a single character", split="test")
    for side in ("first", "second"):
        repeated = ~fold_text(pl.col(side)).is_first_distinct()
        rows, again = drop(rows, repeated, f"the {side} translation is that of an earlier paragraph too", split="test")
        dropped += again
    return rows, dropped


def _book(raw: Raw, title: Any, book: Any) -> pl.DataFrame:
    place = f"book {shorten(str(title))}"
    _check_texts(raw, place, [title])
    translations = _held(raw, place, book, "translator_data", dict)
    sides = []
    for name, translation in islice(translations.items(), 2):
        texts = _held(raw, f"{place}, {shorten(str(name))}", translation, TEXTS, list)
        _check_texts(raw, f"{place}, {shorten(str(name))}", texts)
        sides.append(texts)
    lengths = [len(side) for side in sides]
    if len(set(lengths)) > 1:
        found = f"{lengths[0]:,} and {lengths[1]:,} paragraphs"
        raise malformed(raw, place, "translations that are not aligned", found=found, expected="as many in both")
    count = lengths[0] if lengths else 0
    first, second = [*sides, *[[None] * count] * 2][:2]
    columns = {"place": range(count), "first": first, "second": second}
    numbered = pl.DataFrame(columns, {name: PARAGRAPH[name] for name in columns})
    named = numbered.with_columns(book=pl.lit(title), id=pl.concat_str(pl.lit(title), "place", separator="-"))
    return named.select(list(PARAGRAPH))


def _held(raw: Raw, place: str, value: Any, key: str, kind: type) -> Any:
    """What a dict of the file holds under a key."""
    if not isinstance(value, dict) or key not in value:
        raise _unlike(raw, place, value, f"a dict with a key {key!r}")
    if not isinstance(value[key], kind):
        raise _unlike(raw, place, value[key], f"a {kind.__name__} under {key!r}")
    return value[key]


def _check_texts(raw: Raw, place: str, texts: list[Any]) -> None:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise _unlike(raw, f"{place}, text {number}", text, "a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            found, expected = f"U+{ord(text[error.start]):04X} by itself", "Unicode text"
            raise malformed(raw, f"{place}, text {number}", "no Unicode", found=found, expected=expected) from error


def _unlike(raw: Raw, place: str, value: Any, expected: str) -> SourceError:
    keys = f" with the keys {shorten(', '.join(map(str, value)), 200)}" if isinstance(value, dict) else ""
    return malformed(
        raw, place, "not the structure of PAR3", found=f"a {type(value).__name__}{keys}", expected=expected
    )
