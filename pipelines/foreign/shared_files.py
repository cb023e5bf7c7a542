"""Finds the splits of a config that have the same files, so that what is wrong with their rows is reported once."""

from filecmp import cmp
from pathlib import Path

from pipelines.foreign.tables import Location
from pipelines.resolution import Files


def find_shared_files(dataset_dir: Path, files: Files) -> dict[Location, Location]:
    """For each table whose files an earlier split of its config has too, byte for byte, the first such table.

    files: by config and split, relative to the folder.
    """
    shared = {}
    for config, splits in files.items():
        firsts: list[str] = []
        for split, paths in splits.items():
            first = next((one for one in firsts if _same_files(dataset_dir, splits[one], paths)), None)
            if first is None:
                firsts.append(split)
            else:
                shared[config, split] = (config, first)
    return shared


def _same_files(dataset_dir: Path, first: list[str], second: list[str]) -> bool:
    """Whether two lists of files are the same, or copies of each other. Only files of equal size are read."""
    return len(first) == len(second) and all(
        one == other or cmp(dataset_dir / one, dataset_dir / other, shallow=False)
        for one, other in zip(first, second, strict=True)
    )
