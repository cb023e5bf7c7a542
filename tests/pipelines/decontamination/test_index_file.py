"""An index of texts as a file: what is damaged or foreign is an error, never a wrong match."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError
from pipelines.decontamination import index_file
from pipelines.decontamination.index_file import KEY, TextIndex, read_index, read_index_header, write_index
from pipelines.decontamination.indexing import index_tables
from tests.support.benchmark_tables import index_of, retrieval, sentence, similarity
from tests.support.paths import ROOT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    source = random.Random(5)
    texts = [sentence(source, 3 + number % 90) for number in range(60)]
    facts = retrieval("facts", texts[:40], [(texts[50], [3, 1]), (texts[51], []), (texts[52], [3])])
    pairs = similarity("pairs", list(zip(texts[30:40], texts[40:50], strict=True)), list(range(10)))
    index_tables([facts, pairs], tmp_path / "index.parquet")
    return tmp_path / "index.parquet"


def content(index: TextIndex) -> Any:
    return str(
        {
            key: value.tolist() if isinstance(value, np.ndarray | pa.Array) else str(value)
            for key, value in index.columns.items()
        }
    )


def change_header(path: Path, **changes: Any) -> None:
    table = pq.read_table(path)
    header = msgspec.json.decode(table.schema.metadata[KEY]) | changes
    text = msgspec.json.encode(header)
    with pq.ParquetWriter(path, table.schema.remove_metadata(), store_schema=False) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({KEY: text, KEY + b".sha256": hashlib.sha256(text).hexdigest().encode()})


def test_row_groups_do_not_change_what_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = read_index(path)
    monkeypatch.setattr(index_file, "ROW_GROUP_ROWS", 7)
    table = pq.read_table(path)
    write_index(path, [table.slice(row, 5).cast(index_file.SCHEMA) for row in range(0, 63, 5)], list(index.tables))
    assert pq.read_metadata(path).num_row_groups == 9
    assert content(read_index(path)) == content(index)


def test_an_index_of_the_first_format_is_read(tmp_path: Path) -> None:
    published, copy = ROOT / "tests" / "golden" / "ru_wanli" / "raw" / "benchmark-index.parquet", tmp_path / "index"
    index = read_index(published)
    assert (len(index.tables), len(index.columns["row"]), len(index.columns["bands"].lengths)) == (6, 44, 44)
    assert index.views == ()
    assert not index.columns["letters"].any(), "the first format has none"
    seeds = pa.array([[]] * 44, index_file.NUMBERS)
    numbers = {name: pa.array([0] * 44, index_file.COLUMNS_2[name]) for name in ("letters", "rough_letters")}
    table = pq.read_table(published).append_column("letters", numbers["letters"])
    table = table.append_column("rough_letters", numbers["rough_letters"]).append_column("seeds", seeds)
    write_index(copy, [table.cast(index_file.SCHEMA)], list(index.tables))
    assert content(read_index(copy)) == content(index)
    assert read_index(copy).views[-1] == "prefix/1"


def test_a_column_that_was_not_written_is_refused(path: Path) -> None:
    """Pages whose checksums are right, with one value of a column changed: by a program that writes Parquet too."""
    table = pq.read_table(path)
    metadata = pq.read_metadata(path).metadata
    for name in ("exact", "bands", "row"):
        values = table.column(name).to_pylist()
        values[3] = values[4]
        forged = table.set_column(
            table.schema.get_field_index(name),
            table.schema.field(name),
            pa.array(values, table.schema.field(name).type),
        )
        with pq.ParquetWriter(path, index_file.SCHEMA, store_schema=False) as writer:
            writer.write_table(forged.replace_schema_metadata(None).cast(index_file.SCHEMA))
            writer.add_key_value_metadata({key: value for key, value in metadata.items() if key.startswith(KEY)})
        with pytest.raises(SourceError, match=f"the column {name}"):
            read_index(path)


def test_an_index_without_texts_can_be_read(tmp_path: Path) -> None:
    index = index_of([similarity("pairs", [], [])], tmp_path)
    assert len(index.columns["exact"]) == len(index.columns["row"]) == len(index.columns["bands"].lengths) == 0
    assert [table.rows for table in index.tables] == [0, 0]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("read", [read_index, read_index_header])
def test_a_truncated_file_is_refused(path: Path, share: float, read: Callable[[Path], Any]) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SourceError, match="truncated, damaged") as raised:
        read(path)
    assert str(path) in str(raised.value)


def test_what_an_index_is_of_is_read_without_its_texts(path: Path) -> None:
    tables, whole = read_index(path).tables, path.read_bytes()
    path.write_bytes(whole[:4] + bytes(1000) + whole[1004:])
    assert read_index_header(path).tables == tables
    with pytest.raises(SourceError, match="truncated, damaged"):
        read_index(path)


def test_any_other_byte_is_refused_or_changes_nothing(path: Path) -> None:
    whole, expected, source = path.read_bytes(), content(read_index(path)), random.Random(1)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        try:
            assert content(read_index(path)) == expected
        except SourceError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "found", [b"", b"PAR1", b"not an index\n", b'{"query": "a"}\n'], ids=["empty", "magic", "text", "json"]
)
def test_another_file_and_a_folder_are_refused(tmp_path: Path, found: bytes) -> None:
    (tmp_path / "index").write_bytes(found)
    for path in (tmp_path / "index", tmp_path):
        with pytest.raises(SourceError, match="not an index of texts"):
            read_index(path)


def test_a_parquet_file_of_something_else_is_refused(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with pytest.raises(SourceError, match="not an index of texts") as raised:
        read_index(path)
    assert "contamination index" in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "what", "todo"),
    [
        ({"format": 3, "something_new": [1]}, "format 3", "update this package"),
        ({"probe": "0" * 64}, "other versions of libraries", "build the index again"),
    ],
    ids=["format", "probe"],
)
def test_an_index_of_another_version_says_what_to_do(path: Path, changes: dict[str, Any], what: str, todo: str) -> None:
    change_header(path, **changes)
    with pytest.raises(SourceError, match=what) as raised:
        read_index(path)
    assert todo in str(raised.value)


def test_a_list_of_tables_that_does_not_fit_the_rows_is_refused(path: Path) -> None:
    tables = [msgspec.to_builtins(table) for table in read_index(path).tables]
    tables[0]["rows"] -= 1
    change_header(path, tables=tables)
    with pytest.raises(SourceError, match="other numbers of rows"):
        read_index(path)


def test_a_failed_write_leaves_the_old_index(path: Path) -> None:
    before = path.read_bytes()

    def fail() -> Any:
        yield pq.read_table(path).cast(index_file.SCHEMA)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_index(path, fail(), [])
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
