"""A wheel in a separate environment: its commands work beside packages of the same names, and never change it."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.make import BuildResult
from tests.support.paths import ROOT
from tests.support.processes import checkout, tracked_files

PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
COMMANDS = (
    "--version",  # these two run wherever the package is installed in another way
    "build terra rubq --sample --jobs 2 --force",
    "show",
    "show rumteb",
    "show cedr",
    "build cedr@1.0.0 --sample --output first",
    "check outputs/rubq-retrieval/2.0.0 --html page.html",
    "diff outputs/terra-pairclassification/1.0.0 outputs/terra-pairclassification/1.0.0",
    "reproduce outputs/terra-pairclassification/1.0.0 --offline",
    "decide --help",
    "accept --help",
    "publish --help",
)


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    return subprocess.run(
        command, cwd=cwd, env=inherited | environment, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def build_packages(repository: Path, folder: Path) -> None:
    """What a wheel consists of, without pip: the build of the packages alone."""
    done = run(sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(folder), cwd=repository)
    assert done.returncode == 0, done.stderr


def data_files() -> set[str]:
    """The files of our packages in this checkout, and the raw files of the golden samples, as paths in a wheel."""
    tracked = tracked_files()
    own = {name for name in tracked if name.partition("/")[0] in PACKAGES}
    raw = {name for name in tracked if name.startswith("tests/golden/") and name.split("/")[3] == "raw"}
    return own | {name.replace("tests/golden/", "pipelines/golden/") for name in raw}


def files_below(folder: Path) -> dict[str, str]:
    """SHA-256 by path, of all files of our packages but compiled ones."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for package in PACKAGES
        for path in sorted((folder / package).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }


def test_the_packages_of_a_wheel_have_all_of_our_files_and_the_golden_samples_as_they_are(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repository")
    (tmp_path / "build" / "builders").mkdir(parents=True)
    (tmp_path / "build" / "builders" / "gone.py").touch()  # of an earlier build
    build_packages(repository, tmp_path / "build")
    built = files_below(tmp_path / "build")
    assert built.keys() - {"pipelines/commit.txt"} == data_files()
    for name, digest in built.items():
        original = ROOT / name.replace("pipelines/golden/", "tests/golden/")
        assert name == "pipelines/commit.txt" or digest == hashlib.sha256(original.read_bytes()).hexdigest(), name


def environment_with(distribution: Path, folder: Path) -> Path:
    """A new virtual environment with a wheel or source archive, and the libraries of this one; returns its folder of packages."""
    assert run(sys.executable, "-m", "venv", str(folder), cwd=folder.parent).returncode == 0
    python = folder / "bin" / "python"
    libraries = sysconfig.get_path("purelib")
    purelib = run(
        str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
    ).stdout.strip()
    # A line of a .pth file is a folder for sys.path: packages there come after those of the environment.
    Path(purelib, "libraries.pth").write_text(f"{libraries}\n")
    done = run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(distribution), cwd=folder)
    assert done.returncode == 0, done.stderr
    return Path(purelib)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_every_command_works_from_a_wheel_beside_packages_of_the_same_names(
    kind: str, tmp_path: Path, golden_release: Callable[..., BuildResult]
) -> None:
    repository = checkout(tmp_path / "repository")
    commit = commit_all(repository)
    distribution = repository
    if kind == "sdist":
        done = run(sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path / "dist"), cwd=repository)
        assert done.returncode == 0, done.stderr
        [distribution] = (tmp_path / "dist").iterdir()
    packages = environment_with(distribution, tmp_path / "environment")
    before = files_below(packages)
    work = tmp_path / "work"
    for name in PACKAGES[:2] + PACKAGES[3:]:
        (work / name).mkdir(parents=True)
        (work / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    scripts = tmp_path / "environment" / "bin"
    entries = ([str(scripts / "embedding-datasets")], [str(scripts / "python"), "-m", "embedding_datasets"])
    script_commands = COMMANDS if kind == "wheel" else COMMANDS[:2]
    for entry, commands in zip(entries, (script_commands, COMMANDS[:2]), strict=True):
        for command in commands:
            done = run(*entry, *command.split(), cwd=work, EMBEDDING_DATASETS_CACHE=str(tmp_path / "cache"))
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            assert command != "--version" or f"(commit {commit[:12]})" in done.stdout
    missing = run(str(scripts / "embedding-datasets"), "fetch", "cedr", "--offline", cwd=work)
    assert (missing.returncode, " missing\n" in missing.stderr) == (3, True)
    manifest = json.loads((work / "outputs/rubq-retrieval/2.0.0/manifest.json").read_text("utf-8"))
    ours = golden_release("rubq-retrieval").manifest
    assert manifest["tools"]["commit"] == commit
    assert (manifest["content_sha256"], manifest["recipe"]["sha256"]) == (ours.content_sha256, ours.recipe.sha256)
    assert manifest["report_sha256"] == ours.report_sha256
    assert files_below(packages) == before


def commit_all(repository: Path) -> str:
    """Commit everything; returns the commit."""
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["add", "."], ["commit", "--quiet", "-m", "all"]):
        subprocess.run([*git, *arguments], cwd=repository, check=True, capture_output=True)
    return run("git", "rev-parse", "HEAD", cwd=repository).stdout.strip()
