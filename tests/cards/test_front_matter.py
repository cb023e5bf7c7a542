"""The front matter of a card: valid for the Hub, and loadable with `datasets`."""

import importlib
import logging
import re
import socket
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from cards import front_matter
from tests.support.card_inputs import NAMES, TASKS, card_for, frames_for, front_matter_of, write_release


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library without a network; imported by name because it has no types."""

    def refuse(*_: object) -> None:
        raise AssertionError("this test must not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return importlib.import_module("datasets")


@pytest.mark.parametrize("task_type", TASKS)
def test_front_matter_survives_huggingface_hub_unchanged(task_type: str) -> None:
    from huggingface_hub import DatasetCard, DatasetCardData

    card = card_for(task_type)
    loaded: Any = DatasetCard(card)
    reloaded: Any = DatasetCard(str(loaded))
    assert loaded.data.to_dict() == reloaded.data.to_dict() == front_matter_of(card)
    assert isinstance(loaded.data, DatasetCardData)
    assert loaded.text.lstrip().startswith(f"# {NAMES[task_type][1]}\n")


@pytest.mark.parametrize("task_type", TASKS)
def test_front_matter_uses_the_vocabulary_of_the_hub(task_type: str) -> None:
    metadata = front_matter_of(card_for(task_type))
    assert set(metadata["language"]) <= {"ru", "en", "de"}
    assert set(metadata["task_categories"]) <= {
        "text-retrieval", "text-ranking", "text-classification", "sentence-similarity", "feature-extraction", "translation",
    }  # fmt: skip
    assert set(metadata["task_ids"]) <= {
        "document-retrieval", "multi-class-classification", "multi-label-classification",
        "multi-input-text-classification", "semantic-similarity-scoring",
    }  # fmt: skip
    assert metadata["multilinguality"] == (["translation"] if task_type == "BitextMining" else ["monolingual"])
    assert metadata["source_datasets"] == [f"extended|other-{NAMES[task_type][0]}"]
    assert metadata["size_categories"] == ["n<1K"]
    assert metadata["annotations_creators"] == ["crowdsourced"]
    assert ("mteb" in metadata["tags"]) == (task_type != "Contrastive")


def test_a_licence_without_an_id_has_a_name_and_a_link() -> None:
    card = card_for("BitextMining", source={"license": "other", "license_note": "Corpora: <own> terms."})
    metadata = front_matter_of(card)
    assert [metadata["license"], metadata["license_name"], metadata["license_link"]] == [
        "other", "document-mt-terms", "https://example.org/s",
    ]  # fmt: skip
    assert "other. Corpora: &lt;own> terms." in card


@given(st.integers(min_value=0, max_value=10**10 - 1))
def test_a_size_category_contains_the_number_of_rows(rows: int) -> None:
    category = front_matter.size_category(rows)
    numbers = [
        int(number) * 1000 ** "_KMB".index(unit or "_") for number, unit in re.findall(r"(\d+)([KMB]?)", category)
    ]
    low, high = numbers if len(numbers) == 2 else (0, numbers[0])
    assert low <= rows < high


def test_an_unknown_language_is_an_error_that_says_where_to_add_it() -> None:
    with pytest.raises(ValueError, match=r"'sah-Cyrl': add it to LANGUAGES"):
        front_matter.language("sah-Cyrl")


def test_a_release_of_one_config_loads_with_its_splits_and_types(
    tmp_path: Path, datasets: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("datasets"), "propagate", True)  # its warnings go to caplog
    write_release(tmp_path / "release", "MultilabelClassification")
    for name in ("default", None):
        loaded = datasets.load_dataset(
            str(tmp_path / "release"), name, revision="v1.9.0", cache_dir=str(tmp_path / "cache")
        )
        assert list(loaded) == ["train", "test"]
        assert loaded["test"].features == {
            "text": datasets.Value("string"),
            "label": datasets.List(datasets.ClassLabel(names=["joy", "fear"])),
        }
        assert loaded["test"]["label"][:] == [[0, 1], [], [1]]
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(("task_type", "column", "names"), [
    ("Classification", "label", ["bad", "good"]),
    ("MultilabelClassification", "label", ["joy", "fear"]),
    ("PairClassification", "labels", ["not_entailment", "entailment"]),
])  # fmt: skip
def test_labels_are_class_labels_with_names_and_load_as_the_same_numbers(
    tmp_path: Path, task_type: str, column: str, names: list[str], datasets: Any
) -> None:
    write_release(tmp_path / "release", task_type)
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    for split, frame in frames_for(task_type)["default"].items():
        feature = loaded[split].features[column]
        assert getattr(feature, "feature", feature).names == names
        assert loaded[split][column][:] == frame[column].to_list()
        assert pl.from_pandas(loaded[split].to_pandas())[column].to_list() == frame[column].to_list()
        polars = pl.read_parquet(tmp_path / "release" / "data" / f"{split}-*.parquet")
        assert polars[column].to_list() == frame[column].to_list()


def test_names_of_labels_that_are_bare_numbers_are_not_in_the_front_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tasks.Classification(("bad", "good"), ("train", "test"), bare_labels=True)
    monkeypatch.setitem(TASKS, "Classification", bare)
    [info] = front_matter_of(card_for("Classification"))["dataset_info"]
    assert {"name": "label", "dtype": "int64"} in info["features"]


@pytest.mark.parametrize("task_type", TASKS)
def test_features_are_written_as_datasets_writes_them(task_type: str, datasets: Any) -> None:
    for info in front_matter_of(card_for(task_type))["dataset_info"]:
        assert datasets.Features._from_yaml_list(info["features"])._to_yaml_list() == info["features"]


@pytest.mark.parametrize(("task_type", "configs"), [
    ("Retrieval", ["corpus", "queries", "qrels"]), ("Reranking", ["corpus", "queries", "qrels", "top_ranked"]),
])  # fmt: skip
def test_a_release_of_several_configs_loads_each_by_name_and_the_queries_without_one(
    tmp_path: Path, task_type: str, configs: list[str], datasets: Any
) -> None:
    release_dir, cache = str(tmp_path / "release"), str(tmp_path / "cache")
    write_release(tmp_path / "release", task_type)
    assert sorted(datasets.get_dataset_config_names(release_dir)) == sorted(configs)
    for config in configs:
        loaded = datasets.load_dataset(release_dir, config, cache_dir=cache)
        expected = frames_for(task_type)[config]["test"]
        assert loaded["test"].to_list() == expected.to_dicts()
    assert datasets.load_dataset(release_dir, cache_dir=cache)["test"].to_list() == (
        frames_for(task_type)["queries"]["test"].to_dicts()
    )


def test_the_only_config_of_a_release_loads_without_its_name(tmp_path: Path, datasets: Any) -> None:
    write_release(tmp_path / "release", "BitextMining")
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    assert loaded["test"].column_names == ["sentence1", "sentence2"]


def test_datasets_refuses_a_release_with_fewer_rows_than_its_card_says(tmp_path: Path, datasets: Any) -> None:
    errors = importlib.import_module("datasets.utils.info_utils")
    write_release(tmp_path / "release", "STS", rows=4)
    with pytest.raises(errors.NonMatchingSplitsSizesError):
        datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
