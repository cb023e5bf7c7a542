"""RuBQ's two recipes, on generated raw files with the format of the real ones: smaller in CI, of the real size when slow."""

import json
import math
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from benchmarks.programs import run_recipe
from benchmarks.rubq import PARAGRAPHS, QUESTIONS, Planted, make_raw
from builders.spec import Tables
from tests.support.recipes import find_defects, frame, rows_of
from tests.support.releases import definition_of

RERANKING, RETRIEVAL = "rubq-reranking", "rubq-retrieval"


@dataclass(frozen=True)
class Size:
    """The numbers of questions and paragraphs, and of those that have the page and text, or the text only, of another one."""

    questions: int
    paragraphs: int
    copies: int
    twins: int


REAL = Size(2_330, 56_952, 126, 53)
SMALL = Size(700, 8_000, 40, 15)


@dataclass(frozen=True)
class Built:
    """Raw files of a size, and the tables built from them."""

    size: Size
    generated: Planted
    reranking: Tables
    retrieval: Tables
    folder: Path


@pytest.fixture(scope="module", params=[SMALL, pytest.param(REAL, marks=pytest.mark.slow)], ids=["small", "real"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder, size = tmp_path_factory.mktemp("rubq"), request.param
    generated = make_raw(folder, *astuple(size))
    return Built(size, generated, run_recipe(folder, folder, RERANKING), run_recipe(folder, folder, RETRIEVAL), folder)


def test_every_table_has_the_generated_rows(built: Built) -> None:
    for tables, expected in (
        (built.reranking, built.generated.reranking),
        (built.retrieval, built.generated.retrieval),
    ):
        assert {config: frame(tables, config=config).height for config in tables.frames} == expected
    assert built.retrieval.observed == built.generated.observed
    size = built.size
    assert built.generated.observed == {
        "paragraphs": size.paragraphs,
        "paragraphs distinct by page and text": size.paragraphs - size.copies,
        "paragraphs distinct by text": size.paragraphs - size.copies - size.twins,
    }
    assert find_defects(RERANKING, built.reranking) == []
    assert find_defects(RETRIEVAL, built.retrieval) == []


def test_every_question_and_every_paragraph_is_kept_or_counted(built: Built) -> None:
    merged, unanswered = built.retrieval.dropped
    reason = "merged into an earlier paragraph with the same page and text"
    assert (merged.reason, merged.count) == (reason, built.size.copies)
    assert frame(built.retrieval, config="corpus").height + merged.count == built.size.paragraphs
    assert frame(built.retrieval, config="queries").height + unanswered.count == built.size.questions
    dropped = built.reranking.dropped
    assert frame(built.reranking, config="queries").height + sum(drop.count for drop in dropped) == built.size.questions
    assert dropped[0] == unanswered, "both recipes drop the same unanswered questions"


def test_the_position_of_a_candidate_does_not_reveal_whether_it_answers(built: Built) -> None:
    score = {(query, document): score for query, document, score in rows_of(built.reranking, "qrels")}
    lists = [
        [score[query, document] for document in ranked] for query, ranked in rows_of(built.reranking, "top_ranked")
    ]
    chances = [sum(scores) / len(scores) for scores in lists]
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    for position in (0, -1):
        hits = sum(scores[position] for scores in lists)
        assert abs(hits - sum(chances)) < 3 * deviation
    positions = [position / (len(scores) - 1) for scores in lists for position, score in enumerate(scores) if score]
    assert abs(sum(positions) / len(positions) - 0.5) < 3 * math.sqrt(1 / 12 / len(positions))


def test_the_generator_writes_the_same_bytes_every_time(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        make_raw(tmp_path / folder, 30, 300, 9, 4)
    for name in (QUESTIONS, PARAGRAPHS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_generator_writes_the_format_of_the_real_file(real_sources: Path, built: Built) -> None:
    files = (real_sources / "rubq" / "RuBQ_2.0_dev.json", built.folder / QUESTIONS)
    real, ours = (json.loads(file.read_bytes()) for file in files)
    for file, questions in zip(files, (real, ours), strict=True):
        assert file.read_bytes() == json.dumps(questions, ensure_ascii=False, indent=4).encode()
    assert {tuple(question) for question in ours} == {tuple(question) for question in real}
    for key in real[0]:
        assert {type(question[key]) for question in ours} == {type(question[key]) for question in real}
    for key in ("with_answer", "all_related"):
        lengths, expected = (
            [len(question["paragraphs_uids"][key]) for question in questions] for questions in (ours, real)
        )
        assert abs(sum(lengths) / len(lengths) - sum(expected) / len(expected)) < 0.1 * sum(expected) / len(expected)
    keys = [{tuple(answer) for question in questions for answer in question["answers"]} for questions in (ours, real)]
    assert keys[0] == keys[1]


def test_the_cleaned_corpus_has_one_document_per_text(built: Built) -> None:
    tables = run_recipe(built.folder, built.folder, RETRIEVAL, **definition_of(RETRIEVAL).dataset.options("2.0.0"))
    short = sum(drop.count for drop in tables.dropped if "single character" in drop.reason)
    texts = built.generated.observed["paragraphs distinct by text"]
    assert frame(tables, config="corpus").height == texts - short
    paragraphs = [drop.count for drop in tables.dropped if "paragraph with the same text" in drop.reason]
    assert sum(paragraphs) + short == built.size.paragraphs - frame(tables, config="corpus").height
    assert frame(tables, config="corpus")["text"].n_unique() == texts - short
    assert frame(tables, config="queries")["text"].is_unique().all()
    assert find_defects(RETRIEVAL, tables) == []
    reranking = run_recipe(built.folder, built.folder, RERANKING, **definition_of(RERANKING).dataset.options("2.0.0"))
    assert find_defects(RERANKING, reranking) == []
