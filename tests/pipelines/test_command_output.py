"""What a command shows on a terminal, in a pipe, with --quiet and --verbose, and for programs."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import catalogue
from builders.errors import SourceError, UsageError
from pipelines import build, check, command, fetch, publish, show
from pipelines.audit import integrity
from pipelines.process import stages
from pipelines.process.terminal import configure_logging
from tests.support.terminals import terminal, watch_lines


@pytest.fixture(autouse=True)
def default_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stages, "REFRESH", 0.05)
    yield
    configure_logging()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run a command in this process."""

    def run_main(main: Callable[[], int], *arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["embedding-datasets", *arguments])
        return main()

    return run_main


def test_a_terminal_shows_the_stages_of_a_build_then_its_time_findings_and_the_next_step(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check_stages, wait_for_line = integrity._check_stages, watch_lines(monkeypatch)

    def check_once_drawn(*arguments: Any, **options: Any) -> Any:
        wait_for_line()  # a golden sample may be checked between two lines
        return check_stages(*arguments, **options)

    monkeypatch.setattr(integrity, "_check_stages", check_once_drawn)
    with terminal(monkeypatch) as screen:
        assert run(build.main, "cedr", "--sample", "--output", str(tmp_path)) == 0
        assert run(check.main, str(tmp_path / "cedr-classification" / "4.0.0")) == 0
    stages_of = r"{} \d+:\d\d  [a-z]+".format
    assert any(re.match(stages_of("cedr-classification"), line) for line in screen.lines)
    assert any(re.match(stages_of("cedr-classification/4.0.0"), line) for line in screen.lines)
    release_dir = tmp_path / "cedr-classification" / "4.0.0"
    [built] = [line for line in screen.lines if line.startswith("cedr-classification 4.0.0: built in ")]
    assert built.endswith(" s, sample")
    assert f"next: embedding-datasets check {shlex.quote(str(release_dir))}" in screen.lines
    assert f"next: embedding-datasets check {shlex.quote(str(release_dir))} --html report.html" in screen.lines
    assert "\x1b[33mwarning\x1b[0m" in screen.raw


def test_of_several_datasets_a_check_shows_a_line_each_and_how_many_have_which_verdict_last(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("cedr@1.0.0", "terra"):
        assert run(build.main, name, "--sample", "--output", str(tmp_path)) == 0
    capsys.readouterr()
    assert run(check.main, str(tmp_path), "--html", str(tmp_path / "r.html"), "--fail-on", "split_leak") == 1
    out, err = capsys.readouterr()
    cedr, fails, terra, empty, last = out.splitlines()
    assert cedr.startswith("cedr-classification 1.0.0 (sample): ")
    assert len(cedr) == 80
    assert cedr.endswith("…")
    assert fails == "  fails     --fail-on split_leak"
    assert terra.startswith("terra-pairclassification 1.0.0 (sample): ")
    assert (empty, last) == ("", "2 datasets: sample, not judged 2; -v shows the findings")
    assert err == f"report: {tmp_path / 'r.html'}\n"
    assert run(check.main, str(tmp_path), "-v") == 0
    assert "\n  severity  finding " in capsys.readouterr().out
    with terminal(monkeypatch) as screen:
        run(check.main, str(tmp_path))
    assert screen.lines[-1] == f"next: embedding-datasets check {tmp_path} --html report.html"


def test_all_versions_of_a_dataset_are_built_the_oldest_first(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(build.main, "cedr", "--all-versions", "--sample", "--output", str(tmp_path)) == 0
    built = [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("cedr")]
    assert built == [f"cedr-classification {number}.0.0" for number in range(1, 5)]
    with pytest.raises(UsageError, match="leave @VERSION out"):
        run(build.main, "cedr@1.0.0", "--all-versions", "--sample", "--output", str(tmp_path))


def test_a_pipe_gets_the_result_alone(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(build.main, "cedr", "--sample", "--output", str(tmp_path)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("cedr-classification 4.0.0: built, sample\n")
    assert "warning" in out
    assert "next:" not in out
    assert "\x1b" not in out


def test_a_quiet_command_shows_its_result_and_no_progress(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as screen:
        assert run(build.main, "terra", "--quiet", "--sample", "--output", str(tmp_path)) == 0
    assert screen.lines[0].startswith("terra-pairclassification")
    assert not any(re.search(r"\d:\d\d  ", line) for line in screen.lines)


def test_a_quiet_command_still_says_which_files_are_missing(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folders = ["--offline", "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "outputs")]
    assert run(build.main, "cedr", "terra", "--quiet", *folders) == 3
    err = capsys.readouterr().err
    assert "error: the raw files that are missing:\n" in err
    assert "  terra/TERRa.zip" in err


def test_a_verbose_command_says_what_it_does_and_how_long_it_takes(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(build.main, "terra", "-v", "--sample", "--output", str(tmp_path)) == 0
    err = capsys.readouterr().err
    assert re.search(r"^debug: raw files: 1 file in \d[\d.]* [a-z]", err, re.MULTILINE)
    assert "debug: writing default/dev: 14 rows in " in err
    assert "debug: near-duplicates: " in err


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")], ids=lambda pair: pair[0])
def test_no_color_means_no_escapes(
    variable: tuple[str, str], run: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(monkeypatch) as screen:
        monkeypatch.setenv(*variable)
        command.print_page(["  warning  x", "set: no problems"])
    assert screen.raw == "  warning  x\r\nset: no problems\r\n"


def test_colors_never_come_from_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as screen:
        command.print_page(["  warning  \x1b[31mx"])
    assert screen.raw == "  \x1b[33mwarning\x1b[0m  \\u001b[31mx\r\n"


@pytest.mark.parametrize("names", [(), ("rumteb",), ("ateb",)], ids=["all", "rumteb", "ateb"])
def test_the_catalogue_fits_80_columns(
    names: tuple[str, ...], run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as screen:
        run(show.main, *names, "--output", str(tmp_path))
    assert max(map(len, screen.lines)) <= 80
    for entry, _ in catalogue.resolve(names or ["all", "training"]):
        assert any(line.split()[0] == entry.dataset for line in screen.lines if line), "a name that one can copy"
    if not names:
        assert len(screen.lines) < len(catalogue.entries()) + 9, "a line for each"


def test_an_error_is_wrapped_beside_its_label_on_a_terminal_and_no_path_is_broken(
    run: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch) as screen:
        command.print_error(SourceError("w " * 50, where="/" + "p" * 90, expected="rubq-retrieval, " * 9, todo="x"))
    assert screen.lines[:2] == ["error: " + "w " * 35 + "w w", "  " + "w " * 12 + "w"]
    assert screen.lines[2] == "  where:    /" + "p" * 90
    assert screen.lines[3] == "  expected: rubq-retrieval, rubq-retrieval, rubq-retrieval, rubq-retrieval,"
    assert screen.lines[4].startswith("            rubq-retrieval, ")
    assert screen.lines[-1] == "  to do:    x"
    with terminal(monkeypatch) as screen:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
        command.print_error(SourceError("w " * 50))
    assert len(screen.lines) == 1


def failures(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_has_an_object_for_each_dataset_that_failed(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nothing = ["--raw-dir", str(tmp_path), "--cache", str(tmp_path / "cache"), "--offline", "--json"]
    keys = ["what", "where", "found", "expected", "todo", "exit_code"]
    assert run(build.main, "cedr", "terra", *nothing, "--output", str(tmp_path / "out")) == 3
    cedr, terra = failures(capsys)
    assert (terra["dataset"], terra["version"], terra["state"]) == ("terra-pairclassification", "1.0.0", "failed")
    assert (cedr["dataset"], cedr["state"]) == ("cedr-classification", "failed")
    assert isinstance(terra["error"], dict)
    assert list(terra["error"]) == keys
    assert terra["error"]["exit_code"] == 3
    assert run(fetch.main, "terra", *nothing) == 3
    [file] = failures(capsys)
    assert (file["name"], file["state"], file["error"]) == ("terra/val.jsonl", "failed", terra["error"])
    assert run(publish.main, "terra", "--org", "org", "--dry-run", "--json", "--output", str(tmp_path / "out")) == 5
    [unpublished] = failures(capsys)
    assert (unpublished["dataset"], unpublished["state"]) == ("terra-pairclassification", "failed")


def test_a_dry_run_of_build_and_push_says_that_training_data_without_a_licence_would_not_be_published(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--dry-run", "--json", "--offline", "--raw-dir", str(tmp_path), "--output", str(tmp_path / "out")]
    assert run(build.main, "sberquad", *options, "--push", "org") == 5
    [refused] = failures(capsys)
    assert isinstance(refused["error"], dict)
    assert refused["error"]["what"].endswith("licence other is not known to permit publishing training data")
    assert run(build.main, "sberquad", *options) == 3, "without --push, only its raw files are missing"
