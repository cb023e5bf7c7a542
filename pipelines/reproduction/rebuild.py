"""What runs in the clean process: one build, from the raw files in a folder into another."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from builders import catalogue
from builders.errors import DatasetError
from pipelines.make import BuildSettings, make
from pipelines.process import interrupts
from pipelines.process.files import write_atomically
from pipelines.process.stages import show_stages
from pipelines.process.terminal import configure_logging
from pipelines.raw.settings import RawSettings
from pipelines.reproduction.clean_process import OUTCOME, Job

PARTS = ("what", "where", "found", "expected", "todo")


def run() -> None:
    """Build the job that a line on standard input describes, and write how it ended; it ends with its parent."""
    interrupts.handle_signals(signal.SIGTERM)
    with os.fdopen(os.dup(0), "rb") as stream:
        values = json.loads(stream.readline())
    job = Job(**values | {"splits": values["splits"] and tuple(values["splits"])})
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    configure_logging(job.verbosity)
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
    """Build what a job says. Nothing outside its folder is written, and no ledger is asked whether the rows are right.

    Raises what a build raises.
    """
    folder = Path(job.folder)
    raw_dir = folder / "raw"
    raw_dir.mkdir(exist_ok=True)
    raw = RawSettings(raw_dir=raw_dir, cache=folder / "cache", offline=True)
    definition = catalogue.load(catalogue.entries()[job.dataset])
    settings = BuildSettings(folder / "outputs", raw, job.splits, job.golden, job.limit, ledger=folder / "ledger.json")
    make(definition, job.version, settings)


def _end_with_parent() -> None:
    """Wait until the other end of standard input closes: the parent has ended, also by SIGKILL."""
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
