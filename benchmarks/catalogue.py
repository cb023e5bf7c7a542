"""How long the whole catalogue takes to build from its golden samples, and how long it takes to see that nothing has changed.

    python benchmarks/catalogue.py              all datasets
    python benchmarks/catalogue.py rumteb shp   some of them

First as a user meets it: `python -m pipelines.build all --sample` twice into one fresh folder, each time in a process of its own;
beside it the time of a command that builds nothing. Then each dataset by itself, twice, in this process, which has loaded its
libraries by then: what a dataset costs, apart from what starting Python costs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        nothing = command("show", *names)
        build = ("build", *names, "--sample", "--output", str(folder / "outputs"), "--cache", str(folder / "cache"))
        print(commands(nothing, command(*build), command(*build)))
        print(datasets(names, folder / "apart"))


def command(name: str, *arguments: str) -> float:
    """The seconds of one command of the package in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", f"pipelines.{name}", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"pipelines.{name} ended with {done.returncode}")
    return seconds


def commands(nothing: float, cold: float, again: float) -> str:
    """The table of the two commands."""
    lines = ["| command | seconds | of the first |", "| --- | ---: | ---: |"]
    for what, seconds in (
        ("build, first", cold),
        ("build, again: unchanged", again),
        ("show: builds nothing", nothing),
    ):
        lines.append(f"| {what} | {seconds:.2f} | {seconds / cold:.0%} |")
    return "\n".join(lines)


def datasets(names: list[str], folder: Path) -> str:
    """The table of datasets, each built twice in this process."""
    sys.path.insert(0, str(ROOT))
    from builders import catalogue
    from pipelines.command import resolve_datasets
    from pipelines.make import BuildSettings
    from pipelines.raw.settings import RawSettings

    places = RawSettings(cache=folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", places, sample=True, ledger=folder / "ledger.json")
    first = catalogue.load(next(iter(catalogue.entries().values())))
    built(
        first, first.dataset.newest, BuildSettings(folder / "warm", places, sample=True, ledger=folder / "ledger.json")
    )
    lines = ["", "| dataset | first, ms | again, ms |", "| --- | ---: | ---: |"]
    sums = [0.0, 0.0]
    for dataset, version in resolve_datasets(names):
        seconds = [built(dataset, version, settings, expected) for expected in ("built", "up to date")]
        sums = [sum(pair) for pair in zip(sums, seconds, strict=True)]
        lines.append(f"| {dataset.dataset.name} | {seconds[0] * 1000:,.0f} | {seconds[1] * 1000:,.1f} |")
    lines.append(f"| all | {sums[0] * 1000:,.0f} | {sums[1] * 1000:,.1f} |")
    return "\n".join(lines)


def built(dataset: Definition, version: str, settings: BuildSettings, expected: str = "built") -> float:
    """The seconds that one dataset takes; the program ends where it is not in the expected state."""
    from pipelines.make import make

    start = time.perf_counter()
    outcome = make(dataset, version, settings)
    seconds = time.perf_counter() - start
    if outcome.state != expected:
        sys.exit(f"{dataset.dataset.name} is {outcome.state}, not {expected}")
    return seconds


if __name__ == "__main__":
    main()
