"""Bitexts as two texts of equally many lines."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.reading import lines as moses
from builders.reading import moses_batches
from builders.spec import Raw


def write(folder: Path, first: bytes, second: bytes) -> tuple[Raw, Raw]:
    raws = []
    for side, content in (("en", first), ("ru", second)):
        (folder / f"text.{side}").write_bytes(content)
        raws.append(Raw(f"bitext/text.{side}", folder / f"text.{side}"))
    return raws[0], raws[1]


def rows(raws: tuple[Raw, Raw]) -> list[tuple[int, str, str]]:
    return [row for batch in moses_batches(*raws) for row in batch.iter_rows()]


def test_line_n_belongs_to_line_n_across_empty_lines_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moses, "BATCH", 2)
    raws = write(tmp_path, b"one\n\nthree\nfour\r\n\n", "один\nдва\n\nчетыре\nпять\n".encode())
    assert rows(raws) == [(0, "one", "один"), (1, "", "два"), (2, "three", ""), (3, "four", "четыре"), (4, "", "пять")]


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    side = "a\u2028b\x85c\x0bd\re\n"
    assert rows(write(tmp_path, side.encode(), b"f")) == [(0, side[:-1], "f")]


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


def test_two_empty_files_have_no_pairs(tmp_path: Path) -> None:
    assert rows(write(tmp_path, b"", b"")) == []
