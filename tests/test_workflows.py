"""The jobs for those who host the project: their commands exist, and take the options that they are given."""

import os
import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import catalogue
from pipelines.catalogue_pages.sources import file_needs
from pipelines.command_line import COMMANDS
from pipelines.raw.pins import LOCK_FILE
from tests.support.paths import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_of_a_workflow_are_parsed(workflow: Path) -> None:
    commands = [line for step in steps(workflow) for line in step.get("run", "").splitlines()]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command.replace("$", ""))
        if program == "embedding-datasets":
            assert arguments[0] in {command.name for command in COMMANDS}
            import_module(f"pipelines.{arguments[0]}").parser().parse_args(arguments[1:])
        elif program == "bash":
            assert (ROOT / arguments[0]).is_file()
        elif program == "sudo":
            assert arguments[:2] == ["apt-get", "update"]
        else:
            assert command.startswith("python -m pip install --require-hashes -r requirements.lock && ")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_ends_by_itself(workflow: Path) -> None:
    content = yaml.safe_load(workflow.read_text("utf-8"))
    assert content["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in content["jobs"].values())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_untrusted_values_reach_a_shell_only_as_variables(workflow: Path) -> None:
    assert not [step["run"] for step in steps(workflow) if "${{" in step.get("run", "")]


def test_the_first_contact_builds_every_open_dataset_below_two_gigabytes() -> None:
    [command] = [
        step["run"]
        for step in steps(ROOT / ".github" / "workflows" / "first-contact.yml")
        if step.get("run", "").startswith("embedding-datasets build")
    ]
    expected = []
    for definition in (catalogue.load(entry) for entry, _ in catalogue.resolve(["all"])):
        keys = catalogue.needed_files(definition, definition.dataset.task.splits, "1.0.0")
        files = file_needs(definition.source, keys, (LOCK_FILE,)).values()
        if {file.access for file in files} == {"open"} and sum(file.bytes or 0 for file in files) < 2_000_000_000:
            expected.append(f"{definition.dataset.name}@1.0.0")
    assert shlex.split(command) == ["embedding-datasets", "build", *expected, "--raw-dir", "raw"]


def test_the_newest_versions_are_tested_without_constraints_each_week(tmp_path: Path) -> None:
    workflow = ROOT / ".github" / "workflows" / "newest.yml"
    [step] = [step for step in steps(workflow) if "run" in step]
    assert step["run"] == "bash .ci/run"
    assert yaml.safe_load(workflow.read_text("utf-8"))[True]["schedule"]  # YAML takes `on` for true
    command = ["bash", "-c", '. .ci/setup; echo "${PIP_CONSTRAINT:-none}"']
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    for settings, expected in ((step["env"], "none"), ({}, str(ROOT / "constraints.txt"))):
        done = subprocess.run(command, cwd=ROOT, env=environment | settings, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_the_hooks_before_a_commit_are_the_checks_of_ci() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    [checked] = re.findall(r'timed "(ruff check .*)"', (ROOT / ".ci" / "run").read_text("utf-8"))
    checks = checked.split(" && ")
    assert [hook["entry"].replace(" --force-exclude", "") for hook in hooks] == checks
