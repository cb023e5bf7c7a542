"""VitaminC's test split from the real raw files has the published rows, duplicates and conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cards.texts import read_prose
from tests.support.real_releases import label_counts, read_table, warning_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.make import BuildResult


def test_vitaminc_has_the_published_rows_duplicates_and_conflicts(real_release: Callable[[str], BuildResult]) -> None:
    result = real_release("vitaminc-classification")
    rows = read_table(result)
    assert rows.height == 34_481 + 20_716 == 55_197
    assert label_counts(rows) == {"entailment": 27_664, "neutral": 7_268, "contradiction": 20_265}
    assert rows["text"].n_unique() == 54_668
    assert label_counts(rows.tail(20_716)) == {"entailment": 10_358, "contradiction": 10_358}, "the synthetic part"
    assert warning_counts(result) == {
        "duplicate_text": 55_197 - 54_668 + 24,
        "conflicting_label": 12,
        "wrong_language": 2,  # of the 5,000 rows that are looked at
        "encoding_residue": 144,
        "mojibake": 142,
        "preprocessing_residue": 3_040,
        "invisible_character": 8,
    }


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_the_limits_count_brackets_and_invisible_marks(version: str, real_release: Callable[..., BuildResult]) -> None:
    texts = read_table(real_release("vitaminc-classification", version))["text"]
    limits = " ".join(read_prose("vitaminc", "vitaminc-classification", version).limits.split())
    assert f"{texts.str.contains('-(LRB|RRB|LSB|RSB|LCB|RCB)-').sum():,} test rows, all of the synthetic part" in limits
    assert f"{texts.str.contains(chr(0x200E), literal=True).sum()} of the real part hold an invisible mark" in limits
    lost = texts.str.contains("ï¿½", literal=True).sum()
    assert f"in {lost} of them U+FFFD itself" in limits or lost == 0
