"""RuBQ's two recipes: links that lead nowhere, and limits."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rubq import PARAGRAPHS, QUESTIONS, made
from builders.errors import SourceError
from builders.spec import Tables
from tests.support.recipes import frame

RERANKING, RETRIEVAL = "rubq-reranking", "rubq-retrieval"


def build(questions: list[dict[str, Any]], folder: Path, name: str, limit: int | None = None, **options: Any) -> Tables:
    for file, records in ((QUESTIONS, questions), (PARAGRAPHS, PAIR)):
        (folder / file).write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return made(folder, name, limit, **options)


PAIR = [{"uid": uid, "ru_wiki_pageid": 1, "text": text} for uid, text in ((10, "а"), (11, "б"))]


def make_question(uid: int, gold: list[int], related: list[int]) -> dict[str, Any]:
    links = {"with_answer": gold, "all_related": related}
    return {"uid": uid, "question_text": "Где?", "paragraphs_uids": links}


@pytest.mark.parametrize("name", [RERANKING, RETRIEVAL])
@pytest.mark.parametrize(
    ("questions", "what", "found"),
    [
        (
            [make_question(1, [10], [10]), make_question(2, [10], [11, 99, 10]), make_question(3, [], [98])],
            "unknown paragraph",
            "'99' (the first of 2)",
        ),
        (
            [make_question(1, [10], [10]), make_question(2, [11], [10])],
            "unrelated gold paragraph",
            "'11'",
        ),
    ],
)
def test_an_invalid_link_is_an_error_that_names_its_question(
    name: str, questions: list[dict[str, Any]], what: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError) as caught:
        build(questions, tmp_path, name)
    assert str(caught.value).splitlines()[:4] == [
        f"rubq/{QUESTIONS}: {what}",
        f"  where:    rubq/{QUESTIONS}, question uid 2",
        f"  found:    {found}",
        "  expected: with_answer within all_related, and all_related within the paragraphs' uids",
    ]
    assert "fetch it again" in str(caught.value.todo)


def test_a_limit_applies_to_questions_but_not_to_paragraphs(tmp_path: Path) -> None:
    questions = [make_question(1, [11], [10, 11]), make_question(2, [10], [10, 11])]
    for name in (RERANKING, RETRIEVAL):
        options = {"min_negatives": 1} if name == RERANKING else {}
        tables = build(questions, tmp_path, name, limit=1, **options)
        assert frame(tables, config="queries").rows() == [("1", "Где?")]
        assert frame(tables, config="corpus")["id"].to_list() == ["10", "11"]
