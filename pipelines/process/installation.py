"""This copy of the package: a checkout of the repository or installed; its version and its commit.

An installed package is never written to, also where the user may write there. The build of a wheel runs this module alone.
"""

import os
import re
import subprocess
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

NAME = "embedding-datasets"
ROOT = Path(__file__).parents[2]
CHECK_ALONE = (
    ROOT.name == "embedding_datasets_check"
)  # the wheel of packaging/check, which has the packages in this folder
DISTRIBUTION = f"{NAME}-check" if CHECK_ALONE else NAME
COMMIT_FILE = Path("pipelines", "commit.txt")  # written into wheels and source archives; a checkout has none
# The files that decide what a build does. The ledger and the lock file change with the builds themselves.
CODE = ("builders", "cards", "embedding_datasets", "pipelines", ":!pipelines/ledger.json", ":!pipelines/raw.lock.json")


@cache
def is_checkout(root: Path = ROOT) -> bool:
    """Whether the package runs in a checkout of its repository, where ledger and lock file may change."""
    try:
        return f'\nname = "{NAME}"\n' in (root / "pyproject.toml").read_text("utf-8")
    except OSError:
        return False


@cache
def version(root: Path = ROOT) -> str:
    """The version of this package; `unknown` where it lies in a folder that nothing installed."""
    if is_checkout(root):
        return str(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"])
    installed = metadata.distributions(name=DISTRIBUTION, path=[str(root.parent if CHECK_ALONE else root)])
    return next((distribution.version for distribution in installed), "unknown")


@cache
def commit(root: Path = ROOT) -> str | None:
    """The commit of the code, with `-dirty` where files were changed or added since; None where it is unknown."""
    if (root / ".git").exists():  # otherwise git would look in the folders above
        return _git_commit(root)
    try:
        return (root / COMMIT_FILE).read_text("utf-8").strip() or None
    except OSError:
        return None


def describe() -> str:
    """Name, version and commit: `embedding-datasets 0.3.0 (commit 1a2b3c4d5e6f)`."""
    full, _, mark = (commit() or "").partition("-")
    shown = f" (commit {'-'.join(filter(None, (full[:12], mark)))})" if full else ""
    return f"{DISTRIBUTION} {version()}{shown}"


def _git_commit(root: Path) -> str | None:
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--", *CODE]
    # A hook of git sets variables that name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)  # noqa: S603 - fixed
    except (OSError, subprocess.CalledProcessError):
        return None
    head, *changes = [
        line for line in done.stdout.splitlines() if line.startswith(b"# branch.oid ") or line[:1] != b"#"
    ]
    sha = head.decode().split()[-1]
    if not re.fullmatch(r"[0-9a-f]{40,64}", sha):  # a repository without a commit
        return None
    return f"{sha}-dirty" if changes else sha
