"""Read Parquet."""

import io
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.values import Columns, Type, describe_type, make_schema, malformed
from builders.spec import Raw

LEAF_TYPES: dict[Type, tuple[Callable[[pa.DataType], bool], ...]] = {
    pl.String: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    pl.Int64: (pa.types.is_int64,),
    pl.Float64: (pa.types.is_float64,),
    pl.Boolean: (pa.types.is_boolean,),
}


def read_parquet(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> pl.DataFrame:
    """The named columns of a Parquet file, in the order of `columns`.

    columns: String, Int64, Float64, Boolean, List and Struct of these; the file must have these types, nothing is cast. A
    Struct names the fields to read, at any depth, also inside lists: its other fields are ignored, and their order in the
    file does not matter. optional: paths that may be null, as in `builders.reading.json_lines`.

    Raises SourceError for a file that is not Parquet, truncated or corrupt, for text that is not UTF-8, with the path
    (`question.choices[].label`) for a column or field that is missing, repeated or of another type, and with the record's
    number, from 1, for a null.
    """
    schema = make_schema(columns, optional)
    try:
        with pq.ParquetFile(_open(raw)) as file:
            leaves, selection = _select(raw, "", pa.struct(list(file.schema_arrow)), pl.Struct(schema), 0)
            table = file.read(columns=[file.schema.column(leaf).path for leaf in leaves])
        # The cast drops and reorders fields. `validate` checks that texts are UTF-8; the file's metadata, which polars would not
        # check, are left behind.
        table = pa.table({field.name: table[field.name].cast(field.type) for field in selection}).slice(0, raw.limit)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a name in the footer that is not UTF-8
        raise _corrupt(raw, error) from error
    frame = pl.DataFrame(table)
    records = pl.Series(np.arange(1, frame.height + 1))
    for name, dtype in schema.items():
        if nulls := list(_first_nulls(frame[name], dtype, name, records, optional)):
            record, path, expected = min(nulls, key=lambda null: null[0])
            raise malformed(raw, f"record {record}", f"{path} is null", found="null", expected=expected)
    return frame


def _open(raw: Raw) -> Any:
    """What pyarrow reads from: the file in place, or a member of an archive, held in memory."""
    if raw.member is None:
        return raw.path
    with open_raw(raw) as file:
        return io.BytesIO(file.read())


def _select(raw: Raw, path: str, file_type: pa.DataType, dtype: Type, first: int) -> tuple[list[int], pa.DataType]:
    """Match a column of the file with the requested type.

    Returns the numbers of the leaf columns to read, and the type of the file reduced to the requested fields, in their order.

    first: the number of the column's first leaf. Parquet stores a nested column as one leaf per innermost field, and numbers
    them depth first: in {id, question: {stem, choices: [{label, text}]}}, `question.choices[].text` is leaf 3.
    """
    if isinstance(dtype, pl.List) and (pa.types.is_list(file_type) or pa.types.is_large_list(file_type)):
        leaves, items = _select(raw, f"{path}[]", file_type.value_type, dtype.inner, first)
        return leaves, pa.list_(items) if pa.types.is_list(file_type) else pa.large_list(items)
    if isinstance(dtype, pl.Struct) and pa.types.is_struct(file_type):
        return _select_fields(raw, path, file_type, dtype, first)
    if not any(matches(file_type) for matches in LEAF_TYPES.get(dtype.base_type(), ())):
        raise malformed(
            raw, "", f"column {path!r} has the wrong type", found=str(file_type)[:200], expected=describe_type(dtype)
        )
    return [first], file_type


def _select_fields(
    raw: Raw, path: str, file_type: pa.StructType, dtype: pl.Struct, first: int
) -> tuple[list[int], pa.DataType]:
    names = [field.name for field in file_type]
    starts = dict(zip(names, accumulate(map(_count_leaves, file_type), initial=first), strict=False))
    leaves: list[int] = []
    fields: list[pa.Field] = []
    for name, field_type in dtype.to_schema().items():
        inner = f"{path}.{name}" if path else name
        if names.count(name) != 1:
            raise malformed(
                raw,
                "",
                f"the file has {'no column' if name not in names else 'two columns'} {inner!r}",
                found=", ".join(names),
                expected=", ".join(dtype.to_schema()),
            )
        field_leaves, selection = _select(raw, inner, file_type.field(name).type, field_type, starts[name])
        leaves += field_leaves
        fields.append(pa.field(name, selection))
    return leaves or [first], pa.struct(fields)  # a struct without fields still needs one leaf to be read


def _count_leaves(field: pa.Field) -> int:
    file_type = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    return sum(_count_leaves(file_type.field(index)) for index in range(file_type.num_fields)) or 1


def _first_nulls(
    column: pl.Series, dtype: Type, path: str, records: pl.Series, optional: Collection[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield, for each path of a column that holds a forbidden null, the first record with one, the path and the type's name.

    records: the number of the record that each value of the column belongs to.
    """
    if column.null_count():
        if path not in optional:
            yield records.filter(column.is_null())[0], path, describe_type(dtype)
        column, records = column.drop_nulls(), records.filter(column.is_not_null())
    if isinstance(dtype, pl.List):
        item_records = pl.Series(np.repeat(records.to_numpy(), column.list.len().to_numpy()))
        items = column.explode(empty_as_null=False)
        yield from _first_nulls(items, dtype.inner, f"{path}[]", item_records, optional)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            values = column.struct.field(field.name)
            yield from _first_nulls(values, field.dtype, f"{path}.{field.name}", records, optional)


def _corrupt(raw: Raw, error: Exception) -> SourceError:
    return malformed(
        raw, "", "truncated or corrupt Parquet file", found=str(error).split("\n", 1)[0][:200], expected="Parquet"
    )
