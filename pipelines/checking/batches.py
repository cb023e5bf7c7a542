"""Texts of a training corpus as a scan reads them, in batches, whatever the format of the corpus.

Values of any depth become texts with names: the object `{"messages": [{"role": "user", "content": "Hi"}]}` has the texts
`messages[0].role` and `messages[0].content`. A string that is itself JSON, an object or a list, is read both ways: as it is,
and as what it holds. What is not read is counted by the path of its column, `messages[].role`, and by the reason:

- name: strings in a column that is named like an id, an address, a date or a label, of fewer words than a scan looks for alone;
- binary, number, or another type that is not text; nesting: values below MAX_DEPTH levels;
- request: other columns than those that `--text` names.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa

from builders.errors import SourceError
from builders.limits import MAX_DEPTH

TEXT_SCHEMA = {"row": pl.Int64, "column": pl.String, "text": pl.String}
LABEL_SCHEMA = {"row": pl.Int64, "label": pl.String}
Unread = Counter[tuple[str, str]]  # the bytes that are not read, by the path of their column and the reason


@dataclass(frozen=True)
class TextBatch:
    """The texts of consecutive rows of one file of a corpus. All texts of a row are in one batch.

    file: the file as a match names it. texts: a row for each text, with the columns of TEXT_SCHEMA, without nulls: the row of
    the file (0-based, however the file is divided), ascending; the name of its column (`query`, `pos[0]`); the text as it is in
    the file. labels: the columns of LABEL_SCHEMA, for those rows that have a label or a score, ascending; see `label_texts`.
    unread: see Unread. count: how many rows were read, with those that have no text.
    """

    file: str
    texts: pl.DataFrame
    labels: pl.DataFrame
    unread: Mapping[tuple[str, str], int] = field(default_factory=dict)
    count: int = 0


def label_texts(labels: pl.Series) -> pl.Series:
    """Labels or scores as texts (String) that are equal where the labels are: 3, 3.0 and `3.0` are `3`, true is `1`.

    labels: numbers, booleans, strings, or lists of these, which become their sorted texts joined by commas. Null stays null.
    """
    return labels.to_frame("label").select(_as_text(pl.col("label"), labels.dtype).alias(labels.name)).to_series()


def _as_text(label: pl.Expr, kind: Any) -> pl.Expr:
    """A label of a type as text, as in label_texts."""
    if isinstance(kind, pl.List):
        return label.list.eval(_as_text(pl.element(), kind.inner)).list.drop_nulls().list.sort().list.join(",")
    if kind == pl.Boolean:
        label = label.cast(pl.Int64)
    text = label.cast(pl.String).str.strip_chars()
    shortened = text.str.strip_chars_end("0").str.strip_chars_end(".")
    return pl.when(text.str.contains(r"^[+-]?\d+\.\d*$")).then(shortened).otherwise(text)


BATCH_ROWS = 8192
LABELS = ("label", "labels", "score", "similarity_score", "similarity")  # the first one that a row has is its label
# Columns of strings that hold no text, by the last word of their names: `doc_id`, `source-url`, `pos_scores`, `sha256`.
NOT_TEXT = re.compile(
    r"(?:.*[-_.\s])?(?:_?(?:doc|[pq])?ids?|idx|index|uuid|guid|urls?|uri|link|path|file|filename|hash|md5|sha1|sha256|digest|"
    r"date|datetime|time|timestamp|created|modified|lang|language|languages|licen[cs]e|type|split|"
    r"labels?|scores?|similarity)",
    re.IGNORECASE,
)
# What is read in such a column too: five words, or eight characters of a script without spaces.
WORDS = r"\S(?:\s+\S+){4}|[\x{0e00}-\x{0eff}\x{3040}-\x{30ff}\x{3400}-\x{9fff}\x{ac00}-\x{d7af}]{8}"
_WORDS = re.compile(re.sub(r"\\x\{(\w+)\}", r"\\u\1", WORDS))
TYPES = {bool: "number", int: "number", float: "number", bytes: "binary"}
NUMBER_BYTES = 8


@lru_cache(maxsize=4096)
def may_hold_text(name: str) -> bool:
    """Whether all strings of a column with this name are read by default."""
    return NOT_TEXT.fullmatch(name) is None


class Collector:
    """The texts of some rows of a file. The lists may be filled directly: a call for each text would cost a fifth of
    the time."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[str] = []
        self.texts: list[str] = []
        self.label_rows: list[int] = []
        self.labels: list[Any] = []
        self.unread: Unread = Counter()

    def add(self, row: int, column: str, value: Any, *, is_text: bool, path: str = "", depth: int = 0) -> None:
        """Add the texts of a value: a string, or the strings in a list or an object, also in others.

        is_text: whether all strings are texts, until an object has other names. path: of the column, without numbers.
        """
        path, kind = path or column, type(value)
        if kind is str:
            if value and (is_text or _WORDS.search(value)):
                self.rows.append(row)
                self.columns.append(column)
                self.texts.append(value)
                value = _parse_nested(value)
                if value is not None:
                    self.add(row, column, value, is_text=is_text, path=path, depth=depth + 1)
            elif value and path not in LABELS:
                self.unread[path, "name"] += len(value.encode())
        elif value is None:
            return
        elif kind not in (list, dict):
            size = len(value) if kind is bytes else NUMBER_BYTES
            self.unread[path, TYPES.get(kind, kind.__name__)] += 0 if path in LABELS else size
        elif depth == MAX_DEPTH:
            self.unread[path, "nesting"] += len(orjson.dumps(value, default=str))
        elif kind is dict:
            for name, item in value.items():
                own = is_text if name == "" else may_hold_text(name)
                self.add(row, f"{column}.{name}", item, is_text=own, path=f"{path}.{name}", depth=depth + 1)
        elif not {str, dict, list, bytes}.intersection(map(type, value)):  # numbers, such as a vector: all at once
            self.unread[f"{path}[]", "number"] += 0 if path in LABELS else NUMBER_BYTES * len(value)
        else:
            for number, item in enumerate(value):
                self.add(row, f"{column}[{number}]", item, is_text=is_text, path=f"{path}[]", depth=depth + 1)

    def batch(self, file: str, count: int) -> TextBatch:
        """The collected texts and labels of so many rows as a batch."""
        texts = pl.Series(pa.array(self.texts, pa.large_string()), dtype=pl.String)
        frame = pl.DataFrame({"row": self.rows, "column": self.columns, "text": texts}, TEXT_SCHEMA)
        return TextBatch(file, frame, labels_frame(self.label_rows, self.labels), self.unread, count)


def _parse_nested(text: str) -> Any:
    """The object or list that a string holds as JSON; None for any other text."""
    if text[0] not in "[{" or text[-1] not in "]} \n":
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def labels_frame(rows: list[int], values: list[Any]) -> pl.DataFrame:
    """The labels of rows, as they were parsed from JSON, with the columns of LABEL_SCHEMA; objects are not labels."""
    kept = [
        (row, value) for row, value in zip(rows, values, strict=True) if value is not None and type(value) is not dict
    ]
    values = [value for _, value in kept]
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {str, float, bool}:
        labels = label_texts(pl.Series(values))
    else:  # whole numbers of any size, lists, and what a file mixes
        labels = pl.Series([_label_text(value) for value in values], dtype=pl.String)
    return pl.DataFrame({"row": [row for row, _ in kept], "label": labels}, schema=LABEL_SCHEMA).drop_nulls()


def _label_text(value: Any) -> str | None:
    """The text of one label, as `label_texts` makes it."""
    if type(value) is list:
        items = [_label_text(item) for item in value]
        return ",".join(sorted(item for item in items if item is not None))
    if type(value) is int:
        return str(value)
    if type(value) not in (str, float, bool):
        return None
    text: str = label_texts(pl.Series([value]))[0]
    return text


def row_error(file: str, row: int, what: str, *, found: str, expected: str, todo: str) -> SourceError:
    """The error for a row that cannot be read. Rows are numbered from 0, as in matches; -1 is the header."""
    return SourceError(
        what, where=f"{file}, row {row}" if row >= 0 else f"{file}, header", found=found, expected=expected, todo=todo
    )


def shorten_json(value: Any) -> str:
    """A parsed value as an error shows it."""
    text = orjson.dumps(value, default=str).decode("utf-8", "replace")
    return text if len(text) <= 60 else f"{text[:60]}..."


def holds_strings(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are strings, or have strings in them."""
    types = pa.types
    if types.is_nested(kind):
        return any(holds_strings(kind.field(number).type) for number in range(kind.num_fields))
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def table_texts(file: str, layout: Any, first_row: int, table: pa.Table) -> TextBatch:
    """The texts of consecutive rows of a table. layout: that of its file, see pipelines.checking.rows."""
    rows, unread = pl.Series("row", np.arange(first_row, first_row + len(table)), dtype=pl.Int64), Unread()
    of_columns = (
        _column_texts(file, rows, pl.Series(name, table[name]), unread, is_text=layout.requested or may_hold_text(name))
        for name in layout.texts
    )
    texts = pl.concat([pl.DataFrame(schema=TEXT_SCHEMA), *of_columns])
    if not (texts["row"].diff() >= 0).all():
        texts = texts.sort("row", maintain_order=True)
    labels = _labels(rows, pl.Series(table[layout.label])) if layout.label else pl.DataFrame(schema=LABEL_SCHEMA)
    return TextBatch(file, texts, labels, unread, len(table))


def _column_texts(file: str, rows: pl.Series, values: pl.Series, unread: Unread, *, is_text: bool) -> pl.DataFrame:
    """The texts of a column, without nulls and empty ones, with the columns of TEXT_SCHEMA; adds what is not read."""
    name, kind = values.name, values.dtype
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else kind
    frame = pl.DataFrame({"row": rows, "text": values}).select("row", column=pl.lit(name), text="text")
    if not inner.is_nested():
        if inner is not kind:
            lists = pl.col("text").cast(pl.List(pl.String))
            frame = frame.with_columns(lists).filter(pl.col("text").list.len() > 0)
            frame = frame.with_columns(item=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.Int64))
            numbered = pl.concat_str(pl.lit(f"{name}["), pl.col("item").cast(pl.String), pl.lit("]"))
            frame = frame.explode("text", "item").with_columns(column=numbered)
        frame = frame.select("row", "column", pl.col("text").cast(pl.String)).filter(pl.col("text") != "")
        if not is_text:
            has_words = frame["text"].str.contains(WORDS)
            unread[name, "name"] += 0 if name in LABELS else int(frame["text"].filter(~has_words).str.len_bytes().sum())
            frame = frame.filter(has_words)
        if not frame["text"].str.contains(r"^[\[{]").any():
            return frame
    collector = Collector()
    for row, column, value in frame.iter_rows():
        collector.add(row, column, value, is_text=is_text)
    unread.update(collector.unread)
    return collector.batch(file, 0).texts


def _labels(rows: pl.Series, values: pl.Series) -> pl.DataFrame:
    if isinstance(values.dtype, pl.Struct | pl.Object | pl.Binary):
        return pl.DataFrame(schema=LABEL_SCHEMA)
    return pl.DataFrame({"row": rows, "label": label_texts(values)}, schema=LABEL_SCHEMA).drop_nulls()
