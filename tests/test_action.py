"""The GitHub Action of action.yml: its steps are run as the runner runs them, on a good dataset, a bad one and hostile inputs."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT
from tests.support.processes import checkout
from tests.test_wheel import run

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"]}
FILES = {"exit-code", "markdown", "sarif", "badge"}
ANNOTATION = re.compile(r"::(notice|warning|error)( title=[^:,]*)?::.*")


@dataclass
class Job:
    """A job of the runner: its folders, the outputs of its steps, and the summary of the last one."""

    temp: Path
    workspace: Path
    action: Path = ROOT
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""

    def run(self, name: str, inputs: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a step; its outputs are kept. stdout has what it prints on both streams, as in the log."""
        step = STEPS[name]
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input in the text of a script would be run"
        files = {key: self.temp / key for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        script = self.temp / "step.sh"
        script.write_text(step["run"], "utf-8")
        inherited = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
        variables = {key: self.resolve(value, inputs) for key, value in step["env"].items()}
        runner = {"RUNNER_TEMP": str(self.temp), "GITHUB_ACTION_PATH": str(self.action)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)], cwd=self.workspace, text=True, check=False,
            env=inherited | runner | {key: str(path) for key, path in files.items()} | environment | variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        lines = files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()
        self.outputs[name] = dict(line.split("=", 1) for line in lines)
        self.summary = files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        return done

    def resolve(self, text: str, inputs: dict[str, str]) -> str:
        """A value with its expressions: an input, or its default, or the output of a step before."""

        def value(found: re.Match[str]) -> str:
            kind, name, *rest = found[1].split(".")
            if kind == "inputs":
                return inputs.get(name, str(ACTION["inputs"][name].get("default", "")))
            assert (kind, rest[0]) == ("steps", "outputs")
            return self.outputs[name][rest[1]]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def commands(log: str) -> list[str]:
    """The lines that the runner takes for commands: those that begin with `::`, except where they are stopped; `##[` anywhere."""
    found, token = [], ""
    for line in log.splitlines():
        if token:
            token = "" if line.strip() == f"::{token}::" else token
        elif line.lstrip().startswith("::stop-commands::"):
            token = line.strip().removeprefix("::stop-commands::")
        elif line.lstrip().startswith("::") or "##[" in line:
            found.append(line)
    assert not token, "commands are stopped to the end of the job"
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The outputs of the first steps, with a wheel of this tree, no index, and the libraries of this environment."""
    folder = tmp_path_factory.mktemp("action")
    packaging = checkout(folder / "repository") / "packaging" / "check"
    built = run(sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(folder), cwd=packaging)
    assert built.returncode == 0, built.stderr
    [wheel] = folder.glob("*.whl")
    job = Job(folder, folder, outputs={"python": {"python-path": sys.executable}})
    done = job.run("install", {"package": str(wheel)}, PIP_NO_INDEX="1", PIP_NO_DEPS="1")
    assert done.returncode == 0, done.stdout
    [packages] = (folder / "embedding-datasets-check").glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return job.outputs


@pytest.fixture
def job(installed: dict[str, dict[str, str]], tmp_path: Path) -> Job:
    for name in ("temp", "workspace"):
        (tmp_path / name).mkdir()
    return Job(tmp_path / "temp", tmp_path / "workspace", outputs=dict(installed))


@pytest.fixture
def check(job: Job, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs the last step with some inputs."""
    return lambda **inputs: job.run(
        "check",
        {name.replace("_", "-"): value for name, value in inputs.items()},
        EMBEDDING_DATASETS_CACHE=str(tmp_path / "cache"),
    )


def write(path: Path, *rows: str, columns: str = "text,label") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join((columns, *rows)) + "\n", "utf-8")


GOOD = [f"{word} {thing} is in the {place}.,{label}" for label, word in enumerate(("The red", "No blue")) for thing in
        ("boat", "lamp", "chair", "train") for place in ("garden", "harbour", "kitchen", "museum")]  # fmt: skip
BAD = ("It rains.,0", "The sun is out.,1", "It rains.,1")


def test_a_good_dataset_passes_with_its_verdict_in_every_form(
    job: Job, check: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    write(job.workspace / "data" / "train.csv", *GOOD)
    done = check(datasets="data\n", language="eng-Latn")
    assert (done.returncode, set(job.outputs["check"])) == (0, FILES), done.stdout
    assert commands(done.stdout) == ["::notice title=data::no problems"]
    assert "### data\n\nno problems." in job.summary
    assert job.outputs["check"]["exit-code"] == "0"
    assert json.loads(Path(job.outputs["check"]["badge"]).read_text("utf-8"))["message"] == "no problems"
    assert json.loads(Path(job.outputs["check"]["sarif"]).read_text("utf-8"))["version"] == "2.1.0"
    assert Path(job.outputs["check"]["markdown"]).read_text("utf-8") == job.summary


def test_a_bad_dataset_fails_on_the_condition_and_the_files_are_there(
    job: Job, check: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    write(job.workspace / "good.csv", *GOOD)
    write(job.workspace / "my data" / "train.csv", *BAD, columns="sentence,target")
    inputs = {"datasets": "  good.csv\r\n\n  my data  ", "map": "text=sentence\nlabel=target", "task": "Classification"}
    done = check(fail_on="split_leak\nconflicting_label:10%", **inputs)
    assert (done.returncode, job.outputs["check"]["exit-code"]) == (2, "2"), "good.csv has no such columns"
    inputs["datasets"] = "my data"
    done = check(fail_on="split_leak\nconflicting_label:10%", options="--audit-language=all", **inputs)
    assert (done.returncode, job.outputs["check"]["exit-code"]) == (1, "1"), done.stdout
    message = "the same text with different labels, exact: 1 (50.00%25) in default/train.label"
    assert f"::warning title=my data%3A conflicting_label::{message}" in commands(done.stdout)
    assert "the same text with different labels" in job.summary
    log = json.loads(Path(job.outputs["check"]["sarif"]).read_text("utf-8"))
    assert "conflicting_label" in {result["ruleId"] for result in log["runs"][0]["results"]}
    (job.workspace / "my.yaml").write_text(
        "rules:\n- {name: short, column: sentence, characters: [1, 5], severity: error}\n"
    )
    assert check(rules="my.yaml", **inputs).returncode == 4
    assert check(**inputs).returncode == 0, "warnings alone do not fail by default"


HOSTILE = (
    "$(touch pwned)", "`touch pwned`", "; touch pwned;", "' \" $HOME \\", "--html=pwned", "--org=pwned", "-q", "*", "-", "",
    "x\r", "::set-output name=exit-code::0", "::add-mask::a", "##[add-matcher]pwned", "%0Aexit-code=0", "exit-code=0",
)  # fmt: skip


@pytest.mark.parametrize("name", ["datasets", "fail-on", "task", "language", "subset", "map", "rules", "options"])
def test_a_hostile_input_is_data(name: str, job: Job) -> None:
    write(job.workspace / "train.csv", *BAD)
    text = "\n".join((*(["."] if name == "datasets" else []), *HOSTILE))
    done = job.run("check", {"datasets": "."} | {name: text})
    assert (done.returncode in (1, 2, 3), "Traceback" in done.stdout) == (True, False), done.stdout
    assert [line for line in commands(done.stdout) if not ANNOTATION.fullmatch(line)] == []
    assert job.outputs["check"].get("exit-code", "2") == str(done.returncode)
    assert set(job.outputs["check"]) <= FILES
    assert [path.name for path in job.workspace.iterdir()] == ["train.csv"]


def test_a_name_and_a_value_are_no_options(job: Job) -> None:
    write(job.workspace / "train.csv", *BAD)
    done = job.run("check", {"datasets": ".\n--html=page.html", "language": "eng-Latn\n--html=page.html"})
    assert (done.returncode, "./--html=page.html" in done.stdout) == (2, True), done.stdout
    assert not (job.workspace / "page.html").exists()
    write(job.workspace / "-q" / "train.csv", *BAD)
    done = job.run("check", {"datasets": "-q"})
    assert (done.returncode, "### -q\n" in job.summary) == (0, True), done.stdout


def test_texts_of_a_dataset_are_no_commands(job: Job, check: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    hostile = "::error title=x::y ##[add-path]z <b>"
    write(job.workspace / "train.csv", f"{hostile},0", f"{hostile},1", columns=f"text,{hostile}")
    for inputs in ({}, {"map": f"label={hostile}"}, {"map": "label=x"}):
        done = check(datasets="train.csv\nnone/::error::y", **inputs)
        assert done.returncode != 0
        shown = commands(done.stdout)
        assert shown
        assert [line for line in shown if not ANNOTATION.fullmatch(line)] == []
        assert all("title=train.csv" in line or "title=none/%3A%3Aerror%3A%3Ay" in line for line in shown)


def test_every_input_and_output_of_a_step_is_declared() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == ACTION["inputs"].keys()
    assert {name: output["value"] for name, output in ACTION["outputs"].items()} == {
        name: f"${{{{ steps.check.outputs.{name} }}}}" for name in FILES
    }


@pytest.mark.slow
def test_without_a_package_the_version_of_the_action_is_installed(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    action = checkout(tmp_path / "action")
    job = Job(tmp_path / "temp", tmp_path, action, {"python": {"python-path": sys.executable}})
    done = job.run("install", {}, PIP_NO_DEPS="1")
    assert done.returncode == 0, done.stdout
    assert Path(job.outputs["install"]["command"]).is_file()
    assert job.run("install", {"package": "--version"}).returncode != 0, "pip takes it for a package"
