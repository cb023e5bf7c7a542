"""VitaminC's test split from the real raw files has the published rows, duplicates and conflicts."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from builders.ateb.vitaminc import MARKUP
from builders.spec import RawFiles
from cards.texts import read_prose
from pipelines.make import BuildResult
from pipelines.raw.locations import locate
from tests.support.real_releases import label_counts, warning_counts
from tests.support.recipes import frame
from tests.support.releases import definition_of, sample_settings

NAME = "vitaminc-classification"


@pytest.fixture(scope="module")
def read_rows(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pl.DataFrame]:
    """A function that returns the test split of a version, without an audit, which takes ten times as long."""
    folder, definition = tmp_path_factory.mktemp("vitaminc"), definition_of(NAME)
    settings = replace(sample_settings(folder).raw, raw_dir=real_sources)
    inputs = {key: locate(definition.source, key, settings) for key in definition.dataset.needs["test"]}
    assert all(one.verified for one in inputs.values())
    raw = RawFiles(("test",), {key: one.raw for key, one in inputs.items()}, folder)
    return cache(lambda version: frame(definition.dataset.recipe(raw, **definition.dataset.options(version))))


def test_vitaminc_has_the_published_rows_and_duplicates(read_rows: Callable[[str], pl.DataFrame]) -> None:
    rows = read_rows("1.0.0")
    assert rows.height == 34_481 + 20_716 == 55_197
    assert label_counts(rows) == {"entailment": 27_664, "neutral": 7_268, "contradiction": 20_265}
    assert rows["text"].n_unique() == 54_668
    assert label_counts(rows.tail(20_716)) == {"entailment": 10_358, "contradiction": 10_358}, "the synthetic part"


@pytest.mark.slow
def test_an_audit_finds_the_duplicates_conflicts_and_damage(real_release: Callable[[str], BuildResult]) -> None:
    assert warning_counts(real_release(NAME)) == {
        "duplicate_text": 55_197 - 54_668 + 24 + 13,  # 24 after folding, 13 with other quotation marks
        "conflicting_label": 12,
        "html_residue": 95,
        "encoding_residue": 144,
        "mojibake": 142,
        "preprocessing_residue": 3_040,
        "invisible_character": 8,
    }


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0", "3.0.0"])
def test_the_limits_count_brackets_and_invisible_marks(version: str, read_rows: Callable[[str], pl.DataFrame]) -> None:
    texts = read_rows(version)["text"]
    limits = " ".join(read_prose("vitaminc", NAME, version).limits.split())
    assert f"{texts.str.contains('-(LRB|RRB|LSB|RSB|LCB|RCB)-').sum():,} test rows, all of the synthetic part" in limits
    assert f"{texts.str.contains(chr(0x200E), literal=True).sum()} of the real part hold an invisible mark" in limits
    lost = texts.str.contains("ï¿½", literal=True).sum()
    assert f"in {lost} of them U+FFFD itself" in limits or lost == 0


def test_version_3_drops_copies_that_differ_in_quotation_marks_and_pairs_with_markup(
    read_rows: Callable[[str], pl.DataFrame],
) -> None:
    before, after = read_rows("2.0.0"), read_rows("3.0.0")
    assert (before.height, after.height) == (54_346, 54_241)
    assert after.join(before, on="id", how="anti").height == 0
    gone = before.join(after, on="id", how="anti")
    markup = gone["text"].str.contains("<|& apos ;")
    assert markup.sum() == 92
    others = gone.filter(~markup)
    assert others.height == 13
    assert others["text"].str.contains("``", literal=True).sum() == 12, "one repeats a text with such marks"
    assert after["text"].str.contains("<|& [a-z]+ ;").sum() == 0
    residue = after["text"].str.contains(r"\{ ?\{|\} ?\}|\[ ?\[|\] ?\]|\|").sum()
    assert f"{residue} test rows, all of the real part, hold other remains" in " ".join(
        read_prose("vitaminc", NAME, "3.0.0").limits.split()
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("< /ref > In 2019 , she left .", True),
        ("It grew. < ref name= '' snep '' > French certifications", True),
        ("<REF>", True),
        ("subject to change . < ! --", True),
        ("Scream & apos ; s 83 %", True),
        ("The index is < 5 .", False),
        ("small < smaller < smallest", False),
        ("if a < reference is kept", False),
        ("AT & T ; R & B", False),
    ],
)
def test_markup_is_a_tag_of_a_wiki_page_or_a_character_reference(text: str, *, expected: bool) -> None:
    assert pl.Series([text]).str.contains(MARKUP).item() is expected
