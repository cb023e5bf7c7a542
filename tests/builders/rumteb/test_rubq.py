"""RuBQ's two recipes, on generated raw files: small ones of every shape."""

import json
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.programs import run_recipe
from benchmarks.rubq import PARAGRAPHS, QUESTIONS, make_raw
from builders.errors import SourceError
from builders.shaping.sampling import hash_order
from builders.spec import Tables
from pipelines.make import make
from pipelines.raw.settings import RawSettings
from tests.support.recipes import frame, rows_of
from tests.support.releases import definition_of, sample_settings

RERANKING, RETRIEVAL = "rubq-reranking", "rubq-retrieval"


Raw = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@st.composite
def raw_sets(draw: st.DrawFn) -> Raw:
    """Questions and paragraphs in any order, with any links between them, on three pages and with three texts."""
    uids = draw(st.lists(st.integers(0, 10**6), unique=True, min_size=3, max_size=12))
    paragraphs = [
        {"uid": uid, "ru_wiki_pageid": draw(st.integers(1, 3)), "text": draw(st.sampled_from(["а", "б", "в"]))}
        for uid in uids
    ]
    questions = []
    for uid in draw(st.lists(st.integers(1, 99), unique=True, min_size=1, max_size=6)):
        related = draw(st.lists(st.sampled_from(uids), unique=True))
        gold = draw(st.lists(st.sampled_from(related), unique=True)) if related else []
        links = {"with_answer": gold, "all_related": related}
        questions.append({"uid": uid, "question_text": f"Вопрос {uid}?", "paragraphs_uids": links})
    return questions, paragraphs


def build(raw: Raw, name: str, limit: int | None = None, **options: Any) -> Tables:
    with tempfile.TemporaryDirectory() as temporary:
        for file, records in zip((QUESTIONS, PARAGRAPHS), raw, strict=True):
            (Path(temporary) / file).write_text(json.dumps(records, ensure_ascii=False), "utf-8")
        return run_recipe(Path(temporary), Path(temporary), name, limit, **options)


@given(raw_sets(), st.integers(0, 3))
def test_reranking_judges_every_candidate_of_every_kept_question(raw: Raw, least: int) -> None:
    questions, paragraphs = raw
    tables = build(raw, RERANKING, min_negatives=least)
    expected = {
        str(question["uid"]): (set(links["with_answer"]), links["all_related"])
        for question in questions
        for links in [question["paragraphs_uids"]]
        if links["with_answer"] and len(set(links["all_related"]) - set(links["with_answer"])) >= least
    }
    assert rows_of(tables, "queries") == [
        (str(question["uid"]), question["question_text"]) for question in questions if str(question["uid"]) in expected
    ]
    assert rows_of(tables, "qrels") == [
        (query, str(uid), int(uid in gold)) for query, (gold, related) in expected.items() for uid in related
    ]
    assert {query: sorted(ranked) for query, ranked in rows_of(tables, "top_ranked")} == {
        query: sorted(map(str, related)) for query, (_, related) in expected.items()
    }
    candidates = {uid for _, related in expected.values() for uid in related}
    assert rows_of(tables, "corpus") == [
        (str(paragraph["uid"]), "", paragraph["text"]) for paragraph in paragraphs if paragraph["uid"] in candidates
    ]
    assert sum(dropped.count for dropped in tables.dropped) == len(questions) - len(expected)


@given(raw_sets(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_depends_only_on_the_ids_of_candidate_and_question(raw: Raw, random: Any) -> None:
    questions, paragraphs = json.loads(json.dumps(raw))
    for question in questions:
        for links in question["paragraphs_uids"].values():
            random.shuffle(links)
    random.shuffle(questions)
    random.shuffle(paragraphs)
    ranked = dict(rows_of(build(raw, RERANKING, min_negatives=1), "top_ranked"))
    assert dict(rows_of(build((questions, paragraphs), RERANKING, min_negatives=1), "top_ranked")) == ranked
    for query, documents in ranked.items():
        pairs = [f"{query} {document}" for document in documents]
        assert hash_order(pl.Series(pairs, dtype=pl.String), RERANKING).is_sorted()


@given(raw_sets(), st.sampled_from(["page and text", "text"]))
def test_merging_moves_links_to_the_first_paragraph_without_duplicates(raw: Raw, same: str) -> None:
    questions, paragraphs = raw
    tables = build(raw, RETRIEVAL, same=same)
    first: dict[tuple[Any, ...], str] = {}
    moved = {}
    for one in paragraphs:
        key = (one["text"],) if same == "text" else (one["ru_wiki_pageid"], one["text"])
        moved[one["uid"]] = first.setdefault(key, str(one["uid"]))
    gold = defaultdict(set)
    for question in questions:
        for uid in question["paragraphs_uids"]["with_answer"]:
            gold[str(question["uid"])].add(moved[uid])
    assert [row[0] for row in rows_of(tables, "corpus")] == list(first.values())
    judgements = rows_of(tables, "qrels")
    assert len(judgements) == len(set(judgements))
    assert set(judgements) == {(query, document, 1) for query, documents in gold.items() for document in documents}
    assert [row[0] for row in rows_of(tables, "queries")] == [
        str(question["uid"]) for question in questions if str(question["uid"]) in gold
    ]
    by_both = len({(paragraph["ru_wiki_pageid"], paragraph["text"]) for paragraph in paragraphs})
    assert tables.observed == {
        "paragraphs": len(paragraphs),
        "paragraphs distinct by page and text": by_both,
        "paragraphs distinct by text": len({paragraph["text"] for paragraph in paragraphs}),
    }


@given(raw_sets(), st.integers(0, 2))
def test_cleaned_versions_have_every_text_once_relevant_if_any_of_its_paragraphs_is(raw: Raw, least: int) -> None:
    questions, paragraphs = raw
    paragraphs = [
        paragraph | {"text": {"а": " а ", "б": "бе", "в": "ве"}[paragraph["text"]]} for paragraph in paragraphs
    ]  # one is short
    questions = [question | {"question_text": f"Вопрос {question['uid'] % 3}?"} for question in questions]
    texts = {paragraph["uid"]: paragraph["text"] for paragraph in paragraphs}
    judged_texts: dict[str, dict[str, int]] = {question["question_text"]: {} for question in questions}
    for one in questions:
        judged, links = judged_texts[one["question_text"]], one["paragraphs_uids"]
        for text, gold in ((texts[uid], uid in links["with_answer"]) for uid in links["all_related"]):
            if text != " а ":
                judged[text] = max(judged.get(text, 0), int(gold))
    reranked = {
        question: judged
        for question, judged in judged_texts.items()
        if 1 in judged.values() and list(judged.values()).count(0) >= least
    }
    retrieved = {
        question: {text: score for text, score in judged.items() if score}
        for question, judged in judged_texts.items()
        if 1 in judged.values()
    }
    for name, expected, options in ((RERANKING, reranked, {"min_negatives": least}), (RETRIEVAL, retrieved, {})):
        tables = build((questions, paragraphs), name, **definition_of(name).dataset.options("2.0.0") | options)
        questions_by_id = dict(rows_of(tables, "queries"))
        documents = {document: text for document, _, text in rows_of(tables, "corpus")}
        judgements: dict[str, dict[str, int]] = {question: {} for question in questions_by_id.values()}
        for query, document, score in rows_of(tables, "qrels"):
            judgements[questions_by_id[query]][documents[document]] = score
        assert judgements == expected
        assert frame(tables, config="qrels").height == sum(map(len, expected.values()))
        assert len(set(documents.values())) == len(documents)
        if name == RERANKING:
            assert {
                questions_by_id[query]: {documents[one] for one in ranked}
                for query, ranked in rows_of(tables, "top_ranked")
            } == {question: set(judged) for question, judged in expected.items()}


def test_from_2_0_0_on_no_query_has_the_id_of_a_document() -> None:
    questions = [make_question(10, [10], [10, 11])]
    paragraphs = [one | {"text": one["text"] * 2} for one in PAIR]
    for name, sizes in ((RERANKING, {"min_negatives": 1}), (RETRIEVAL, {})):
        ids = {}
        for version in ("1.0.0", "2.0.0"):
            tables = build((questions, paragraphs), name, **definition_of(name).dataset.options(version) | sizes)
            ids[version] = frame(tables, config="queries")["id"].to_list()
            assert set(frame(tables, config="qrels")["query-id"]) == set(ids[version])
            assert frame(tables, config="corpus")["id"].to_list() == ["10", "11"]
        assert ids == {"1.0.0": ["10"], "2.0.0": ["q10"]}


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
    name: str, questions: list[dict[str, Any]], what: str, found: str
) -> None:
    with pytest.raises(SourceError) as caught:
        build((questions, PAIR), name)
    assert str(caught.value).splitlines()[:4] == [
        f"rubq/{QUESTIONS}: {what}",
        f"  where:    rubq/{QUESTIONS}, question uid 2",
        f"  found:    {found}",
        "  expected: with_answer within all_related, and all_related within the paragraphs' uids",
    ]
    assert "fetch it again" in str(caught.value.todo)


def test_a_limit_applies_to_questions_but_not_to_paragraphs() -> None:
    questions = [make_question(1, [11], [10, 11]), make_question(2, [10], [10, 11])]
    for name in (RERANKING, RETRIEVAL):
        options = {"min_negatives": 1} if name == RERANKING else {}
        tables = build((questions, PAIR), name, limit=1, **options)
        assert rows_of(tables, "queries") == [("1", "Где?")]
        assert [row[0] for row in rows_of(tables, "corpus")] == ["10", "11"]


def test_a_build_of_generated_raw_files_is_complete_but_unverified(tmp_path: Path) -> None:
    generated = make_raw(tmp_path / "raw" / "rubq", 60, 700, 12, 5)
    raw = RawSettings(tmp_path / "raw", tmp_path / "cache", offline=True, lock=tmp_path / "raw.lock.json")
    settings = replace(sample_settings(tmp_path), sample=False, raw=raw)
    for name, expected in ((RERANKING, generated.reranking), (RETRIEVAL, generated.retrieval)):
        definition = definition_of(name)
        files = {key: replace(file, git_blob=None) for key, file in definition.source.files.items()}
        unpinned = replace(definition, source=replace(definition.source, files=files))
        manifest = make(unpinned, "1.0.0", settings).manifest
        assert {table.config: table.rows for table in manifest.tables} == expected
        assert not any(file.verified for file in manifest.raw)
        limited = replace(settings, limit=20, output=tmp_path / "limited")
        manifest = make(unpinned, "1.0.0", limited).manifest
        assert (manifest.sample, manifest.partial) == (True, True)
        assert 0 < {table.config: table.rows for table in manifest.tables}["queries"] <= 20
    assert not settings.ledger.exists()
    with pytest.raises(SourceError, match="is not the pinned file"):
        make(definition_of(RERANKING), "1.0.0", settings)
