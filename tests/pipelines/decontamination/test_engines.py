"""Partitions on one or several workers, killed or not, give the same results; a killed scan resumes where it was."""

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest

from builders.errors import DatasetError, ReleaseError, SourceError, UsageError
from pipelines.checking.corpora import Partition, open_corpus
from pipelines.decontamination.engines import (
    Engine,
    open_checkpoints,
    read_results,
    result_path,
    run_partitions,
    scan_digest,
)
from tests.support.corpus_work import fail, kill_always, kill_once, list_listening_addresses, list_texts
from tests.support.foreign import write_json_lines
from tests.support.paths import ROOT

needs_ray = pytest.mark.extra("ray")


def corpus(folder: Path, partitions: int = 12) -> tuple[Partition, ...]:
    """The partitions of a corpus of two files."""
    for name in ("a.jsonl", "b.jsonl"):
        write_json_lines(folder / name, *({"text": f"{name} {row}"} for row in range(partitions // 2)))
    opened = open_corpus([str(folder)], partition_bytes=1).partitions
    assert len(opened) == partitions
    return opened


def results(
    tmp_path: Path, parts: tuple[Partition, ...], work: Callable[[Partition], pl.DataFrame], engine: Engine
) -> pl.DataFrame:
    with open_checkpoints(tmp_path / "checkpoints", scan_digest(parts, {})) as folder:
        run_partitions(parts, work, engine, folder)
        return pl.concat(read_results(folder, parts))


def expected(parts: tuple[Partition, ...]) -> pl.DataFrame:
    return pl.concat(list_texts(part) for part in parts)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A folder in which work leaves its calls."""
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


def calls(log: Path) -> list[int]:
    """The partitions that were worked on."""
    return sorted(int(path.name.partition("-")[0]) for path in log.iterdir())


def test_one_process_gives_the_results_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    found = results(tmp_path, parts, list_texts, Engine())
    assert found.equals(expected(parts))
    assert found["text"].to_list()[:2] == ["a.jsonl 0", "a.jsonl 1"]
    assert not any((tmp_path / "checkpoints").iterdir()), "checkpoints are removed after the scan"


def test_partitions_of_killed_processes_are_run_again(tmp_path: Path, log: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    work = partial(kill_once, log=str(log), numbers=(3,))
    assert results(tmp_path, parts, work, Engine(workers=2)).equals(expected(parts))
    assert calls(log) == [3]


@pytest.mark.parametrize("place", [0, 31, 32, 40, -1, None])
def test_a_scan_resumes_with_the_partitions_that_are_not_finished_or_damaged(
    tmp_path: Path, log: Path, caplog: pytest.LogCaptureFixture, place: int | None
) -> None:
    """One bit of a result is another: of the digest, the first bytes, the end; or all is torn by a crash of the machine."""
    parts = corpus(tmp_path / "corpus")
    folder = tmp_path / "checkpoints" / scan_digest(parts, {})
    with pytest.raises(SourceError, match="invalid JSON"):
        results(tmp_path, parts, partial(fail, number=5), Engine())
    assert len([*folder.iterdir()]) == 5
    damaged = bytearray(b"ARROW1 torn" if place is None else result_path(folder, parts[2]).read_bytes())
    damaged[place or 0] ^= 1
    result_path(folder, parts[2]).write_bytes(damaged)
    (folder / ".000007.arrow.1-1").write_bytes(b"of a killed worker")
    with caplog.at_level("INFO"):
        found = results(tmp_path, parts, partial(list_texts, log=str(log)), Engine())
    assert found.equals(expected(parts))
    assert calls(log) == [2, *range(5, 12)]
    assert "resuming: 4 of 12 partitions" in caplog.text


def test_a_full_disk_names_the_folder_and_the_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    parts = corpus(tmp_path / "corpus")
    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=full))
    with pytest.raises(
        ReleaseError, match=r"(?s)checkpoints cannot be written.*No space left.*free some space"
    ) as error:
        results(tmp_path, parts, list_texts, Engine())
    assert error.value.where == str(tmp_path / "checkpoints")


def test_another_corpus_or_option_is_another_scan(tmp_path: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    digests = {scan_digest(parts, {}), scan_digest(parts, {"threshold": 0.9}), scan_digest(parts[1:], {})}
    digests.add(scan_digest(open_corpus([str(tmp_path / "corpus")], ["text"]).partitions, {}))
    os.utime(tmp_path / "corpus" / "a.jsonl", (1, 1))
    digests.add(scan_digest(open_corpus([str(tmp_path / "corpus")], partition_bytes=1).partitions, {}))
    assert len(digests) == 5
    assert scan_digest(parts, {"a": 1, "b": 2}) == scan_digest(parts, {"b": 2, "a": 1})


def test_ray_is_asked_for_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.decontamination.engines.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="Ray is not installed") as caught:
        run_partitions(corpus(tmp_path / "corpus"), list_texts, Engine("ray"), tmp_path)
    assert "embedding-datasets[ray]" in (caught.value.todo or "")


def test_a_cluster_that_does_not_answer_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.decontamination.engines.find_spec", lambda _: True)  # asked before Ray is imported
    parts = corpus(tmp_path / "corpus")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(UsageError, match="Ray does not answer") as caught:
            run_partitions(parts, list_texts, Engine("ray", 2, address), tmp_path)
        assert caught.value.where == address


# In separate processes, which cost seconds to start.


@pytest.mark.slow
def test_a_partition_that_kills_its_process_every_time_is_an_error_that_names_it(tmp_path: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    with pytest.raises(DatasetError, match="killed 4 times") as caught:
        results(tmp_path, parts, partial(kill_always, number=8), Engine(workers=2))
    assert caught.value.where == f"{tmp_path}/corpus/b.jsonl, from row 2"
    assert caught.value.found == "signal 9"


@pytest.mark.slow
def test_the_error_of_a_partition_is_raised_and_the_processes_end(tmp_path: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    with pytest.raises(SourceError) as caught:
        results(tmp_path, parts, partial(fail, number=4), Engine(workers=2))
    assert caught.value.where == f"{tmp_path}/corpus/a.jsonl, row 4"
    assert not active_children()


ENGINES = [
    pytest.param("local", 2, id="local 2"),
    pytest.param("local", 4, id="local 4"),
    pytest.param("ray", 2, id="ray 2", marks=needs_ray),
    pytest.param("ray", 4, id="ray 4", marks=needs_ray),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), ENGINES)
def test_workers_killed_at_random_moments_do_not_change_the_results(
    tmp_path: Path, log: Path, name: Any, count: int
) -> None:
    parts = corpus(tmp_path / "corpus", 40)
    chance, killed = random.Random(count), Counter[str]()
    driver = subprocess.Popen([sys.executable, "-c", driver_of(tmp_path, name, count, 0.3)], cwd=ROOT)
    try:
        while driver.poll() is None:
            time.sleep(chance.uniform(0.3, 1.0))
            calls = sorted((path.name.split("-") for path in log.iterdir()), key=lambda call: int(call[2]))
            reading = {pid: part for part, pid, _ in calls}  # the last part of each process
            reading = {pid: part for pid, part in reading.items() if killed[part] < 3}  # the fourth kill is an error
            if reading and killed.total() < 8:
                pid = chance.choice(list(reading))
                try:
                    os.kill(int(pid), signal.SIGKILL)
                    killed[reading[pid]] += 1
                except ProcessLookupError:
                    continue
    finally:
        driver.kill()
    assert driver.wait() == 0
    assert killed.total() >= 3
    assert (tmp_path / "result.arrow").read_bytes() == written(tmp_path, expected(parts))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), ENGINES)
def test_a_killed_driver_resumes_and_leaves_no_process(tmp_path: Path, log: Path, name: Any, count: int) -> None:
    parts = corpus(tmp_path / "corpus", 40)
    for _ in range(2):
        before = len([*log.iterdir()])
        driver = subprocess.Popen([sys.executable, "-c", driver_of(tmp_path, name, count, 0.2)], cwd=ROOT)
        wait_until(lambda before=before: len([*log.iterdir()]) >= before + 8)
        below = descendants(driver.pid)
        driver.kill()
        driver.wait()
        assert below
        wait_until(lambda below=below: not any(map(is_running, below)))
    done = len([*(tmp_path / "checkpoints").glob("*/*.arrow")])
    assert done >= 4
    before = len([*log.iterdir()])
    subprocess.run([sys.executable, "-c", driver_of(tmp_path, name, count, 0)], cwd=ROOT, check=True)
    assert len([*log.iterdir()]) - before == 40 - done
    assert (tmp_path / "result.arrow").read_bytes() == written(tmp_path, expected(parts))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [ENGINES[0], ENGINES[2]])
def test_ctrl_c_ends_the_driver_and_its_workers(tmp_path: Path, log: Path, name: Any, count: int) -> None:
    corpus(tmp_path / "corpus", 40)
    driver = subprocess.Popen(
        [sys.executable, "-c", driver_of(tmp_path, name, count, 1)], cwd=ROOT, start_new_session=True,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: len([*log.iterdir()]) >= 2)
    below = descendants(driver.pid)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal sends it: to all
    _, err = driver.communicate(timeout=30)
    assert driver.returncode == 128 + signal.SIGINT
    assert not err
    wait_until(lambda: not any(map(is_running, below)))


@needs_ray
@pytest.mark.parametrize(
    "before", ["", pytest.param("import ray\n", marks=pytest.mark.slow)], ids=["alone", "imported before"]
)
def test_ray_gives_the_same_results_and_shows_nothing_of_its_own(tmp_path: Path, before: str) -> None:
    parts = corpus(tmp_path / "corpus")
    (tmp_path / "log").mkdir()
    with TemporaryDirectory(
        dir="/tmp"
    ) as short:  # Ray makes sockets there, and the path of a socket has at most 107 bytes
        done = subprocess.run(
            [sys.executable, "-c", before + driver_of(tmp_path, "ray", 2, 0)], cwd=ROOT, capture_output=True, text=True,
            env=os.environ | {"HOME": str(tmp_path), "TMPDIR": short}, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "result.arrow").read_bytes() == written(tmp_path, expected(parts))
    assert not (tmp_path / ".ray").exists(), "no token in the home of the user"


@pytest.mark.slow
@needs_ray
def test_errors_of_ray_say_what_to_do(tmp_path: Path) -> None:
    parts = corpus(tmp_path / "corpus")
    with pytest.raises(SourceError, match="invalid JSON"):
        run_partitions(parts, partial(fail, number=4), Engine("ray", 2), tmp_path)
    with pytest.raises(DatasetError, match="killed 4 times") as caught:
        run_partitions(parts, partial(kill_always, number=8), Engine("ray", 2), tmp_path)
    assert caught.value.where == f"{tmp_path}/corpus/b.jsonl, from row 2"


@pytest.mark.slow
@needs_ray
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no list of open ports")
def test_ray_listens_on_this_machine_alone_and_is_then_as_it_was(tmp_path: Path) -> None:
    """Also where it was imported before."""
    import ray

    before = ray.util.get_node_ip_address()
    found = results(tmp_path, corpus(tmp_path / "corpus"), list_listening_addresses, Engine("ray", 1))
    assert found["address"].str.tail(8).unique().to_list() == ["0100007F"], "127.0.0.1, its bytes from the last"
    assert ray.util.get_node_ip_address() == before


def driver_of(folder: Path, name: str, count: int, seconds: float) -> str:
    """A program that scans the corpus of a folder and writes the results to one file."""
    return textwrap.dedent(f"""
        import signal, sys
        from functools import partial
        from pathlib import Path
        from tests.support.corpus_work import list_texts
        from tests.pipelines.decontamination.test_engines import results, written
        from pipelines.process import interrupts
        from pipelines.checking.corpora import open_corpus
        from pipelines.decontamination.engines import Engine

        interrupts.handle_signals(signal.SIGINT, signal.SIGTERM)
        if __name__ == "__main__":
            folder = Path({str(folder)!r})
            parts = open_corpus([str(folder / "corpus")], partition_bytes=1).partitions
            work = partial(list_texts, seconds={seconds}, log=str(folder / "log"))
            try:
                found = results(folder, parts, work, Engine({name!r}, {count}))
            except KeyboardInterrupt:
                sys.exit(interrupts.INTERRUPTED)
            (folder / "result.arrow").write_bytes(written(folder, found))
    """)


def written(folder: Path, found: pl.DataFrame) -> bytes:
    """The bytes of a file of results."""
    found.write_ipc(folder / "written.arrow")
    return (folder / "written.arrow").read_bytes()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition for at most five minutes: a machine may have much else to do."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("not within five minutes")


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in listed.stdout.split() if is_running(int(one))]


def descendants(pid: int) -> list[int]:
    """The processes below one, without two of Ray, which are idle and end a minute after it."""
    agents = b"DashboardAgent", b"RuntimeEnvAgent"
    below = [one for child in children(pid) for one in (child, *descendants(child))]
    return [one for one in below if not any(agent in command_of(one) for agent in agents)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
