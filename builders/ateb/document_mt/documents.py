"""Pair the documents of two files that are aligned line by line."""

import polars as pl

from builders.errors import SourceError
from builders.reading import read_documents
from builders.spec import Raw, Tables


def pair_documents(first: Raw, second: Raw, *, prefix: str, pair: str, split: str) -> Tables:
    """The bitext of two files that hold the same documents in two languages, segment by segment.

    Both files are in the `<d>` format of builders.reading.read_documents. A document's text is its segments without trailing
    white space, joined by a newline.

    Returns one table (config `pair`): id `<prefix>-<n>` (n from 0, in file order), sentence1 (from `first`), sentence2 (from
    `second`), all String. Observed: the numbers of documents and of segments per language.

    Raises SourceError if the numbers of documents differ, or the numbers of segments in a document.
    """
    one, other = (read_documents(raw).with_columns(count=pl.col("segments").list.len()) for raw in (first, second))
    _check_alignment(first, second, one, other)
    frame = pl.DataFrame(
        {
            "id": f"{prefix}-" + pl.int_range(one.height, eager=True).cast(pl.String),
            "sentence1": _join_segments(one),
            "sentence2": _join_segments(other),
        }
    )
    observed = {"documents": frame.height, "segments": int(one["count"].sum())}
    return Tables({pair: {split: frame}}, observed=observed)


def _join_segments(documents: pl.DataFrame) -> pl.Series:
    return documents["segments"].list.eval(pl.element().str.strip_chars_end()).list.join("\n")


def _check_alignment(first: Raw, second: Raw, one: pl.DataFrame, other: pl.DataFrame) -> None:
    documents = zip(one.iter_rows(named=True), other.iter_rows(named=True), strict=False)
    for number, (left, right) in enumerate(documents, 1):
        if left["count"] != right["count"]:
            raise SourceError(
                f"document {number} has different numbers of segments in the two languages",
                where=f"{first.name}, line {left['line']}; {second.name}, line {right['line']}",
                found=f"{left['count']} segments and {right['count']} segments",
                expected="equal numbers: documents are aligned line by line",
                todo="fetch both files again, from the same commit",
            )
    if one.height != other.height:
        longer, rows = (first, one) if one.height > other.height else (second, other)
        shared = min(one.height, other.height)
        raise SourceError(
            "the two languages have different numbers of documents",
            where=f"{longer.name}, line {rows['line'][shared]}: document {shared + 1} has no counterpart",
            found=f"{one.height} documents in {first.name}, {other.height} in {second.name}",
            expected="equal numbers",
            todo="fetch both files again, from the same commit",
        )
