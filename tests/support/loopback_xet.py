"""An in-memory Xet store, as hf_xet 1.8 speaks to one: xorbs and shards go in, the whereabouts of a file's bytes come out.

A xorb is a sequence of compressed chunks of many files. A shard lists files, each with its SHA-256 and with its chunks in
xorbs. A client fetches a file by asking for its reconstruction, then for ranges of xorbs.
"""

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

RECORD = 48  # bytes of every record of a shard, and of its header
END = b"\xff" * 32  # instead of a file's hash: the list of files ends
HAS_VERIFICATION, HAS_SHA256 = 1 << 31, 1 << 30
CHUNK_HEADER = 8  # version, compressed length (3 bytes), compression scheme, length (3 bytes)
PLAIN, LZ4, GROUPED_LZ4 = 0, 1, 2


class XetError(Exception):
    """A body that the store does not accept."""


class Chunk(NamedTuple):
    """A chunk of a xorb: the range of its bytes in the xorb, header included, and its content."""

    start: int
    stop: int
    content: bytes


class Term(NamedTuple):
    """A part of a file: the chunks of a xorb from `start` up to `stop`."""

    xorb: str
    length: int
    start: int
    stop: int


@dataclass
class XetStore:
    """xorbs: their bytes by hash. files: the terms of every file by its Xet hash. hashes: Xet hashes by SHA-256."""

    xorbs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def add_shard(self, shard: bytes) -> dict[str, bytes]:
        """Store the files of a shard; returns their content by SHA-256.

        Raises XetError where a xorb is missing, or a file has another SHA-256 than the shard says.
        """
        added = {}
        for xet_hash, terms, sha256 in read_shard(shard):
            content = self._content(terms)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise XetError(f"file {xet_hash} is not the one with the SHA-256 {sha256}")
            self.files[xet_hash], self.hashes[sha256] = terms, xet_hash
            added[sha256] = content
        return added

    def reconstruction(self, xet_hash: str, start: int, stop: int, url: str) -> dict[str, Any] | None:
        """Where the bytes of a file from `start` up to `stop` are, as the store's second protocol says it; None past its end.

        url: the base of the addresses of xorbs.
        """
        terms, offset, position = [], 0, 0
        for term in self.files[xet_hash]:
            if position < stop and position + term.length > start:
                offset = offset if terms else start - position
                terms.append(term)
            position += term.length
        if not terms:
            return None
        xorbs: dict[str, Any] = {}
        for term in terms:
            chunks = read_xorb(self.xorbs[term.xorb])[term.start : term.stop]
            located = {
                "chunks": {"start": term.start, "end": term.stop},
                "bytes": {"start": chunks[0].start, "end": chunks[-1].stop - 1},
            }
            # The address carries a signature, as those of the real store: no message may show it.
            xorbs.setdefault(term.xorb, []).append(
                {"url": f"{url}/{term.xorb}?signature=secret-{term.start}", "ranges": [located]}
            )
        listed = [
            {"hash": term.xorb, "unpacked_length": term.length, "range": {"start": term.start, "end": term.stop}}
            for term in terms
        ]
        return {"offset_into_first_range": offset, "terms": listed, "xorbs": xorbs}

    def _content(self, terms: tuple[Term, ...]) -> bytes:
        parts = []
        for term in terms:
            if term.xorb not in self.xorbs:
                raise XetError(f"xorb {term.xorb} was not uploaded")
            parts += [chunk.content for chunk in read_xorb(self.xorbs[term.xorb])[term.start : term.stop]]
        return b"".join(parts)


def read_xorb(xorb: bytes) -> list[Chunk]:
    """The chunks of a xorb; what follows them (its footer) is ignored."""
    chunks, start = [], 0
    while start + CHUNK_HEADER <= len(xorb) and xorb[start] == 0:
        packed, scheme = int.from_bytes(xorb[start + 1 : start + 4], "little"), xorb[start + 4]
        length = int.from_bytes(xorb[start + 5 : start + 8], "little")
        stop = start + CHUNK_HEADER + packed
        chunks.append(Chunk(start, stop, _unpack(xorb[start + CHUNK_HEADER : stop], scheme, length)))
        start = stop
    return chunks


def plain_chunk(content: bytes) -> bytes:
    """A chunk of a xorb that is not compressed."""
    length = len(content).to_bytes(3, "little")
    return b"\0" + length + bytes([PLAIN]) + length + content


def read_shard(shard: bytes) -> list[tuple[str, tuple[Term, ...], str]]:
    """The files of a shard: Xet hash, terms, SHA-256."""
    files, position = [], RECORD
    while shard[position : position + 32] != END:
        xet_hash, flags, count = _hex(shard[position:]), *struct.unpack_from("<II", shard, position + 32)
        position += RECORD
        terms = []
        for number in range(count):
            record = shard[position + number * RECORD :]
            _, length, start, stop = struct.unpack_from("<IIII", record, 32)
            terms.append(Term(_hex(record), length, start, stop))
        position += RECORD * count * (2 if flags & HAS_VERIFICATION else 1)
        if not flags & HAS_SHA256:
            raise XetError(f"file {xet_hash} has no SHA-256")
        files.append((xet_hash, tuple(terms), _hex(shard[position:])))
        position += RECORD
    return files


def _hex(record: bytes) -> str:
    """The hash at the beginning of a record, as Xet writes hashes: four little-endian numbers in hexadecimal."""
    return "".join(f"{number:016x}" for number in struct.unpack_from("<4Q", record))


def _unpack(data: bytes, scheme: int, length: int) -> bytes:
    """The content of a chunk."""
    if scheme == PLAIN:
        return data
    content = pa.decompress(data, length, codec="lz4", asbytes=True)
    if scheme == LZ4:
        return bytes(content)
    # Grouped: all bytes at positions 0, 4, 8 ..., then all at 1, 5, 9 ..., and so on.
    result, start = bytearray(length), 0
    for offset in range(4):
        size = len(range(offset, length, 4))
        result[offset::4] = content[start : start + size]
        start += size
    return bytes(result)
