"""How long the catalogue takes to build from its golden samples, and how long an unchanged rebuild takes.

python benchmarks/all.py catalogue          the commands: `embedding-datasets build all --sample` into a new folder, then again,
                                            and a command that builds nothing
python benchmarks/catalogue.py              each dataset, twice in this process, which excludes the time to start Python
python benchmarks/catalogue.py rumteb shp   only these
"""

import argparse
import runpy
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.programs import Task  # noqa: E402

if TYPE_CHECKING:
    from builders.catalogue import Definition  # not imported: the commands are measured with what they need
    from pipelines.make import BuildSettings


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", default=["all"], metavar="NAME", help="as for pipelines.build (all)")
    names = arguments.parse_args().names
    with tempfile.TemporaryDirectory() as temporary:
        print(datasets(names, Path(temporary)))


def run_command(*arguments: str) -> None:
    """Run a command in this process."""
    sys.argv = ["embedding-datasets", *arguments]
    runpy.run_module("embedding_datasets", run_name="__main__", alter_sys=True)


def build_again(folder: Path) -> None:
    """Build all datasets from their golden samples, or find that none changed."""
    run_command("build", "all", "--sample", "--output", str(folder / "outputs"), "--cache", str(folder / "cache"))


def build_first(folder: Path) -> None:
    """Build all datasets from their golden samples into a new folder."""
    for name in ("outputs", "cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    build_again(folder)


def datasets(names: list[str], folder: Path) -> str:
    """Build each dataset twice in this process, and return the table of times."""
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


def time_build(dataset: "Definition", version: str, settings: "BuildSettings", expected: str = "built") -> float:
    """Build one dataset and return its time in seconds; exit if the build does not end in the expected state."""
    from pipelines.make import make

    start = time.perf_counter()
    outcome = make(dataset, version, settings)
    seconds = time.perf_counter() - start
    if outcome.state != expected:
        sys.exit(f"{dataset.dataset.name} is {outcome.state}, not {expected}")
    return seconds


TASKS = {
    "catalogue": Task(
        "",
        (1,),
        (1,),
        lambda *_: None,
        {"first": build_first, "unchanged": build_again, "show: builds nothing": lambda _: run_command("show", "all")},
    )
}


if __name__ == "__main__":
    main()
