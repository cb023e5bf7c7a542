"""What a release was made by, as digests: so that a build knows when there is nothing to do.

Line ends are folded to LF before hashing: a checkout on another system is the same recipe.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import platform
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def recipe_sha256(module: str, root: Path = ROOT) -> str:
    """SHA-256 of a builder's file and of every module of builders/ that it imports, near or far, in order of their names."""
    return _sha256(sorted(_imported(module, root)), root)


def report_sha256(source: str, root: Path = ROOT) -> str:
    """SHA-256 of what turns the same rows into another card: prose, template, renderer, findings and statistics."""
    parts = ["cards/render.py", "cards/dataset.md.jinja", "cards/citations.bib", f"cards/prose/{source}.md"]
    checks = _imported("pipelines.audit.quality", root) | _imported("pipelines.audit.statistics", root)
    return _sha256([*parts, *sorted(checks), "pipelines/audit/known_findings.py", "pipelines/make.py"], root)


def tools() -> dict[str, str]:
    """The versions of what took part in a build: for the curious, outside every hash."""
    names = ("embedding-datasets", "polars", "pyarrow", "orjson", "numpy")
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"  # a checkout runs as it is


def _imported(module: str, root: Path) -> set[str]:
    """Paths below root of a module and of all modules of its own top package that it imports."""
    package, found, waiting = module.split(".", maxsplit=1)[0], set[str](), [module]
    while waiting:
        path = _path(waiting.pop(), root)
        if path is None or path in found:
            continue
        found.add(path)
        waiting += [name for name in _imports((root / path).read_text("utf-8")) if name.split(".")[0] == package]
    # The catalogue in builders/__init__.py finds a recipe; it is no part of one.
    return found - {f"{package}/__init__.py"}


@cache
def _imports(text: str) -> tuple[str, ...]:
    """The names that a Python file imports; parsing is what takes time, and builders share most of what they import."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def _path(module: str, root: Path) -> str | None:
    stem = module.replace(".", "/")
    return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if (root / path).is_file()), None)


def _sha256(paths: list[str], root: Path) -> str:
    whole = hashlib.sha256()
    for path in paths:
        text = (root / path).read_bytes().replace(b"\r\n", b"\n")
        whole.update(f"{path}\n{len(text)}\n".encode() + text)
    return whole.hexdigest()
