"""The texts of findings that a card quotes."""

import polars as pl
import pytest

from builders import tasks
from cards.evidence import Quote
from pipelines.audit.quality import audit_tables
from pipelines.release.examples import quote_findings

CLASSIFICATION = tasks.Classification(labels=("bad", "good"), splits=("train", "test"))


def quotes(task: tasks.Task, frames: dict[str, dict[str, pl.LazyFrame]], kind: str) -> list[Quote | None]:
    found = [one for one in audit_tables(task, frames, task.splits) if one.finding.kind == kind]
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
    ("text", "kind", "quote"),
    [
        ("ё" * 100 + "<br>" + "я", "html_residue", "…" + "ё" * 30 + "<br>я"),
        ("Коротко <br>", "html_residue", "Коротко <br>"),
        ("ё" * 100 + "я..", "double_full_stop", "…" + "ё" * 30 + "я.."),
    ],
)
def test_a_long_text_is_quoted_from_a_little_before_the_problem(text: str, kind: str, quote: str) -> None:
    assert quotes(CLASSIFICATION, texts("Снег.", test=text), kind) == [Quote(quote)]


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
