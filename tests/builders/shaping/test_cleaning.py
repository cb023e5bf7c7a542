"""Which rows a cleaned version drops, and which it keeps."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.shaping.cleaning import clean_rows, deduplicate_texts, keep_first_texts
from builders.shaping.sampling import split
from builders.shaping.text import is_damaged
from builders.spec import Dropped
from tests.support.tables import audit_rows


def rows(*texts: str, labels: list[int] | None = None) -> pl.DataFrame:
    return pl.DataFrame({"text": texts, "label": labels or [0] * len(texts)}, {"text": pl.String, "label": pl.Int64})


def pairs(*texts: tuple[str, str], scores: list[float] | None = None) -> pl.DataFrame:
    first, second = zip(*texts, strict=True)
    return pl.DataFrame({"sentence1": first, "sentence2": second, "score": scores or [1.0] * len(texts)})


def clean_train(frame: pl.DataFrame) -> tuple[list[str], list[tuple[str, int]]]:
    """The texts left in a train split, and the reasons for dropping others with their counts."""
    cleaned, dropped = clean_rows({"train": frame}, ("train",))
    return cleaned["train"]["text"].to_list(), [(drop.reason, drop.count) for drop in dropped]


FOLDED = ", ignoring case, punctuation and white space"
TWO_LABELS = "the same text has a different label in another row"


@pytest.mark.parametrize(
    ("frame", "left", "reasons"),
    [
        (rows("да", "", "\xa0", " я ", "\n!"), ["да"], {"a text is empty or a single character": 4}),
        (
            rows("один", "два", "один", "Один!"),
            ["один", "два"],
            {"duplicate of an earlier row": 1, f"duplicate of an earlier row{FOLDED}": 1},
        ),
        (rows("один", "два", "один", "один", labels=[0, 1, 1, 0]), ["два"], {TWO_LABELS: 3}),
        (rows("нет.", "Нет!", "нет.", "да", "нет", labels=[0, 1, 0, 1, 0]), ["да"], {TWO_LABELS + FOLDED: 4}),
        (rows("нет", "нет", "Нет!", "да", labels=[0, 1, 1, 1]), ["да"], {TWO_LABELS: 2, TWO_LABELS + FOLDED: 1}),
    ],
    ids=[
        "texts of at most one character are dropped",
        "of equal texts the first is kept",
        "all rows of a text with two labels are dropped",
        "a text with another label in other punctuation is dropped with all its rows",
        "of a text with two labels no variant is left",
    ],
)
def test_what_a_cleaned_split_drops(frame: pl.DataFrame, left: list[str], reasons: dict[str, int]) -> None:
    assert clean_train(frame) == (left, [*reasons.items()])


def test_versions_released_earlier_compare_the_texts_of_a_split_exactly_and_keep_damaged_ones() -> None:
    frame = rows("один", "Один!", "один", "два\ufffd", labels=[0, 1, 0, 1])
    cleaned, dropped = clean_rows({"train": frame}, ("train",), thorough=False)
    assert cleaned["train"]["text"].to_list() == ["один", "Один!", "два\ufffd"]
    assert [(drop.reason, drop.count) for drop in dropped] == [("duplicate of an earlier row", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "caf\ufffd",
        "cafÃ©",
        "Itâ€™s",
        "ï¿½650",
        "10Â°",
        "ï»¿title",
        "РњРѕСЃРєРІР°",
        "Ð\x9cÐ¾Ñ\x81ÐºÐ²Ð°",
        "нашла СЃРІРѕРµРіРѕ отца",
    ],
)
def test_texts_that_a_wrong_decoding_damaged_are_dropped(text: str) -> None:
    texts, dropped = clean_train(rows("да", text))
    assert texts == ["да"]
    assert dropped == [("a text is damaged by a wrong decoding", 1)]


@pytest.mark.parametrize(
    "text",
    ["café", "SÃO PAULO", "Ñandú", "10 °C", "Москва", "С…", "РГГУ и СССР", "С°С", "Āé", "naïve ¿no?", "Рёв Сёмги", ""],
)
def test_a_text_with_the_letters_of_mojibake_is_not_damaged(text: str) -> None:
    assert pl.select(is_damaged(pl.lit(text))).to_series().to_list() == [False]


@pytest.mark.parametrize("code_page", ["cp1251", "cp1252"])
def test_russian_words_and_accents_are_found_in_every_reading_of_their_bytes(code_page: str) -> None:
    texts = ["Пьяный ёж ЩЁЛКАЕТ эхом"] if code_page == "cp1251" else ["é", "ü", "–", "’", "Привет"]
    read = ["".join(bytes([byte]).decode(code_page, "ignore") or chr(byte) for byte in text.encode()) for text in texts]
    assert pl.DataFrame({"text": read}).select(is_damaged(pl.col("text")))["text"].all()


def test_labels_may_be_lists() -> None:
    frame = pl.DataFrame({"text": ["один", "один", "два", "два"], "label": [[0, 1], [0], [], []]})
    cleaned, _ = clean_rows({"test": frame}, ("test",))
    assert cleaned["test"].rows() == [("два", [])]


def test_a_text_in_two_splits_is_kept_in_the_later_one() -> None:
    frames = {"train": rows("один", "два", "три"), "validation": rows("два", "пять"), "test": rows("ПЯТЬ!", "один")}
    cleaned, dropped = clean_rows(frames, ("train", "validation", "test"))
    assert {split: frame["text"].to_list() for split, frame in cleaned.items()} == {
        "train": ["три"],
        "validation": ["два"],
        "test": ["ПЯТЬ!", "один"],
    }
    assert dropped == (
        Dropped("the text is also in the test split", 1, "train", ("row 1",)),
        Dropped("the text is also in the validation split", 1, "train", ("row 2",)),
        Dropped("the text is also in the test split", 1, "validation", ("row 2",)),
    )


def test_a_split_that_is_not_requested_is_compared_but_not_returned() -> None:
    cleaned, dropped = clean_rows({"train": rows("один", "два"), "test": rows("один", "один")}, ("train",))
    assert list(cleaned) == ["train"]
    assert [(drop.split, drop.count) for drop in dropped] == [("train", 1)]


def test_pairs_are_compared_as_a_whole() -> None:
    frame = pairs(("а б", "в"), ("а", "б в"), ("аб", "вг"), ("аб", "вг"), ("вг", "аб"))
    cleaned, dropped = clean_rows({"test": frame}, ("test",), texts=("sentence1", "sentence2"), label="score")
    assert cleaned["test"].select("sentence1", "sentence2").rows() == [("аб", "вг"), ("вг", "аб")]
    assert [(drop.reason, drop.count) for drop in dropped] == [
        ("a text is empty or a single character", 2),
        ("duplicate of an earlier row", 1),
    ]


@pytest.mark.parametrize(
    ("frame", "top", "left", "reasons"),
    [
        (
            pairs(("кот", "пёс"), ("пёс", "кот"), ("дом", "сад"), ("сад", "дом"), scores=[1, 1, 1, 0]),
            None,
            [("кот", "пёс", 1.0)],
            {"the same pair has a different score in another row": 2, "duplicate of an earlier row": 1},
        ),
        (
            pairs(("Кот.", "кот"), ("пёс", "пёс"), ("дом", "сад"), scores=[4.8, 5.0, 0.0]),
            5.0,
            [("пёс", "пёс", 5.0), ("дом", "сад", 0.0)],
            {"the two texts are equal, but the score is not the highest": 1},
        ),
    ],
    ids=["a swapped pair is a duplicate", "equal texts with a low score"],
)
def test_what_symmetric_pairs_lose(
    frame: pl.DataFrame, top: float | None, left: list[tuple[str, str, float]], reasons: dict[str, int]
) -> None:
    texts = ("sentence1", "sentence2")
    cleaned, dropped = clean_rows({"test": frame}, ("test",), texts=texts, label="score", symmetric=True, top=top)
    assert cleaned["test"].rows() == left
    assert {drop.reason: drop.count for drop in dropped} == reasons


def test_dropped_rows_are_named_by_their_id_if_they_have_one() -> None:
    _, dropped = clean_rows({"test": rows("один", "").with_columns(id=pl.Series(["a", "b"]))}, ("test",))
    assert dropped == (Dropped("a text is empty or a single character", 1, "test", ("b",)),)


TEXT = st.sampled_from(["", "а", "аб", "Аб", "аб!", "бв", " бв", "бв\xa0", "в г", "в-г"])
SPLIT = st.lists(st.tuples(TEXT, st.integers(0, 1)), max_size=8)
PREVENTED = {"split_leak", "duplicate_text", "duplicate_pair", "conflicting_label", "empty_text", "short_text"}


@given(train=SPLIT, test=SPLIT)
def test_an_audit_finds_nothing_that_cleaning_prevents(
    train: list[tuple[str, int]], test: list[tuple[str, int]]
) -> None:
    schema = {"text": pl.String, "label": pl.Int64}
    frames = {"train": pl.DataFrame(train, schema, orient="row"), "test": pl.DataFrame(test, schema, orient="row")}
    cleaned, dropped = clean_rows(frames, ("train", "test"))
    rest = sum(frame.height for frame in cleaned.values())
    assert rest + sum(drop.count for drop in dropped) == len(train) + len(test)
    if all(frame.height for frame in cleaned.values()):
        task = tasks.Classification(labels=("no", "yes"), splits=("train", "test"))
        lazy = {"default": {split: frame.lazy() for split, frame in cleaned.items()}}
        assert not PREVENTED & {finding.kind for finding in audit_rows(task, lazy, task.splits)}


def pool(*texts: str, labels: list[int] | None = None) -> pl.DataFrame:
    return rows(*texts, labels=labels).with_columns(id=pl.int_range(pl.len()).cast(pl.String))


@pytest.mark.parametrize(
    ("texts", "labels", "fold", "kept", "dropped"),
    [
        (["Один.", "два", "один", "ДВА!", "три"], None, True, ["0", "1", "4"], {"duplicate of an earlier row": "23"}),
        (["Один.", "два", "один"], [0, 1, 1], True, ["1"], {TWO_LABELS: "02"}),
        (["да", "", " я "], [0, 1, 0], True, ["0"], {"a text is empty or a single character": "12"}),
        (
            ["да", "Да", "да", "я", "ты", "ты"],
            [0, 1, 0, 0, 0, 1],
            False,
            ["0", "1", "3"],
            {TWO_LABELS: "45", "duplicate of an earlier row": "2"},
        ),
    ],
    ids=["the first of equal texts is kept", "with two labels none is", "short texts are dropped", "without folding"],
)
def test_what_deduplication_drops(
    texts: list[str], labels: list[int] | None, fold: bool, kept: list[str], dropped: dict[str, str]
) -> None:
    cleaned, drops = deduplicate_texts(pool(*texts, labels=labels), fold=fold)
    assert cleaned["id"].to_list() == kept
    assert drops == tuple(Dropped(reason, len(ids), "all", (*ids,)) for reason, ids in dropped.items())


def test_texts_may_be_hashes_and_labels_may_be_lists() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"], "hash": [7, 7, 8, 8], "topics": [[0, 1], [0], [2], [2]]})
    cleaned, _ = deduplicate_texts(frame, text="hash", label="topics")
    assert cleaned.rows() == [("c", 8, [2])]


@given(SPLIT)
def test_splits_drawn_from_deduplicated_rows_share_no_text(texts: list[tuple[str, int]]) -> None:
    frame = pool(*(text for text, _ in texts), labels=[label for _, label in texts])
    cleaned, dropped = deduplicate_texts(frame, fold=True)
    assert cleaned.height + sum(drop.count for drop in dropped) == len(texts)
    assert cleaned["id"].cast(pl.Int64).is_sorted()
    drawn = split(
        cleaned, {"train": cleaned.height // 2, "test": cleaned.height - cleaned.height // 2}, key="id", seed="any"
    )
    if cleaned.height > 1:
        splits, more = clean_rows(drawn, ("train", "test"))
        assert more == ()
        assert sum(rows.height for rows in splits.values()) == cleaned.height


def test_the_first_row_of_a_text_may_be_kept_whatever_the_labels_of_others() -> None:
    cleaned, dropped = keep_first_texts(pool("да", "Да", "да", "я", "да", labels=[0, 1, 0, 0, 1]), named="rating")
    assert cleaned["id"].to_list() == ["0", "1", "3"]
    assert dropped == (
        Dropped("duplicate of an earlier row, with a different rating", 1, "all", ("4",)),
        Dropped("duplicate of an earlier row, with the same rating", 1, "all", ("2",)),
    )
