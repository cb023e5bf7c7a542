"""Whether the tests notice changes of the code: small faults are put into functions, one at a time.

    python benchmarks/mutants.py FOLDER                put in 300 faults, and run the tests that lie where the function does
    python benchmarks/mutants.py FOLDER --count 20     fewer

Functions are chosen by the SHA-256 of their names, as many in each package, and so is the place in a function. At a place,
`fault` changes a comparison, a calculation, a number, a condition or what is returned, or leaves out a call. The tests of a
function are those of the folder that mirrors its module's, those with the name of the module first. A fault is noticed where one
of them fails, or does not end in LIMIT seconds.

Faults that are not noticed are printed. Results are in FOLDER/results.json, by function, and a second run goes on with the faults
that are not among them; those of two commits show which tests became weaker. Each fault is put into a clone of the last commit,
one clone for each worker, so changes that are not committed are not tested.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
LIMIT = 900  # seconds after which a run of tests is ended
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
Fault = tuple[Any, ast.AST]  # a node, and what it becomes


@dataclass(frozen=True)
class Mutant:
    """A function with a fault. function: `pipelines.audit.judgements.find_conflicts`. path: of its module, in the checkout."""

    function: str
    path: Path
    node: Any
    becomes: ast.AST


def fault(node: ast.AST) -> Fault | None:
    """The fault that a node may have."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test, ast.UnaryOp(ast.Not(), test)
        case ast.Compare(left, [operator], right):
            return node, ast.Compare(left, [COMPARISONS[type(operator)]()], right)
        case ast.BoolOp(operator, values):
            return node, ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            return node, ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.Constant(value) if type(value) is int:
            return node, ast.Constant(value + 1)
        case ast.Return(value) if value is not None:
            return node, ast.Return()
        case ast.Expr(ast.Call()):
            return node, ast.Pass()
    return None


def executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that run when a function is called: no defaults, annotations or decorators."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list"} or isinstance(value, ast.arguments):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from executed_nodes(child)


def list_mutants() -> Iterator[Mutant]:
    """A mutant of each function that has one, not of those inside functions; in the order of the hashes of their names."""
    functions = {}
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text("utf-8"))
        classes = [(f"{module}.{node.name}", node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
        for owner, body in [(module, tree.body), *classes]:
            functions |= {f"{owner}.{node.name}": (path, node) for node in body if isinstance(node, ast.FunctionDef)}
    hashes = {name: hashlib.sha256(name.encode()).digest() for name in functions}
    for name in sorted(functions, key=hashes.__getitem__):
        path, function = functions[name]
        faults = [found for found in map(fault, executed_nodes(function)) if found]
        # Nearly every test notices that nothing is returned.
        faults = [found for found in faults if not isinstance(found[0], ast.Return)] or faults
        if faults:
            yield Mutant(name, path.relative_to(ROOT), *faults[int.from_bytes(hashes[name]) % len(faults)])


def choose_mutants(count: int) -> list[Mutant]:
    """The first mutants, as many in each package."""
    packages = defaultdict(list)
    for mutant in list_mutants():
        packages[mutant.path.parts[:-1][:2]].append(mutant)
    rounds = zip_longest(*(packages[name] for name in sorted(packages)))
    return [mutant for several in rounds for mutant in several if mutant is not None][:count]


def mutate(source: str, node: Any, becomes: ast.AST) -> str:
    """The source with a node replaced."""
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1
    text = ast.unparse(ast.fix_missing_locations(becomes))
    if isinstance(node, ast.expr):
        text = f"({text})"
    replaced = lines[first][: node.col_offset] + text.encode() + lines[last][node.end_col_offset :]
    return b"".join([*lines[:first], replaced, *lines[last + 1 :]]).decode()


def list_tests(path: Path) -> list[str]:
    """The files with the tests of a module, in the order in which they run."""
    folder = ROOT / "tests" / path.parent
    while not folder.is_dir():
        folder = folder.parent
    name = path.parent.name if path.stem == "__init__" else path.stem
    files = sorted(folder.glob("test_*.py"), key=lambda file: (not file.stem.startswith(f"test_{name}"), file))
    return [str(file.relative_to(ROOT)) for file in files]


def test_mutant(mutant: Mutant, clone: Path) -> dict[str, Any]:
    """Put a mutant into a clone, run tests, and take it out again. Returns where it is and what noticed it, if anything."""
    target = clone / mutant.path
    source = target.read_text("utf-8")
    target.write_text(mutate(source, mutant.node, mutant.becomes), "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *list_tests(mutant.path),
    ]
    process = subprocess.Popen(
        command, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env=os.environ | {"EMBEDDING_DATASETS_CACHE": str(clone.parent / "cache"), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=LIMIT)
        noticed = None if process.returncode == 0 else out[-300:]
        if test := re.search(r"^(?:FAILED|ERROR) (\S+)", out, re.MULTILINE):
            noticed = test[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        noticed = "time"
    finally:
        target.write_text(source, "utf-8")
    place = f"{mutant.path}:{mutant.node.lineno}"
    return {"place": place, "becomes": ast.unparse(mutant.becomes)[:200], "noticed": noticed}


def run(mutants: list[Mutant], folder: Path, workers: int) -> dict[str, dict[str, Any]]:
    """Test mutants; the results, by function, are written after each one and are not computed again."""
    to = folder / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(to.read_text("utf-8")) if to.exists() else {}
    clones: SimpleQueue[Path] = SimpleQueue()
    lock = Lock()
    for number in range(workers):
        clone = folder / f"worker-{number}" / "clone"
        shutil.rmtree(clone.parent, ignore_errors=True)
        clone.parent.mkdir(parents=True)
        if (ROOT.parent / "shared").is_dir():  # real raw files
            (clone.parent / "shared").symlink_to(ROOT.parent / "shared")
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        clones.put(clone)

    def test(mutant: Mutant) -> None:
        clone = clones.get()
        try:
            result = test_mutant(mutant, clone)
        finally:
            clones.put(clone)
        with lock:
            results[mutant.function] = result
            to.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(test, [mutant for mutant in mutants if mutant.function not in results]))
    return results


def main() -> None:
    """Print the faults that no test notices, and how many there are."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--workers", type=int, default=2)
    options = arguments.parse_args()
    results = run(choose_mutants(options.count), options.folder, options.workers)
    alive = [result for _, result in sorted(results.items()) if result["noticed"] is None]
    for result in alive:
        print(f"{result['place']}: {result['becomes']}")
    print(f"{len(results) - len(alive)} of {len(results)} faults were noticed")


if __name__ == "__main__":
    main()
