"""MIRACL's two recipes and the BM25 they rest on: on made passages, on the real questions and judgements, beside bm25s."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.miracl import DATASETS, QRELS, SHARD, SHARDS, TOPICS, inflected, library, made_up, make_raw, recipe
from builders.errors import RecipeError, SourceError
from builders.reading import json_batches
from builders.rumteb import miracl
from builders.rumteb.miracl import bm25
from builders.spec import Raw
from pipelines.audit import integrity
from pipelines.make import GOLDEN, make
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from pipelines.release.staging import frames_of
from tests.support.paths import ROOT
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from builders import tasks
    from builders.spec import Tables
    from cards.manifest import Finding
    from pipelines.make import BuildResult

RETRIEVAL, RERANKING = DATASETS
CANDIDATES = 12

# ---------------------------------------------------------------------- BM25


def rank(
    queries: list[str], batches: Sequence[list[str | None]], depth: int = 100, parts: int = 1
) -> list[tuple[int, int, int]]:
    """What a query finds in batches that are counted part by part."""
    asked = pl.Series(queries, dtype=pl.String)
    with tempfile.TemporaryDirectory() as folder:
        counted = [Path(folder, f"{part}") for part in range(parts)]
        for part, place in enumerate(counted):
            first, last = (len(batches) * edge // parts for edge in (part, part + 1))
            place.mkdir()
            bm25.count(asked, (pl.Series(batch, dtype=pl.String) for batch in batches[first:last]), place)
        return bm25.rank(asked, counted, depth=depth).rows()


def ranked(query: str, *passages: str) -> list[int]:
    """The places of the passages that one query finds, from the best."""
    return [passage for _, passage, _ in rank([query], [list(passages)])]


def by_the_book(queries: list[str], passages: list[str | None], depth: int) -> list[tuple[int, int, int]]:
    """What the module's docstring says, one passage and one word at a time."""
    import Stemmer

    stemmer = Stemmer.Stemmer("russian")

    def stems(text: str) -> list[str]:
        return [
            stemmer.stemWord(word.lower()) for word in re.findall("[0-9a-zA-Zа-яА-ЯёЁ]{2,}", text.replace("\u0301", ""))
        ]

    held = [Counter(stems(passage or "")) for passage in passages]
    lengths = [one.total() for one in held]
    all_of_them = sum(passage is not None for passage in passages)
    average = sum(lengths) / max(all_of_them, 1)
    best = []
    for number, query in enumerate(queries):
        scores = [0] * len(passages)
        for stem in stems(query):
            df = sum(stem in one for one in held)
            idf = round(1_000_000 * math.log(1 + (all_of_them - df + 0.5) / (df + 0.5)))
            for place, one in enumerate(held):
                if times := one[stem]:
                    norm = 1.5 * (0.25 + 0.75 * (lengths[place] / average))
                    scores[place] += round(idf * times / (times + norm))
        order = sorted(range(len(passages)), key=lambda place: (-scores[place], place))
        best += [(number, place, scores[place]) for place in order if scores[place]][:depth]
    return best


WORDS = (
    "река",
    "реки",
    "Рекой",
    "рек",
    "город",
    "Города",
    "в",
    "мост",
    "моста",
    "мостов",
    "7",
    "1874",
    "ёлка",
    "елки",
    "km",
    "",
    ".",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.lists(TEXTS | st.none(), max_size=6), max_size=5),
    st.integers(1, 8),
    st.integers(1, 3),
)
def test_what_is_ranked_is_what_the_definition_says_wherever_batches_and_parts_end(
    queries: list[str], batches: list[list[str | None]], depth: int, parts: int
) -> None:
    passages = [passage for batch in batches for passage in batch]
    assert rank(queries, batches, depth, parts) == by_the_book(queries, passages, depth)


def test_what_is_no_passage_keeps_its_place_and_counts_for_nothing() -> None:
    with_gap, without = (rank(["мост река"], [["мост", *gap, "река мост"]]) for gap in ([None], []))
    assert [(query, passage - (passage > 1), score) for query, passage, score in with_gap] == without


def test_a_word_counts_in_all_of_its_forms() -> None:
    assert ranked("Мосты через реку", "ничего", "под мостом", "реки и мост") == [2, 1]


def test_a_stress_mark_is_no_part_of_a_word_and_yo_is_ye() -> None:
    assert ranked("Ледо\u0301вый тракт, зелёный", "ледовый", "тра\u0301кт", "зеленый", "вый") == [0, 1, 2]


def test_single_letters_and_other_signs_are_no_words() -> None:
    assert ranked("и в я — 7 α β «»", "и в я", "7 α β", "— «»") == []


def test_of_two_equal_passages_the_earlier_comes_first() -> None:
    assert ranked("мост", "новый мост", "старый дом", "новый мост", "мост") == [3, 0, 2]
    many = rank(["мост река"], [["мост"] * 100 + ["мост река"] * 50, ["река"] * 50 + ["мост река"] * 50], depth=60)
    assert [passage for _, passage, _ in many] == [*range(100, 150), *range(200, 210)]


def test_a_word_that_the_query_repeats_counts_twice() -> None:
    [(_, _, once)] = rank(["мост река"], [["мост", "дом"]])
    [(_, _, twice)] = rank(["мост моста река"], [["мост", "дом"]])
    assert twice == 2 * once


def test_a_word_in_every_passage_of_a_huge_collection_is_worth_nothing() -> None:
    assert rank(["город"], [["город"] * 1_000] * 400) == []


def test_where_there_is_nothing_nothing_is_ranked() -> None:
    assert rank(["мост"], []) == rank(["мост"], [[]]) == rank([], [["мост"]]) == rank([""], [["мост"]]) == []


def test_the_stemmer_gives_the_stems_it_gave_when_version_1_was_made() -> None:
    """Another release of the library may not move candidates unnoticed. PyStemmer 2.0.1 to 3.1.0 agree."""
    known = {
        "ёлка": "елк", "важнейший": "важн", "красивейшая": "красив", "бывавших": "быва", "учащихся": "уча",
        "построенного": "построен", "принадлежностями": "принадлежн", "1874": "1874", "wikipedia": "wikipedia",
    }  # fmt: skip
    assert dict(zip(known, bm25._stems(list(known)), strict=True)) == known
    endings = (
        "ами",
        "ого",
        "ение",
        "ейшего",
        "ость",
        "остями",
        "ться",
        "ился",
        "ившись",
        "ующий",
        "нного",
        "ее",
        "ьё",
        "ой",
    )
    words = [made_up(number) + ending for number in range(0, 20_000, 37) for ending in endings]
    digest = hashlib.sha256(" ".join(bm25._stems(words)).encode()).hexdigest()
    assert digest[:16] == "2d45905e67670fb3"


def test_bm25s_ranks_the_same_passages_with_the_same_scores() -> None:
    import random

    choose = random.Random(5)
    passages = [made_passage(choose) for _ in range(1_500)]
    queries = [" ".join(choose.sample(choose.choice(passages).split(), 4)) for _ in range(40)]
    ours = pl.DataFrame(
        rank(queries, [passages[:700], passages[700:]], 50), ["query", "passage", "score"], orient="row"
    )
    theirs = library(pl.Series(queries), passages, len(passages))
    both = ours.join(theirs, on=["query", "passage"], suffix="_bm25s")
    assert both.height == ours.height
    assert both.select((pl.col("score") / 1e6 - pl.col("score_bm25s")).abs().max()).item() < 1e-4
    fiftieth = ours.group_by("query").agg(pl.col("score").min() / 1e6)
    better = theirs.join(fiftieth, on="query", suffix="_fiftieth").filter(
        pl.col("score") > pl.col("score_fiftieth") + 1e-4
    )
    missed = better.join(ours, on=["query", "passage"], how="anti")
    assert missed.is_empty(), "what bm25s finds clearly better than our fiftieth is among our fifty"


def made_passage(choose: random.Random) -> str:
    """Words of which low numbers are frequent."""
    numbers = (int(1 / (choose.random() + 0.004)) for _ in range(choose.randrange(4, 60)))
    return " ".join(inflected(choose, made_up(number)) for number in numbers)


# ---------------------------------------------------------------- the recipes


def made(folder: Path, name: str, limit: int | None = None, **options: Any) -> Tables:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        tables = recipe(folder, name, Path(scratch), limit, **options)
        frames = {
            config: {split: frame.lazy().collect() for split, frame in table.items()}
            for config, table in tables.frames.items()
        }
    return type(tables)(frames, tables.dropped, tables.observed)


def frame(tables: Tables, config: str) -> pl.DataFrame:
    return tables.frames[config]["dev"].lazy().collect()


def defects(tables: Tables, task: tasks.Task) -> list[Finding]:
    frames = {config: {split: one.lazy() for split, one in table.items()} for config, table in tables.frames.items()}
    return integrity.check_integrity(task, frames, ("dev",))


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made raw files: 4,000 passages, 150 questions. What a test changes it changes in a copy."""
    folder = tmp_path_factory.mktemp("miracl")
    make_raw(folder, 4_000, 150, stems=1_500)
    return folder


def passages(folder: Path) -> list[tuple[str, str, str]]:
    return [
        tuple(json.loads(line).values())
        for shard in range(SHARDS)
        for line in gzip.decompress((folder / SHARD.format(shard)).read_bytes()).splitlines()
    ]


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Raw files that a test may change: 60 passages, 4 questions."""
    make_raw(tmp_path, 60, 4, stems=10)
    return tmp_path


def test_retrieval_is_the_whole_corpus_in_the_order_of_the_shards_and_the_relevant_judgements(raw: Path) -> None:
    tables = made(raw, RETRIEVAL)
    assert frame(tables, "corpus").rows() == passages(raw)
    assert frame(tables, "queries").rows() == [tuple(topic) for topic in lines(raw / TOPICS)]
    relevant = [(query, document, 1) for query, _, document, score in lines(raw / QRELS) if score == "1"]
    assert frame(tables, "qrels").rows() == relevant
    assert defects(tables, definition_of(RETRIEVAL).dataset.task) == []


def test_the_candidates_are_the_judged_passages_and_the_best_others_by_bm25(raw: Path) -> None:
    tables = made(raw, RERANKING, candidates=CANDIDATES)
    corpus = passages(raw)
    best = rank([text for _, text in lines(raw / TOPICS)], [[f"{title} {text}" for _, title, text in corpus]])
    lists = dict(frame(tables, "top_ranked").rows())
    for number, (query, _) in enumerate(lines(raw / TOPICS)):
        judged = [document for asked, _, document, _ in lines(raw / QRELS) if asked == query]
        others = [corpus[place][0] for asked, place, _ in best if asked == number and corpus[place][0] not in judged]
        expected = judged + others[: max(0, CANDIDATES - len(judged))]
        assert sorted(lists[query]) == sorted(expected)
    listed = set().union(*lists.values())
    assert frame(tables, "corpus").rows() == [passage for passage in corpus if passage[0] in listed]
    assert tables.observed["candidates that BM25 added"] == sum(map(len, lists.values())) - len(lines(raw / QRELS))
    assert defects(tables, definition_of(RERANKING).dataset.task) == []


@pytest.fixture
def twins(small: Path) -> Path:
    """Raw files in which three passages of the last shard have title and text of 7#0, one its text alone, one its title."""
    path = small / SHARD.format(SHARDS - 1)
    _, title, text = passages(small)[0]
    more = [("a#0", title, text), ("a#1", "x", text), ("a#2", title, "x"), ("a#3", title, text), ("a#4", title, text)]
    rows = [json.dumps({"docid": docid, "title": title, "text": text}) + "\n" for docid, title, text in more]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + "".join(rows).encode()))
    (small / TOPICS).write_text(f"p\t{title}?\nq\t{text}\n", "utf-8")
    judged = [("p", "a#0", 0), ("p", "a#1", 0), ("p", "a#4", 1), ("q", "a#3", 1), ("q", "a#2", 0)]
    (small / QRELS).write_text("".join(f"{one}\tQ0\t{docid}\t{score}\n" for one, docid, score in judged), "utf-8")
    return small


@pytest.mark.parametrize("name", DATASETS)
def test_of_passages_with_one_title_and_text_the_first_stays_and_has_the_judgements_of_all(
    name: str, twins: Path
) -> None:
    tables = made(twins, name, clean=True, **({"candidates": 9} if name == RERANKING else {}))
    relevant = [("p", "7#0", 1), ("q", "7#0", 1)]
    judged = [("p", "7#0", 1), ("p", "a#1", 0), ("q", "7#0", 1), ("q", "a#2", 0)]
    assert frame(tables, "qrels").rows() == (judged if name == RERANKING else relevant)
    assert [(one.reason, one.count, one.examples) for one in tables.dropped] == [
        ("the passage is equal to an earlier one, into which it was merged", 3, ("a#0", "a#3", "a#4")),
        ("the passage is equal to another one that is judged for the question", 1, ("p",)),
    ]
    assert tables.observed["judgements"] == 5
    assert tables.observed["judgements given to an equal passage"] == 3
    ids = frame(tables, "corpus")["id"].to_list()
    assert not {"a#0", "a#3", "a#4"} & set(ids)
    if name == RETRIEVAL:
        assert frame(tables, "corpus").rows() == [one for one in passages(twins) if one[0] in ids]
        assert len(ids) == 62
    assert defects(tables, definition_of(name).dataset.task) == []


def test_no_list_of_the_clean_version_has_a_title_and_text_twice(raw: Path) -> None:
    for clean in (False, True):
        tables = made(raw, RERANKING, candidates=60, clean=clean)
        texts = frame(tables, "corpus").select(
            pl.col("id").alias("corpus-ids"), pl.struct("title", "text").alias("read")
        )
        lists = frame(tables, "top_ranked").explode("corpus-ids").join(texts, on="corpus-ids")
        twice = lists.filter(pl.struct("query-id", "read").is_duplicated())
        assert twice.is_empty() == clean
        assert frame(tables, "top_ranked")["corpus-ids"].list.len().to_list() == [60] * 150


def test_the_clean_candidates_are_bm25s_best_of_a_corpus_in_which_each_passage_stands_once(
    raw: Path, tmp_path: Path
) -> None:
    """As if the raw files had never held the others."""
    first = {one[1:]: one for one in reversed(passages(raw))}
    renamed = {one[0]: first[one[1:]][0] for one in passages(raw)}
    once = [one for one in passages(raw) if renamed[one[0]] == one[0]]
    assert len(once) < len(renamed)
    (tmp_path / SHARD).parent.mkdir()
    for shard in range(SHARDS):
        rows = [dict(zip(("docid", "title", "text"), one, strict=True)) for one in once] if shard == 3 else []
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (tmp_path / SHARD.format(shard)).write_bytes(gzip.compress(data))
    (tmp_path / TOPICS).write_bytes((raw / TOPICS).read_bytes())
    judged = {(query, renamed[docid]): "0" for query, _, docid, _ in lines(raw / QRELS)}
    judged |= {(query, renamed[docid]): "1" for query, _, docid, score in lines(raw / QRELS) if score == "1"}
    (tmp_path / QRELS).write_text(
        "".join(f"{query}\tQ0\t{docid}\t{score}\n" for (query, docid), score in judged.items())
    )
    ours, theirs = made(raw, RERANKING, candidates=30, clean=True), made(tmp_path, RERANKING, candidates=30)
    for config in ("corpus", "queries", "qrels", "top_ranked"):
        assert frame(ours, config).rows() == frame(theirs, config).rows()


def test_added_candidates_are_not_judged(raw: Path) -> None:
    tables = made(raw, RERANKING, candidates=CANDIDATES)
    judged = [(query, document, int(score)) for query, _, document, score in lines(raw / QRELS)]
    assert frame(tables, "qrels").rows() == judged
    assert tables.observed["judgements"] == len(judged)


def test_the_place_of_a_candidate_does_not_tell_whether_it_is_relevant_or_judged(raw: Path) -> None:
    tables = made(raw, RERANKING, candidates=20)
    score = {(query, document): score for query, document, score in frame(tables, "qrels").rows()}
    lists = [
        [score.get((query, document)) for document in ranked] for query, ranked in frame(tables, "top_ranked").rows()
    ]
    for told in ({1}, {0, 1}):
        places = [place / (len(marks) - 1) for marks in lists for place, mark in enumerate(marks) if mark in told]
        assert abs(sum(places) / len(places) - 0.5) < 3 * math.sqrt(1 / 12 / len(places))


def test_more_candidates_only_add_to_the_lists(raw: Path) -> None:
    few, many = (dict(frame(made(raw, RERANKING, candidates=n), "top_ranked").rows()) for n in (12, 30))
    assert all(set(few[query]) < set(many[query]) for query in few)


def test_a_limit_leaves_out_questions_but_no_passage(raw: Path) -> None:
    tables = made(raw, RETRIEVAL, limit=3)
    assert frame(tables, "queries").rows() == [tuple(topic) for topic in lines(raw / TOPICS)[:3]]
    assert frame(tables, "corpus").height == 4_000
    assert set(frame(tables, "qrels")["query-id"]) == set(frame(tables, "queries")["id"])


def test_a_question_without_a_relevant_passage_is_left_out_and_counted(small: Path) -> None:
    (small / TOPICS).write_text((small / TOPICS).read_text("utf-8") + "x\tКто?\ny\tГде?\n", "utf-8")
    (small / QRELS).write_text((small / QRELS).read_text("utf-8") + f"x\tQ0\t{passages(small)[0][0]}\t0\n", "utf-8")
    for name in DATASETS:
        tables = made(small, name, **({"candidates": 2} if name == RERANKING else {}))
        assert [(one.reason, one.examples) for one in tables.dropped] == [("no passage is judged relevant", ("x", "y"))]
        assert frame(tables, "queries").height == 4
        assert "x" not in frame(tables, "qrels")["query-id"].to_list()


@pytest.mark.parametrize("name", DATASETS)
def test_a_judged_passage_that_is_not_in_the_corpus_is_refused(name: str, small: Path) -> None:
    (small / QRELS).write_text((small / QRELS).read_text("utf-8") + "2\tQ0\t999999#3\t0\n", "utf-8")
    with pytest.raises(SourceError, match="a judged passage that is not in the corpus") as caught:
        made(small, name)
    assert "question 2, passage 999999#3 (1 such" in str(caught.value)


@pytest.mark.parametrize("name", DATASETS)
def test_a_judgement_of_an_unknown_question_is_refused(name: str, small: Path) -> None:
    (small / QRELS).write_text((small / QRELS).read_text("utf-8") + "77\tQ0\t7#0\t1\n", "utf-8")
    with pytest.raises(SourceError, match="a judgement of a question that does not exist") as caught:
        made(small, name)
    assert "question 77, passage 7#0" in str(caught.value)


def test_a_question_that_finds_too_few_candidates_is_refused(small: Path) -> None:
    (small / TOPICS).write_text((small / TOPICS).read_text("utf-8") + "x\tПятиугольник?\n", "utf-8")
    (small / QRELS).write_text((small / QRELS).read_text("utf-8") + f"x\tQ0\t{passages(small)[0][0]}\t1\n", "utf-8")
    with pytest.raises(RecipeError, match="too few candidates") as caught:
        made(small, RERANKING, candidates=9)
    assert "question x" in str(caught.value)


@pytest.mark.parametrize("name", DATASETS)
def test_a_corpus_without_a_passage_is_refused(name: str, small: Path) -> None:
    for shard in range(SHARDS):
        (small / SHARD.format(shard)).write_bytes(gzip.compress(b""))
    with pytest.raises(SourceError, match="the corpus is empty"):
        made(small, name)


def test_a_broken_passage_is_named_by_shard_and_line(small: Path) -> None:
    path = small / SHARD.format(11)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b'{"docid": "7#7", "title": "x"}\n'))
    with pytest.raises(SourceError) as caught:
        made(small, RETRIEVAL)
    assert caught.value.where == f"miracl/{SHARD.format(11)}, line 4"


# ------------------------------------------------------- builds that were killed


def read_shards(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that from now on gets the names of the shards that a build reads."""
    names: list[str] = []

    def noted(raw: Raw, columns: Any) -> Any:
        names.append(raw.name.rsplit("-", 1)[1])
        return json_batches(raw, columns)

    monkeypatch.setattr(miracl, "json_batches", noted)
    return names


@pytest.mark.parametrize("name", DATASETS)
def test_a_build_killed_at_any_step_goes_on_with_the_first_shard_that_is_not_done(
    name: str, golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {"dataset": name, "version": "2.0.0", "golden": str(GOLDEN), "folder": str(tmp_path / "killed")}
    job |= {"exchange": True, "most": 1_000, "every": 43, "below": "cache"}
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "support" / "killed_builds.py"), str(tmp_path / "job.json")],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit"] == 0
    undisturbed = golden_release(name, "2.0.0").manifest
    taken_over, read = [], read_shards(monkeypatch)
    for folder in sorted((tmp_path / "killed").iterdir())[:-1]:
        left = sorted(path.name for path in folder.glob("cache/kept/*/*/*") if path.suffix != ".part")
        stored = [f"{shard}.jsonl.gz" for shard in range(SHARDS) if f"passages-{shard:02d}" in left]
        said: list[str] = []
        again = make(definition_of(name), "2.0.0", sample_settings(folder), said.append)
        for key in ("content_sha256", "dropped", "observed"):
            assert again.manifest[key] == undisturbed[key]
        if again.state == "up to date":
            assert read == [], "killed when the release was in place already"
            continue
        assert stored + read == [f"{shard}.jsonl.gz" for shard in range(SHARDS)], "each shard is stored once"
        assert len(said) == bool(left), said
        assert not list(folder.glob("cache/kept/*/*"))
        taken_over.append(len(stored))
        read.clear()
    assert taken_over == sorted(taken_over)
    assert 0 < taken_over[0] < taken_over[1] < taken_over[2]


def test_what_was_kept_for_other_rows_is_removed_and_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = sample_settings(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise RecipeError("no more", todo="")

    with monkeypatch.context() as broken:
        broken.setattr(miracl, "_refuse_missing", fail)
        with pytest.raises(RecipeError):
            make(definition_of(RETRIEVAL), "1.0.0", settings, print)
    [left] = tmp_path.glob("cache/kept/*/*")
    assert len(list(left.iterdir())) == SHARDS
    read = read_shards(monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(miracl, "_refuse_missing", fail)
        with pytest.raises(RecipeError):
            make(definition_of(RETRIEVAL), "2.0.0", settings, print)
    assert len(read) == SHARDS
    [other] = tmp_path.glob("cache/kept/*/*")
    assert other != left
    make(definition_of(RETRIEVAL), "2.0.0", settings, print)
    assert len(read) == SHARDS
    assert not list(tmp_path.glob("cache/kept/*/*"))


# mteb's own tasks, which have 18 languages in one repository


@pytest.mark.filterwarnings("default")  # what mteb and its libraries warn of is not ours to mend
@pytest.mark.parametrize(("name", "own"), [(RETRIEVAL, "MIRACLRetrieval"), (RERANKING, "MIRACLReranking")])
def test_mtebs_own_task_loads_our_release(name: str, own: str, golden_release: Callable[..., BuildResult]) -> None:
    mteb = pytest.importorskip("mteb", reason="mteb is not installed")
    made = golden_release(name)
    task = mteb.get_task(own, hf_subsets=["ru"])
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": str(made.place), "revision": "main"}})
    task.load_data()
    loaded = task.dataset["ru"]["dev"]
    ours = {config: splits["dev"].collect() for config, splits in frames_of(made.place, made.manifest).items()}
    assert loaded["corpus"].to_list() == ours["corpus"].to_dicts()
    assert loaded["queries"].to_list() == ours["queries"].to_dicts()
    judged = [(query, *one) for query, scores in loaded["relevant_docs"].items() for one in scores.items()]
    assert sorted(judged) == sorted(ours["qrels"].rows())
    assert loaded["top_ranked"] == (dict(ours["top_ranked"].rows()) if name == RERANKING else None)


# --------------------------------------------------------------- real files


@pytest.fixture(scope="module")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real questions and judgements, over a corpus of invented passages with the judged docids, and some more."""
    source = real_sources / "miracl"
    if not source.is_dir():
        pytest.skip(f"no real raw files: {source} is absent")
    folder = tmp_path_factory.mktemp("real")
    for name in (TOPICS, QRELS):
        (folder / name).write_bytes((source / name).read_bytes())
    docids = list(dict.fromkeys(document for _, _, document, _ in lines(folder / QRELS)))
    docids += [f"x#{number}" for number in range(2_000)]
    texts = [text for _, text in lines(folder / TOPICS)]
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
        found = locate(source, key, RawSettings(real_sources, tmp_path, offline=True, lock=tmp_path / "raw.lock.json"))
        assert found.verified
        assert isinstance(found.raw, Raw)


def test_the_real_questions_and_judgements_have_the_published_figures(real: Path) -> None:
    retrieval, reranking = (made(real, name) for name in DATASETS)
    for tables in (retrieval, reranking):
        queries = frame(tables, "queries")
        assert (queries.height, queries["text"].n_unique()) == (1_252, 1_252)
        lengths = queries["text"].str.len_chars()
        assert (lengths.sum(), lengths.min(), lengths.max()) == (55_254, 15, 108)
        assert tables.dropped == ()
        assert tables.observed["judgements"] == 13_100
        assert tables.observed["judgements of a relevant passage"] == 3_560
    assert frame(retrieval, "qrels").height == 3_560
    judged = frame(reranking, "qrels")
    assert judged["score"].value_counts().sort("score").rows() == [(0, 9_540), (1, 3_560)]
    assert judged["corpus-id"].n_unique() == 12_607
    assert frame(reranking, "top_ranked")["corpus-ids"].list.len().unique().to_list() == [100]
    assert defects(retrieval, definition_of(RETRIEVAL).dataset.task) == []
    assert defects(reranking, definition_of(RERANKING).dataset.task) == []
