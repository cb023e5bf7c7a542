"""A ranking as a file: written a block of queries at a time, so that a killed run resumes, and compared with another one.

builders.shaping.mined_negatives describes the file and reads it.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError
from builders.shaping.file_headers import header_metadata
from builders.shaping.mined_negatives import KEY, RankingHeader, encode_header, read_ranking_header
from pipelines.files import replacing

Places = npt.NDArray[np.int64]

NONE = 0xFFFF_FFFF  # in the unfinished file: a rank that the pool is too small for
ROW_GROUP_ROWS = 65_536
SCHEMA = pa.schema([pa.field("candidates", pa.list_(pa.field("element", pa.uint32(), nullable=False)), nullable=False)])


def write_ranking(
    target: Path,
    header: RankingHeader,
    rank: Callable[[int], Iterable[list[Places]]],
    block: int,
    advance: Callable[[int], None],
) -> None:
    """Write the ranking of all queries into a file, completely or not at all.

    rank: blocks of queries from a given one on, a list of `block` queries each; for each query the places of the documents up to
    the last rank. advance: called with the number of queries that are ranked. Each block is written to a file beside the target,
    from which the next call with the same header resumes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    first, last = header.ranks
    width = last - first + 1
    done = _resume(part, header, width, block)
    advance(done)
    with part.open("ab") as file:
        for lists in rank(done):
            rows = np.full((len(lists), width), NONE, dtype="<u4")
            for row, places in zip(rows, lists, strict=True):
                candidates = places[first - 1 : last]
                row[: len(candidates)] = candidates
            file.write(rows.tobytes())
            file.flush()
            advance(len(lists))
        os.fsync(file.fileno())
    _write_parquet(target, header, part, width)
    part.unlink()


def overlap(one: Path, other: Path) -> tuple[float, float]:
    """The share of candidates that two rankings of the same queries have in common: the mean over queries, and the least.

    Raises SourceError for files that are not rankings, or not of the same pool and queries.
    """
    (header, lists), (other_header, other_lists) = _read(one), _read(other)
    if (header.pool, header.queries, header.ranks) != (other_header.pool, other_header.queries, other_header.ranks):
        raise SourceError(
            "rankings of different texts",
            where=f"{one} and {other}",
            found="another pool, other queries or other ranks",
            expected="one pool, the same queries and the same ranks",
            todo="mine the same version of the dataset",
        )
    shares = [
        len(set(some) & set(others)) / max(len(some), len(others), 1) if some or others else 1.0
        for some, others in zip(lists.to_pylist(), other_lists.to_pylist(), strict=True)
    ]
    return (sum(shares) / len(shares), min(shares)) if shares else (1.0, 1.0)


def _read(path: Path) -> tuple[RankingHeader, pa.ChunkedArray]:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return read_ranking_header(file), file.read()["candidates"]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        found = str(error).partition("\n")[0][:200]
        raise SourceError("not a ranking of documents, or damaged", where=str(path), found=found) from error


def _resume(part: Path, header: RankingHeader, width: int, block: int) -> int:
    """The number of queries that an earlier call with this header ranked, in whole blocks; its file is cut to them."""
    start = encode_header(header) + b"\n"
    size = 4 * width * block
    blocks = 0
    if part.exists():
        with part.open("rb") as file:
            if file.read(len(start)) == start:
                blocks = (part.stat().st_size - len(start)) // size
    if blocks:
        os.truncate(part, len(start) + blocks * size)
    else:
        part.write_bytes(start)
    return min(blocks * block, header.queries.count)


def _write_parquet(target: Path, header: RankingHeader, part: Path, width: int) -> None:
    """The finished file from the unfinished one."""
    offset = len(encode_header(header)) + 1
    rows = np.memmap(part, dtype="<u4", mode="r", offset=offset, shape=(header.queries.count, width))
    options = {"compression": "zstd", "write_page_checksum": True, "store_schema": False, "version": "2.6"}
    with replacing(target) as unfinished, pq.ParquetWriter(unfinished, SCHEMA, **options) as writer:
        for begin in range(0, len(rows), ROW_GROUP_ROWS):
            some = np.asarray(rows[begin : begin + ROW_GROUP_ROWS])
            is_candidate = some != NONE
            bounds = np.concatenate([[0], np.cumsum(is_candidate.sum(axis=1))]).astype(np.int32)
            lists = pa.ListArray.from_arrays(
                bounds, pa.array(some[is_candidate], pa.uint32()), type=SCHEMA.field(0).type
            )
            writer.write_table(pa.table([lists], schema=SCHEMA))
        writer.add_key_value_metadata(header_metadata(KEY, encode_header(header)))
