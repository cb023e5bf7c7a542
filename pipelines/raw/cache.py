"""The cache of downloads: its default directory, its lock, and the error where it cannot be used."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import platformdirs

from builders.errors import SourceError
from pipelines.files import locked


def default_cache() -> Path:
    """EMBEDDING_DATASETS_CACHE, or else the directory where this system keeps a user's caches."""
    configured = os.environ.get("EMBEDDING_DATASETS_CACHE")
    if configured:
        return Path(configured).expanduser().absolute()
    return Path(platformdirs.user_cache_dir("embedding-datasets"))


@contextmanager
def lock_cached_file(path: Path, name: str, *, activity: str = "downloading") -> Iterator[None]:
    """Hold `<path>.lock`, so that no other command writes the same file of the cache; see `pipelines.files.locked`.

    Raises SourceError where the directory is not writable.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path.with_name(f"{path.name}.lock"), name, activity=activity))
        except OSError as error:
            raise unusable_cache_error(path.parent, error) from error
        yield


def unusable_cache_error(directory: Path, error: OSError) -> SourceError:
    """The error for a cache that cannot be written."""
    todo = "set EMBEDDING_DATASETS_CACHE to a writable directory"
    unusable = SourceError("the cache cannot be used", where=str(directory), found=str(error), todo=todo)
    return unusable.of_this_machine()
