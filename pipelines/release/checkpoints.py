"""What a killed build leaves to the next one of the same rows: whole intermediate files, below the cache.

    <cache>/kept/<dataset>/<digest>/    the files of one build (a sample: `sample-<digest>`), named by what they follow from
    <cache>/kept/.<dataset>.lock        held by the build that uses them, wherever its release goes

They go once the release is in its place. What is left of them where that was killed goes with the dataset's next build.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.release import fingerprint, staging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


@contextmanager
def checkpoint_dir(cache: Path, identity: Mapping[str, Any], say: Callable[[str], None]) -> Iterator[Path]:
    """A folder for one build, with what an earlier one left in it; removed when the block ends well.

    identity: what the build's rows follow from. The folders of a dataset's other builds are removed first: of each dataset no
    more than one lies there, and one of a sample, for whose sake hours of work are not thrown away.
    """
    dataset, begin = identity["dataset"], "sample-" if identity["sample"] else ""
    with staging.locked(cache / "kept", dataset, say):
        folder = cache / "kept" / dataset / f"{begin}{_digest(identity)}"
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            say(f"{dataset}: going on from what a build that did not end left in {folder}")
        for other in sorted(folder.parent.iterdir()):
            if other != folder and other.name.startswith("sample-") == bool(begin):
                _remove(other)
        yield folder
        _remove(folder)


def _digest(identity: Mapping[str, Any]) -> str:
    """SHA-256 over what intermediate files follow from: the raw bytes, the recipe, and the libraries that write them."""
    follows = {key: identity[key] for key in ("dataset", "splits", "limit", "recipe")}
    follows |= {"raw": [file["sha256"] for file in identity["raw"]], "tools": fingerprint.tools()}
    return hashlib.sha256(json.dumps(follows, sort_keys=True).encode()).hexdigest()


def _remove(folder: Path) -> None:
    """Remove a folder that may be taken for whole, under a name that is not: a kill may leave a part of it."""
    gone = folder.with_name("gone")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.is_dir():
        folder.rename(gone)
        shutil.rmtree(gone)
