"""Questions with their answers, from sites where users vote: which answer is the positive of a question."""

import polars as pl

from builders.shaping.text import WHITE_SPACE


def choose_answers(questions: pl.DataFrame, *, number: str, text: str, votes: str, accepted: pl.Expr) -> pl.DataFrame:
    """Questions with one answer each: the accepted one; else the one with the most votes, and of these that with the smallest id.

    questions: answers (List(Struct)), and any other columns. number, text, votes: the keys of an answer with its id (Int64), its
    text (String) and its votes (Int64). accepted: of the keys of an answer and, where these have other names, the columns of its
    question. Answers without text are passed over; null votes are the fewest.

    Returns the questions, in their order, with the columns answer (String), accepted (Int64: 1 or 0) and answer_votes (Int64)
    instead of answers; null for a question without an answer that has a text.
    """
    numbered = questions.with_row_index("question")
    answer = questions.schema["answers"]
    assert isinstance(answer, pl.List)
    assert isinstance(answer.inner, pl.Struct)
    keys = {field.name for field in answer.inner.fields}
    of_question = [name for name in accepted.meta.root_names() if name not in keys]
    listed = numbered.select("question", *of_question, "answers").filter(pl.col("answers").list.len() > 0)
    answers = listed.explode("answers").unnest("answers").filter(pl.col(text).str.strip_chars(WHITE_SPACE) != "")
    ranked = answers.select(
        "question",
        answer=text,
        accepted=accepted.fill_null(value=False).cast(pl.Int64),
        answer_votes=votes,
        number=number,
    ).sort(*("question", "accepted", "answer_votes", "number"), descending=[False, True, True, False], nulls_last=True)
    best = ranked.unique("question", keep="first", maintain_order=True).drop("number")
    joined = numbered.drop("answers").join(best, on="question", how="left", maintain_order="left")
    return joined.drop("question")
