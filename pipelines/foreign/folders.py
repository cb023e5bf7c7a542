"""Lists the files of a folder that this package did not write."""

from pathlib import Path

from builders.errors import SourceError


def list_files(dataset_dir: Path) -> list[str]:
    """The files below a folder, by their paths relative to it.

    A symbolic link may lead to another file in the folder, or into the cache of the Hub's library, whose snapshots are links to
    the files in `blobs` beside them.

    Raises SourceError for a file that is a symbolic link to any other place: what is there is not part of the dataset, and
    messages quote what they read.
    """
    inside = dataset_dir.resolve()
    permitted = [inside, inside.parent.parent / "blobs"] if inside.parent.name == "snapshots" else [inside]
    paths = []
    for path in dataset_dir.rglob("*"):
        if not path.is_file():
            continue
        if not any(path.resolve().is_relative_to(folder) for folder in permitted):
            raise SourceError(
                "a file of the dataset is a symbolic link out of its folder",
                where=str(path),
                found=f"a link to {path.resolve()}",
                expected="files in the folder itself",
                todo="replace the link by a copy of the file",
            )
        paths.append(path.relative_to(dataset_dir).as_posix())
    return paths
