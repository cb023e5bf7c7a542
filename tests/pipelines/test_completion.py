"""Completion in a shell: what is offered for the beginning of a word."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import build, check, command_line, completion

COMMANDS = [(command.name, command.summary) for command in command_line.COMMANDS]
QUESTIONS = {
    "bui": ["build"],
    "build rubq": ["rubq", "rubq-reranking", "rubq-retrieval"],
    "build rubq-retrieval rum": ["rumteb"],
    "build --samp": ["--sample"],
    "build rubq --raw-dir rubq-raw": ["rubq-raw-files"],
    "build rubq --report rubq-rep": ["rubq-report.json"],
    "check rubq-r": ["rubq-raw-files", "rubq-report.json", "rubq-reranking", "rubq-retrieval"],
    "diff rubq-ret": ["rubq-retrieval"],
    "--print-completion ": ["bash", "fish", "zsh"],
}


@pytest.fixture(scope="module")
def bash_script() -> str:
    return completion.completion_script("embedding-datasets", COMMANDS, "bash")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_completes_commands_options_names_and_paths(bash_script: str, tmp_path: Path) -> None:
    (tmp_path / "rubq-raw-files").mkdir()
    (tmp_path / "rubq-report.json").touch()
    ask = '; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _shtab_embedding_datasets; echo "${COMPREPLY[@]}"\n'
    lines = [
        f"COMP_WORDS=(embedding-datasets {line}" + (" ''" if line.endswith(" ") else "") + f"){ask}"
        for line in QUESTIONS
    ]
    done = subprocess.run(
        ["bash", "--norc"], input=bash_script + "\n" + "".join(lines), cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stderr == ""
    answers = [sorted(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(QUESTIONS, answers, strict=True)) == QUESTIONS


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_have_the_commands_and_names(shell: str) -> None:
    script = completion.completion_script("embedding-datasets", COMMANDS, shell)
    assert [word for word in ("build", "publish", "rubq-retrieval", "rumteb", "raw-dir") if word not in script] == []
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_the_option_prints_the_script(
    bash_script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", "--print-completion", "bash"])
    assert command_line.main() == 0
    assert capsys.readouterr().out == f"{bash_script}\n"


def test_completion_does_not_change_what_a_command_accepts() -> None:
    completion.completion_script("embedding-datasets", COMMANDS, "bash")
    assert build.parser().parse_args(["a-name-of-tomorrow@1.0.0"]).names == ["a-name-of-tomorrow@1.0.0"]
    assert check.parser().parse_args(["org/name"]).names == ["org/name"]
