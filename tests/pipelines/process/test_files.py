"""Files that several commands write: replaced in one step, and locked."""

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.process.files import file_sha256, locked, write_atomically
from tests.support.paths import ROOT

HOLD_LOCK = """
import sys
from pathlib import Path
from pipelines.process.files import locked
with locked(Path(sys.argv[1]), "demo", remove=sys.argv[2] == "remove"):
    print("locked", flush=True)
    sys.stdin.read()
"""
WAIT_FOR_LOCK = """
import sys
from pathlib import Path
from pipelines.process.files import locked
from pipelines.process.terminal import configure_logging
configure_logging()
with locked(Path(sys.argv[1]), "demo", activity="downloading", remove=sys.argv[2] == "remove"):
    print("locked", flush=True)
"""


REPLACE = """
import sys, time
from pathlib import Path
from pipelines.process.files import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write_text("half")
    print("written", flush=True)
    sys.stdin.read()
"""


def begin_to_replace(path: Path) -> subprocess.Popen[str]:
    """A process that has written the temporary file beside a file, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", REPLACE, str(path)], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def test_the_next_command_removes_what_killed_ones_left_beside_a_file_and_nothing_else(tmp_path: Path) -> None:
    path, stranger = tmp_path / "file", tmp_path / ".file.12345678-999999999-1"
    stranger.write_text("of another machine, or of somebody else")
    killed, running = begin_to_replace(path), begin_to_replace(path)
    killed.kill()
    killed.communicate()
    finished = begin_to_replace(path)
    finished.communicate("")
    assert path.read_text() == "half"
    assert len(list(tmp_path.iterdir())) == 3, "the file, the stranger's, that of the process which runs"
    running.communicate("")
    assert sorted(tmp_path.iterdir()) == [stranger, path]


@pytest.mark.parametrize("content", ["да\r\nnein\n", b"\xff\x00"], ids=["text", "bytes"])
def test_a_file_is_replaced_without_leftovers(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(type(tmp_path), "write_bytes", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "file", "text")
    assert caught.value.filename == str(tmp_path / "file")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def start(code: str, path: Path, option: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, path, option], cwd=ROOT, text=True, **pipes)


@pytest.mark.parametrize("option", ["keep", "remove"])
def test_a_second_process_says_once_that_it_waits_and_then_gets_the_lock(tmp_path: Path, option: str) -> None:
    path = tmp_path / "directory" / "demo.lock"
    with start(HOLD_LOCK, path, option) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with start(WAIT_FOR_LOCK, path, option) as waiter:
            assert waiter.stderr is not None
            message = waiter.stderr.readline()
            assert waiter.poll() is None
            holder.communicate()
            assert waiter.communicate() == ("locked\n", "")
    assert message == "demo: waiting for another command that is downloading it\n"
    assert path.exists() == (option == "keep")


def test_a_lock_is_released_when_the_block_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.lock"
    with pytest.raises(ValueError, match="inside"), locked(path, "demo", remove=True):
        raise ValueError("inside")
    assert list(tmp_path.iterdir()) == []
    with locked(path, "demo"):
        pass
    assert capsys.readouterr().err == ""


def test_a_lock_file_that_cannot_be_created_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), locked(tmp_path / "file" / "demo.lock", "demo"):
        pass


def test_the_digest_of_a_file_is_over_all_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1 << 20) + b"\n\xff")
    assert file_sha256(tmp_path / "file") == hashlib.sha256(bytes(1 << 20) + b"\n\xff").hexdigest()
