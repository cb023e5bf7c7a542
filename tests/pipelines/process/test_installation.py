"""A checkout or an installed package: the version, the commit, and what may be written."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pipelines import command_line
from pipelines.process import installation
from pipelines.release import fingerprint
from tests.support.paths import ROOT

PYPROJECT = '[project]\nname = "embedding-datasets"\nversion = "7.8.9"\n'
SHA = "1a2b3c4d5e6f" + "0" * 28


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit that has a module, a ledger and a lock file."""
    (tmp_path / "pipelines").mkdir()
    for name in ("make.py", "ledger.json", "raw.lock.json"):
        (tmp_path / "pipelines" / name).write_text("{}\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "all")
    return tmp_path


def commit(root: Path) -> str | None:
    """The commit, read again."""
    installation.commit.cache_clear()
    return installation.commit(root)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages, as a wheel leaves it."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "embedding_datasets-7.8.9.dist-info").mkdir()
    (tmp_path / "embedding_datasets-7.8.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: embedding-datasets\nVersion: 7.8.9\n"
    )
    return tmp_path


def test_the_version_of_a_checkout_is_in_its_pyproject_also_where_an_older_one_is_installed(installed: Path) -> None:
    (installed / "pyproject.toml").write_text(PYPROJECT.replace("7.8.9", "8.0.0"))
    assert installation.version(installed) == "8.0.0"


def test_the_version_of_an_installed_package_is_that_of_its_own_folder(installed: Path) -> None:
    assert installation.version(installed) == "7.8.9"
    assert installation.version(installed / "pipelines") == "unknown"


def test_an_installed_package_is_no_checkout_even_beside_the_pyproject_of_another(installed: Path) -> None:
    (installed / "pyproject.toml").write_text(PYPROJECT.replace("embedding-datasets", "other"))
    assert not installation.is_checkout(installed)
    assert installation.is_checkout(ROOT)


def test_the_commit_of_a_checkout_is_that_of_git_and_a_repository_around_the_package_is_not_its_own(
    repository: Path,
) -> None:
    assert commit(repository) == git(repository, "rev-parse", "HEAD")
    assert commit(repository / "pipelines") is None


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        *((name, "-dirty") for name in ("pipelines/make.py", "pipelines/new.py")),
        *((name, "") for name in ("pipelines/ledger.json", "pipelines/raw.lock.json", "outputs.txt")),
    ],
)
def test_changed_and_new_code_mark_the_commit_and_what_a_build_writes_does_not(
    repository: Path, name: str, mark: str
) -> None:
    (repository / name).write_text("[]\n")
    assert commit(repository) == git(repository, "rev-parse", "HEAD") + mark


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert commit(tmp_path) is None


def test_the_commit_of_an_installed_package_is_in_a_file_of_it(installed: Path) -> None:
    assert commit(installed) is None
    (installed / "pipelines" / "commit.txt").write_text(f"{SHA}\n")
    assert commit(installed) == SHA


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        (SHA, "embedding-datasets {} (commit 1a2b3c4d5e6f)\n"),
        (f"{SHA}-dirty", "embedding-datasets {} (commit 1a2b3c4d5e6f-dirty)\n"),
        (None, "embedding-datasets {}\n"),
    ],
)
def test_the_option_version_names_the_commit_where_it_is_known(
    known: str | None, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installation, "commit", lambda: known)
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", "--version"])
    assert command_line.main() == 0
    assert capsys.readouterr().out == shown.format(installation.version())


@pytest.mark.parametrize("known", [SHA, None])
def test_the_tools_of_a_manifest_name_the_commit_where_it_is_known(
    known: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "commit", lambda: known)
    tools = fingerprint.tools_and_commit()
    assert tools.get("commit") == known
    assert tools["embedding-datasets"] == installation.version()
    assert "commit" not in fingerprint.tools(), "checkpoints outlive a commit"


def test_the_changelog_has_a_section_for_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    sections = re.findall(r"^## \[?([\w.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert sections[0] in {version, "Unreleased"}, "newest first: rename Unreleased when the version is released"
    assert sections[0] == version or version not in sections, "a released version does not change: choose the next one"
