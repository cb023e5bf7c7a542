"""Digests of the code behind a release: a build is up to date while they, its raw files and its options are the same.

Line ends are folded to LF before hashing, so that a checkout on another system has the same digests. Files are read once a
process, whose code does not change either. The names that a file imports are cached under the SHA-256 of its bytes: whatever
its path or its time, other bytes are parsed again.
"""

import ast
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from builders.errors import ReleaseError
from pipelines.process import installation

ROOT = Path(__file__).parents[2]
PACKAGES = ("builders", "cards", "pipelines")
# What cards quote beside their prose.
QUOTED = (
    "cards/citations.bib",
    "pipelines/release/contamination_map.json",
    "pipelines/release/published_figures.json",
)
# For each version of each dataset, the recipe digests of earlier states of this package that give it the same rows as this one.
EARLIER = Path(__file__).with_name("earlier_recipes.json")
# What turns the same rows into another card, manifest or Parquet file, with everything that these import.
REPORT = ("pipelines.release.writing",)
CACHE = "imports.json"  # in the cache: what `_imports` returns by SHA-256 of our code and the file's
MAX_CACHED = 5000  # files: some 30 states of this package


def recipe_sha256(module: str, root: Path = ROOT) -> str:
    """SHA-256 of a builder and of every module of ours that it imports, directly or not, in the order of their paths."""
    return _sha256(sorted(reached((module,), root)), root)


@cache
def earlier_recipes(dataset: str, version: str) -> tuple[tuple[str, str], ...]:
    """What `recipe_sha256` gave in earlier states of this package that give a version the same rows, each with their version.

    A move of code changes the digest. The rows are the same: tests build the hashes of the ledger again.
    """
    states = json.loads(EARLIER.read_text("utf-8"))
    found = ((state["version"], state["recipes"].get(dataset, {}).get(version)) for state in states)
    return tuple((package, digest) for package, digest in found if digest)


def report_sha256(source: str, root: Path = ROOT) -> str:
    """SHA-256 of what makes the card and the findings of the same rows: code, template, the source's prose, what they quote."""
    return _sha256(report_files(source, root), root)


def report_files(source: str, root: Path = ROOT) -> list[str]:
    """The files that `report_sha256` covers, as paths below root."""
    rebuilds = (root / "cards" / "reproductions" / source).glob("*.json")
    quoted = [*QUOTED, f"cards/prose/{source}.md", *(path.relative_to(root).as_posix() for path in rebuilds)]
    return sorted({"cards/dataset.md.jinja", *quoted, *reached(REPORT, root)})


@cache
def tools() -> dict[str, str]:
    """The versions of what takes part in a build; outside every hash."""
    libraries = {name: importlib.metadata.version(name) for name in ("polars", "pyarrow", "orjson", "numpy")}
    return {"python": platform.python_version(), installation.NAME: installation.version(), **libraries}


def tools_and_commit() -> dict[str, str]:
    """The tools, and the commit of this package's code as `commit`, where it is known; outside every hash too."""
    commit = installation.commit()
    return tools() | ({"commit": commit} if commit else {})


@cache
def reached(
    modules: tuple[str, ...], root: Path = ROOT, without: frozenset[str] = frozenset(), *, use_cache: bool = True
) -> frozenset[str]:
    """Paths below root of some modules and of all modules of PACKAGES that they import, directly or not.

    without: paths that are left out, with what they alone import. use_cache: False where packages are missing, as in the build of
    a wheel.
    """
    found, queue, cached = set[str](), list(modules), _cached_imports() if use_cache else {}
    known = len(cached)
    while queue:
        path = _path(queue.pop(), root)
        if path is None or path in found or path in without:
            continue
        found.add(path)
        code = _content(root / path)
        key = _cache_key(code)
        if key not in cached:
            cached[key] = _imports(code)
        queue += cached[key]
    if use_cache and len(cached) > known:
        from pipelines.raw.digests import write_cached

        write_cached(CACHE, json.dumps(cached).encode())
    return frozenset(found)


def verify_cached_imports(module: str) -> None:
    """Parse every file behind a builder and its release again.

    Raises ReleaseError where the cache has other imports of one: the digests of a manifest may lack files.
    """
    from pipelines.raw.digests import default_cache

    for path in reached((module, *REPORT)):
        code = _content(ROOT / path)
        if _cached_imports().get(_cache_key(code)) != _imports(code):
            raise ReleaseError(
                "the cache has other imports of a module than its code",
                where=str(default_cache() / CACHE),
                found=path,
                todo="remove the file, and build the release again with --force",
            )


@cache  # `publish` verifies the cache for each release, and most of the files are the same
def _imports(code: bytes) -> list[str]:
    """The names of PACKAGES that a Python file with this code imports."""
    names: list[str] = []
    for node in _statements(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] in PACKAGES]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a node of a syntax tree, whose expressions, most of its nodes, import nothing."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(node, field, None)
        for statement in inner if isinstance(inner, list) else ():
            yield statement
            yield from _statements(statement)


@cache
def _cached_imports() -> dict[str, list[str]]:
    """The cache, to which `reached` adds; empty where it cannot be read, is damaged or is full."""
    from pipelines.raw.digests import read_cached  # here, as a wheel is built without the packages that it needs

    cached: dict[str, list[str]] = json.loads(read_cached(CACHE) or b"{}")
    return cached if len(cached) < MAX_CACHED else {}


def _cache_key(code: bytes) -> str:
    """The key of a file with this code; another state of this module, which finds the imports, has other keys."""
    return hashlib.sha256(_own_code() + code).hexdigest()


@cache
def _own_code() -> bytes:
    return hashlib.sha256(_content(Path(__file__))).digest()


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")


@cache
def _path(module: str, root: Path) -> str | None:
    stem = module.replace(".", "/")
    return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if (root / path).is_file()), None)


def _sha256(paths: list[str], root: Path) -> str:
    whole = hashlib.sha256()
    for path in paths:
        text = _content(root / path)
        whole.update(f"{path}\n{len(text)}\n".encode() + text)
    return whole.hexdigest()
