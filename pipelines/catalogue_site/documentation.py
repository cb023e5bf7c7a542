"""The documentation of this package as pages beside the catalogue, written by zensical."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from builders.errors import ReleaseError, UsageError
from pipelines.process import installation

CONFIG = "zensical.toml"
ASSETS = ("iframe-worker.js", "site.css", "site.js")  # named by CONFIG
START = ("README.md", *(f"docs/assets/{name}" for name in ASSETS))
LINK = re.compile(r"""(?:\]\(|\bsrc(?:set)?=")(?!\w+:|#)([^)"#\s]+)""")  # of Markdown and of HTML
COLORS = re.compile(r"\x1b\[[\d;]*m")


def write_documentation(folder: Path, root: Path = installation.ROOT) -> None:
    """Build README.md and everything that it leads to, page by page, into a new folder.

    root: the checkout. Files that are not pages are copied, so that links to them lead somewhere.

    Raises UsageError outside a checkout and without zensical, ReleaseError for a link or an anchor that leads nowhere.
    """
    if not installation.is_checkout(root):
        todo = "run the command in a checkout of the repository"
        raise UsageError("the documentation is not part of an installed package", where=str(root), todo=todo)
    if find_spec("zensical") is None:
        todo = f"pip install '{installation.NAME}[docs]'"
        raise UsageError("the documentation cannot be built", found="not installed: zensical", todo=todo)
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        copied = _copy_linked(root, work / "pages")
        shutil.copyfile(root / CONFIG, work / CONFIG)
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(work / CONFIG)]
        done = subprocess.run(  # noqa: S603 - fixed
            command, cwd=work, env=os.environ | {"PYTHONUTF8": "1"}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            found = COLORS.sub("", done.stdout + done.stderr)
            raise ReleaseError("the documentation cannot be built", where=str(root / "docs"), found=found)
        shutil.copytree(work / "site", folder)
        for name in copied:  # zensical leaves out folders like .github
            if name.suffix != ".md":
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / name, folder / name)


def _copy_linked(root: Path, pages: Path) -> list[Path]:
    """Copy the files that START leads to, directly or over other pages; returns their paths below the root."""
    waiting, copied = [Path(name) for name in START], []
    while waiting:
        name = waiting.pop()
        if name in copied or ".." in name.parts or not (root / name).is_file():
            continue  # zensical reports a link to nothing
        copied.append(name)
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, pages / name)
        if name.suffix == ".md":
            links = LINK.findall((root / name).read_text("utf-8"))
            waiting += [Path(os.path.normpath(name.parent / link)) for link in links]
    return copied
