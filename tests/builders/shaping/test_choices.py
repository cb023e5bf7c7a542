"""Multiple-choice questions become retrieval: queries, the pool of answers, judgements, and label files."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.shaping.choices import build_gold_pool, build_option_pool, read_gold_labels
from builders.spec import Raw, Tables
from tests.support.reading import write_raw

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


def rows(tables: Tables, config: str) -> list[tuple[object, ...]]:
    return tables.frames[config]["test"].lazy().collect().rows()


def test_questions_become_queries_documents_and_judgements() -> None:
    questions = make_questions([("Which is red?", ["blood", "milk"], 0), ("Which is white?", ["coal", "milk"], 1)])
    gold = build_gold_pool(questions, prefix="q", split="test")
    assert rows(gold, "queries") == [("q-q-0", "Which is red?"), ("q-q-1", "Which is white?")]
    assert rows(gold, "corpus") == [("q-d-0", "", "blood"), ("q-d-1", "", "milk")]
    assert rows(gold, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]
    others = make_pools([[["milk", "snow"]], [["coal", "tar"]]])
    options = build_option_pool(questions, others, prefix="q", split="test")
    assert rows(options, "queries") == rows(gold, "queries")
    assert [text for _, _, text in rows(options, "corpus")] == ["blood", "milk", "coal", "snow", "tar"]
    assert rows(options, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]


@given(QUESTIONS, POOLS)
def test_the_option_pool_is_the_distinct_options_in_order_of_first_occurrence(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    texts = [text for _, options, _ in questions for text in options]
    texts += [text for split in others for options in split for text in options]
    tables = build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test")
    assert rows(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(dict.fromkeys(texts))]
    assert tables.observed["options in the pool before equal ones were merged"] == len(texts)


@given(QUESTIONS)
def test_the_gold_pool_is_the_distinct_gold_options_in_order_of_first_occurrence(questions: list[Question]) -> None:
    answers = dict.fromkeys(options[gold] for _, options, gold in questions)
    tables = build_gold_pool(make_questions(questions), prefix="p", split="test")
    assert rows(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(answers)]


@given(QUESTIONS, POOLS)
def test_every_query_has_one_judgement_for_the_text_of_its_gold_option(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    for tables in (
        build_gold_pool(make_questions(questions), prefix="p", split="test"),
        build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test"),
    ):
        texts = {name: text for name, _, text in rows(tables, "corpus")}
        judgements = [(query, texts[str(document)], score) for query, document, score in rows(tables, "qrels")]
        assert judgements == [(f"p-q-{i}", options[gold], 1) for i, (_, options, gold) in enumerate(questions)]
        assert rows(tables, "queries") == [(f"p-q-{i}", query) for i, (query, _, _) in enumerate(questions)]


@given(QUESTIONS, POOLS)
def test_other_splits_only_add_documents_at_the_end(questions: list[Question], others: list[list[list[str]]]) -> None:
    alone = build_option_pool(make_questions(questions), [], prefix="p", split="test")
    more = build_option_pool(make_questions(questions), make_pools(others), prefix="p", split="test")
    assert rows(more, "queries") == rows(alone, "queries")
    assert rows(more, "qrels") == rows(alone, "qrels")
    assert rows(more, "corpus")[: len(rows(alone, "corpus"))] == rows(alone, "corpus")


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
