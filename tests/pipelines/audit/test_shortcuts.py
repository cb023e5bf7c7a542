"""pipelines.audit.shortcuts: lengths, shared words and positions that tell the label, and those that do not."""

import random
from typing import Any

import polars as pl
import pytest

from cards.manifest import Finding
from pipelines.audit import shortcuts
from pipelines.audit.shortcuts import find_candidate_shortcuts, find_label_shortcuts, measure_coverage, measure_overlap
from pipelines.audit.survey import survey_tables
from tests.support.tables import TASKS


def find(task_type: str, **columns: list[Any]) -> list[Finding]:
    """The findings in a split `test` of some columns."""
    task, frames = TASKS[task_type], {"default": {"test": pl.LazyFrame(columns)}}
    survey = survey_tables(task, frames, ("test",), seed=0)["default", "test"]
    return [one.finding for one in find_label_shortcuts(task, frames, survey, "test")]


def rerank(queries: list[tuple[str, list[str], list[str]]]) -> list[Finding]:
    """The findings in a split `test` of queries, each with its relevant candidates and the others, in this order."""
    rows = [
        (f"q{query}", f"d{query}-{number}", text, int(text in relevant))
        for query, (_, relevant, others) in enumerate(queries)
        for number, text in enumerate([*relevant, *others])
    ]
    candidates = pl.DataFrame(rows, ["query-id", "corpus-id", "text", "score"], orient="row")
    tables = {
        "corpus": candidates.select(pl.col("corpus-id").alias("id"), "text", title=pl.lit("")),
        "queries": pl.DataFrame(
            {"id": [f"q{n}" for n in range(len(queries))], "text": [text for text, _, _ in queries]}
        ),
        "qrels": candidates.select("query-id", "corpus-id", "score"),
        "top_ranked": candidates.group_by("query-id", maintain_order=True).agg(pl.col("corpus-id").alias("corpus-ids")),
    }
    frames = {config: {"test": table.lazy()} for config, table in tables.items()}
    survey = survey_tables(TASKS["Reranking"], frames, ("test",), seed=0)["corpus", "test"]
    return [one.finding for one in find_candidate_shortcuts(frames, "test", survey)]


def in_turns(one: list[Any], other: list[Any]) -> list[Any]:
    return [value for pair in zip(one, other, strict=True) for value in pair]


def test_negatives_of_the_same_length_are_found_by_the_difference_in_length() -> None:
    # As in DIPPER 1.0.0: a negative is chosen by its length, a true translation has a length of its own.
    chance = random.Random(3)
    first = ["a" * chance.randrange(100, 500) for _ in range(200)]
    negatives = [text + "a" * chance.randrange(4) for text in first]
    translations = ["a" * round(len(text) * chance.uniform(0.7, 1.3)) for text in first]
    [finding] = find(
        "PairClassification",
        sentence1=in_turns(first, first),
        sentence2=in_turns(translations, negatives),
        labels=[1, 0] * 200,
    )
    assert (finding.kind, finding.severity, finding.location) == ("label_by_length", "warning", "default/test")
    assert (finding.count, finding.share) == (400, 1.0)
    assert finding.detail == (
        "of two pairs with different labels, the one with the larger difference in length has the label yes in 98 of 100"
        " cases (AUC 0.979)"
    )
    assert finding.examples == ("yes: median 38 characters, others 1 characters",)


def test_a_side_whose_length_tells_the_label_is_named() -> None:
    texts = [f"{n:02} " + "x" * (20 if n % 2 else 60) for n in range(100)]
    found = find("PairClassification", sentence1=["y" * 43] * 100, sentence2=texts, labels=[0, 1] * 50)
    assert [one.location for one in found] == ["default/test.sentence2"]
    assert "the one with the shorter sentence2 has the label yes in 100 of 100 cases (AUC 1.000)" in found[0].detail


def told_by_length(right: int) -> list[Finding]:
    """The findings of 200 texts where `right` of the 100 with a label are longer than all others, and the rest shorter."""
    lengths = [3] * right + [1] * (100 - right) + [2] * 100
    return find(
        "Classification", text=["x" * length for length in lengths], label=[0] * 100 + [1] * 100, label_text=["?"] * 200
    )


def test_labels_of_single_texts_are_compared_with_all_others_for_information() -> None:
    assert told_by_length(74) == []
    [finding] = told_by_length(75)
    assert (finding.severity, finding.location, finding.count, finding.share) == ("info", "default/test.text", 2, 1.0)
    assert finding.detail == (
        "green: of two texts with and without it, the shorter one has it in 75 of 100 cases (AUC 0.750)"
    )


def test_the_labels_of_a_text_with_several_are_compared_one_by_one() -> None:
    labels = [[], [0], [0, 1]] * 40
    texts = ["x" * (30 if not label else 10) for label in labels]
    [finding] = find("MultilabelClassification", text=texts, label=labels)
    assert finding.examples == (
        "no label: median 30 characters, others 10 characters",
        "red: median 10 characters, others 30 characters",
        "green: median 10 characters, others 20 characters",
    )


def test_clusters_may_be_told_by_length_too() -> None:
    [finding] = find("Clustering", sentences=["x", "xx"] * 30, labels=["headline", "article"] * 30)
    assert (finding.location, finding.count) == ("default/test.sentences", 2)


@pytest.mark.parametrize("rows", [29, 30])
def test_a_label_of_fewer_than_30_rows_is_not_examined(rows: int) -> None:
    labels = ["rare"] * rows + ["usual"] * 100
    texts = ["x" * 9] * rows + ["x"] * 100
    assert len(find("Clustering", sentences=texts, labels=labels)) == (rows == 30)


@pytest.mark.parametrize(("longer", "findings"), [(23, 0), (24, 1)])
def test_a_guess_must_be_three_standard_errors_above_chance(longer: int, findings: int) -> None:
    # Of 30 coins, three standard errors are 27 percentage points: 23 of 30 are above the threshold, and may be chance.
    queries = [("ask", ["xx"], ["x"]) if n < longer else ("ask", ["x"], ["xx"]) for n in range(30)]
    assert len([one for one in rerank(queries) if one.kind == "label_by_length"]) == findings


def pairs_with_overlap(share: float) -> list[Finding]:
    """The findings of 400 pairs: this share of those with the label 1 has the same words, all others have none."""
    labels = [number % 2 for number in range(400)]
    seconds = ["one two" if label and number < 400 * share else "six ten" for number, label in enumerate(labels)]
    return find("PairClassification", sentence1=["two, One!"] * 400, sentence2=seconds, labels=labels)


def test_shared_words_are_part_of_the_task_until_they_alone_tell_the_label() -> None:
    assert pairs_with_overlap(0.69) == []
    [finding] = pairs_with_overlap(0.7)
    assert (finding.kind, finding.severity, finding.location) == ("label_by_overlap", "info", "default/test")
    assert finding.detail == (
        "of two pairs with different labels, the one with more shared words has the label yes in 85 of 100 cases (AUC 0.850)"
    )
    assert finding.examples == ("yes: median 100% of the words in both texts, others 0% of the words in both texts",)


def test_fewer_shared_words_for_the_same_meaning_are_reported_as_early_as_lengths() -> None:
    labels = [number % 2 for number in range(400)]
    seconds = ["one two" if not label and number < 200 else "six ten" for number, label in enumerate(labels)]
    [finding] = find("PairClassification", sentence1=["one two"] * 400, sentence2=seconds, labels=labels)
    assert "the one with fewer shared words has the label yes in 75 of 100 cases" in finding.detail


def test_scores_that_follow_the_shared_words_are_reported() -> None:
    words = [f"w{number}" for number in range(10)]
    seconds = [" ".join(words[: row % 10] + ["other"] * (10 - row % 10)) for row in range(200)]
    scores = [row % 10 / 2 for row in range(200)]
    found = {one.kind: one for one in find("STS", sentence1=[" ".join(words)] * 200, sentence2=seconds, score=scores)}
    finding = found["label_by_overlap"]
    assert finding.detail == (
        "scores rise with the share of words in both texts: Spearman 1.00, where 0 is chance and 1 the same order"
    )
    assert finding.examples == (
        "scores of 0.0: median 0% of the words in both texts, others 45% of the words in both texts",
    )


def test_empty_texts_share_no_words() -> None:
    texts = pl.DataFrame({"one": ["", "", "a", "a b"], "other": ["", "a", "", "b c c"]})
    measured = texts.select(
        overlap=measure_overlap(pl.col("one"), pl.col("other")),
        coverage=measure_coverage(pl.col("one"), pl.col("other")),
    )
    assert measured.rows() == [(0, 0), (0, 0), (0, 0), (1 / 3, 1 / 2)]


def test_texts_of_one_length_and_empty_texts_tell_nothing() -> None:
    assert find("Classification", text=["x"] * 100, label=[0, 1] * 50, label_text=["?"] * 100) == []
    assert find("PairClassification", sentence1=[""] * 100, sentence2=[""] * 100, labels=[0, 1] * 50) == []
    assert find("STS", sentence1=["x"] * 100, sentence2=["y"] * 100, score=[1.0, 2.0] * 50) == []


def test_tasks_without_labels_of_rows_have_no_shortcuts() -> None:
    table = pl.LazyFrame({"sentence1": ["x"] * 100, "sentence2": ["y"] * 100})
    assert find_label_shortcuts(TASKS["BitextMining"], {"en-de": {"test": table}}, pl.DataFrame(), "test") == []


def test_unrelated_lengths_and_words_are_rarely_if_ever_reported() -> None:
    chance = random.Random(11)
    words = ["bee", "wax", "hive", "a", "swarm"]
    for rows in (60, 100, 400):
        texts = [[" ".join(chance.choices(words, k=chance.randrange(9))) for _ in range(rows)] for _ in range(2)]
        labels = [chance.randrange(2) for _ in range(rows)]
        assert find("PairClassification", sentence1=texts[0], sentence2=texts[1], labels=labels) == []
        scores = [chance.random() for _ in range(rows)]
        assert find("STS", sentence1=texts[0], sentence2=texts[1], score=scores) == []


@pytest.mark.parametrize(("longer", "kinds"), [(74, []), (75, ["label_by_length"])])
def test_preferences_for_the_longer_answer_are_reported_from_three_in_four(longer: int, kinds: list[str]) -> None:
    queries = [
        (f"ask {n}", *([["yes indeed"], ["no"]] if n < longer else [["no"], ["yes indeed"]])) for n in range(100)
    ]
    found = [one for one in rerank(queries) if one.kind != "label_by_position"]
    assert [one.kind for one in found] == kinds
    for finding in found:
        assert (finding.severity, finding.location, finding.count) == ("warning", "top_ranked/test.corpus-ids", 100)
        assert finding.detail == (
            "of two candidates of a query, the longer one is the relevant one in 75 of 100 cases (AUC 0.750); 100 queries"
        )


def test_candidates_are_compared_within_their_query_and_every_query_counts_the_same() -> None:
    # Across queries the relevant ones are shorter; within each they are longer than all others.
    queries = [("ask", ["x" * (n + 2)], ["x" * (n + 1)] * (30 if n == 59 else 1)) for n in range(60)]
    kinds = {one.kind: one.detail for one in rerank(queries)}
    assert "the longer one is the relevant one in 100 of 100 cases (AUC 1.000); 60 queries" in kinds["label_by_length"]


def test_a_list_whose_relevant_candidates_come_first_is_reported() -> None:
    found = rerank([("ask", [f"x{n}"], [f"y{n}"]) for n in range(40)])
    assert [(one.kind, one.severity, one.examples) for one in found] == [
        ("label_by_position", "info", ("relevant: median place 1, others place 2",))
    ]


def test_words_of_the_query_in_the_candidates_are_measured_on_a_fixed_part_of_many_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = [(f"Bees, {n}?", [f"{n} bees"], [f"{n} ants"]) for n in range(90)]
    for most, compared in ((180, 90), (179, 45), (60, 30), (50, None)):
        monkeypatch.setattr(shortcuts, "MAX_COMPARED", most)
        found = [one.count for one in rerank(queries) if one.kind == "label_by_overlap"]
        assert found == ([compared] if compared else [])


def test_fewer_than_30_queries_say_nothing() -> None:
    assert rerank([("ask", ["xx"], ["y"])] * 29) == []
