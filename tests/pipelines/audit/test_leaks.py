"""pipelines.audit.leaks: texts in two splits."""

from __future__ import annotations

import pytest

from pipelines.audit.leaks import FOLDED_DETAIL
from tests.support.tables import clean_tables, combine, quality_findings, with_value


def test_a_text_leaks_either_exactly_or_after_folding() -> None:
    leaked = [
        "train sentence number 1",
        "TRAIN sentence number 1",
        "train sentence number 1",
        "Train: Sentence -- number ２",
    ]
    tables = combine(*(with_value("default", "test", "text", row, text) for row, text in enumerate(leaked)))(
        clean_tables("MultilabelClassification")
    )
    findings = quality_findings("MultilabelClassification", tables)
    leaks = [finding for finding in findings if finding.kind == "split_leak"]
    assert [(leak.count, leak.examples, leak.detail) for leak in leaks] == [
        (1, ("row 0",), "in train"),
        (2, ("row 1", "row 3"), f"in train, {FOLDED_DETAIL}"),
    ]
    assert leaks[0].share == pytest.approx(1 / 23)


def test_a_pair_leaks_only_as_a_whole() -> None:
    tables = with_value("default", "test", "sentence1", 0, "train sentence number 0")(clean_tables("STS"))
    assert quality_findings("STS", tables) == []


def test_the_corpora_of_two_splits_may_share_documents() -> None:
    tables = clean_tables("Reranking")
    assert tables["corpus"]["test"].equals(tables["corpus"]["validation"])
    assert quality_findings("Reranking", tables) == []
