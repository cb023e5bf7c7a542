"""Numbers that a tokenizer or a model gives for texts: measured once, written as a raw file, so that no build needs a model.

Texts are measured in blocks, and each block is a file beside the target, so an interrupted command resumes after the last one.
builders/shaping/measurements.py reads what is written here; docs/training.md describes it.

They need transformers, and for a cosine sentence-transformers and torch: the extra `measurements` of this package.
"""

import hashlib
import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from builders.errors import SourceError, UsageError
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
from pipelines.process.files import replacing

Array = npt.NDArray[Any]

BLOCKS = {"tokens": 20_000, "cosine": 2_048}  # texts or pairs in a block: a few minutes of work at most
COLUMNS = {"tokens": ["text"], "cosine": ["first", "second"]}
ROW_GROUP_ROWS = 1 << 20


@dataclass(frozen=True)
class MeasuringModel:
    """What measures texts. name: `name@revision`. files: sha256 by name. libraries: versions by name.

    measure: the numbers of a batch with the columns COLUMNS[kind].
    """

    kind: str
    name: str
    measure: Callable[[pl.DataFrame], Iterable[int]]
    files: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


def write_measurements(batches: Iterable[pl.DataFrame], model: MeasuringModel, target: Path) -> int:
    """Measure texts and write the file, completely or not at all. Returns the number of different texts or pairs.

    batches: as in builders.spec.Measurement. What an interrupted call with the same texts and model has measured is taken over.
    The bytes of the file follow from the texts and the numbers alone, however often the work was interrupted.
    """
    parts = _parts(target)
    parts.mkdir(parents=True, exist_ok=True)
    keys, values = [np.empty(0, np.uint64)], [np.empty(0, TYPES[model.kind])]
    unit = " texts" if model.kind == TOKENS else " pairs"
    with tqdm(desc=f"measuring {target.name}", unit=unit, unit_scale=True, file=sys.stderr, disable=None) as bar:
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
    shutil.rmtree(parts)
    return len(different)


def check_measurements(measurement: Measurement, inputs: Mapping[str, Raw], raw: Raw, model: str | None) -> None:
    """Look up every text or pair of a source in the file that exists already.

    model: the one that it must be of, as builders.shaping.measurements.read_measurements takes it; None for any.

    Raises SourceError for a file that is damaged, of another model, or lacks some.
    """
    shutil.rmtree(_parts(raw.path), ignore_errors=True)  # of a call that was killed at its end
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
    described = _describe(model) | {"rows": len(keys), "content": content_digest(keys, values)}
    header = json.dumps(described, sort_keys=True).encode()
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
        writer.add_key_value_metadata(header_metadata(KEY, header))


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
    same = _describe(model).items() <= header.items() and np.array_equal(part_keys, keys)
    return values if same else None


TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json",
    "*.model", "config.json",
)  # fmt: skip
MODEL_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin")  # not those of other frameworks
OTHER_FRAMEWORKS = ("onnx/*", "openvino/*")
LIBRARIES = {
    "tokens": ("tokenizers", "transformers"),
    "cosine": ("numpy", "sentence-transformers", "tokenizers", "torch", "transformers"),
}
BATCH = 32  # pairs that the model takes at once


def load_model(measurement: Measurement, folder: Path | None, *, offline: bool = False) -> MeasuringModel:
    """The model of a measurement, or the one in a folder.

    offline: take it from the Hub's cache on this machine only.

    Raises UsageError where a library is not installed or the folder has no model, SourceError where the model cannot be loaded.
    """
    is_tokenizer = measurement.kind == TOKENS
    library = "transformers" if is_tokenizer else "sentence_transformers"
    try:  # by name: the type checker need not know what is optional
        hub, transformers, loading = map(importlib.import_module, ("huggingface_hub", "transformers", library))
    except ImportError as error:
        what = f"measuring needs {library.replace('_', '-')}"
        raise UsageError(what, found=str(error), todo="pip install '.[measurements]'") from error
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    patterns = TOKENIZER_FILES if is_tokenizer else MODEL_FILES
    where = str(folder) if folder else "@".join(filter(None, (measurement.model, measurement.revision)))
    try:
        path = folder or _download(hub, measurement, patterns, offline=offline)
        files = _digest_files(path, patterns)
    except (OSError, ValueError) as error:
        raise _unusable(where, error) from error
    if not files:
        todo = "correct --model" if folder else None
        raise UsageError("no model found", where=where, expected=", ".join(patterns), todo=todo)
    try:
        measure = _load_tokenizer(loading, path) if is_tokenizer else _load_encoder(loading, path)
    except Exception as error:
        raise _unusable(where, error) from error
    name = _local_name(folder, files) if folder else f"{measurement.model}@{path.name}"
    libraries = {library: version(library) for library in LIBRARIES[measurement.kind]}
    return MeasuringModel(measurement.kind, name, measure, files, libraries)


def _unusable(where: str, error: Exception) -> SourceError:
    todo = "check the connection to the Hub, or put the model into its cache on this machine"
    found = str(error).strip().split("\n", 1)[0] or type(error).__name__
    return SourceError("the model cannot be loaded", where=where, found=found, todo=todo)


def _download(hub: Any, measurement: Measurement, patterns: tuple[str, ...], *, offline: bool) -> Path:
    """The folder of a model's files; its name is the commit."""
    return Path(
        hub.snapshot_download(
            measurement.model,
            revision=measurement.revision or None,
            allow_patterns=list(patterns),
            ignore_patterns=list(OTHER_FRAMEWORKS),
            local_files_only=offline,
        )
    )


def _load_tokenizer(transformers: Any, path: Path) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path))

    def count(block: pl.DataFrame) -> Iterable[int]:
        texts = block["text"].to_list()
        # Not verbose: it would warn of texts that are too long for the model, and those are what we look for.
        encoded = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]

    return count


def _load_encoder(sentence_transformers: Any, path: Path) -> Any:
    encoder = sentence_transformers.SentenceTransformer(str(path))

    def embed(texts: pl.Series) -> Any:
        vectors = encoder.encode(texts.to_list(), batch_size=BATCH, show_progress_bar=False).astype(np.float64)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def compare(block: pl.DataFrame) -> Iterable[int]:
        cosines = (embed(block["first"]) * embed(block["second"])).sum(axis=1)
        rounded: list[int] = np.rint(cosines * COSINE_STEPS).astype(np.int32).tolist()  # half to even
        return rounded

    return compare


def _digest_files(path: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """The sha256 of the files of a model, by their names below its folder."""
    found = {file.relative_to(path).as_posix(): file for pattern in patterns for file in path.rglob(pattern)}
    digests = {}
    for name in sorted(found):
        if found[name].is_file() and not any(part in ("onnx", "openvino") for part in Path(name).parts):
            with found[name].open("rb") as stream:
                digests[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return digests


def _local_name(folder: Path, files: Mapping[str, str]) -> str:
    """The name of a model in a folder: the folder's, and the digest of the list of its files."""
    listed = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return f"{folder.resolve().name}@sha256:{hashlib.sha256(listed.encode()).hexdigest()}"
