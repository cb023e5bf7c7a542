"""Builds in a clean process, which inherits nothing that could reach a row: what starts it, and what runs in it.

It gets a folder with links to the verified raw files, and an empty cache: no checkpoint, no digest and no lock file of the user.
Of the environment it gets what a process needs to run, a fixed locale and a fixed time zone. Python runs isolated (-I), so no
variable and no folder of the user adds modules. The package is the one that runs here.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from builders import catalogue
from builders.errors import DatasetError, SourceError
from pipelines.make import BuildSettings, make
from pipelines.process import interrupts, terminal
from pipelines.process.files import write_atomically
from pipelines.process.stages import show_stages
from pipelines.process.workers import hold_interrupts
from pipelines.raw.settings import RawSettings

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from pipelines.reproduction.clean_process import run; run()"
KEPT = (
    "PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "TERM", "NO_COLOR",
)  # fmt: skip
FIXED = {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
OUTCOME = "outcome.json"
PARTS = ("what", "where", "found", "expected", "todo")


@dataclass(frozen=True)
class Job:
    """A build for the clean process. folder: where it writes, and finds its raw files in `raw`. verbosity: of messages."""

    dataset: str
    version: str
    splits: tuple[str, ...] | None
    golden: bool
    limit: int | None
    partial: bool
    folder: str
    verbosity: int

    @property
    def release_dir(self) -> Path:
        """The folder of the release that it builds."""
        return Path(self.folder, "outputs", self.dataset, self.version)


def clean_environment() -> dict[str, str]:
    """The environment of the process."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | FIXED


def build_in_clean_process(job: Job) -> None:
    """Build a job in a new process.

    Raises what the build raises, as a DatasetError, and SourceError where the process ended without saying why.
    """
    command = [sys.executable, "-I", "-X", "utf8", "-c", PROGRAM, str(ROOT)]
    with hold_interrupts():
        process = subprocess.Popen(  # noqa: S603 - our own code
            command, cwd=job.folder, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):  # it has ended already, and its outcome is missing
            process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
            process.stdin.flush()  # it stays open: where it closes, this process has ended, and the build ends too
        code = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(interrupts.GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()
    outcome = Path(job.folder, OUTCOME)
    if not outcome.is_file():
        raise SourceError(
            "the build in a clean process ended without a result",
            found=f"exit code {code}" + ("" if code >= 0 else ": killed, perhaps for want of memory"),
            todo="see the messages above; packages that only PYTHONPATH or the user's folder adds are not found there",
        )
    if (failure := json.loads(outcome.read_bytes())) is not None:
        raise DatasetError(**failure)


def run() -> None:
    """Build the job that a line on standard input describes, and write how it ended; it ends with its parent."""
    interrupts.handle_signals(signal.SIGTERM)
    with os.fdopen(os.dup(0), "rb") as stream:
        values = json.loads(stream.readline())
    job = Job(**values | {"splits": values["splits"] and tuple(values["splits"])})
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    terminal.configure_logging(job.verbosity)
    failure = None
    try:
        with show_stages(job.dataset):
            build(job)
    except DatasetError as error:
        failure = {part: getattr(error, part) for part in PARTS}
    except SystemExit:  # terminated
        interrupts.end_process(interrupts.TERMINATED)
    write_atomically(Path(job.folder, OUTCOME), json.dumps(failure))
    sys.stderr.flush()


def build(job: Job) -> None:
    """Build a job, in this process. Nothing outside its folder is written, and no ledger is asked whether the rows are right.

    Raises what a build raises.
    """
    folder = Path(job.folder)
    raw_dir = folder / "raw"
    raw_dir.mkdir(exist_ok=True)
    raw = RawSettings(raw_dir=raw_dir, cache=folder / "cache", offline=True)
    definition = catalogue.load(catalogue.entries()[job.dataset])
    output, ledger = folder / "outputs", folder / "ledger.json"
    settings = BuildSettings(output, raw, job.splits, job.golden, job.limit, ledger=ledger, partial=job.partial)
    make(definition, job.version, settings)


def _end_with_parent() -> None:
    """Wait until the other end of standard input closes: the parent has ended, also by SIGKILL."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
