"""massive: intents, scenarios and partitions of the utterances."""

import json
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.rumteb import massive
from builders.spec import Raw, RawFiles
from tests.support.recipes import frame


def make_utterance(**changes: str) -> str:
    row = {"id": "1", "partition": "train", "scenario": "alarm", "intent": "alarm_set", "utt": "поставь будильник"}
    return json.dumps(row | changes, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("changes", "found"),
    [({"intent": "alarm_snooze"}, "alarm_snooze"), ({"partition": "validation"}, "unknown label in 'partition'")],
)
def test_an_utterance_with_an_unknown_intent_or_partition_is_an_error_with_its_line(
    changes: dict[str, str], found: str, tmp_path: Path
) -> None:
    path = tmp_path / "ru-RU.jsonl"
    path.write_text(make_utterance() + make_utterance(**changes), encoding="utf-8")
    with pytest.raises(SourceError, match=found) as caught:
        massive.intent.recipe(RawFiles(("train",), {"russian": Raw("ru-RU.jsonl", path)}, tmp_path))
    assert "line 2" in str(caught.value)


def test_a_cleaned_split_does_not_depend_on_the_other_splits_built(tmp_path: Path) -> None:
    texts = {
        "1": ("train", "свет"),
        "2": ("dev", "СВЕТ!"),
        "3": ("dev", "звук"),
        "4": ("test", "звук"),
        "5": ("train", "газ"),
    }
    lines = [make_utterance(id=name, partition=partition, utt=text) for name, (partition, text) in texts.items()]
    path = tmp_path / "ru-RU.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    for splits in (("train", "validation", "test"), ("train",), ("validation", "test")):
        raw = RawFiles(splits, {"russian": Raw("ru-RU.jsonl", path)}, tmp_path)
        tables = massive.intent.recipe(raw, clean=True)
        ids = {split: frame(tables, split)["id"].to_list() for split in splits}
        assert ids == {split: {"train": ["5"], "validation": ["2"], "test": ["4"]}[split] for split in splits}


def test_every_intent_begins_with_its_scenario_and_names_are_sorted() -> None:
    assert (len(massive.INTENTS), len(massive.SCENARIOS)) == (60, 18)
    assert {intent.split("_", 1)[0] for intent in massive.INTENTS} == set(massive.SCENARIOS)
    assert list(massive.INTENTS) == sorted(set(massive.INTENTS))
    assert list(massive.SCENARIOS) == sorted(set(massive.SCENARIOS))
