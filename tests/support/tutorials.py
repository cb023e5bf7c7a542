"""The tutorials of docs/, followed in a shell: python -m tests.support.tutorials writes into them what their commands print now."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.processes import checkout

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NEED_CHECKOUT = {"contribute.md"}  # whose commands write beside the code
BLOCK = re.compile(r"^(?P<before>[^\n]*)\n\n```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(page: Path, folder: Path) -> str:
    """The text of a page with what its commands, the lines behind `$`, print in an empty folder.

    A block below a line that ends in the name of a file, as in "Write `pairs.jsonl`:", is written into that file first.
    """
    work = checkout(folder / "work") if page.name in NEED_CHECKOUT else folder / "work"
    work.mkdir(exist_ok=True)
    environment = _environment(folder, work if page.name in NEED_CHECKOUT else ROOT)

    def follow_block(block: re.Match[str]) -> str:
        file, commands = re.search(r"`([\w./-]+)`:$", block["before"]), re.findall(r"(?m)^\$ (.*)$", block["text"])
        if file:
            (work / file[1]).write_text(block["text"], "utf-8")
        if not commands:
            return block[0]
        shown = "".join(f"$ {command}\n{_run(command, work, environment)}" for command in commands)
        return f"{block['before']}\n\n```{block['kind']}\n{shown}```"

    return BLOCK.sub(follow_block, page.read_text("utf-8"))


def _environment(folder: Path, code: Path) -> dict[str, str]:
    """The command and Python of this installation, on a path of their own; no network, caches in the folder."""
    programs = folder / "bin"
    programs.mkdir()
    for name, arguments in {"embedding-datasets": " -m pipelines", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    caches = {name: str(folder / "cache" / name) for name in ("EMBEDDING_DATASETS_CACHE", "HF_HOME")}
    settings = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    return os.environ | caches | settings | {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def _run(command: str, work: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    return printed.replace(str(work), "/home/me")


if __name__ == "__main__":
    for path in PAGES:
        with tempfile.TemporaryDirectory() as temporary:
            path.write_text(follow(path, Path(temporary)), "utf-8")
