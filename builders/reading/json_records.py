"""Nested records that a source writes in one of two shapes: a list of objects, or an object of lists.

`datasets` turns a list of objects, [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], into an object of lists of equal lengths,
{"id": [1, 2], "text": ["a", "b"]}, and whoever writes its rows as JSON publishes the second shape.
"""

from typing import Any

import polars as pl

from builders.reading.values import MismatchError, Type, describe_value


def to_records(value: Any, name: str, dtype: Type) -> Any:
    """A value of the column `name` as a list of objects with the keys of its type; a value of neither shape as it is.

    dtype: List(Struct). A key that the object lacks, or that is null, is in no record.

    Raises MismatchError for lists of different lengths and for a key without a list, TypeError for another dtype.
    """
    if not isinstance(dtype, pl.List) or not isinstance(dtype.inner, pl.Struct):
        raise TypeError(f"column {name}: records need a List of Struct, not {dtype}")
    if not isinstance(value, dict):
        return value
    lists = {field.name: value[field.name] for field in dtype.inner.fields if value.get(field.name) is not None}
    for key, items in lists.items():
        if not isinstance(items, list):
            what, expected = f"{name}.{key} has the wrong type", "a list"
            raise MismatchError(what, found=describe_value(items), expected=expected)
    lengths = {key: len(items) for key, items in lists.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length:,} of {key}" for key, length in lengths.items())
        raise MismatchError(f"{name} has lists of different lengths", found=found, expected="as many of each")
    return [dict(zip(lists, items, strict=True)) for items in zip(*lists.values(), strict=True)]
