"""Take some files out of a large tar or tar.gz archive in one pass."""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from builders.reading.archives import tar_files
from builders.reading.errors import malformed
from builders.spec import Raw

SHOWN = 5


@dataclass(frozen=True)
class TarMember:
    """A file of an archive. match: of its name; raw: its bytes, for any reader."""

    match: re.Match[str]
    raw: Raw


def take_members(raw: Raw, pattern: re.Pattern[str], folder: Path) -> list[TarMember]:
    """The files of a tar or tar.gz archive whose names match a pattern as a whole, in the order of the archive.

    Read in one pass; those that match are stored in `folder`, as bytes, under numbers and not their names. `raw.limit` is that of
    each of them.

    Raises SourceError for an archive that is damaged, has no file that matches, or has one of these twice.
    """
    members: list[TarMember] = []
    others: list[str] = []
    folder.mkdir()
    for name, stream in tar_files(raw):
        match = pattern.fullmatch(name)
        if match is None:
            others.append(name)
            continue
        if any(one.match.string == name for one in members):
            raise malformed(raw, "", "two files with the same name", found=repr(name), expected="one")
        path = folder / f"{len(members):06d}"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        members.append(TarMember(match, replace(raw, name=f"{raw.name}: {name}", path=path, watch=None)))
    if not members:
        shown = ", ".join(map(repr, others[:SHOWN])) + (", ..." if len(others) > SHOWN else "")
        expected = f"names that match {pattern.pattern}"
        raise malformed(raw, "", "no file of the archive is wanted", found=shown or "no files", expected=expected)
    return members
