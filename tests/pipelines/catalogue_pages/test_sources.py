"""What the sources need: their raw files, who may have them, and the pages that say so."""

import json
from pathlib import Path

import pytest

from pipelines.catalogue_pages.sources import (
    MEASURED_BUILDS,
    SourceNeed,
    describe_sources,
    group_totals,
    render_page,
    sources_page,
)
from pipelines.raw.pins import LOCK_FILE
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of

PAGE = ROOT / "docs" / "sources.md"


def needs(*names: str) -> list[SourceNeed]:
    return describe_sources([definition_of(name) for name in names], (LOCK_FILE,))


def page(*names: str) -> str:
    return sources_page([definition_of(name) for name in names], (LOCK_FILE,))


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "python -m pipelines.catalogue_pages.sources > docs/sources.md"


def test_an_archive_is_one_file_with_the_digest_of_its_members() -> None:
    [source] = needs("cedr-classification")
    [file] = source.files
    assert (file.name, file.bytes, file.access, file.digest) == ("main.zip", 693_026, "open", True)


def test_gated_files_and_files_fetched_by_hand_are_told_from_open_ones() -> None:
    access = {source.name: {file.access for file in source.files} for source in needs(*NAMES)}
    assert access["lmsys_arena"] == {"gated"}
    assert access["par3"] == {"by hand"}
    assert access["sts22"] == {"open", "by hand"}
    assert access["rubq"] == {"open"}


def test_a_dataset_needs_only_its_own_files_of_a_source() -> None:
    [source] = needs("piqa-retrieval")
    assert [file.name for file in source.files] == ["valid.jsonl", "valid-labels.lst"]


def test_totals_count_every_file_once_and_say_how_many_sizes_are_unknown() -> None:
    names = ("cedr-classification", "georeview-classification", "georeview-clustering-p2p", "instrusum-reranking")
    totals = group_totals([definition_of(name) for name in names], (LOCK_FILE,))
    assert (totals["rumteb"].files, totals["rumteb"].bytes, totals["rumteb"].unknown) == (2, 693_026 + 378_730_064, 0)
    assert (totals["ateb"].files, totals["ateb"].unknown, totals["ateb"].gated) == (1, 1, 1)
    assert (totals["sum"].datasets, totals["sum"].sources, totals["sum"].files) == (4, 3, 3)


def test_builds_were_measured_for_versions_that_exist() -> None:
    for name, build in MEASURED_BUILDS.items():
        assert build.version in definition_of(name).dataset.versions
        assert build.raw.keys() <= {file.name for file in definition_of(name).source.files.values()}


def test_the_page_for_the_terminal_fits_80_columns_and_folds_files_that_look_alike() -> None:
    text = page(*NAMES)
    assert max(map(len, text.splitlines())) <= 80
    assert "s-*.jsonl.gz (20 files)" in text
    assert "*/train.json (18 files)" in text
    assert text.count("\nmiracl: ") == 1


def test_show_sources_prints_the_page_or_an_object_a_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path))
    assert "\n  TERRa.zip" + " " * 41 + "907.3 KB  open     known\n" in run("show", "--sources", "terra").stdout
    cedr, rubq = map(json.loads, run("show", "--sources", "rubq", "cedr", "--json").stdout.splitlines())
    assert (rubq["name"], len(rubq["files"])) == ("rubq", 2)
    assert cedr["files"] == [
        {
            "name": "main.zip",
            "bytes": 693_026,
            "access": "open",
            "digest": True,
            "url": "https://sagteam.ru/cedr/main.zip",
        }
    ]


def test_sources_whose_build_was_never_measured_are_said_to_be_so() -> None:
    unmeasured, measured = (" ".join(page(name).split()) for name in ("ru-hnp-contrastive", "cedr-classification"))
    assert "no build from the complete real files was measured yet; docs/performance.md has estimates" in unmeasured
    assert "measured on 2 cores" in measured
    assert "was measured yet" not in measured
    assert "of 1 sources, no build" in " ".join(page("ru-hnp-contrastive", "cedr-classification").split())
