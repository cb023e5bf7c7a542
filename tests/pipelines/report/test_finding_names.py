"""The names of findings for people."""

from pipelines.audit.duplicates import FOLDED_DETAIL
from pipelines.audit.kinds import KINDS
from pipelines.checking.text import EXACT_OR_FOLDED, finding_name


def test_only_kinds_that_exist_are_exact_or_folded() -> None:
    assert KINDS.keys() >= EXACT_OR_FOLDED


def test_a_name_says_whether_texts_are_equal_or_only_equal_after_folding() -> None:
    assert finding_name("split_leak", "in train") == "text also in an earlier split, exact"
    assert finding_name("split_leak", f"in train, {FOLDED_DETAIL}") == "text also in an earlier split, folded"
    assert finding_name("conflicting_label", "in train") == "the same text with different labels"
    assert finding_name("html_residue", "") == "HTML tags or character references"
