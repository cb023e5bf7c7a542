"""Scratch folders: what a killed command leaves is removed by the next one, what a running one uses is not."""

import signal
import subprocess
import sys
from pathlib import Path

from pipelines.process.resumable import scratch_folder
from tests.support.paths import ROOT

HOLD = """
import sys, time
from pathlib import Path
from pipelines.process.resumable import scratch_folder
with scratch_folder(Path(sys.argv[1]), ".texts-") as folder:
    (folder / "texts.arrow").write_text("texts of benchmarks")
    print("ready", flush=True)
    time.sleep(60)
"""


def hold(base: Path) -> subprocess.Popen[str]:
    """A process that uses a scratch folder until it is killed."""
    command = [sys.executable, "-c", HOLD, str(base)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_what_a_killed_command_left_is_removed_and_what_another_uses_stays(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    killed, running = hold(tmp_path), hold(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.glob(".texts-*"))) == 2
    with scratch_folder(tmp_path, ".texts-") as folder:
        assert len(list(tmp_path.glob(".texts-*/texts.arrow"))) == 1, "that of the running process"
        assert folder.is_dir()
    running.kill()
    running.communicate()
    with scratch_folder(tmp_path, ".texts-") as folder:
        assert [path.name for path in tmp_path.glob(".texts-*")] == [folder.name]
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
