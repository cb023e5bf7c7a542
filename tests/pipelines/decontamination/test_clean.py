"""A corpus written again without some rows: the same files with the other rows as they were."""

import gzip
import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError, UsageError
from pipelines import contamination
from pipelines.checking.corpora import open_corpus, read_partition
from pipelines.checking.data_files import DataFile
from pipelines.decontamination import clean as clean_module
from pipelines.decontamination import scans
from pipelines.decontamination.clean import DROP_SCHEMA, REPORT, write_clean
from pipelines.decontamination.engines import Engine
from tests.support.benchmark_tables import LATIN, sentence
from tests.support.foreign import write_json_lines

CSV = 'id,text\r\n0,zero\r\n1,"one\nand ""more"""\r\n\r\n3,three'


def write_corpus(folder: Path) -> Path:
    """A folder with a file of 300 rows in each format, and one of CSV with four."""
    (folder / "sub").mkdir(parents=True)
    lines = [json.dumps({"text": f"Текст {row}", "score": row}, ensure_ascii=row % 2 == 0) + "\n" for row in range(300)]
    (folder / "a.jsonl").write_text("".join(lines), "utf-8")
    (folder / "sub" / "b.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    (folder / "c.jsonl.zst").write_bytes(pa.compress("".join(lines).encode(), codec="zstd", asbytes=True))
    (folder / "d.csv").write_bytes(CSV.encode())
    table = pa.table({"text": [f"t{row}" for row in range(300)], "vector": [[row, row] for row in range(300)]})
    table = table.replace_schema_metadata({"huggingface": "{}"})
    pq.write_table(
        table, folder / "sub" / "e.parquet", row_group_size=100, compression={"text": "gzip", "vector": "none"}
    )
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


def files_of(folder: Path) -> list[DataFile]:
    return [file for file, _ in open_corpus([str(folder)]).files]


def rows(drop: list[tuple[str, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(drop, DROP_SCHEMA, orient="row")


def texts(folder: Path) -> dict[str, list[str]]:
    """The texts of a corpus by the relative path of their file."""
    found: dict[str, list[str]] = {}
    for part in open_corpus([str(folder)], ["text"]).partitions:
        for batch in read_partition(part):
            found.setdefault(part.file.relative, []).extend(batch.texts["text"])
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def drops(folder: Path, numbers: list[int]) -> pl.DataFrame:
    """These rows of all files but d.csv."""
    return rows([(file.name, row, "exact") for file in files_of(folder) if file.format != "CSV" for row in numbers])


def test_a_clean_copy_has_all_other_rows_in_files_of_the_same_names_and_formats(tmp_path: Path, corpus: Path) -> None:
    before = texts(corpus)
    clean = write_clean(files_of(corpus), drops(corpus, [0, 7, 150, 299]), tmp_path / "clean")
    after = texts(tmp_path / "clean")
    assert after.keys() == before.keys()
    for name, kept in after.items():
        dropped = set() if name == "d.csv" else {0, 7, 150, 299}
        assert kept == [text for row, text in enumerate(before[name]) if row not in dropped]
    assert (clean["rows"], clean["kept"]) == (1204, 1204 - 16)
    assert (tmp_path / "clean" / "d.csv").read_bytes() == (corpus / "d.csv").read_bytes()


def test_kept_rows_of_text_files_keep_their_bytes(tmp_path: Path, corpus: Path) -> None:
    drop = rows([(f"{corpus}/d.csv", 1, "near"), (f"{corpus}/a.jsonl", 1, "near")])
    write_clean(files_of(corpus), drop, tmp_path / "clean")
    assert (tmp_path / "clean" / "d.csv").read_bytes() == b"id,text\r\n0,zero\r\n\r\n3,three"
    lines = (corpus / "a.jsonl").read_bytes().splitlines(keepends=True)
    assert (tmp_path / "clean" / "a.jsonl").read_bytes() == b"".join([lines[0], *lines[2:]])


def test_parquet_keeps_schema_codecs_and_row_groups(tmp_path: Path, corpus: Path) -> None:
    numbers = [5, *range(100, 200)]
    write_clean(files_of(corpus), drops(corpus, numbers), tmp_path / "clean")
    before, after = (pq.ParquetFile(folder / "sub" / "e.parquet") for folder in (corpus, tmp_path / "clean"))
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    groups = [after.metadata.row_group(number) for number in range(after.metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [99, 100], "a group without rows is left out"
    assert [groups[0].column(index).compression for index in (0, 1)] == ["GZIP", "UNCOMPRESSED"]


def test_rows_are_counted_by_reason(tmp_path: Path, corpus: Path) -> None:
    name = f"{corpus}/a.jsonl"
    drop = rows([(name, 3, "exact"), (name, 3, "exact"), (name, 3, "near"), (name, 4, "near")])
    clean = write_clean(files_of(corpus), drop, tmp_path / "clean")
    assert clean["dropped"] == {"exact": 1, "near": 2}
    report = json.loads((tmp_path / "clean" / REPORT).read_text("utf-8"))
    assert (report["rows"], report["kept"], report["dropped"]) == (1204, 1202, {"exact": 1, "near": 2})
    digest = hashlib.sha256((corpus / "a.jsonl").read_bytes()).hexdigest()
    assert report["files"][0] == {"file": "a.jsonl", "sha256": digest, "rows": 300, "kept": 298}


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path, corpus: Path) -> None:
    drop = drops(corpus, list(range(0, 300, 7)))
    for jobs in (1, 4):
        write_clean(files_of(corpus), drop, tmp_path / f"clean-{jobs}", engine=Engine(workers=jobs))
    assert content(tmp_path / "clean-1") == content(tmp_path / "clean-4")


def test_a_second_copy_has_the_same_bytes_and_replaces_the_first(tmp_path: Path, corpus: Path) -> None:
    write_clean(files_of(corpus), rows([]), tmp_path / "clean")
    first = content(tmp_path / "clean")
    write_clean(files_of(corpus), drops(corpus, [1]), tmp_path / "clean")
    write_clean(files_of(corpus), rows([]), tmp_path / "clean")
    assert content(tmp_path / "clean") == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean", "corpus"]


def test_an_error_leaves_the_old_copy_or_none(tmp_path: Path, corpus: Path) -> None:
    files, damaged = files_of(corpus), corpus / "c.jsonl.zst"
    packed, state = damaged.read_bytes(), damaged.stat()
    damaged.write_bytes(packed[:200] + bytes(len(packed) - 200))
    os.utime(damaged, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(SourceError, match="cannot read"):
        write_clean(files, rows([]), tmp_path / "clean")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]


@pytest.mark.parametrize("target", [".", "clean", "sub", "sub/deeper", ".."])
def test_a_copy_is_not_written_into_the_corpus(tmp_path: Path, target: str) -> None:
    corpus = write_corpus(tmp_path / "all" / "corpus")
    before = content(corpus)
    with pytest.raises(UsageError, match="into the corpus itself"):
        write_clean(files_of(corpus), rows([]), corpus / target)
    assert content(corpus) == before


def test_a_copy_may_be_beside_a_file_that_is_named(tmp_path: Path, corpus: Path) -> None:
    write_clean(files_of(corpus / "a.jsonl"), rows([]), corpus / "clean")
    assert texts(corpus / "clean")["a.jsonl"][0] == "Текст 0"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    corpus, other = write_corpus(tmp_path / "corpus"), write_corpus(tmp_path / "other")
    with pytest.raises(UsageError, match="two files of the corpus"):
        write_clean(files_of(corpus) + files_of(other), rows([]), tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def run_scan(*arguments: str) -> int:
    before, sys.argv = sys.argv, ["embedding-datasets contamination", *arguments]
    try:
        return contamination.main()
    finally:
        sys.argv = before


@pytest.fixture
def scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of 30 texts and an empty file; an index has the texts of rows 3 and 20."""
    monkeypatch.chdir(tmp_path)
    source = random.Random(4)
    texts = [sentence(source, 12, LATIN) for _ in range(30)]
    write_json_lines(Path("corpus/texts.jsonl"), *({"text": text} for text in texts))
    Path("corpus/empty.jsonl").touch()
    write_json_lines(Path("test.jsonl"), *({"text": texts[row], "label": row % 2} for row in (3, 20)))
    assert run_scan("index", "test.jsonl", "--task", "Classification", "--output", "my.index") == 0
    return tmp_path


CLEAN = ("scan", "corpus", "--index", "my.index", "--clean", "clean")


def test_a_clean_copy_names_the_bytes_that_it_was_made_of(scanned: Path) -> None:
    assert run_scan(*CLEAN) == 0
    lines = Path("corpus/texts.jsonl").read_bytes().splitlines(keepends=True)
    kept = Path("clean/texts.jsonl").read_bytes()
    assert kept == b"".join(line for row, line in enumerate(lines) if row not in (3, 20))
    assert Path("clean/empty.jsonl").read_bytes() == b"", "a file without rows is in the copy too"
    digest = hashlib.sha256(Path("corpus/texts.jsonl").read_bytes()).hexdigest()
    files = json.loads(Path("clean/removed.json").read_text("utf-8"))["files"]
    assert [(file["file"], file["sha256"], file["rows"], file["kept"]) for file in files] == [
        ("empty.jsonl", hashlib.sha256(b"").hexdigest(), 0, 0), ("texts.jsonl", digest, 30, 28),
    ]  # fmt: skip


def put_a_line_first(path: Path) -> None:
    path.write_bytes(b'{"text": "a line that came later"}\n' + path.read_bytes())


def exchange_two_lines(path: Path) -> None:
    """The same size and the same time of change, as a tool that restores times leaves them."""
    state = path.stat()
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([second, first, *rest]))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def fill_the_empty_file(path: Path) -> None:
    empty = path.with_name("empty.jsonl")
    empty.write_text('{"text": "no longer empty"}\n', "utf-8")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put_a_line_first, "size and time of change"),
        (exchange_two_lines, "found:    sha256"),
        (fill_the_empty_file, "size and time of change"),
        (Path.unlink, "no file"),
    ],
)
def test_no_copy_is_made_of_a_file_that_was_changed_after_the_scan(
    change: Callable[[Path], None], words: str, scanned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = clean_module.write_clean

    def change_and_write(*arguments: Any, **options: Any) -> Any:
        change(Path("corpus/texts.jsonl"))
        return write(*arguments, **options)

    monkeypatch.setattr(clean_module, "write_clean", change_and_write)
    with pytest.raises(SourceError, match=f"(?s)the file was changed while it was read.*{words}"):
        run_scan(*CLEAN)
    assert not Path("clean").exists()


def test_a_file_that_grows_while_it_is_scanned_is_an_error(scanned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = scans.read_partition

    def read_and_append(partition: Any) -> Any:
        yield from read(partition)
        with Path("corpus/texts.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"text": "one more"}\n')

    monkeypatch.setattr(scans, "read_partition", read_and_append)
    with pytest.raises(SourceError, match="the file was changed while it was read"):
        run_scan(*CLEAN)
    assert not Path("clean").exists()


def test_what_a_stranger_put_into_a_clean_copy_stays(scanned: Path) -> None:
    assert run_scan(*CLEAN) == 0
    assert run_scan(*CLEAN) == 0, "an older copy is replaced"
    Path("clean/mine.txt").write_text("x", "utf-8")
    with pytest.raises(UsageError, match=r"(?s)holds other files.*mine\.txt"):
        run_scan(*CLEAN)
    assert Path("clean/mine.txt").read_text("utf-8") == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_texts_of_benchmarks_have_no_name_in_the_cache(scanned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a killed scan leaves none: they are readable only while this process lives."""
    text = json.loads(Path("test.jsonl").read_text("utf-8").splitlines()[0])["text"].encode()
    seen, read = [], scans.read_partition

    def look(partition: Any) -> Any:
        found = {path: path.read_bytes() for path in Path("cache").rglob("*") if path.is_file()}
        seen.append([path for path, data in found.items() if text in data or text.decode().encode("utf-16-le") in data])
        yield from read(partition)

    monkeypatch.setattr(scans, "read_partition", look)
    options = ("--benchmark", "test.jsonl", "--task", "Classification", "--cache", "cache", "--matches", "m.parquet")
    assert run_scan("scan", "corpus", "--index", "my.index", *options) == 0
    assert pl.read_parquet("m.parquet")["is_estimated"].to_list() == [False, False], "the texts were there"
    assert seen
    assert not any(seen)
