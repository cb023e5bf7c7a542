"""MIRACL's two recipes: on invented passages, and on the real questions and judgements."""

import gzip
import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.miracl import DATASETS, QRELS, SHARD, SHARDS, TOPICS, make_raw
from benchmarks.programs import run_recipe
from builders.errors import RecipeError, SourceError
from builders.ranking import bm25
from builders.spec import Raw, Tables
from cards.texts import read_prose
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.recipes import find_defects, frame
from tests.support.releases import definition_of

RETRIEVAL, RERANKING = DATASETS
CANDIDATES = 12
ACCENTED = "áéíóúýÁÉÍÓÚÝ"


def build(folder: Path, name: str, limit: int | None = None, **options: Any) -> Tables:
    """Run a recipe on a folder of raw files, and collect its tables."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        tables = run_recipe(folder, Path(scratch), name, limit, **options)
        frames = {config: {"dev": read(tables, config)} for config in tables.frames}
    return replace(tables, frames=frames)


def read(tables: Tables, config: str) -> pl.DataFrame:
    return frame(tables, "dev", config)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented raw files: 1,500 passages, 60 questions. Tests must not change them."""
    folder = tmp_path_factory.mktemp("miracl")
    make_raw(folder, 1_500, 60, stems=600)
    return folder


def read_passages(folder: Path) -> list[tuple[str, str, str]]:
    return [
        tuple(json.loads(line).values())
        for shard in range(SHARDS)
        for line in gzip.decompress((folder / SHARD.format(shard)).read_bytes()).splitlines()
    ]


def read_lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Raw files that a test may change: 60 passages, 4 questions."""
    make_raw(tmp_path, 60, 4, stems=10)
    return tmp_path


def test_retrieval_has_the_whole_corpus_in_order_and_the_relevant_judgements(raw: Path) -> None:
    tables = build(raw, RETRIEVAL)
    assert read(tables, "corpus").rows() == read_passages(raw)
    assert read(tables, "queries").rows() == [tuple(topic) for topic in read_lines(raw / TOPICS)]
    relevant = [(query, document, 1) for query, _, document, score in read_lines(raw / QRELS) if score == "1"]
    assert read(tables, "qrels").rows() == relevant
    assert find_defects(RETRIEVAL, tables) == []


def test_candidates_are_the_judged_passages_and_the_best_others_by_bm25(raw: Path, tmp_path: Path) -> None:
    tables = build(raw, RERANKING, candidates=CANDIDATES)
    corpus = read_passages(raw)
    queries = pl.Series([text for _, text in read_lines(raw / TOPICS)])
    bm25.count(queries, [pl.Series([f"{title} {text}" for _, title, text in corpus])], tmp_path)
    best = bm25.rank(queries, [tmp_path], depth=100).rows()
    lists = dict(read(tables, "top_ranked").rows())
    for number, (query, _) in enumerate(read_lines(raw / TOPICS)):
        judged = [document for judged_query, _, document, _ in read_lines(raw / QRELS) if judged_query == query]
        ranked = [corpus[position][0] for query_number, position, _ in best if query_number == number]
        others = [document for document in ranked if document not in judged]
        expected = judged + others[: max(0, CANDIDATES - len(judged))]
        assert sorted(lists[query]) == sorted(expected)
    listed = set().union(*lists.values())
    assert read(tables, "corpus").rows() == [passage for passage in corpus if passage[0] in listed]
    assert tables.observed["candidates that BM25 added"] == sum(map(len, lists.values())) - len(read_lines(raw / QRELS))
    assert find_defects(RERANKING, tables) == []


@pytest.fixture
def duplicates(small: Path) -> Path:
    """Raw files whose last shard has three passages with the title and text of 7#0, one with its text and one with its title."""
    path = small / SHARD.format(SHARDS - 1)
    _, title, text = read_passages(small)[0]
    more = [("a#0", title, text), ("a#1", "x", text), ("a#2", title, "x"), ("a#3", title, text), ("a#4", title, text)]
    rows = [json.dumps({"docid": docid, "title": title, "text": text}) + "\n" for docid, title, text in more]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + "".join(rows).encode()))
    (small / TOPICS).write_text(f"p\t{title}?\nq\t{text}\n", "utf-8")
    judged = [("p", "a#0", 0), ("p", "a#1", 0), ("p", "a#4", 1), ("q", "a#3", 1), ("q", "a#2", 0)]
    (small / QRELS).write_text("".join(f"{one}\tQ0\t{docid}\t{score}\n" for one, docid, score in judged), "utf-8")
    return small


@pytest.mark.parametrize("name", DATASETS)
def test_of_passages_with_the_same_title_and_text_the_first_is_kept_with_the_judgements_of_all(
    name: str, duplicates: Path
) -> None:
    tables = build(duplicates, name, clean=True, **({"candidates": 9} if name == RERANKING else {}))
    relevant = [("p", "7#0", 1), ("q", "7#0", 1)]
    judged = [("p", "7#0", 1), ("p", "a#1", 0), ("q", "7#0", 1), ("q", "a#2", 0)]
    assert read(tables, "qrels").rows() == (judged if name == RERANKING else relevant)
    assert [(drop.reason, drop.count, drop.examples) for drop in tables.dropped] == [
        ("merged into an earlier equal passage", 3, ("a#0", "a#3", "a#4")),
        ("merged into the judgement of an equal passage for the same question", 1, ("p",)),
    ]
    assert tables.observed["judgements"] == 5
    assert tables.observed["judgements given to an equal passage"] == 3
    ids = read(tables, "corpus")["id"].to_list()
    assert not {"a#0", "a#3", "a#4"} & set(ids)
    if name == RETRIEVAL:
        assert read(tables, "corpus").rows() == [passage for passage in read_passages(duplicates) if passage[0] in ids]
        assert len(ids) == 62
    assert find_defects(name, tables) == []


def test_the_cleaned_candidates_are_those_of_a_corpus_without_duplicates(raw: Path, tmp_path: Path) -> None:
    first = {passage[1:]: passage for passage in reversed(read_passages(raw))}
    renamed = {passage[0]: first[passage[1:]][0] for passage in read_passages(raw)}
    once = [passage for passage in read_passages(raw) if renamed[passage[0]] == passage[0]]
    assert len(once) < len(renamed)
    (tmp_path / SHARD).parent.mkdir()
    for shard in range(SHARDS):
        rows = [dict(zip(("docid", "title", "text"), one, strict=True)) for one in once] if shard == 3 else []
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (tmp_path / SHARD.format(shard)).write_bytes(gzip.compress(data))
    (tmp_path / TOPICS).write_bytes((raw / TOPICS).read_bytes())
    judged = {(query, renamed[docid]): "0" for query, _, docid, _ in read_lines(raw / QRELS)}
    judged |= {(query, renamed[docid]): "1" for query, _, docid, score in read_lines(raw / QRELS) if score == "1"}
    (tmp_path / QRELS).write_text(
        "".join(f"{query}\tQ0\t{docid}\t{score}\n" for (query, docid), score in judged.items())
    )
    ours, theirs = build(raw, RERANKING, candidates=30, clean=True), build(tmp_path, RERANKING, candidates=30)
    for config in ("corpus", "queries", "qrels", "top_ranked"):
        assert read(ours, config).rows() == read(theirs, config).rows()


def test_the_position_of_a_candidate_does_not_reveal_whether_it_is_relevant_or_judged(raw: Path) -> None:
    tables = build(raw, RERANKING, candidates=20)
    score = {(query, document): score for query, document, score in read(tables, "qrels").rows()}
    lists = [
        [score.get((query, document)) for document in ranked] for query, ranked in read(tables, "top_ranked").rows()
    ]
    for chosen in ({1}, {0, 1}):
        positions = [
            position / (len(marks) - 1) for marks in lists for position, mark in enumerate(marks) if mark in chosen
        ]
        assert abs(sum(positions) / len(positions) - 0.5) < 3 * math.sqrt(1 / 12 / len(positions))


def test_more_candidates_only_add_to_the_lists(raw: Path) -> None:
    few, many = (dict(read(build(raw, RERANKING, candidates=n), "top_ranked").rows()) for n in (12, 30))
    assert all(set(few[query]) < set(many[query]) for query in few)


def test_a_limit_leaves_out_questions_but_no_passages(raw: Path) -> None:
    tables = build(raw, RETRIEVAL, limit=3)
    assert read(tables, "queries").rows() == [tuple(topic) for topic in read_lines(raw / TOPICS)[:3]]
    assert read(tables, "corpus").height == 1_500
    assert set(read(tables, "qrels")["query-id"]) == set(read(tables, "queries")["id"])


def test_questions_without_a_relevant_passage_are_dropped_and_counted(small: Path) -> None:
    (small / TOPICS).write_text((small / TOPICS).read_text("utf-8") + "x\tКто?\ny\tГде?\n", "utf-8")
    (small / QRELS).write_text(
        (small / QRELS).read_text("utf-8") + f"x\tQ0\t{read_passages(small)[0][0]}\t0\n", "utf-8"
    )
    for name in DATASETS:
        tables = build(small, name, **({"candidates": 2} if name == RERANKING else {}))
        assert [(drop.reason, drop.examples) for drop in tables.dropped] == [
            ("no passage is judged relevant", ("x", "y"))
        ]
        assert read(tables, "queries").height == 4
        assert "x" not in read(tables, "qrels")["query-id"].to_list()


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize(
    ("question", "passage", "what"),
    [("2", "999999#3", "judged passage not in the corpus"), ("77", "7#0", "judgement of an unknown question")],
)
def test_a_judgement_of_an_unknown_passage_or_question_is_refused(
    name: str, question: str, passage: str, what: str, small: Path
) -> None:
    (small / QRELS).write_text((small / QRELS).read_text("utf-8") + f"{question}\tQ0\t{passage}\t0\n", "utf-8")
    with pytest.raises(SourceError, match=what) as caught:
        build(small, name)
    assert str(caught.value.where).endswith(f"question {question}, passage {passage}")


def test_a_question_with_too_few_candidates_is_refused(small: Path) -> None:
    (small / TOPICS).write_text((small / TOPICS).read_text("utf-8") + "x\tПятиугольник?\n", "utf-8")
    (small / QRELS).write_text(
        (small / QRELS).read_text("utf-8") + f"x\tQ0\t{read_passages(small)[0][0]}\t1\n", "utf-8"
    )
    with pytest.raises(RecipeError, match="too few candidates") as caught:
        build(small, RERANKING, candidates=9)
    assert "question x" in str(caught.value)


@pytest.mark.parametrize("name", DATASETS)
def test_an_empty_corpus_is_refused(name: str, small: Path) -> None:
    for shard in range(SHARDS):
        (small / SHARD.format(shard)).write_bytes(gzip.compress(b""))
    with pytest.raises(SourceError, match="the corpus is empty"):
        build(small, name)


def test_a_malformed_passage_is_named_by_shard_and_line(small: Path) -> None:
    path = small / SHARD.format(11)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b'{"docid": "7#7", "title": "x"}\n'))
    with pytest.raises(SourceError) as caught:
        build(small, RETRIEVAL)
    assert caught.value.where == f"miracl/{SHARD.format(11)}, line 4"


@pytest.fixture(scope="module")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real questions and judgements, over a corpus of invented passages with the judged docids and 2,000 others."""
    source = real_sources / "miracl"
    if not source.is_dir():
        pytest.skip(f"no real raw files: {source} is absent")
    folder = tmp_path_factory.mktemp("real")
    for name in (TOPICS, QRELS):
        (folder / name).write_bytes((source / name).read_bytes())
    docids = list(dict.fromkeys(document for _, _, document, _ in read_lines(folder / QRELS)))
    docids += [f"x#{number}" for number in range(2_000)]
    texts = [text for _, text in read_lines(folder / TOPICS)]
    (folder / SHARD).parent.mkdir()
    for shard in range(SHARDS):
        rows = [
            {"docid": docid, "title": f"№ {number}", "text": " ".join((texts * 2)[number % len(texts) :][:10])}
            for number, docid in enumerate(docids)
            if number * SHARDS // len(docids) == shard
        ]
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        (folder / SHARD.format(shard)).write_bytes(gzip.compress(data, 1))
    return folder


def test_the_real_questions_and_judgements_are_the_pinned_ones(real_sources: Path, tmp_path: Path) -> None:
    source = definition_of(RETRIEVAL).source
    for key in ("topics", "qrels"):
        file = locate(source, key, RawSettings(real_sources, tmp_path, offline=True, lock=tmp_path / "raw.lock.json"))
        assert file.verified
        assert isinstance(file.raw, Raw)


def test_the_real_questions_and_judgements_have_the_published_figures(real: Path) -> None:
    retrieval, reranking = (build(real, name) for name in DATASETS)
    for tables in (retrieval, reranking):
        queries = read(tables, "queries")
        assert (queries.height, queries["text"].n_unique()) == (1_252, 1_252)
        lengths = queries["text"].str.len_chars()
        assert (lengths.sum(), lengths.min(), lengths.max()) == (55_254, 15, 108)
        assert tables.dropped == ()
        assert tables.observed["judgements"] == 13_100
        assert tables.observed["judgements of a relevant passage"] == 3_560
    assert read(retrieval, "qrels").height == 3_560
    judged = read(reranking, "qrels")
    assert judged["score"].value_counts().sort("score").rows() == [(0, 9_540), (1, 3_560)]
    assert judged["corpus-id"].n_unique() == 12_607
    assert read(reranking, "top_ranked")["corpus-ids"].list.len().unique().to_list() == [100]
    assert find_defects(RETRIEVAL, retrieval) == []
    assert find_defects(RERANKING, reranking) == []


def test_the_card_counts_the_accented_latin_letters_of_the_real_questions(real_sources: Path) -> None:
    lines = (real_sources / "miracl" / TOPICS).read_text("utf-8").splitlines()
    letters = [[char for char in line.split("\t")[1] if char.isalpha() and char in ACCENTED] for line in lines]
    assert [len(found) for found in letters if found] == [2, 1]
    limits = " ".join(read_prose("miracl", "miracl-retrieval-ru", "2.0.0").limits.split())
    assert "two questions hold three accented Latin letters" in limits
