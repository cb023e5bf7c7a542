"""pipelines.audit.judgements: unjudged twins, and queries in the corpus. pipelines.audit.judgements: splits that are
sorted by label, and those that are not. pipelines.audit.judgements: when a label is rare. Training pairs: what a
trainer cannot use is an error, what teaches something wrong is a finding.
"""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import with_examples
from pipelines.audit.judgements import audit_judgements, find_sorted_labels, with_folded_texts
from pipelines.audit.survey import survey_tables
from tests.support.tables import (
    TASKS,
    Tables,
    clean_tables,
    combine,
    quality_findings,
    with_rows,
    with_value,
)


def test_all_twins_are_counted_and_the_first_five_are_examples() -> None:
    def unjudged_twins(tables: Tables) -> tuple[int, tuple[str, ...]]:
        [twins] = (finding for finding in quality_findings("Retrieval", tables) if finding.kind == "unjudged_twin")
        return twins.count, twins.examples

    texts = {"t0": "Wax They build with it.", **{f"t{number}": "Bees make honey." for number in (5, 4, 3, 2, 1)}}
    twins = with_rows("corpus", "test", *((name, "", text) for name, text in texts.items()))
    tables = combine(twins, with_rows("qrels", "test", ("q1", "t4", 0)))(clean_tables("Retrieval"))
    assert unjudged_twins(tables) == (5, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q2 t0"))
    more = with_rows("corpus", "test", *((f"t{number}", "", "Bees make honey.") for number in range(9, 5, -1)))
    assert unjudged_twins(more(tables)) == (9, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q1 t9"))


def test_a_query_matches_a_document_with_and_without_its_title_and_the_title_alone() -> None:
    texts = ["Wax: they build with it", "\nTHEY build with it. ", "wax!", "They build with", "Wax They build"]
    queries = pl.DataFrame({"id": [f"q{number}" for number in range(len(texts))], "text": texts})
    tables = clean_tables("Retrieval")
    tables["corpus"]["test"] = tables["corpus"]["test"].with_columns(text=pl.col("text") + "\n")
    tables["queries"]["test"] = queries
    (finding,) = (finding for finding in quality_findings("Retrieval", tables) if finding.kind == "query_in_corpus")
    assert (finding.count, finding.examples) == (3, ("q0", "q1", "q2"))


NEAR = {"position": pl.UInt32, "twin": pl.UInt32, "is_same": pl.Boolean}


@given(
    st.lists(st.sampled_from("ab"), min_size=4, max_size=4),
    st.dictionaries(st.tuples(st.sampled_from("qrs"), st.integers(0, 3)), st.integers(0, 1), min_size=1),
    st.fixed_dictionaries({query: st.lists(st.integers(0, 3), unique=True, min_size=1) for query in "qrs"}),
)
def test_twins_are_those_that_plain_python_finds(
    texts: list[str], judged: dict[tuple[str, int], int], ranked: dict[str, list[int]]
) -> None:
    ranked = {
        query: listed + [d for q, d in judged if q == query and d not in listed] for query, listed in ranked.items()
    }
    rows = [(query, f"d{document}", score) for (query, document), score in judged.items()]
    frames = {
        "corpus": pl.LazyFrame({"id": ["d0", "d1", "d2", "d3"], "title": [""] * 4, "text": texts}),
        "queries": pl.LazyFrame({"id": list("qrs"), "text": ["what", "who", "where"]}),
        "qrels": pl.LazyFrame(rows, ["query-id", "corpus-id", "score"], orient="row"),
        "top_ranked": pl.LazyFrame(
            {"query-id": list("qrs"), "corpus-ids": [[f"d{d}" for d in ranked[query]] for query in "qrs"]}
        ),
    }
    for task, pool in ((tasks.Retrieval(), dict.fromkeys("qrs", range(4))), (tasks.Reranking(), ranked)):
        relevant = {(query, texts[document]) for (query, document), score in judged.items() if score}
        expected = {
            f"{query} d{document}"
            for query in "qrs"
            for document in pool[query]
            if (query, texts[document]) in relevant and (query, document) not in judged
        }
        tables = {config: {"test": frame} for config, frame in frames.items()}
        corpus = survey_tables(task, tables, ("test",))["corpus", "test"]
        corpus = with_folded_texts(corpus, pl.DataFrame({"position": [], "twin": [], "is_same": []}, NEAR))
        found = with_examples(audit_judgements(task, tables, "test", corpus), tables)
        twins = [one.finding for one in found if one.finding.kind == "unjudged_twin"]
        assert sum(finding.count for finding in twins) == len(expected)
        for finding in twins:
            assert set(finding.examples) <= expected
            assert len(set(finding.examples)) == min(5, len(expected))


def found_kinds(tables: Tables, task_type: str = "Retrieval") -> dict[str, tuple[int, str]]:
    """The count and detail of the findings by kind, without those of single texts."""
    return {finding.kind: (finding.count, finding.detail) for finding in quality_findings(task_type, tables)}


def test_twins_are_compared_after_folding_and_empty_documents_have_none() -> None:
    twins = with_rows(
        "corpus", "test", ("t1", "", "Bees make honey."), ("t2", "", "BEES make honey"), ("t3", "", "bees make honey!")
    )
    detail = "2 of them only ignoring case, punctuation, white space and Unicode form"
    assert found_kinds(twins(clean_tables("Retrieval")))["unjudged_twin"] == (3, detail)
    empty = combine(
        with_value("corpus", "test", "text", 0, ""),
        with_rows("corpus", "test", ("t1", "", ""), ("t2", "", " ")),
    )
    assert "unjudged_twin" not in found_kinds(empty(clean_tables("Retrieval")))
    shouted = combine(
        with_rows("corpus", "test", ("d4", "", "BEES MAKE HONEY")),
        with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d1", "d4"]),
    )
    [twin] = [
        one for one in quality_findings("Reranking", shouted(clean_tables("Reranking"))) if one.kind == "unjudged_twin"
    ]
    assert (twin.severity, twin.count, twin.examples) == ("warning", 1, ("q1 d4",))


def test_a_query_may_be_its_own_relevant_document_or_inside_one() -> None:
    own = with_value("queries", "test", "text", 0, "BEES make honey")(clean_tables("Retrieval"))
    assert found_kinds(own)["query_in_corpus"] == (1, "1 of them judged relevant to a document with their text")
    text = "the bees that wintered in the hive look for willow"
    inside = combine(
        with_rows("corpus", "test", ("d4", "", f"In March {text} and hazel.")),
        with_value("queries", "test", "text", 0, f"{text.capitalize()}?"),
    )
    [finding] = quality_findings("Retrieval", inside(clean_tables("Retrieval")))
    assert (finding.kind, finding.severity, finding.location) == ("contained_text", "info", "queries/test.text")
    assert (finding.count, finding.examples, finding.detail) == (1, ("q1",), "in a document, 1 whole")


def test_a_document_is_a_frequent_positive_from_a_fifth_of_the_queries_on() -> None:
    def tables(relevant: int) -> Tables:
        new = clean_tables("Retrieval")
        numbers = range(58)
        add = combine(
            with_rows("queries", "test", *((f"r{n}", f"{n} swarms left the hive {n}") for n in numbers)),
            with_rows("corpus", "test", *((f"e{n}", "", f"{n} drones and cells {n}") for n in range(200))),
            with_rows("qrels", "test", *((f"r{n}", "e199" if n < relevant else f"e{n}", 1) for n in numbers)),
        )
        return add(new)

    assert found_kinds(tables(12))["frequent_positive"] == (12, "one of them for 12 of 60 queries")
    assert "frequent_positive" not in found_kinds(tables(11))


def test_small_differences_of_scores_are_told_from_large_ones() -> None:
    pairs = [("Bees fly.", "A bee flies.", 2.0), ("Ants bite.", "An ant bit.", 1.0), ("Wax.", "Honey.", 0.0)]
    again = [("Bees fly.", "A bee flies.", 2.5), ("Ants bite.", "An ant bit.", 1.6), ("Wax.", "Honey.", 5.0)]
    rows = [(f"e{number}", *pair) for number, pair in enumerate(pairs + again)]
    within = with_rows("default", "test", *rows)(clean_tables("STS"))
    assert found_kinds(within, "STS")["conflicting_label"] == (3, "scores differ by 0.5 or less in 1, by more in 2")
    between = combine(with_rows("default", "train", *rows[:3]), with_rows("default", "test", *rows[3:]))
    assert found_kinds(between(clean_tables("STS")), "STS")["conflicting_label"] == (
        3,
        "in train, scores differ by 0.5 or less in 1, by more in 2",
    )


def orders(task_type: str, labels: list[Any]) -> list[Finding]:
    task = TASKS[task_type]
    found = find_sorted_labels(task, pl.DataFrame({"label": labels}), ("default", "test", task.type.label))
    return [one.finding for one in found]


def test_blocks_of_a_label_are_reported_with_the_rows_that_follow_a_row_of_the_same_label() -> None:
    [finding] = orders("Classification", [number // 10 % 3 for number in range(120)])
    assert (finding.kind, finding.severity, finding.location) == ("label_sorted", "info", "default/test.label")
    assert (finding.count, finding.share) == (108, 108 / 120)
    assert finding.detail == "90% of the rows have the label of the row before, 33% in a random order"
    assert [finding.count for finding in orders("STS", [number / 40 for number in range(200)])] == [190]


@pytest.mark.parametrize(
    ("task_type", "labels"),
    [
        ("Classification", [0, 1, 2] * 40),
        ("Classification", [0] * 120),
        ("Classification", [0] * 119 + [1]),
        ("Classification", [0] * 49 + [1] * 50),
        ("STS", [number * 37 % 200 / 40 for number in range(200)]),
        ("BitextMining", ["a"] * 120),
    ],
    ids=["in turns", "one label", "one row of another label", "fewer than 100 rows", "scores in turns", "no labels"],
)
def test_other_orders_are_not_reported(task_type: str, labels: list[Any]) -> None:
    assert orders(task_type, labels) == []
