"""Which answer of a question is its positive."""

from typing import Any

import polars as pl
import pytest

from builders.shaping.choices import choose_answers

ANSWERS = pl.List(pl.Struct({"id": pl.Int64, "text": pl.String, "accepted": pl.Boolean, "votes": pl.Int64}))
COLUMNS = {"name": pl.String, "approved": pl.Int64, "votes": pl.Int64, "answers": ANSWERS}


def answer(
    number: int, text: str | None = "да", *, accepted: bool | None = False, votes: int | None = 0
) -> dict[str, Any]:
    return {"id": number, "text": text, "accepted": accepted, "votes": votes}


def choose(*questions: list[dict[str, Any]], accepted: str = "accepted") -> pl.DataFrame:
    """The chosen answers. accepted: the column of answers, or the column of questions with the id of the accepted answer."""
    rows = [(f"q{number}", 2, 100, answers) for number, answers in enumerate(questions)]
    is_accepted = pl.col(accepted) if accepted == "accepted" else pl.col("id") == pl.col(accepted)
    frame = pl.DataFrame(rows, COLUMNS, orient="row")
    chosen = choose_answers(frame, number="id", text="text", votes="votes", accepted=is_accepted)
    assert chosen.columns == ["name", "approved", "votes", "answer", "accepted", "answer_votes"]
    assert chosen["votes"].to_list() == [100] * len(rows)
    return chosen.drop("approved", "votes")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([answer(1, "a", votes=9), answer(2, "b", accepted=True, votes=-1)], ("b", 1, -1)),
        ([answer(1, "a", votes=2), answer(2, "b", votes=5)], ("b", 0, 5)),
        ([answer(8, "a", votes=5), answer(7, "b", votes=5)], ("b", 0, 5)),
        ([answer(1, "a", votes=None), answer(2, "b", votes=-3, accepted=None)], ("b", 0, -3)),
        ([answer(1, " \n", accepted=True), answer(2, None, votes=9), answer(3, "c")], ("c", 0, 0)),
        ([answer(1, "")], (None, None, None)),
        ([], (None, None, None)),
    ],
    ids=["accepted", "most votes", "smallest id", "null votes", "no text", "no answer with a text", "no answer"],
)
def test_the_positive_is_the_accepted_answer_else_the_one_with_the_most_votes(
    answers: list[dict[str, Any]], expected: tuple[Any, ...]
) -> None:
    assert choose(answers).rows() == [("q0", *expected)]


def test_questions_keep_their_order_and_are_not_mixed_up() -> None:
    chosen = choose([answer(3, "a")], [], [answer(2, "b", votes=1), answer(1, "c", votes=2)], [answer(9, "d")])
    assert chosen.select("name", "answer").rows() == [("q0", "a"), ("q1", None), ("q2", "c"), ("q3", "d")]


def test_the_accepted_answer_may_be_named_by_its_question() -> None:
    answers = [answer(1, "a", votes=9), answer(2, "b")]
    assert choose(answers, [answer(1, "c")], accepted="approved")["answer"].to_list() == ["b", "c"]
