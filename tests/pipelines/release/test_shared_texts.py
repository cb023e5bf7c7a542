"""Which releases were compared with other datasets, and what the card gets of it."""

from pathlib import Path
from typing import Any

import pytest

from cards.evidence import Comparison, SharedTexts
from pipelines.make import make
from pipelines.release import writing
from pipelines.release.shared_texts import read_map, shared_with_others
from tests.support.releases import definition_of, sample_settings

ONE = {"dataset": "one", "version": "1.0.0", "config": "default", "split": "train", "column": "text"}
OTHER = {"dataset": "two", "version": "2.0.0", "config": "corpus", "split": "test", "column": "text"}
MAP: dict[str, Any] = {
    "datasets": [
        {"dataset": "one", "version": "1.0.0", "content_sha256": "a1"},
        {"dataset": "one", "version": "2.0.0", "content_sha256": "a2"},
        {"dataset": "two", "version": "2.0.0", "content_sha256": "b"},
    ],
    "shared": [{"of": ONE, "in": OTHER, "kinds": {"exact": 3}}],
}


def test_the_texts_of_a_release_that_another_dataset_has_are_found_by_its_content() -> None:
    shared = SharedTexts("train.text", "two", "2.0.0", "corpus/test.text", {"exact": 3})
    assert shared_with_others("one", "a1", MAP) == Comparison(1, (shared,))
    assert shared_with_others("one", "a2", MAP) == Comparison(1)


def test_other_rows_than_those_compared_have_no_comparison() -> None:
    assert shared_with_others("one", "a3", MAP) is None
    assert shared_with_others("three", "b", MAP) is None


def test_the_card_of_a_compared_release_quotes_the_map(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writing, "shared_with_others", lambda *_: shared_with_others("one", "a1", MAP))
    result = make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path))
    card = (result.release_dir / "README.md").read_text("utf-8")
    assert "- 3 rows of `train.text` are in `two` 2.0.0, `corpus/test.text` (3 exact)" in card


def test_the_committed_map_has_a_text_that_paraphraser_and_the_russian_sts_benchmark_share() -> None:
    digests = [one["content_sha256"] for one in read_map()["datasets"] if one["dataset"] == "ru-paraphraser-sts"]
    for digest in digests:
        comparison = shared_with_others("ru-paraphraser-sts", digest)
        assert comparison is not None
        assert [(one.dataset, one.kinds) for one in comparison.shared] == [("stsb_ru", {"folded": 1})]
