"""Habr Q&A: HTML, the switch for the query, and how answers are ranked."""

from pathlib import Path

from builders.training.habr_qna import QA, TITLE_BODY
from tests.support.training import build_golden, rows_of

NAME = "habr-qna-contrastive"


def test_html_becomes_lines_of_text_and_with_body_the_query_has_them_too(tmp_path: Path) -> None:
    tables = build_golden(NAME, tmp_path / "a")
    body = "Есть список, нужен порядок по дате.\na = []\nb = [1]"
    assert rows_of(tables, TITLE_BODY)[100003] == ("Как отсортировать список словарей?", [body])
    whole = rows_of(build_golden(NAME, tmp_path / "b", body=True), QA)
    assert whole[100003] == (f"Как отсортировать список словарей?\n{body}", ["Сначала import,\nпотом <sort>."])


def test_accepted_answers_come_before_those_with_more_votes(tmp_path: Path) -> None:
    accepted = {100003, 100006, 100014}
    assert set(rows_of(build_golden(NAME, tmp_path, qa_rows=len(accepted), times=1), QA)) == accepted
