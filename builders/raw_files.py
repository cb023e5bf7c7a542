"""Raw files as a builder declares them: where they are published, and what pins them."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

COMMIT = re.compile(r"[0-9a-f]{40}")


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

    def __post_init__(self) -> None:
        _require_commit(self.repo, self.commit)


@dataclass(frozen=True)
class Hub:
    """A file of a Hub dataset at one revision (a commit sha); `gated` where its terms must be accepted first.

    moving: the revision is a branch or the beginning of a commit, because no full commit is known. The first download records
    the commit, and `accept` brings it into the lock file; until then no version of its datasets enters the ledger.
    """

    repo: str
    revision: str
    path: str
    gated: bool = False
    moving: bool = False

    def __post_init__(self) -> None:
        """Refuse anything but a full commit, unless the file is declared moving."""
        if not self.moving:
            _require_commit(self.repo, self.revision)


def _require_commit(repo: str, revision: str) -> None:
    if not COMMIT.fullmatch(revision):
        raise ValueError(
            f"{repo}: {revision!r} is not a full commit of 40 hex digits: give that, or declare the file moving"
            " (hub(..., moving=True))"
        )


@dataclass(frozen=True)
class ByHand:
    """A file that no program may download: `instructions` say how it is had.

    made_by: the command of this package that writes it (`decide` with the source, `mine`: `decide` with the dataset, `published`:
    `decide --published`, `contamination index`); empty where a person must get it.
    """

    instructions: str
    made_by: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether it is one file for all sources: an index of the texts of benchmarks."""
        return self.made_by == "contamination index"


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
    sha256: of its bytes, in hex. git_blob: its git object id, in hex, as good as a sha256. bytes: its size. about: its size as
    far as it is known otherwise, for plans alone. Where neither digest is known here, the lock file may know one; else the file
    is used as `unverified`.
    copies: where else it is, asked where its publisher fails: the same bytes, by the digest; a copy with another suffix has the
    same records in another format, and is used unverified. withdrawn: what its publisher did with it, in words.
    """

    name: str
    location: Location
    sha256: str | None = None
    git_blob: str | None = None
    bytes: int | None = None
    about: int | None = None
    copies: tuple[GitHub | Hub, ...] = ()
    withdrawn: str = ""

    def __post_init__(self) -> None:
        """Refuse a name that leaves its folder and a digest that cannot be one."""
        parts = PurePosixPath(self.name).parts
        if not parts or self.name.startswith("/") or ".." in parts or "\\" in self.name:
            raise ValueError(f"a raw file's name is a relative path that stays in its folder, not {self.name!r}")
        for label, digest, length in (("sha256", self.sha256, 64), ("git_blob", self.git_blob, 40)):
            if digest is not None and (len(digest) != length or not re.fullmatch(r"[0-9a-f]+", digest)):
                raise ValueError(f"{self.name}: {label} must be {length} lower-case hex digits, not {digest!r}")


def https(url: str, *, name: str | None = None, **digest: Any) -> RawFile:
    """A file at an https address; its name is the last part of the address unless given."""
    return RawFile(name or PurePosixPath(url).name, Https(url), **digest)


def github(repo: str, commit: str, path: str, *, lfs: bool = False, name: str | None = None, **digest: Any) -> RawFile:
    """A file of a GitHub repository at one commit; its name is its base name unless given."""
    return RawFile(name or PurePosixPath(path).name, GitHub(repo, commit, path, lfs), **digest)


def hub(
    repo: str,
    revision: str,
    path: str,
    *,
    gated: bool = False,
    moving: bool = False,
    name: str | None = None,
    **digest: Any,
) -> RawFile:
    """A file of a Hub dataset at one revision; its name is its path unless given."""
    return RawFile(name or path, Hub(repo, revision, path, gated, moving), **digest)


def by_hand(name: str, instructions: str, *, made_by: str = "", **digest: Any) -> RawFile:
    """A file that a person must fetch, or that a command writes; the instructions are shown when it is missing."""
    return RawFile(name, ByHand(instructions, made_by), **digest)


def member(archive: RawFile, path: str, *, name: str | None = None, **digest: Any) -> RawFile:
    """A file inside an archive; a local copy of the file itself, under its name, serves as well as the archive."""
    return RawFile(name or path, Member(archive, path), **digest)
