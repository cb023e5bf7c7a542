"""Which data files of a folder are which table, by the front matter or by their names. Data files in each format, and
errors that name the file that cannot be read.
"""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import DatasetError, SourceError
from pipelines.checking.data_files import resolve_tables
from pipelines.checking.formats import extension, scan_files, unreadable_file
from tests.support.foreign import finding_counts, report_of, reports_of, write_card, write_json_lines
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test.parquet", ".parquet"),
        ("TEST.JSONL", ".jsonl"),
        ("test.jsonl.gz", ".jsonl"),
        ("test.csv.gz", ".csv"),
        ("test.json.gz", None),
        ("test.parquet.gz", None),
        ("test.txt", None),
        ("parquet", None),
    ],
)
def test_a_data_file_is_recognised_by_its_extension(name: str, expected: str | None) -> None:
    assert extension(name) == expected


def truncated_parquet(dataset_dir: Path) -> None:
    write_dataset(dataset_dir, clean_tables("STS"))
    path = dataset_dir / "data" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def damaged_page(dataset_dir: Path) -> None:
    """Rows that cannot be read although the footer can."""
    texts = pl.DataFrame(
        {"sentences": [f"sentence number {number}" for number in range(5000)], "labels": ["a", "b"] * 2500}
    )
    path = dataset_dir / "data" / "test.parquet"
    path.parent.mkdir(parents=True)
    texts.write_parquet(path, compression="zstd")
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 2000 + data[2004:])


def truncated_line(dataset_dir: Path) -> None:
    write_json_lines(dataset_dir / "test.jsonl", {"sentences": "one", "labels": 1}, {"sentences": "two", "labels": 2})
    with (dataset_dir / "test.jsonl").open("a") as file:
        file.write('{"sentences": "thr')


def lfs_pointer(dataset_dir: Path) -> None:
    (dataset_dir / "data").mkdir(parents=True)
    (dataset_dir / "data" / "test.parquet").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    )


def no_matching_files(dataset_dir: Path) -> None:
    write_json_lines(dataset_dir / "test.jsonl", {"sentences": "one", "labels": 1})
    write_card(dataset_dir, "configs:\n- config_name: default\n  data_files: [{split: test, path: 'data/test-*'}]")


def invalid_yaml(dataset_dir: Path) -> None:
    dataset_dir.mkdir()
    write_card(dataset_dir, "configs: [")


@pytest.mark.parametrize(
    ("make_dataset", "words"),
    [
        (lambda folder: folder.mkdir(), ["no tables found", "0 data files", "configs"]),
        (
            truncated_parquet,
            ["cannot read the file", "test-00000-of-00001.parquet", "a Parquet file of", "expected: Parquet"],
        ),
        (damaged_page, ["cannot read the file", "test.parquet", "expected: Parquet"]),
        (truncated_line, ["cannot read the file", "test.jsonl, line 3", "JSON"]),
        (lambda folder: write_json_lines(folder / "test.jsonl"), ["test.jsonl", "an empty file of 0 bytes"]),
        (lfs_pointer, ["a git-lfs pointer", "test.parquet"]),
        (no_matching_files, ["no files match the config 'default'", "none for the split test"]),
        (invalid_yaml, ["invalid YAML in the front matter"]),
    ],
    ids=[
        "no files",
        "truncated Parquet",
        "damaged page",
        "truncated line",
        "empty file",
        "LFS pointer",
        "no matching files",
        "invalid YAML",
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(
    make_dataset: Any, words: list[str], tmp_path: Path
) -> None:
    make_dataset(tmp_path / "set")
    with pytest.raises(DatasetError) as caught:
        reports_of(tmp_path / "set")
    for word in words:
        assert word in str(caught.value)
    assert caught.value.exit_code == 3


def test_lists_of_unequal_lengths_are_an_error(tmp_path: Path) -> None:
    table = pl.DataFrame({"sentences": [["one", "two"]], "labels": [["a", "b", "c"]]})
    with pytest.raises(SourceError, match="cannot read the rows of a table") as caught:
        report_of(write_dataset(tmp_path, {"default": {"test": table}}))
    assert "test-00000-of-00001.parquet" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        pl.exceptions.ComputeError("IO error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_for_temporary_files_is_not_the_fault_of_a_file_that_can_be_read(
    error: Exception, tmp_path: Path
) -> None:
    (tmp_path / "test.csv").write_text("sentences,labels\nAnts bite.,a\n")
    raised = unreadable_file([tmp_path / "test.csv"], error)
    assert raised.where == tempfile.gettempdir()
    assert raised.found == "No space left on device"
    assert "TMPDIR" in str(raised)


def test_files_of_one_table_in_several_formats_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    write_json_lines(tmp_path / "b.jsonl", {"x": 1})
    with pytest.raises(SourceError, match="the files of one table have several formats") as caught:
        scan_files([tmp_path / "a.csv", tmp_path / "b.jsonl"])
    assert caught.value.found == "CSV, JSON lines"


def test_the_text_na_in_a_csv_is_null_as_it_is_to_datasets(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('sentences,labels\nNA,a\n"NA, or not",b\n')
    assert finding_counts(report_of(tmp_path)) == [("null_text", "default/test/sentences", 1)]
