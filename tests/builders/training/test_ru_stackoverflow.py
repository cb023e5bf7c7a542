"""Russian StackOverflow: the switch for the query."""

from pathlib import Path

from builders.training.ru_stackoverflow import QA
from tests.support.training import build_golden, rows_of

NAME = "ru-stackoverflow-contrastive"


def test_the_query_of_an_answer_is_the_title_or_with_body_the_whole_question(tmp_path: Path) -> None:
    title = rows_of(build_golden(NAME, tmp_path / "title"), QA)
    whole = rows_of(build_golden(NAME, tmp_path / "body", body=True), QA)
    answer = ["Список можно менять, кортеж нет."]
    assert title[500005] == ("Чем отличается список от кортежа?", answer)
    assert whole[500005] == ("Чем отличается список от кортежа?\nОба хранят элементы, в чём разница?", answer)
    assert 500009 in whole  # another question with the title of an earlier one
    assert 500009 not in title
