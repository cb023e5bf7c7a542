"""What load_dataset would read of a release, compared with its manifest."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cards.front_matter import parse_front_matter
from cards.manifest import Manifest
from pipelines.release.loading import find_loading_faults
from tests.support.releases import NAMES

CEDR = "cedr-classification"
OTHERS = [
    ".gitattributes", "LICENSE", "notes.txt", "docs/figure.png", "README.md", "manifest.json", "statistics.json", "croissant.json"
]  # fmt: skip


def listing(manifest: Manifest) -> list[str]:
    return [*OTHERS, *(file.path for file in manifest.files)]


def card_of(front_matter: dict[str, Any]) -> bytes:
    return f"---\n{yaml.safe_dump(front_matter, sort_keys=False)}---\n\n# A card\n".encode()


def release_of(golden_release: Any, name: str = CEDR) -> tuple[Manifest, dict[str, Any]]:
    """The manifest of a golden release and the front matter of its card."""
    outcome = golden_release(name)
    return outcome.manifest, parse_front_matter((outcome.release_dir / "README.md").read_bytes(), "README.md")


@pytest.mark.parametrize("name", NAMES)
def test_every_release_loads_as_its_manifest_says(golden_release: Any, name: str) -> None:
    manifest, front_matter = release_of(golden_release, name)
    assert find_loading_faults(listing(manifest), card_of(front_matter), manifest, f"org/{name}") == []


def test_a_table_that_loads_under_the_name_of_no_subset_is_missing(golden_release: Any) -> None:
    manifest, front_matter = release_of(golden_release, "miracl-retrieval-ru")
    front_matter["configs"] = [config for config in front_matter["configs"] if config["config_name"] != "ru-corpus"]
    found = find_loading_faults(listing(manifest), card_of(front_matter), manifest, "org/miracl-retrieval-ru")
    assert found == ["the config corpus would not be loaded"]


@pytest.mark.parametrize(
    ("paths", "faults"),
    [
        (["data/train-extra.parquet"],
         ["data/train-extra.parquet would be loaded as default/train, and the manifest does not name it"]),
        (["data/test-notes.txt"],
         ["data/test-notes.txt would be loaded as default/test, and the manifest does not name it"]),
        (["data/validation-00000-of-00001.parquet", "other/train-00000-of-00001.parquet", "train.csv"], []),
        ([".huggingface.yaml"], [".huggingface.yaml changes what load_dataset reads"]),
        (["dataset_infos.json"], ["dataset_infos.json changes what load_dataset reads"]),
        ([f"{CEDR}.py"], [f"{CEDR}.py makes load_dataset fail: scripts are not supported"]),
    ],
    ids=["another shard", "another format", "not read", "other metadata", "old metadata", "a script"],
)  # fmt: skip
def test_a_file_that_would_be_loaded_with_a_release_is_named(
    golden_release: Any, paths: list[str], faults: list[str]
) -> None:
    manifest, front_matter = release_of(golden_release)
    found = find_loading_faults([*listing(manifest), *paths], card_of(front_matter), manifest, f"org/{CEDR}")
    assert found == faults


def files(front_matter: dict[str, Any]) -> Any:
    """The first entry of data_files of the first config."""
    return front_matter["configs"][0]["data_files"][0]


EVERYTHING = {"config_name": "all", "data_files": "data/*.parquet"}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda card: files(card).update(path="data/test-*"),
         ["data/test-00000-of-00001.parquet would be loaded as default/train, holds other rows in the manifest",
          "data/train-00000-of-00001.parquet would not be loaded as default/train"]),
        (lambda card: card["configs"][0]["data_files"].pop(), ["default/test would not be loaded"]),
        (lambda card: card["configs"].append(EVERYTHING),
         ["the config all would be loaded, and the manifest does not name it"]),
        (lambda card: card["configs"][0].update(config_name="main"),
         ["the config main would be loaded", "the config default would not be loaded"]),
        (lambda card: files(card).update(path=["data/train-*", "data/train-0*"]),
         ["data/train-00000-of-00001.parquet would be loaded 2 times as default/train"]),
        (lambda card: card["configs"][0].update(columns=["text"]),
         ["README.md: `columns` of the config default changes what is loaded"]),
        (lambda card: card["dataset_info"][0]["features"][0].update(dtype="int64"),
         ["README.md: dataset_info of default: columns text int64, "]),
        (lambda card: card["dataset_info"][0]["splits"][0].update(num_examples=0),
         ["README.md: dataset_info of default: rows train "]),
        (lambda card: card["dataset_info"][0].update(config_name="main"),
         ["README.md: dataset_info names the config main, which is not in the manifest"]),
        (lambda card: card["dataset_info"][0].update(features=3),
         ["README.md: load_dataset would fail: malformed `dataset_info`"]),
        (lambda card: files(card).update(path="https://example.org/x.parquet"),
         ["README.md: load_dataset would fail: the front matter names files outside the dataset (https://"]),
    ],
    ids=["other files", "no split", "another config", "no default", "twice", "fewer columns", "another type", "another count",
         "another info", "malformed info", "an address"],
)  # fmt: skip
def test_an_edited_front_matter_that_loads_something_else_is_named(
    golden_release: Any, edit: Callable[[dict[str, Any]], object], words: list[str]
) -> None:
    manifest, front_matter = release_of(golden_release)
    edit(front_matter)
    found = find_loading_faults(listing(manifest), card_of(front_matter), manifest)
    assert len(found) == len(words)
    for sentence, start in zip(found, words, strict=True):
        assert sentence.startswith(start)


def test_without_configs_the_splits_are_those_that_the_names_of_files_tell(golden_release: Any) -> None:
    manifest, front_matter = release_of(golden_release)
    del front_matter["configs"]
    assert find_loading_faults(listing(manifest), card_of(front_matter), manifest) == []
    retrieval, front_matter = release_of(golden_release, "rubq-retrieval")
    del front_matter["configs"]
    found = find_loading_faults(listing(retrieval), card_of(front_matter), retrieval)
    assert "the config corpus would not be loaded" in found


def test_a_card_whose_front_matter_the_library_finds_elsewhere_is_named(golden_release: Any) -> None:
    manifest, front_matter = release_of(golden_release)
    card = b"\n\n" + card_of(front_matter)
    [fault] = find_loading_faults(listing(manifest), card, manifest)
    assert fault.startswith("README.md: the Hub's library reads another front matter")


def test_a_missing_file_is_named(golden_release: Any) -> None:
    manifest, front_matter = release_of(golden_release)
    paths = [path for path in listing(manifest) if path != "data/train-00000-of-00001.parquet"]
    [fault] = find_loading_faults(paths, card_of(front_matter), manifest)
    assert fault == "README.md: load_dataset would fail: no files match the config 'default' (none for the split train)"


def test_class_names_in_the_card_are_numbers_in_the_manifest(golden_release: Any) -> None:
    manifest, front_matter = release_of(golden_release, "terra-pairclassification")
    features = front_matter["dataset_info"][0]["features"]
    for feature in features:
        if feature["name"] == "labels":
            feature["dtype"] = {"class_label": {"names": {"0": "no", "1": "yes"}}}
    assert find_loading_faults(listing(manifest), card_of(front_matter), manifest) == []
