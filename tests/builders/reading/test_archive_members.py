"""read_members: many files of one zip archive."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.reading.archives import read_members
from tests.support.reading import write_zip


def test_requested_files_come_from_any_folder_and_nothing_is_extracted(tmp_path: Path) -> None:
    files = {
        "a/1.json": "one",
        "../../2.json": "two",
        "/etc/3.json": "three",
        "4.json": "four",
        "a/": "",
        "1.json.txt": "no",
    }
    raw = write_zip(tmp_path / "articles.zip", files)
    members = list(read_members(raw, ["1.json", "2.json", "3.json", "5.json"]))
    assert members == [("1.json", b"one"), ("2.json", b"two"), ("3.json", b"three")]
    assert [path.name for path in tmp_path.iterdir()] == ["articles.zip"]


def test_two_files_with_the_same_name_are_refused(tmp_path: Path) -> None:
    raw = write_zip(tmp_path / "articles.zip", {"a/1.json": "one", "b/1.json": "other"})
    with pytest.raises(SourceError, match="two files with the same name") as caught:
        list(read_members(raw, ["1.json"]))
    assert "a/1.json and b/1.json" in str(caught.value)


@pytest.mark.parametrize("damage", ["truncated", "not a zip", "missing", "flipped"])
def test_a_corrupt_archive_is_an_error(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "articles.zip"
    raw = write_zip(path, {"1.json": "text " * 500})
    data = path.read_bytes()
    path.write_bytes(
        {"truncated": data[:-30], "not a zip": b"{}", "flipped": data.replace(b"text", b"tixt", 1)}.get(damage, b"")
    )
    if damage == "missing":
        path.unlink()
    with pytest.raises(SourceError, match=r"articles\.zip cannot be read"):
        list(read_members(raw, ["1.json"]))
