"""Every kind of finding of pipelines.audit.quality: a clean dataset of each task type has none, and each planted one is found."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import tasks
from cards.manifest import SEVERITIES, Finding
from pipelines.audit.kinds import KINDS
from pipelines.audit.quality import audit_rows
from tests.pipelines.audit.test_integrity import PLANTED as DEFECTS
from tests.support.tables import TASKS, Planted, Tables, both, changed, check, clean, lazy, with_rows, with_value


def found_in(kind: str, tables: Tables) -> list[Finding]:
    return audit_rows(TASKS[kind], lazy(tables), TASKS[kind].splits)


FORM = "but for case, punctuation, white space or the form of characters"
LONG = "When the hive wakes in March, the bees that wintered in it fly out to look for willow and hazel in the valley."

PLANTED = [
    Planted(
        "split_leak",
        "Classification",
        with_value("default", "test", "text", 3, "train sentence number 5"),
        "default/test.text",
        1,
        1 / 24,
        ("row 3",),
        detail="in train",
    ),
    Planted(
        "split_leak",
        "Classification",
        with_value("default", "test", "text", 3, " «Validation\u00a0 sentence»,\nnumber \u2464!"),
        "default/test.text",
        1,
        1 / 24,
        ("row 3",),
        detail=f"in validation, {FORM}",
    ),
    Planted(
        "split_leak",
        "STS",
        both(
            with_value("default", "test", "sentence1", 1, "train sentence number 2"),
            with_value("default", "test", "sentence2", 1, "train Satz Nummer 2"),
        ),
        "default/test",
        1,
        1 / 4,
        ("b",),
        detail="in train",
    ),
    Planted(
        "split_leak",
        "Reranking",
        with_value("queries", "test", "text", 0, "who makes honey (validation)"),
        "queries/test.text",
        1,
        1 / 2,
        ("q1",),
        detail="in validation",
    ),
    Planted(
        "near_leak",
        "Classification",
        both(
            with_value("default", "train", "text", 7, LONG),
            with_value("default", "test", "text", 3, LONG.replace("hive", "hives").upper()),
        ),
        "default/test.text",
        1,
        1 / 24,
        ("row 3",),
        detail="in train",
    ),
    Planted(
        "near_leak",
        "Reranking",
        both(
            with_value("queries", "validation", "text", 1, LONG),
            with_value("queries", "test", "text", 0, f"{LONG}!? So"),
        ),
        "queries/test.text",
        1,
        1 / 2,
        ("q1",),
        detail="in validation",
    ),
    Planted(
        "near_leak",
        "STS",
        both(
            with_value("default", "train", "sentence1", 0, LONG),
            with_value("default", "train", "sentence2", 0, "Honig."),
            with_value("default", "test", "sentence1", 2, LONG.replace("hive", "hives")),
            with_value("default", "test", "sentence2", 2, "HONIG"),
        ),
        "default/test",
        1,
        1 / 4,
        ("c",),
        detail="in train",
    ),
    Planted(
        "swapped_pair",
        "PairClassification",
        with_rows("default", "test", ("e", "test Satz Nummer 1", "test sentence number 1", 1)),
        "default/test",
        1,
        1 / 5,
        ("e",),
    ),
    Planted(
        "swapped_pair",
        "STS",
        with_rows("default", "test", ("e", "train Satz Nummer 1", "train sentence number 1", 1.5)),
        "default/test",
        1,
        1 / 5,
        ("e",),
        detail="in train",
    ),
    Planted(
        "conflicting_label",
        "Clustering",
        with_value("default", "test", "sentences", 1, "test sentence number 0"),
        "default/test.labels",
        1,
        1 / 3,
        ("row 0",),
        also=("duplicate_text",),
    ),
    Planted(
        "conflicting_label",
        "MultilabelClassification",
        both(with_value("default", "test", "text", 3, "Same."), with_value("default", "test", "text", 5, "Same.")),
        "default/test.label",
        1,
        1 / 23,
        ("row 3",),
        also=("duplicate_text",),
    ),
    Planted(
        "conflicting_label",
        "STS",
        with_rows("default", "test", ("e", "test sentence number 3", "test Satz Nummer 3", 1.5)),
        "default/test.score",
        1,
        1 / 4,
        ("d",),
        also=("duplicate_pair", "duplicate_text", "duplicate_text"),
    ),
    Planted(
        "conflicting_label",
        "Reranking",
        with_value("corpus", "test", "text", 2, "Wax They build with it."),
        "qrels/test.score",
        1,
        1 / 2,
        ("q2 d2",),
        also=("duplicate_text",),
    ),
    Planted(
        "unjudged_twin",
        "Retrieval",
        with_rows("corpus", "test", ("d4", "", "Wax They build with it."), ("d5", "Wax They", "build with it.")),
        "qrels/test",
        2,
        2 / 4,
        ("q2 d4", "q2 d5"),
        also=("duplicate_text",),
    ),
    Planted(
        "unjudged_twin",
        "Reranking",
        both(
            with_rows("corpus", "test", ("d4", "", "Bees make honey."), ("d5", "", "Bees make honey.")),
            with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d1", "d5"]),
        ),
        "qrels/test",
        1,
        1 / 3,
        ("q1 d5",),
        also=("duplicate_text",),
    ),
    Planted(
        "query_in_corpus",
        "Retrieval",
        both(with_value("queries", "test", "text", 0, " Wax"), with_value("queries", "test", "text", 1, "Ants bite.")),
        "queries/test.text",
        2,
        2 / 2,
        ("q1", "q2"),
    ),
    Planted(
        "duplicate_pair",
        "BitextMining",
        with_rows("en-de", "test", ("e", "test sentence number 3", "test Satz Nummer 3")),
        "en-de/test",
        1,
        1 / 5,
        ("e",),
        also=("duplicate_text", "duplicate_text"),
    ),
    Planted(
        "duplicate_text",
        "Classification",
        both(*(with_value("default", "train", "text", row, "Again.") for row in (20, 8, 2))),
        "default/train.text",
        2,
        2 / 24,
        ("row 8", "row 20"),
    ),
    Planted(
        "duplicate_text",
        "Retrieval",
        with_rows("corpus", "test", ("d4", "", "Ants bite.")),
        "corpus/test.text",
        1,
        1 / 4,
        ("d4",),
    ),
    Planted(
        "empty_text",
        "Clustering",
        both(
            with_value("default", "test", "sentences", 2, ""),
            with_value("default", "test", "sentences", 3, " \u3000\n"),
        ),
        "default/test.sentences",
        2,
        2 / 4,
        ("row 2", "row 3"),
    ),
    Planted(
        "encoding_residue",
        "PairClassification",
        with_value("default", "train", "sentence2", 1, "Gr\ufffd\ufffde aus Berlin"),
        "default/train.sentence2",
        1,
        1 / 4,
        ("b",),
    ),
    Planted(
        "html_residue",
        "BitextMining",
        with_value("en-de", "test", "sentence1", 0, "bees &amp; ants <br/>"),
        "en-de/test.sentence1",
        1,
        1 / 4,
        ("a",),
    ),
    Planted(
        "wrong_language",
        "BitextMining",
        with_value("en-de", "test", "sentence2", 1, "The bees that live behind the mill make no honey in winter."),
        "en-de/test.sentence2",
        1,
        1 / 1,
        ("b",),
        detail="en 1; texts looked at: 1",
    ),
    Planted(
        "short_text",
        "Retrieval",
        with_value("corpus", "test", "text", 0, " \x1c!\x85"),
        "corpus/test.text",
        1,
        1 / 3,
        ("d1",),
    ),
    Planted(
        "near_duplicate",
        "Retrieval",
        with_rows(
            "corpus", "test", *((f"d{n}", "Hives", text) for n, text in ((4, LONG), (5, f"{LONG} So"), (6, "Hives.")))
        ),
        "corpus/test.text",
        1,
        1 / 6,
        ("d5",),
    ),
    Planted(
        "near_duplicate",
        "BitextMining",
        with_rows("en-de", "test", ("e", "Test -- sentence number 3", "TEST: Satz Nummer 3.")),
        "en-de/test",
        1,
        1 / 5,
        ("e",),
    ),
    Planted(
        "length_outlier",
        "Retrieval",
        with_value("corpus", "test", "text", 0, "b" * 231),
        "corpus/test.text",
        1,
        1 / 3,
        ("d1",),
        detail="median 23 characters, longest 231",
    ),
    Planted(
        "label_imbalance",
        "Clustering",
        with_rows("default", "test", *((f"Of wax, the {number}th.", "wax") for number in range(19))),
        "default/test.labels",
        1,
        1 / 2,
        ("honey: 2",),
        detail="the most frequent has 21",
    ),
    Planted(
        "label_imbalance",
        "MultilabelClassification",
        changed("default", "test", lambda frame: frame.with_columns(label=pl.lit([1], pl.List(pl.Int64)))),
        "default/test.label",
        2,
        2 / 3,
        ("red: 0", "blue: 0"),
        detail="the most frequent has 24",
    ),
    Planted(
        "label_imbalance",
        "PairClassification",
        with_rows("default", "test", *((f"e{n}", f"claim {n}", f"Behauptung {n}", 0) for n in range(19))),
        "default/test.labels",
        1,
        1 / 2,
        ("yes: 2",),
        detail="the most frequent has 21",
    ),
]


@pytest.mark.parametrize("kind", TASKS)
def test_a_clean_dataset_has_no_findings(kind: str) -> None:
    assert found_in(kind, clean(kind)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_finding_is_the_one_that_is_found(planted: Planted) -> None:
    tables = planted.change(clean(planted.task))
    assert check(planted.task, tables) == []
    first, *others = found_in(planted.task, tables)
    assert first == Finding(
        planted.kind,
        KINDS[planted.kind].severity,
        first.config,
        first.split,
        first.column,
        planted.count,
        pytest.approx(planted.share),
        planted.examples,
        planted.detail,
    )
    assert first.location == planted.location
    assert tuple(other.kind for other in others) == planted.also


def test_every_kind_that_is_found_is_defined_and_every_defined_one_is_found() -> None:
    defects = [found for planted in DEFECTS for found in check(planted.task, planted.change(clean(planted.task)))]
    findings = [found for planted in PLANTED for found in found_in(planted.task, planted.change(clean(planted.task)))]
    assert {found.kind for found in defects} | {found.kind for found in findings} == set(KINDS)
    assert {found.kind for found in defects if found.severity != KINDS[found.kind].severity} == set()
    assert {found.kind for found in findings if found.severity != KINDS[found.kind].severity} <= {"duplicate_text"}


def test_a_definition_is_one_sentence() -> None:
    for name, kind in KINDS.items():
        assert kind.severity in SEVERITIES, name
        assert kind.definition.endswith("."), name
        assert ". " not in kind.definition, name


def test_kinds_stand_by_severity() -> None:
    severities = [kind.severity for kind in KINDS.values()]
    assert severities == sorted(severities, key=SEVERITIES.index)


def duplicate_severities(kind: str, change: Any) -> dict[str, str]:
    found = found_in(kind, change(clean(kind)))
    return {finding.location: finding.severity for finding in found if finding.kind == "duplicate_text"}


def test_a_text_that_recurs_by_design_is_only_worth_a_note() -> None:
    premises = with_value("default", "test", "sentence1", 1, "test sentence number 0")
    assert duplicate_severities("PairClassification", premises) == {"default/test.sentence1": "info"}
    assert duplicate_severities("STS", premises) == {"default/test.sentence1": "info"}
    queries = with_value("queries", "test", "text", 1, "who makes honey (test)")
    assert duplicate_severities("Reranking", queries) == {"queries/test.text": "info"}
    assert duplicate_severities("Retrieval", queries) == {"queries/test.text": "warning"}


def test_findings_come_by_severity_then_kind_then_place() -> None:
    tables = both(
        with_value("queries", "validation", "text", 0, "?"),
        with_value("corpus", "test", "text", 0, "!"),
        with_value("corpus", "validation", "text", 0, "<p>Bees make honey."),
        with_value("corpus", "validation", "text", 2, "\x80 bites"),
        with_value("queries", "test", "text", 0, "  "),
        with_value("queries", "test", "text", 1, "."),
    )(clean("Reranking"))
    assert [(found.severity, found.kind, found.location) for found in found_in("Reranking", tables)] == [
        ("warning", "empty_text", "queries/test.text"),
        ("warning", "encoding_residue", "corpus/validation.text"),
        ("warning", "html_residue", "corpus/validation.text"),
        ("info", "short_text", "corpus/test.text"),
        ("info", "short_text", "queries/validation.text"),
        ("info", "short_text", "queries/test.text"),
    ]


def test_only_the_splits_asked_for_are_looked_at() -> None:
    tables = with_value("default", "test", "text", 0, "train sentence number 0")(clean("Classification"))
    part = {"default": {split: tables["default"][split].lazy() for split in ("validation", "test")}}
    assert audit_rows(TASKS["Classification"], part, ("test", "validation")) == []


def test_a_leak_is_told_once_exact_or_folded() -> None:
    leaked = [
        "train sentence number 1",
        "TRAIN sentence number 1",
        "train sentence number 1",
        "Train: Sentence -- number ２",
    ]
    tables = both(*(with_value("default", "test", "text", row, text) for row, text in enumerate(leaked)))(
        clean("MultilabelClassification")
    )
    leaks = [found for found in found_in("MultilabelClassification", tables) if found.kind == "split_leak"]
    assert [(leak.count, leak.examples, leak.detail) for leak in leaks] == [
        (1, ("row 0",), "in train"),
        (2, ("row 1", "row 3"), f"in train, {FORM}"),
    ]
    assert leaks[0].share == pytest.approx(1 / 23)


def test_a_pair_leaks_only_as_a_whole() -> None:
    tables = with_value("default", "test", "sentence1", 0, "train sentence number 0")(clean("STS"))
    assert found_in("STS", tables) == []


def test_documents_may_stand_in_the_corpora_of_two_splits() -> None:
    tables = clean("Reranking")
    assert tables["corpus"]["test"].equals(tables["corpus"]["validation"])
    assert found_in("Reranking", tables) == []


def test_a_judged_twin_is_no_finding_of_its_own() -> None:
    twin = both(
        with_rows("corpus", "test", ("d4", "", "Bees make honey.")), with_rows("qrels", "test", ("q1", "d4", 1))
    )
    assert [found.kind for found in found_in("Retrieval", twin(clean("Retrieval")))] == ["duplicate_text"]


def test_only_the_first_five_twins_are_named_but_all_are_counted() -> None:
    texts = {"t0": "Wax They build with it.", **{f"t{number}": "Bees make honey." for number in (5, 4, 3, 2, 1)}}
    twins = with_rows("corpus", "test", *((name, "", text) for name, text in texts.items()))
    tables = both(twins, with_rows("qrels", "test", ("q1", "t4", 0)))(clean("Retrieval"))
    (found,) = (finding for finding in found_in("Retrieval", tables) if finding.kind == "unjudged_twin")
    assert (found.count, found.examples) == (5, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q2 t0"))
    more = with_rows("corpus", "test", *((f"t{number}", "", "Bees make honey.") for number in range(9, 5, -1)))
    (found,) = (finding for finding in found_in("Retrieval", more(tables)) if finding.kind == "unjudged_twin")
    assert (found.count, found.examples) == (9, ("q1 t5", "q1 t3", "q1 t2", "q1 t1", "q1 t9"))


def test_an_empty_query_is_in_no_corpus() -> None:
    tables = both(with_value("queries", "test", "text", 0, " "), with_value("corpus", "test", "text", 0, ""))
    assert "query_in_corpus" not in {found.kind for found in found_in("Retrieval", tables(clean("Retrieval")))}


def test_ten_times_the_median_is_no_outlier_yet() -> None:
    tables = both(*(with_value("corpus", "test", "text", row, text) for row, text in ((0, "b" * 70), (2, "c" * 7))))
    tables = both(
        tables, with_value("corpus", "test", "title", 1, ""), with_value("corpus", "test", "text", 1, "a" * 7)
    )
    assert found_in("Retrieval", tables(clean("Retrieval"))) == []


def test_empty_texts_do_not_make_others_outliers() -> None:
    tables = both(*(with_value("default", "test", "sentences", row, "") for row in (0, 1, 2)))(clean("Clustering"))
    assert "length_outlier" not in {found.kind for found in found_in("Clustering", tables)}


def test_a_tenth_of_the_most_frequent_label_is_no_imbalance_yet() -> None:
    tables = with_rows("default", "test", *((f"Of wax, the {number}th.", "wax") for number in range(18)))
    assert found_in("Clustering", tables(clean("Clustering"))) == []


RESIDUE = {
    "html_residue": [
        "<p>",
        "</DIV>",
        "<br/>",
        "<br />",
        '<a href="x">',
        "<!-- x -->",
        "<h2\nid=x>",
        "&nbsp;",
        "&#8211;",
        "&#x2F;",
    ],
    "encoding_residue": ["\ufffd", "\x80", "\x85", "\x9f", "_x000D_", "a_x005F_b"],
    "": [
        *(
            "a < b > c",
            "<unk>",
            "<name>",
            "< p>",
            "<3",
            "x<y",
            "<pretty>",
            "<<p",
            "AT&T;",
            "R & D;",
            "&nbsp",
            "&;",
            "&#;",
        ),
        *("\xa0", "é", "\x7f", "_x00_", "_xyzw_", "x000D"),
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in RESIDUE.items() for text in texts])
def test_residue_is_told_from_text(kind: str, text: str) -> None:
    tables = with_value("default", "test", "sentences", 0, f"before {text} after")(clean("Clustering"))
    assert [found.kind for found in found_in("Clustering", tables)] == [kind] * bool(kind)


TEXT = st.sampled_from(
    [
        *(
            "",
            " ",
            "a",
            "A",
            "a ",
            "a!",
            "b",
            "B b",
            "b  b",
            "b\tb",
            "b-b",
            "«b, b»",
            "Ä",
            "ä",
            "a\u0308",
            "\x1c",
            "ß",
            "SS",
        ),
        *("!", "?", " ! ", "...", "\u2026", "ﬁ", "fi", "№", "no", "+", "ＡＢ", "ab"),
    ]
)


def fold(text: str) -> str:
    lower = unicodedata.normalize("NFKC", text).lower()
    words = "".join(" " if unicodedata.category(char).startswith("P") else char for char in lower)
    return " ".join(words.split()) or " ".join(lower.split())


@settings(max_examples=80, deadline=None)
@given(*[st.lists(st.tuples(TEXT, st.integers(0, 2)), min_size=1, max_size=8)] * 2)
@example([("a", 0)], [("A", 1), ("a ", 1)])
def test_duplicates_leaks_and_conflicts_are_those_that_plain_python_finds(
    train: list[tuple[str, int]], test: list[tuple[str, int]]
) -> None:
    task = tasks.MultilabelClassification(labels=("red", "green", "blue"))
    frames = {
        split: pl.LazyFrame({"text": [t for t, _ in rows], "label": [[label] for _, label in rows]})
        for split, rows in (("train", train), ("test", test))
    }
    found = {(f.kind, f.split, f.detail): f for f in audit_rows(task, {"default": frames}, ("train", "test"))}

    def count(kind: str, split: str, detail: str = "") -> int:
        return found[kind, split, detail].count if (kind, split, detail) in found else 0

    for split, rows in (("train", train), ("test", test)):
        texts, labels = [text for text, _ in rows], defaultdict(set)
        for text, label in rows:
            labels[text].add(label)
        assert count("duplicate_text", split) == len(texts) - len(set(texts))
        assert count("conflicting_label", split) == sum(len(several) > 1 for several in labels.values())
        assert count("empty_text", split) == sum(not text.strip() for text in texts)
        assert count("short_text", split) == sum(len(text.strip()) == 1 for text in texts)
    in_train, in_test = {text for text, _ in train}, {text for text, _ in test}
    folded = {text for text in in_test - in_train if fold(text) in {fold(text) for text in in_train}}
    assert count("split_leak", "test", "in train") == len(in_test & in_train)
    assert count("split_leak", "test", f"in train, {FORM}") == len(folded)


@settings(max_examples=80, deadline=None)
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
        twins = [found for found in audit_rows(task, tables, ("test",)) if found.kind == "unjudged_twin"]
        assert sum(found.count for found in twins) == len(expected)
        for found in twins:
            assert set(found.examples) <= expected
            assert len(set(found.examples)) == min(5, len(expected))


def test_two_texts_that_hash_alike_are_no_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed else expr.str.len_chars().cast(pl.UInt64),
    )
    for kind in TASKS:
        assert found_in(kind, clean(kind)) == []


def test_how_a_frame_is_cut_into_chunks_changes_nothing() -> None:
    tables = both(*(with_value("default", "test", "text", row, f"Again {row % 3}.") for row in range(0, 24, 2)))(
        clean("Classification")
    )
    whole = tables["default"]["test"]
    tables["default"]["test"] = pl.concat([whole.slice(start, 5) for start in range(0, 24, 5)], rechunk=False)
    pieces = found_in("Classification", tables)
    tables["default"]["test"] = whole
    assert pieces == found_in("Classification", tables) != []
