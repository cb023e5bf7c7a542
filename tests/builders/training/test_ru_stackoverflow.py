"""Russian StackOverflow: the switch for the query, and records of another format."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.training.ru_stackoverflow import QA
from tests.support.reading import zst_frame
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


def test_a_record_of_another_format_is_refused_with_its_line(tmp_path: Path) -> None:
    def change(raw: Path) -> None:
        line = b'{"question_id": "1", "title": "a", "text_markdown": "b", "score": 1, "views": 1, "answers": []}\n'
        (raw / "ru_stackoverflow.jsonl.zst").write_bytes(zst_frame(line))

    with pytest.raises(SourceError, match="question_id has the wrong type") as caught:
        build_golden(NAME, tmp_path, change)
    assert str(caught.value.where).endswith("line 1")
