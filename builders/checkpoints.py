"""Steps of a recipe that leave files behind, and that a killed build need not take again."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run_once(folder: Path, step: Callable[[Path], object]) -> Path:
    """The folder with all files that a step writes into it; if it is there already, the step is not taken.

    step: is given an empty folder of another name, which gets its own when all of it is on the disk: what has its name is whole,
    whenever the build is killed.
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
