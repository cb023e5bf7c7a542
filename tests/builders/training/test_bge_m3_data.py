"""BGE-M3's data: which files of the archive are read, in which order, and the negatives of rows."""

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.errors import SourceError
from tests.support.reading import make_tar
from tests.support.recipes import frame
from tests.support.training import build_golden

NAME = "bge-m3-contrastive"
FILE = "bge-m3-data.tar.gz"


def change_members(change: Callable[[dict[str, bytes]], object]) -> Callable[[Path], object]:
    """Rewrites the archive of the golden sample."""

    def rewrite(raw: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress((raw / FILE).read_bytes()))) as archive:
            members = {info.name: archive.extractfile(info).read() for info in archive if info.isreg()}  # type: ignore[union-attr]
        change(members)
        (raw / FILE).write_bytes(make_tar(members, "w:gz"))

    return rewrite


def test_rows_come_by_language_and_length_wherever_their_files_are_in_the_archive(tmp_path: Path) -> None:
    def reverse(members: dict[str, bytes]) -> None:
        items = list(members.items())[::-1]
        members.clear()
        members.update(items)

    expected, turned = (
        build_golden(NAME, tmp_path / "as it is"),
        build_golden(NAME, tmp_path / "reversed", change_members(reverse)),
    )
    for config in ("miracl", "mr-tydi"):
        assert frame(turned, "train", config).equals(frame(expected, "train", config))
    assert turned.observed == expected.observed
    numbers = [name.split(":")[2] for name in frame(expected, "train", "miracl")["id"]]
    assert numbers == [
        *("english-0-0", "english-0-2", "russian-0-0", "russian-0-1"),
        *("russian-0-2", "russian-500-0", "russian-500-1"),
    ]


@pytest.mark.parametrize("config", ["miracl", "mr-tydi"])
def test_each_reading_gives_the_rows_that_every_build_counts(config: str, tmp_path: Path) -> None:
    tables = build_golden(NAME, tmp_path, row_per="pair")
    rows = frame(tables, "train", config)
    languages = rows["id"].str.extract(r":([a-z]+)-[0-9]")
    for language, repeated in (("russian", 0), ("english", config == "miracl")):
        counted = tables.observed[f"pairs of a query and a positive of {config}, {language}"]
        assert (languages == language).sum() == counted - repeated
    assert rows["id"].is_unique().all()
    assert (rows["positives"].list.len() == 1).all()


def test_an_archive_without_one_set_in_one_language_is_refused(tmp_path: Path) -> None:
    def leave_out(members: dict[str, bytes]) -> None:
        for name in [name for name in members if "mr-tydi_russian" in name]:
            members[name.replace("mr-tydi_russian", "mr-tydi_rus")] = members.pop(name)

    with pytest.raises(SourceError, match="no file of mr-tydi, russian"):
        build_golden(NAME, tmp_path, change_members(leave_out))


def test_one_part_in_two_folders_is_refused(tmp_path: Path) -> None:
    def copy(members: dict[str, bytes]) -> None:
        members["old/miracl_ru_len-0-700.jsonl"] = b""

    with pytest.raises(SourceError, match="two files of one part") as caught:
        build_golden(NAME, tmp_path, change_members(copy))
    assert "old/miracl_ru_len-0-700.jsonl" in str(caught.value.found)


def test_passages_that_are_one_string_are_refused_with_file_and_line(tmp_path: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        name = "bge-m3-data/MIRACL/miracl_ru_len-0-500.jsonl"
        members[name] += '{"query": "Кто?", "pos": "Он.", "neg": []}\n'.encode()

    with pytest.raises(SourceError, match="pos has the wrong type") as caught:
        build_golden(NAME, tmp_path, change_members(change))
    assert str(caught.value.where).endswith("miracl_ru_len-0-500.jsonl, line 4")
