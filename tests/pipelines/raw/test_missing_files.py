"""The raw files of several datasets: where each would come from, and which are missing: each once, with what gets it."""

import io
import json
import pickle
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from builders.catalogue import Definition
from builders.errors import MissingFile, SourceError
from pipelines import build, fetch
from pipelines.raw import locations
from pipelines.raw.download import DownloadRequest
from pipelines.raw.missing_files import (
    NeededFiles,
    download_page,
    find_buildable,
    find_missing_files,
    large_download,
    list_needs,
    missing_files_summary,
    plan_downloads,
    total_size,
)
from pipelines.raw.settings import RawSettings
from tests.support.raw_files import error_of, sha256, write
from tests.support.releases import NAMES, definition_of
from tests.support.terminals import Terminal


@pytest.fixture
def raw(tmp_path: Path) -> RawSettings:
    """An empty --raw-dir and an empty cache, offline."""
    (tmp_path / "raw").mkdir()
    return RawSettings(raw_dir=tmp_path / "raw", cache=tmp_path / "cache", offline=True, lock=tmp_path / "lock.json")


@pytest.fixture
def online(raw: RawSettings) -> RawSettings:
    """An empty cache, online, without --raw-dir."""
    return replace(raw, raw_dir=None, offline=False)


def datasets(*names: str) -> list[tuple[Definition, str]]:
    """Some datasets with their newest versions."""
    return [(definition, definition.dataset.newest) for definition in map(definition_of, names)]


def needs(*names: str) -> list[NeededFiles]:
    """All files of some datasets."""
    return list_needs(datasets(*names))


def run(command: Callable[[], int], raw: RawSettings, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run a command in this process with the folders of `raw`, offline."""
    folders = ["--offline", "--raw-dir", str(raw.raw_dir), "--cache", str(raw.cache)]
    monkeypatch.setattr("sys.argv", ["command", *arguments, *folders])
    return command()


def test_a_file_that_several_datasets_need_is_listed_once_with_all_of_them(raw: RawSettings) -> None:
    [file] = find_missing_files(needs("georeview-classification", "georeview-clustering-p2p"), raw)
    assert file.name == "geo_reviews/geo-reviews-dataset-2023.tskv"
    assert file.datasets == ("georeview-classification", "georeview-clustering-p2p")
    assert (file.reason, file.bytes) == ("offline", 378_730_064)


def test_an_archive_is_one_file_whatever_is_read_in_it(raw: RawSettings) -> None:
    [file] = find_missing_files(needs("cedr-classification"), raw)
    assert (file.name, file.members) == ("cedr/main.zip", ("main/train.jsonl", "main/test.jsonl"))


def test_the_reasons_tell_downloads_from_terms_and_from_files_fetched_by_hand(raw: RawSettings) -> None:
    names = ("terra-pairclassification", "instrusum-reranking", "genie-reranking")
    missing = {file.name: file for file in find_missing_files(needs(*names), raw)}
    assert {name: file.reason for name, file in missing.items()} == {
        "terra/TERRa.zip": "offline",
        "instrusum/human_eval.json": "gated",
        "genie/ratings.jsonl": "by hand",
    }
    terra = missing["terra/TERRa.zip"]
    assert (terra.bytes, terra.instructions, terra.datasets) == (907_346, None, ("terra-pairclassification",))
    assert terra.url == "https://russiansuperglue.com/tasks/download/TERRa"
    assert missing["instrusum/human_eval.json"].url == "https://huggingface.co/datasets/Salesforce/InstruSum"
    assert "JSON lines" in str(missing["genie/ratings.jsonl"].instructions)


def test_only_files_whose_download_failed_are_missing_where_files_may_be_downloaded(online: RawSettings) -> None:
    both = needs("terra-pairclassification", "cedr-classification")
    assert find_missing_files(both, online) == []
    [file] = find_missing_files(both, online, [MissingFile("cedr/main.zip", "unavailable")])
    assert (file.name, file.reason) == ("cedr/main.zip", "unavailable")


def test_a_file_that_is_here_is_not_missing(raw: RawSettings, tmp_path: Path) -> None:
    write(tmp_path / "raw" / "rubq" / "RuBQ_2.0_test.json", b"[]")
    assert [file.name for file in find_missing_files(needs("rubq-retrieval"), raw)] == ["rubq/RuBQ_2.0_paragraphs.json"]


def test_a_split_whose_files_are_here_could_be_built_alone(raw: RawSettings, tmp_path: Path) -> None:
    both = needs("beavertails-qa-classification", "genie-reranking")
    assert find_buildable(both, raw) == []
    path = write(tmp_path / "raw" / "beavertails" / "round0" / "30k" / "test.jsonl.gz", b"another file")
    assert find_buildable(both, raw) == [], "the build would refuse it"
    digests = {"sha256": sha256(path.read_bytes()), "bytes": None}
    source = both[0].definition.source
    files = {**source.files, "test": replace(source.files["test"], **digests)}
    both[0] = replace(both[0], definition=replace(both[0].definition, source=replace(source, files=files)))
    assert find_buildable(both, raw) == ["beavertails-qa-classification"]
    assert find_buildable([replace(both[0], splits=("test",))], raw) == []


def test_the_summary_names_the_sources_to_fetch_and_a_dataset_where_its_source_has_others(raw: RawSettings) -> None:
    page = "\n".join(missing_files_summary(needs("cedr-classification", "rarb-winogrande"), raw))
    assert page.startswith("the raw files that are missing:\n\nto download: 2 files, 4.1 MB\n")
    files, last = page.split("\n\n2 raw files are missing\n")
    assert "fetch" not in files
    folders = shlex.join(["--raw-dir", str(raw.raw_dir), "--cache", str(raw.cache)])
    assert " ".join(last.replace("\\\n", "").split()) == f"embedding-datasets fetch cedr rarb-winogrande {folders}"


def test_the_summary_of_the_catalogue_fits_the_page_and_names_every_dataset(raw: RawSettings) -> None:
    page = missing_files_summary(needs(*NAMES), replace(raw, raw_dir=None))
    assert [line for line in page if len(line) > 80 and " " in line.strip() and "--cache" not in "".join(page)] == []
    text = "\n".join(page)
    assert all(name in text for name in NAMES)
    assert text.count("massive/amazon-massive-dataset-1.1.tar.gz") == 1
    assert "docs-0.jsonl.gz ... miracl-corpus-v1.0-ru/docs-19.jsonl.gz" in text.replace("\n    ", " ")


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ([None], "1 file, size unknown"),
        ([1_000, 2_000], "2 files, 3 KB"),
        ([1_000, None, None], "3 files, at least 1 KB (2 of unknown size)"),
    ],
)
def test_sizes_are_added_as_far_as_they_are_known(sizes: list[int | None], text: str) -> None:
    assert total_size(sizes) == text


def test_an_error_keeps_its_missing_file_on_the_way_between_processes() -> None:
    error = SourceError("x not found").lacking("demo/x", "offline")
    assert pickle.loads(pickle.dumps(error)).missing == MissingFile("demo/x", "offline")


def test_a_build_of_several_datasets_gives_a_line_to_each_and_lists_the_files_at_the_end(
    raw: RawSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ("georeview-classification", "georeview-clustering-p2p", "genie-reranking")
    assert run(build.main, raw, monkeypatch, *names, "--output", str(tmp_path / "outputs")) == 3
    errors, by_hand, here, place, summary, _ = capfd.readouterr().err.split("\n\n")
    said = [f"error: {name}@2.0.0: a raw file is missing, see below" for name in names]
    assert errors.splitlines() == [*said, "the raw files that are missing:"]
    assert by_hand.startswith("to be fetched by hand\n  genie/")
    assert here.startswith("to download: 1 file, 378.7 MB\n  geo_reviews/geo-reviews-dataset-2023.tskv  378.7 MB\n")
    assert place.startswith("files that you have: ")
    assert summary.startswith(
        "3 datasets: 3 failed: 2 raw files are missing\n    embedding-datasets fetch geo_reviews "
    )


def test_one_dataset_alone_gets_the_whole_error(
    raw: RawSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(build.main, raw, monkeypatch, "cedr", "--output", str(tmp_path / "outputs")) == 3
    text = capfd.readouterr().err
    assert text.startswith("error: cedr/main.zip not found, and --offline is set\n  where: ")
    assert "see below" not in text


def test_a_fetch_of_several_files_lists_the_missing_ones_once(
    raw: RawSettings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(fetch.main, raw, monkeypatch, "cedr", "rubq", "genie") == 3
    text = capfd.readouterr().err
    assert "\n\nto download: 3 files, at least 693 KB (2 of unknown size)\n" in text
    assert "\n\n4 raw files are missing\n    embedding-datasets fetch cedr rubq " in text
    assert text.count("RuBQ_2.0_test.json") == 1


def test_a_dry_run_lists_the_missing_files_once(
    raw: RawSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(build.main, raw, monkeypatch, "rubq", "--dry-run", "--output", str(tmp_path / "outputs")) == 3
    out, err = capfd.readouterr()
    assert out.count("  missing   RuBQ_2.0_test.json\n") == 2
    assert "\n\n2 raw files are missing\n    embedding-datasets fetch rubq " in err
    assert err.count("RuBQ_2.0_test.json") == 1


# What there is to download, as `fetch --dry-run` prints it


def test_the_files_of_several_datasets_are_planned_once_with_origin_and_size(raw: RawSettings, tmp_path: Path) -> None:
    local = write(tmp_path / "raw" / "rubq" / "RuBQ_2.0_test.json", b"[]")
    names = ("rubq-retrieval", "rubq-reranking", "cedr-classification", "instrusum-reranking", "genie-reranking")
    plans = {plan.name: plan for plan in plan_downloads(needs(*names), replace(raw, offline=False))}
    assert {name: plan.origin for name, plan in plans.items()} == {
        "rubq/RuBQ_2.0_test.json": "raw-dir",
        "rubq/RuBQ_2.0_paragraphs.json": "download",
        "cedr/main.zip": "download",
        "instrusum/human_eval.json": "download",
        "genie/ratings.jsonl": "by-hand",
    }
    assert plans["rubq/RuBQ_2.0_test.json"].where == str(local)
    assert plans["cedr/main.zip"].bytes == 693_026
    assert plans["instrusum/human_eval.json"].gated


def test_an_extracted_member_is_here_and_its_archive_is_still_to_download_for_the_others(
    raw: RawSettings, tmp_path: Path
) -> None:
    write(tmp_path / "raw" / "cedr" / "main" / "test.jsonl", b"")
    plans = plan_downloads(needs("cedr-classification"), replace(raw, offline=False))
    assert [(plan.name, plan.origin) for plan in plans] == [
        ("cedr/main.zip", "download"),
        ("cedr/main/test.jsonl", "raw-dir"),
    ]


def test_a_series_of_files_is_named_by_its_ends_and_no_address_is_broken(tmp_path: Path) -> None:
    raw = RawSettings(raw_dir=None, cache=tmp_path, lock=tmp_path / "lock.json")
    plans = plan_downloads(needs("miracl-retrieval-ru"), raw)
    shown = download_page(plans)
    series = "  miracl-corpus-v1.0-ru/docs-0.jsonl.gz ... docs-19.jsonl.gz  20 files, 1.6 GB  download"
    first = next(plan.where for plan in plans if plan.name.endswith("docs-0.jsonl.gz"))
    assert shown[shown.index(series) + 1] == f"    {first} ..."
    assert {f"    {plan.where}" for plan in plans if ".tsv" in plan.name} <= set(shown)
    assert len(shown) < 12


def test_fetch_dry_run_prints_the_totals_of_each_source_and_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr("sys.argv", ["fetch", "cedr", "geo", "rubq", "--dry-run", "--cache", str(cache)])
    assert fetch.main() == 0
    out = capfd.readouterr().out
    assert out.startswith(
        "cedr: to download 1 file, 693 KB\n  main.zip  693 KB  download\n    https://sagteam.ru/cedr/main.zip\n"
    )
    assert out.endswith(
        "\ntotal: to download 4 files, at least 379.4 MB (2 of unknown size)\n"
        "time: about 38 s to download at 10 MB a second\n"
    )
    assert not cache.exists()


def test_fetch_dry_run_fails_as_fetching_would_where_a_file_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["genie", "terra", "--dry-run", "--json", "--cache", str(tmp_path / "cache")]
    monkeypatch.setattr("sys.argv", ["fetch", *arguments])
    assert fetch.main() == 3
    out, err = capfd.readouterr()
    terra, genie = (json.loads(line) for line in out.splitlines())
    assert (genie["name"], genie["origin"]) == ("genie/ratings.jsonl", "by-hand")
    assert (terra["name"], terra["bytes"]) == ("terra/TERRa.zip", 907_346)
    assert err.startswith("the raw files that are missing:\n\nto be fetched by hand\n  genie/ratings.jsonl\n")
    assert err.endswith("\n\n1 raw file is missing\n")


def test_a_dry_run_says_what_is_made_here_and_whose_terms_come_first(online: RawSettings) -> None:
    page = download_page(plan_downloads(needs("query2doc-contrastive", "lmsys-reranking"), online))
    assert "  benchmark-index.parquet  size unknown  made here" in page
    assert " ".join(page[-3:]).endswith(
        "at 10 MB a second; what is made here:       embedding-datasets fetch NAME... --plan "
        "accept the terms at https://huggingface.co/datasets/lmsys/chatbot_arena_conversations"
    )


# A question before a large download


def test_what_is_large_or_of_unknown_size_is_asked_for_and_nothing_else(online: RawSettings) -> None:
    assert large_download(datasets("cedr-classification", "genie-reranking"), None, online) == ""
    assert large_download(datasets("habr-contrastive"), None, online) == "to download: 1 file, 3.5 GB, about 5 min 49 s"
    unknown = large_download(datasets("rubq-retrieval"), None, online)
    assert unknown.endswith("; of unknown size: rubq/RuBQ_2.0_test.json, rubq/RuBQ_2.0_paragraphs.json")
    assert large_download(datasets("rubq-retrieval"), None, replace(online, offline=True)) == ""


@pytest.mark.parametrize(
    ("keyboard", "typed", "options", "goes_on"),
    [
        (Terminal, "y\n", (), True),
        (Terminal, "n\n", (), False),
        (Terminal, "\n", (), False),
        (Terminal, "", (), False),
        (Terminal, "n\n", ("--yes",), True),
        (io.StringIO, "n\n", (), True),
    ],
    ids=["yes", "no", "Enter", "end of input", "--yes", "no terminal"],
)
@pytest.mark.parametrize("command", [fetch, build])
def test_a_person_at_a_terminal_is_asked_before_a_large_download_and_a_script_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: ModuleType,
    keyboard: type[io.StringIO],
    typed: str,
    options: tuple[str, ...],
    goes_on: bool,
) -> None:
    tried: list[str] = []

    def download(request: DownloadRequest, *_: object) -> None:
        tried.append(request.name)
        raise SourceError("tried").lacking(request.name, "unavailable")

    monkeypatch.setattr(locations, "download_file", download)
    monkeypatch.setattr("sys.stdin", keyboard(typed))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    output = ["--output", str(tmp_path)] if command is build else []
    monkeypatch.setattr("sys.argv", ["command", "terra", "esnli", "habr", "--cache", str(tmp_path), *output, *options])
    if goes_on:
        assert command.main() == 3
    else:
        assert "nothing was downloaded" in str(error_of(command.main))
    assert bool(tried) == goes_on
    assert "to download: 6 files, 3.7 GB, about 6 min 10 s" in capsys.readouterr().err
