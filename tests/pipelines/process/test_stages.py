"""Stages: one line on a terminal that says what a long command does; nothing anywhere else."""

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.spec import Raw
from pipelines.process import stages
from pipelines.process.stages import counted, describe_stages, format_clock, read_stages, show_stages, stage
from pipelines.process.terminal import configure_logging, progress_bar
from tests.support.terminals import terminal, watch_lines


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The clock of all stages: only a test moves its `now`, in seconds."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(stages, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(stages, "REFRESH", 0.005)
    yield clock
    configure_logging()


@pytest.fixture
def wait_for_line(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return watch_lines(monkeypatch)


def running(
    name: str, done: int = 0, total: int | None = None, unit: str = "rows", *, began: float = 0
) -> stages._Stage:
    """A stage that advanced at the time 10."""
    return stages._Stage(name, total, unit, began, 10, done)


def run_undrawn() -> None:
    """Run a stage where no thread draws."""
    before = threading.active_count()
    with show_stages("demo"), stage("counting", total=1000, unit="rows") as advance:
        advance(500)
        assert threading.active_count() == before


def test_a_stage_is_drawn_on_a_terminal_and_erased_at_its_end(
    clock: SimpleNamespace, wait_for_line: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(monkeypatch) as screen, show_stages("demo"), stage("counting", total=1000, unit="rows") as advance:
        advance(500)
        clock.now += 10
        wait_for_line()
    assert "demo 0:10  counting 50 %, 50 rows/s, 0:10 left" in screen.lines
    assert max(map(len, screen.lines)) < 80
    assert screen.raw.rstrip("\r").endswith(" ")


def test_nothing_is_drawn_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    run_undrawn()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("settings", [{"verbose": -1}, {"progress": False}], ids=["quiet", "worker"])
def test_nothing_is_drawn_by_a_quiet_command_and_by_a_worker(
    settings: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logging(**settings)  # type: ignore[arg-type]
    with terminal(monkeypatch) as screen:
        run_undrawn()
        with progress_bar("demo/file", 300) as bar:
            bar.update(300)
    assert screen.raw == ""


def test_messages_and_bars_stay_on_lines_of_their_own(
    clock: SimpleNamespace, wait_for_line: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        terminal(monkeypatch) as screen,
        show_stages("demo"),
        stage("raw files"),
        progress_bar("demo/file", 300) as bar,
    ):
        wait_for_line()
        bar.update(300)
        bar.refresh()
        logging.getLogger("pipelines.test").info("resuming")
        clock.now += 3
        wait_for_line()
    assert "resuming" in screen.lines
    assert any(line.startswith("demo/file: 100%") for line in screen.lines)
    assert any(line.startswith("demo 0:00  raw files 0:00") for line in screen.lines)
    assert any(line.startswith("demo 0:03  raw files 0:03") for line in screen.lines)


def test_a_verbose_command_logs_each_stage_with_its_time(
    clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(verbose=1)
    with stage("near-duplicates", unit="rows") as advance:
        advance(1200)
        clock.now += 2.5
    assert capsys.readouterr().err == "debug: near-duplicates: 1,200 rows in 2.5 s\n"


def test_several_threads_count_together() -> None:
    with stage("counting", total=4000, unit="rows") as advance:
        threads = [threading.Thread(target=lambda: [advance(1) for _ in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [own] = stages._running
        assert own.done == 4000
    assert stages._running == []


def test_a_stage_ends_where_its_block_raises() -> None:
    with pytest.raises(ValueError, match="broken"), stage("reading"):
        raise ValueError("broken")
    assert stages._running == []


@pytest.mark.parametrize(
    ("open_stages", "line"),
    [
        ([], "set 1:01"),
        ([running("card", began=5)], "set 1:01  card 0:05"),
        ([running("writing", 500, 1000)], "set 1:01  writing 50 %, 50 rows/s, 0:10 left"),
        ([running("writing", 500)], "set 1:01  writing 500 rows, 50 rows/s"),
        ([running("reading", 5_000_000, 10_000_000, "bytes")], "set 1:01  reading 50 %, 500 KB/s, 0:10 left"),
        ([running("raw files", 1, 3, "files")], "set 1:01  raw files 1 of 3 files"),
        # One that counts before one that cannot, and last what is read to its end.
        ([running("writing", 500), running("card")], "set 1:01  writing 500 rows, 50 rows/s; also card"),
        ([running("recipe"), running("reading", 7000, 7000, "bytes")], "set 1:01  recipe 0:10"),
        ([running("reading", 7000, 7000, "bytes")], "set 1:01  reading 0:10"),
    ],
)  # fmt: skip
def test_the_line_names_the_most_informative_stage(open_stages: list[stages._Stage], line: str) -> None:
    assert describe_stages("set", 61, open_stages, 10, 79) == line


def test_the_line_fits_the_terminal() -> None:
    many = [running("a stage with a rather long name", 500, 1000), running("another stage with a long name")]
    for width in (20, 40, 60, 79):
        assert len(describe_stages("a-rather-long-name-of-a-dataset", 3700, many, 10, width)) <= width
    assert describe_stages("\x1b[31mset", 0, [], 0, 79) == "\\u001b[31mset 0:00"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (41.9, "0:41"), (3723, "1:02:03")])
def test_a_clock_has_hours_only_where_there_are_any(seconds: float, text: str) -> None:
    assert format_clock(seconds) == text


def test_reading_a_file_is_a_stage_from_its_first_byte_on(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    with read_stages({"file": Raw("demo/file", path)}) as files:
        watch = files["file"].watch
        assert watch is not None
        assert stages._running == []
        watch(40)
        watch(100)
        [reading] = stages._running
        assert (reading.name, reading.done, reading.is_finished) == ("reading file", 100, True)
    assert stages._running == []


def test_rows_count_when_the_next_batch_is_asked_for() -> None:
    import polars as pl

    done: list[int] = []
    batches = counted([pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [3]})], done.append)
    next(batches)
    assert done == []
    assert [batch.height for batch in batches] == [1]
    assert done == [2, 1]
