"""Compare the cost of five small builds with what was recorded: python benchmarks/guard.py [--record]

A cost is the processor seconds of a build, divided by those of a loop of plain Python and polars: a ratio that differs little
between machines. Builds and loop take turns in this process, and the least of six rounds counts, because what else runs on a
machine makes them slower. The table names what grew by a tenth or more. The exit code is 0 all the same: under load, costs differ
by up to a tenth from run to run. --record writes benchmarks/guard.json: on an idle machine, after a change that is meant.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)

from benchmarks import miracl, ria_news, rubq  # noqa: E402
from benchmarks.programs import build, without_digests  # noqa: E402

RECORDED = ROOT / "benchmarks" / "guard.json"
ROUNDS, GROWTH = 6, 1.1


def main() -> None:
    """Measure the costs and print or record them."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--record", action="store_true", help="write benchmarks/guard.json")
    record = arguments.parse_args().record
    with tempfile.TemporaryDirectory() as folder:
        costs = measure_costs(prepare(Path(folder)))
    if record:
        RECORDED.write_text(json.dumps(costs, indent=1) + "\n", "utf-8")
    print(table(costs, json.loads(RECORDED.read_bytes())))


def prepare(folder: Path) -> dict[str, Callable[[], object]]:
    """Write the raw files; the builds by name."""
    ria_news.prepare(folder, 1_200)
    rubq.prepare(folder, 60)
    miracl.make_raw(folder / miracl.RAW, 1_500, 80, 5_000)
    options: dict[str, dict[str, int]] = {"ria-news-retrieval": {"queries": 500}}
    names = ("ria-news-retrieval", *rubq.DATASETS, *miracl.DATASETS)
    return {name: partial(build, folder, without_digests(name), **options.get(name, {})) for name in names}


def measure_costs(
    builds: Mapping[str, Callable[[], object]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The least processor seconds of each build, in the least of the loop."""
    least: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, run in builds.items():
            for timed, program in (("", loop), (name, run)):
                start = clock()
                program()
                least[timed] = min(clock() - start, least.get(timed, float("inf")))
    return {name: round(least[name] / least[""], 3) for name in builds}


def loop() -> None:
    """What a build does most: a loop over texts in Python, and hashes, groups and a sort in polars."""
    texts = [f"слово {number * 7_919 % 10_007} и {number}" for number in range(80_000)]
    counts: dict[str, int] = {}
    for text in texts:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
    frame = pl.DataFrame({"text": texts}).with_columns(pl.col("text").str.to_uppercase().hash().alias("hash"))
    frame.group_by(pl.col("hash") % 1_000).agg(pl.col("text").str.len_chars().sum()).sort("hash")
    frame.sort("text")


def table(costs: Mapping[str, float], recorded: Mapping[str, float]) -> str:
    """Costs beside those that were recorded, and what grew."""
    lines = ["| build | cost | recorded | ratio |", "| --- | ---: | ---: | ---: |"]
    grown = []
    for name, cost in costs.items():
        if name not in recorded:
            lines.append(f"| {name} | {cost:.2f} | not recorded | |")
            continue
        lines.append(f"| {name} | {cost:.2f} | {recorded[name]:.2f} | {cost / recorded[name]:.2f} |")
        grown += [name] * (cost >= GROWTH * recorded[name])
    todo = "\n  to do:    if that is meant, python benchmarks/guard.py --record on an idle machine" if grown else ""
    return "\n".join([*lines, f"grew by a tenth or more: {', '.join(grown) or 'none'}{todo}"])


if __name__ == "__main__":
    main()
