"""Checkpoints: finished steps of a recipe, stored as folders, that the build after a killed one does not repeat."""

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)


def log_taken_over(what: str, folders: Sequence[Path]) -> None:
    """Log how many of some steps an earlier build has finished, if any. what: a noun for them, such as `shards of passages`."""
    if finished := sum(folder.is_dir() for folder in folders):
        logger.info("%d of %d %s taken over from an earlier build", finished, len(folders), what)


def run_once(folder: Path, step: Callable[[Path], object]) -> Path:
    """Run a step that writes files into a folder, unless the folder exists. Returns the folder.

    step: writes into an empty folder with a temporary name, which is renamed once all files are on disk. So a folder under its
    final name is always complete, whenever the build is killed.
    """
    if not folder.is_dir():
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        step(part)
        for path in sorted(part.iterdir()):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        part.rename(folder)
    return folder
