"""The digest of the weights of a model: of files, hashed once and again when they change."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from builders.errors import SourceError
from pipelines.files import file_sha256, write_atomically

# Files of a model in a folder that do not change what it computes.
NOT_WEIGHTS = {".md", ".png", ".jpg", ".gitattributes", ".onnx", ".ot", ".msgpack", ".h5"}


def weights_digest(files: Sequence[Path], cache: Path) -> str:
    """The sha256 of a file; of several files, the sha256 of the lines `<sha256>  <name>` in their order.

    cache: the folder that remembers the digest of a file by its path, size and time of change.

    Raises SourceError for a file that cannot be read.
    """
    try:
        digests = [_file_digest(file, cache) for file in files]
    except OSError as error:
        todo = "install the package of the model again"
        raise SourceError("the weights of the model cannot be read", found=str(error), todo=todo) from error
    if len(digests) == 1:
        return digests[0]
    lines = [f"{digest}  {file.name}\n" for digest, file in zip(digests, files, strict=True)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def model_files(model_dir: Path) -> list[Path]:
    """The files of a model in a folder, by name: weights, tokenizer and settings."""
    files = (path for path in model_dir.rglob("*") if path.is_file() and path.suffix not in NOT_WEIGHTS)
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(model_dir).parts))


def _file_digest(file: Path, cache: Path) -> str:
    status = file.stat()
    name = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:32]
    remembered, identity = cache / f"{name}.json", [status.st_size, status.st_mtime_ns]
    try:
        known = json.loads(remembered.read_bytes())
        if known["identity"] == identity and len(known["sha256"]) == 64:
            return str(known["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    digest = file_sha256(file)
    cache.mkdir(parents=True, exist_ok=True)
    write_atomically(remembered, json.dumps({"identity": identity, "sha256": digest}))
    return digest
