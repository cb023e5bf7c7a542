"""New datasets of every task type build as they are written, before anybody has changed a line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builders.errors import UsageError
from builders.tasks import EVALUATED
from cards.texts import MARK, NOT_WRITTEN
from pipelines.scaffold.templates import ENDINGS, LISTS, Plan, scaffold
from tests.support.paths import ROOT

# The source of each new dataset: its arguments. Every task type, in both formats where it has them; some with a benchmark.
BENCHMARKS = {
    "Retrieval": ["rumteb"],
    "Classification": ["rumteb"],
    "STS": ["rumteb", "ateb"],
    "BitextMining": ["ateb"],
}
JOBS = {
    f"new_{task.lower()[:10]}_{benchmark or 'alone'}": [
        "--task", task,
        *(["--benchmark", benchmark] if benchmark else []),
        *(["--file", "table.csv"] if not benchmark and task not in LISTS else []),
    ]
    for task in EVALUATED
    for benchmark in (None, *BENCHMARKS.get(task, ()))
}  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and no golden sample."""
    folder = tmp_path_factory.mktemp("scaffolds")
    for package in ("builders", "cards", "pipelines"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    (folder / "tests" / "golden").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def results(copy: Path) -> dict[str, Any]:
    """What `tests/support/scaffolds.py` prints."""
    shutil.copyfile(ROOT / "tests" / "support" / "scaffolds.py", copy / "scaffolds.py")
    done = subprocess.run(
        [sys.executable, "scaffolds.py", json.dumps(JOBS)], cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.mark.parametrize("name", JOBS)
def test_a_new_dataset_builds_as_it_is_written_and_lacks_only_what_a_person_must_write(
    name: str, results: dict[str, Any]
) -> None:
    built = [json.loads(line) for line in results["built"].splitlines()]
    own = [row for row in built if row["dataset"].startswith(name.replace("_", "-"))]
    assert [(row["state"], row["sample"]) for row in own] == [("built", True)]
    assert all(own[0]["rows"].values())
    assert [finding for finding in own[0]["findings"] if finding["severity"] in ("error", "warning")] == []
    others = {(level, what) for level, what in results["gaps"][name] if what != NOT_WRITTEN}
    expected = {("finish", f"{own[0]['dataset']}@1.0.0 has no expected rows"), ("later", "no digest is known")}
    assert others == expected
    assert ["finish", NOT_WRITTEN] in results["gaps"][name]


def test_the_builders_pass_the_linter_and_the_formatter(results: dict[str, Any], copy: Path) -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "builders"],
            cwd=copy, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_every_task_type_has_a_template() -> None:
    assert set(ENDINGS) == set(EVALUATED)
    for task in EVALUATED:
        *_, (path, builder) = scaffold(Plan("toy", task, None, "records.jsonl")).items()
        assert path == "builders/other/toy.py"
        assert MARK in builder


@pytest.mark.parametrize(
    ("task", "file"), [("Reranking", "a.csv"), ("MultilabelClassification", "a.csv"), ("STS", "a.xml")]
)
def test_a_format_that_cannot_hold_the_example_is_refused(task: str, file: str) -> None:
    with pytest.raises(UsageError, match="no example") as caught:
        scaffold(Plan("toy", task, None, file))
    assert "--file NAME.jsonl" in str(caught.value.todo)
