"""Build all golden samples and real sets under several versions of Python and of the libraries, and compare the content hashes.

    python benchmarks/version_matrix.py                               under this Python alone, with and without -O
    python benchmarks/version_matrix.py --raw-dir RAW                 also the real sets whose raw files are there
    python benchmarks/version_matrix.py --raw-dir RAW --environments DIR --python python3.12 --python python3.13

A golden sample is expected to have the hash in its counts.json (tests/golden), a real set that of the ledger. With
--environments, every Python named, beside this one, gets a virtual environment in DIR with the newest libraries, and this one
also gets those with older libraries (LIBRARIES). An environment that exists is used again. Exit code 1 if a hash differs, or
a golden sample cannot be built.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
# Installed over the newest libraries; where the package asks for newer ones, pip says so, and the rows are compared all the same.
LIBRARIES = ("polars==2.0.0", "pyarrow==21.0.0", "numpy==2.0.2 pyarrow==24.0.0")
SHOWN = ("polars", "pyarrow", "numpy", "orjson")


@dataclass(frozen=True)
class Outcome:
    """What a Python gave: how many hashes of golden samples and of real sets are equal, which are not, and what was not built."""

    versions: str
    golden: int
    real: int
    wrong: list[str]
    failed: list[str]


def build_all(raw_dir: Path | None) -> Outcome:
    """Build every version of every dataset under this Python and compare."""
    from builders import catalogue
    from builders.errors import DatasetError
    from pipelines.make import GOLDEN, BuildSettings, make
    from pipelines.raw.settings import RawSettings
    from pipelines.release.ledger import find_entry

    equal, wrong, failed = Counter[bool](), list[str](), list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        raw = RawSettings(cache=folder / "cache", offline=True, lock=folder / "raw.lock.json", raw_dir=raw_dir)
        for sample in (True, False) if raw_dir else (True,):
            output = folder / ("samples" if sample else "real")
            settings = BuildSettings(output, raw, sample=sample, ledger=folder / "ledger.json", golden=GOLDEN)
            for name, entry in catalogue.entries().items():
                definition = catalogue.load(entry)
                for version in definition.dataset.versions:
                    if sample:
                        counts = GOLDEN / definition.source.name / name / version / "counts.json"
                        expected = json.loads(counts.read_text("utf-8"))["content_sha256"]
                    elif known := find_entry(name, version):
                        expected = known.content_sha256
                    else:
                        continue
                    try:
                        found = make(definition, version, settings).manifest.content_sha256
                    except DatasetError as error:
                        if sample:  # of a real set, the raw files are not in the folder
                            failed.append(str(error))
                        continue
                    except Exception as error:  # noqa: BLE001 - a library that the package does not support
                        failed.append(f"{type(error).__name__}: {error}")
                        continue
                    if found == expected:
                        equal[sample] += 1
                    else:
                        wrong.append(f"{name}@{version}{' (sample)' if sample else ''}: {found[:12]}")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in SHOWN)
    optimized = " -O" if sys.flags.optimize else ""
    named = f"Python {platform.python_version()}{optimized}, {versions}"
    return Outcome(named, equal[True], equal[False], wrong, failed)


def run_python(python: Path, raw_dir: Path | None, *flags: str) -> Outcome:
    """What this script finds under a Python."""
    options = ["--raw-dir", str(raw_dir)] if raw_dir else []
    done = subprocess.run(
        [str(python), *flags, str(Path(__file__)), "--one", *options],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no output"]
        return Outcome(" ".join([str(python), *flags]), 0, 0, [], said[-1:])
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def make_environment(folder: Path, python: str, libraries: str) -> Path:
    """The Python of a virtual environment with this package's dependencies, and these libraries."""
    name = "-".join([python.replace("/", "_"), *libraries.split()])
    environment = folder / name
    inside = environment / "bin" / "python"
    if not (environment / "complete").exists():
        print(f"making {environment}", file=sys.stderr)
        subprocess.run([python, "-m", "venv", "--clear", str(environment)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "-q", "-e", str(ROOT)], check=True)
        if libraries:
            install = [str(inside), "-m", "pip", "install", "-q", *libraries.split()]
            subprocess.run(install, check=True)
        (environment / "complete").touch()
    return inside


def main() -> int:
    """Print a line for each environment."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--raw-dir", type=Path, metavar="DIR", help="raw files of real sets, as for build")
    arguments.add_argument("--environments", type=Path, metavar="DIR", help="where virtual environments are made")
    arguments.add_argument("--python", action="append", default=[], metavar="PYTHON", help="another Python; repeatable")
    arguments.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(asdict(build_all(options.raw_dir))))
        return 0
    pythons = [Path(sys.executable)]
    if options.environments:
        options.environments.mkdir(parents=True, exist_ok=True)
        wanted = [(python, "") for python in (sys.executable, *options.python)]
        wanted += [(sys.executable, libraries) for libraries in LIBRARIES]
        pythons = [make_environment(options.environments.resolve(), *names) for names in wanted]
    failed = False
    print("| environment | golden samples | real sets | different | not built |\n| --- | ---: | ---: | --- | --- |")
    for python, flags in [*((python, ()) for python in pythons), (pythons[0], ("-O",))]:
        outcome = run_python(python, options.raw_dir, *flags)
        failed = failed or bool(outcome.wrong or outcome.failed)
        first = f"{len(outcome.failed)}: {outcome.failed[0]}" if outcome.failed else "none"
        wrong = "; ".join(outcome.wrong) or "none"
        print(f"| {outcome.versions} | {outcome.golden} | {outcome.real} | {wrong} | {first} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
