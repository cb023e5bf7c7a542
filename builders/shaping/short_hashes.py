"""Hashes of texts in 8 bytes: BLAKE2b, read as a little-endian number."""

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes = npt.NDArray[np.uint64]


def hash_messages(messages: Iterable[bytes]) -> Hashes:
    """The hash of each message."""
    return _as_numbers(hashlib.blake2b(message, digest_size=8).digest() for message in messages)


def hash_texts(texts: pl.Series) -> Hashes:
    """The hash of each text in UTF-8; 0 for an empty text, which no index has."""
    return _as_numbers(hashlib.blake2b(text.encode(), digest_size=8).digest() if text else bytes(8) for text in texts)


def _as_numbers(digests: Iterable[bytes]) -> Hashes:
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
