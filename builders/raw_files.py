"""Raw files as a builder declares them: where they are published, and what pins them."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True)
class Https:
    """A file at its own address."""

    url: str


@dataclass(frozen=True)
class GitHub:
    """A file of a repository at one commit; `lfs` where the repository keeps it in git-lfs."""

    repo: str
    commit: str
    path: str
    lfs: bool = False


@dataclass(frozen=True)
class Hub:
    """A file of a Hub dataset at one revision (a commit sha); `gated` where its terms must be accepted first."""

    repo: str
    revision: str
    path: str
    gated: bool = False


@dataclass(frozen=True)
class ByHand:
    """A file that no program may fetch: `instructions` say how a person gets it."""

    instructions: str


@dataclass(frozen=True)
class Member:
    """A file inside an archive (zip, tar, tar.gz), read in place."""

    archive: "RawFile"
    path: str


Location = Https | GitHub | Hub | ByHand | Member


@dataclass(frozen=True)
class RawFile:
    """One pinned raw file.

    name: its place below `--raw-dir/<source>/`, in POSIX form; it may hold folders.
    sha256: of its bytes, in hex. git_blob: its git object id, in hex, as good as a sha256. bytes: its size.
    Where neither digest is known here, the lock file may know one; else the file is used as `unverified`.
    """

    name: str
    location: Location
    sha256: str | None = None
    git_blob: str | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a name that leaves its folder and a digest that cannot be one."""
        parts = PurePosixPath(self.name).parts
        if not parts or self.name.startswith("/") or ".." in parts or "\\" in self.name:
            raise ValueError(f"a raw file's name is a relative path that stays in its folder, not {self.name!r}")
        for label, digest, length in (("sha256", self.sha256, 64), ("git_blob", self.git_blob, 40)):
            if digest is not None and (len(digest) != length or not HEX.fullmatch(digest)):
                raise ValueError(f"{self.name}: {label} must be {length} lower-case hex digits, not {digest!r}")


def https(url: str, *, name: str | None = None, **digest: Any) -> RawFile:
    """A file at an https address; its name is the last part of the address unless given."""
    return RawFile(name or PurePosixPath(url).name, Https(url), **digest)


def github(repo: str, commit: str, path: str, *, lfs: bool = False, name: str | None = None, **digest: Any) -> RawFile:
    """A file of a GitHub repository at one commit; its name is its base name unless given."""
    return RawFile(name or PurePosixPath(path).name, GitHub(repo, commit, path, lfs), **digest)


def hub(repo: str, revision: str, path: str, *, gated: bool = False, name: str | None = None, **digest: Any) -> RawFile:
    """A file of a Hub dataset at one revision; its name is its path unless given."""
    return RawFile(name or path, Hub(repo, revision, path, gated), **digest)


def by_hand(name: str, instructions: str, **digest: Any) -> RawFile:
    """A file that a person must fetch; the instructions are shown when it is missing."""
    return RawFile(name, ByHand(instructions), **digest)


def member(archive: RawFile, path: str, *, name: str | None = None, **digest: Any) -> RawFile:
    """A file inside an archive; a local copy of the file itself, under its name, serves as well as the archive."""
    return RawFile(name or path, Member(archive, path), **digest)
