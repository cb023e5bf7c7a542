"""The command embedding-datasets: it lists the commands and runs them."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from builders import catalogue
from pipelines import command, command_line, export
from pipelines.contamination import SUBCOMMANDS
from tests.support.paths import ROOT


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_command_the_commands_are_listed_by_heading(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", *arguments])
    if arguments:
        with pytest.raises(SystemExit, match=r"^0$"):
            command_line.main()
    else:
        assert command_line.main() == 0
    listed = capsys.readouterr().out
    assert "\nuse:\n  show           list the catalogue, or show one dataset or benchmark\n" in listed
    assert "\n  contamination  find the rows of benchmarks that are in a training corpus\n" in listed
    assert "\n  accept         adopt new digests and versions from a build report\n" in listed
    assert listed.split("examples:")[0].count("\n  ") >= len(command_line.COMMANDS)
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    "line", [*(listed.name for listed in command_line.COMMANDS), *(f"contamination {name}" for name in SUBCOMMANDS)]
)
def test_every_page_of_help_fits_80_columns_with_examples_and_exit_codes(
    line: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", *line.split(), "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        command_line.main()
    shown = capsys.readouterr().out
    assert [text for text in shown.splitlines() if len(text) > 80] == []
    assert f"embedding-datasets {line} " in " ".join(shown.split("examples:")[1].split())
    assert "wrong,\n            4 findings" in shown


def test_a_long_example_is_a_command_to_copy_with_its_comment_below() -> None:
    shown = command.parser("decide", "About.", "  embedding-datasets decide NAME --raw-dir " + "x" * 40 + "  a comment")
    assert (
        "  embedding-datasets decide NAME \\\n                     --raw-dir " + "x" * 40 + "\n      a comment\n"
    ) in shown.format_help()


def test_the_help_names_all_groups_of_the_catalogue() -> None:
    listed = re.search(r"a group \(([^)]*)\)", command.NAMES)
    assert listed is not None
    groups = {entry.group for entry in catalogue.entries().values()}
    assert set(listed[1].split(", ")) == groups - {"other"} | {"all"}, "other has only what somebody adds to a checkout"


def test_every_module_with_options_is_a_command() -> None:
    modules = {
        path.stem for path in (ROOT / "pipelines").glob("*.py") if "\ndef parser() -> " in path.read_text("utf-8")
    }
    assert modules == {command.name for command in command_line.COMMANDS}


def test_a_command_runs_with_the_arguments_after_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", "build", "terra", "--sample", "--output", str(tmp_path)])
    assert command_line.main() == 0
    assert "built, sample" in capsys.readouterr().out


def test_an_unknown_command_is_answered_with_the_nearest_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["embedding-datasets", "biuld", "rubq"])
    with pytest.raises(SystemExit, match=r"^2$"):
        command_line.main()
    assert "no command is named 'biuld': did you mean 'build'?" in capsys.readouterr().err


def test_a_command_that_reads_releases_has_one_option_for_their_folder_and_knows_the_older_spelling() -> None:
    for name in ("check", "publish", "score", "show", "decide", "doctor", "diff", "site", "export", "reproduce"):
        options = importlib.import_module(f"pipelines.{name}").parser()._option_string_actions
        assert (options["--releases"].dest, options["--releases"].default) == ("releases", Path("outputs"))
        assert name in {"diff", "site", "export", "reproduce"} or options["--output"] is options["--releases"]
    assert export.parser()._option_string_actions["--to"].dest == "output"
