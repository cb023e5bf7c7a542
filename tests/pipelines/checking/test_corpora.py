"""What a training corpus is: names, files, columns and rows; and the errors for what cannot be read."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.errors import DatasetError, SourceError, UsageError
from pipelines.checking.corpora import Corpus, copy_rows, open_corpus, read_partition
from pipelines.checking.formats import scan_files
from pipelines.process.safe_text import safe_text
from tests.support.foreign import write_json_lines
from tests.support.raw_files import write

Text = tuple[str, int, str, str]  # file, row, column, text


def json_lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def table(records: list[dict[str, Any]], write: Any) -> bytes:
    """Rows as a file that polars writes."""
    file = io.BytesIO()
    write(pl.DataFrame(records, strict=False), file)
    return file.getvalue()


def texts_of(corpus: Corpus) -> list[Text]:
    """Every text of a corpus as it is read, in order."""
    batches = chain.from_iterable(map(read_partition, corpus.partitions))
    return [(batch.file.rpartition("/")[2], *row) for batch in batches for row in batch.texts.iter_rows()]


def labels_of(corpus: Corpus) -> list[tuple[int, str]]:
    batches = chain.from_iterable(map(read_partition, corpus.partitions))
    return [row for batch in batches for row in batch.labels.iter_rows()]


def read(path: Path, columns: Sequence[str] = ()) -> list[tuple[int, str, str]]:
    """Row, column and text of every text of one file or folder."""
    return [text[1:] for text in texts_of(open_corpus([str(path)], columns))]


def error_of(path: Path, columns: Sequence[str] = ()) -> DatasetError:
    """The error that reading a corpus ends in."""
    with pytest.raises(DatasetError) as caught:
        read(path, columns)
    return caught.value


PAIRS = [{"anchor": "Кто это?", "positive": "Это он.", "score": 0.5}, {"anchor": "a", "positive": "b", "score": 1}]
EXPECTED = [(0, "anchor", "Кто это?"), (0, "positive", "Это он."), (1, "anchor", "a"), (1, "positive", "b")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", json_lines(*PAIRS)),
        ("a.ndjson", json_lines(*PAIRS)),
        ("a.json", json_lines(*PAIRS)),
        ("a.JSONL.GZ", gzip.compress(json_lines(*PAIRS), mtime=0)),
        ("a.json.zst", zstd(json_lines(*PAIRS))),
        ("a.csv", "anchor,positive,score\nКто это?,Это он.,0.5\na,b,1\n".encode()),
        ("a.csv.gz", gzip.compress('anchor,positive,score\r\n"Кто это?",Это он.,0.5\r\na,b,1'.encode(), mtime=0)),
        ("a.tsv", "anchor\tpositive\tscore\nКто это?\tЭто он.\t0.5\na\tb\t1.0\n".encode()),
        ("a.parquet", table(PAIRS, pl.DataFrame.write_parquet)),
        ("a.json", json.dumps(PAIRS).encode()),
        ("a.json", json.dumps(PAIRS, indent=1).encode()),
        ("a.json.gz", gzip.compress(json.dumps(PAIRS).encode(), mtime=0)),
        ("a.jsonl.bz2", bz2.compress(json_lines(*PAIRS))),
        ("a.csv.xz", lzma.compress("anchor,positive,score\nКто это?,Это он.,0.5\na,b,1\n".encode())),
        ("a.arrow", table(PAIRS, pl.DataFrame.write_ipc)),
        ("a.arrow", table(PAIRS, pl.DataFrame.write_ipc_stream)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_rows_are_read_from_every_format(tmp_path: Path, name: str, data: bytes) -> None:
    corpus = open_corpus([str(write(tmp_path / name, data))])
    assert [text[1:] for text in texts_of(corpus)] == EXPECTED
    assert labels_of(corpus) == [(0, "0.5"), (1, "1")]


BGE = {"query": "q", "pos": ["p", None, "p2"], "neg": [], "pos_scores": [0.5], "type": "symmetric"}


def test_items_of_lists_are_named_by_their_number(tmp_path: Path) -> None:
    rows = [(0, "query", "q"), (0, "pos[0]", "p"), (0, "pos[2]", "p2")]
    assert read(write(tmp_path / "bge.jsonl", json_lines(BGE))) == rows
    pl.DataFrame([BGE], schema_overrides={"neg": pl.List(pl.String)}).write_parquet(tmp_path / "bge.parquet")
    assert read(tmp_path / "bge.parquet") == rows


def test_a_line_may_be_a_list_of_texts_as_sentence_transformers_publishes_pairs(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl.gz", gzip.compress(b'["one", "two"]\n["three", "four", "five"]\n'))
    columns = ["[0]", "[1]", "[0]", "[1]", "[2]"]
    texts = ["one", "two", "three", "four", "five"]
    assert read(path) == list(zip([0, 0, 1, 1, 1], columns, texts, strict=True))


def test_ids_addresses_and_labels_are_not_texts_unless_they_are_requested(tmp_path: Path) -> None:
    record = {"doc_id": "d", "url": "http://x", "text": "t", "label": "joy", "meta": {"text": "m"}, "sha256": "00"}
    path = write(tmp_path / "a.jsonl", json_lines(record))
    assert read(path) == [(0, "text", "t"), (0, "meta.text", "m")]
    assert labels_of(open_corpus([str(path)])) == [(0, "joy")]
    assert read(path, ["url", "label"]) == [(0, "url", "http://x"), (0, "label", "joy")]
    assert labels_of(open_corpus([str(path)], ["label"])) == []


def test_a_column_that_only_later_rows_have_is_read_too(tmp_path: Path) -> None:
    records = [*[{"text": "a"}] * 150, {"body": "late", "number": 3}]
    assert read(write(tmp_path / "a.jsonl", json_lines(*records)))[-1] == (150, "body", "late")


def test_rows_are_numbered_by_lines_and_blank_ones_count(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text": "a"}\n\n  \r\n{"text": "b"}\r\n{"text": null}\n{"text": "c"}'
    )
    assert read(path) == [(0, "text", "a"), (3, "text", "b"), (5, "text", "c")]


def test_fields_in_quotes_may_hold_line_ends_and_the_header_is_not_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", '\ufefftext,note\n"two\nlines, ""quoted""",\n\nlast,n\n'.encode())
    assert read(path) == [(0, "text", 'two\nlines, "quoted"'), (2, "text", "last"), (2, "note", "n")]


def test_what_python_writes_and_json_does_not_permit_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text": "half \\ud83d", "score": NaN}\n')
    assert read(path) == [(0, "text", "half \ufffd")]


def test_dictionaries_and_lists_of_parquet_are_texts_and_numbers_are_not(tmp_path: Path) -> None:
    table = pa.table(
        {
            "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
            "views": pa.array([["v"], [], None], pa.list_(pa.string_view())),
            "n": [1, 2, 3],
            "a.b": ["dot", "", None],
            "{}": ["brace", None, "z"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    assert read(tmp_path / "a.parquet") == [
        (0, "kind", "x"), (0, "views[0]", "v"), (0, "a.b", "dot"), (0, "{}", "brace"),
        (1, "kind", "y"),
        (2, "kind", "x"), (2, "{}", "z"),
    ]  # fmt: skip


# Partitions.


def mixed_corpus(folder: Path) -> Path:
    """A folder with a file in each format, of 300 rows with lines of different lengths."""
    records = [{"text": f"text {n} " + "слово " * (n % 7), "pos": [f"p{n}"]} for n in range(300)]
    write(folder / "b.jsonl", json_lines(*records[:100]) + b"\n" * 3 + json_lines(*records[100:]))
    write(folder / "sub" / "c.jsonl.gz", gzip.compress(json_lines(*records)))
    pl.DataFrame(records).write_parquet(folder / "a.parquet", row_group_size=10)
    quoted = pl.DataFrame({"text": [f'"{n}"\nsecond "line' if n % 3 else f"plain {n}" for n in range(300)]})
    quoted.write_csv(folder / "d.csv")
    return folder


@pytest.mark.parametrize("size", [1, 500, 5_000])
def test_a_row_has_the_same_number_however_its_file_is_divided(tmp_path: Path, size: int) -> None:
    folder = str(mixed_corpus(tmp_path))
    whole = open_corpus([folder])
    divided = open_corpus([folder], partition_bytes=size)
    assert len(whole.partitions) == 4 < len(divided.partitions)
    assert texts_of(divided) == texts_of(whole)
    assert [partition.number for partition in divided.partitions] == list(range(len(divided.partitions)))
    assert len(texts_of(whole)) == 2100


def test_partitions_have_about_the_requested_size_and_all_bytes_of_the_files(tmp_path: Path) -> None:
    folder = mixed_corpus(tmp_path)
    corpus = open_corpus([str(folder)], partition_bytes=2_000)
    lines = [part for part in corpus.partitions if part.file.relative == "b.jsonl"]
    size = (folder / "b.jsonl").stat().st_size
    assert sum(part.size for part in lines) == size
    assert all(2_000 <= part.size < 2_200 for part in lines[:-1])
    assert [part.start for part in lines] == sorted({part.start for part in lines})


def test_lines_longer_than_a_piece_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.checking.rows.PIECE", 10)
    path = write(tmp_path / "a.jsonl", json_lines({"text": "x" * 100}, {"text": "y"}, {"text": "z" * 31}))
    corpus = open_corpus([str(path)], partition_bytes=1)
    assert [len(text[3]) for text in texts_of(corpus)] == [100, 1, 31]
    assert [part.first_row for part in corpus.partitions] == [0, 1, 2]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    ['"', "\n", "\r", ",", "\0", "\u2028"]
)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12), st.integers(1, 200))
def test_any_text_comes_back_from_any_format_and_any_partitions(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    write(folder / "a.jsonl", json_lines(*[{"one": one, "two": two} for one, two in rows]))
    with (folder / "b.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("one", "two"), *rows])
    write(folder / "c.csv.gz", gzip.compress((folder / "b.csv").read_bytes()))
    pl.DataFrame(rows, ["one", "two"], orient="row").write_parquet(folder / "d.parquet", row_group_size=2)
    expected = [
        (row, name, text) for row, pair in enumerate(rows) for name, text in zip(("one", "two"), pair, strict=True)
    ]
    found = texts_of(open_corpus([str(folder)], partition_bytes=size))
    assert found == [(name, *text) for name in ("a.jsonl", "b.csv", "c.csv.gz", "d.parquet") for text in expected]


# Names.


def test_a_folder_or_a_glob_stands_for_its_data_files_in_the_order_of_their_paths(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mixed_corpus(tmp_path)
    write(tmp_path / "README.md", b"# Corpus")
    write(tmp_path / "dataset_infos.json", b'{\n "default": 1\n}')
    write(tmp_path / ".cache" / "x.jsonl", b"broken")
    with caplog.at_level("INFO"):
        corpus = open_corpus([str(tmp_path)])
    names = [file.relative for file, _ in corpus.files]
    assert names == ["a.parquet", "b.jsonl", "d.csv", "sub/c.jsonl.gz"]
    assert [file.name for file, _ in corpus.files] == [f"{tmp_path}/{name}" for name in names]
    assert [name.rpartition("/")[2] for name in corpus.skipped] == ["README.md", "dataset_infos.json"]
    assert "README.md" in caplog.text
    matched = open_corpus([f"{tmp_path}/*"])
    assert [file.relative for file, _ in matched.files] == names
    assert matched.skipped == corpus.skipped


def test_a_glob_and_a_folder_that_lead_to_the_same_file_count_it_once(tmp_path: Path) -> None:
    mixed_corpus(tmp_path)
    corpus = open_corpus([f"{tmp_path}/**/*.jsonl*", str(tmp_path / "b.jsonl"), str(tmp_path / "sub")])
    assert [file.relative for file, _ in corpus.files] == ["b.jsonl", "sub/c.jsonl.gz"]


def test_hostile_names_of_files_and_columns_are_data(tmp_path: Path) -> None:
    name = "{0} %s [x]\x1b[31m.jsonl"
    write(tmp_path / name, json_lines({"{col}\x1b[0m": "t", "__proto__": "p"}))
    assert texts_of(open_corpus([str(tmp_path)])) == [(name, 0, "{col}\x1b[0m", "t"), (name, 0, "__proto__", "p")]
    assert len(open_corpus([str(tmp_path / name)]).files) == 1, "a name that exists is not a glob"


def warc_record(kind: str, content_type: str, content: bytes) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://example.org/\r\n"
    head += f"WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1251\r\n\r\n" + "<p>Привет</p>".encode("cp1251")
IMAGE = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n12345"
RECORDS = [
    warc_record("warcinfo", "application/warc-fields", b"software: x\r\n"),
    warc_record("response", "application/http; msgtype=response", PAGE),
    warc_record("response", "application/http; msgtype=response", IMAGE),
    warc_record("conversion", "text/plain", "Это текст.\nСтрока.".encode()),
]
WARC = b"".join(RECORDS)


@pytest.mark.parametrize(
    ("name", "data"), [("a.warc", WARC), ("a.warc.gz", b"".join(map(gzip.compress, RECORDS))), ("a.warc.wet", WARC)]
)
def test_records_of_web_archives_are_rows_and_pages_are_texts(tmp_path: Path, name: str, data: bytes) -> None:
    path = write(tmp_path / name.replace(".warc.wet", ".wet"), data)
    assert read(path) == [(1, "text", "<p>Привет</p>"), (3, "text", "Это текст.\nСтрока.")]
    batches = [batch for partition in open_corpus([str(path)]).partitions for batch in read_partition(partition)]
    assert sum(batch.count for batch in batches) == 4
    assert batches[0].unread == {
        ("warcinfo application/warc-fields", "binary"): 13,
        ("response image/png", "binary"): 5,
    }
    copy_rows(open_corpus([str(path)]).files[0][0], np.array([1]), tmp_path / "copy.warc")
    whole = (tmp_path / "copy.warc").read_bytes()
    kept = gzip.decompress(whole) if name.endswith(".gz") else whole
    assert kept == b"".join([RECORDS[0], *RECORDS[2:]])


@pytest.mark.parametrize("write", [pl.DataFrame.write_ipc, pl.DataFrame.write_ipc_stream])
@pytest.mark.parametrize(("drop", "kept"), [([], [0, 1, 2, 3]), ([1], [0, 2, 3]), ([0, 3], [1, 2]), ([0, 1, 2, 3], [])])
def test_the_strings_of_polars_are_copied(write: Any, drop: list[int], kept: list[int], tmp_path: Path) -> None:
    rows = pl.DataFrame({"text": ["bees", "wax", "wax" * 20, None], "more": [["a"], [], None, ["b", "c"]]})
    path, copy = tmp_path / "rows.arrow", tmp_path / "copy.arrow"
    write(rows, path)
    assert copy_rows(open_corpus([str(path)]).files[0][0], np.array(drop, np.int64), copy) == (4, len(kept))
    read = pl.read_ipc if write == pl.DataFrame.write_ipc else pl.read_ipc_stream
    assert_frame_equal(read(copy), rows[kept])


def test_lines_of_text_are_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\ufeffодин\r\n\nтри\u2028x".encode())
    assert read(path) == [(0, "text", "один"), (2, "text", "три\u2028x")]


def test_a_folder_of_save_to_disk_is_read(tmp_path: Path) -> None:
    datasets.Dataset.from_list(PAIRS).save_to_disk(str(tmp_path / "saved"))
    assert read(tmp_path / "saved") == EXPECTED


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'[{"text": "a"}, {"text": "b"}]', [(0, "text", "a"), (1, "text", "b")]),
        (b'[["a", "b"], ["c"]]\n', [(0, "[0]", "a"), (0, "[1]", "b"), (1, "[0]", "c")]),
        (b'["a", "b"]\n["c"]\n', [(0, "[0]", "a"), (0, "[1]", "b"), (1, "[0]", "c")]),
        (b'[{"role": "x"}]\n[{"role": "y"}]\n', [(0, "[0].role", "x"), (1, "[0].role", "y")]),
        (b"[]", []),
    ],
)
def test_json_is_an_array_or_lines(tmp_path: Path, data: bytes, rows: list[Any]) -> None:
    write(tmp_path / "a.json", data)
    write(tmp_path / "b.txt", b"text")
    assert read(tmp_path)[:-1] == rows


def test_a_file_without_texts_is_named_and_does_not_end_the_scan_of_its_folder(tmp_path: Path) -> None:
    pl.DataFrame({"score": [1, 0], "rank": [1.5, 2.5]}).write_parquet(tmp_path / "qrels.parquet")
    assert error_of(tmp_path).what == "the file has no column of texts"
    write(tmp_path / "b.txt", b"text")
    corpus = open_corpus([str(tmp_path)])
    assert texts_of(corpus) == [("b.txt", 0, "text", "text")]
    batch = next(read_partition(corpus.partitions[1]))
    assert sorted(batch.unread) == [("rank", "number")], "score is a label"


# Errors.


@pytest.mark.parametrize(
    ("name", "data", "what", "where", "found"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": "b"\n', "invalid JSON", "a.jsonl, row 1", "unexpected end"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', "invalid UTF-8", "a.jsonl, row 1", "byte 0xff at byte 11"),
        ("a.jsonl", b'{"text": "a"}\n"b"\n', "not a JSON object", "a.jsonl, row 1", '"b"'),
        ("a.jsonl", b'{"text": "a"}\n{"text": "b", "text": "c"}\n', "key 'text' occurs twice", "a.jsonl, row 1", '"b"'),
        ("a.jsonl", b'{"id": 1, "text": "a", "text" : null}\n', "key 'text' occurs twice", "a.jsonl, row 0", "null"),
        ("a.jsonl", b'{"m": {"n": "a"}, "n": 1, "n": 2}\n', "key 'n' occurs twice", "a.jsonl, row 0", '"n": 2'),
        ("a.jsonl", '{"text": "a", "ж": 1, "ж": 2}\n'.encode(), "key 'ж' occurs twice", "a.jsonl, row 0", "ж"),
        ("a.jsonl", b"<html>", "not in the format", "a.jsonl", "an HTML page"),
        ("a.jsonl", b"\x1f\x8b\x08\x00", "not in the format", "a.jsonl", "gzip data"),
        ("a.parquet", b"PAR1 and nothing else", "truncated or corrupt Parquet file", "a.parquet", "Parquet magic bytes"),
        ("a.parquet", b"version https://git-lfs.github.com/spec/v1\n", "not in the format", "a.parquet", "git-lfs"),
        ("a.csv", b'text\n"never closed\nx\n', "invalid row", "a.csv, row 0", "unexpected end of data"),
        ("a.csv", b"text,b\nx,y\nz\n", "too few or too many fields", "a.csv, row 1", "1 fields"),
        ("a.csv", b"text\n\xff\n", "invalid UTF-8", "a.csv, row 0", "byte 0xff"),
        ("a.csv", b"text,text\nx,y\n", "two columns are called 'text'", "a.csv, header", "the header"),
        ("a.json", b'{\n"text": "a"\n}', "neither JSON lines nor", "a.json", "one object in many lines"),
        ("a.json", b'[\n{"text": "a"}\n', "invalid JSON", "a.json, record 1", "expected ',' or ']'"),
        ("a.json", b'[{"text": "a"}, {"text": "b"]', "invalid JSON", "a.json, record 2", "delimiter"),
        ("a.txt", b"one\ntw\xff", "invalid UTF-8", "a.txt, row 1", "byte 0xff at byte 3"),
        ("a.md", b"text", "not a file that a corpus may have", "a.md", "text of 4 bytes"),
        ("a.arrow", table(PAIRS, pl.DataFrame.write_ipc_stream)[:-60], "truncated", "a.arrow", ""),
        ("a.arrow", b"PAR1", "not in the format", "a.arrow", "a Parquet file"),
        ("a.jsonl.xz", lzma.compress(json_lines(*PAIRS) * 99)[:-9], "cannot read", "a.jsonl.xz", "ended before"),
        ("a.jsonl.bz2", bz2.compress(json_lines(*PAIRS) * 99)[:-9], "cannot read", "a.jsonl.bz2", ""),
        ("a.warc", b"no archive", "truncated or corrupt WARC", "a.warc", "Unknown archive format"),
        ("a.warc", WARC[:-30], "truncated or corrupt WARC", "a.warc", "26 bytes before the end of a record"),
        ("a.jsonl", b'{"id": "a", "n": 3}\n', "no column of texts", "a.jsonl", "'id', 'n'"),
        ("a.jsonl.gz", gzip.compress(json_lines(*PAIRS) * 99, mtime=0)[:-9], "cannot read", "a.jsonl.gz", "Truncated"),
        ("a.jsonl.zst", zstd(json_lines(*PAIRS) * 99)[:-9], "cannot read", "a.jsonl.zst", "Truncated"),
        ("a.jsonl.zst", b"", "not in the format", "a.jsonl.zst", "an empty file"),
        ("a.jsonl", b"", "the corpus has no rows", "a.jsonl", "a.jsonl"),
        ("a.csv", b"text\n", "the corpus has no rows", "a.csv", "a.csv"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith(("a.", "in", "no")) else "",
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_its_file_and_row(
    tmp_path: Path, name: str, data: bytes, what: str, where: str, found: str
) -> None:
    error = error_of(write(tmp_path / name, data))
    assert isinstance(error, SourceError)
    assert what in error.what
    assert error.where == f"{tmp_path}/{where}"
    assert found in (error.found or "")
    assert error.expected or error.todo


def test_the_row_of_an_error_counts_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", json_lines(*[{"text": "a"}] * 150) + b"{")
    corpus = open_corpus([str(path)], partition_bytes=100)
    with pytest.raises(SourceError) as caught:
        texts_of(corpus)
    assert caught.value.where == f"{path}, row 150"


@pytest.mark.parametrize("value", [3, ["a", 3], True], ids=str)
def test_a_requested_column_of_another_type_is_an_error_with_its_row(tmp_path: Path, value: Any) -> None:
    path = write(tmp_path / "a.jsonl", json_lines({"text": "a"}, {"text": None}, {"text": value}))
    error = error_of(path, ["text"])
    assert error.where == f"{path}, row 2"
    assert error.found == json.dumps(value, separators=(",", ":"))


def test_a_requested_column_that_no_file_has_is_an_error(tmp_path: Path) -> None:
    mixed_corpus(tmp_path)
    error = error_of(tmp_path / "b.jsonl", ["txt"])
    assert isinstance(error, UsageError)
    assert error.what == "the file has no column 'txt'"
    assert error.found == "columns 'text', 'pos'"
    assert error_of(tmp_path / "b.jsonl", ["text", "neg"]).what == "no file has the column 'neg'"
    pl.DataFrame({"n": [1], "text": ["a"]}).write_parquet(tmp_path / "n.parquet")
    assert error_of(tmp_path / "n.parquet", ["n"]).what == "the column 'n' holds no texts"


@pytest.mark.parametrize("name", ["missing.jsonl", "missing/*.jsonl", "hf://datasets/no-organisation"])
def test_a_name_that_leads_to_nothing_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_corpus([name if name.startswith("hf:") else str(tmp_path / name)])
    assert caught.value.todo


def test_a_folder_without_data_files_is_an_error_that_lists_what_it_has(tmp_path: Path) -> None:
    write(tmp_path / "README.md", b"x")
    assert "README.md" in (error_of(tmp_path).found or "")


def test_compressed_data_that_expand_without_measure_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.limits.FREE_EXPANSION", 1 << 20)
    path = write(tmp_path / "a.jsonl.zst", zstd(json_lines({"text": "a"}) + json_lines({"text": "b" * 5_000_000})))
    assert "expand" in error_of(path).what


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.limits.MAX_RECORD", 1000)
    monkeypatch.setattr("pipelines.checking.rows.PIECE", 100)
    assert error_of(write(tmp_path / "a.jsonl", json_lines({"text": "b" * 5000}))).what == "a line is too large"
    assert error_of(write(tmp_path / "a.csv", b'text\n"' + b"b\n" * 5000)).what == "a row is too large"


# What strangers may put into a folder, none of which may hang or end in a traceback.


def test_a_table_of_many_columns_is_an_error_at_once(tmp_path: Path) -> None:
    names = ",".join(f"column {number}" for number in range(50_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{',' * 49_999}\n", "utf-8")
    error = error_of(tmp_path / "wide.csv")
    assert (error.what, error.found, error.expected) == ("too many columns", "50,000 columns", "at most 20,000")
    pq.write_table(pa.table({f"column {number}": ["x"] for number in range(20_001)}), tmp_path / "wide.parquet")
    assert error_of(tmp_path / "wide.parquet").what == "too many columns"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="special files")
def test_a_pipe_is_no_corpus_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UsageError, match="not a file, and no folder"):
        open_corpus([str(tmp_path / "pipe.jsonl")])
    for name in (str(tmp_path), str(tmp_path / "*.jsonl")):
        with pytest.raises((SourceError, UsageError)):
            open_corpus([name])
    write_json_lines(tmp_path / "texts.jsonl", {"text": "one"})
    assert [file.relative for file, _ in open_corpus([str(tmp_path)]).files] == ["texts.jsonl"]


def test_a_link_to_the_folder_above_does_not_make_a_glob_endless(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_json_lines(folder / "texts.jsonl", {"text": "one"})
    for number in range(6):
        (folder / f"up{number}").symlink_to("..", target_is_directory=True)
    for pattern in ("**/*.jsonl", "**/**/**/*.jsonl", "a/**/b/**/*.jsonl"):
        files = open_corpus([str(tmp_path / pattern)]).files
        assert [file.path.name for file, _ in files] == ["texts.jsonl"]


def test_a_link_out_of_a_folder_is_refused_and_its_target_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a line that nobody should see", "utf-8")
    write_json_lines(tmp_path / "corpus" / "texts.jsonl", {"text": "one"})
    (tmp_path / "corpus" / "link.jsonl").symlink_to(tmp_path / "secret")
    error = error_of(tmp_path / "corpus")
    assert "a symbolic link out of its folder" in error.what
    assert "nobody should see" not in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes")
def test_the_name_of_a_file_that_is_not_utf8_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "corpus") + b"/caf\xe9.jsonl")).write_text('{"text": "one"}\n', "utf-8")
    with pytest.raises(UsageError, match="the name of a file is not UTF-8") as error:
        open_corpus([str(tmp_path / "corpus")])
    assert "caf" in safe_text(str(error.value))
    safe_text(str(error.value)).encode()


def test_a_dictionary_that_repeats_a_text_without_end_is_refused(tmp_path: Path) -> None:
    """20 million rows of 1,000 characters in a file of two megabytes."""
    path = tmp_path / "bomb.parquet"
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int32()), pa.array(["x" * 1_000]))
    group = pa.table({"text": text, "label": pa.array([0] * 1_000_000, pa.int8())})
    with pq.ParquetWriter(path, group.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(group)
    assert path.stat().st_size < 3_000_000
    assert error_of(path).what == "compressed data that expand without measure"
    with pytest.raises(SourceError, match="compressed data that expand without measure"):
        scan_files([path])
    ordinary = tmp_path / "ordinary.parquet"
    pl.DataFrame({"text": ["the same text"] * 100_000}).write_parquet(ordinary)
    assert scan_files([ordinary]).collect().height == 100_000


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "a \\"text\\": twice", "meta": {"text": "nested"}}',
        b'{"text": "text", "id": "id"}',
        b'{"a": {"b": 1}, "b": 2}',
    ],
)
def test_the_name_of_a_key_may_occur_elsewhere(line: bytes, tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", b'{"text": "first"}\n' + line + b"\n"))
