"""What the documents promise is done here, to the letter."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.command_line import COMMANDS
from tests.support.paths import ROOT
from tests.support.processes import checkout
from tests.support.tutorials import BLOCK

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SEEING_A_DATASET = (
    "tests/test_golden.py",
    "tests/test_layers.py",
    "tests/test_style.py",
    "tests/builders/test_catalogue.py",
    "tests/builders/test_spec.py",
    "tests/cards",
    "tests/pipelines/test_show.py",
    "tests/pipelines/catalogue_pages",
    "tests/pipelines/checking",
    "tests/pipelines/scaffold/test_dataset_gaps.py",
)
# Names of tests, as pytest reads them.
OF_THE_DATASET = "shop_questions or shop-questions or up_to_date or catalogue or layers or style"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_the_repository_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text("utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    if document.name == "adding-a-dataset.md":
        pytest.skip("it names the files that it makes: see the test below")
    named = re.findall(
        r"`((?:builders|cards|pipelines|tests|docs)/[\w./-]*\w(?:\.\w+|/))`", document.read_text("utf-8")
    )
    for name in named:
        assert (ROOT / name).exists(), name


def test_every_page_that_code_cards_and_workflows_name_exists() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), page)
        for folder in ("builders", "cards", "embedding_datasets", "pipelines", "tests/support", ".github", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".jinja", ".md", ".yml", ".js", ""} and path.is_file()
        for page in re.findall(r"\bdocs/[\w.-]+\.(?:md|json)", path.read_text("utf-8"))
    }
    assert named
    assert sorted((path, page) for path, page in named if not (ROOT / page).exists()) == []


def test_the_readme_has_two_commands_and_ci_runs_them() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    commands = [line for line in lines if line.startswith("python -m pip install")]
    assert len(commands) == 2
    assert "pipelines.build rubq --sample" in commands[0]
    assert commands[1].endswith("python -m pytest")
    assert "grep '^python -m pip install' README.md" in (ROOT / ".ci" / "setup").read_text("utf-8")


def test_the_architecture_knows_the_commands_and_the_findings() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert all(f"{command.name}.py" in text for command in COMMANDS)
    assert "cards.kinds.KINDS" in text


def follow_the_guide(repository: Path) -> Iterator[str]:
    """Write the files of docs/adding-a-dataset.md into a checkout, in its order; yields its commands, to be run in between."""
    for block in BLOCK.finditer((ROOT / "docs" / "adding-a-dataset.md").read_text("utf-8")):
        named = re.search(r"`([\w./-]+)`:$", block["before"])
        if block["kind"] == "console":
            yield from block["text"].splitlines()
        elif named:
            path, before = repository / named[1], ""
            if block["before"].startswith("Replace the new entry at the end"):
                before = path.read_text("utf-8").split("@misc{author0000")[0]
            assert path.is_file(), f"{named[1]}: the command new writes it"
            path.write_text(before + block["text"], "utf-8")


def run_line(line: str, repository: Path) -> None:
    """Run a command of the guide in a checkout, with its code and no other."""
    environment = os.environ | {"PYTHONPATH": str(repository), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    command, _, target = line.partition(" > ")
    program, *arguments = shlex.split(
        re.sub("^(ruff|mypy)", r"python -m \1", command).replace("embedding-datasets", "python -m pipelines")
    )
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    if target:
        (repository / target).write_text(done.stdout, "utf-8")


@pytest.mark.slow
def test_adding_a_dataset_works_when_followed_literally(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repository")
    if (ROOT / ".mypy_cache").is_dir():  # what mypy knows of the other files: it compares their content
        shutil.copytree(ROOT / ".mypy_cache", repository / ".mypy_cache")
    commands = []
    for command in follow_the_guide(repository):
        whole_suite = command == "python -m pytest"  # which the slow test runs
        run_line(
            f"{command} {' '.join(SEEING_A_DATASET)} -k '{OF_THE_DATASET}'" if whole_suite else command, repository
        )
        commands.append(command)
    assert commands[-4:] == ["ruff check", "ruff format --check", "mypy", "python -m pytest"]
    golden = repository / "tests/golden/shop_questions/shop-questions-classification/1.0.0"
    rows = (golden / "default.train.jsonl").read_text("utf-8")
    assert len(rows.splitlines()) == 6
    card = (repository / "outputs/shop-questions-classification/1.0.0/README.md").read_text("utf-8")
    assert "| 1 | `5` |" in card, "the repeated text is counted"


FOLLOWED = f"tests/test_docs.py::{test_adding_a_dataset_works_when_followed_literally.__name__}"


@pytest.mark.slow
def test_the_whole_suite_passes_with_the_dataset_of_the_guide(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repository")
    options = f"--numprocesses auto --dist loadfile --deselect {FOLLOWED}"  # its dataset is already in this checkout
    for command in follow_the_guide(repository):
        run_line(f"{command} {options}" if command == "python -m pytest" else command, repository)
