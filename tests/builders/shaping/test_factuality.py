"""Premise and hypothesis become one text with one of three labels, and DialFact's evidence becomes a premise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.ateb.dialfact import classification
from builders.errors import SourceError
from builders.shaping.factuality import FEVER, LABELS, NLI, classify_pairs, labelled
from builders.spec import Dropped, Raw, RawFiles, Tables

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def table(folder: Path, *rows: tuple[str, str, str], numbers: dict[str, int] = NLI, unit: str = "line") -> pl.DataFrame:
    frame = pl.DataFrame(rows, ["premise", "hypothesis", "gold"], orient="row").with_row_index("id")
    frame = labelled(frame, Raw("s/a.csv", folder / "a.csv"), label="gold", numbers=numbers, unit=unit)
    return rows_of(classify_pairs({"test": frame}, ("test",)))


def rows_of(made: Tables) -> pl.DataFrame:
    return made.frames["default"]["test"].lazy().collect()


def test_the_text_is_atebs_with_both_sides_as_they_are(tmp_path: Path) -> None:
    row = table(tmp_path, ("It rains. ", "It  is\nwet", "entailment")).to_dicts()[0]
    assert row == {
        "id": 0,
        "text": "Premise: It rains.  Hypothesis: It  is\nwet",
        "label": 0,
        "label_text": "entailment",
    }


@settings(deadline=None, max_examples=50)
@given(premise=TEXTS, hypothesis=TEXTS)
def test_no_character_of_either_side_is_lost_or_added(premise: str, hypothesis: str) -> None:
    rows = pl.DataFrame({"premise": [premise], "hypothesis": [hypothesis], "label": [1]})
    made = classify_pairs({"test": rows}, ("test",))
    assert rows_of(made)["text"].item() == f"Premise: {premise} Hypothesis: {hypothesis}"


def test_labels_are_numbered_as_snli_orders_them_whatever_upstream_calls_them(tmp_path: Path) -> None:
    assert LABELS == ("entailment", "neutral", "contradiction")
    rows = table(tmp_path, ("", "", "REFUTES"), ("", "", "SUPPORTS"), ("", "", "NOT ENOUGH INFO"), numbers=FEVER)
    assert rows.rows() == [
        (0, "Premise:  Hypothesis: ", 2, "contradiction"),
        (1, "Premise:  Hypothesis: ", 0, "entailment"),
        (2, "Premise:  Hypothesis: ", 1, "neutral"),
    ]


@pytest.mark.parametrize("label", ["-", "", "Neutral", "SUPPORTS"])
def test_a_label_that_is_none_of_the_three_is_refused_with_its_place(label: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown label in 'gold'") as caught:
        table(tmp_path, ("a", "b", "neutral"), ("c", "d", label), unit="record")
    assert caught.value.where == "s/a.csv, record 2"
    assert caught.value.expected == "entailment, neutral, contradiction"


def test_a_clean_version_compares_both_sides_and_wants_more_than_a_character_of_each() -> None:
    schema = {"id": pl.String, "premise": pl.String, "hypothesis": pl.String, "label": pl.Int64}
    train = [("a", "It rains.", "It is wet.", 0), ("b", "It rains.", "?", 1), ("c", " ", "It is dry.", 2)]
    test = [
        ("d", "it rains", "It is wet!", 0),
        ("e", "It", "rains.", 0),
        ("f", "It", "rains.", 0),
        ("g", "It snows.", "It", 1),
    ]
    frames = {"train": pl.DataFrame(train, schema, orient="row"), "test": pl.DataFrame(test, schema, orient="row")}
    made = classify_pairs(frames, ("train", "test"), clean=True)
    assert rows_of(made)["id"].to_list() == ["d", "e", "g"]
    assert made.dropped == (
        Dropped("a text is empty or a single character", 2, "train", ("b", "c")),
        Dropped("the pair is in the test split too", 1, "train", ("a",)),
        Dropped("the pair stands in an earlier row too", 1, "test", ("f",)),
    )
    assert list(classify_pairs(frames, ("test",), clean=True).frames["default"]) == ["test"]
    assert classify_pairs(frames, ("train", "test")).dropped == ()


def dialogue(folder: Path, *records: dict[str, Any]) -> list[str]:
    """The texts of DialFact rows, each with what differs from a plain one."""
    plain = {
        "id": "1___1--0",
        "context": ["Hi."],
        "response": "Yes.",
        "evidence_list": [],
        "response_label": "SUPPORTS",
    }
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(plain | record) + "\n" for record in records), encoding="utf-8")
    made = classification.recipe(RawFiles(("test",), {"test": Raw("dialfact/test.jsonl", path)}, folder))
    return rows_of(made)["text"].to_list()


def piece(snippet: str, *more: str) -> list[str]:
    return ["Title", "https://example.org/Title", snippet, "0", *more]


def test_the_premise_is_the_snippets_joined_by_a_space(tmp_path: Path) -> None:
    evidence = [piece("One. "), piece(""), piece("Two.", "gt_evidence_added"), piece("\u00a0\n")]
    assert dialogue(tmp_path, {"evidence_list": evidence}) == ["Premise: One.  Two. Hypothesis: Yes."]


def test_where_there_is_no_evidence_the_premise_is_the_turn_before(tmp_path: Path) -> None:
    rows = [{"context": ["Hi.", "Do you swim? "]}, {"context": ["Hi."], "evidence_list": [piece(" ")]}, {"context": []}]
    texts = ["Premise: Do you swim?  Hypothesis: Yes.", "Premise: Hi. Hypothesis: Yes.", "Premise:  Hypothesis: Yes."]
    assert dialogue(tmp_path, *rows) == texts


def test_a_piece_of_evidence_without_a_snippet_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a piece of evidence has no snippet") as caught:
        dialogue(tmp_path, {}, {"evidence_list": [piece("One."), ["Title", "https://example.org/Title"]]})
    assert caught.value.where == "dialfact/test.jsonl, line 2"
