"""read_parquet: the requested columns and fields of a Parquet file, and errors for everything else."""

import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.errors import SourceError
from builders.reading.parquet import read_parquet
from builders.spec import Raw
from tests.support.reading import source_error

PAPER = {"paper_id": pl.Int64(), "title": pl.String(), "abstract": pl.String()}
PAPERS = {"paper_id": [7, 3], "title": ["А", " Б\n"], "abstract": ["", "в"], "extra": [1.5, None]}


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., Raw]:
    def write(columns: dict[str, Any] | pa.Table, limit: int | None = None, **options: Any) -> Raw:
        path = tmp_path / "file.parquet"
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        return Raw("source/file.parquet", path, limit=limit)

    return write


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_rows_come_in_the_order_of_the_file_and_columns_as_requested(
    compression: str, parquet: Callable[..., Raw]
) -> None:
    raw = parquet(PAPERS, compression=compression, row_group_size=1)
    frame = read_parquet(raw, {"abstract": pl.String(), "paper_id": pl.Int64()})
    assert frame.schema == pl.Schema({"abstract": pl.String, "paper_id": pl.Int64})
    assert frame.rows() == [("", 7), ("в", 3)]


def test_a_file_in_an_archive_reads_like_one_beside_it(parquet: Callable[..., Raw], tmp_path: Path) -> None:
    raw = parquet(PAPERS)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(raw.path, "data/file.parquet")
    packed = Raw("source/file.parquet", tmp_path / "all.zip", "data/file.parquet")
    assert_frame_equal(read_parquet(packed, PAPER), read_parquet(raw, PAPER))


def test_the_limit_counts_records(parquet: Callable[..., Raw]) -> None:
    assert read_parquet(parquet(PAPERS, limit=1), PAPER)["paper_id"].to_list() == [7]
    assert read_parquet(parquet(PAPERS, limit=0), PAPER).height == 0


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        (PAPERS | {"title": ["А", None]}, "title is null"),
        ({"paper_id": [1], "title": ["А"]}, "no column 'abstract'"),
        (PAPERS | {"paper_id": ["7", "3"]}, "column 'paper_id' has the wrong type"),
        (PAPERS | {"paper_id": pa.array([7, 3], pa.int32())}, "column 'paper_id' has the wrong type"),
        (PAPERS | {"title": pa.array(["А", "Б"]).dictionary_encode()}, "column 'title' has the wrong type"),
        (PAPERS | {"title": [["А"], ["Б"]]}, "column 'title' has the wrong type"),
        (PAPERS | {"title": pa.array([b"\xff", b"a"]).cast(pa.string(), safe=False)}, "truncated or corrupt Parquet"),
    ],
)
def test_a_file_that_differs_from_the_columns_is_refused(
    columns: dict[str, Any], what: str, parquet: Callable[..., Raw]
) -> None:
    assert what in source_error(lambda: read_parquet(parquet(columns), PAPER)).what


# Nested columns

TURN = pa.struct(
    [
        ("role", pa.string()),
        ("meta", pa.struct([("flagged", pa.bool_()), ("scores", pa.list_(pa.float64())), ("hate/threat", pa.bool_())])),
        ("content", pa.string()),
        ("tokens", pa.int32()),
    ]
)


def turn(content: str | None, *, flagged: bool | None = False, scores: tuple[float, ...] = ()) -> dict[str, Any]:
    meta = {"flagged": flagged, "scores": scores, "hate/threat": True}
    return {"role": "user", "meta": meta, "content": content, "tokens": 3}


def conversations(*turns: list[dict[str, Any] | None] | None, large: bool = False) -> dict[str, Any]:
    """Columns around a list of structs, which they move away from the first leaf column of the file."""
    kind = pa.large_list(TURN) if large else pa.list_(TURN)
    return {
        "tags": pa.array([{"x": 1, "y": {"z": [["a"], []]}}] * len(turns)),
        "pairs": pa.array([[("a", 1)]] * len(turns), pa.map_(pa.string(), pa.int64())),
        "turns": pa.array(list(turns), kind),
        "last": pa.array(list(range(len(turns)))),
    }


CONTENT = pl.List(pl.Struct({"content": pl.String, "meta": pl.Struct({"scores": pl.List(pl.Float64)})}))


@pytest.mark.parametrize("large", [False, True])
def test_structs_hold_the_requested_fields_in_the_requested_order_at_every_depth(
    large: bool, parquet: Callable[..., Raw]
) -> None:
    raw = parquet(conversations([turn("Привет", scores=(0.5, 1.0)), turn("")], [], [turn("b")], large=large))
    columns = {
        "last": pl.Int64,
        "turns": CONTENT,
        "tags": pl.Struct({"y": pl.Struct({"z": pl.List(pl.List(pl.String))})}),
    }
    frame = read_parquet(raw, columns)
    assert frame.schema == pl.Schema(columns)
    tags = {"y": {"z": [["a"], []]}}
    assert frame.rows() == [
        (0, [{"content": "Привет", "meta": {"scores": [0.5, 1.0]}}, {"content": "", "meta": {"scores": []}}], tags),
        (1, [], tags),
        (2, [{"content": "b", "meta": {"scores": []}}], tags),
    ]


def test_only_the_requested_leaf_columns_are_read(parquet: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[list[str]] = []
    read = pq.ParquetFile.read

    def spy(file: pq.ParquetFile, columns: list[str]) -> pa.Table:
        requests.append(columns)
        return read(file, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read", spy)
    read_parquet(parquet(conversations([turn("a")])), {"turns": CONTENT, "last": pl.Int64})
    assert requests == [
        ["turns.list.element.content", "turns.list.element.meta.scores.list.element", "last"],
    ]


def test_a_dot_in_a_name_is_part_of_the_name(parquet: Callable[..., Raw]) -> None:
    raw = parquet({"s": [{"a": "x", "b.c": 1}], "s.a": ["y"], "b": [{"c": 2}]})
    columns = {"s": pl.Struct({"b.c": pl.Int64, "a": pl.String}), "s.a": pl.String}
    assert read_parquet(raw, columns).rows() == [({"b.c": 1, "a": "x"}, "y")]
    assert read_parquet(raw, {"s": pl.Struct({"a": pl.String})}).rows() == [({"a": "x"},)]


def test_a_struct_without_fields_keeps_the_rows(parquet: Callable[..., Raw]) -> None:
    frame = read_parquet(parquet({"s": [{"a": "x"}, {"a": "y"}]}), {"s": pl.Struct({})})
    assert (frame.height, frame.schema) == (2, pl.Schema({"s": pl.Struct({})}))


@pytest.mark.parametrize(
    ("dtype", "what", "found", "expected"),
    [
        (
            pl.List(pl.Struct({"content": pl.String, "text": pl.String})),
            "no column 'turns[].text'",
            "role, meta, content, tokens",
            "content, text",
        ),
        (
            pl.List(pl.Struct({"meta": pl.Struct({"flag": pl.Boolean})})),
            "no column 'turns[].meta.flag'",
            "flagged, scores, hate/threat",
            "flag",
        ),
        (
            pl.List(pl.Struct({"tokens": pl.Int64})),
            "column 'turns[].tokens' has the wrong type",
            "int32",
            "an integer of 64 bits",
        ),
        (
            pl.List(pl.Struct({"meta": pl.Struct({"scores": pl.List(pl.Int64)})})),
            "column 'turns[].meta.scores[]' has the wrong type",
            "double",
            "an integer of 64 bits",
        ),
        (pl.Struct({"content": pl.String}), "column 'turns' has the wrong type", "list<element: struct<", "an object"),
        (pl.List(pl.String), "column 'turns[]' has the wrong type", "struct<role: string", "a string"),
        (
            pl.List(pl.Struct({"content": pl.List(pl.String)})),
            "column 'turns[].content' has the wrong type",
            "string",
            "a list",
        ),
        (
            pl.List(pl.Struct({"meta": pl.Struct({"hate/threat": pl.Struct({"x": pl.String})})})),
            "column 'turns[].meta.hate/threat' has the wrong type",
            "bool",
            "an object",
        ),
    ],
)
def test_a_missing_field_and_a_wrong_type_are_named_by_their_path(
    dtype: pl.DataType, what: str, found: str, expected: str, parquet: Callable[..., Raw]
) -> None:
    error = source_error(lambda: read_parquet(parquet(conversations([turn("a")])), {"turns": dtype}))
    assert what in error.what
    assert found in str(error.found)
    assert error.expected == expected
    assert error.where == "source/file.parquet"


def test_a_repeated_field_is_refused_only_if_it_is_requested(parquet: Callable[..., Raw]) -> None:
    arrays = [pa.array([1]), pa.array(["x"]), pa.array(["y"])]
    raw = parquet({"s": pa.StructArray.from_arrays(arrays, names=["a", "b", "b"])})
    assert read_parquet(raw, {"s": pl.Struct({"a": pl.Int64})}).rows() == [({"a": 1},)]
    error = source_error(lambda: read_parquet(raw, {"s": pl.Struct({"b": pl.String})}))
    assert "two columns 's.b'" in error.what


# Nulls


def test_a_null_is_named_by_its_record_unless_it_is_optional(parquet: Callable[..., Raw]) -> None:
    raw = parquet(PAPERS | {"title": ["А", None]})
    error = source_error(lambda: read_parquet(raw, PAPER))
    assert "title is null" in error.what
    assert error.where == "source/file.parquet, record 2"
    assert (error.found, error.expected) == ("null", "a string")
    assert read_parquet(raw, PAPER, optional=("title",))["title"].to_list() == ["А", None]


GOOD = [turn("a"), turn("b")]


@pytest.mark.parametrize(
    ("turns", "path", "record"),
    [
        ([GOOD, [], None, [turn(None)]], "turns", 3),
        ([GOOD, [], [turn("c"), None], [turn(None)]], "turns[]", 3),
        ([[], GOOD, [turn("c"), turn("d"), turn(None)], [None]], "turns[].content", 3),
        ([[], [], [], [turn("c"), turn("d", scores=(0.5, None))]], "turns[].meta.scores[]", 4),
        ([[turn("d", scores=(None,))], [turn(None)]], "turns[].meta.scores[]", 1),
        ([[turn("c") | {"meta": None}], [turn(None)]], "turns[].meta", 1),
    ],
)
def test_the_error_names_the_first_record_with_a_null_at_any_depth(
    turns: list[Any], path: str, record: int, parquet: Callable[..., Raw]
) -> None:
    error = source_error(lambda: read_parquet(parquet(conversations(*turns)), {"turns": CONTENT}))
    assert error.what == f"source/file.parquet: {path} is null"
    assert error.where == f"source/file.parquet, record {record}"


def test_nulls_are_kept_on_optional_paths_and_allowed_in_ignored_fields(parquet: Callable[..., Raw]) -> None:
    turns = [[turn(None, flagged=None), None], None, [turn("c") | {"meta": None, "role": None}]]
    optional = ("turns", "turns[]", "turns[].content", "turns[].meta")
    frame = read_parquet(parquet(conversations(*turns)), {"turns": CONTENT}, optional=optional)
    assert frame["turns"].to_list() == [
        [{"content": None, "meta": {"scores": []}}, None],
        None,
        [{"content": "c", "meta": None}],
    ]
    for path in optional:
        others = [other for other in optional if other != path]
        with pytest.raises(SourceError, match="is null"):
            read_parquet(parquet(conversations(*turns)), {"turns": CONTENT}, optional=others)


def test_nulls_after_the_limit_are_ignored(parquet: Callable[..., Raw]) -> None:
    raw = parquet(conversations(GOOD, [turn(None)]), limit=1)
    assert read_parquet(raw, {"turns": CONTENT}).height == 1


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(-(2**63), 2**63 - 1),
            "items": st.lists(
                st.fixed_dictionaries(
                    {"b": st.text(), "a": st.fixed_dictionaries({"x": st.booleans(), "y": st.lists(st.text())})}
                ),
                max_size=3,
            ),
        }
    ),
    min_size=1,
    max_size=6,
)
ROW_TYPE = pa.struct(
    [
        ("id", pa.int64()),
        (
            "items",
            pa.list_(
                pa.struct(
                    [("b", pa.string()), ("a", pa.struct([("x", pa.bool_()), ("y", pa.list_(pa.string()))]))],
                )
            ),
        ),
    ]
)


@given(rows=ROWS, group=st.integers(1, 4))
def test_projected_rows_equal_those_of_plain_python(
    rows: list[dict[str, Any]], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(list(ROW_TYPE))), path, row_group_size=group)
    columns = {"items": pl.List(pl.Struct({"a": pl.Struct({"y": pl.List(pl.String)}), "b": pl.String}))}
    frame = read_parquet(Raw("rows", path), columns)
    assert frame.schema == pl.Schema(columns)
    assert frame["items"].to_list() == [
        [{"a": {"y": item["a"]["y"]}, "b": item["b"]} for item in row["items"]] for row in rows
    ]


# Corrupt files

FLAT = {"paper_id": list(range(50)), "title": ["текст"] * 50, "abstract": ["а"] * 50}


@pytest.mark.parametrize(
    ("table", "columns", "optional"),
    [
        (FLAT, PAPER, ("title", "abstract")),
        (conversations(*[GOOD] * 50), {"turns": CONTENT}, ("turns", "turns[]", "turns[].content", "turns[].meta")),
    ],
    ids=["flat", "nested"],
)
@given(data=st.data())
def test_a_corrupt_file_gives_rows_or_a_source_error_never_a_traceback(
    table: dict[str, Any],
    columns: dict[str, Any],
    optional: tuple[str, ...],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.getbasetemp() / "corrupt.parquet"
    pq.write_table(pa.table(table), path)
    whole = path.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    flipped = whole[:position] + bytes([whole[position] ^ 255]) + whole[position + 1 :]
    path.write_bytes(whole[:position] if cut else flipped)
    raw = Raw("source/corrupt.parquet", path)
    if cut:
        with pytest.raises(SourceError, match="truncated or corrupt Parquet file"):
            read_parquet(raw, columns)
    else:
        with suppress(SourceError):
            read_parquet(raw, columns, optional=optional)
