"""pipelines.audit.judgements: unjudged twins, and queries in the corpus."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from pipelines.audit.findings import with_examples
from pipelines.audit.judgements import audit_judgements
from pipelines.audit.survey import survey_tables
from pipelines.audit.tables import hash_seed
from tests.support.tables import Tables, clean_tables, combine, quality_findings, with_rows, with_value


def unjudged_twins(tables: Tables) -> tuple[int, tuple[str, ...]]:
    (twins,) = (finding for finding in quality_findings("Retrieval", tables) if finding.kind == "unjudged_twin")
    return twins.count, twins.examples


def test_a_judged_twin_is_only_a_duplicate_text() -> None:
    change = combine(
        with_rows("corpus", "test", ("d4", "", "Bees make honey.")), with_rows("qrels", "test", ("q1", "d4", 1))
    )
    findings = quality_findings("Retrieval", change(clean_tables("Retrieval")))
    assert [finding.kind for finding in findings] == ["duplicate_text"]


def test_all_twins_are_counted_and_the_first_five_are_examples() -> None:
    texts = {"t0": "Wax They build with it.", **{f"t{number}": "Bees make honey." for number in (5, 4, 3, 2, 1)}}
    twins = with_rows("corpus", "test", *((name, "", text) for name, text in texts.items()))
    tables = combine(twins, with_rows("qrels", "test", ("q1", "t4", 0)))(clean_tables("Retrieval"))
    assert unjudged_twins(tables) == (5, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q2 t0"))
    more = with_rows("corpus", "test", *((f"t{number}", "", "Bees make honey.") for number in range(9, 5, -1)))
    assert unjudged_twins(more(tables)) == (9, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q1 t9"))


def test_an_empty_query_does_not_match_an_empty_document() -> None:
    change = combine(with_value("queries", "test", "text", 0, " "), with_value("corpus", "test", "text", 0, ""))
    findings = quality_findings("Retrieval", change(clean_tables("Retrieval")))
    assert "query_in_corpus" not in {finding.kind for finding in findings}


def test_a_query_matches_a_document_with_and_without_its_title_and_the_title_alone() -> None:
    texts = ["Wax They build with it.", "\nThey build with it. ", "Wax", "They build with", "Wax They build"]
    queries = pl.DataFrame({"id": [f"q{number}" for number in range(len(texts))], "text": texts})
    tables = clean_tables("Retrieval")
    tables["corpus"]["test"] = tables["corpus"]["test"].with_columns(text=pl.col("text") + "\n")
    tables["queries"]["test"] = queries
    (finding,) = (one for one in quality_findings("Retrieval", tables) if one.kind == "query_in_corpus")
    assert (finding.count, finding.examples) == (3, ("q0", "q1", "q2"))


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
        seed = hash_seed(task, tables)
        corpus = survey_tables(task, tables, ("test",), seed, ())["corpus", "test"]
        found = with_examples(audit_judgements(task, tables, "test", corpus, seed), tables)
        twins = [one.finding for one in found if one.finding.kind == "unjudged_twin"]
        assert sum(finding.count for finding in twins) == len(expected)
        for finding in twins:
            assert set(finding.examples) <= expected
            assert len(set(finding.examples)) == min(5, len(expected))
