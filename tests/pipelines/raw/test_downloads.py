"""What there is to download, as `fetch --dry-run` says it; nothing is downloaded."""

import json
from pathlib import Path

import pytest

from builders.catalogue import Definition
from pipelines import fetch
from pipelines.raw.downloads import download_page, plan_downloads
from pipelines.raw.settings import RawSettings
from tests.support.raw_files import write
from tests.support.releases import definition_of


def newest(*names: str) -> list[tuple[Definition, str]]:
    """The newest versions of some datasets."""
    return [(definition, definition.dataset.newest) for definition in map(definition_of, names)]


def test_the_files_of_several_datasets_are_planned_once_with_origin_and_size(tmp_path: Path) -> None:
    local = write(tmp_path / "raw" / "rubq" / "RuBQ_2.0_test.json", b"[]")
    raw = RawSettings(raw_dir=tmp_path / "raw", cache=tmp_path / "cache", lock=tmp_path / "lock.json")
    names = ("rubq-retrieval", "rubq-reranking", "cedr-classification", "instrusum-reranking", "genie-reranking")
    plans = {plan.name: plan for plan in plan_downloads(newest(*names), raw)}
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


def test_an_extracted_member_is_here_and_its_archive_is_still_to_download_for_the_others(tmp_path: Path) -> None:
    write(tmp_path / "raw" / "cedr" / "main" / "test.jsonl", b"")
    raw = RawSettings(raw_dir=tmp_path / "raw", cache=tmp_path / "cache", lock=tmp_path / "lock.json")
    plans = plan_downloads(newest("cedr-classification"), raw)
    assert [(plan.name, plan.origin) for plan in plans] == [
        ("cedr/main.zip", "download"),
        ("cedr/main/test.jsonl", "raw-dir"),
    ]


def test_on_a_terminal_names_and_addresses_are_folded_behind_a_slash_and_in_a_pipe_they_stay_whole(
    tmp_path: Path,
) -> None:
    raw = RawSettings(raw_dir=None, cache=tmp_path, lock=tmp_path / "lock.json")
    plans = plan_downloads(newest("rubq-retrieval", "lmsys-reranking"), raw)
    shown, piped = download_page(plans, width=80), download_page(plans)
    assert max(map(len, shown)) <= 80
    assert max(map(len, piped)) > 80
    assert {f"    {plan.where}" for plan in plans} <= set(piped)
    assert "".join(shown).replace(" ", "") == "".join(piped).replace(" ", "")
    begin = next(number for number, line in enumerate(shown) if "raw.githubusercontent.com" in line)
    assert shown[begin].endswith("/")
    assert shown[begin + 1].startswith("    ")


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
    assert out.endswith("\ntotal: to download 4 files, 379.4 MB and 2 of unknown size\n")
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
    assert err.startswith("1 raw file is missing\n\nto be fetched by hand\n  genie/ratings.jsonl\n")
