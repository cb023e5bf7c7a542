"""Which rows a card shows as examples. The texts of findings that a card quotes."""

from typing import Any

import polars as pl
import pytest

from builders import tasks
from cards.evidence import Quote
from cards.manifest import Finding, Severity
from pipelines.audit.findings import FindingRows
from pipelines.audit.quality import audit_tables
from pipelines.release.examples import choose_examples, quote_findings

COUNTING = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
MULTILABEL = tasks.MultilabelClassification(labels=("joy", "fear"))


def leak_of(position: int, severity: Severity = "warning") -> FindingRows:
    finding = Finding("near_leak", severity, "default", "test", "text", 1, 0.1)
    return FindingRows(finding, pl.LazyFrame({"position": [position]}, {"position": pl.UInt32}))


def multilabel(*rows: tuple[str, str, list[int]]) -> dict[str, dict[str, pl.LazyFrame]]:
    schema = {"id": pl.String, "text": pl.String, "label": pl.List(pl.Int64)}
    return {"default": {"test": pl.LazyFrame(rows, schema, orient="row")}}


def shown(*rows: tuple[str, str, list[int]], findings: tuple[FindingRows, ...] = ()) -> str:
    """The ids of the examples among some rows of a multilabel task, beside the findings of these rows."""
    frames = multilabel(*rows)
    found = [*audit_tables(MULTILABEL, frames, ("test",)), *findings]
    return "".join(row["id"] for row in choose_examples(MULTILABEL, frames, "test", found))


DAY = [(letter, f"A {word} day in the park", [0]) for letter, word in zip("abcdefgh", COUNTING, strict=True)]


@pytest.mark.parametrize(
    "unfit",
    [
        ("z", "A joyful day <br> in the park", [0]),
        ("z", "A joyful d\ufffdy in the park", [0]),
        ("z", "A first day in the park", [1]),
    ],
    ids=["residue of HTML", "a lost character", "a text of another row"],
)
def test_a_row_with_a_problem_is_no_example(unfit: Any) -> None:
    assert "z" not in shown(unfit, *DAY[:3])


def test_a_text_of_an_unusual_length_comes_after_the_others() -> None:
    assert shown(("z", "A joyful day in the park. " * 9, [0]), *DAY[:5]) == "abcde"


def test_a_row_of_a_finding_is_no_example_unless_all_rows_are() -> None:
    rows = [("b", "A fearful day in the park", [1]), ("c", "No fear in the dark wood", [1])]
    assert shown(*rows, findings=(leak_of(1),)) == "b"
    assert shown(rows[1], findings=(leak_of(0),)) == "c", "the only row there is"


def test_what_nearly_all_rows_have_is_shown() -> None:
    rows = [(letter, f"A {word} day in the park..", [0]) for letter, word in zip("abcdefgh", COUNTING, strict=True)]
    rows += [(letter, f"One {word} day in the wood..", [0]) for letter, word in zip("ijklmnop", COUNTING, strict=True)]
    odd = ("z", "A day in the park that ends otherwise", [0])
    assert shown(*rows, odd) != "z"
    assert len(shown(*rows, odd)) == 5


def test_a_label_of_which_all_rows_are_listed_for_information_is_shown_too() -> None:
    rows = [("b", "A fearful day in the park", [1]), ("c", "A joyful day in the park", [0])]
    assert shown(*rows, findings=(leak_of(1, "info"),)) == "bc"


def test_no_text_is_shown_twice() -> None:
    again = [(letter, "A day in the park", [0]) for letter in "bcd"]
    assert shown(*again) == "b"


def test_five_rows_are_shown_in_turn_from_every_label_and_from_rows_without_one() -> None:
    assert len(shown(*DAY)) == 5
    fearful = ("y", "A fearful day in the park", [1])
    plain = ("z", "A usual day in the park", [])
    assert {"y", "z"} < set(shown(*DAY, fearful, plain))


def test_scores_are_shown_from_low_to_high() -> None:
    rows = [
        (f"A {word} day", f"One {word} day", score / 10) for word, score in zip(COUNTING, range(0, 24, 3), strict=True)
    ]
    schema = {"sentence1": pl.String, "sentence2": pl.String, "score": pl.Float64}
    frames = {"default": {"test": pl.LazyFrame(rows * 1, schema, orient="row")}}
    examples = choose_examples(tasks.STS(low=0, high=2.5), frames, "test", ())
    assert sorted(int(row["score"] * 2) for row in examples) == [0, 1, 2, 3, 4]


def test_the_examples_do_not_depend_on_the_order_of_rows_or_on_rows_that_are_left_out() -> None:
    rows = [(f"{number},", f"A day in the park with {number} dogs", [number % 2]) for number in range(10, 60)]
    examples = shown(*rows).split(",")
    assert sorted(shown(*reversed(rows)).split(",")) == sorted(examples)
    kept = [row for row in rows if row[0].strip(",") in examples or int(row[0].strip(",")) % 3]
    assert shown(*kept).split(",") == examples


def test_an_empty_table_has_no_example() -> None:
    assert choose_examples(MULTILABEL, multilabel(), "test", ()) == ()


def test_reranking_shows_a_query_with_a_relevant_document_and_one_that_is_not() -> None:
    tables: dict[str, dict[str, list[Any]]] = {
        "corpus": {"id": ["d1", "d2", "d3"], "title": ["", "", ""], "text": ["Rome", "Paris", "Oslo"]},
        "queries": {"id": ["q1", "q2"], "text": ["?", "Which city is the capital of France?"]},
        "qrels": {"query-id": ["q1", "q2", "q2"], "corpus-id": ["d1", "d3", "d2"], "score": [1, 0, 1]},
        "top_ranked": {"query-id": ["q1", "q2"], "corpus-ids": [["d1", "d2"], ["d3", "d2"]]},
    }
    frames = {config: {"test": pl.LazyFrame(columns)} for config, columns in tables.items()}
    assert choose_examples(tasks.Reranking(), frames, "test", ()) == (
        {"query": "?", "relevant": "Rome", "not relevant": "Paris"},
        {"query": "Which city is the capital of France?", "relevant": "Paris", "not relevant": "Oslo"},
    )


def test_a_query_without_a_judgement_is_shown_alone() -> None:
    tables: dict[str, dict[str, list[Any]]] = {
        "corpus": {"id": ["d1"], "title": [""], "text": ["Rome"]},
        "queries": {"id": ["q1"], "text": ["Which city is it?"]},
        "qrels": {"query-id": ["q2"], "corpus-id": ["d1"], "score": [1]},
    }
    frames = {config: {"test": pl.LazyFrame(columns)} for config, columns in tables.items()}
    assert choose_examples(tasks.Retrieval(), frames, "test", ()) == ({"query": "Which city is it?"},)


CLASSIFICATION = tasks.Classification(labels=("bad", "good"), splits=("train", "test"))


def quotes(task: tasks.Task, frames: dict[str, dict[str, pl.LazyFrame]], kind: str) -> list[Quote | None]:
    found = [table for table in audit_tables(task, frames, task.splits) if table.finding.kind == kind]
    return list(quote_findings(task, frames, found))


def texts(*train: str, test: str) -> dict[str, dict[str, pl.LazyFrame]]:
    def frame(*texts: str) -> pl.LazyFrame:
        return pl.LazyFrame({"text": texts, "label": [0] * len(texts), "label_text": ["bad"] * len(texts)})

    return {"default": {"train": frame(*train), "test": frame(test)}}


def test_a_leak_is_quoted_with_its_twin() -> None:
    frames = texts("Снег идёт.", "Дождь идёт.", test="дождь идёт")
    assert quotes(CLASSIFICATION, frames, "split_leak") == [Quote("дождь идёт", "Дождь идёт.")]


def test_both_sides_of_a_pair_are_quoted() -> None:
    pairs = pl.LazyFrame({"sentence1": ["Снег идёт."] * 2, "sentence2": ["Идёт снег."] * 2, "score": [1.0, 1.0]})
    frames = {"default": {"test": pairs}}
    quote = "Снег идёт. ↔ Идёт снег."
    assert quotes(tasks.STS(low=0, high=5), frames, "duplicate_pair") == [Quote(quote, quote)]


@pytest.mark.parametrize(
    ("text", "kind", "quote", "mark"),
    [
        ("ё" * 100 + "<br>" + "я", "html_residue", "…" + "ё" * 30 + "<br>я", (31, 35)),
        ("Коротко <br>", "html_residue", "Коротко <br>", (8, 12)),
        ("ё" * 100 + "я..", "double_full_stop", "…" + "ё" * 30 + "я..", (31, 34)),
    ],
)
def test_a_long_text_is_quoted_from_a_little_before_what_is_marked(
    text: str, kind: str, quote: str, mark: tuple[int, int]
) -> None:
    assert quotes(CLASSIFICATION, texts("Снег.", test=text), kind) == [Quote(quote, mark=mark)]


@pytest.mark.parametrize(
    ("text", "mark", "note"),
    [
        ("Купи мне сaхар, да!", (9, 14), "Latin a"),
        ("Apрle pie", (0, 5), "Cyrillic р"),
    ],
)
def test_a_word_of_two_scripts_is_marked_and_its_foreign_letters_are_named(
    text: str, mark: tuple[int, int], note: str
) -> None:
    assert quotes(CLASSIFICATION, texts("Снег.", test=text), "lookalike_word") == [Quote(text, mark=mark, note=note)]


@pytest.mark.parametrize(
    ("text", "quote"),
    [(" Снег", "␣Снег"), ("\n\nСнег \t", "␣Снег␣"), ("ё" * 100 + " ", "…" + "ё" * 60 + "␣")],
)
def test_white_space_around_a_text_is_visible(text: str, quote: str) -> None:
    assert quotes(CLASSIFICATION, texts("Дождь.", test=text), "surrounding_whitespace") == [Quote(quote)]


def test_of_a_pair_the_side_that_an_earlier_split_has_is_quoted() -> None:
    def pair(first: str, second: str) -> pl.LazyFrame:
        return pl.LazyFrame({"sentence1": [first], "sentence2": [second], "score": [1.0]})

    frames = {"default": {"train": pair("Снег.", "Град."), "test": pair("Дождь.", "Снег.")}}
    assert quotes(tasks.STS(low=0, high=5, splits=("train", "test")), frames, "side_leak") == [Quote("Снег.")]


def test_personal_data_are_not_quoted() -> None:
    assert quotes(CLASSIFICATION, texts("Снег.", test="Пишите на a.b@example.org"), "personal_data") == [None]


def test_a_finding_about_labels_has_no_quote() -> None:
    frames = texts(*(f"Снег {number}" for number in range(40)), test="Дождь")
    assert set(quotes(CLASSIFICATION, frames, "few_rows_of_label")) <= {None}
