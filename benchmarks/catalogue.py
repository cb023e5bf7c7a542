"""Measure how long the catalogue takes to build from its golden samples, and how long an unchanged rebuild takes.

    python benchmarks/catalogue.py              all datasets
    python benchmarks/catalogue.py rumteb shp   only these

The first table times the commands: `embedding-datasets build all --sample` twice into a new folder, each in a separate process,
and for comparison a command that builds nothing. The second table times each dataset twice in this process, with all libraries
loaded, which excludes the time to start Python.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from builders.catalogue import Definition
from pipelines.make import BuildSettings

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run both measurements and print their tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", default=["all"], metavar="NAME", help="as for pipelines.build (all)")
    names = arguments.parse_args().names
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        startup = command("show", *names)
        build = ("build", *names, "--sample", "--output", str(folder / "outputs"), "--cache", str(folder / "cache"))
        print(commands(startup, command(*build), command(*build)))
        print(datasets(names, folder / "datasets"))


def command(name: str, *arguments: str) -> float:
    """Run a pipelines command in a separate process and return its time in seconds."""
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", f"pipelines.{name}", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"pipelines.{name} exited with {process.returncode}")
    return seconds


def commands(startup: float, first: float, second: float) -> str:
    """Return the table of command times."""
    lines = ["| command | seconds | share of the first |", "| --- | ---: | ---: |"]
    for label, seconds in (
        ("build, first", first),
        ("build, second: unchanged", second),
        ("show: builds nothing", startup),
    ):
        lines.append(f"| {label} | {seconds:.2f} | {seconds / first:.0%} |")
    return "\n".join(lines)


def datasets(names: list[str], folder: Path) -> str:
    """Build each dataset twice in this process, and return the table of times."""
    sys.path.insert(0, str(ROOT))
    from builders import catalogue
    from pipelines.command import resolve_datasets
    from pipelines.make import BuildSettings
    from pipelines.raw.settings import RawSettings

    raw = RawSettings(cache=folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", raw, sample=True, ledger=folder / "ledger.json")
    first = catalogue.load(next(iter(catalogue.entries().values())))
    time_build(
        first, first.dataset.newest, BuildSettings(folder / "warm", raw, sample=True, ledger=folder / "ledger.json")
    )
    lines = ["", "| dataset | first, ms | second, ms |", "| --- | ---: | ---: |"]
    totals = [0.0, 0.0]
    for dataset, version in resolve_datasets(names):
        seconds = [time_build(dataset, version, settings, expected) for expected in ("built", "up to date")]
        totals = [sum(pair) for pair in zip(totals, seconds, strict=True)]
        lines.append(f"| {dataset.dataset.name} | {seconds[0] * 1000:,.0f} | {seconds[1] * 1000:,.1f} |")
    lines.append(f"| all | {totals[0] * 1000:,.0f} | {totals[1] * 1000:,.1f} |")
    return "\n".join(lines)


def time_build(dataset: Definition, version: str, settings: BuildSettings, expected: str = "built") -> float:
    """Build one dataset and return its time in seconds; exit if the build does not end in the expected state."""
    from pipelines.make import make

    start = time.perf_counter()
    outcome = make(dataset, version, settings)
    seconds = time.perf_counter() - start
    if outcome.state != expected:
        sys.exit(f"{dataset.dataset.name} is {outcome.state}, not {expected}")
    return seconds


if __name__ == "__main__":
    main()
