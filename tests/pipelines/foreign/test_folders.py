"""Which files of a folder are read: those in it, and none that a symbolic link adds from elsewhere."""

import sys
from pathlib import Path

import pytest

from builders.errors import SourceError
from pipelines import check
from pipelines.checking.datasets import list_files


def write(path: Path, text: str = "id,text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_files_and_links_to_files_in_the_folder_are_listed(tmp_path: Path) -> None:
    file = write(tmp_path / "data" / "test.csv")
    (tmp_path / "README.md").symlink_to(file)
    assert sorted(list_files(tmp_path)) == ["README.md", "data/test.csv"]


@pytest.mark.parametrize("name", ["test.csv", "README.md"])
def test_a_link_out_of_the_folder_is_an_error_that_does_not_quote_the_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write(tmp_path / "secret", "the-first-line: [\n")
    dataset_dir = tmp_path / "dataset"
    write(dataset_dir / "train.csv", "text,label\na,0\n")
    (dataset_dir / name).symlink_to(secret)
    with pytest.raises(SourceError, match="a symbolic link out of its folder") as caught:
        list_files(dataset_dir)
    assert caught.value.where == str(dataset_dir / name)
    monkeypatch.setattr(sys, "argv", ["check", str(dataset_dir)])
    assert check.main() == SourceError.exit_code
    printed = capsys.readouterr()
    assert "the-first-line" not in printed.out + printed.err


def test_the_snapshots_of_the_hub_s_library_link_to_their_blobs(tmp_path: Path) -> None:
    blob = write(tmp_path / "blobs" / "a1")
    snapshot = tmp_path / "snapshots" / "c0"
    snapshot.mkdir(parents=True)
    (snapshot / "test.csv").symlink_to(blob)
    assert list_files(snapshot) == ["test.csv"]
