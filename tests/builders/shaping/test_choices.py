"""Multiple choice as retrieval: what becomes of questions, options and labels, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.ateb import alphanli, hellaswag, piqa, winogrande
from builders.errors import SourceError
from builders.shaping.choices import gold_lines, gold_pool, option_pool
from builders.spec import Raw, Tables

if TYPE_CHECKING:
    from pathlib import Path

Question = tuple[str, list[str], int]

quick = settings(deadline=None, max_examples=60)
TEXTS = st.sampled_from(["", " ", "a", "a ", "A", "\u00e4", "a\u0308", "b", "line\nbreak", "ß", "ss"])


@st.composite
def one_question(draw: st.DrawFn) -> Question:
    options = draw(st.lists(TEXTS, min_size=1, max_size=5))
    return draw(TEXTS), options, draw(st.integers(0, len(options) - 1))


QUESTIONS = st.lists(one_question(), min_size=1, max_size=8)
POOLS = st.lists(st.lists(st.lists(TEXTS, max_size=4), max_size=4), max_size=3)


def table(questions: list[Question]) -> pl.DataFrame:
    schema = {"query": pl.String, "options": pl.List(pl.String), "gold": pl.Int64}
    return pl.DataFrame(questions, schema, orient="row")


def pools(splits: list[list[list[str]]]) -> list[pl.DataFrame]:
    return [pl.DataFrame({"options": split}, {"options": pl.List(pl.String)}) for split in splits]


def rows(tables: Tables, config: str) -> list[tuple[object, ...]]:
    return tables.frames[config]["test"].lazy().collect().rows()


def test_two_questions_become_queries_documents_and_judgements() -> None:
    questions = table([("Which is red?", ["blood", "milk"], 0), ("Which is white?", ["coal", "milk"], 1)])
    gold = gold_pool(questions, prefix="q", split="test")
    assert rows(gold, "queries") == [("q-q-0", "Which is red?"), ("q-q-1", "Which is white?")]
    assert rows(gold, "corpus") == [("q-d-0", "", "blood"), ("q-d-1", "", "milk")]
    assert rows(gold, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]
    every = option_pool(questions, pools([[["milk", "snow"]], [["coal", "tar"]]]), prefix="q", split="test")
    assert rows(every, "queries") == rows(gold, "queries")
    assert [text for _, _, text in rows(every, "corpus")] == ["blood", "milk", "coal", "snow", "tar"]
    assert rows(every, "qrels") == [("q-q-0", "q-d-0", 1), ("q-q-1", "q-d-1", 1)]


@quick
@given(QUESTIONS, POOLS)
def test_the_pool_is_the_distinct_options_in_order_of_first_sight(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    seen = [text for _, options, _ in questions for text in options]
    seen += [text for split in others for options in split for text in options]
    tables = option_pool(table(questions), pools(others), prefix="p", split="test")
    assert rows(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(dict.fromkeys(seen))]
    assert tables.observed["options in the pool before equal ones were merged"] == len(seen)


@quick
@given(QUESTIONS)
def test_the_gold_pool_is_the_distinct_right_options_in_order_of_first_sight(questions: list[Question]) -> None:
    right = dict.fromkeys(options[gold] for _, options, gold in questions)
    tables = gold_pool(table(questions), prefix="p", split="test")
    assert rows(tables, "corpus") == [(f"p-d-{j}", "", text) for j, text in enumerate(right)]


@quick
@given(QUESTIONS, POOLS)
def test_every_query_is_judged_once_for_the_text_of_its_right_option(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    for tables in (
        gold_pool(table(questions), prefix="p", split="test"),
        option_pool(table(questions), pools(others), prefix="p", split="test"),
    ):
        texts = {name: text for name, _, text in rows(tables, "corpus")}
        judged = [(query, texts[str(document)], score) for query, document, score in rows(tables, "qrels")]
        assert judged == [(f"p-q-{i}", options[gold], 1) for i, (_, options, gold) in enumerate(questions)]
        assert rows(tables, "queries") == [(f"p-q-{i}", query) for i, (query, _, _) in enumerate(questions)]


@quick
@given(QUESTIONS, POOLS)
def test_other_splits_add_documents_at_the_end_and_change_nothing_else(
    questions: list[Question], others: list[list[list[str]]]
) -> None:
    alone = option_pool(table(questions), [], prefix="p", split="test")
    more = option_pool(table(questions), pools(others), prefix="p", split="test")
    assert rows(more, "queries") == rows(alone, "queries")
    assert rows(more, "qrels") == rows(alone, "qrels")
    assert rows(more, "corpus")[: len(rows(alone, "corpus"))] == rows(alone, "corpus")


def raw(path: Path, content: str) -> Raw:
    path.write_bytes(content.encode())
    return Raw(f"source/{path.name}", path)


def json_file(path: Path, *records: dict[str, object]) -> Raw:
    return raw(path, "".join(json.dumps(record) + "\n" for record in records))


def test_labels_of_a_file_of_their_own_become_places(tmp_path: Path) -> None:
    rows_, labels = raw(tmp_path / "dev.jsonl", ""), raw(tmp_path / "dev-labels.lst", "2\r\n1\r\n2")
    gold = gold_lines(labels, {"1": 0, "2": 1}, rows_, 3)
    assert (gold.name, gold.dtype, gold.to_list()) == ("gold", pl.Int64(), [1, 0, 1])


@pytest.mark.parametrize(("lines", "count"), [("1\n2\n", 3), ("1\n2\n1\n", 2), ("1\n2\n\n", 2), ("", 1)])
def test_as_many_labels_as_questions_or_an_error_that_names_both_files(lines: str, count: int, tmp_path: Path) -> None:
    rows_, labels = raw(tmp_path / "dev.jsonl", ""), raw(tmp_path / "dev-labels.lst", lines)
    with pytest.raises(SourceError) as caught:
        gold_lines(labels, {"1": 0, "2": 1}, rows_, count)
    assert "source/dev-labels.lst does not belong to source/dev.jsonl" in caught.value.what
    assert caught.value.found == f"{count} questions and {lines.count(chr(10))} labels"


@pytest.mark.parametrize("label", ["0", "3", "", " 1", "1 ", "one"])
def test_a_label_that_has_no_place_is_an_error_with_its_line(label: str, tmp_path: Path) -> None:
    rows_, labels = raw(tmp_path / "dev.jsonl", ""), raw(tmp_path / "dev-labels.lst", f"1\n{label}\n")
    with pytest.raises(SourceError, match=r"source/dev-labels\.lst, line 2") as caught:
        gold_lines(labels, {"1": 0, "2": 1}, rows_, 2)
    assert caught.value.expected == "1, 2"


def test_piqa_counts_its_labels_from_zero_and_keeps_blanks(tmp_path: Path) -> None:
    rows_ = json_file(tmp_path / "valid.jsonl", {"goal": "sponge", "sol1": "dries ", "sol2": " flies"})
    table_ = piqa.questions(rows_, raw(tmp_path / "valid-labels.lst", "0\n"))
    assert table_.rows() == [("sponge", ["dries ", " flies"], 0)]
    with pytest.raises(SourceError, match="unknown label"):
        piqa.questions(rows_, raw(tmp_path / "valid-labels.lst", "2\n"))


def test_alphanli_puts_both_observations_into_the_query_and_counts_its_labels_from_one(tmp_path: Path) -> None:
    record = {"story_id": "x-1", "obs1": "It rained. ", "obs2": "It {} dried.", "hyp1": "Sun.", "hyp2": "Snow."}
    rows_ = json_file(tmp_path / "dev.jsonl", record)
    table_ = alphanli.questions(rows_, raw(tmp_path / "dev-labels.lst", "1\n"))
    assert table_.rows() == [("Start: It rained.  End: It {} dried.", ["Sun.", "Snow."], 0)]
    with pytest.raises(SourceError, match="unknown label"):
        alphanli.questions(rows_, raw(tmp_path / "dev-labels.lst", "0\n"))


@pytest.mark.parametrize("sentence", ["Ann saw _ .", "Ann saw _", "Did Ann see _?", "{} saw _."])
def test_winogrande_adds_its_full_stop_whatever_the_sentence_ends_with(sentence: str, tmp_path: Path) -> None:
    record = {"qID": "3A-1", "sentence": sentence, "option1": "Bo", "option2": "Al", "answer": "2"}
    table_ = winogrande.questions(json_file(tmp_path / "dev.jsonl", record))
    assert table_.rows() == [(f"Sentence: {sentence}.", ["Bo", "Al"], 1)]


def test_a_winogrande_answer_other_than_one_or_two_is_an_error_with_its_line(tmp_path: Path) -> None:
    record = {"qID": "3A-1", "sentence": "Ann saw _ .", "option1": "Bo", "option2": "Al", "answer": "1"}
    rows_ = json_file(tmp_path / "dev.jsonl", record, record | {"answer": ""})
    with pytest.raises(SourceError, match=r"source/dev\.jsonl, line 2"):
        winogrande.questions(rows_)


@pytest.mark.parametrize(
    "wrong", [{"label": 4}, {"label": -1}, {"endings": ["runs.", "sits.", "flies."]}, {"endings": [], "label": 0}]
)
def test_a_hellaswag_label_that_is_the_place_of_no_ending_is_an_error_with_its_line(
    wrong: dict[str, object], tmp_path: Path
) -> None:
    item: dict[str, object] = {"ctx": "A dog. it", "endings": ["runs.", "sits.", "flies.", "reads."], "label": 3}
    assert hellaswag.questions(json_file(tmp_path / "fine.jsonl", item))["gold"].to_list() == [3]
    with pytest.raises(SourceError, match=r"source/val\.jsonl, line 2") as caught:
        hellaswag.questions(json_file(tmp_path / "val.jsonl", item, item | wrong))
    assert caught.value.expected == "four endings and a label from 0 to 3"
