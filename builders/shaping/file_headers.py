"""The header of a Parquet file of ours: what made its columns, as JSON in the file's metadata, with its own digest.

Pages have checksums; so a file that was damaged or edited is an error, never other rows.
"""

import hashlib
from collections.abc import Mapping


def header_metadata(key: bytes, header: bytes) -> dict[bytes, bytes]:
    """The metadata of a file with a header: the header under the key, its sha256 in hex under `<key>.sha256`."""
    return {key: header, key + b".sha256": hashlib.sha256(header).hexdigest().encode()}


def read_header(metadata: Mapping[bytes, bytes] | None, key: bytes) -> bytes:
    """The header of a file from its metadata.

    Raises ValueError for a file without one, and for one that does not have its digest.
    """
    found = metadata or {}
    if key not in found:
        raise ValueError("no header")
    if header_metadata(key, found[key])[key + b".sha256"] != found.get(key + b".sha256"):
        raise ValueError("a header that does not have its digest")
    return found[key]
