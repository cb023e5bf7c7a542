"""RuBQ's two recipes, on generated raw files with the size and the format of the real ones."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.rubq import PARAGRAPHS, QUESTIONS, Planted, made, make_raw
from tests.support.recipes import find_defects, frame
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from pathlib import Path

    from builders.spec import Tables

RERANKING, RETRIEVAL = "rubq-reranking", "rubq-retrieval"


def rows(tables: Tables, config: str) -> list[tuple[Any, ...]]:
    return frame(tables, config=config).rows()


@dataclass(frozen=True)
class RealSize:
    """Raw files of the real size, and the tables built from them."""

    generated: Planted
    reranking: Tables
    retrieval: Tables
    folder: Path


@pytest.fixture(scope="module")
def real_size(tmp_path_factory: pytest.TempPathFactory) -> RealSize:
    folder = tmp_path_factory.mktemp("rubq")
    generated = make_raw(folder)
    return RealSize(generated, made(folder, RERANKING), made(folder, RETRIEVAL), folder)


def test_every_table_has_the_generated_rows(real_size: RealSize) -> None:
    for tables, expected in (
        (real_size.reranking, real_size.generated.reranking),
        (real_size.retrieval, real_size.generated.retrieval),
    ):
        assert {config: frame(tables, config=config).height for config in tables.frames} == expected
    assert real_size.retrieval.observed == real_size.generated.observed
    assert real_size.generated.observed == {
        "paragraphs": 56_952,
        "paragraphs distinct by page and text": 56_826,
        "paragraphs distinct by text": 56_773,
    }
    assert find_defects(RERANKING, real_size.reranking) == []
    assert find_defects(RETRIEVAL, real_size.retrieval) == []


def test_every_question_and_every_paragraph_is_kept_or_counted(real_size: RealSize) -> None:
    merged, unanswered = real_size.retrieval.dropped
    assert (merged.reason, merged.count) == ("merged into an earlier paragraph with the same page and text", 126)
    assert frame(real_size.retrieval, config="corpus").height + merged.count == 56_952
    assert frame(real_size.retrieval, config="queries").height + unanswered.count == 2_330
    dropped = real_size.reranking.dropped
    assert frame(real_size.reranking, config="queries").height + sum(one.count for one in dropped) == 2_330
    assert dropped[0] == unanswered, "both recipes drop the same unanswered questions"


def test_the_position_of_a_candidate_does_not_reveal_whether_it_answers(real_size: RealSize) -> None:
    score = {(query, document): score for query, document, score in rows(real_size.reranking, "qrels")}
    lists = [
        [score[query, document] for document in ranked] for query, ranked in rows(real_size.reranking, "top_ranked")
    ]
    chances = [sum(scores) / len(scores) for scores in lists]
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    for position in (0, -1):
        hits = sum(scores[position] for scores in lists)
        assert abs(hits - sum(chances)) < 3 * deviation
    positions = [position / (len(scores) - 1) for scores in lists for position, score in enumerate(scores) if score]
    assert abs(sum(positions) / len(positions) - 0.5) < 3 * math.sqrt(1 / 12 / len(positions))


def test_merging_by_text_alone_leaves_one_paragraph_per_text(real_size: RealSize) -> None:
    tables = made(real_size.folder, RETRIEVAL, same="text")
    assert frame(tables, config="corpus").height == real_size.generated.observed["paragraphs distinct by text"]
    assert tables.observed == real_size.retrieval.observed
    assert find_defects(RETRIEVAL, tables) == []


def test_the_generator_writes_the_same_bytes_every_time(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        make_raw(tmp_path / folder, 30, 300, 9, 4)
    for name in (QUESTIONS, PARAGRAPHS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_generator_writes_the_format_of_the_real_file(real_sources: Path, real_size: RealSize) -> None:
    files = (real_sources / "rubq" / "RuBQ_2.0_dev.json", real_size.folder / QUESTIONS)
    real, ours = (json.loads(file.read_bytes()) for file in files)
    for file, questions in zip(files, (real, ours), strict=True):
        assert file.read_bytes() == json.dumps(questions, ensure_ascii=False, indent=4).encode()
    assert {tuple(question) for question in ours} == {tuple(question) for question in real}
    for key in real[0]:
        assert {type(question[key]) for question in ours} == {type(question[key]) for question in real}
    for key in ("with_answer", "all_related"):
        lengths, expected = ([len(one["paragraphs_uids"][key]) for one in questions] for questions in (ours, real))
        assert abs(sum(lengths) / len(lengths) - sum(expected) / len(expected)) < 0.1 * sum(expected) / len(expected)
    keys = [{tuple(answer) for question in questions for answer in question["answers"]} for questions in (ours, real)]
    assert keys[0] == keys[1]


def test_the_cleaned_corpus_has_one_document_per_text(real_size: RealSize) -> None:
    tables = made(real_size.folder, RETRIEVAL, **definition_of(RETRIEVAL).dataset.options("2.0.0"))
    short = sum(one.count for one in tables.dropped if "single character" in one.reason)
    assert frame(tables, config="corpus").height == 56_773 - short
    paragraphs = [one.count for one in tables.dropped if "paragraph with the same text" in one.reason]
    assert sum(paragraphs) + short == 56_952 - frame(tables, config="corpus").height
    assert frame(tables, config="corpus")["text"].n_unique() == 56_773 - short
    assert frame(tables, config="queries")["text"].is_unique().all()
    assert find_defects(RETRIEVAL, tables) == []
    reranking = made(real_size.folder, RERANKING, **definition_of(RERANKING).dataset.options("2.0.0"))
    assert find_defects(RERANKING, reranking) == []
