"""A build is up to date only while all the code and text behind its release is unchanged."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.release import fingerprint
from tests.support.paths import ROOT
from tests.support.processes import checkout

MODULE = "builders.rumteb.terra"


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the three packages."""
    copy = tmp_path_factory.mktemp("code")
    for package in fingerprint.PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def digests(root: Path) -> tuple[str, str]:
    """The digests of recipe and report, as a new process computes them."""
    for cached in (fingerprint.reached, fingerprint._content, fingerprint._path):
        cached.cache_clear()
    return fingerprint.recipe_sha256(MODULE, root), fingerprint.report_sha256("terra", root)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    digests(ROOT)


def edited(root: Path, path: str) -> tuple[str, str]:
    """The digests with one file edited."""
    file = root / path
    before = file.read_bytes()
    try:
        file.write_bytes(before + b"\n# an edit\n")
        return digests(root)
    finally:
        file.write_bytes(before)


def test_an_edit_of_any_file_behind_a_card_asks_for_a_rebuild(code: Path) -> None:
    _, report = digests(code)
    paths = fingerprint.report_files("terra", code)
    assert {path for path in paths if edited(code, path)[1] == report} == set()


def test_an_edit_of_any_file_behind_a_recipe_asks_for_a_rebuild(code: Path) -> None:
    recipe, _ = digests(code)
    paths = fingerprint.reached((MODULE,), code)
    assert {path for path in paths if edited(code, path)[0] == recipe} == set()


def test_everything_that_makes_a_card_or_a_finding_is_behind_it(code: Path) -> None:
    reached = set(fingerprint.report_files("terra", code))
    cards = {path.relative_to(code).as_posix() for path in (code / "cards").glob("*.py")}
    audit = {path.relative_to(code).as_posix() for path in (code / "pipelines" / "audit").glob("*.py")}
    audit -= {"pipelines/audit/rules.py"}  # those of a user, which no build reads
    others = {"front_matter_parser.py", "manifest_schema.py", "completeness.py"}  # read before a build
    others |= {"raw_files_card.py"}  # of repositories with raw files
    assert (cards | audit) - {f"cards/{name}" for name in others} <= reached
    assert {
        "cards/dataset.md.jinja",
        "cards/citations.bib",
        "cards/prose/terra.md",
        "pipelines/release/contamination_map.json",
        "pipelines/release/parquet.py",
        "pipelines/release/published_figures.json",
    } <= reached


@pytest.mark.parametrize(
    "path",
    [
        "pipelines/hub/client.py",
        "pipelines/raw/download.py",
        "pipelines/build.py",
        "cards/prose/cedr.md",
        "builders/rumteb/cedr.py",
    ],
)
def test_an_edit_of_other_files_asks_for_nothing(code: Path, path: str) -> None:
    assert edited(code, path) == digests(code)


def test_line_ends_of_another_system_ask_for_nothing(code: Path) -> None:
    before, file = digests(code), code / "cards" / "render.py"
    text = file.read_bytes()
    try:
        file.write_bytes(text.replace(b"\n", b"\r\n"))
        assert digests(code) == before
    finally:
        file.write_bytes(text)


def test_a_build_writes_the_card_again_after_an_edit_of_its_code(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repository")

    def state() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.build", "terra", "--sample", "--json"],
            cwd=repository, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return str(json.loads(done.stdout)["state"])

    assert state() == "built"
    template = repository / "cards" / "dataset.md.jinja"
    path = repository / "pipelines" / "audit" / "integrity.py"
    path.write_text(path.read_text("utf-8") + "\n# an edit\n", "utf-8")
    assert [state(), state()] == ["built", "up to date"]
    template.write_text(template.read_text("utf-8") + "\nA new sentence.\n", "utf-8")
    assert state() == "built"
    card = (repository / "outputs" / "terra-pairclassification" / "1.0.0" / "README.md").read_text("utf-8")
    assert card.endswith("A new sentence.\n")
