"""SberQuAD: questions that share a paragraph."""

from pathlib import Path

from tests.support.training import build_golden, count_dropped, table_of


def test_questions_about_one_paragraph_are_table_of_their_own_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    tables = build_golden("sberquad-contrastive", tmp_path)
    rows = table_of(tables)
    assert rows.filter(rows["positives"].list.first().str.starts_with("Мост"))["query"].to_list() == [
        "Когда построен мост?",
        "Где стоит мост?",
    ]
    assert count_dropped(tables)["query and positives of an earlier row"] == 1


def test_one_question_about_two_paragraphs_is_two_rows(tmp_path: Path) -> None:
    assert table_of(build_golden("sberquad-contrastive", tmp_path)).filter(query="Когда открыли завод?").height == 2
