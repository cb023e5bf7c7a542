"""Lines and documents of plain text. Bitexts as two texts of equally many lines."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import lines as moses
from builders.reading.lines import moses_batches, read_documents, read_lines
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


def write(folder: Path, first: bytes, second: bytes) -> tuple[Raw, Raw]:
    raws = []
    for side, content in (("en", first), ("ru", second)):
        (folder / f"text.{side}").write_bytes(content)
        raws.append(Raw(f"bitext/text.{side}", folder / f"text.{side}"))
    return raws[0], raws[1]


def rows(raws: tuple[Raw, Raw]) -> list[tuple[int, str, str]]:
    return [row for batch in moses_batches(*raws) for row in batch.iter_rows()]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            "one\n\nthree\nfour\r\n\n",
            "один\nдва\n\nчетыре\nпять\n",
            [(0, "one", "один"), (1, "", "два"), (2, "three", ""), (3, "four", "четыре"), (4, "", "пять")],
        ),
        ("a\u2028b\x85c\x0bd\re\n", "f", [(0, "a\u2028b\x85c\x0bd\re", "f")]),
        ("", "", []),
    ],
    ids=["empty lines and batches", "only a newline ends a line", "two empty files"],
)
def test_line_n_belongs_to_line_n(
    first: str, second: str, expected: list[tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moses, "BATCH", 2)
    assert rows(write(tmp_path, first.encode(), second.encode())) == expected


def test_a_limit_counts_pairs(tmp_path: Path) -> None:
    first, second = write(tmp_path, b"a\nb\nc\n", b"x\ny\n")
    assert rows((replace(first, limit=2), replace(second, limit=2))) == [(0, "a", "x"), (1, "b", "y")]


@pytest.mark.parametrize(
    ("first", "second", "shorter"),
    [(b"a\nb\nc\n", b"x\ny", "text.ru"), (b"", b"x\n", "text.en"), (b"a\n", b"", "text.ru")],
)
def test_files_of_different_numbers_of_lines_are_refused(
    first: bytes, second: bytes, shorter: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="different numbers of lines") as caught:
        rows(write(tmp_path, first, second))
    lines = {b"": 0, b"x\ny": 2}
    assert caught.value.found == f"{lines[first if shorter == 'text.en' else second]} lines"
    assert shorter in str(caught.value.where)
