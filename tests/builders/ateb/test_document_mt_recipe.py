"""Document-level translation: documents are paired line by line, and files that are not aligned are errors."""

from pathlib import Path

import pytest

from builders.ateb.document_mt import pair_documents
from builders.errors import SourceError
from builders.spec import Tables
from tests.support.reading import write_raw


def build(folder: Path, english: bytes, german: bytes) -> Tables:
    files = write_raw(folder, english, "mt/en.txt"), write_raw(folder, german, "mt/de.txt")
    return pair_documents(*files, prefix="x", pair="en-de", split="test")


def test_documents_are_segments_without_trailing_white_space_joined_by_newlines(tmp_path: Path) -> None:
    tables = build(
        tmp_path, b"<d>\r\n One.  \r\nTwo.\t\r\n<d>\r\nThree.\r\n", "<d>\nEins.\nZwei.\n<d>\nDrei\u2028!\n".encode()
    )
    frame = tables.frames["en-de"]["test"].lazy().collect()
    assert frame.rows() == [("x-0", " One.\nTwo.", "Eins.\nZwei."), ("x-1", "Three.", "Drei\u2028!")]
    assert tables.observed == {"documents": 2, "segments": 3}


def test_different_numbers_of_segments_are_an_error_that_names_document_and_lines(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="document 2 has different numbers of segments") as caught:
        build(tmp_path, b"<d>\na\n<d>\nb\nc\n", b"<d>\na\n<d>\nb\n")
    assert "mt/en.txt, line 3; mt/de.txt, line 3" in str(caught.value)
    assert "2 segments and 1 segments" in str(caught.value)


def test_different_numbers_of_documents_are_an_error_that_names_the_first_without_a_counterpart(
    tmp_path: Path,
) -> None:
    with pytest.raises(SourceError, match="different numbers of documents") as caught:
        build(tmp_path, b"<d>\na\n", b"<d>\na\n<d>\nb\n")
    assert "mt/de.txt, line 3: document 2 has no counterpart" in str(caught.value)
