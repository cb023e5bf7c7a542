"""Yandex Q: queries without a title, references and tags in plain texts."""

import gzip
from pathlib import Path

from builders.training.yandex_q import QA
from tests.support.training import build_golden, rows_of

NAME = "yandex-q-contrastive"


def test_the_query_is_the_title_else_the_text_and_with_body_both(tmp_path: Path) -> None:
    title = rows_of(build_golden(NAME, tmp_path / "title"), QA)
    whole = rows_of(build_golden(NAME, tmp_path / "body", body=True), QA)
    assert title[600003][0] == whole[600003][0] == "Сколько звёзд видно ночью в городе?"
    assert title[600002][0] == whole[600002][0] == "Зачем коту усы?"
    assert title[600017][0] == "Когда сажать чеснок?"
    assert whole[600017][0] == "Когда сажать чеснок?\nОсенью или весной?"


def test_answers_that_serve_several_questions_are_counted(tmp_path: Path) -> None:
    """The answer about the sky becomes that about the cat too: tokens are counted of both texts already."""

    def repeat(raw: Path) -> None:
        path = raw / "full.jsonl.gz"
        text = gzip.decompress(path.read_bytes()).decode()
        path.write_bytes(
            gzip.compress(text.replace("Для красоты, &lt;b&gt;наверное&lt;/b&gt;.", "Так устроен глаз.").encode())
        )

    count = f"positives of {QA} that another question has too"
    assert build_golden(NAME, tmp_path / "golden").observed[count] == 0
    changed = build_golden(NAME, tmp_path / "changed", repeat)
    assert [rows_of(changed, QA)[number][1] for number in (600001, 600002)] == [["Так устроен глаз."]] * 2
    assert changed.observed[count] == 2
