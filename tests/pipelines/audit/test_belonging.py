"""pipelines.audit.belonging: pairs and judgements that were shuffled or shifted, and those that were not."""

from collections.abc import Callable

import polars as pl
import pytest

from builders import tasks
from pipelines.audit.belonging import find_unrelated_pairs

Change = Callable[[pl.Series], pl.Series]
COUNT = 120
NAMES = [f"name{number}" for number in range(COUNT)]


def shift(column: pl.Series) -> pl.Series:
    return pl.concat([column[-1:], column[:-1]])


def shift_from_the_middle(column: pl.Series) -> pl.Series:
    return pl.concat([column[: len(column) // 2], shift(column[len(column) // 2 :])])


def found(first: list[str], second: pl.Series, task: tasks.Task | None = None) -> dict[str, tuple[int, str]]:
    """The counts and details of the findings about pairs."""
    frames = {"default": {"test": pl.LazyFrame({"sentence1": first, "sentence2": second})}}
    if isinstance(task, tasks.BitextMining):
        frames = {task.pair: frames["default"]}
    findings = find_unrelated_pairs(task or tasks.STS(0, 5), frames, "test")
    return {one.finding.kind: (one.finding.count, one.finding.detail) for one in findings}


FIRST = [f"What did {name} say?" for name in NAMES]
SECOND = pl.Series([f"She said: {name.upper()} was here." for name in NAMES])


def test_pairs_that_share_rare_words_belong_together() -> None:
    assert found(FIRST, SECOND) == {}


@pytest.mark.parametrize(
    ("change", "row"), [(shift, "next"), (lambda column: pl.concat([column[1:], column[:1]]), "previous")]
)
def test_shifted_pairs_are_told_with_the_row_that_fits(change: Change, row: str) -> None:
    detail = f"100% share a rare word with the second text of the {row} row, 0% with their own"
    assert found(FIRST, change(SECOND))["shifted_pairs"] == (COUNT, detail)


def test_a_shift_of_a_part_is_found() -> None:
    first = [f"What did name{number} say?" for number in range(1000)]
    second = pl.Series([f"name{number} was here." for number in range(1000)])
    detail = "50% share a rare word with the second text of the next row, 50% with their own"
    assert found(first, shift_from_the_middle(second)) == {"shifted_pairs": (500, detail)}


def test_pairs_that_share_no_more_than_others_are_at_chance() -> None:
    second = pl.Series(
        [f"She said: {NAMES[number * 7 % COUNT]} and {NAMES[(number + 60) % COUNT]}." for number in range(COUNT)]
    )
    assert "pairs_at_chance" in found(FIRST, second)
    assert found(FIRST[:60], second[:60]) == {}


def test_texts_without_common_words_say_nothing() -> None:
    assert (
        found(FIRST, pl.Series([f"Ответ: {chr(1072 + number % 30)} {number // 30}" for number in range(COUNT)])) == {}
    )


def test_lengths_tell_translations_that_are_shifted_or_shuffled() -> None:
    bitext, sizes = tasks.BitextMining(pair="en-ru"), [3 + number * 37 % 101 for number in range(COUNT)]
    first, second = ["a" * size for size in sizes], pl.Series(["б" * size for size in sizes])
    assert found(first, second, bitext) == {}
    assert found(first, shift(second), bitext)["shifted_pairs"][0] == COUNT
    assert "pairs_at_chance" in found(first, second.sort(), bitext)


def test_judgements_are_compared_in_their_order_and_only_those_above_zero() -> None:
    ids = [str(number) for number in range(COUNT)]
    frames = {
        "queries": {"test": pl.LazyFrame({"id": ids, "text": FIRST})},
        "corpus": {"test": pl.LazyFrame({"id": ids, "title": [""] * COUNT, "text": SECOND})},
        "qrels": {
            "test": pl.LazyFrame(
                {"query-id": ids * 2, "corpus-id": ids + ids[1:] + ids[:1], "score": [1] * COUNT + [0] * COUNT}
            )
        },
    }
    assert find_unrelated_pairs(tasks.Retrieval(), frames, "test") == []
    frames["qrels"]["test"] = frames["qrels"]["test"].with_columns(score=1 - pl.col("score"))
    found = [one.finding for one in find_unrelated_pairs(tasks.Retrieval(), frames, "test")]
    assert [(finding.kind, finding.location, finding.count) for finding in found] == [
        ("shifted_pairs", "qrels/test", COUNT)
    ]


def test_pairs_with_their_sides_exchanged_are_told_by_what_one_side_alone_has() -> None:
    questions, answers = [*FIRST], [*SECOND]
    for row in range(10):
        questions[row], answers[row] = answers[row], questions[row]
    detail = "a question mark at the end: 92% of the first texts, 8% of the second, and the reverse in these pairs"
    assert found(questions, pl.Series(answers))["swapped_texts"] == (10, detail)
    questions[0], answers[0] = answers[0], questions[0]
    assert "swapped_texts" not in found(questions, pl.Series(answers)), "nine pairs"
    rhetorical = pl.Series([f"{text}?" if row < 15 else text for row, text in enumerate(SECOND)])
    assert found(FIRST, rhetorical) == {}, "answers that ask, to questions"


def test_a_shifted_run_is_counted_from_its_first_to_its_last_row() -> None:
    first = [f"What did name{number} say?" for number in range(1000)]
    second = [f"name{number} was here." for number in range(1000)]
    second[430:560] = [*second[431:560], second[430]]
    assert found(first, pl.Series(second))["shifted_pairs"][0] == 129


def test_a_side_that_was_sorted_by_itself_is_told_of_few_pairs() -> None:
    task = tasks.BitextMining(pair="en-de")
    first = [f"{'a long way to go ' * (1 + row * 7 % 23)}name{row}" for row in range(23)]
    second = pl.Series(
        sorted(f"{chr(97 + row * 5 % 23)} {'ein langer Weg ' * (1 + row * 7 % 23)}" for row in range(23))
    )
    count, detail = found(first, second, task)["pairs_at_chance"]
    assert (count, detail.partition("; ")[2]) == (23, "one side is in alphabetical order, the other is not")
    assert "pairs_at_chance" not in found(first, second.reverse(), task)
