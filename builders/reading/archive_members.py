"""Many small files of one archive."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from builders.errors import SourceError
from builders.reading.archives import BROKEN, malformed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from builders.spec import Raw


def read_members(raw: Raw, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The wanted files of a zip archive, by base name, in whatever folder of it: name and bytes, in the archive's order.

    Nothing is extracted. A name that the archive lacks does not come; `raw.limit` does not count here.

    Raises SourceError where the archive is missing, no zip archive, damaged or protected by a password, and where a wanted name
    stands in two folders.
    """
    wanted, found = frozenset(names), dict[str, str]()
    try:
        with zipfile.ZipFile(raw.path) as archive:
            for info in archive.infolist():
                name = PurePosixPath(info.filename).name
                if info.is_dir() or name not in wanted:
                    continue
                if name in found:
                    both = f"{found[name]} and {info.filename}"
                    raise malformed(raw, "", "two files of one name", found=both, expected=f"one {name}")
                found[name] = info.filename
                yield name, archive.read(info)
    except BROKEN as error:
        raise SourceError(
            f"{raw.name} cannot be read",
            where=str(raw.path),
            found=str(error) or type(error).__name__,
            expected="a whole zip archive without a password",
            todo="make it again",
        ) from error
