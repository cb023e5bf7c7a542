"""pipelines.audit.duplicates: texts in two splits."""

import pytest

from pipelines.audit.duplicates import FOLDED_DETAIL
from tests.support.tables import clean_tables, combine, quality_findings, resolve_names, with_rows, with_value


def test_a_text_leaks_either_exactly_or_after_folding() -> None:
    leaked = [
        "1 train sentence number 1",
        "1 TRAIN sentence number 1",
        "1 train sentence number 1",
        "２ Train: Sentence -- number ２",
    ]
    tables = combine(*(with_value("default", "test", "text", row, text) for row, text in enumerate(leaked)))(
        clean_tables("MultilabelClassification")
    )
    findings = quality_findings("MultilabelClassification", tables)
    leaks = [finding for finding in findings if finding.kind == "split_leak"]
    names = resolve_names(tables, "default", "test", ("row 0", "row 1", "row 3"))
    assert [(leak.count, leak.examples, leak.detail) for leak in leaks] == [
        (1, names[:1], "in train"),
        (2, names[1:], f"in train, {FOLDED_DETAIL}"),
    ]
    assert leaks[0].share == pytest.approx(1 / 23)


def test_one_text_of_a_pair_is_not_a_split_leak() -> None:
    tables = with_value("default", "test", "sentence1", 0, "0 train sentence number 0")(clean_tables("STS"))
    assert [finding.kind for finding in quality_findings("STS", tables)] == ["side_leak"]


def test_a_swapped_pair_is_not_a_side_leak() -> None:
    swapped = ("e", "1 train Satz Nummer 1", "1 train sentence number 1", 2.5)
    tables = with_rows("default", "test", swapped)(clean_tables("STS"))
    assert [finding.kind for finding in quality_findings("STS", tables)] == ["swapped_pair"]


def test_the_corpora_of_two_splits_may_share_documents() -> None:
    tables = clean_tables("Reranking")
    assert tables["corpus"]["test"].equals(tables["corpus"]["validation"])
    assert quality_findings("Reranking", tables) == []
