"""RuBQ's two recipes, on generated raw files: small ones of every shape, and one of true size."""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.rubq import PARAGRAPHS, QUESTIONS, Planted, made, make_raw
from builders import tasks
from builders.errors import SourceError
from builders.shaping.sampling import hash_order
from pipelines.audit import integrity
from pipelines.make import make
from pipelines.raw.settings import RawSettings
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from builders.spec import Tables
    from cards.manifest import Finding

RERANKING, RETRIEVAL = "rubq-reranking", "rubq-retrieval"


def frame(tables: Tables, config: str) -> pl.DataFrame:
    return tables.frames[config]["test"].lazy().collect()


def rows(tables: Tables, config: str) -> list[tuple[Any, ...]]:
    return frame(tables, config).rows()


def defects(tables: Tables, task: tasks.Task) -> list[Finding]:
    frames = {config: {split: one.lazy() for split, one in table.items()} for config, table in tables.frames.items()}
    return integrity.check_integrity(task, frames, ("test",))


@dataclass(frozen=True)
class Made:
    """A raw set of true size, and what came of it."""

    planted: Planted
    reranking: Tables
    retrieval: Tables
    folder: Path


@pytest.fixture(scope="module")
def true_size(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("rubq")
    planted = make_raw(folder)
    return Made(planted, made(folder, RERANKING), made(folder, RETRIEVAL), folder)


def test_at_true_size_every_table_has_the_rows_that_were_planted(true_size: Made) -> None:
    for tables, wanted in (
        (true_size.reranking, true_size.planted.reranking),
        (true_size.retrieval, true_size.planted.retrieval),
    ):
        assert {config: frame(tables, config).height for config in tables.frames} == wanted
    assert true_size.retrieval.observed == true_size.planted.observed
    assert true_size.planted.observed == {
        "paragraphs": 56_952,
        "paragraphs distinct by page and text": 56_826,
        "paragraphs distinct by text": 56_773,
    }
    assert defects(true_size.reranking, tasks.Reranking()) == []
    assert defects(true_size.retrieval, tasks.Retrieval()) == []


def test_at_true_size_every_question_is_kept_or_counted(true_size: Made) -> None:
    for tables in (true_size.reranking, true_size.retrieval):
        assert frame(tables, "queries").height + sum(dropped.count for dropped in tables.dropped) == 2_330
    unanswered = {tables.dropped[0] for tables in (true_size.reranking, true_size.retrieval)}
    assert len(unanswered) == 1, "both recipes leave out the same questions without an answer"


def test_at_true_size_the_place_of_a_candidate_does_not_tell_whether_it_answers(true_size: Made) -> None:
    score = {(query, document): score for query, document, score in rows(true_size.reranking, "qrels")}
    lists = [
        [score[query, document] for document in ranked] for query, ranked in rows(true_size.reranking, "top_ranked")
    ]
    chances = [sum(scores) / len(scores) for scores in lists]
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    for place in (0, -1):
        hits = sum(scores[place] for scores in lists)
        assert abs(hits - sum(chances)) < 3 * deviation
    places = [place / (len(scores) - 1) for scores in lists for place, one in enumerate(scores) if one]
    assert abs(sum(places) / len(places) - 0.5) < 3 * math.sqrt(1 / 12 / len(places))


def test_at_true_size_merging_by_text_alone_gives_the_other_count(true_size: Made) -> None:
    tables = made(true_size.folder, RETRIEVAL, same="text")
    assert frame(tables, "corpus").height == true_size.planted.observed["paragraphs distinct by text"]
    assert tables.observed == true_size.retrieval.observed
    assert defects(tables, tasks.Retrieval()) == []


def test_the_generator_writes_the_same_bytes_every_time(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        make_raw(tmp_path / folder, 30, 300, 9, 4)
    for name in (QUESTIONS, PARAGRAPHS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_generator_writes_the_form_of_the_real_file(real_sources: Path, true_size: Made) -> None:
    files = (real_sources / "rubq" / "RuBQ_2.0_dev.json", true_size.folder / QUESTIONS)
    real, ours = (json.loads(file.read_bytes()) for file in files)
    for file, questions in zip(files, (real, ours), strict=True):
        assert file.read_bytes() == json.dumps(questions, ensure_ascii=False, indent=4).encode()
    assert {tuple(question) for question in ours} == {tuple(question) for question in real}
    for key in real[0]:
        assert {type(question[key]) for question in ours} == {type(question[key]) for question in real}
    for key in ("with_answer", "all_related"):
        lengths, wanted = ([len(one["paragraphs_uids"][key]) for one in questions] for questions in (ours, real))
        assert abs(sum(lengths) / len(lengths) - sum(wanted) / len(wanted)) < 0.1 * sum(wanted) / len(wanted)
    keys = [{tuple(answer) for question in questions for answer in question["answers"]} for questions in (ours, real)]
    assert keys[0] == keys[1]


# --- small sets of every shape, against plain Python

Raw = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@st.composite
def raw_sets(draw: st.DrawFn) -> Raw:
    """Questions and paragraphs in any order, with any links between them, on three pages with three texts."""
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
        return made(Path(temporary), name, limit, **options)


@settings(max_examples=60, deadline=None)
@given(raw_sets(), st.integers(0, 3))
def test_reranking_judges_every_candidate_of_every_kept_question(raw: Raw, least: int) -> None:
    questions, paragraphs = raw
    tables = build(raw, RERANKING, min_negatives=least)
    kept = {
        str(question["uid"]): (set(links["with_answer"]), links["all_related"])
        for question in questions
        for links in [question["paragraphs_uids"]]
        if links["with_answer"] and len(set(links["all_related"]) - set(links["with_answer"])) >= least
    }
    assert rows(tables, "queries") == [
        (str(one["uid"]), one["question_text"]) for one in questions if str(one["uid"]) in kept
    ]
    assert rows(tables, "qrels") == [
        (query, str(uid), int(uid in gold)) for query, (gold, related) in kept.items() for uid in related
    ]
    assert {query: sorted(ranked) for query, ranked in rows(tables, "top_ranked")} == {
        query: sorted(map(str, related)) for query, (_, related) in kept.items()
    }
    candidates = {uid for _, related in kept.values() for uid in related}
    assert rows(tables, "corpus") == [
        (str(one["uid"]), "", one["text"]) for one in paragraphs if one["uid"] in candidates
    ]
    assert sum(dropped.count for dropped in tables.dropped) == len(questions) - len(kept)


@settings(max_examples=40, deadline=None)
@given(raw_sets(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_comes_from_their_ids_and_the_questions(raw: Raw, random: Any) -> None:
    questions, paragraphs = json.loads(json.dumps(raw))
    for question in questions:
        for links in question["paragraphs_uids"].values():
            random.shuffle(links)
    random.shuffle(questions)
    random.shuffle(paragraphs)
    ranked = dict(rows(build(raw, RERANKING, min_negatives=1), "top_ranked"))
    assert dict(rows(build((questions, paragraphs), RERANKING, min_negatives=1), "top_ranked")) == ranked
    for query, documents in ranked.items():
        pairs = [f"{query} {document}" for document in documents]
        assert hash_order(pl.Series(pairs, dtype=pl.String), RERANKING).is_sorted()


@settings(max_examples=60, deadline=None)
@given(raw_sets(), st.sampled_from(["page and text", "text"]))
def test_merging_moves_links_to_the_first_paragraph_and_doubles_none(raw: Raw, same: str) -> None:
    questions, paragraphs = raw
    tables = build(raw, RETRIEVAL, same=same)
    first: dict[tuple[Any, ...], str] = {}
    moved = {}
    for one in paragraphs:
        key = (one["text"],) if same == "text" else (one["ru_wiki_pageid"], one["text"])
        moved[one["uid"]] = first.setdefault(key, str(one["uid"]))
    wanted = defaultdict(set)
    for question in questions:
        for uid in question["paragraphs_uids"]["with_answer"]:
            wanted[str(question["uid"])].add(moved[uid])
    assert [row[0] for row in rows(tables, "corpus")] == list(first.values())
    judgements = rows(tables, "qrels")
    assert len(judgements) == len(set(judgements))
    assert set(judgements) == {(query, document, 1) for query, documents in wanted.items() for document in documents}
    assert [row[0] for row in rows(tables, "queries")] == [
        str(one["uid"]) for one in questions if str(one["uid"]) in wanted
    ]
    by_both = len({(one["ru_wiki_pageid"], one["text"]) for one in paragraphs})
    assert tables.observed == {
        "paragraphs": len(paragraphs),
        "paragraphs distinct by page and text": by_both,
        "paragraphs distinct by text": len({one["text"] for one in paragraphs}),
    }


@settings(max_examples=60, deadline=None)
@given(raw_sets(), st.integers(0, 2))
def test_the_clean_versions_have_every_text_once_and_relevant_where_any_of_its_paragraphs_is(
    raw: Raw, least: int
) -> None:
    questions, paragraphs = raw
    paragraphs = [one | {"text": {"а": " а ", "б": "бе", "в": "ве"}[one["text"]]} for one in paragraphs]  # one is short
    questions = [one | {"question_text": f"Вопрос {one['uid'] % 3}?"} for one in questions]
    texts = {one["uid"]: one["text"] for one in paragraphs}
    wanted: dict[str, dict[str, int]] = {one["question_text"]: {} for one in questions}
    for one in questions:
        judged, links = wanted[one["question_text"]], one["paragraphs_uids"]
        for text, gold in ((texts[uid], uid in links["with_answer"]) for uid in links["all_related"]):
            if text != " а ":
                judged[text] = max(judged.get(text, 0), int(gold))
    reranked = {
        question: judged
        for question, judged in wanted.items()
        if 1 in judged.values() and list(judged.values()).count(0) >= least
    }
    answered = {
        question: {text: score for text, score in judged.items() if score}
        for question, judged in wanted.items()
        if 1 in judged.values()
    }
    for name, expected, options in ((RERANKING, reranked, {"min_negatives": least}), (RETRIEVAL, answered, {})):
        tables = build((questions, paragraphs), name, **definition_of(name).dataset.options("2.0.0") | options)
        asked, documents = dict(rows(tables, "queries")), {id_: text for id_, _, text in rows(tables, "corpus")}
        judgements: dict[str, dict[str, int]] = {question: {} for question in asked.values()}
        for query, document, score in rows(tables, "qrels"):
            judgements[asked[query]][documents[document]] = score
        assert judgements == expected
        assert frame(tables, "qrels").height == sum(map(len, expected.values()))
        assert len(set(documents.values())) == len(documents)
        if name == RERANKING:
            assert {
                asked[query]: {documents[one] for one in ranked} for query, ranked in rows(tables, "top_ranked")
            } == {question: set(judged) for question, judged in expected.items()}


def test_at_true_size_the_clean_corpus_has_as_many_documents_as_there_are_texts(true_size: Made) -> None:
    tables = made(true_size.folder, RETRIEVAL, **definition_of(RETRIEVAL).dataset.options("2.0.0"))
    short = sum(one.count for one in tables.dropped if "single character" in one.reason)
    assert frame(tables, "corpus").height == 56_773 - short
    assert frame(tables, "corpus")["text"].n_unique() == 56_773 - short
    assert frame(tables, "queries")["text"].is_unique().all()
    assert defects(tables, tasks.Retrieval()) == []
    again = made(true_size.folder, RERANKING, **definition_of(RERANKING).dataset.options("2.0.0"))
    assert defects(again, tasks.Reranking()) == []


PAIR = [{"uid": uid, "ru_wiki_pageid": 1, "text": text} for uid, text in ((10, "а"), (11, "б"))]


def asked(uid: int, gold: list[int], related: list[int]) -> dict[str, Any]:
    links = {"with_answer": gold, "all_related": related}
    return {"uid": uid, "question_text": "Где?", "paragraphs_uids": links}


@pytest.mark.parametrize("name", [RERANKING, RETRIEVAL])
@pytest.mark.parametrize(
    ("questions", "what", "found"),
    [
        (
            [asked(1, [10], [10]), asked(2, [10], [11, 99, 10]), asked(3, [], [98])],
            "a link to a paragraph that does not exist",
            "paragraph uid 99 (2 such links in all)",
        ),
        (
            [asked(1, [10], [10]), asked(2, [11], [10])],
            "a gold paragraph that is not among the related ones",
            "paragraph uid 11 (1 such links in all)",
        ),
    ],
)
def test_a_link_that_leads_nowhere_is_an_error_that_says_where(
    name: str, questions: list[dict[str, Any]], what: str, found: str
) -> None:
    with pytest.raises(SourceError) as caught:
        build((questions, PAIR), name)
    assert str(caught.value).splitlines() == [
        what,
        f"  where:    rubq/{QUESTIONS}, question uid 2",
        f"  found:    {found}",
        "  to do:    fetch both files again, of one commit",
    ]


def test_a_limit_takes_questions_and_leaves_the_paragraphs_whole() -> None:
    questions = [asked(1, [11], [10, 11]), asked(2, [10], [10, 11])]
    for name in (RERANKING, RETRIEVAL):
        options = {"min_negatives": 1} if name == RERANKING else {}
        tables = build((questions, PAIR), name, limit=1, **options)
        assert rows(tables, "queries") == [("1", "Где?")]
        assert [row[0] for row in rows(tables, "corpus")] == ["10", "11"]


def test_generated_raw_files_build_like_real_ones_but_unverified(tmp_path: Path) -> None:
    planted = make_raw(tmp_path / "raw" / "rubq", 60, 700, 12, 5)
    places = RawSettings(tmp_path / "raw", tmp_path / "cache", offline=True, lock=tmp_path / "raw.lock.json")
    whole = replace(sample_settings(tmp_path), sample=False, places=places)
    for name, wanted in ((RERANKING, planted.reranking), (RETRIEVAL, planted.retrieval)):
        known = definition_of(name)
        files = {key: replace(file, git_blob=None) for key, file in known.source.files.items()}
        unpinned = replace(known, source=replace(known.source, files=files))
        manifest = make(unpinned, "1.0.0", whole, lambda _: None).manifest
        assert {table["config"]: table["rows"] for table in manifest["tables"]} == wanted
        assert not any(file["verified"] for file in manifest["raw"])
        limited = replace(whole, limit=20, output=tmp_path / "limited")
        manifest = make(unpinned, "1.0.0", limited, lambda _: None).manifest
        assert (manifest["sample"], manifest["partial"]) == (True, True)
        assert 0 < {table["config"]: table["rows"] for table in manifest["tables"]}["queries"] <= 20
    assert not whole.ledger.exists()
    with pytest.raises(SourceError, match="is not the pinned file"):
        make(definition_of(RERANKING), "1.0.0", whole, lambda _: None)
