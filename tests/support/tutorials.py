"""The tutorials and the notebook of docs/, followed: python -m tests.support.tutorials writes into them what they print now.

It takes the names of files, and needs the extras `consumers` (train.md) and `docs` (the notebook).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.processes import checkout

PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "notebook.ipynb"]
NEED_CHECKOUT = {"contribute.md"}  # whose commands write beside the code
BLOCK = re.compile(r"^(?P<before>[^\n]*)\n\n```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(page: Path, folder: Path) -> str:
    """The text of a page with what its commands, the lines behind `$`, print in an empty folder.

    A block below a line that ends in the name of a file, as in "Write `pairs.jsonl`:", is written into that file first.
    """
    work = checkout(folder / "work") if page.name in NEED_CHECKOUT else folder / "work"
    work.mkdir(exist_ok=True)
    environment = _environment(folder, work if page.name in NEED_CHECKOUT else ROOT)
    if page.suffix == ".ipynb":
        return _execute(page, work, environment)

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
    for name, arguments in {"embedding-datasets": " -P -m pipelines", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    caches = {name: str(folder / "cache" / name) for name in ("EMBEDDING_DATASETS_CACHE", "HF_HOME")}
    settings = {
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "PYTHONPATH": str(code),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
    }
    return os.environ | caches | settings | {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def _run(command: str, work: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    return printed.replace(str(work), "/home/me")


def _execute(notebook: Path, work: Path, environment: dict[str, str]) -> str:
    """A notebook with what its cells write to stdout; other outputs, counts and versions are left out, because they vary."""
    import nbclient
    import nbformat

    content = nbformat.read(notebook, 4)
    client = nbclient.NotebookClient(
        content, timeout=300, record_timing=False, resources={"metadata": {"path": str(work)}}
    )
    client.execute(env=environment)
    content.metadata.pop("language_info")
    for cell in content.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            text = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")  # comes in pieces
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)] if text else []
    return nbformat.writes(content) + "\n"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else PAGES:
        with tempfile.TemporaryDirectory() as temporary:
            path.write_text(follow(path, Path(temporary)), "utf-8")
