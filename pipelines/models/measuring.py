"""Numbers that a tokenizer or a model gives for texts: measured once, written as a raw file, so that no build needs a model.

Texts are measured in blocks, and each block is a file beside the target, so an interrupted command resumes after the last one.
builders/shaping/measurements.py reads what is written here; docs/training.md describes it.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from builders.errors import SourceError
from builders.shaping.benchmark_index import header_metadata
from builders.shaping.measurements import (
    COSINE_STEPS,
    FORMAT,
    KEY,
    TOKENS,
    TYPES,
    content_digest,
    hash_pairs,
    hash_texts,
    read_columns,
    read_measurements,
)
from builders.spec import Measurement, Raw
from pipelines.models.loading import MeasuringModel
from pipelines.process.files import replacing
from pipelines.process.resumable import discard, resumable_folder

Array = npt.NDArray[Any]

BLOCKS = {"tokens": 20_000, "cosine": 2_048}  # texts or pairs in a block: a few minutes of work at most
COLUMNS = {"tokens": ["text"], "cosine": ["first", "second"]}
ROW_GROUP_ROWS = 1 << 20


def write_measurements(batches: Iterable[pl.DataFrame], model: MeasuringModel, target: Path) -> int:
    """Measure texts and write the file, completely or not at all. Returns the number of different texts or pairs.

    batches: as in builders.spec.Measurement. What an interrupted call with the same texts and model has measured is taken over.
    The bytes of the file follow from the texts and the numbers alone, however often the work was interrupted.
    """
    keys, values = [np.empty(0, np.uint64)], [np.empty(0, TYPES[model.kind])]
    unit = " texts" if model.kind == TOKENS else " pairs"
    bar = tqdm(desc=f"measuring {target.name}", unit=unit, unit_scale=True, file=sys.stderr, disable=None)
    with resumable_folder(_parts(target)) as parts, bar:
        for number, block in enumerate(_cut_blocks(batches, model.kind)):
            block_keys = hash_block(block)
            part = parts / f"{number:06}.parquet"
            block_values = _read_part(part, model, block_keys)
            if block_values is None:
                block_values = np.asarray(list(model.measure(block)), TYPES[model.kind])
                write_file(part, model, block_keys, block_values)
            keys.append(block_keys)
            values.append(block_values)
            bar.update(block.height)
        different, first = np.unique(np.concatenate(keys), return_index=True)
        write_file(target, model, different, np.concatenate(values)[first])
    return len(different)


def check_measurements(measurement: Measurement, inputs: Mapping[str, Raw], raw: Raw, model: str | None) -> None:
    """Look up every text or pair of a source in the file that exists already.

    model: the one that it must be of, as builders.shaping.measurements.read_measurements takes it; None for any.

    Raises SourceError for a file that is damaged, of another model, or lacks some.
    """
    discard(_parts(raw.path))  # of a call that was killed at its end
    known = read_measurements(raw, measurement.kind, model or str(read_columns(raw)[0].get("model")))
    for batch in measurement.texts(inputs):
        columns = [batch[name] for name in COLUMNS[measurement.kind]]
        _ = known.of(*columns) if measurement.kind == TOKENS else known.of_pairs(*columns)


def describe_measurements(raw: Raw) -> str:
    """A file of measurements in a line: where it is, what it has, by which model."""
    header, keys, values = read_columns(raw)
    if header["kind"] == TOKENS:
        what, most = "texts", f"up to {int(values.max(initial=0)):,} tokens"
    else:
        median = float(np.median(values)) / COSINE_STEPS if len(values) else 0.0
        what, most = "pairs", f"median cosine {median:.2f}"
    return f"{raw.path}: {len(keys):,} {what}, {most}, {header['model']}"


def write_file(path: Path, model: MeasuringModel, keys: Array, values: Array) -> None:
    """Write a file of measurements. keys, values: in the order of the file."""
    header = _describe(model) | {"rows": len(keys), "content": content_digest(keys, values)}
    number = pa.int32() if values.dtype == np.int32 else pa.uint32()
    schema = pa.schema([pa.field("key", pa.uint64(), nullable=False), pa.field("value", number, nullable=False)])
    with (
        replacing(path) as part,
        pq.ParquetWriter(
            part,
            schema,
            compression="zstd",
            use_dictionary=["value"],
            write_statistics=False,
            write_page_checksum=True,
            store_schema=False,
            version="2.6",
        ) as writer,
    ):
        table = pa.Table.from_arrays([pa.array(keys), pa.array(values)], schema=schema)
        writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        writer.add_key_value_metadata(header_metadata(KEY, json.dumps(header, sort_keys=True).encode()))


def hash_block(block: pl.DataFrame) -> Array:
    """The keys of a batch of texts or pairs."""
    columns = block.get_columns()
    return hash_texts(columns[0]) if len(columns) == 1 else hash_pairs(columns[0], columns[1])


def _parts(target: Path) -> Path:
    """The folder of the blocks of a file that is not complete."""
    return target.with_name(f"{target.name}.parts")


def _describe(model: MeasuringModel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": model.kind,
        "model": model.name,
        "files": dict(model.files),
        "libraries": dict(model.libraries),
    }


def _cut_blocks(batches: Iterable[pl.DataFrame], kind: str) -> Iterator[pl.DataFrame]:
    """The batches in blocks of BLOCKS[kind] rows, however they are divided; without the repeated rows of a block."""
    size, rest = BLOCKS[kind], pl.DataFrame(schema=dict.fromkeys(COLUMNS[kind], pl.String))
    for batch in batches:
        rest = pl.concat([rest, batch.select(COLUMNS[kind])])
        while rest.height >= size:
            yield rest.head(size).unique(maintain_order=True)
            rest = rest.slice(size)
    if rest.height:
        yield rest.unique(maintain_order=True)


def _read_part(path: Path, model: MeasuringModel, keys: Array) -> Array | None:
    """The values of a block that an interrupted call wrote; None if there are none, or of other texts or another model."""
    if not path.is_file():
        return None
    try:
        header, part_keys, values = read_columns(Raw(path.name, path))
    except SourceError:
        return None
    return values if _describe(model).items() <= header.items() and np.array_equal(part_keys, keys) else None
