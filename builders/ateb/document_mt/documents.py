"""Aligned documents -> bitext."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.errors import SourceError
from builders.reading import read_documents
from builders.spec import Tables

if TYPE_CHECKING:
    from builders.spec import Raw


def bitext(one: Raw, other: Raw, *, prefix: str, pair: str, split: str) -> Tables:
    """Two files with the same documents, segment by segment, as a bitext of whole documents.

    Both files are in the `<d>` format of builders.reading.read_documents. A document's text is its segments without trailing
    white space, joined by one newline.

    Returns one table (config `pair`): id `<prefix>-<i>` (0-based, in the order of the files), sentence1 (of `one`),
    sentence2 (of `other`), all String. Observed: documents and segments.

    Raises SourceError where the two differ in the number of documents or of a document's segments.
    """

    sides = [read_documents(raw).with_columns(count=pl.col("segments").list.len()) for raw in (one, other)]
    _check_aligned(one, other, *sides)
    texts = [
        side.get_column("segments").list.eval(pl.element().str.strip_chars_end()).list.join("\n") for side in sides
    ]
    numbers = pl.int_range(sides[0].height, eager=True).cast(pl.String)
    frame = pl.DataFrame({"id": f"{prefix}-" + numbers, "sentence1": texts[0], "sentence2": texts[1]})
    observed = {"documents": frame.height, "segments": int(sides[0].get_column("count").sum())}
    return Tables({pair: {split: frame}}, observed=observed)


def _check_aligned(one: Raw, other: Raw, left: pl.DataFrame, right: pl.DataFrame) -> None:
    for number, (a, b) in enumerate(zip(left.iter_rows(named=True), right.iter_rows(named=True), strict=False), 1):
        if a["count"] != b["count"]:
            raise SourceError(
                f"document {number} has another number of segments in each language",
                where=f"{one.name}, line {a['line']}; {other.name}, line {b['line']}",
                found=f"{a['count']} segments and {b['count']} segments",
                expected="as many in both: a document is aligned line by line",
                todo="fetch both files again, of one commit",
            )
    if left.height != right.height:
        longer, rest = (one, left) if left.height > right.height else (other, right)
        first = min(left.height, right.height)
        raise SourceError(
            "the two languages have different numbers of documents",
            where=f"{longer.name}, line {rest.get_column('line')[first]}: document {first + 1} has no counterpart",
            found=f"{left.height} documents in {one.name}, {right.height} in {other.name}",
            expected="as many in both",
            todo="fetch both files again, of one commit",
        )
