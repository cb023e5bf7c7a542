"""Imports run one way: commands, then the packages of pipelines, then cards, then builders; and no module hides an import."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT

COMMANDS = {
    "accept",
    "build",
    "check",
    "command",
    "contamination",
    "decide",
    "diff",
    "doctor",
    "export",
    "fetch",
    "new",
    "publish",
    "reproduce",
    "score",
    "show",
    "site",
}
# A module may import those in its own layer's package and in the layers below it. One line is one layer.
LAYERS = (
    {"builders"},
    {"cards"},
    {"pipelines.process"},
    {"pipelines.raw"},
    {"pipelines.audit"},
    {"pipelines.release"},
    {"pipelines.hub"},
    {"pipelines.models"},
    {"pipelines.scores"},
    {"pipelines.profile"},
    {"pipelines.checking"},
    {"pipelines.mteb_tasks"},
    {"pipelines.identity"},
    {"pipelines.catalogue_pages"},
    {"pipelines.decontamination"},
    {"pipelines.catalogue_site", "pipelines.exporting"},
    {"pipelines.make"},
    {"pipelines.build_report"},
    {"pipelines.reproduction"},
    {"pipelines.library"},
    {"pipelines.scaffold"},
    {f"pipelines.{command}" for command in COMMANDS},
    {"pipelines.completion"},
    {"pipelines.command_line"},
    {"pipelines.__main__"},
    {"embedding_datasets"},
)
PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NETWORK = {
    "socket", "ssl", "http", "urllib", "httpx", "requests", "huggingface_hub", "datasets", "ftplib", "smtplib", "asyncio",
    "aiohttp", "subprocess",
}  # fmt: skip


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    """The full names of what a file imports, type checking included, with their lines."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name if name in NAMES else str(node.module), node.lineno) for name in full]
    return found


NAMES = [module_name(path) for path in MODULES]


def layer_of(module: str) -> tuple[int, str]:
    """The layer of a module, and its package, or the module itself where it is in none."""
    for number, members in enumerate(LAYERS):
        for member in members:
            if module == member or module.startswith(f"{member}."):
                return number, member
    pytest.fail(f"{module} is in no layer: name it in LAYERS, and in docs/architecture.md")


def test_a_module_imports_only_what_is_below_it() -> None:
    for path, name in zip(MODULES, NAMES, strict=True):
        if name == "pipelines":
            continue
        layer, member = layer_of(name)
        for imported, line in imports_of(path):
            if imported.split(".")[0] not in PACKAGES or imported == "pipelines":
                continue
            where = f"{path}:{line}: {name} imports {imported}"
            if imported == "pipelines.command":
                assert name.removeprefix("pipelines.") in COMMANDS | {"command_line"}, where
                continue
            below, other = layer_of(imported)
            assert below < layer or other == member, where


def test_no_two_modules_of_the_packages_import_each_other_in_a_circle() -> None:
    graph = {name: {imported for imported, _ in imports_of(path)} for path, name in zip(MODULES, NAMES, strict=True)}
    finished: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module in finished:
            return
        for imported in sorted(graph[module] & graph.keys() - {module}):
            visit(imported, (*trail, module))
        finished.add(module)

    for module in sorted(graph):
        visit(module, ())


# A program that imports embedding_datasets pays for what it uses: a built release is loaded without the code of a build.
# The wheel of packaging/check is made with the fingerprint where no package is installed.
LAZY = {
    "embedding_datasets",
    "pipelines.library.records",
    "pipelines.library.releases",
    "pipelines.release.fingerprint",
}
# Libraries that take a tenth of a second or more to import, which ruff refuses at the top of a module.
SLOW = (
    *tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    ["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"],
    "pyarrow.compute",  # reads the documentation of 280 functions; what is up to date needs none of them
    "tqdm",  # what `--help` imports draws nothing
)  # fmt: skip


def test_imports_are_at_the_top() -> None:
    for path, name in zip(MODULES, NAMES, strict=True):
        if path.parent.name == "pipelines" or name in LAZY:
            continue
        functions = [one for one in ast.walk(tree_of(path)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
        hidden = [
            node.lineno
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom) and not _is_slow(node)
        ]
        assert not hidden, f"{path}: imports inside functions in lines {hidden}"


def _is_slow(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
    return all(any(f"{name}.".startswith(f"{slow}.") for slow in SLOW) for name in names)


@pytest.mark.parametrize("package", ["builders", "cards"])
def test_builders_and_cards_import_nothing_that_opens_a_socket(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert not {name.split(".")[0] for name, _ in imports_of(path)} & NETWORK, path


def test_no_source_imports_another_and_shared_code_knows_no_source() -> None:
    folders = ("builders.rumteb.", "builders.ateb.", "builders.other.", "builders.training.")
    for path in (ROOT / "builders").rglob("*.py"):
        own = module_name(path).split(".")[:3]
        for name, line in imports_of(path):
            assert not name.startswith(folders) or name.split(".")[:3] == own, f"{path}:{line}: {name}"


def test_every_package_is_in_the_documentation() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    packages = [path.parent.name for path in (ROOT / "pipelines").glob("*/__init__.py")]
    assert packages
    assert [name for name in packages if f"pipelines/{name}/" not in text] == []


def test_a_module_has_at_most_600_lines_and_a_package_at_most_15_modules() -> None:
    lengths = {module_name(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > 600} == {}
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    of_one_kind = {ROOT / "pipelines", *(ROOT / "builders" / name for name in ("rumteb", "ateb", "other", "training"))}
    assert {path.name: count for path, count in folders.items() if count > 15 and path not in of_one_kind} == {}


# Data of anybody are opened by pipelines/checking alone; the others open files that this package wrote.
OPENERS = {
    "pipelines.checking.formats": "tables of anybody",
    "pipelines.checking.rows": "rows of anybody",
    "pipelines.process.outputs": "what a command would write over",
    "pipelines.release.folder": "releases",
    "pipelines.release.parquet": "releases",
    "pipelines.release.shared_texts": "releases",
    "pipelines.exporting.sets": "releases",
    "pipelines.library.records": "releases, through `datasets`",
    "pipelines.models.mining": "rankings",
    "pipelines.raw.heads": "the first records of a raw file",
    "pipelines.decontamination.engines": "results of partitions",
    "pipelines.decontamination.index_file": "indexes",
}
OPENING = re.compile(
    r"(?:scan|read)_(?:parquet|csv|ndjson|json|ipc|avro|excel|json_lines)|read_table|ParquetFile|load_dataset"
)


def test_data_of_anybody_are_opened_in_one_place() -> None:
    found = set()
    for path in MODULES:
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        names = {getattr(call, "attr", None) or getattr(call, "id", "") for call in calls}
        if any(OPENING.fullmatch(name) for name in names):
            found.add(module_name(path))
    assert {name for name in found if not name.startswith("builders.")} == {*OPENERS}


def test_no_package_is_in_two_layers() -> None:
    members = [member for layer in LAYERS for member in layer]
    assert len(members) == len(set(members))
