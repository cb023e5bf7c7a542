"""A build is up to date only while all the code and text behind its release is unchanged."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from builders.errors import ReleaseError
from pipelines.raw.digests import write_cached
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
    start_process()
    return fingerprint.recipe_sha256(MODULE, root), fingerprint.report_sha256("terra", root)


def start_process() -> None:
    """Forget what a new process would not know."""
    for cached in (fingerprint.reached, fingerprint._cached_imports, fingerprint._content, fingerprint._path):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    yield
    start_process()  # what a test planted in its cache must not reach the next cache that is written


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


def test_the_imports_of_a_file_are_those_of_its_whole_syntax_tree() -> None:
    for path in (
        path for package in ("builders", "cards", "pipelines", "tests") for path in (ROOT / package).rglob("*.py")
    ):
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for node in (node for node in nodes if isinstance(node, ast.ImportFrom)):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        own = {name for name in names if name.split(".")[0] in fingerprint.PACKAGES}
        assert set(fingerprint._imports(path.read_bytes())) == own, path


def test_a_file_with_other_bytes_is_parsed_again_though_its_size_and_time_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "builders"
    folder.mkdir()
    for name, code in (("one", "import builders.two"), ("two", ""), ("six", "")):
        (folder / f"{name}.py").write_text(code)
    before = (folder / "one.py").stat()
    start_process()
    assert fingerprint.reached(("builders.one",), tmp_path) == {"builders/one.py", "builders/two.py"}
    assert (tmp_path / "cache" / "imports.json").is_file()
    (folder / "one.py").write_text("import builders.six")
    os.utime(folder / "one.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (folder / "one.py").stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    start_process()
    assert fingerprint.reached(("builders.one",), tmp_path) == {"builders/one.py", "builders/six.py"}


def test_a_damaged_or_unwritable_cache_changes_no_digest(tmp_path: Path) -> None:
    expected, cache = digests(ROOT), tmp_path / "cache" / "imports.json"
    whole = cache.read_bytes()
    for content in (b"", whole[:-100], whole.replace(b"builders.tasks", b"builders.texts"), b"{}", b"\xff\n[" * 9):
        cache.write_bytes(content)
        assert digests(ROOT) == expected
        assert cache.read_bytes() == whole, "written again"
    shutil.rmtree(cache.parent)
    cache.parent.write_bytes(b"a file, not a folder")
    assert digests(ROOT) == expected


def test_a_cache_with_other_imports_than_the_code_is_noticed_before_publishing(tmp_path: Path) -> None:
    digests(ROOT)
    fingerprint.verify_cached_imports(MODULE)
    write_cached(fingerprint.CACHE, msgspec.json.encode({key: [] for key in fingerprint._cached_imports()}))
    start_process()
    with pytest.raises(ReleaseError, match="other imports") as caught:
        fingerprint.verify_cached_imports(MODULE)
    assert caught.value.where == str(tmp_path / "cache" / "imports.json")
