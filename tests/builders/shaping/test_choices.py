"""Multiple-choice questions become retrieval: queries, the pool of answers, judgements, and label files. Which answer of a
question is its positive.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.shaping.choices import build_gold_pool, build_option_pool, choose_answers, read_gold_labels
from builders.spec import Raw
from tests.support.reading import write_raw
from tests.support.recipes import rows_of

Question = tuple[str, list[str], int]

TEXTS = st.sampled_from(["", " ", "a", "a ", "A", "\u00e4", "a\u0308", "b", "line\nbreak", "ß", "ss"])


@st.composite
def draw_question(draw: st.DrawFn) -> Question:
    options = draw(st.lists(TEXTS, min_size=1, max_size=5))
    return draw(TEXTS), options, draw(st.integers(0, len(options) - 1))


QUESTIONS = st.lists(draw_question(), min_size=1, max_size=8)
POOLS = st.lists(st.lists(st.lists(TEXTS, max_size=4), max_size=4), max_size=3)


def make_questions(questions: list[Question]) -> pl.DataFrame:
    schema = {"query": pl.String, "options": pl.List(pl.String), "gold": pl.Int64}
    return pl.DataFrame(questions, schema, orient="row")


def make_pools(splits: list[list[list[str]]]) -> list[pl.DataFrame]:
    return [pl.DataFrame({"options": split}, {"options": pl.List(pl.String)}) for split in splits]


def test_questions_become_queries_documents_and_judgements() -> None:
    questions = make_questions([("Which is red?", ["blood", "milk"], 0), ("Which is white?", ["coal", "milk"], 1)])
    gold = build_gold_pool(questions, prefix="q", split="test")
    assert rows_of(gold, "queries") == [("q-q-0", "Which is red?"), ("q-q-1", "Which is white?")]
    assert rows_of(gold, "corpus") == [("q-d-0", "", "blood"), ("q-d-1", "", "milk")]
    assert rows_of(gold, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]
    others = make_pools([[["milk", "snow"]], [["coal", "tar"]]])
    options = build_option_pool(questions, others, prefix="q", split="test")
    assert rows_of(options, "queries") == rows_of(gold, "queries")
    assert [text for _, _, text in rows_of(options, "corpus")] == ["blood", "milk", "coal", "snow", "tar"]
    assert rows_of(options, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]


@given(QUESTIONS, POOLS)
def test_the_option_pool_is_the_distinct_options_in_order_of_first_occurrence(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    texts = [text for _, options, _ in questions for text in options]
    texts += [text for split in others for options in split for text in options]
    tables = build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test")
    assert rows_of(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(dict.fromkeys(texts))]
    assert tables.observed["options in the pool before equal ones were merged"] == len(texts)


@given(QUESTIONS)
def test_the_gold_pool_is_the_distinct_gold_options_in_order_of_first_occurrence(questions: list[Question]) -> None:
    answers = dict.fromkeys(options[gold] for _, options, gold in questions)
    tables = build_gold_pool(make_questions(questions), prefix="p", split="test")
    assert rows_of(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(answers)]


@given(QUESTIONS, POOLS)
def test_every_query_has_one_judgement_for_the_text_of_its_gold_option(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    for tables in (
        build_gold_pool(make_questions(questions), prefix="p", split="test"),
        build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test"),
    ):
        texts = {name: text for name, _, text in rows_of(tables, "corpus")}
        judgements = [(query, texts[str(document)], score) for query, document, score in rows_of(tables, "qrels")]
        assert judgements == [(f"p-q-{i}", options[gold], 1) for i, (_, options, gold) in enumerate(questions)]
        assert rows_of(tables, "queries") == [(f"p-q-{i}", query) for i, (query, _, _) in enumerate(questions)]


@given(QUESTIONS, POOLS)
def test_other_splits_only_add_documents_at_the_end(questions: list[Question], others: list[list[list[str]]]) -> None:
    alone = build_option_pool(make_questions(questions), [], prefix="p", split="test")
    more = build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test")
    assert rows_of(more, "queries") == rows_of(alone, "queries")
    assert rows_of(more, "qrels") == rows_of(alone, "qrels")
    assert rows_of(more, "corpus")[: len(rows_of(alone, "corpus"))] == rows_of(alone, "corpus")


def label_files(folder: Path, lines: str) -> tuple[Raw, Raw]:
    """A file of labels, and a file of questions."""
    return write_raw(folder, lines, "source/dev-labels.lst"), write_raw(folder, "", "source/dev.jsonl")


def test_labels_in_a_separate_file_become_indices(tmp_path: Path) -> None:
    labels, questions = label_files(tmp_path, "2\r\n1\r\n2")
    gold = read_gold_labels(labels, {"1": 0, "2": 1}, questions, 3)
    assert (gold.name, gold.dtype, gold.to_list()) == ("gold", pl.Int64(), [1, 0, 1])


@pytest.mark.parametrize(("lines", "count"), [("1\n2\n", 3), ("1\n2\n1\n", 2), ("1\n2\n\n", 2), ("", 1)])
def test_different_numbers_of_labels_and_questions_are_an_error_that_names_both_files(
    lines: str, count: int, tmp_path: Path
) -> None:
    labels, questions = label_files(tmp_path, lines)
    with pytest.raises(SourceError) as caught:
        read_gold_labels(labels, {"1": 0, "2": 1}, questions, count)
    assert "source/dev-labels.lst does not belong to source/dev.jsonl" in caught.value.what
    assert caught.value.found == f"{count} questions and {lines.count(chr(10))} labels"


@pytest.mark.parametrize("label", ["0", "3", "", " 1", "1 ", "one"])
def test_a_label_without_an_index_is_an_error_that_names_its_line(label: str, tmp_path: Path) -> None:
    labels, questions = label_files(tmp_path, f"1\n{label}\n")
    with pytest.raises(SourceError, match=r"source/dev-labels\.lst, line 2") as caught:
        read_gold_labels(labels, {"1": 0, "2": 1}, questions, 2)
    assert caught.value.expected == "1, 2"


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
