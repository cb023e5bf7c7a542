"""Questions with their answers, from sites where users vote: which answer is the positive of a question."""

from __future__ import annotations

import polars as pl

from builders.shaping.text import WHITE_SPACE


def choose_answers(questions: pl.DataFrame) -> pl.DataFrame:
    """Questions with one answer each: the accepted one; else the one with the most votes, and of these that with the smallest id.

    questions: answers, List(Struct) of id (Int64), text (String), accepted (Boolean), votes (Int64), all but the id null where
    unknown; and any other columns. Answers without text are passed over; null votes are the fewest.

    Returns the questions, in their order, with the columns answer (String), accepted (Int64: 1 or 0) and answer_votes (Int64)
    instead of answers; null for a question without an answer that has a text.
    """
    numbered = questions.with_row_index("question")
    answers = numbered.select("question", "answers").filter(pl.col("answers").list.len() > 0)
    answers = answers.explode("answers").unnest("answers")
    with_text = answers.filter(pl.col("text").str.strip_chars(WHITE_SPACE) != "")
    ranked = with_text.with_columns(pl.col("accepted").fill_null(value=False)).sort(
        "question", "accepted", "votes", "id", descending=[False, True, True, False], nulls_last=True
    )
    best = ranked.unique("question", keep="first", maintain_order=True).select(
        "question", answer="text", accepted=pl.col("accepted").cast(pl.Int64), answer_votes="votes"
    )
    joined = numbered.drop("answers").join(best, on="question", how="left", maintain_order="left")
    return joined.drop("question")
