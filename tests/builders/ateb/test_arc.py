"""ARC: the real test set has the published queries, and its options begin the pool of RAR-b."""

from collections.abc import Callable
from pathlib import Path

from builders.ateb import arc
from builders.shaping.choices import build_option_pool
from builders.spec import Raw
from pipelines.make import BuildResult
from tests.support.real_releases import read_table


def test_the_real_test_set_has_the_published_queries_and_every_answer_in_its_pool(
    complete_release: Callable[[str], BuildResult],
) -> None:
    release = complete_release("arc-challenge-retrieval")
    queries, qrels = read_table(release, "queries"), read_table(release, "qrels")
    assert (queries.height, queries["text"].n_unique()) == (1172, 1170)
    assert queries["id"][0] == "ARC-Challenge-q-0"
    assert qrels["query-id"].to_list() == queries["id"].to_list()
    assert set(qrels["corpus-id"]) == set(read_table(release, "corpus")["id"])


def test_the_rarb_pool_begins_with_the_options_of_the_real_test_set(real_sources: Path) -> None:
    """The train file and five dev questions are not available, so only this part of the 9,350 documents is certain."""
    names = ("ARC-Challenge-Test.jsonl", "ARC-Challenge-Dev.294of299.jsonl")
    test, dev = (arc.read_questions(Raw(name, real_sources / "arc" / name)) for name in names)
    tables = build_option_pool(test, [dev], prefix=arc.PREFIX, split="test")
    corpus, qrels = (tables.frames[config]["test"].lazy().collect() for config in ("corpus", "qrels"))
    options = list(dict.fromkeys(option for row in test["options"] for option in row))
    assert corpus["text"][: len(options)].to_list() == options
    assert corpus.height == len(dict.fromkeys([*options, *(option for row in dev["options"] for option in row)]))
    texts = dict(zip(corpus["id"], corpus["text"], strict=True))
    gold = [row["options"][row["gold"]] for row in test.iter_rows(named=True)]
    assert [texts[document] for document in qrels["corpus-id"]] == gold
