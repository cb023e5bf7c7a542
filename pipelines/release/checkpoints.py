"""Checkpoints of builds that take long: files below the cache that outlive a killed build, for the next build of the same rows.

    <cache>/checkpoints/<dataset>/<digest>/    the files of one build (of a sample: `sample-<digest>`)
    <cache>/checkpoints/.<dataset>.lock        held by the build that uses them, whatever its --output

They are removed once the release is complete. If that removal is killed, the dataset's next build removes the rest.
"""

import contextlib
import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from cards.manifest import Identity
from pipelines.release import fingerprint
from pipelines.release.staging import dataset_lock

logger = logging.getLogger(__name__)


@contextmanager
def checkpoint_dir(cache: Path, identity: Identity) -> Iterator[Path]:
    """A folder for the checkpoints of one build, with those an earlier one left; removed when the block ends without an error.

    identity: what the rows follow from. The folders of the dataset's other builds are removed first, so each dataset has at
    most one; a sample has one of its own, so that it never throws away hours of work.
    """
    prefix = "sample-" if identity.sample else ""
    with dataset_lock(cache / "checkpoints", identity.dataset):
        folder = cache / "checkpoints" / identity.dataset / f"{prefix}{_digest(identity)}"
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            logger.info("%s: resuming from the checkpoints in %s", identity.dataset, folder)
        for other in sorted(folder.parent.iterdir()):
            if other != folder and other.name.startswith("sample-") == bool(prefix):
                _remove(other)
        try:
            yield folder
            _remove(folder)
        finally:
            for empty in (folder, folder.parent):
                with contextlib.suppress(OSError):  # not empty, or removed already
                    empty.rmdir()


def _digest(identity: Identity) -> str:
    """SHA-256 over what the checkpoints follow from: the raw bytes, the recipe, and the libraries that write them."""
    inputs = {
        "dataset": identity.dataset,
        "splits": identity.splits,
        "limit": identity.limit,
        "recipe": asdict(identity.recipe),
        "raw": [file.sha256 for file in identity.raw],
        "tools": fingerprint.tools(),
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _remove(folder: Path) -> None:
    """Remove a folder after renaming it: a kill half-way must not leave a part of it under a name that counts as complete."""
    removed = folder.with_name("removed")
    shutil.rmtree(removed, ignore_errors=True)
    if folder.is_dir():
        folder.rename(removed)
        shutil.rmtree(removed)
