"""PAR3: pairs of both labels from books with any content, the real Candide, and files with another structure."""

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.ateb import par3
from builders.errors import SourceError
from builders.shaping.folding import fold_text_1
from builders.spec import Raw, RawFiles, Tables
from pipelines.audit.quality import audit_tables
from tests.support.releases import definition_of

SHORT_TEXT = st.text("aB. ", max_size=3)
BOOKS = st.lists(st.lists(st.tuples(SHORT_TEXT, SHORT_TEXT), max_size=6), max_size=3)
SIDES = st.lists(st.tuples(st.text("ab ", max_size=4), st.text("ab ", max_size=4)), min_size=1, max_size=9)


@pytest.fixture(scope="session")
def candide(real_sources: Path) -> dict[str, Any]:
    book: dict[str, Any] = json.loads((real_sources / "par3" / "par3_candide_fr.json").read_text("utf-8"))
    return book


def build(books: Any, folder: Path, **options: Any) -> Tables:
    """Run the recipe on a pickle of these books."""
    path = folder / "par3.pkl"
    path.write_bytes(pickle.dumps(books, protocol=3))
    raw = RawFiles(("test",), {"books": Raw("par3/par3.pkl", path)}, folder)
    return par3.pair_classification.recipe(raw, **options)


def make_book(*translations: list[str]) -> dict[str, Any]:
    return {"translator_data": {f"translator_{i}": {"translator_paras": texts} for i, texts in enumerate(translations)}}


def read_rows(tables: Tables) -> pl.DataFrame:
    return tables.frames["default"]["test"].lazy().collect()


@given(books=BOOKS)
def test_in_a_cleaned_version_no_pair_is_repeated_or_has_both_labels(
    books: list[list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = {
        f"book {number}": make_book([first for first, _ in sides], [second for _, second in sides])
        for number, sides in enumerate(books)
    }
    tables = build(data, tmp_path_factory.getbasetemp(), apart=1, clean=True)
    rows = read_rows(tables)
    folded = rows.select(fold_text_1(pl.col("sentence1")), fold_text_1(pl.col("sentence2")))
    assert not folded.is_duplicated().any()
    assert rows.filter(labels=1).height == rows.filter(labels=0).height
    assert all(len(text.strip()) > 1 for side in ("sentence1", "sentence2") for text in rows[side])
    assert rows.height // 2 + sum(dropped.count for dropped in tables.dropped) == sum(map(len, books))


@given(sides=SIDES, apart=st.integers(1, 4))
def test_every_paragraph_has_one_pair_of_each_label_or_is_counted_as_dropped(
    sides: list[tuple[str, str]], apart: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    book = make_book([first for first, _ in sides], [second for _, second in sides])
    tables = build({"a book": book}, tmp_path_factory.getbasetemp(), apart=apart)
    rows = read_rows(tables)
    complete = [position for position, texts in enumerate(sides) if all(text.strip() for text in texts)]
    for position in complete:
        far = [other for other in complete if abs(other - position) >= apart]
        labels = rows.filter(pl.col("id").str.starts_with(f"a book-{position}-"))["labels"].to_list()
        assert labels == ([1, 0] if far else [])
    assert rows.height // 2 + sum(dropped.count for dropped in tables.dropped) == len(sides)


def test_only_the_first_two_translations_count_and_a_book_with_one_is_dropped(tmp_path: Path) -> None:
    books = {
        "three": make_book(["a", "b"], ["c", "d"], ["e", "f", "g"]),
        "one": make_book(["x", "y"]),
        "none": make_book(),
    }
    tables = build(books, tmp_path, apart=1)
    assert read_rows(tables)["sentence2"].to_list() == ["c", "d", "d", "c"]
    [dropped] = tables.dropped
    assert (dropped.count, dropped.examples) == (2, ("one-0", "one-1"))


@pytest.mark.parametrize(
    ("books", "what", "location"),
    [
        ([], "the record has the wrong type", ""),
        ({"b": []}, "the record has the wrong type", "book 'b'"),
        ({"b": {"translator_data": []}}, "translator_data has the wrong type", "book 'b'"),
        ({"b": {}}, "translator_data is missing", "book 'b'"),
        (
            {"b": {"translator_data": {"t": {}}}},
            "translator_paras is missing",
            "book 'b', translation 't'",
        ),
        (
            {"b": {"translator_data": {"t": {"translator_paras": "text"}}}},
            "translator_paras has the wrong type",
            "book 'b', translation 't'",
        ),
        (
            {"b": {"translator_data": {"t": {"translator_paras": ["a", None]}}}},
            r"translator_paras\[\] is null",
            "book 'b', translation 't'",
        ),
        (
            {"b": {"translator_data": {"t": {"translator_paras": ["\ud800"]}}}},
            r"translator_paras\[\] is not valid Unicode",
            "book 'b', translation 't'",
        ),
        ({7: {"translator_data": {}}}, "name has the wrong type", "book 1"),
        (
            {"b": {"translator_data": {"t": {"translator_paras": ["a"]}, "u": {"translator_paras": ["a", "b"]}}}},
            "translations are not aligned",
            "book 'b'",
        ),
    ],
)
def test_a_pickle_with_another_structure_is_an_error_that_names_book_and_path(
    books: Any, what: str, location: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match=what) as caught:
        build(books, tmp_path)
    assert caught.value.where == ", ".join(filter(None, ("par3/par3.pkl", location)))


# The real Candide


def test_a_real_book_gives_two_pairs_per_paragraph_from_its_first_two_translations(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    tables = build(candide, tmp_path)
    rows = read_rows(tables)
    first, second = (one["translator_paras"] for one in candide["candide_fr"]["translator_data"].values())
    assert (tables.dropped, tables.observed) == ((), {"books": 1, "paragraphs": 306})
    same, other = (rows.filter(pl.col("labels") == label) for label in (1, 0))
    assert same["sentence1"].to_list() == other["sentence1"].to_list() == first
    assert same["sentence2"].to_list() == second
    assert other["sentence2"].n_unique() == 172
    assert rows["id"].head(4).to_list() == ["candide_fr-0-1", "candide_fr-0-0", "candide_fr-1-1", "candide_fr-1-0"]


def length_auc(rows: pl.DataFrame) -> float:
    """The area under the ROC curve of guessing label 1 from the difference of the two lengths: 0.5 is chance."""
    lengths = [pl.col(side).str.len_chars().cast(pl.Int64) for side in ("sentence1", "sentence2")]
    rows = rows.select("labels", difference=(lengths[0] - lengths[1]).abs())
    positives, negatives = (rows.filter(labels=label)["difference"].to_list() for label in (1, 0))
    wins = sum((positive > other) + (positive == other) / 2 for positive in positives for other in negatives)
    return wins / (len(positives) * len(negatives))


def test_lengths_reveal_the_label_of_a_real_pair_in_the_first_version_only(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    assert round(length_auc(read_rows(build(candide, tmp_path))), 2) == 0.91
    tables = build(candide, tmp_path, clean=True)
    assert 0.49 < length_auc(read_rows(tables)) < 0.51
    [dropped] = tables.dropped
    assert (dropped.count, dropped.examples) == (3, ("candide_fr-0", "candide_fr-30", "candide_fr-67"))
    assert (tables.observed, read_rows(tables).height) == ({"books": 1, "paragraphs": 303}, 606)


BY_LENGTH = "the one with the larger difference in length has the label same paragraph in 91 of 100 cases (AUC 0.905)"
BY_OVERLAP = "the one with more shared words has the label same paragraph in 91 of 100 cases"


@pytest.mark.parametrize(
    ("clean", "guesses"),
    [
        (False, {"label_by_length": BY_LENGTH, "label_by_overlap": f"{BY_OVERLAP} (AUC 0.905)"}),
        (True, {"label_by_overlap": f"{BY_OVERLAP} (AUC 0.914)"}),
    ],
    ids=["1.0.0", "2.0.0"],
)
def test_an_audit_finds_what_reveals_the_label_of_a_real_pair(
    clean: bool,
    guesses: dict[str, str],
    candide: dict[str, Any],
    tmp_path: Path,
) -> None:
    frames = {"default": {"test": read_rows(build(candide, tmp_path, clean=clean)).lazy()}}
    task = definition_of("dipper-pairclassification").dataset.task
    found = [found.finding for found in audit_tables(task, frames, ("test",))]
    details = {one.kind: one.detail for one in found if one.kind.startswith("label_by_")}
    assert details == {kind: f"of two pairs with different labels, {guess}" for kind, guess in guesses.items()}


def test_a_cleaned_version_chooses_the_paragraph_closest_in_length_to_the_translation_it_replaces(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    rows = read_rows(build(candide, tmp_path, clean=True))
    texts = dict(
        rows.filter(labels=1).select(pl.col("id").str.extract(r"-(\d+)-").cast(pl.Int64), "sentence2").iter_rows()
    )
    assert len(texts) == 303
    for position, text in zip(texts, rows.filter(labels=0)["sentence2"], strict=True):
        far = [other for other in texts if abs(other - position) >= 5]
        nearest = min(
            far, key=lambda other: (abs(len(texts[other]) - len(texts[position])), abs(other - position), other)
        )
        assert text == texts[nearest]


def test_the_first_version_chooses_the_far_paragraph_closest_in_length_to_the_first_translation(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    rows = read_rows(build(candide, tmp_path))
    first, second = (one["translator_paras"] for one in candide["candide_fr"]["translator_data"].values())
    for position, text in enumerate(rows.filter(pl.col("labels") == 0)["sentence2"]):
        far = [other for other in range(306) if abs(other - position) >= 5]
        nearest = min(
            far, key=lambda other: (abs(len(second[other]) - len(first[position])), abs(other - position), other)
        )
        assert text == second[nearest]
