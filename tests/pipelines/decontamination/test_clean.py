"""A corpus written again without some rows: the same files with the other rows as they were."""

import gzip
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError, UsageError
from pipelines.checking.corpora import open_corpus, read_partition
from pipelines.checking.data_files import DataFile
from pipelines.decontamination.clean import DROP_SCHEMA, REPORT, write_clean

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


def test_a_clean_copy_has_all_other_rows_in_files_of_the_same_names_and_formats(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    before = texts(corpus)
    clean = write_clean(files_of(corpus), drops(corpus, [0, 7, 150, 299]), tmp_path / "clean")
    after = texts(tmp_path / "clean")
    assert after.keys() == before.keys()
    for name, kept in after.items():
        dropped = set() if name == "d.csv" else {0, 7, 150, 299}
        assert kept == [text for row, text in enumerate(before[name]) if row not in dropped]
    assert (clean.rows, clean.kept) == (1204, 1204 - 16)
    assert (tmp_path / "clean" / "d.csv").read_bytes() == (corpus / "d.csv").read_bytes()


def test_kept_rows_of_text_files_keep_their_bytes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    drop = rows([(f"{corpus}/d.csv", 1, "near"), (f"{corpus}/a.jsonl", 1, "near")])
    write_clean(files_of(corpus), drop, tmp_path / "clean")
    assert (tmp_path / "clean" / "d.csv").read_bytes() == b"id,text\r\n0,zero\r\n\r\n3,three"
    lines = (corpus / "a.jsonl").read_bytes().splitlines(keepends=True)
    assert (tmp_path / "clean" / "a.jsonl").read_bytes() == b"".join([lines[0], *lines[2:]])


def test_parquet_keeps_schema_codecs_and_row_groups(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    numbers = [5, *range(100, 200)]
    write_clean(files_of(corpus), drops(corpus, numbers), tmp_path / "clean")
    before, after = (pq.ParquetFile(folder / "sub" / "e.parquet") for folder in (corpus, tmp_path / "clean"))
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    groups = [after.metadata.row_group(number) for number in range(after.metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [99, 100], "a group without rows is left out"
    assert [groups[0].column(index).compression for index in (0, 1)] == ["GZIP", "UNCOMPRESSED"]


def test_rows_are_counted_by_reason(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    name = f"{corpus}/a.jsonl"
    drop = rows([(name, 3, "exact"), (name, 3, "exact"), (name, 3, "near"), (name, 4, "near")])
    clean = write_clean(files_of(corpus), drop, tmp_path / "clean")
    assert clean.dropped == {"exact": 1, "near": 2}
    report = json.loads((tmp_path / "clean" / REPORT).read_text("utf-8"))
    assert (report["rows"], report["kept"], report["dropped"]) == (1204, 1202, {"exact": 1, "near": 2})
    assert report["files"][0] == {"file": "a.jsonl", "rows": 300, "kept": 298}


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    drop = drops(corpus, list(range(0, 300, 7)))
    for jobs in (1, 4):
        write_clean(files_of(corpus), drop, tmp_path / f"clean-{jobs}", jobs=jobs)
    assert content(tmp_path / "clean-1") == content(tmp_path / "clean-4")


def test_a_second_copy_has_the_same_bytes_and_replaces_the_first(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    write_clean(files_of(corpus), rows([]), tmp_path / "clean")
    first = content(tmp_path / "clean")
    write_clean(files_of(corpus), drops(corpus, [1]), tmp_path / "clean")
    write_clean(files_of(corpus), rows([]), tmp_path / "clean")
    assert content(tmp_path / "clean") == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean", "corpus"]


def test_an_error_leaves_the_old_copy_or_none(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    files = files_of(corpus)
    packed = (corpus / "c.jsonl.zst").read_bytes()
    (corpus / "c.jsonl.zst").write_bytes(packed[:-20])
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


def test_a_copy_may_be_beside_a_file_that_is_named(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    write_clean(files_of(corpus / "a.jsonl"), rows([]), corpus / "clean")
    assert texts(corpus / "clean")["a.jsonl"][0] == "Текст 0"


def test_a_folder_with_other_files_and_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    corpus, other = write_corpus(tmp_path / "corpus"), write_corpus(tmp_path / "other")
    with pytest.raises(UsageError, match="holds other files"):
        write_clean(files_of(corpus), rows([]), other)
    with pytest.raises(UsageError, match="two files of the corpus"):
        write_clean(files_of(corpus) + files_of(other), rows([]), tmp_path / "clean")
    assert not (tmp_path / "clean").exists()
