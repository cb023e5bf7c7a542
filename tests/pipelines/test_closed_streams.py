"""Commands whose output has nowhere to go, and paths that are not UTF-8: the conventional exit code, never a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="redirections of a POSIX shell, /dev/full")


def shell(redirection: str, *arguments: str | bytes, cwd: Path = ROOT) -> subprocess.CompletedProcess[bytes]:
    """Run a command with a redirection of bash, whose exit code is that of the command itself."""
    command = b" ".join(
        shlex.quote(os.fsdecode(one)).encode("utf-8", "surrogateescape")
        for one in (sys.executable, "-m", f"pipelines.{os.fsdecode(arguments[0])}", *arguments[1:])
    )
    script = (
        b"PYTHONPATH=" + os.fsencode(ROOT) + b" " + command + b" " + redirection.encode() + b'; exit "${PIPESTATUS[0]}"'
    )
    return subprocess.run(["bash", "-c", script], cwd=cwd, capture_output=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    "redirection",
    ["<&- >&- 2>&-", "2>/dev/full", *(pytest.param(one, marks=pytest.mark.slow) for one in (">&-", "2>&-", "<&-"))],
)
def test_a_closed_or_full_stream_changes_no_exit_code(redirection: str, tmp_path: Path) -> None:
    built = shell(redirection, "build", "cedr", "--sample", "--output", str(tmp_path))
    assert (built.returncode, built.stderr) == (0, b"")
    assert (tmp_path / "cedr-classification" / "4.0.0" / "manifest.json").is_file()
    unknown = shell(redirection, "show", "nothing")
    assert unknown.returncode == 2
    assert b"Traceback" not in unknown.stderr


def test_a_reader_that_closes_early_ends_the_command_as_sigpipe_would() -> None:
    process = shell("| true", "show", "--json")
    assert (process.returncode, process.stderr) == (141, b"")


def test_messages_without_a_reader_are_dropped_and_the_command_goes_on() -> None:
    assert shell("2>&1 >/dev/null | true", "show", "nothing").returncode == 2


def test_a_full_disk_behind_stdout_is_an_error_that_names_it() -> None:
    process = shell(">/dev/full", "show", "--json")
    assert process.returncode == 1
    assert process.stderr.decode() == "error: No space left on device\n  where:    standard output\n"


def test_a_full_disk_behind_a_temporary_file_of_polars_is_an_error_that_names_the_folder() -> None:
    script = """
import polars as pl
from pipelines.command import run
run(lambda: pl.LazyFrame({"a": [1]}).sink_parquet("/dev/full"))
"""
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": "/var/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr.splitlines()[:3] == [
        "error: a temporary file cannot be written",
        "  where:    /var/tmp",
        "  found:    No space left on device",
    ]


@pytest.mark.parametrize("is_current", [False, True], ids=["argument", "working directory"])
def test_a_path_that_is_not_utf_8_is_a_usage_error(is_current: bool, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    output = [] if is_current else ["--output", os.fsencode(folder)]
    process = shell("", "build", "cedr", "--sample", *output, cwd=folder if is_current else ROOT)
    assert process.returncode == 2
    assert "a path is not valid UTF-8" in process.stderr.decode()
    assert "\\udcff" in process.stderr.decode()
    assert list(folder.iterdir()) == []


def test_text_that_the_terminal_cannot_show_is_escaped() -> None:
    assert shell("", "show", "stsb_ru").returncode == 0
    ascii_only = subprocess.run(
        [sys.executable, "-m", "pipelines.check", "нет"],
        cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=False,
    )  # fmt: skip
    assert ascii_only.returncode == 2
    assert b"\\u043d\\u0435\\u0442" in ascii_only.stderr
