"""Fingerprints of texts, and of the runs of their words."""

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.shaping.folding import fold_texts
from pipelines.decontamination.fingerprints import CHUNK_ROWS, chunk_offsets, fingerprint_texts, probe_digest, read_runs
from pipelines.decontamination.index_file import PRINTS

LETTERS = st.text("abйЁёЖ é№ﬁǅ😀,.-!\u00a0\u00ad\u2026x12+", max_size=30)
USUAL = st.text("abйЁёЖ №.,!-x12+\u00a0\u00ad", max_size=30)


def series(*texts: str) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def test_the_exact_number_is_blake2b_of_the_text() -> None:
    digest = hashlib.blake2b("Привет, мир".encode(), digest_size=8).digest()
    assert fingerprint_texts(series("Привет, мир"))["exact"].to_list() == [int.from_bytes(digest, "little")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A bee, on a flower", "a BEE on a flower!"),
        ("Дом № 5", "дом no 5"),
        ("Ёжик  в\u00a0тумане", "ёжик в тумане…"),
        ("ﬁne weather", "Fine weather"),
        (":)", ":) "),
    ],
)
def test_texts_that_differ_in_case_and_punctuation_share_all_but_the_exact_number(one: str, other: str) -> None:
    prints = fingerprint_texts(series(one, other))
    assert prints["exact"][0] != prints["exact"][1]
    same = prints.select("folded", "words", "rough", "n_words")
    assert same.row(0) == same.row(1)


@given(st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=20))
def test_texts_that_fold_alike_have_the_same_rough_number(pairs: list[tuple[str, str]]) -> None:
    texts = [text for text, _ in pairs] + [text.upper() for text, _ in pairs] + [text for _, text in pairs]
    texts += fold_texts(series(*texts)).to_list()
    prints = fingerprint_texts(series(*texts))
    rough: dict[int, int] = {}
    for folded, number in zip(prints["folded"], prints["rough"], strict=True):
        assert rough.setdefault(folded, number) == number


@given(USUAL, USUAL, USUAL)
def test_a_run_has_the_number_of_the_text_that_it_is(before: str, text: str, after: str) -> None:
    inner, outer = read_runs(series(text)), read_runs(series("one", f"{before} . {text} . {after}"))
    count, start = inner.words.counts[0], 1 + read_runs(series(before)).words.counts[0]
    whole = inner.numbers(np.array([0]), np.array([count]))
    assert whole == outer.numbers(np.array([start]), np.array([start + count]))


def test_an_empty_text_has_no_fingerprints() -> None:
    prints = fingerprint_texts(series("", " \n"))
    assert set(prints.drop("bands", "seeds").rows()) == {(0,) * 8}
    assert prints["bands"].to_list() == prints["seeds"].to_list() == [[], []]


def test_only_texts_of_eight_words_have_an_anchor_and_only_texts_of_five_have_bands() -> None:
    prints = fingerprint_texts(series("a b c d", "a b c d e", "a b c d e f g", "a b c d e f g h", "x " * 60, "x " * 80))
    assert (prints["anchor"] != 0).to_list() == [False, False, False, True, True, True]
    assert prints["bands"].list.len().to_list() == [0, 14, 14, 14, 28, 14]


def test_fingerprints_do_not_depend_on_the_texts_beside() -> None:
    texts = [f"Text number {number} is about № {number % 7} and ещё {number} слов" for number in range(50)]
    together = fingerprint_texts(series(*texts, "😀 other"))
    for number in (0, 17, 49):
        alone = fingerprint_texts(series(texts[number]))
        assert alone.row(0) == together.row(number)


def test_chunks_hold_all_texts_once() -> None:
    texts = series(*(["short"] * (CHUNK_ROWS + 5)), "long " * 500_000, "", "end")
    offsets = list(chunk_offsets(texts, np.arange(len(texts))))
    assert [start for start, _ in offsets] == [0, *(stop for _, stop in offsets[:-1])]
    assert offsets[-1][1] == len(texts)
    assert max(stop - start for start, stop in offsets) <= CHUNK_ROWS


def test_a_chunk_begins_only_where_it_may() -> None:
    texts = series(*["long " * 50_000] * 12)
    assert list(chunk_offsets(texts, np.array([0, 1, 9]))) == [(0, 1), (1, 9), (9, 12)]
    assert list(chunk_offsets(series(), np.empty(0, np.int64))) == []


def test_the_probe_is_that_of_the_format() -> None:
    """If this fails after an upgrade, indexes made before it cannot be read: raise FORMAT, or pin the library."""
    assert probe_digest(PRINTS[1]) == "c0443083f4d409f8716e8953812c813cfa57fdc1cd9223bc763d78450b235f97"
    assert probe_digest(PRINTS[2]) == "eabe52b8c2f47a8104bf8ed22cea0b2afa85483c1d11595c557f543260df489d"
