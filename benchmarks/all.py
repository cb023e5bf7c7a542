"""Measure what docs/performance.md shows, and write its tables.

    python benchmarks/all.py                  every task at a small size: about ten minutes on two cores
    python benchmarks/all.py --size true      at the sizes of the page: hours, 24 GB of memory, 30 GB of disk
    python benchmarks/all.py ria rubq         only these tasks
    python benchmarks/all.py --page           only write the tables again

Each program runs in a process of its own. Its processor seconds, seconds by the clock and peak memory are those of all its
processes, the median of --runs. Results go to benchmarks/performance.json: after an interruption, what was measured at the same
commit is kept. A program whose package is missing does not run, and the table says so. Commit before you measure: a checkout with
changes is measured again.
"""

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module, metadata
from importlib.util import find_spec
from os import cpu_count, sysconf
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # not this folder, whose modules have the names of libraries

from benchmarks.programs import PAGE, Measurement, Task, measure  # noqa: E402

RESULTS, DOCUMENT = ROOT / "benchmarks" / "performance.json", ROOT / "docs" / "performance.md"
MODULES = {
    "ria": "ria_news",
    "rubq": "rubq",
    "catalogue": "catalogue",
    "miracl": "miracl",
    "para-crawl": "multi_para_crawl",
    "pikabu": "popular_pairs",
    "ru-news": "popular_pairs",
    "wikiomnia": "streamed_pairs",
    "query2doc": "streamed_pairs",
    "bge-m3": "streamed_pairs",
    "mining": "mining",
    "leaks": "contamination",
    "duplicates": "peers",
    "statistics": "peers",
}
# Of a task at a size: task, size, unit, programs (medians by name, the floor or ours first), agreement (what a comparison of
# their outputs says), missing (package of each program that did not run), runs, commit, date, machine, versions.
Record = dict[str, Any]
TABLE = re.compile(r"(<!-- generated: python benchmarks/all\.py([a-z0-9 -]*) -->\n)(?:\n|\|.*\n)*")


def main() -> None:
    """Measure tasks and write the tables, or run a program."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = arguments.add_argument
    add("tasks", nargs="*", choices=[[], *MODULES], metavar="TASK", help=f"default all: {', '.join(MODULES)}")
    add("--size", choices=("small", "true"), default="small", help="default: small")
    add("--runs", type=int, default=1, help="how often each program runs (default: 1)")
    add("--results", type=Path, default=RESULTS, metavar="FILE", help="default: benchmarks/performance.json")
    add("--folder", type=Path, help="for generated files (default: a temporary folder)")
    add("--page", action="store_true", help="only write the tables")
    add("--run", nargs=3, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        name, program, folder = options.run
        load(name).programs[program](Path(folder))
        return
    records = json.loads(options.results.read_bytes()) if options.results.exists() else []
    how, failed = {"runs": options.runs, **describe_machine()}, list[str]()
    for name in () if options.page else options.tasks or MODULES:
        for size in getattr(load(name), options.size):
            try:
                record = measure_task(name, size, how, records, options.folder)
            except subprocess.CalledProcessError as error:
                failed.append(name)
                print(f"error: {name}: {error}", file=sys.stderr)
                continue
            if record:
                records[:] = [other for other in records if key(other) != key(record)] + [record]
                options.results.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", "utf-8")
                print(table([record]), record["agreement"], "", sep="\n", flush=True)
    if options.results == RESULTS:
        DOCUMENT.write_text(write_tables(DOCUMENT.read_text("utf-8"), records), "utf-8")
    if failed:
        sys.exit(f"not measured, because a program failed: {', '.join(failed)}")


def load(name: str) -> Task:
    """A task by its name. Its module is imported alone: a program is measured with what it needs."""
    task: Task = import_module(f"benchmarks.{MODULES[name]}").TASKS[name]
    return task


def key(record: Record) -> tuple[str, int]:
    """What a record is of."""
    return record["task"], record["size"]


def describe_machine() -> Record:
    """How it is measured: commit (ends in + if files differ from it), date, machine, versions of what is compared."""

    def git(*arguments: str) -> str:
        process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return process.stdout.strip()

    written = [f":!{path.relative_to(ROOT)}" for path in (RESULTS, DOCUMENT)]
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    packages = ("polars", "pyarrow", *sorted({package for name in MODULES for package in load(name).peers.values()}))
    return {
        "commit": git("rev-parse", "--short=8", "HEAD") + "+" * bool(git("status", "--porcelain", "--", ".", *written)),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{cpu_count()} cores ({model[1] if model else platform.machine()}), "
        f"{PAGE * sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
        "versions": {"Python": platform.python_version()}
        | {package: metadata.version(package) for package in packages if find_spec(package)},
    }


def measure_task(name: str, size: int, how: Record, records: list[Record], folder: Path | None) -> Record | None:
    """Measure a task at a size; None if that was done at this commit."""
    task, runs = load(name), dict[str, list[Measurement]]()
    wanted = [program for program in task.programs if size <= task.most.get(program, size)]
    missing = {
        program: task.peers[program]
        for program in wanted
        if program in task.peers and not find_spec(task.peers[program])
    }
    for program, package in missing.items():
        install = "the extra `benchmarks` installs it: python -m pip install -e '.[benchmarks]'"
        print(f"not run: {name} {program}, because {package} is not installed; {install}", file=sys.stderr)
    same = how | {"task": name, "size": size, "missing": missing}
    same.pop("date")
    if not how["commit"].endswith("+") and any(same.items() <= record.items() for record in records):
        print(f"measured at this commit: {name}, {size:,} {task.unit}")
        return None
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        print(f"{name}: generating {size:,} {task.unit}", file=sys.stderr, flush=True)
        task.prepare(Path(temporary), size)
        for program in [program for program in wanted if program not in missing] * how["runs"]:
            task.before.get(program, lambda _: None)(Path(temporary))
            print(f"{name}: {program}", file=sys.stderr, flush=True)
            measured = measure([sys.executable, __file__, "--run", name, program, temporary])
            runs.setdefault(program, []).append(measured)
        agreement = task.check(Path(temporary))
    programs = {
        program: {
            figure: round(median(getattr(measured, figure) for measured in of_program), 3)
            for figure in ("processor", "seconds", "memory")
        }
        for program, of_program in runs.items()
    }
    return {
        "task": name,
        "size": size,
        "unit": task.unit,
        "programs": programs,
        "agreement": agreement,
        "missing": missing,
        **how,
    }


def table(records: Sequence[Record]) -> str:
    """The figures of records as a Markdown table. The ratio is of processor seconds, to the first program of a record."""
    lines = [
        "| task | program | processor seconds | ratio | seconds | peak memory |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in records:
        size = f"{record['task']}, {record['size']:,} {record['unit']}" if record["unit"] else record["task"]
        first = next(iter(record["programs"].values()))["processor"]
        for program, taken in record["programs"].items():
            figures = f"{taken['processor']:,.1f} | {taken['processor'] / first:.2f} | {taken['seconds']:,.1f}"
            lines.append(f"| {size} | {program} | {figures} | {taken['memory'] / 1e6:,.0f} MB |")
        lines += [
            f"| {size} | {program} | {package} was not installed | | | |"
            for program, package in record["missing"].items()
        ]
    return "\n".join(lines)


def machines(records: Sequence[Record]) -> str:
    """How records were measured, as a Markdown table."""
    groups: dict[str, list[str]] = {}
    for record in records:
        versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
        how = f"{record['machine']} | {versions} | {record['commit']}, {record['date']} | {record['runs']}"
        groups.setdefault(how, []).append(record["task"])
    lines = ["| tasks | machine | versions | commit, date | runs |", "| --- | --- | --- | --- | ---: |"]
    return "\n".join(lines + [f"| {', '.join(dict.fromkeys(tasks))} | {how} |" for how, tasks in groups.items()])


def write_tables(page: str, records: Sequence[Record]) -> str:
    """The page with the tables of these records: of each task the true sizes, or the small ones if it has no other."""
    shown = []
    for name in MODULES:
        task = load(name)
        of_task = sorted((record for record in records if record["task"] == name), key=key)
        shown += [record for record in of_task if record["size"] in task.true] or of_task

    def write(marker: re.Match[str]) -> str:
        names = marker[2].split()
        text = table([record for record in shown if record["task"] in names]) if names else machines(shown)
        return f"{marker[1]}\n{text}\n\n"

    return TABLE.sub(write, page)


if __name__ == "__main__":
    main()
