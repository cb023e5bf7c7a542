"""Corpora on the Hub: which files are downloaded, once, and what they are called."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.errors import SourceError
from pipelines.checking.corpora import Corpus, open_corpus, read_partition
from pipelines.hub import client
from tests.support.loopback_hub import Blob, Commit, LoopbackHub, Repo

NAME = "hf://datasets/org/corpus"
FILES = {
    "README.md": b"# Corpus",
    "train/a.jsonl": b'{"text": "a"}\n',
    "train/b.jsonl.gz": gzip.compress(b'{"text": "b"}\n'),
    "test.csv": b"text\nc\n",
}


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub() as server:
        server.repos["org/corpus"] = Repo(private=False)
        tree = {path: Blob(content, lfs=False) for path, content in FILES.items()}
        server.repos["org/corpus"].add("main", Commit(tree, None, "first", ""))
        server.repos["org/corpus"].branches["refs/pr/1"] = server.repos["org/corpus"].branches["main"]
        server.commit("org/corpus", {"test.csv": b"text\nnew\n"})
        yield server


def open_on(hub: LoopbackHub, name: str, cache: Path) -> Corpus:
    return open_corpus([name], hub=client.connect(endpoint=hub.url), cache=cache)


def texts_of(corpus: Corpus) -> dict[str, list[str]]:
    return {batch.file: batch.texts["text"].to_list() for part in corpus.partitions for batch in read_partition(part)}


def test_a_repository_is_a_corpus_of_its_data_files_which_are_downloaded_once(hub: LoopbackHub, tmp_path: Path) -> None:
    expected = {f"{NAME}/test.csv": ["new"], f"{NAME}/train/a.jsonl": ["a"], f"{NAME}/train/b.jsonl.gz": ["b"]}
    corpus = open_on(hub, NAME, tmp_path)
    assert texts_of(corpus) == expected
    assert corpus.skipped == (f"{NAME}/README.md",)
    downloads = [request.path for request in hub.log if "/resolve/" in request.path]
    assert downloads
    assert not any("README" in path for path in downloads)
    hub.log.clear()
    again = open_on(hub, NAME, tmp_path)
    assert texts_of(again) == expected
    assert not any("/resolve/" in request.path for request in hub.log)
    assert [file.identity for file, _ in again.files] == [file.identity for file, _ in corpus.files]


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (f"{NAME}/train", ["train/a.jsonl", "train/b.jsonl.gz"]),
        (f"{NAME}/train/*.gz", ["train/b.jsonl.gz"]),
        (f"{NAME}@main/test.csv", ["test.csv"]),
    ],
)
def test_a_path_in_a_repository_is_a_part_of_it(hub: LoopbackHub, tmp_path: Path, name: str, files: list[str]) -> None:
    assert [file.relative for file, _ in open_on(hub, name, tmp_path).files] == files


@pytest.mark.parametrize("revision", ["refs/pr/1", "refs%2Fpr%2F1"])
def test_a_revision_may_be_named(hub: LoopbackHub, tmp_path: Path, revision: str) -> None:
    name = f"{NAME}@{revision}/test.csv"
    assert texts_of(open_on(hub, name, tmp_path)) == {name: ["c"]}


def test_a_repository_may_be_named_as_for_check(hub: LoopbackHub, tmp_path: Path) -> None:
    assert texts_of(open_on(hub, "org/corpus@refs/pr/1", tmp_path))["org/corpus@refs/pr/1/test.csv"] == ["c"]
    assert texts_of(open_on(hub, "org/corpus", tmp_path)) == {
        "org/corpus/test.csv": ["new"], "org/corpus/train/a.jsonl": ["a"], "org/corpus/train/b.jsonl.gz": ["b"],
    }  # fmt: skip


def test_what_the_hub_does_not_have_is_an_error(hub: LoopbackHub, tmp_path: Path) -> None:
    for name in ("hf://datasets/org/other", f"{NAME}@v9", f"{NAME}/valid", f"{NAME}/README.md"):
        with pytest.raises(SourceError):
            open_on(hub, name, tmp_path)


def test_a_path_that_leads_out_of_the_repository_is_not_followed(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.commit("org/corpus", {"../../../x.jsonl": b'{"text": "x"}\n', "/etc/y.jsonl": b'{"text": "y"}\n'})
    assert [file.relative for file, _ in open_on(hub, NAME, tmp_path / "a" / "b").files] == [
        "test.csv", "train/a.jsonl", "train/b.jsonl.gz",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["a.jsonl"]
