"""What a user sees on stderr: log messages, progress bars, sizes."""

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pipelines.process.terminal import configure_logging, format_duration, format_size, progress_bar
from tests.support.paths import ROOT
from tests.support.terminals import Terminal


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    yield logging.getLogger("pipelines.test")
    configure_logging()


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (2048, "2 KB"),
        (378_730_064, "378.7 MB"),
        (1_025_015_063, "1 GB"),
    ],
)
def test_sizes_have_a_unit_and_at_most_one_decimal(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (1.24, "1.2 s"),
        (9.96, "10 s"),
        (41.4, "41 s"),
        (59.7, "1 min 0 s"),
        (725, "12 min 5 s"),
        (7400, "2 h 3 min"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_message_appears_once_however_often_logging_is_configured(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging()
    configure_logging()
    logger.info("%s: retrying", "demo")
    assert capsys.readouterr() == ("", "demo: retrying\n")


def test_levels_other_than_info_are_named_and_debug_messages_need_verbose(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logger.debug("hidden")
    configure_logging(verbose=1)
    logger.debug("details")
    logger.warning("old format")
    logger.error("no such file")
    assert capsys.readouterr().err == "debug: details\nwarning: old format\nerror: no such file\n"


def test_a_quiet_command_shows_errors_only_and_messages_of_other_libraries_never_appear(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("httpx").info("HTTP Request: GET https://example.org")
    configure_logging(verbose=-1)
    logger.info("a note")
    logger.error("no such file")
    assert capsys.readouterr().err == "error: no such file\n"


def test_a_message_does_not_tear_a_progress_bar(logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("demo/file.bin", 300):
        logger.info("in between")
    lines = terminal.getvalue().replace("\r", "\n").split("\n")
    assert "in between" in lines


def test_tqdm_is_imported_only_to_draw() -> None:
    code = "import sys, pipelines.process.terminal, pipelines.command, pipelines.fetch; print('tqdm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
