"""The packages pipelines, cards and builders come from the folder that this package is in, whatever else has their names.

Python takes the first package of a name that it finds: in a folder with a package called pipelines that would be the other one.
So they are loaded by their paths, before anything else imports them; their modules then follow from the packages.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("builders", "cards", "pipelines")
DISTRIBUTION = "embedding-datasets"
MARK = f'DISTRIBUTION = "{DISTRIBUTION}"'  # a line of our packages, so that they are recognised without running them
REINSTALL = f"install {DISTRIBUTION} again, with pip's option --force-reinstall"


def load_own_packages(root: Path = ROOT) -> None:
    """Load our packages in `root` into sys.modules, where they are not loaded yet.

    Raises ImportError where another package of such a name is loaded, or was installed over ours; in our own command,
    SystemExit with the same message, so that it ends without a traceback.
    """
    if _is_command():
        # Nothing has begun yet: Ctrl-C ends the command without a traceback, until pipelines.command.run takes over.
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    for name in NAMES:
        problem = _problem(name, root)
        if problem:
            raise SystemExit(f"error: {problem}") if _is_command() else ImportError(problem, name=name)
        if name not in sys.modules:
            _load(name, root)


def _is_command() -> bool:
    """Whether this process is our command, and not a program that imports us."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # Python looks for the module to run; its name is where sys.argv has "-m"
        return sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0] == "embedding_datasets"
    return Path(program).name.removesuffix(".exe") == DISTRIBUTION


def _problem(name: str, root: Path) -> str:
    """Why a package cannot be ours, and what to do; empty where it is."""
    path, loaded = root / name / "__init__.py", sys.modules.get(name)
    if loaded is not None and _path_of(loaded) != path.resolve():
        return (
            f"embedding_datasets needs its own package {name}, and another package of this name is loaded already\n"
            f"  found:    {_describe(_path_of(loaded))}\n"
            f"  expected: {path}\n"
            "  to do:    import embedding_datasets before the other package, or use them in two processes"
        )
    if not path.is_file():
        return f"the package {name} of embedding_datasets is missing\n  where:    {path}\n  to do:    {REINSTALL}"
    if MARK not in path.read_text("utf-8", errors="replace"):
        return (
            f"another package called {name} was installed over the one of embedding_datasets\n"
            f"  found:    {_describe(path)}\n"
            f"  to do:    uninstall the other package, or use an environment without it; then {REINSTALL}"
        )
    return ""


def _path_of(module: object) -> Path | None:
    """The file of a module, or the folder of a package without one; None where there is neither."""
    where = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
    return Path(where).resolve() if where else None


def _describe(path: Path | None) -> str:
    """A package's path, and the distributions, beside ours, that installed it, as their records say."""
    if path is None:
        return "a module without a file"
    package = path.parent if path.name == "__init__.py" else path
    records = package.parent.glob("*.dist-info/RECORD")
    lists = {record.parent.stem: record.read_text("utf-8", errors="replace").splitlines() for record in sorted(records)}
    names = [
        name for name, lines in lists.items() if any(line.startswith(f"{package.name}/__init__.py,") for line in lines)
    ]
    others = [name for name in names if not name.startswith("embedding_datasets-")]
    return f"{path} (installed by {', '.join(others)})" if others else str(path)


def _load(name: str, root: Path) -> None:
    folder = root / name
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None, "the file is Python"
    assert spec.loader is not None, "the file is Python"
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
