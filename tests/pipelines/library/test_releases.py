"""Where a release is looked for, when it is built, and what a user reads where it cannot be."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import embedding_datasets as ed
from builders.errors import ReleaseError, SourceError, UsageError
from pipelines.library import releases
from pipelines.release.folder import read_manifest
from tests.support.releases import tree

TERRA = "terra-pairclassification"
FILE = "data/dev-00000-of-00001.parquet"


@pytest.mark.parametrize("place", ["outputs", "cache", "named"])
def test_a_built_release_is_loaded_from_outputs_from_the_cache_or_from_the_named_folder(
    place: str, cache: Path, copy_terra: Callable[[Path], Path]
) -> None:
    folder = {"outputs": Path("outputs"), "cache": cache / "releases", "named": Path("named")}[place]
    expected = copy_terra(folder.absolute())
    Path("outputs").mkdir(exist_ok=True)  # what it lacks may be in the cache
    before = tree(expected)
    assert ed.load("terra", offline=True, output="named" if place == "named" else None).path == expected
    assert tree(expected) == before


def test_a_built_release_is_loaded_without_the_code_of_a_build(
    cache: Path, copy_terra: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_terra(cache / "releases")
    monkeypatch.setitem(sys.modules, "pipelines.make", None)  # importing it would fail
    assert ed.load("terra").name == TERRA


def test_a_sample_lies_apart_and_neither_it_nor_a_complete_release_is_taken_for_the_other(
    cache: Path, copy_terra: Callable[[Path], Path]
) -> None:
    sample = ed.load("terra", sample=True)
    assert sample.path == cache / "samples" / TERRA / "1.0.0"
    assert sample.manifest.sample
    with pytest.raises(SourceError, match="cannot be built: 1 raw file is missing"):
        ed.load("terra", offline=True)
    complete = copy_terra(Path("outputs").absolute())
    assert ed.load("terra", sample=True).path.is_relative_to(cache / "samples")
    assert ed.load("terra", offline=True).path == complete


def test_what_the_command_left_as_a_sample_in_outputs_is_replaced_by_the_complete_release(
    cache: Path, raw_terra: Path
) -> None:
    [sample] = ed.build("terra", offline=True, sample=True, output="outputs")
    release = ed.load("terra", raw_dir=raw_terra, offline=True)
    assert release.path == sample.path
    assert release.manifest.complete


def test_a_part_and_the_first_records_lie_apart_too(cache: Path, raw_terra: Path) -> None:
    [first] = ed.build("terra", offline=True, limit=2, raw_dir=raw_terra)
    assert first.path.parent.parent == cache / "parts"
    assert first.manifest.limit == 2
    assert releases._settings(None, splits=("test",), raw_dir=None, offline=True).output == cache / "parts"
    named = releases._settings("named", splits=("test",), raw_dir=None, offline=True)
    assert named.output == Path("named").absolute()


def test_without_a_release_it_is_built_in_outputs_where_that_folder_is_there_else_in_the_cache(
    cache: Path, raw_terra: Path
) -> None:
    assert ed.load("terra", raw_dir=raw_terra).path == cache / "releases" / TERRA / "1.0.0"
    Path("outputs").mkdir()
    assert ed.load("terra", raw_dir=raw_terra).path == cache / "releases" / TERRA / "1.0.0", "it is there already"
    [built] = ed.build("terra", offline=True, raw_dir=raw_terra)
    assert built.path == Path("outputs").absolute() / TERRA / "1.0.0"


def test_a_release_without_one_of_its_files_is_built_again(
    cache: Path, raw_terra: Path, copy_terra: Callable[[Path], Path]
) -> None:
    (copy_terra(cache / "releases") / FILE).unlink()
    release = ed.load("terra", raw_dir=raw_terra)
    assert release.tables["default"]["dev"].height == release.manifest.rows["default/dev"]


def test_a_damaged_release_that_cannot_be_built_again_is_an_error_that_names_the_file(
    cache: Path, copy_terra: Callable[[Path], Path]
) -> None:
    release_dir = copy_terra(cache / "releases")
    (release_dir / FILE).write_bytes(b"PAR1")
    with pytest.raises(SourceError) as raised:
        ed.load("terra", offline=True)
    assert str(release_dir) in str(raised.value.found)
    assert f"{FILE} has 4 bytes, not " in str(raised.value.found)


def test_all_missing_raw_files_are_listed_with_how_to_get_each(cache: Path) -> None:
    with pytest.raises(SourceError) as raised:
        ed.load("rubq-retrieval", offline=True)
    assert raised.value.what == "rubq-retrieval@2.0.0 cannot be built: 2 raw files are missing"
    lines = str(raised.value.todo).splitlines()
    assert [line.split(":")[0].strip() for line in lines[:2]] == [
        "rubq/RuBQ_2.0_test.json",
        "rubq/RuBQ_2.0_paragraphs.json",
    ]
    assert all("https://raw.githubusercontent.com/" in line and str(cache) in line for line in lines[:2])
    assert "embedding-datasets fetch rubq" in lines[2]
    assert 'load("rubq-retrieval@2.0.0", sample=True)' in lines[3]


def test_a_missing_archive_is_listed_once_with_the_files_that_are_read_in_it(cache: Path) -> None:
    with pytest.raises(SourceError, match="1 raw file is missing") as raised:
        ed.load("cedr", offline=True)
    archive, *_ = str(raised.value.todo).splitlines()
    assert archive.startswith(f"cedr/main.zip: https://sagteam.ru/cedr/main.zip; put it at {cache}")
    assert archive.endswith("or, extracted, below raw_dir: cedr/main/train.jsonl, cedr/main/test.jsonl")


@pytest.mark.parametrize(
    ("name", "page"), [("par3", "README of https://"), ("lmsys", "/lmsys/chatbot_arena_conversations;")]
)
def test_a_missing_file_behind_terms_or_fetched_by_hand_comes_with_the_page_for_it(
    name: str, page: str, cache: Path
) -> None:
    with pytest.raises(SourceError, match="1 raw file is missing") as raised:
        ed.load(name, offline=True)
    assert page in str(raised.value.todo)


def test_a_failed_download_names_the_files_that_are_still_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SourceError("download failed", where="https://example.org", todo="run it again")

    monkeypatch.setattr("pipelines.make.make", fail)
    with pytest.raises(SourceError, match="download failed") as raised:
        ed.load("rubq-retrieval")
    first, *others = str(raised.value.todo).splitlines()
    assert first == "run it again"
    assert ["RuBQ_2.0_test.json" in others[0], "RuBQ_2.0_paragraphs.json" in others[1]] == [True, True]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rubq", "rubq-reranking, rubq-retrieval"),
        ("rumteb", "means 23 datasets"),
        ("ceder", "did you mean 'cedr'"),
        ("cedr@9.0.0", "has no version '9.0.0'"),
    ],
)
def test_a_name_that_is_not_one_dataset_is_refused(name: str, text: str, cache: Path) -> None:
    with pytest.raises(UsageError) as raised:
        ed.load(name, sample=True)
    assert text in str(raised.value)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_an_error_that_says_what_to_do(cache: Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(ReleaseError, match="EMBEDDING_DATASETS_CACHE") as raised:
        ed.load("terra", sample=True)
    assert str(cache) in str(raised.value.where)


def test_a_folder_of_raw_files_that_does_not_exist_is_an_error(cache: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        ed.load("terra", raw_dir="nowhere")


def test_two_loads_at_once_give_one_release(cache: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: ed.load("terra", sample=True), range(2))
    assert first == second
    assert read_manifest(first.path) == first.manifest
    assert [path.name for path in (cache / "samples").iterdir()] == [TERRA], "no lock, no leftovers"


def test_a_build_of_a_source_returns_all_of_its_datasets(cache: Path) -> None:
    assert [release.name for release in ed.build("rubq", sample=True)] == ["rubq-reranking", "rubq-retrieval"]
    with pytest.raises(UsageError, match="limit is 0"):
        ed.build("terra", offline=True, limit=0)


@pytest.mark.parametrize("call", [ed.load, ed.build, ed.catalogue])
@pytest.mark.parametrize(
    ("name", "found"),
    [(None, "None"), ("", "''"), (["cedr"], "a value of the type list"), (3, "a value of the type int")],
)
def test_what_is_not_a_name_is_a_usage_error_in_words(call: Callable[[Any], object], name: object, found: str) -> None:
    with pytest.raises(UsageError, match="not the name of a dataset") as raised:
        call(name)
    assert raised.value.found == found


@pytest.mark.parametrize("call", [ed.check, lambda data: ed.diff(data, data)])
def test_nothing_is_not_a_dataset(call: Callable[[Any], object]) -> None:
    with pytest.raises(UsageError, match="not a dataset"):
        call(None)
