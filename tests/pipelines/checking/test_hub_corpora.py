"""Corpora on the Hub: which files are read where they are, at one commit, and what they are called."""

import gzip
import os
import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import fsspec
import polars as pl
import pytest

from builders.errors import SourceError
from pipelines.checking.corpora import Corpus, open_corpus, read_partition
from pipelines.decontamination.engines import Engine, read_results, run_partitions
from tests.pipelines.decontamination.test_clean import content, run_scan
from tests.support.corpus_work import list_texts
from tests.support.foreign import write_json_lines
from tests.support.loopback_hub import READER, WRITER, Blob, Commit, Fault, LoopbackHub, Repo

NAME = "hf://datasets/org/corpus"
LAST = "bytes=8388608-12582911"  # of a file of 10 MB, in blocks of 4
FILES = {
    "README.md": b"# Corpus",
    "train/a.jsonl": b'{"text": "a"}\n',
    "train/b.jsonl.gz": gzip.compress(b'{"text": "b"}\n'),
    "test.csv": b"text\nc\n",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with LoopbackHub() as server:
        for name, rest in (
            ("ENDPOINT", ""),
            ("HUGGINGFACE_CO_URL_TEMPLATE", "/{repo_id}/resolve/{revision}/{filename}"),
        ):
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", f"{server.url}{rest}")
        monkeypatch.setenv("HF_ENDPOINT", server.url)  # for workers
        server.repos["org/corpus"] = Repo(private=False)
        tree = {path: Blob(content, lfs=False) for path, content in FILES.items()}
        server.repos["org/corpus"].add("main", Commit(tree, None, "first", ""))
        server.repos["org/corpus"].branches["refs/pr/1"] = server.repos["org/corpus"].branches["main"]
        server.commit("org/corpus", {"test.csv": b"text\nnew\n"})
        yield server
    fsspec.get_filesystem_class("hf").clear_instance_cache()


def texts_of(corpus: Corpus) -> dict[str, list[str]]:
    return {batch.file: batch.texts["text"].to_list() for part in corpus.partitions for batch in read_partition(part)}


def downloads(hub: LoopbackHub) -> list[str]:
    """The files that were read, one entry for each request, by their paths."""
    return [request.path.split("/", 6)[-1] for request in hub.log if "/resolve/" in request.path]


def test_a_repository_is_a_corpus_of_its_data_files_at_one_commit(hub: LoopbackHub) -> None:
    commit = hub.repos["org/corpus"].branches["main"]
    corpus = open_corpus([NAME])
    assert [file.address for file, _ in corpus.files] == [
        f"{NAME}@{commit}/{path}" for path in ("test.csv", "train/a.jsonl", "train/b.jsonl.gz")
    ]
    assert corpus.skipped == {f"{NAME}/README.md": len(b"# Corpus")}
    hub.commit("org/corpus", {"test.csv": b"text\nnewest\n", "train/a.jsonl": None})
    assert texts_of(corpus) == {
        f"{NAME}/test.csv": ["new"], f"{NAME}/train/a.jsonl": ["a"], f"{NAME}/train/b.jsonl.gz": ["b"],
    }  # fmt: skip
    assert {*downloads(hub)} == {"test.csv", "train/a.jsonl", "train/b.jsonl.gz"}
    same, newest = open_corpus([f"{NAME}@{commit}"]), open_corpus([NAME])
    assert [file.identity for file, _ in same.files] == [file.identity for file, _ in corpus.files]
    assert newest.files[0][0].identity != same.files[0][0].identity


def test_of_a_file_that_is_not_scanned_yet_the_beginning_and_the_end_are_read(hub: LoopbackHub, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": [os.urandom(60_000).hex() for _ in range(160)]})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=80)
    hub.commit("org/corpus", {"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    first, _ = open_corpus([f"{NAME}/a.parquet"], partition_bytes=1).partitions
    assert {*hub.ranges} == {"bytes=0-511", LAST}
    hub.ranges.clear()
    assert sum(len(batch.texts) for batch in read_partition(first)) == 80
    assert {*hub.ranges} == {"bytes=0-4194303", "bytes=4194304-8388607", LAST}, "its row group has 5 MB"


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (f"{NAME}/train", ["a.jsonl", "b.jsonl.gz"]),
        (f"{NAME}/train/*.gz", ["b.jsonl.gz"]),
        (f"{NAME}/**/*.jsonl", ["train/a.jsonl"]),
        (f"{NAME}@main/test.csv", ["test.csv"]),
    ],
)
def test_a_path_in_a_repository_is_a_part_of_it(hub: LoopbackHub, name: str, files: list[str]) -> None:
    assert [file.relative for file, _ in open_corpus([name]).files] == files


def test_a_revision_may_be_named_and_a_repository_as_for_check(hub: LoopbackHub) -> None:
    for name in (f"{NAME}@refs/pr/1", f"{NAME}@refs%2Fpr%2F1", "org/corpus@refs/pr/1"):
        assert texts_of(open_corpus([name]))[f"{name}/test.csv"] == ["c"]
    assert texts_of(open_corpus(["org/corpus"])) == {
        "org/corpus/test.csv": ["new"], "org/corpus/train/a.jsonl": ["a"], "org/corpus/train/b.jsonl.gz": ["b"],
    }  # fmt: skip


def test_what_the_hub_does_not_have_is_an_error(hub: LoopbackHub) -> None:
    for name in ("hf://datasets/org/other", f"{NAME}@v9", f"{NAME}/valid", f"{NAME}/README.md"):
        with pytest.raises(SourceError):
            open_corpus([name])


def test_a_path_that_leads_out_of_the_repository_is_not_followed(hub: LoopbackHub) -> None:
    hub.commit("org/corpus", {"../../../x.jsonl": b'{"text": "x"}\n'})
    assert [file.relative for file, _ in open_corpus([NAME]).files] == [
        "test.csv", "train/a.jsonl", "train/b.jsonl.gz",
    ]  # fmt: skip
    assert not any("x.jsonl" in path for path in downloads(hub))


def test_names_of_files_may_have_any_characters(hub: LoopbackHub) -> None:
    names = ["a b%20c.jsonl", "d@e#f&g=h+.jsonl", "й, {1}.jsonl"]
    hub.commit("org/corpus", {f"odd/{name}": b'{"text": "%d"}\n' % row for row, name in enumerate(names)})
    assert texts_of(open_corpus([f"{NAME}/odd"])) == {
        f"{NAME}/odd/{name}": [str(row)] for row, name in enumerate(names)
    }


def test_the_workers_read_the_files(hub: LoopbackHub, tmp_path: Path) -> None:
    texts = [f"text {row}" for row in range(300)]
    lines = "".join(f'{{"text": "{text}"}}\n' for text in texts).encode()
    hub.commit("org/corpus", {"lines/a.jsonl": lines, "lines/b.jsonl": lines})
    parts = open_corpus([f"{NAME}/lines"], partition_bytes=2_000).partitions
    (log := tmp_path / "log").mkdir()
    hub.log.clear()
    run_partitions(parts, partial(list_texts, log=str(log)), Engine(workers=2), tmp_path)
    assert pl.concat(read_results(tmp_path, parts))["text"].to_list() == texts * 2
    processes = {path.name.split("-")[1] for path in log.iterdir()}
    assert len(processes) == 2
    assert str(os.getpid()) not in processes
    assert downloads(hub).count("lines/a.jsonl") == downloads(hub).count("lines/b.jsonl") > 5


def files_of(folder: str) -> set[Path]:
    return {path for path in Path(folder).rglob("*") if path.is_file()}


def test_a_scan_and_a_clean_copy_are_those_of_the_same_files_here(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = files_of(os.environ["HF_HOME"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", READER)
    hub.repos["org/corpus"].private = True
    texts = [f"Текст number {row} with words" for row in range(200)]
    write_json_lines(tmp_path / "here" / "a.jsonl", *({"text": text} for text in texts))
    pl.DataFrame({"text": texts}).write_parquet(tmp_path / "here" / "b.parquet", row_group_size=50)
    hub.commit("org/corpus", {f"there/{name}": data for name, data in content(tmp_path / "here").items()})
    write_json_lines(tmp_path / "test.jsonl", *({"text": texts[row], "label": 0} for row in (3, 150)))
    assert run_scan("index", "test.jsonl", "--task", "Classification", "--output", "my.index") == 0
    name = f"{NAME}@main/there"
    for corpus, output, jobs in (("here", "local", 1), (name, "one", 1), (name, "two", 2)):
        options = "--matches", f"{output}.parquet", "--clean", output, "--jobs", str(jobs), "--cache", "cache"
        assert run_scan("scan", corpus, "--index", "my.index", *options) == 0
        found = pl.read_parquet(f"{output}.parquet").with_columns(
            pl.col("corpus_file").str.replace(name, "here", literal=True)
        )
        assert found.equals(pl.read_parquet("local.parquet"))
        assert content(tmp_path / output) == content(tmp_path / "local")
    assert found.height == 4
    assert [path for path in Path("cache").rglob("*") if path.is_file()] == []
    assert files_of(os.environ["HF_HOME"]) == stored


@pytest.mark.parametrize("token", [None, READER])
def test_a_process_without_access_says_so_and_no_token_is_in_its_task(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    hub.repos["org/corpus"].private, hub.repos["org/corpus"].gated = token is None, token is not None
    monkeypatch.setenv("HF_TOKEN", WRITER)
    corpus = open_corpus([NAME])
    assert WRITER.encode() not in pickle.dumps(corpus)
    monkeypatch.delenv("HF_TOKEN") if token is None else monkeypatch.setenv("HF_TOKEN", token)
    fsspec.get_filesystem_class("hf").clear_instance_cache()
    with pytest.raises(SourceError, match="access to the address is denied") as caught:
        texts_of(corpus)
    assert "HF_TOKEN" in (caught.value.todo or "")
    with pytest.raises(SourceError, match=r"the Hub answered 40[13]|no such repository"):
        open_corpus([NAME])


def test_an_answer_that_fails_is_asked_for_again(hub: LoopbackHub) -> None:
    corpus = open_corpus([f"{NAME}/train/a.jsonl"])
    hub.log.clear()
    hub.fail(0, Fault(status=503))
    assert texts_of(corpus) == {f"{NAME}/train/a.jsonl": ["a"]}
    assert [request.status for request in hub.log] == [503, 206]
