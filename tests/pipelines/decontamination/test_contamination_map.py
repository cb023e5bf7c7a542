"""The map of the texts that our own releases share, and its page in docs/."""

from builders import catalogue
from pipelines.decontamination.contamination_map import map_markdown
from pipelines.release.shared_texts import read_map
from tests.support.paths import ROOT


def test_the_page_is_written_from_the_map() -> None:
    page = (ROOT / "docs" / "contamination-map.md").read_text("utf-8")
    assert page == map_markdown(read_map()), "write it again: map_markdown(read_map())"


def test_the_map_is_of_releases_and_of_raw_files_of_the_catalogue() -> None:
    compared = read_map()["datasets"]
    assert {one["dataset"] for one in compared if one["content_sha256"]} <= set(catalogue.entries())
    assert {one["dataset"] for one in compared if not one["content_sha256"]} <= {
        entry.source for entry in catalogue.entries().values()
    }


def test_the_page_lists_what_is_shared_by_kind() -> None:
    side = {"dataset": "one", "version": "1.0.0", "config": "default", "split": "test", "column": "text"}
    other = side | {"dataset": "two", "config": "queries"}
    page = map_markdown({"datasets": [], "shared": [{"of": side, "in": other, "kinds": {"folded": 2}}]})
    assert "| one 1.0.0, test text | two 1.0.0, queries/test text | 0 | 2 | 0 | 0 |" in page
