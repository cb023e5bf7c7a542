"""pipelines.audit.shortcuts: lengths, shared words and positions that tell the label, and those that do not.
pipelines.audit.shortcuts: strengths and correlations are those of comparing all pairs of rows.
pipelines.audit.shortcuts: which columns tell a label, and which do not.
"""

import hashlib
import random
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cards.manifest import Finding
from pipelines.audit import shortcuts
from pipelines.audit.shortcuts import (
    find_candidate_shortcuts,
    find_label_shortcuts,
    find_leaking_columns,
    measure_coverage,
    measure_overlap,
    number_groups,
    rank_correlation,
    strength_of_labels,
    strength_within_groups,
)
from pipelines.audit.survey import survey_tables
from tests.support.tables import TASKS


def find(task_type: str, **columns: list[Any]) -> list[Finding]:
    """The findings in a split `test` of some columns."""
    task, frames = TASKS[task_type], {"default": {"test": pl.LazyFrame(columns)}}
    survey = survey_tables(task, frames, ("test",))["default", "test"]
    return [shortcut.finding for shortcut in find_label_shortcuts(task, frames, survey, "test")]


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
    survey = survey_tables(TASKS["Reranking"], frames, ("test",))["corpus", "test"]
    return [shortcut.finding for shortcut in find_candidate_shortcuts(frames, "test", survey)]


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


@pytest.mark.parametrize(("rows", "findings"), [(29, []), (30, [("default/test.sentences", 2)])])
def test_a_cluster_of_30_rows_may_be_told_by_length_too(rows: int, findings: list[tuple[str, int]]) -> None:
    labels = ["rare"] * rows + ["usual"] * 100
    found = find("Clustering", sentences=["x" * 9] * rows + ["x"] * 100, labels=labels)
    assert [(finding.location, finding.count) for finding in found] == findings


@pytest.mark.parametrize(("longer", "findings"), [(23, 0), (24, 1)])
def test_a_guess_must_be_three_standard_errors_above_chance(longer: int, findings: int) -> None:
    # Of 30 coins, three standard errors are 27 percentage points: 23 of 30 are above the threshold, and may be chance.
    queries = [("ask", ["xx"], ["x"]) if n < longer else ("ask", ["x"], ["xx"]) for n in range(30)]
    assert len([one for one in rerank(queries) if one.kind == "label_by_length"]) == findings


def pairs_with_overlap(labels: list[int], shared: int) -> list[Finding]:
    """The findings of 400 pairs: the first `shared` pairs with the label 1 have the same words, all others have none."""
    same = [bool(label) and number < shared for number, label in enumerate(labels)]
    seconds = ["one two" if is_same else "six ten" for is_same in same]
    return find("PairClassification", sentence1=["two, One!"] * 400, sentence2=seconds, labels=labels)


def test_shared_words_are_part_of_the_task_until_they_alone_tell_the_label() -> None:
    assert pairs_with_overlap([0, 1] * 200, 276) == []
    [finding] = pairs_with_overlap([0, 1] * 200, 280)
    assert (finding.kind, finding.severity, finding.location) == ("label_by_overlap", "info", "default/test")
    assert finding.detail == (
        "of two pairs with different labels, the one with more shared words has the label yes in 85 of 100 cases (AUC 0.850)"
    )
    assert finding.examples == ("yes: median 100% of the words in both texts, others 0% of the words in both texts",)


def test_fewer_shared_words_for_the_same_meaning_are_reported_as_early_as_lengths() -> None:
    seconds = ["six ten" if number % 2 or number >= 200 else "one two" for number in range(400)]
    [finding] = find("PairClassification", sentence1=["one two"] * 400, sentence2=seconds, labels=[0, 1] * 200)
    assert "the one with fewer shared words has the label yes in 75 of 100 cases" in finding.detail
    assert finding.severity == "warning"
    assert finding.detail.endswith("; perhaps the scale or the labels are inverted")


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
    assert finding.severity == "info"
    inverted = find("STS", sentence1=[" ".join(words)] * 200, sentence2=seconds, score=[5 - score for score in scores])
    [finding] = [one for one in inverted if one.kind == "label_by_overlap"]
    assert finding.severity == "warning"
    assert finding.detail == (
        "scores fall with the share of words in both texts: Spearman -1.00, where 0 is chance and -1 the reverse order;"
        " perhaps the scale or the labels are inverted"
    )


def test_empty_texts_share_no_words() -> None:
    texts = pl.DataFrame({"one": ["", "", "a", "a b"], "other": ["", "a", "", "b c c"]})
    measured = texts.select(
        overlap=measure_overlap(pl.col("one"), pl.col("other")),
        coverage=measure_coverage(pl.col("one"), pl.col("other")),
    )
    assert measured.rows() == [(0, 0), (0, 0), (0, 0), (1 / 3, 1 / 2)]


@pytest.mark.parametrize(
    ("task_type", "columns"),
    [
        ("Classification", {"text": ["x"] * 100, "label": [0, 1] * 50, "label_text": ["?"] * 100}),
        ("PairClassification", {"sentence1": [""] * 100, "sentence2": [""] * 100, "labels": [0, 1] * 50}),
        ("STS", {"sentence1": ["x"] * 100, "sentence2": ["y"] * 100, "score": [1.0, 2.0] * 50}),
    ],
)
def test_texts_of_one_length_and_empty_texts_tell_nothing(task_type: str, columns: dict[str, list[Any]]) -> None:
    assert find(task_type, **columns) == []


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
        ("label_by_position", "warning", ("relevant: median place 1, others place 2",))
    ]


@pytest.mark.parametrize(("first", "severity"), [(64, None), (65, "info"), (89, "info"), (90, "warning")])
def test_a_place_in_the_list_is_no_part_of_the_task(first: int, severity: str | None) -> None:
    is_first = [n < first for n in range(100)]
    labels = in_turns(is_first, [not relevant for relevant in is_first])
    rows = pl.DataFrame({"group": [n // 2 for n in range(200)], "number": [1, 2] * 100, "label": labels})
    found = shortcuts._find_relevance(shortcuts.LIST_RULES[2], rows, ("top_ranked", "test", "corpus-ids"))
    assert [one.finding.severity for one in found] == [severity] * (severity is not None)


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


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), min_size=1, max_size=20)


def compare_all(having: list[int], others: list[int]) -> float:
    wins = [1.0 if one > other else 0.5 if one == other else 0.0 for one, other in product(having, others)]
    return sum(wins) / len(wins)


def split_numbers(rows: list[tuple[int, int, bool]]) -> tuple[list[int], list[int]]:
    return [number for _, number, label in rows if label], [number for _, number, label in rows if not label]


@given(ROWS)
def test_a_strength_is_the_share_of_all_pairs_of_rows_that_are_guessed_right(rows: list[tuple[int, int, bool]]) -> None:
    having, others = split_numbers(rows)
    labels = pl.Series([["yes"] if label else [] for _, _, label in rows], dtype=pl.List(pl.String))
    measured = strength_of_labels(pl.Series([number for _, number, _ in rows]), labels)
    if not having or not others:
        assert measured.is_empty()
        return
    [(label, count, rest, strength, _)] = measured.rows()
    assert (label, count, rest) == ("yes", len(having), len(others))
    assert strength == pytest.approx(compare_all(having, others))


@given(ROWS)
def test_within_groups_it_is_the_mean_over_the_groups_with_both_kinds_of_rows(
    rows: list[tuple[int, int, bool]],
) -> None:
    frame = pl.DataFrame(rows, {"group": pl.UInt32, "number": pl.Int64, "label": pl.Boolean}, orient="row")
    by_group = [split_numbers([row for row in rows if row[0] == group]) for group in range(3)]
    expected = [compare_all(having, others) for having, others in by_group if having and others]
    strength, _, groups = strength_within_groups(frame)
    assert groups == len(expected)
    assert strength == pytest.approx(sum(expected) / len(expected) if expected else 0.5)


def test_the_error_is_that_of_the_rank_sum_test() -> None:
    labels = pl.Series([["yes"]] * 40 + [[]] * 60, dtype=pl.List(pl.String))
    measured = strength_of_labels(pl.Series(range(100)), labels)
    assert measured["error"][0] == pytest.approx((101 / (12 * 40 * 60)) ** 0.5)
    ties = strength_of_labels(pl.Series([0] * 50 + [1] * 50), labels)
    assert ties["error"][0] == pytest.approx(((101 - 2 * (50**3 - 50) / (100 * 99)) / (12 * 40 * 60)) ** 0.5)


def test_the_error_of_a_mean_over_preferences_is_that_of_a_coin() -> None:
    pairs = pl.DataFrame({"group": [0, 0, 1, 1], "number": [1, 2, 1, 2], "label": [True, False, False, True]})
    more = pl.concat([pairs.with_columns(pl.col("group") + 2 * copy) for copy in range(50)])
    assert strength_within_groups(more) == (0.5, pytest.approx(0.5 / 100**0.5), 100)


def test_rows_without_a_number_or_a_label_do_not_count() -> None:
    numbers = pl.Series([1, None, 3, 2])
    labels = pl.Series([["a"], ["a"], None, ["b"]], dtype=pl.List(pl.String))
    assert strength_of_labels(numbers, labels).select("label", "rows", "strength").rows() == [("a", 1, 0), ("b", 1, 1)]


def test_a_rank_correlation_counts_equal_values_as_their_mean_rank() -> None:
    assert rank_correlation(pl.Series([1, 2, 3]), pl.Series([0.1, 0.5, 2.0])) == 1
    assert rank_correlation(pl.Series([1, 2, 3]), pl.Series([3, 2, 1])) == -1
    # Ranks 1.5, 1.5, 3, 4 and 1, 2, 3.5, 3.5: their products around the mean add up to 4, their squares to 4.5 each.
    assert rank_correlation(pl.Series([1, 1, 2, 3]), pl.Series([1, 2, 3, 3])) == pytest.approx(4 / 4.5)
    assert rank_correlation(pl.Series([1, 1, 1]), pl.Series([3, 2, 1])) == 0


def leaks(task_type: str, **columns: list[Any]) -> list[Finding]:
    """The findings in a split `test` of some columns; texts are added."""
    rows = len(next(iter(columns.values())))
    texts = {
        column: [f"{column} {row}" for row in range(rows)] for column in ("text", "sentence1", "sentence2", "sentences")
    }
    names = {"label_text": ["?"] * rows} if task_type == "Classification" else {}
    frame = pl.LazyFrame({**texts, **names, **columns})
    expected = TASKS[task_type].type.layouts[0].columns
    frames = {"default": {"test": frame.drop(set(texts) - set(expected))}}
    return [column.finding for column in find_leaking_columns(TASKS[task_type], frames, "test")]


def test_a_source_that_tells_which_texts_have_no_label_is_reported() -> None:
    news = [[]] * 76 + [[0]] * 24
    forum = [[]] * 4 + [[0, 1]] * 48 + [[2]] * 48
    [finding] = leaks("MultilabelClassification", label=news + forum, source=["news"] * 100 + ["forum"] * 100)
    assert (finding.kind, finding.severity) == ("label_leaking_column", "info")
    assert (finding.location, finding.count, finding.share) == ("default/test.source", 3, 3 / 4)
    assert finding.examples == (
        "no label: 76% of news, 4% of forum",
        "blue: 48% of forum, 0% of news",
        "green: 48% of forum, 0% of news",
    )
    assert finding.detail == (
        "no label: guessed right for 86% of the rows from this column, for 60% without it; Cramér's V 0.73"
    )


@pytest.mark.parametrize(("column", "severity"), [("origin", "warning"), ("label_name", "info"), ("Rating", "info")])
def test_a_column_that_gives_the_label_away_is_a_warning_unless_it_is_the_label_again(
    column: str, severity: str
) -> None:
    [finding] = leaks("Classification", label=[0, 1] * 100, **{column: ["bad", "good"] * 100})
    assert finding.severity == severity
    assert finding.detail.endswith("Cramér's V 1.00")


SCORES = [number / 80 for number in range(400)]


@pytest.mark.parametrize(
    ("task_type", "columns", "examples"),
    [
        (
            "Classification",
            {"label": [0] * 380 + [1] * 20 + [2] * 400, "source": ["a"] * 200 + ["b"] * 200 + ["c"] * 400},
            ("blue: 100% of c, 0% of a, 0% of b",),
        ),
        (
            "PairClassification",
            {"labels": [0] * 100 + [1] * 100, "words": [*range(100), *range(1000, 1100)]},
            (
                "no: 100% of 0 to 19, 0% of 1000 to 1019, 0% of 1020 to 1039",
                "yes: 100% of 1000 to 1019, 100% of 1020 to 1039, 0% of 0 to 19",
            ),
        ),
        (
            "Clustering",
            {"labels": ["good"] * 50 + ["bad"] * 50, "categories": [[]] * 50 + [["theft", "fraud"]] * 50},
            (
                "bad: 100% of theft, fraud, 0% of the empty value",
                "good: 100% of the empty value, 0% of theft, fraud",
            ),
        ),
        (
            "STS",
            {"score": SCORES, "genre": ["captions" if score < 0.5 else "news" for score in SCORES]},
            ("0.0 to 0.4875: 100% of captions, 0% of news",),
        ),
    ],
    ids=["a label that most texts of a source lack", "numbers in ten groups", "whole lists", "scores in groups"],
)
def test_values_are_compared_by_the_labels_that_they_tell(
    task_type: str, columns: dict[str, list[Any]], examples: tuple[str, ...]
) -> None:
    [finding] = leaks(task_type, **columns)
    assert finding.examples[: len(examples)] == examples


LABELS = [0, 1, 2] * 100
NO_LEAKS: dict[str, list[Any]] = {
    "different in every row": [f"row-{row}" for row in range(300)],
    "a number that is different in every row": [(row * 7919) % 300 for row in range(300)],
    "the same in every row": ["wiki"] * 300,
    "of three rows with all labels": [f"case-{row // 3}" for row in range(300)],
    "unrelated": random.Random(5).choices(["a", "b", "c", "d"], k=300),
    "unrelated with many values": random.Random(6).choices([str(number) for number in range(100)], k=300),
    "related to a few rows": ["rare" if row < 30 and label == 0 else "usual" for row, label in enumerate(LABELS)],
}


@pytest.mark.parametrize("column", NO_LEAKS.values(), ids=NO_LEAKS)
def test_a_column_that_tells_no_label_is_not_reported(column: list[Any]) -> None:
    assert leaks("Classification", label=LABELS, column=column) == []


@pytest.mark.parametrize(("told", "findings"), [(74, 0), (76, 1)])
def test_the_least_association_is_a_half(told: int, findings: int) -> None:
    labels = [0] * told + [1] * (100 - told) + [1] * told + [0] * (100 - told)
    assert len(leaks("PairClassification", labels=labels, source=["a"] * 100 + ["b"] * 100)) == findings


@pytest.mark.parametrize(
    ("ids", "findings"),
    [
        ([f"{('no', 'yes')[row % 2]}-{row}" for row in range(200)], 1),
        ([f"{row % 2 * 500 + row}" for row in range(200)], 1),
        ([f"train-{row}" for row in range(200)], 0),
        ([hashlib.sha256(bytes([row])).hexdigest() for row in range(200)], 0),
    ],
)
def test_an_id_may_tell_the_label_by_its_words_or_else_by_its_number(ids: list[str], findings: int) -> None:
    found = leaks("Classification", label=[0, 1] * 100, id=ids)
    assert [(one.kind, one.severity, one.location) for one in found] == [
        ("label_leaking_column", "info", "default/test.id")
    ] * findings
    assert leaks("Classification", label=[0] * 100 + [1] * 100, id=[str(row) for row in range(200)]) == []


@pytest.mark.parametrize(("wrong", "severity"), [(2, "warning"), (20, "info")])
def test_a_column_that_nearly_always_tells_the_label_is_a_warning(wrong: int, severity: str) -> None:
    labels = [0, 1] * 100
    source = [str(label if row < 200 - wrong else 1 - label) for row, label in enumerate(labels)]
    [found] = leaks("Classification", label=labels, source=source)
    assert (found.kind, found.severity) == ("label_leaking_column", severity)


def test_the_columns_of_the_task_and_labels_with_few_rows_are_not_examined() -> None:
    assert leaks("Classification", label=[0, 1] * 100, label_text=["red", "green"] * 100) == []
    labels, source = [0] * 29 + [1] * 271, ["a"] * 29 + ["b"] * 271
    assert leaks("Classification", label=labels, source=source) == []
    assert leaks("Classification", label=[0, *labels], source=["a", *source]) != []


def test_unrelated_columns_are_rarely_if_ever_reported() -> None:
    chance = random.Random(7)
    for rows, values in ((60, 2), (60, 30), (100, 10), (300, 150)) * 15:
        labels = [chance.randrange(2) for _ in range(rows)]
        assert (
            leaks("PairClassification", labels=labels, column=[str(chance.randrange(values)) for _ in range(rows)])
            == []
        )


def test_few_numbers_are_groups_of_their_own() -> None:
    assert number_groups(pl.Series([3, 1, 3])).to_list() == ["3", "1", "3"]
    groups = number_groups(pl.Series([5] * 90 + [*range(10, 30)]))
    assert groups[0] == "5 to 5"
    assert groups.n_unique() == 3, "equal numbers are never divided"
