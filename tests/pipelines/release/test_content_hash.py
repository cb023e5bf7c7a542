"""content_sha256: defined by its docstring, not by this program."""

import hashlib
import json
import math
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import ReleaseError
from pipelines.release import folder, parquet
from pipelines.release.content_hash import dataset_sha256

TYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "int64": pl.Int64(),
    "float64": pl.Float64(),
    "bool": pl.Boolean(),
    "list<string>": pl.List(pl.String),
    "list<int64>": pl.List(pl.Int64),
}
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
WHOLE = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "int64": WHOLE,
    "float64": st.floats(),
    "bool": st.booleans(),
    "list<string>": st.lists(st.none() | TEXT, max_size=3),
    "list<int64>": st.lists(st.none() | WHOLE, max_size=3),
}


def by_the_book(columns: dict[str, str], rows: list[tuple[Any, ...]]) -> str:
    """The hash of a table, written from the docstring of pipelines.release.content_hash with nothing but the standard library."""

    def streams(kind: str, values: list[Any]) -> list[bytes]:
        validity = bytes(value is not None for value in values)
        if kind.startswith("list"):
            lengths = b"".join(struct.pack("<Q", len(value or ())) for value in values)
            items = [item for value in values for item in value or ()]
            return [validity, lengths, *streams(kind[5:-1], items)]
        if kind == "string":
            texts = [(value or "").encode() for value in values]
            return [validity, b"".join(struct.pack("<Q", len(text)) for text in texts), b"".join(texts)]
        if kind == "int64":
            return [validity, b"".join(struct.pack("<q", value or 0) for value in values)]
        if kind == "bool":
            return [validity, bytes(bool(value) for value in values)]
        nan = struct.pack("<Q", 0x7FF8000000000000)
        numbers = [0.0 if value is None else value for value in values]
        return [validity, b"".join(nan if math.isnan(number) else struct.pack("<d", number) for number in numbers)]

    whole = b"embedding-datasets/1\n\n"
    for name, kind in columns.items():
        whole += json.dumps([name, kind], ensure_ascii=True).encode() + b"\n"
    whole += str(len(rows)).encode() + b"\n"
    for place, kind in enumerate(columns.values()):
        for stream in streams(kind, [row[place] for row in rows]):
            whole += hashlib.sha256(stream).digest()
    return hashlib.sha256(whole).hexdigest()


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    kinds = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in kinds)), max_size=12))
    return {f"c{i} é": kind for i, kind in enumerate(kinds)}, rows


def frame_of(columns: dict[str, str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={name: TYPES[kind] for name, kind in columns.items()}, orient="row")


@given(tables(), st.integers(1, 5))
def test_the_hash_is_what_its_docstring_says_however_the_frame_is_chunked(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[dict[str, str], list[tuple[Any, ...]]], cut: int
) -> None:
    columns, rows = table
    frame, folder = frame_of(columns, rows), tmp_path_factory.mktemp("table")
    pieces = pl.concat([frame.head(0), *(frame.slice(start, cut) for start in range(0, len(rows), cut))], rechunk=False)
    expected = by_the_book(columns, rows)
    written = parquet.write_table(frame, folder, "default", "test")
    assert written.content_sha256 == expected
    assert parquet.hash_table(folder, written).hexdigest() == expected
    assert parquet.write_table(pieces, folder / "pieces", "default", "test").content_sha256 == expected
    assert parquet.write_table(pieces.lazy(), folder / "lazy", "default", "test").content_sha256 == expected


def test_a_literal_hash_so_that_the_definition_cannot_drift(tmp_path: Path) -> None:
    columns = {"id": "string", "label": "list<int64>", "score": "float64"}
    frame = frame_of(columns, [("а", [1, 2], 0.5), ("", [], -0.0), (None, None, None)])
    table = parquet.write_table(frame, tmp_path, "default", "test")
    assert table.content_sha256 == "122a83c751dd623f3fea54e9ef1a49a137c6f12999ecc8f3238b7ce0672e821a"


@pytest.mark.parametrize(
    "other",
    [
        pl.DataFrame({"text": ["b", "a"]}),
        pl.DataFrame({"text": ["ab", ""]}),
        pl.DataFrame({"text": ["a", "b", ""]}),
        pl.DataFrame({"texts": ["a", "b"]}),
        pl.DataFrame({"text": [["a"], ["b"]]}),
    ],
    ids=["order", "borders", "rows", "names", "types"],
)
def test_order_borders_rows_names_and_types_all_count(tmp_path: Path, other: pl.DataFrame) -> None:
    one = parquet.write_table(pl.DataFrame({"text": ["a", "b"]}), tmp_path / "one", "default", "test")
    assert one.content_sha256 != parquet.write_table(other, tmp_path / "other", "default", "test").content_sha256


def test_a_dataset_hash_does_not_depend_on_the_order_of_tables() -> None:
    tables = {("qrels", "test"): "aa", ("corpus", "test"): "bb"}
    lines = '["corpus", "test", "bb"]\n["qrels", "test", "aa"]\n'
    assert dataset_sha256(tables) == hashlib.sha256(lines.encode()).hexdigest()
    assert dataset_sha256(dict(reversed(tables.items()))) == dataset_sha256(tables)


@pytest.mark.parametrize("columns", [["text", "tags"], ["text"]], ids=["with lists", "without lists"])
def test_files_and_row_groups_follow_from_the_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str]
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 7)
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 100)
    monkeypatch.setattr(parquet, "SHARD_BYTES", 300)
    texts = ["x" * (i * 37 % 61) for i in range(100)] + ["y" * 5000, "z"]
    frame = pl.DataFrame({"text": texts, "tags": [[t[:3], t[:2]] for t in texts]}).select(columns)
    shapes = []
    for number, batch_rows in enumerate((1, 10, 1000)):
        for name in ("BATCH_ROWS", "LIST_BATCH_ROWS"):
            monkeypatch.setattr(parquet, name, batch_rows)
        release_dir = tmp_path / str(number)
        table = parquet.write_table(frame, release_dir, "corpus", "test")
        groups = []
        for file in table.files:
            with pq.ParquetFile(release_dir / file.path) as opened:
                metadata = opened.metadata
                groups.append([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        shapes.append((table, groups))
        assert folder.scan_tables(release_dir, [table])["corpus"]["test"].collect().equals(frame)
    assert shapes[0] == shapes[1] == shapes[2]
    assert len(shapes[0][0].files) > 1
    assert shapes[0][0].files[0].path == f"corpus/test-00000-of-{len(shapes[0][0].files):05d}.parquet"
    assert all(rows <= 7 for groups in shapes[0][1] for rows in groups)
    assert [1] in [groups[-1:] for groups in shapes[0][1]], "a text larger than a row group has one to itself"


def test_the_files_are_zstd_with_plain_strings_and_a_page_index(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = parquet.write_table(pl.DataFrame({"text": ["a"], "label": [1]}), tmp_path, "default", "test")
    assert table.files[0].path == "data/test-00000-of-00001.parquet"
    with pq.ParquetFile(tmp_path / table.files[0].path) as opened:
        column = opened.metadata.row_group(0).column(0)
        assert column.compression == "ZSTD"
        assert column.has_offset_index
        assert opened.schema_arrow.field("text").type == pa.string()


def test_an_empty_table_gets_a_file_too(tmp_path: Path) -> None:
    table = parquet.write_table(pl.DataFrame(schema={"text": pl.String}), tmp_path, "default", "test")
    assert folder.scan_tables(tmp_path, [table])["default"]["test"].collect().shape == (0, 1)


def test_a_type_that_a_release_may_not_hold_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot hold this type") as caught:
        parquet.write_table(pl.DataFrame({"when": [1]}, schema={"when": pl.Int32}), tmp_path, "default", "test")
    assert "table default/test, column when" in str(caught.value)
    assert "Int32" in str(caught.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    table = parquet.write_table(pl.DataFrame({"text": ["a"]}), tmp_path, "default", "test")
    (tmp_path / table.files[0].path).write_bytes(b"PAR1 no more")
    with pytest.raises(ReleaseError, match="cannot be read") as caught:
        parquet.hash_table(tmp_path, table)
    assert "data/test-00000-of-00001.parquet" in str(caught.value)
