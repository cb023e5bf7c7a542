"""Rows of two frames paired as docs/diff.md says; counts by hand, and by a Counter for random tables."""

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import embedding_datasets as ed

COUNTS = ("equal", "new_ids", "changed", "same_text", "folded", "same_id", "removed", "added")
TEXTS = [f"text number {number}" for number in range(20)]
Row = tuple[Any, ...]


def frame(rows: list[Row], *columns: str) -> pl.DataFrame:
    types = {"id": pl.String, "text": pl.String, "label": pl.Int64}
    return pl.DataFrame(rows, {name: types[name] for name in columns}, orient="row")


def compare(a: Any, b: Any, **options: Any) -> tuple[Any, Any, dict[str, int]]:
    """The difference, its only table, and the counts of that which are not 0."""
    difference = ed.diff(a, b, **options)
    [table] = difference.tables
    return difference, table, {name: getattr(table, name) for name in COUNTS if getattr(table, name)}


def column(values: Any, dtype: Any = None, name: str = "value") -> pl.DataFrame:
    """A column of these values beside different texts."""
    series = values if isinstance(values, pl.Series) else pl.Series(name, values, dtype, strict=False)
    return pl.DataFrame({"text": TEXTS[: len(series)], name: series})


REST = [("8", "otter", 0), ("9", "heron", 1)]  # these tell that no label has another name


@pytest.mark.parametrize(
    ("a", "b", "counts", "differences"),
    [
        ([("1", "cat", 0)], [("1", "cat", 0)], {"equal": 1}, ""),
        ([("1", "cat", 0)], [("7", "cat", 0)], {"new_ids": 1}, "ids"),
        ([("1", "cat", 0)], [("1", "cat", 1)], {"changed": 1, "same_text": 1}, "rows"),
        ([("1", "cat", 0)], [("7", "cat", 1)], {"changed": 1, "same_text": 1}, "rows ids"),
        ([("1", "The cat, sat.", 0)], [("1", "the CAT  sat", 0)], {"changed": 1, "folded": 1}, "folded"),
        ([("1", "\ufb01ne", 0)], [("1", "fine", 0)], {"changed": 1, "folded": 1}, "folded"),
        ([("1", "Cat", 0)], [("1", "cat", 1)], {"changed": 1, "same_text": 1}, "rows"),
        ([("1", "Cat", 0)], [("7", "cat", 0)], {"changed": 1, "folded": 1}, "folded ids"),
        ([("1", "cat", 0)], [("1", "dog", 0)], {"changed": 1, "same_id": 1}, "rows"),
        ([("1", "cat", 0)], [], {"removed": 1}, "rows"),
        ([], [("1", "cat", 0)], {"added": 1}, "rows"),
        ([("1", "cat", 0)], [("7", "dog", 0)], {"removed": 1, "added": 1}, "rows"),
        # Copies, and ids that several rows have.
        ([("1", "cat", 0)] * 3 + [("2", "dog", 1)], [("1", "cat", 0)], {"equal": 1, "removed": 3}, "rows"),
        ([("1", "a", 0), ("1", "b", 0)], [("1", "b", 0), ("1", "z", 0)], {"equal": 1, "changed": 1, "same_id": 1}, "rows"),
        ([("1", "cat", 0)], [("1", "cat", 1), ("2", "cat", 0)], {"changed": 1, "same_text": 1, "added": 1}, "rows"),
        ([("1", "Cat", 0)], [("2", "cat", 0), ("1", "dog", 0)], {"changed": 1, "folded": 1, "added": 1}, "folded ids rows"),
        # Nulls are values.
        ([(None, "cat", None)], [(None, "cat", None)], {"equal": 1}, ""),
        ([("1", None, 0)] * 2, [("1", None, 0)], {"equal": 1, "removed": 1}, "rows"),
        ([(None, "cat", 0)], [("1", "cat", 0)], {"new_ids": 1}, "ids"),
        ([("1", "cat", None)], [("1", "cat", 0)], {"changed": 1, "same_text": 1}, "rows"),
        ([(None, "cat", 0)], [(None, "dog", 0)], {"removed": 1, "added": 1}, "rows"),
        # All kinds in one table.
        ([("1", "cat", 0), ("2", "Dog", 1), ("3", "fox", 0), ("4", "hen", 0), ("5", "ant", 1)],
         [("6", "bee", 1), ("4", "cow", 0), ("0", "fox", 0), ("2", "dog", 1), ("1", "cat", 1)],
         {"new_ids": 1, "changed": 3, "same_text": 1, "folded": 1, "same_id": 1, "removed": 1, "added": 1}, "rows folded ids"),
    ],
)  # fmt: skip
def test_each_kind_of_pair_is_counted(a: list[Row], b: list[Row], counts: dict[str, int], differences: str) -> None:
    names = ("id", "text", "label")
    difference, table, seen = compare(frame(a + REST, *names), frame(b + REST, *names))
    assert Counter(seen) == Counter(counts) + Counter(equal=len(REST))
    assert set(difference.differences) - {"order"} == set(differences.split())
    assert difference.same is not bool(differences)
    assert (table.before, table.after, table.state == "changed") == (len(a) + 2, len(b) + 2, bool(differences))


def test_a_row_with_the_same_id_is_preferred() -> None:
    a, b = [("1", "x", 0), ("2", "x", 0), *REST], [("2", "x", 1), ("3", "x", 0), *REST]
    _, table, seen = compare(frame(a, "id", "text", "label"), frame(b, "id", "text", "label"))
    assert seen == {"equal": 2, "new_ids": 1, "changed": 1, "same_text": 1}
    assert table.differing == {"id": 1, "label": 1}


def test_empty_tables() -> None:
    empty, one = frame([], "text", "label"), frame([("cat", 0)], "text", "label")
    assert [compare(*pair)[2] for pair in ((empty, empty), (empty, one), (one, empty))] == [
        {},
        {"added": 1},
        {"removed": 1},
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (column([1, 0, None], pl.Int8), column([1, 0, None], pl.Int64)),
        (column([1, 0]), column([1.0, 0.0])),
        (column([1, 0]), column(["1", "0"])),
        (column([True, False]), column([1, 0])),
        (column([0.1, 0.5], pl.Float64), column([0.1, 0.5], pl.Float32)),
        (column([2**63, 2**64 - 1], pl.UInt64), column([2**63, 2**64 - 1], pl.UInt64)),
        (column([2**62 + 1]), column([2**62 + 1], pl.UInt64)),
        (column([float("nan"), 0.0]), column([float("nan"), -0.0])),
        (column(["a", "b", None]), column(["a", "b", None], pl.Categorical)),
        (column(["a", "b"], pl.Enum(["b", "a"])), column(["a", "b"], pl.Categorical)),
        (column([[1, 2], [], None], pl.List(pl.Int8)), column([[1, 2], [], None], pl.List(pl.Int64))),
        (column([[1, 2]]), column([[1, 2]], pl.Array(pl.Int64, 2))),
        (column([{"x": [1], "y": None}]), column([{"x": [1], "y": None}])),
        (column([None, None]), column([None, None], pl.String)),
        (column([1, 2], name="id"), column(["1", "2"], name="id")),
    ],
)
def test_equal_values_of_other_types_are_equal(a: pl.DataFrame, b: pl.DataFrame) -> None:
    for difference, _, seen in (compare(a, b), compare(b, a)):
        assert (difference.same, set(difference.differences) - {"types"}, seen) == (True, set(), {"equal": a.height})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (column([2**63], pl.UInt64), column([2**63 + 1], pl.UInt64)),
        (column([2**53 + 1]), column([2.0**53])),
        (column([float("nan")]), column([None], pl.Float64)),
        (column([""]), column([None], pl.String)),
        (column(["0"]), column(["00"])),
        (column([[]], pl.List(pl.Int64)), column([None], pl.List(pl.Int64))),
        (column([[1, 2]]), column([[2, 1]])),
        (column([["a", "b"]]), column([["a b"]])),
        (column([[None, "a"]]), column([["a"]])),
        (column([{"x": [1]}]), column([{"x": [2]}])),
        (column([b"\xff"]), column([b"\xfe"])),
    ],
)
def test_other_values_are_not_equal(one: pl.DataFrame, other: pl.DataFrame) -> None:
    difference, table, seen = compare(one, other)
    assert (difference.same, seen, table.differing) == (False, {"changed": 1, "same_text": 1}, {"value": 1})


@pytest.mark.parametrize(
    ("one", "other"),
    [([{"x": 1}], ["a"]), ([[{"x": 1}]], [[{"y": 1}]]), ([0.5], ["one half"])],
)
def test_columns_that_cannot_be_compared_are_listed(one: list[Any], other: list[Any]) -> None:
    difference, table, seen = compare(column(one), column(other))
    assert (difference.same, difference.differences, seen) == (False, ["columns"], {"equal": 1})
    assert "value" in str(table.columns)
    assert compare(column(one), column(other), allow="columns")[0].same


@pytest.mark.parametrize(
    ("a", "b", "names", "counts"),
    [
        (["joy", "fear"] * 4, [0, 1] * 4, {"joy": "0", "fear": "1"}, {"equal": 8}),
        ([0, 1] * 4, [1, 0] * 4, {"0": "1", "1": "0"}, {"equal": 8}),
        ([0.0, 1.0] * 4, ["no", "yes"] * 4, {"0": "no", "1": "yes"}, {"equal": 8}),
        ([0, 1] * 10, ["no", "yes"] * 9 + ["yes", "yes"], {"0": "no", "1": "yes"},
         {"equal": 19, "changed": 1, "same_text": 1}),
        (["joy", "fear", "joy", "fear", "calm"], [1, 0, 1, 0], {"joy": "1", "fear": "0"}, {"equal": 4, "removed": 1}),
        ([1, 0, 1, 0], ["joy", "fear", "joy", "fear", "calm"], {"1": "joy", "0": "fear"}, {"equal": 4, "added": 1}),
        ([0, 1, 2] * 2 + [0, 1], [0, 1, 1] * 2 + [0, 1], {}, {"equal": 6, "changed": 2, "same_text": 2}),
        ([0, 1, 0, 1], [0, 0, 1, 1], {}, {"equal": 2, "changed": 2, "same_text": 2}),
        ([0, 1] * 4, [0, 1] * 3 + [1, 1], {}, {"equal": 7, "changed": 1, "same_text": 1}),
        ([[0], [1], [0, 1], []] * 2, [["a"], ["b"], ["a", "b"], []] * 2, {"0": "a", "1": "b"}, {"equal": 8}),
        ([[0], [1], [0, 1], []] * 2, [["a"], ["b"], ["a", "a"], []] * 2, {"0": "a", "1": "b"},
         {"equal": 6, "changed": 2, "same_text": 2}),
    ],
)  # fmt: skip
def test_labels_with_other_names_are_equal_and_named(
    a: list[Any], b: list[Any], names: dict[str, str], counts: dict[str, int]
) -> None:
    one, other = column(a, name="label"), column(b, name="label")
    difference, table, seen = compare(one, other)
    assert (table.labels, seen, difference.same) == (names, counts, False)
    assert ("labels" in difference.differences) is bool(names)
    assert compare(one, other, allow=["labels"])[0].same is (set(counts) == {"equal"})


def test_a_column_that_only_one_has_is_a_difference() -> None:
    one = column([0, 1] * 4, name="label")
    named = one.with_columns(label_text=pl.Series(["no", "yes"] * 4))
    for pair in ((one, named), (named, one)):
        difference, table, seen = compare(*pair)
        assert (seen, table.labels, difference.differences) == ({"equal": 8}, {}, ["columns"])
        assert compare(*pair, allow="columns")[0].same


def test_tables_without_a_common_column_have_no_equal_rows() -> None:
    difference, table, seen = compare(pl.DataFrame({"q": ["a"]}), pl.DataFrame({"zz": ["a", "b"]}))
    assert (difference.same, table.before, table.after, seen.get("equal")) == (False, 1, 2, None)


ROW = st.tuples(
    st.sampled_from(["1", "2", "3", None]),
    st.sampled_from(["a", "A", "a.", "b", "", None]),
    st.sampled_from([0, 1, 2, None]),
)
TABLE = st.lists(ROW, max_size=9)


@given(TABLE, TABLE, st.booleans())
@example([("1", "a", 0)], [("1", "a", 1), ("1", "A", 0)], False)
def test_every_row_of_random_tables_is_counted_once(a: list[Row], b: list[Row], has_ids: bool) -> None:
    rows_a, rows_b = ([row if has_ids else row[1:] for row in rows] for rows in (a, b))
    one, other = (
        frame(rows, *(("id", "text", "label") if has_ids else ("text", "label"))) for rows in (rows_a, rows_b)
    )
    _, table, seen = compare(one, other)
    paired = table.equal + table.new_ids + table.changed
    assert (paired + table.removed, paired + table.added) == (table.before, table.after) == (len(a), len(b))
    assert table.same_text + table.folded + table.same_id == table.changed
    if not table.labels:
        assert table.equal == sum((Counter(rows_a) & Counter(rows_b)).values())
    if not has_ids:  # then rows are paired if their texts are equal after folding
        folded = [Counter(row[0] and row[0].lower().rstrip(".") for row in rows) for rows in (rows_a, rows_b)]
        assert paired == sum((folded[0] & folded[1]).values())
    _, _, reverse = compare(other, one)
    assert reverse | {"removed": 0, "added": 0} == seen | {"removed": 0, "added": 0}
    assert (reverse.get("removed", 0), reverse.get("added", 0)) == (table.added, table.removed)


@given(TABLE, st.randoms(use_true_random=False))
def test_a_shuffled_table_is_the_same(a: list[Row], random: Any) -> None:
    shuffled = random.sample(a, len(a))
    one, other = (frame(rows, "id", "text", "label") for rows in (a, shuffled))
    difference, table, seen = compare(one, other)
    assert (difference.same, seen) == (True, {"equal": len(a)} if a else {})
    assert (table.state, difference.differences) == (("same", []) if a == shuffled else ("reordered", ["order"]))
