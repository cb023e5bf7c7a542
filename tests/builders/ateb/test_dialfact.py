"""DialFact: evidence becomes the premise, and the real example rows match upstream's own text."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.ateb.dialfact import classification
from builders.errors import SourceError
from builders.spec import Raw, RawFiles, Tables
from tests.support.real_releases import label_counts
from tests.support.recipes import frame


def build(path: Path) -> Tables:
    return classification.recipe(RawFiles(("test",), {"test": Raw(f"dialfact/{path.name}", path)}, path.parent))


def build_texts(folder: Path, *records: dict[str, Any]) -> list[str]:
    """The texts of the rows; each record names what differs from a plain one."""
    plain = {
        "id": "1___1--0",
        "context": ["Hi."],
        "response": "Yes.",
        "evidence_list": [],
        "response_label": "SUPPORTS",
    }
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(plain | record) + "\n" for record in records), encoding="utf-8")
    return frame(build(path))["text"].to_list()


def make_piece(snippet: str, *more: str) -> list[str]:
    return ["Title", "https://example.org/Title", snippet, "0", *more]


def test_a_piece_of_evidence_without_a_snippet_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    evidence = [make_piece("One."), ["Title", "https://example.org/Title"]]
    with pytest.raises(SourceError, match="a piece of evidence has no snippet") as caught:
        build_texts(tmp_path, {}, {"evidence_list": evidence})
    assert caught.value.where == "dialfact/test.jsonl, line 2"


def test_the_real_example_rows_become_evidence_and_response(real_sources: Path) -> None:
    path = real_sources / "dialfact" / "testsmall.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    tables = build(path)
    rows = frame(tables)
    assert rows.height == 300
    assert label_counts(rows) == {"entailment": 99, "contradiction": 103, "neutral": 98}
    assert rows["response_id"].to_list() == [record["id"] for record in records]
    assert set(tables.observed.values()) == {0}, "every row has evidence, including the 39 personal ones"
    assert sum(record["type_label"] == "personal" for record in records) == 39
    # Upstream's own joined evidence, written for its models, contains the same snippets independently of this package.
    for text, record in zip(rows["text"], records, strict=True):
        parts = [part.split(" content: ", 1)[1] for part in record["evidence_touse"].split(" ### ")]
        snippets = " ".join(snippet for snippet in parts if snippet.strip())
        assert text == f"Premise: {snippets} Hypothesis: {record['response']}"
