"""Embedding in batches: each text once, into a file that keeps the vectors of a model.

A file holds a vector for each pair of prefix and text, under a digest of both, with a checksum. mteb's own cache of embeddings is
not used: it has a folder for each task, so that a text of two versions or two tasks is embedded twice; its key is the row without
the prompt, so that other prompts would get the old vectors; and it is saved once all texts of a split are embedded, so that a
killed run starts again.
"""

import hashlib
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipelines.process.stages import stage
from pipelines.raw.digests import unusable_cache_error

Vectors = NDArray[np.float32]
Embed = Callable[[list[str]], Vectors]

logger = logging.getLogger(__name__)

FOLDER = "embeddings"  # below the cache: the files of all models
# A batch ends at either: vectors are saved and progress is counted once a batch.
BATCH_TEXTS = 32
BATCH_CHARACTERS = 10_000
QUERIED = 500  # keys in one query: SQLite allows at least 999 parameters
WAIT = 60  # seconds for another command that writes to the same file
TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL)"


def vectors_path(cache: Path, model: str, digest: str, packages: Mapping[str, str]) -> Path:
    """The file for the vectors of a model: other weights and other versions of its packages have another."""
    identity = json.dumps([model, digest, packages]).encode()
    name = re.sub(r"[^\w.-]+", "-", model)[-60:]
    return cache / f"{name}-{hashlib.sha256(identity).hexdigest()[:24]}.sqlite"


def embed_texts(path: Path, prefix: str, texts: Sequence[str], embed: Embed, what: str) -> Vectors:
    """The vectors of texts, one row each, in their order: from the cache, and computed where it lacks them.

    path: the file of the model. prefix: what `embed` puts before each text. embed: the vectors of texts; each
    must depend on its text alone. what: the model, for the progress. Each batch is saved when it is computed. A damaged file is
    deleted, with a warning, and its vectors are computed again.

    Raises SourceError where the file cannot be written.
    """
    if not texts:
        return np.zeros((0, 0), dtype="f4")
    keys = [_key(prefix, text) for text in texts]
    by_key = dict(zip(keys, texts, strict=True))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            vectors = _complete(path, by_key, embed, what)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            logger.warning("%s is damaged (%s): its embeddings are computed again", path, error)
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            vectors = _complete(path, by_key, embed, what)
    except (OSError, sqlite3.OperationalError) as error:
        raise unusable_cache_error(path.parent, OSError(str(error))) from error
    return np.stack([vectors[key] for key in keys])


def _complete(path: Path, by_key: dict[bytes, str], embed: Embed, what: str) -> dict[bytes, Vectors]:
    """The vector of each key; those that are missing are computed and saved, a batch at a time."""
    with closing(sqlite3.connect(path, timeout=WAIT)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute(TABLE)
        vectors = _read(database, list(by_key))
        missing = [key for key in by_key if key not in vectors]
        if not missing:
            return vectors
        with stage(f"embedding with {what}", total=len(missing), unit="texts") as advance:
            for batch in _batches(missing, by_key):
                computed = np.ascontiguousarray(embed([by_key[key] for key in batch]), dtype="<f4")
                rows = [
                    (key, data, _checksum(key, data))
                    for key, data in zip(batch, map(np.ndarray.tobytes, computed), strict=True)
                ]
                with database:
                    database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                vectors |= zip(batch, computed, strict=True)
                advance(len(batch))
    return vectors


def _read(database: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Vectors]:
    """The vectors of those keys that the file holds undamaged."""
    vectors = {}
    for start in range(0, len(keys), QUERIED):
        some = keys[start : start + QUERIED]
        query = f"SELECT key, vector, checksum FROM vectors WHERE key IN ({','.join('?' * len(some))})"  # noqa: S608
        for key, data, checksum in database.execute(query, some):
            if checksum == _checksum(key, data):
                vectors[key] = np.frombuffer(data, dtype="<f4")
    return vectors


def _batches(keys: list[bytes], by_key: dict[bytes, str]) -> list[list[bytes]]:
    """The keys in their order, in batches of a limited number of texts and characters; a longer text is a batch by itself."""
    batches: list[list[bytes]] = []
    size = 0
    for key in keys:
        length = len(by_key[key])
        if not batches or len(batches[-1]) == BATCH_TEXTS or size + length > BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(key)
        size += length
    return batches


def _key(prefix: str, text: str) -> bytes:
    """The digest of a prefix and a text: sha256 of the length of the prefix, the prefix and the text."""
    encoded = prefix.encode()
    return hashlib.sha256(len(encoded).to_bytes(8, "big") + encoded + text.encode()).digest()


def _checksum(key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(key + data, digest_size=16).digest()
