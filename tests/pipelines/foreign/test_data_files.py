"""Which data files of a folder are which table, by the front matter or by their names."""

from typing import Any

import pytest

from builders.errors import SourceError
from pipelines.checking.data_files import resolve_tables


@pytest.mark.parametrize(
    ("paths", "front_matter", "expected"),
    [
        (["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"], {},
         {"default": {"test": 1, "train": 2}}),
        (["train.csv", "test.csv", "README.md", ".gitattributes", "script.py", "dataset_infos.json"], {},
         {"default": {"test": 1, "train": 1}}),
        (["default/test/0000.parquet", "default/partial-train/0000.parquet"], {}, {"default": {"test": 1}}),
        (["en/train.jsonl.gz", "en/test.jsonl.gz", "de/test.jsonl"], {},
         {"de": {"test": 1}, "en": {"test": 1, "train": 1}}),
        (["corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"], {},
         {"corpus": {"corpus": 1}, "qrels": {"dev": 1}, "queries": {"queries": 1}}),
        (["test/a.parquet", "test/b.parquet"], {}, {"default": {"test": 2}}),
        (["a/x.parquet", "a/deep/y.parquet"], {"configs": [{"config_name": "c", "data_files": "a/**"}]}, {"c": {"train": 2}}),
        (["a/x.parquet", "a/deep/y.parquet"], {"configs": [{"config_name": "c", "data_files": ["a/*"]}]}, {"c": {"train": 1}}),
        (["en/test-1.csv", "en/test-2.csv"], {"configs": [{"config_name": "en", "data_dir": "en"}]}, {"en": {"test": 2}}),
    ],
)  # fmt: skip
def test_files_belong_to_the_tables_that_the_card_or_their_names_say(
    paths: list[str], front_matter: dict[str, Any], expected: dict[str, dict[str, int]]
) -> None:
    tables = resolve_tables(paths, front_matter, "here")
    counts = {config: {split: len(files) for split, files in splits.items()} for config, splits in tables.items()}
    assert counts == expected


def test_no_path_leads_out_of_the_folder() -> None:
    front_matter = {"configs": [{"config_name": "c", "data_files": "**"}]}
    paths = ["../x.parquet", "/etc/y.parquet", "a/../../z.csv", "a\\b.csv", "good/t.csv"]
    assert resolve_tables(paths, front_matter, "here") == {"c": {"train": ["good/t.csv"]}}


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.csv", ["t.csv"]),
        ("**", ["a/b/c/t.csv", "a/b/t.csv", "a/t.csv", "t.csv"]),
        ("**/t.csv", ["a/b/c/t.csv", "a/b/t.csv", "a/t.csv", "t.csv"]),
        ("a/**", ["a/b/c/t.csv", "a/b/t.csv", "a/t.csv"]),
        ("a/*/t.csv", ["a/b/t.csv"]),
        ("a/**/c/*", ["a/b/c/t.csv"]),
        ("./a/t.csv", ["a/t.csv"]),
        ("a/[!x]/t.*", ["a/b/t.csv"]),
        ("**/b/**/t.csv", ["a/b/c/t.csv", "a/b/t.csv"]),
        ("**/*b*/t*.csv", ["a/b/t.csv"]),
    ],
)
def test_one_asterisk_matches_within_a_folder_and_two_across_folders(pattern: str, matching: list[str]) -> None:
    paths = ["t.csv", "a/t.csv", "a/b/t.csv", "a/b/c/t.csv"]
    front_matter = {"configs": [{"config_name": "c", "data_files": pattern}]}
    assert resolve_tables(paths, front_matter, "here") == {"c": {"train": matching}}


@pytest.mark.parametrize(
    ("configs", "what"),
    [
        ("en", "malformed `configs`"),
        ([{"data_files": "*"}], "malformed `configs`"),
        (["en"], "malformed `configs`"),
        ([{"config_name": "en", "data_files": [{"split": "test"}]}], "malformed `data_files`"),
        ([{"config_name": "en", "data_files": [{"path": "test.csv"}]}], "malformed `data_files`"),
        ([{"config_name": "en", "data_files": [{"split": "test", "path": [3]}]}], "malformed `data_files`"),
        ([{"config_name": "en", "data_files": [3]}], "malformed `data_files`"),
        ([{"config_name": "en", "data_files": "de/*"}], "no files match the config 'en'"),
        ([{"config_name": "en", "data_dir": "de"}], "no files match the config 'en'"),
    ],
)
def test_configs_that_are_malformed_or_match_no_file_are_an_error(configs: Any, what: str) -> None:
    with pytest.raises(SourceError, match=what) as caught:
        resolve_tables(["en/test.csv"], {"configs": configs}, "here")
    assert caught.value.where == "here, README.md"


@pytest.mark.parametrize(
    ("patterns", "files", "found"),
    [
        (["x" * 1001], 1, "a pattern of 1,001 characters"),
        (["*"] * 20_001, 1, "20,001 patterns"),
        (["*"] * 20_000, 1001, "20,000 patterns for 1,001 files"),
        (["**/a/" * 30 + "b"], 1, "a pattern with 30 `**` and further `*` in a name"),
        (["t*" * 30], 1, "a pattern with 29 `**` and further `*` in a name"),
        (["**/*a*/*b*"] * 800, 10_000, "800 patterns for 10,000 files"),
    ],
    ids=["long", "many", "many for the files", "across folders", "within a name", "many with several asterisks"],
)
def test_patterns_that_would_take_too_long_are_an_error(patterns: list[str], files: int, found: str) -> None:
    front_matter = {"configs": [{"config_name": "default", "data_files": [{"split": "test", "path": patterns}]}]}
    with pytest.raises(SourceError, match="too many patterns") as caught:
        resolve_tables([f"{number}.parquet" for number in range(files)], front_matter, "here")
    assert caught.value.found == found


def test_an_unknown_subset_is_an_error_that_lists_the_configs() -> None:
    with pytest.raises(SourceError, match="no subset 'fr'") as caught:
        resolve_tables(["de/test.csv", "ru-corpus/test.csv"], {}, "here", ["fr"])
    assert caught.value.found == "configs: de, ru-corpus"
    assert resolve_tables(["de/test.csv", "ru-corpus/test.csv"], {}, "here", ["ru"]).keys() == {"ru-corpus"}
