"""Repeated texts, whose severity depends on the task; pairs with equal sides, and their scores; texts in two splits."""

import polars as pl
import pytest

import embedding_datasets as ed
from cards.kinds import FOLDED_DETAIL, MEANING_DETAIL
from pipelines.audit.copies.duplicates import DISGUISED_DETAIL, REORDERED_DETAIL
from tests.support.tables import Change, clean_tables, combine, quality_findings, resolve_names, with_rows, with_value


def duplicate_severities(task_type: str, change: Change) -> dict[str, str]:
    findings = quality_findings(task_type, change(clean_tables(task_type)))
    return {finding.location: finding.severity for finding in findings if finding.kind == "duplicate_text"}


def test_a_text_that_recurs_by_design_is_only_info() -> None:
    premises = with_value("default", "test", "sentence1", 1, "0 test sentence number 0")
    assert duplicate_severities("PairClassification", premises) == {"default/test": "info"}
    assert duplicate_severities("STS", premises) == {"default/test": "info"}
    queries = with_value("queries", "test", "text", 1, "who makes honey (test)")
    assert duplicate_severities("Reranking", queries) == {"queries/test.text": "info"}
    assert duplicate_severities("Retrieval", queries) == {"queries/test.text": "warning"}


@pytest.mark.parametrize("score", [float("nan"), 6.0])
def test_a_score_outside_the_scale_is_not_below_its_top(score: float) -> None:
    tables = with_rows("default", "test", ("e", "Bees.", "Bees.", score))(clean_tables("STS"))
    assert "identical_pair" not in {finding.kind for finding in quality_findings("STS", tables)}


def test_the_detail_gives_the_scores_and_tells_exact_pairs_from_folded_ones() -> None:
    tables = combine(
        with_rows(
            "default", "test", ("e", "Bees.", "Bees.", 4.8), ("f", "Wax.", "Wax.", 3.2), ("g", "Ants", "ants.", 4.0)
        )
    )(clean_tables("STS"))
    findings = [finding for finding in quality_findings("STS", tables) if finding.kind == "identical_pair"]
    assert [(finding.count, finding.examples, finding.detail) for finding in findings] == [
        (2, ("e", "f"), "scores 3.2 to 4.8, the highest is 5"),
        (1, ("g",), f"{FOLDED_DETAIL}; score 4, the highest is 5"),
    ]


def test_a_text_leaks_either_exactly_or_after_folding() -> None:
    leaked = [
        "1 train sentence number 1",
        "1 TRAIN sentence number 1",
        "1 train sentence number 1",
        "２ Train: Sentence -- number ２",
    ]
    tables = combine(*(with_value("default", "test", "text", row, text) for row, text in enumerate(leaked)))(
        clean_tables("MultilabelClassification")
    )
    findings = quality_findings("MultilabelClassification", tables)
    leaks = [finding for finding in findings if finding.kind == "split_leak"]
    names = resolve_names(tables, "default", "test", ("row 0", "row 1", "row 3"))
    assert [(leak.count, leak.examples, leak.detail) for leak in leaks] == [
        (1, names[:1], "in train"),
        (2, names[1:], f"in train, {FOLDED_DETAIL}"),
    ]
    assert leaks[0].share == pytest.approx(1 / 23)


def test_the_corpora_of_two_splits_may_share_documents() -> None:
    tables = clean_tables("Reranking")
    assert tables["corpus"]["test"].equals(tables["corpus"]["validation"])
    assert quality_findings("Reranking", tables) == []


def test_texts_that_differ_in_a_face_or_a_sign_are_neither_copies_nor_conflicts() -> None:
    texts = ["Пришёл :)", "Пришёл :(", "Было -5", "Было 5", "Да?", "Да!", "Счёт 2:1", "Счёт 2-1", "Ура!!", "ура !"]
    labels = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    findings = ed.check(pl.DataFrame({"text": texts, "label": labels}), task="Classification").findings
    counts = {
        found.kind: (found.count, found.detail)
        for found in findings
        if found.kind in ("duplicate_text", "conflicting_label")
    }
    assert counts == {"duplicate_text": (1, MEANING_DETAIL), "conflicting_label": (1, MEANING_DETAIL)}


def test_repeated_sides_of_pairs_are_one_finding() -> None:
    tables = with_rows(
        "default", "test", ("e", "0 test sentence number 0", "New.", 0), ("f", "Other.", "0 test Satz Nummer 0", 1),
        ("g", "0 test sentence number 0", "1 test Satz Nummer 1", 0),
    )(clean_tables("PairClassification"))  # fmt: skip
    [sides] = [
        finding for finding in quality_findings("PairClassification", tables) if finding.kind == "duplicate_text"
    ]
    assert (sides.location, sides.count, sides.detail) == ("default/test", 3, "sentence1 2, sentence2 2")
    assert (sides.examples, sides.twins) == (("e", "f", "g"), ("test: a", "test: a", "test: a"))


def test_a_test_text_inside_a_train_text_or_with_its_words_in_another_order_is_a_leak() -> None:
    train = [
        "Сегодня утром, когда мама мыла большую белую раму, в дом пришёл старый почтальон.",
        "Рыжий кот спит на окне.",
    ]
    test = ["Мама мыла большую белую раму, в дом пришёл старый почтальон", "На окне спит рыжий кот", "Новое."]
    frames = {
        "train": pl.DataFrame({"text": train, "label": [0, 1]}),
        "test": pl.DataFrame({"text": test, "label": [0, 1, 0]}),
    }
    findings = ed.check(frames, task="Classification", language="rus-Cyrl").findings
    found = {finding.kind: (finding.severity, finding.location, finding.count, finding.detail) for finding in findings}
    assert found["contained_text"] == ("warning", "default/test.text", 1, "in train, 1 whole")
    assert found["near_leak"] == (
        "warning",
        "default/test.text",
        1,
        f"in train, {REORDERED_DETAIL}, with the same label",
    )


def test_a_disguised_copy_of_a_training_text_is_a_leak() -> None:
    train = pl.DataFrame({"text": ["Мама мыла раму.", "Ёлка стоит в лесу.", "Совсем другое."], "label": [0, 1, 0]})
    disguised = ["Мaма мылa раму.", "Елка стоит в лесу.", "Совсем дру\u200bгое.", "Новое."]
    test = pl.DataFrame({"text": disguised, "label": [0, 1, 0, 1]})
    findings = ed.check({"train": train, "test": test}, task="Classification", language="rus-Cyrl").findings
    assert [(found.count, found.detail) for found in findings if found.kind == "split_leak"] == [
        (3, f"in train, {DISGUISED_DETAIL}")
    ]
