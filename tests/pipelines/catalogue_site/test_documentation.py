"""The documentation beside the catalogue: all pages in order, no link that leads nowhere, a clear error without zensical."""

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from pipelines.catalogue_site import documentation
from pipelines.catalogue_site.documentation import CONFIG, write_documentation
from pipelines.make import BuildResult
from tests.support.paths import ROOT
from tests.support.processes import run

NAV = tomllib.loads((ROOT / CONFIG).read_text("utf-8"))["project"]["nav"]


def pages_of(nav: list[dict[str, str | list[dict[str, str]]]]) -> list[str]:
    """The pages of the navigation, in its order."""
    values = [value for entry in nav for value in entry.values()]
    return [page for value in values for page in ([value] if isinstance(value, str) else pages_of(value))]


def test_the_pages_are_in_the_order_of_the_list_of_all_pages() -> None:
    links = re.findall(r"\]\(([^)]+\.md)\)", (ROOT / "docs" / "README.md").read_text("utf-8"))
    listed = [os.path.normpath(f"docs/{link}") for link in links]
    catalogue, start, index, *pages = pages_of(NAV)
    assert (catalogue, start, index) == ("../index.html", "README.md", "docs/README.md")
    assert pages == [page for page in listed if page != start]
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} <= {index, *pages}


@pytest.mark.extra("zensical")
def test_every_link_of_the_built_pages_leads_to_a_file(tmp_path: Path) -> None:
    write_documentation(tmp_path / "docs")
    (tmp_path / "index.html").touch()  # the catalogue
    pages = [*(tmp_path / "docs").rglob("*.html")]
    assert {page.relative_to(tmp_path / "docs").with_suffix(".md").as_posix() for page in pages} > {
        page for page in pages_of(NAV) if page.endswith(".md") and not page.endswith("README.md")
    }
    for page in pages:
        for link in re.findall(r' (?:href|src|srcset)="([^"#?]+)', page.read_text("utf-8")):
            if page.name != "404.html" and not re.match(r"\w+:", link):
                assert (page.parent / link).is_file(), f"{page}: {link}"


@pytest.mark.extra("zensical")
@pytest.mark.parametrize(
    ("link", "problem"), [("docs/absent.md", "page does not exist"), ("#absent", "anchor does not exist")]
)
def test_a_link_that_leads_nowhere_is_an_error(link: str, problem: str, tmp_path: Path) -> None:
    for name in ("pyproject.toml", CONFIG):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "README.md").write_text(f"# A page\n\n[A link]({link})\n")
    with pytest.raises(ReleaseError, match="the documentation cannot be built") as caught:
        write_documentation(tmp_path / "built", tmp_path)
    assert problem in str(caught.value.found)
    assert "README.md:3" in str(caught.value.found)
    assert not (tmp_path / "built").exists()


@pytest.mark.extra("zensical")
def test_the_command_writes_it_beside_the_catalogue(tmp_path: Path, golden_release: Callable[..., BuildResult]) -> None:
    releases = golden_release("rubq-reranking").release_dir.parents[1]
    done = run("site", "rubq-reranking", "--docs", "--releases", str(releases), "--output", str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    for name in ("index.html", "catalogue.html", "search.html", "compare.html"):
        tabs = re.search(r'(?s)<nav class="tabs".*?</nav>', (tmp_path / "site" / name).read_text("utf-8"))
        assert tabs
        assert '<a href="docs/index.html">Documentation</a>' in tabs[0]
    assert "docs/docs/checking.html" in json.loads((tmp_path / "site" / "site.json").read_text("utf-8"))["files"]


def test_an_error_says_what_the_documentation_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="not part of an installed package") as caught:
        write_documentation(tmp_path / "docs", tmp_path)
    assert caught.value.todo == "run the command in a checkout of the repository"
    monkeypatch.setattr(documentation, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        write_documentation(tmp_path / "docs")
    assert caught.value.found == "not installed: zensical"
    assert caught.value.todo == "pip install 'embedding-datasets[docs]'"
