"""Corpora at addresses: an S3 server on loopback, and file systems of fsspec in this process, read as local files are."""

import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pyarrow as pa
import pytest

from builders.errors import DatasetError, SourceError, UsageError
from pipelines.checking.corpora import open_corpus, read_partition
from pipelines.checking.data_files import require_unchanged
from tests.pipelines.decontamination.test_clean import content, run_scan
from tests.support.buckets import BUCKET, open_bucket, requiring_credentials, upload
from tests.support.foreign import write_json_lines

TEXTS = [f"Текст number {row} with words" for row in range(200)]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with open_bucket() as opened:
        yield opened


def warc_record(text: str) -> bytes:
    content = text.encode()
    head = f"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


def write_corpus(folder: Path) -> Path:
    """The texts as a file in each format."""
    (folder / "sub").mkdir(parents=True)
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in TEXTS).encode()
    frame = pl.DataFrame({"text": TEXTS})
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "sub" / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "c.jsonl.zst").write_bytes(pa.compress(lines, codec="zstd", asbytes=True))
    (folder / "d.txt.xz").write_bytes(lzma.compress("\n".join(TEXTS).encode()))
    (folder / "e.txt").write_text("\n".join(TEXTS), "utf-8")
    (folder / "f.csv").write_bytes(frame.write_csv().encode())
    (folder / "g.json").write_text(json.dumps([{"text": text} for text in TEXTS]), "utf-8")
    frame.write_parquet(folder / "sub" / "h.parquet", row_group_size=50)
    frame.write_ipc(folder / "i.arrow", compat_level=pl.CompatLevel.oldest())
    (folder / "j.warc.gz").write_bytes(b"".join(gzip.compress(warc_record(text)) for text in TEXTS))
    (folder / ".hidden.jsonl").write_bytes(lines)
    (folder / "notes.md").write_text("# Notes", "utf-8")
    return folder


def texts(name: str, size: int = 1 << 30) -> dict[str, list[str]]:
    """The texts of a corpus by the relative path of their file."""
    found: dict[str, list[str]] = {}
    for part in open_corpus([name], ["text"], partition_bytes=size).partitions:
        for batch in read_partition(part):
            found.setdefault(part.file.relative, []).extend(batch.texts["text"])
    return found


def test_files_of_all_formats_are_read_where_they_are(tmp_path: Path, client: Any) -> None:
    local = write_corpus(tmp_path / "all")
    address = upload(client, local)
    corpus = open_corpus([address], partition_bytes=1_000)
    assert texts(address, 1_000) == texts(str(local)) == {file.relative: TEXTS for file, _ in corpus.files}
    assert [file.name for file, _ in corpus.files][:2] == [
        f"s3://{BUCKET}/all/a.jsonl",
        f"s3://{BUCKET}/all/c.jsonl.zst",
    ]
    assert corpus.skipped == {f"s3://{BUCKET}/all/notes.md": len("# Notes")}
    divided = {file.relative: sum(part.file == file for part in corpus.partitions) for file, _ in corpus.files}
    assert {name for name, count in divided.items() if count > 1} == {"a.jsonl", "e.txt", "f.csv", "sub/h.parquet"}


def test_a_file_and_a_glob_are_names_too(tmp_path: Path, client: Any) -> None:
    address = upload(client, write_corpus(tmp_path / "names"))
    assert texts(f"{address}/a.jsonl") == {"a.jsonl": TEXTS}
    assert texts(f"{address}/*.jsonl*").keys() == {"a.jsonl", "c.jsonl.zst"}
    assert texts(f"{address}/**/*.parquet").keys() == {"sub/h.parquet"}


@pytest.mark.parametrize("data", [b"a\nbb\n\nccc\r\ndddddddddddd\ne", b"a\n", b"a", b"\n\n", b"aaaaaaaaaaaaa\nb\n"])
def test_each_line_is_read_once_wherever_a_file_is_cut(data: bytes) -> None:
    """memory:// is a file system of fsspec without files."""
    system = fsspec.filesystem("memory")
    system.pipe("/lines/a.txt", data)
    whole = [text.rstrip("\r\n") for text in data.decode().splitlines(keepends=True) if text.rstrip("\r\n")]
    for size in range(1, len(data) + 2):
        assert texts("memory://lines", size).get("a.txt", []) == whole
    system.rm("/lines", recursive=True)


def test_csv_is_divided_between_records_as_a_local_file_is(tmp_path: Path) -> None:
    """Fields in quotes hold line ends and quotes, others hold quotes too."""
    data = b'id,text\n1,"two\nlines"\n2,5" disk\n3,"a ""quoted"", word\n\n"\r\n4,last'
    (tmp_path / "a.csv").write_bytes(data)
    fsspec.filesystem("memory").pipe("/records/a.csv", data)
    cuts = {}
    for size in range(1, len(data)):
        here, there = (
            [(part.first_row, part.start, part.stop) for part in open_corpus([name], partition_bytes=size).partitions]
            for name in (str(tmp_path), "memory://records")
        )
        assert texts("memory://records", size) == {"a.csv": ["two\nlines", '5" disk', 'a "quoted", word\n\n', "last"]}
        assert there == here
        cuts[size] = there
    assert cuts[1] == [(0, 8, 22), (1, 22, 32), (2, 32, 58), (3, 58, 64)]
    assert cuts[15] == [(0, 8, 32), (2, 32, 58), (3, 58, 64)]


def test_a_bad_line_is_named_by_the_place_from_which_rows_are_counted() -> None:
    fsspec.filesystem("memory").pipe("/bad/a.jsonl", b'{"text": "a"}\n' * 200 + b"{\n")
    *_, last = open_corpus(["memory://bad"], partition_bytes=2_000).partitions
    with pytest.raises(SourceError, match="invalid JSON") as caught:
        list(read_partition(last))
    assert caught.value.where == "memory:///bad/a.jsonl, from byte 2,000, row 57"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("s3://no-such-bucket/x", "(?s)nothing is at the address.*bucket does not exist"),
        (f"s3://{BUCKET}/no-such-folder", "nothing is at the address"),
        (f"s3://{BUCKET}/no-such-folder/*.jsonl", "no file at the address"),
        ("nosuch://bucket/x", "(?s)addresses of this kind.*nosuch"),
    ],
)
def test_what_cannot_be_listed_is_said_in_words(name: str, words: str, client: Any) -> None:
    with pytest.raises(DatasetError, match=words) as caught:
        open_corpus([name])
    assert caught.value.where == name
    assert isinstance(caught.value, UsageError if name.startswith("nosuch") else SourceError)


def test_wrong_and_missing_credentials_are_said_in_words(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = upload(client, write_corpus(tmp_path / "secret"))
    with requiring_credentials(client):
        with pytest.raises(SourceError, match="access to the address is denied") as caught:
            open_corpus([address])
        assert "AWS_ACCESS_KEY_ID" in (caught.value.todo or "")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(SourceError, match=r"(?s)access to the address is denied.*credentials"):
        open_corpus([address])
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_a_file_that_is_changed_or_removed_is_an_error(tmp_path: Path, client: Any) -> None:
    write_json_lines(tmp_path / "changing" / "a.jsonl", *({"text": text} for text in TEXTS))
    address = upload(client, tmp_path / "changing")
    [(file, _)] = open_corpus([address]).files
    require_unchanged(file)
    same_size = (tmp_path / "changing" / "a.jsonl").read_bytes().replace(b"words", b"WORDS")
    client.put_object(Bucket=BUCKET, Key="changing/a.jsonl", Body=same_size)
    with pytest.raises(SourceError, match=r"(?s)the file was changed while it was read.*ETag"):
        require_unchanged(file)
    client.delete_object(Bucket=BUCKET, Key="changing/a.jsonl")
    with pytest.raises(SourceError, match=r"(?s)the file was changed.*no file"):
        require_unchanged(file)


def test_a_scan_and_a_clean_copy_are_those_of_the_same_files_here(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = write_corpus(tmp_path / "scanned")
    (corpus / "notes.md").unlink()  # whose name would be in removed.json
    address = upload(client, corpus)
    write_json_lines(tmp_path / "test.jsonl", *({"text": TEXTS[row], "label": 0} for row in (3, 150)))
    assert run_scan("index", "test.jsonl", "--task", "Classification", "--output", "my.index") == 0
    for name, output in (("scanned", "here"), (address, "there")):
        options = "--cache", "cache", "--matches", f"{output}.parquet", "--clean", output
        assert run_scan("scan", name, "--index", "my.index", *options) == 0
    here, there = (pl.read_parquet(f"{output}.parquet") for output in ("here", "there"))
    assert len(here) == 20
    assert there.with_columns(pl.col("corpus_file").str.replace(address, "scanned", literal=True)).equals(here)
    assert content(tmp_path / "there") == content(tmp_path / "here")


def test_a_clean_copy_at_an_address_is_the_one_of_a_folder(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = upload(client, write_corpus(tmp_path / "to-clean"))
    write_json_lines(tmp_path / "test.jsonl", *({"text": TEXTS[row], "label": 0} for row in (3, 150)))
    assert run_scan("index", "test.jsonl", "--task", "Classification", "--output", "my.index") == 0
    scan = "scan", address, "--index", "my.index", "--cache", "cache", "--clean"
    assert run_scan(*scan, "here") == 0
    target = f"s3://{BUCKET}/cleaned/"
    assert run_scan(*scan, target) == 0
    listed = client.list_objects_v2(Bucket=BUCKET, Prefix="cleaned/")["Contents"]
    there = {each["Key"]: client.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read() for each in listed}
    assert there == {f"cleaned/{name}": data for name, data in content(tmp_path / "here").items()}
    with pytest.raises(UsageError, match="files are at the address of an output"):
        run_scan(*scan, target)
    assert run_scan(*scan, target, "--overwrite") == 0
    for inside in (address, f"{address}/sub/clean", f"s3://{BUCKET}"):
        with pytest.raises(UsageError, match="into the corpus itself"):
            run_scan(*scan, inside, "--overwrite")
