"""A bare git repository, handled by the git command: what `second_hub` keeps a dataset in.

Names of revisions, tags, parents and lost commits follow git, because git answers. Of the Hub it knows the pointers of LFS files,
and the form in which the API lists files and commits.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

# In the answer of `git cat-file --batch`: blob, sha256 and size of an LFS file that it points to.
POINTER = re.compile(
    rb"(\w{40}) blob \d+\nversion https://git-lfs.github.com/spec/v1\noid sha256:(\w{64})\nsize (\d+)\n"
)
LARGEST_POINTER = 200  # bytes
CLOCK = count(1_700_000_000)  # seconds: two commits of the same second and content would be one commit
DATE = "--date=format-local:%Y-%m-%dT%H:%M:%S.000Z"


class GitError(Exception):
    """git refused; the message is its stderr."""


@dataclass(frozen=True)
class GitRepository:
    """The bare repository in `folder`."""

    folder: Path

    def git(self, *arguments: str, stdin: bytes = b"", author: str = "hub") -> bytes:
        """Run git with these arguments, and return its stdout. Raises GitError if it fails."""
        person = {"NAME": author, "EMAIL": f"{author}@loopback", "DATE": f"{next(CLOCK)} +0000"}
        people = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
        settings = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
        command = ["git", f"--git-dir={self.folder}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, env=settings | people, check=False)
        if done.returncode:
            raise GitError(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def resolve(self, revision: str) -> str | None:
        """Return the sha of the commit that a revision names by the rules of git (a tag before a branch), or None."""
        arguments = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        try:
            return self.git("rev-parse", *arguments).decode().strip()
        except GitError:
            return None

    def refs(self) -> list[tuple[str, str]]:
        """Return every ref with the commit it leads to: of an annotated tag the commit that it names."""
        listing = self.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").decode()
        return [(ref, peeled or oid) for ref, oid, peeled in (line.split(" ") for line in listing.splitlines())]

    @cache  # noqa: B019  a commit does not change, and the repositories of tests are few
    def entries(self, commit: str) -> dict[str, dict[str, Any]]:
        """Return all files and directories of a commit by path, as the Hub lists them."""
        lines = self.git("ls-tree", "-z", "-l", "-r", "-t", commit).decode().split("\0")[:-1]
        rows = [(*line.partition("\t")[0].split()[1:], line.partition("\t")[2]) for line in lines]
        pointers = self.pointers(oid for kind, oid, size, _ in rows if kind == "blob" and int(size) < LARGEST_POINTER)
        entries = {}
        for kind, oid, size, path in rows:
            entry = {"type": "file", "size": int(size)} if kind == "blob" else {"type": "directory", "size": 0}
            if lfs := pointers.get(oid):
                entry |= {"lfs": {"oid": lfs[0], "size": lfs[1], "pointerSize": int(size)}, "size": lfs[1]}
            entries[path] = {"path": path, "oid": oid, **entry}
        return entries

    def blob(self, oid: str) -> bytes:
        """Return the content of a blob."""
        return self.git("cat-file", "blob", oid)

    def pointers(self, oids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return sha256 and size of the LFS files that these blobs point to, by blob."""
        answer = self.git("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
        return {oid.decode(): (sha256.decode(), int(size)) for oid, sha256, size in POINTER.findall(answer)}

    def log(self, commit: str, *arguments: str) -> list[dict[str, Any]]:
        """Return the commits that lead to a commit, newest first, as the Hub lists them."""
        log = self.git(
            "log", DATE, "--format=%H%x00%an%x00%ad%x00%s%x00%b%x1e", *arguments[:1], commit, "--", *arguments[1:]
        )
        rows = [row.strip("\n").split("\0") for row in log.decode().split("\x1e")[:-1]]
        return [
            {"id": sha, "authors": [{"user": author}], "date": date, "title": title, "message": body}
            for sha, author, date, title, body in rows
        ]

    def all_commits(self) -> list[list[str]]:
        """Return sha, first parent, title and message of every commit, also of those that no ref leads to."""
        objects = self.git("cat-file", "--batch-check=%(objecttype) %(objectname)", "--batch-all-objects").decode()
        shas = "".join(f"{line.split()[1]}\n" for line in objects.splitlines() if line.startswith("commit"))
        log = self.git("log", "--no-walk", "--format=%H%x00%P%x00%s%x00%b%x1e", "--stdin", stdin=shas.encode()).decode()
        return [row.strip("\n").split("\0") for row in log.split("\x1e")[:-1]]

    def commit(
        self, ref: str, parent: str | None, changes: Sequence[tuple[str, bytes | None]], message: str, author: str
    ) -> str:
        """Commit changes (contents by path, None to delete) onto a ref, and return the sha. Raises GitError."""
        person = f"{author} <{author}@loopback> {next(CLOCK)} +0000"
        start = f"commit {ref}\nmark :1\ncommitter {person}\ndata {len(message.encode())}\n{message}\n"
        lines = [start.encode(), f"from {parent}\n".encode() if parent else b""]
        for path, content in changes:
            quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            change = f"D {quoted}\n" if content is None else f"M 100644 inline {quoted}\ndata {len(content)}\n"
            lines += [change.encode(), b"" if content is None else content + b"\n"]
        stream = b"".join([*lines, b"get-mark :1\ndone\n"])
        return self.git("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream).decode().strip()

    def collect_garbage(self) -> set[str]:
        """Drop what no ref leads to any longer, and return the sha256 of every LFS file that is still pointed to."""
        self.git("gc", "--quiet", "--prune=now")
        rows = self.git("cat-file", "--batch-check", "--batch-all-objects").decode().splitlines()
        objects = [row.split() for row in rows]
        pointers = self.pointers(oid for oid, kind, size in objects if kind == "blob" and int(size) < LARGEST_POINTER)
        return {sha256 for sha256, _ in pointers.values()}


def create_repository(folder: Path) -> GitRepository:
    """Create a bare repository without any commit."""
    repository = GitRepository(folder)
    repository.git("init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(folder))
    return repository


def lfs_pointer(file: Path) -> bytes:
    """Return the text that git keeps in place of an LFS file, which is named by its sha256."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{file.name}\nsize {file.stat().st_size}\n".encode()
