"""The test splits that are complete among the real raw files: pinned, and clean in version 2.0.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl
import pytest

from pipelines.make import BuildResult
from tests.support.real_releases import COMPLETE, read_table, warning_counts

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

CLASSIFICATIONS = ("esnli-classification", "vitaminc-classification")
ALL = (*CLASSIFICATIONS, "hhrlhf-harmlessness-classification")
# How many rows version 2.0.0 drops from each test split, by a key word of the reason.
DROPPED = {
    "esnli-classification": {},
    "vitaminc-classification": {"damaged": 286, "label": 26, "earlier row": 515, "earlier row, ignoring case": 24},
    "hhrlhf-harmlessness-classification": {"the answer is empty": 4, "label in another row, ignoring case": 6},
}


def only(*quick: str, of: tuple[str, ...]) -> list[ParameterSet]:
    """The names `of` as parameters, all but the quick ones slow: the audit of VitaminC takes 14 seconds."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in of]


@pytest.mark.parametrize("name", only("esnli-classification", of=CLASSIFICATIONS))
def test_test_splits_are_built_from_the_pinned_files(name: str, real_release: Callable[[str], BuildResult]) -> None:
    manifest = real_release(name).manifest
    assert manifest.partial is True
    assert manifest.dropped == ()
    assert all(raw.verified for raw in manifest.raw)


@pytest.mark.parametrize("name", only("hhrlhf-harmlessness-classification", of=ALL))
def test_a_cleaned_version_has_no_duplicates_conflicts_or_damaged_texts_and_loses_no_other_row(
    name: str, real_release: Callable[..., BuildResult], complete_release: Callable[..., BuildResult]
) -> None:
    build = complete_release if name in COMPLETE else real_release
    first, clean = build(name), build(name, "2.0.0")
    assert [dropped.count for dropped in clean.manifest.dropped] == list(DROPPED[name].values())
    assert all(word in drop.reason for word, drop in zip(DROPPED[name], clean.manifest.dropped, strict=True))
    found = warning_counts(clean)
    assert "conflicting_label" not in found
    # Copies in other quotation marks, which VitaminC 3.0.0 drops.
    assert found.get("duplicate_text", 0) == (13 if name == "vitaminc-classification" else 0)
    before, after = read_table(first), read_table(clean)
    folded = pl.col("text").str.to_lowercase().str.replace_all(r"[\p{P}\s]+", " ").str.strip_chars()
    texts = before.group_by(folded).agg(
        pl.col("label").n_unique(), damaged=pl.col("text").str.contains("\ufffd|ï¿½|â€|Ã|â‚").any()
    )
    expected = texts.filter(~pl.col("damaged"), label=1).height
    assert (after.select(folded)["text"].n_unique(), after.height) == (expected, expected)
    assert before.join(after.select("id"), on="id", how="semi", maintain_order="left").equals(after)
