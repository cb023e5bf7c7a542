"""Whether the tests notice changes of the code: small faults are put into functions, one at a time.

    python benchmarks/mutants.py choose                 choose 300 faults and write benchmarks/mutants.json
    python benchmarks/mutants.py measure FOLDER         run the suite once: which tests cover which lines, and their times
    python benchmarks/mutants.py run FOLDER             put in each fault, run the tests that cover its function
    python benchmarks/mutants.py run FOLDER --update    the same; write into benchmarks/mutants.json which faults were noticed

A fault is a qualified function, an operator (OPERATORS and NEGATE below), and a seed that chooses among the places in the
function where the operator applies. Functions are chosen by the SHA-256 of their names, as many in each package; a name that two
functions have is not chosen, so that a function is found again after it has moved. Of the tests that execute a function, those in
the folder that mirrors its package run first, then the cheapest, up to BUDGET seconds as measured. A fault is noticed where one
of them fails, or does not end. tests/test_golden.py does not count: it compares all rows of all datasets, and explains nothing.

`run` ends with exit code 1 if a fault is not noticed that mutants.json says is: then a test has become weaker. Results are also
in FOLDER/results.json, and a second run goes on with the faults that are not among them. Each fault is put into a clone of the
last commit, one clone for each worker, so `run` takes the committed code.

It needs pytest-cov: python -m pip install -e '.[stress,test]'
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

ROOT = Path(__file__).parents[1]
CHOSEN = ROOT / "benchmarks" / "mutants.json"
PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
NOT_COUNTED = ("tests/test_golden.py",)
COUNT = 300
BUDGET, LIMIT = 12, 60  # seconds of tests as measured, and seconds after which a run is ended
SETTINGS = """[run]
source =
    {packages}
patch = subprocess
parallel = true
context = ${{PYTEST_CURRENT_TEST-}}
data_file = {folder}/coverage
"""
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A fault. function: `pipelines.audit.judgements.find_conflicts`. seed: which of the places where the operator applies.

    noticed: whether the tests noticed it when `run --update` was last called.
    """

    function: str
    operator: str
    seed: int
    noticed: bool = False


@dataclass(frozen=True)
class Function:
    """A function of the code, with the package that it is counted in: a package, or a folder of builders."""

    name: str
    path: Path
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def package(self) -> str:
        """The package of the function: `pipelines.audit`, `cards`."""
        return ".".join(self.path.relative_to(ROOT).parts[:-1][:2])


def _compare(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        node.ops = [COMPARISONS[type(node.ops[0])]()]
        return node
    return None


def _boolean(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node
    return None


def _arithmetic(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        node.op = ARITHMETIC[type(node.op)]()
        return node
    return None


def _number(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return node
    return None


def _return(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        return ast.Return(ast.Constant(None))
    return None


def _remove(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    return None


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


NEGATE = "negate"  # of the condition of an `if` or a `while`
OPERATORS: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    "arithmetic": _arithmetic, "boolean": _boolean, "compare": _compare, "number": _number,
    "remove": _remove, "return": _return,
}  # fmt: skip


def list_functions() -> list[Function]:
    """The functions and methods of the packages, without those inside functions."""
    found = []
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            members = node.body if isinstance(node, ast.ClassDef) else [node]
            prefix = f"{module}.{node.name}" if isinstance(node, ast.ClassDef) else module
            found += [
                Function(f"{prefix}.{member.name}", path, member)
                for member in members
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
    return found


def short_name(function: str) -> str:
    """The name of a function without its module: `make`, `Release.tables`."""
    *_, owner, name = function.split(".")
    return f"{owner}.{name}" if owner[0].isupper() or (owner.startswith("_") and owner[1].isupper()) else name


def executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that run when a function is called: no annotations, no docstring."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "args"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from executed_nodes(child)


def places(function: Function, operator: str) -> list[tuple[ast.AST, ast.AST]]:
    """The nodes of a function that an operator changes, in their order, each with what it becomes."""
    found = []
    for node in executed_nodes(function.node):
        if operator == NEGATE and isinstance(node, ast.IfExp | ast.If | ast.While):
            found.append((node.test, ast.UnaryOp(ast.Not(), node.test)))
        elif operator != NEGATE and isinstance(node, ast.expr | ast.stmt):
            changed = OPERATORS[operator](copy.deepcopy(node))
            if changed is not None:
                found.append((node, changed))
    return sorted(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))  # type: ignore[attr-defined]


def choose() -> list[Mutant]:
    """COUNT mutants, as many in each package, of the functions whose names have the smallest hashes."""
    functions = list_functions()
    names = Counter(short_name(function.name) for function in functions)
    packages = defaultdict(list)
    for function in sorted(functions, key=lambda function: hashlib.sha256(function.name.encode()).digest()):
        applying = [operator for operator in (NEGATE, *OPERATORS) if places(function, operator)]
        if len(applying) > 1:
            applying = [operator for operator in applying if operator != "return"]  # nearly every test notices that
        if applying and names[short_name(function.name)] == 1:
            seed = int.from_bytes(hashlib.sha256(function.name.encode()).digest()[:4])
            packages[function.package].append(Mutant(function.name, applying[seed % len(applying)], seed))
    rounds = zip_longest(*(packages[name] for name in sorted(packages)))
    chosen = [mutant for several in rounds for mutant in several if mutant is not None][:COUNT]
    return sorted(chosen, key=lambda mutant: mutant.function)


def measure(folder: Path) -> int:
    """Run the suite with coverage; `durations.json` and `coverage` in the folder are what `run` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings.ini"  # coverage removes files whose names begin with that of its data file
    settings.write_text(SETTINGS.format(packages="\n    ".join(PACKAGES), folder=folder.resolve()), "utf-8")
    options = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    environment = os.environ | {"MUTANTS_DURATIONS": str(folder.resolve() / "durations.json")}
    command = [sys.executable, "-m", "pytest", "-p", "benchmarks.mutants", "-n", "2", "--dist", "loadfile", *options]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


_durations: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: Any) -> None:
    """As a plugin of pytest: add up the times of each test."""
    _durations[report.nodeid] += report.duration


def pytest_sessionfinish(session: Any) -> None:
    """As a plugin of pytest: write the times, in the process that controls the others."""
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(_durations), "utf-8")


def covering_tests(folder: Path) -> dict[Path, dict[str, set[int]]]:
    """Of each file of the code, by the id of each test: the lines that the test executes."""
    covered: dict[Path, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    with sqlite3.connect(folder / "coverage") as database:
        rows = database.execute(
            "SELECT path, context, numbits FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        )
        for path, context, bits in rows:
            test = re.split(r"\|(?:run|setup)$| \((?:call|setup)\)$", context)[0].strip("|")
            lines = {8 * byte + bit for byte, value in enumerate(bits) for bit in range(8) if value >> bit & 1}
            if test.startswith("tests/") and not test.startswith(NOT_COUNTED):
                covered[Path(path)][test] |= lines
    return covered


def order_tests(function: Function, covered: dict[str, set[int]], durations: dict[str, float]) -> list[str]:
    """The tests to run for a function: those of its package first, then the cheapest, up to BUDGET seconds."""
    lines = range(function.node.body[0].lineno, (function.node.end_lineno or 0) + 1)
    tests = [test for test, executed in covered.items() if test in durations and not executed.isdisjoint(lines)]
    mirrored = f"tests/{'/'.join(function.path.relative_to(ROOT).parts[:-1])}/"
    name = re.compile(rf"test_{function.path.stem}(_\w+)?\.py")
    tests.sort(
        key=lambda test: (not name.search(test), not test.startswith(mirrored), durations[test], test),
    )
    chosen, seconds = [], 0.0
    for test in tests:
        if seconds + durations[test] <= BUDGET:
            chosen.append(test)
            seconds += durations[test]
    return chosen


def mutate(source: str, node: Any, changed: ast.AST) -> str:
    """The source with a node replaced."""
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1
    text = ast.unparse(ast.fix_missing_locations(changed))
    if isinstance(node, ast.expr):
        text = f"({text})"
    indented = text.replace("\n", "\n" + " " * node.col_offset).encode()
    replaced = lines[first][: node.col_offset] + indented + lines[last][node.end_col_offset :]
    return b"".join([*lines[:first], replaced, *lines[last + 1 :]]).decode()


def test_mutant(mutant: Mutant, function: Function, tests: list[str], clone: Path, python: str) -> dict[str, Any]:
    """Put a mutant into a clone, run tests, and take it out again. Returns what was done, and the state that the mutant is in."""
    found = places(function, mutant.operator)
    if not found:
        return {"state": "no place left"}
    node, changed = found[mutant.seed % len(found)]
    result: dict[str, Any] = {"line": node.lineno, "becomes": ast.unparse(changed)[:200], "tests": len(tests)}  # type: ignore[attr-defined]
    if not tests:
        return result | {"state": "not covered"}
    target = clone / function.path.relative_to(ROOT)
    source = target.read_text("utf-8")
    listed = clone.parent / "tests.txt"
    listed.write_text("\n".join(tests), "utf-8")
    target.write_text(mutate(source, node, changed), "utf-8")
    command = [python, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", f"@{listed}"]
    process = subprocess.Popen(
        command, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env=os.environ | {"EMBEDDING_DATASETS_CACHE": str(clone.parent / "cache"), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=LIMIT)
        state = "alive" if process.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, state = process.communicate()[0], "killed by time"
    finally:
        target.write_text(source, "utf-8")
    by = re.search(r"^(?:FAILED|ERROR) (\S+)", out, re.MULTILINE)
    return result | {"state": state, "by": by[1] if by else None}


def run(folder: Path, workers: int) -> dict[str, dict[str, Any]]:
    """Test all chosen mutants; the results, by function, are written after each one and are not computed again."""
    to = folder / "results.json"
    functions = {function.name: function for function in list_functions()}
    by_short_name = {short_name(name): one for name, one in functions.items()}
    covered = covering_tests(folder)
    durations = json.loads((folder / "durations.json").read_text("utf-8"))
    collecting = [sys.executable, "-m", "pytest", "--collect-only", "-n", "0"]
    collected = set(
        subprocess.run(collecting, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    )
    durations = {test: seconds for test, seconds in durations.items() if test in collected}
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
        function = functions.get(mutant.function) or by_short_name.get(short_name(mutant.function))
        if function is None:
            result = {"state": "function is gone"}
        else:
            tests = order_tests(function, covered.get(function.path, {}), durations)
            clone = clones.get()
            try:
                result = test_mutant(mutant, function, tests, clone, sys.executable)
            finally:
                clones.put(clone)
        with lock:
            results[mutant.function] = result
            to.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
            print(f"{len(results)}: {result['state']}: {mutant.function} {mutant.operator}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(test, [mutant for mutant in read_chosen() if mutant.function not in results]))
    return results


def read_chosen() -> list[Mutant]:
    """The mutants of mutants.json."""
    return [Mutant(**fields) for fields in json.loads(CHOSEN.read_text("utf-8"))]


def write_chosen(mutants: list[Mutant]) -> None:
    """Write mutants.json, a line for each mutant."""
    lines = ",\n ".join(json.dumps(asdict(mutant)) for mutant in mutants)
    CHOSEN.write_text(f"[{lines}]\n", "utf-8")


def compare(results: dict[str, dict[str, Any]]) -> int:
    """Print how many mutants of each package were noticed, before and now, and each that was and is not. Returns how many."""
    packages: dict[str, Counter[str]] = defaultdict(Counter)
    lost = 0
    for mutant in read_chosen():
        state = results[mutant.function]["state"]
        is_noticed = state.startswith("killed")
        parts = mutant.function.split(".")
        package = ".".join(parts[:2]) if parts[0] in {"builders", "pipelines"} and len(parts) > 3 else parts[0]
        packages[package].update(mutants=1, before=mutant.noticed, now=is_noticed)
        if mutant.noticed and not is_noticed:
            lost += 1
            print(f"{state}, and was noticed before: {mutant.function}, {mutant.operator}")
    for package, counts in [*sorted(packages.items()), ("all", sum(packages.values(), Counter()))]:
        print(f"{package:28} {counts['mutants']:4} mutants, {counts['before']:4} noticed before, {counts['now']:4} now")
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("choose")
    commands.add_parser("measure").add_argument("folder", type=Path)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--workers", type=int, default=2)
    running.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "choose":
        write_chosen(choose())
        return 0
    if arguments.command == "measure":
        return measure(arguments.folder)
    results = run(arguments.folder, arguments.workers)
    lost = compare(results)
    if arguments.update:
        states = {function: result["state"].startswith("killed") for function, result in results.items()}
        write_chosen([replace(mutant, noticed=states[mutant.function]) for mutant in read_chosen()])
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
