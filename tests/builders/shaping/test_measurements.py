"""Files of measurements: what they answer, and which are refused. The rule for thresholds that a paper leaves open."""

import hashlib
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.shaping.measurements import (
    COSINE,
    LABSE,
    LABSE_REVISION,
    TOKENIZER,
    TOKENS,
    drop_below,
    hash_pairs,
    hash_texts,
    largest_threshold,
    read_measurements,
)
from builders.spec import Raw
from tests.support.measurements import REVISION, write_cosines, write_tokens

COUNTS = {"Кот спит.": 4, "": 0, "ёж\u2028и уж": 5, "e\u0301": 2, "é": 1}
COSINES = {("a", "bc"): 0.25, ("ab", "c"): -0.5, ("Дом", "House"): 0.81237}


@pytest.fixture
def tokens(tmp_path: Path) -> Raw:
    return write_tokens(tmp_path / "tokens.parquet", COUNTS)


def test_each_text_has_its_number_of_tokens_in_any_order_and_repeated(tokens: Raw) -> None:
    measured = read_measurements(tokens, TOKENS, f"{TOKENIZER}@{REVISION}")
    texts = pl.Series("text", [*COUNTS, *reversed(COUNTS)])
    assert measured.of(texts).to_list() == [COUNTS[text] for text in texts]
    assert measured.of(texts).dtype == pl.UInt32
    assert measured.of(texts.clear()).to_list() == []


def test_a_pair_is_not_the_text_of_both_and_has_a_direction(tmp_path: Path) -> None:
    raw = write_cosines(tmp_path / "cosines.parquet", COSINES)
    measured = read_measurements(raw, COSINE, f"{LABSE}@{LABSE_REVISION}")
    first, second = (pl.Series([pair[side] for pair in COSINES]) for side in (0, 1))
    assert measured.of_pairs(first, second).to_list() == [0.25, -0.5, 0.8124]
    with pytest.raises(SourceError, match="3 pairs not measured"):
        measured.of_pairs(second, first)


def test_keys_are_blake2b_as_the_documentation_says() -> None:
    texts = pl.Series(["Кот", ""])
    assert [int(key).to_bytes(8, "little") for key in hash_texts(texts)] == [
        hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts
    ]
    key = hash_pairs(pl.Series(["Кот"]), pl.Series(["cat"]))[0]
    assert int(key).to_bytes(8, "little") == hashlib.blake2b("6:Котcat".encode(), digest_size=8).digest()


def test_texts_that_were_not_measured_are_counted_and_the_command_is_named(tokens: Raw) -> None:
    measured = read_measurements(tokens, TOKENS, TOKENIZER)
    with pytest.raises(SourceError) as caught:
        measured.of(pl.Series(["Кот спит.", "Пёс лает.", "кот спит."]))
    assert "2 texts not measured" in str(caught.value)
    assert "'Пёс лает.'" in str(caught.value)
    assert f"embedding-datasets decide {tokens.name.split('/')[0]} --raw-dir DIR" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "model", "words"),
    [
        *(
            (TOKENS, model, "measured by another model")
            for model in (f"{TOKENIZER}@{'1' * 40}", "ai-forever/ruRoberta")
        ),
        *((TOKENS, model, "measured by another model") for model in ("another", "")),
        (COSINE, TOKENIZER, "kind tokens"),
    ],
)
def test_measurements_of_another_model_or_kind_are_refused(kind: str, model: str, words: str, tokens: Raw) -> None:
    with pytest.raises(SourceError, match=words):
        read_measurements(tokens, kind, model)


def test_a_file_with_any_byte_changed_is_refused_or_says_the_same(tokens: Raw) -> None:
    whole = tokens.path.read_bytes()
    model, texts = f"{TOKENIZER}@{REVISION}", pl.Series(list(COUNTS))
    for position in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[position] ^= 0x40
        tokens.path.write_bytes(changed)
        try:
            assert read_measurements(tokens, TOKENS, model).of(texts).to_list() == list(COUNTS.values())
        except SourceError:
            continue


@pytest.mark.parametrize("damage", ["other parquet", "text", "shortened", "empty", "columns changed"])
def test_a_damaged_file_is_refused_with_what_to_do(damage: str, tokens: Raw) -> None:
    whole = tokens.path.read_bytes()
    match damage:
        case "other parquet":
            pl.DataFrame({"key": [1], "value": [2]}).write_parquet(tokens.path)
        case "columns changed":
            metadata = pq.ParquetFile(tokens.path).metadata.metadata
            table = pq.read_table(tokens.path).set_column(1, "value", pa.array([9] * len(COUNTS), pa.uint32()))
            pq.write_table(table.replace_schema_metadata(metadata), tokens.path)
        case _:
            tokens.path.write_bytes({"text": b"text", "shortened": whole[:-40], "empty": b""}[damage])
    with pytest.raises(SourceError, match="not the measurements of texts, or damaged") as caught:
        read_measurements(tokens, TOKENS, TOKENIZER)
    assert "remove the file, then: embedding-datasets decide" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "rows", "threshold"),
    [
        ([0.91, 0.85, 0.84, 0.20], 2, 0.85),
        ([0.91, 0.8549, 0.84, 0.20], 2, 0.85),
        ([0.91, 0.85, 0.85, 0.85], 2, 0.85),
        ([0.91, 0.85], 5, 0.85),
        ([0.29, 0.29], 1, 0.29),
        ([-0.015], 1, -0.02),
        ([1.0, 1.0], 1, 1.0),
        ([], 3, 0.0),
    ],
)
def test_it_is_the_largest_hundredth_that_leaves_enough_rows(values: list[float], rows: int, threshold: float) -> None:
    assert largest_threshold(pl.Series(values, dtype=pl.Float64), rows) == threshold


@given(values=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=50), rows=st.integers(1, 60))
def test_one_hundredth_more_would_leave_too_few(values: list[int], rows: int) -> None:
    series = pl.Series([value / 10_000 for value in values])
    step = round(largest_threshold(series, rows) * 100)
    wanted = min(rows, len(series))
    assert (series >= step / 100).sum() >= wanted
    assert (series >= (step + 1) / 100).sum() < wanted


FRAME = pl.DataFrame({"id": ["a", "b", "c", "d"], "score": [0.9, 0.62, 0.5, 0.1]})


@pytest.mark.parametrize(
    ("rows", "at_most", "ids", "hundredths"),
    [
        (2, 1.0, ["a", "b"], 62),
        (2, 0.5, ["a", "b", "c"], 50),
        (3, 0.5, ["a", "b", "c"], 50),
        (4, 0.5, ["a", "b", "c", "d"], 10),
    ],
)
def test_rows_below_the_threshold_are_counted_and_the_threshold_is_observed(
    rows: int, at_most: float, ids: list[str], hundredths: int
) -> None:
    kept, dropped, observed = drop_below(FRAME, "score", rows, at_most=at_most)
    assert kept["id"].to_list() == ids
    assert sum(drop.count for drop in dropped) == 4 - len(ids)
    assert observed == {"threshold of score, in hundredths": hundredths}
