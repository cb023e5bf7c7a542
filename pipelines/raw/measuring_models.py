"""The tokenizers and models that measure texts: from the Hub, its cache on this machine, or a folder.

They need transformers, and for a cosine sentence-transformers and torch: the extra `measurements` of this package.
"""

import hashlib
import importlib
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builders.errors import SourceError, UsageError
from builders.shaping.measurements import COSINE_STEPS, TOKENS
from builders.spec import Measurement
from pipelines.raw.measuring import MeasuringModel

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
