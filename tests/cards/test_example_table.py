"""The rows that a card shows."""

from builders import tasks
from cards.render import example_table

MULTILABEL = tasks.MultilabelClassification(labels=("joy", "fear"))


def test_labels_are_shown_by_name_and_ids_are_not_shown() -> None:
    rows = [{"id": "1", "text": "Снег.", "label": [0, 1]}, {"id": "2", "text": "Дождь.", "label": []}]
    assert example_table(MULTILABEL, rows) == [["text", "label"], ["Снег.", "joy, fear"], ["Дождь.", "(none)"]]
    pair = {"sentence1": "a", "sentence2": "b", "labels": 1}
    assert example_table(tasks.PairClassification(("no", "yes")), [pair])[1] == ["a", "b", "yes"]


def texts_shown(*texts: str) -> list[str]:
    rows = [{"text": text, "label": 0} for text in texts]
    return [row[0] for row in example_table(tasks.Classification(("bad", "good")), rows)[1:]]


def test_long_texts_are_cut_in_the_middle_between_words() -> None:
    [shown] = texts_shown("Premise: " + "a long word, " * 30 + "Hypothesis: it is cut")
    assert shown.startswith("Premise: a long word, ")
    assert "word, &#91;…&#93; " in shown
    assert shown.endswith("a long word, Hypothesis: it is cut")
    assert texts_shown("я" * 200) == ["я" * 100 + " &#91;…&#93; " + "я" * 60]
    assert texts_shown("a" * 160) == ["a" * 160]


def test_an_instruction_that_all_texts_begin_with_is_cut() -> None:
    instruction = "In this task, you are given a post and two answers to it, choose one. Post: "
    assert texts_shown(f"{instruction}snow", f"{instruction}snail") == ["&#91;…&#93; snow", "&#91;…&#93; snail"]
    assert texts_shown(instruction, instruction) == [instruction.strip()] * 2


def test_scores_are_short_and_nothing_is_a_dash() -> None:
    assert example_table(tasks.STS(low=0, high=5), [{"sentence1": "a", "score": 2.5}])[1] == ["a", "2.5"]
    row = {"text": "a", "label": 1, "category": [], "votes": 0, "post_id": "x", "lang": "ru"}
    assert example_table(tasks.Classification(("bad", "good")), [row]) == [
        ["text", "label", "category", "votes"],
        ["a", "good", "–", "0"],
    ]


def test_a_query_without_a_document_leaves_its_cell_empty() -> None:
    rows = [{"query": "?", "relevant": "!"}, {"query": "??"}]
    assert example_table(tasks.Retrieval(), rows) == [["query", "relevant"], ["?", "!"], ["??", "–"]]


def test_no_rows_give_no_table() -> None:
    assert example_table(MULTILABEL, []) == []


def test_of_the_documents_of_a_training_pair_the_first_is_shown_and_how_many_there_are() -> None:
    row = {
        "id": "s:0",
        "query": "q",
        "positives": ["p"],
        "negatives": ["word " * 100, "b"],
        "negative_kinds": ["random"] * 2,
    }
    heading, cells = example_table(tasks.Contrastive(("faq",)), [row])
    assert heading == ["query", "positives", "negatives"]
    assert cells[:2] == ["q", "p"]
    assert cells[2].endswith(" (and 1 more)")
    assert len(cells[2]) < 200
