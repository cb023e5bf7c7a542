"""Read many small files from one zip archive."""

import zipfile
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import READ_ERRORS, too_many_members
from builders.reading.errors import malformed, too_large
from builders.spec import Raw


def read_members(raw: Raw, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield base name and bytes of the files with these base names, from any folder of a zip archive, in its order.

    Nothing is extracted. Names that the archive lacks are skipped. `raw.limit` is ignored.

    Raises SourceError if the archive is missing, not a zip archive, corrupt or password-protected, and if two folders hold a
    file with the same requested name or the archive exceeds a limit of builders.limits.
    """
    requested, paths = frozenset(names), dict[str, str]()
    try:
        with zipfile.ZipFile(raw.path) as archive:
            if len(archive.infolist()) > limits.MAX_ARCHIVE_MEMBERS:
                raise too_many_members(raw)
            for info in archive.infolist():
                name = PurePosixPath(info.filename).name
                if info.is_dir() or name not in requested:
                    continue
                if name in paths:
                    found = f"{paths[name]} and {info.filename}"
                    raise malformed(raw, "", "two files with the same name", found=found, expected=f"one {name}")
                paths[name] = info.filename
                if info.file_size > limits.MAX_MEMBER:  # zipfile reads no more than this size says
                    raise too_large(raw, info.filename, "a file in the archive", limits.MAX_MEMBER)
                yield name, archive.read(info)
    except READ_ERRORS as error:
        raise SourceError(
            f"{raw.name} cannot be read",
            where=str(raw.path),
            found=str(error) or type(error).__name__,
            expected="a complete zip archive without a password",
            todo="create the archive again",
        ) from error
