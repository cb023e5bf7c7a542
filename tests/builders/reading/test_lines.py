"""Lines and documents of plain text."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reading import read_documents, read_lines
from builders.spec import Raw
from tests.support.reading import BOM, TEXT, source_error


def test_lines_lose_only_their_line_ends(raw: Callable[..., Raw]) -> None:
    data = BOM + "0\r\n1 \n\n\u2028a\x85b\x0b\xa0\r\r\nlast\r".encode()
    assert read_lines(raw(data)) == ["0", "1 ", "", "\u2028a\x85b\x0b\xa0\r", "last\r"]
    assert read_lines(raw(b"")) == []
    assert str(source_error(lambda: read_lines(raw(b"0\n\xff\n", "s/l.lst"))).where) == "s/l.lst, line 2"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_equals_the_separator_begins_a_document(end: str, raw: Callable[..., Raw]) -> None:
    lines = ["<d>", "a \u2028", "", " <d>", "<d>", "b\x85\xa0"]
    frame = read_documents(raw(BOM + end.join([*lines, ""]).encode()))
    assert frame.schema == pl.Schema({"line": pl.Int64, "segments": pl.List(pl.String)})
    assert frame.rows() == [(1, ["a \u2028", "", " <d>"]), (5, ["b\x85\xa0"])]
    assert read_documents(raw("#\nx"), separator="#").rows() == [(1, ["x"])]


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        ("a\n<d>\nb\n", "t.txt, line 1", "text before the first document"),
        ("\n<d>\nb\n", "t.txt, line 1", "text before the first document"),
        ("<d>\na\n<d>\n<d>\nb\n", "t.txt, line 3", "a document without segments"),
        ("<d>\na\n<d>", "t.txt, line 3", "a document without segments"),
        ("", "t.txt", "no documents"),
    ],
)
def test_malformed_documents_are_refused(data: str, where: str, what: str, raw: Callable[..., Raw]) -> None:
    error = source_error(lambda: read_documents(raw(data, "t.txt")))
    assert error.where == where
    assert what in error.what


SEGMENT = TEXT.map(lambda text: text.replace("\n", " ").rstrip("\r")).filter(lambda text: text != "<d>")


@given(documents=st.lists(st.lists(SEGMENT, min_size=1, max_size=4), min_size=1, max_size=5), crlf=st.booleans())
def test_any_segments_survive_documents(
    documents: list[list[str]], crlf: bool, example_raw: Callable[..., Raw]
) -> None:
    end = "\r\n" if crlf else "\n"
    text = "".join(end.join(["<d>", *segments, ""]) for segments in documents)
    frame = read_documents(example_raw(text))
    assert frame["segments"].to_list() == documents
    lines = text.split("\n")
    assert all(lines[number - 1].removesuffix("\r") == "<d>" for number in frame["line"])
