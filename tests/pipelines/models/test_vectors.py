"""pipelines.models.vectors: nothing is embedded twice, and a damaged file gives no wrong vector."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from builders.errors import SourceError
from pipelines.models import vectors
from pipelines.models.vectors import Vectors, embed_texts

TEXTS = [f"текст {number}" for number in range(200)]


class Counter:
    """A fake model: it embeds a text as its length and its first letters, and remembers what it was asked."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.texts: list[str] = []
        self.fails_after = fails_after

    def __call__(self, texts: list[str]) -> Vectors:
        if self.fails_after is not None and len(self.texts) + len(texts) > self.fails_after:
            raise KeyboardInterrupt
        self.texts += texts
        return vectors_of(texts)


def vectors_of(texts: list[str]) -> Vectors:
    return np.array([[len(text), sum(text.encode()), 0.1] for text in texts], dtype="f4")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.sqlite"


def test_each_text_is_embedded_once_and_the_vectors_are_in_the_order_of_the_texts(path: Path) -> None:
    model, texts = Counter(), ["б", "а", "б", "в"]
    first = embed_texts(path, "query: ", texts, model, "fake")
    assert (first == vectors_of(texts)).all()
    assert embed_texts(path, "query: ", texts, model, "fake").tobytes() == first.tobytes()
    assert model.texts == ["б", "а", "в"]
    assert embed_texts(path, "query: ", [], model, "fake").shape == (0, 0)


def test_after_a_kill_only_what_is_missing_is_embedded(path: Path) -> None:
    killed = Counter(fails_after=150)
    with pytest.raises(KeyboardInterrupt):
        embed_texts(path, "", TEXTS, killed, "fake")
    assert 0 < len(killed.texts) < len(TEXTS)
    resumed = Counter()
    vectors = embed_texts(path, "", TEXTS, resumed, "fake")
    assert resumed.texts == TEXTS[len(killed.texts) :]
    assert (vectors == vectors_of(TEXTS)).all()


def test_another_prefix_has_other_vectors(path: Path) -> None:
    embed_texts(path, "query: ", ["текст"], Counter(), "fake")
    for prefix, text in [("passage: ", "текст"), ("", "query: текст"), ("query: т", "екст")]:
        model = Counter()
        embed_texts(path, prefix, [text], model, "fake")
        assert model.texts == [text]


def test_batches_end_at_a_number_of_texts_and_of_characters(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BATCH_TEXTS", 3)
    monkeypatch.setattr(vectors, "BATCH_CHARACTERS", 10)
    batches: list[list[str]] = []

    def embed(texts: list[str]) -> Vectors:
        batches.append(texts)
        return vectors_of(texts)

    embed_texts(path, "", ["a", "b", "c", "d" * 20, "e" * 6, "f" * 6], embed, "fake")
    assert batches == [["a", "b", "c"], ["d" * 20], ["e" * 6], ["f" * 6]]


def test_a_vector_that_was_changed_on_disk_is_computed_again(path: Path) -> None:
    embed_texts(path, "", TEXTS[:3], Counter(), "fake")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE vectors SET vector = zeroblob(12) WHERE key = (SELECT min(key) FROM vectors)")
    model = Counter()
    assert (embed_texts(path, "", TEXTS[:3], model, "fake") == vectors_of(TEXTS[:3])).all()
    assert len(model.texts) == 1


@pytest.mark.parametrize("damage", ["other bytes", "cut", "zeros inside"])
def test_a_damaged_file_is_rebuilt_with_a_warning(path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    embed_texts(path, "", TEXTS, Counter(), "fake")
    data = path.read_bytes()
    damaged = {
        "other bytes": b"not a database" * 999,
        "cut": data[: len(data) // 2],
        "zeros inside": data[:4096] + bytes(len(data) - 4096),
    }
    path.write_bytes(damaged[damage])
    model = Counter()
    assert (embed_texts(path, "", TEXTS, model, "fake") == vectors_of(TEXTS)).all()
    assert model.texts == TEXTS
    assert "is damaged" in capsys.readouterr().err
    again = Counter()
    embed_texts(path, "", TEXTS, again, "fake")
    assert again.texts == []


def test_a_cache_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SourceError, match=r"(?s)the cache cannot be used.*EMBEDDING_DATASETS_CACHE"):
        embed_texts(tmp_path / "file" / "model.sqlite", "", ["текст"], Counter(), "fake")
