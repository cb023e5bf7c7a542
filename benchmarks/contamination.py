"""Measure the search for leaked texts in a large generated corpus. benchmarks/decontaminators.py compares it with other tools.

    python benchmarks/contamination.py                                   50,000 documents, an index of 100,000 texts
    python benchmarks/contamination.py --documents 200000 --texts 400000 --rounds 3
    python benchmarks/contamination.py --programs ours --documents 1000000 --texts 400000

Benchmarks and a corpus are generated (benchmarks/planted_leaks.py): documents of about 1,000 characters, one row in a hundred
with a planted leak. In each round the programs read the same Parquet file, one after the other, each in a separate process:

- ours: what `embedding-datasets contamination scan --matches` does, on two threads; the texts of the benchmarks are available;
- ours, one thread: the same, with POLARS_MAX_THREADS=1;
- ours, two processes: the same, with `--jobs 2`. Each process loads the index, which is part of its time.

A leak counts as found only if the right texts are named, and every match is checked again by the definitions, in plain Python.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.planted_leaks import (  # noqa: E402
    LEAKS,
    OTHERS,
    benchmark_texts,
    is_match,
    open_benchmarks,
    write_benchmarks,
    write_corpus,
)
from benchmarks.programs import Task, peak_memory  # noqa: E402


def main() -> None:
    """Generate the texts, run the programs, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = arguments.add_argument
    add("--documents", type=int, default=50_000, help="documents of the corpus (default: 50000)")
    add("--texts", type=int, default=100_000, help="texts of the benchmarks (default: 100000)")
    add("--leaks", type=int, help="planted leaks (default: one in 100 documents)")
    add("--rounds", type=int, default=1, help="how often each program runs; medians are printed (default: 1)")
    add("--seed", type=int, default=1, help="of the generator (default: 1)")
    add(
        "--programs",
        nargs="+",
        choices=PROGRAMS,
        default=DEFAULT,
        help="programs to run (default: ours and one-thread)",
    )
    add("--folder", type=Path, help="work in this folder and keep it (default: a temporary folder)")
    add("--run", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        print(json.dumps(asdict(PROGRAMS[options.run].run(options.folder))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        prepare(folder, options.documents, options.texts, options.leaks or options.documents // 100, options.seed)
        print(f"{options.documents:,} documents, index of {options.texts:,} texts, seed {options.seed}", flush=True)
        runs: dict[str, list[Cost]] = {name: [] for name in options.programs}
        for _ in range(options.rounds):
            for name in options.programs:
                print(f"  {name}, load of the machine {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                runs[name].append(measure(name, folder))
        print(table(folder, runs))


@dataclass(frozen=True)
class Cost:
    """What a program needed.

    load, load_cpu: seconds until the first document was done, of the clock and of the processor. seconds, cpu: for the corpus,
    after it. loaded: the highest resident memory until the first document, peak: the highest of all, in bytes.
    """

    documents: int
    load: float
    load_cpu: float
    seconds: float
    cpu: float
    loaded: int
    peak: int


@dataclass(frozen=True)
class Program:
    """run: searches the corpus in a folder and writes what it found to `<name>.parquet` there. environment: of its process."""

    title: str
    run: Callable[[Path], Cost]
    environment: dict[str, str]


def prepare(folder: Path, documents: int, texts: int, leaks: int, seed: int) -> None:
    """Write the benchmarks, their index, and the corpus, unless a folder that was kept has them."""
    from pipelines.decontamination.indexing import index_tables

    if (folder / "plants.parquet").exists():
        return
    write_benchmarks(folder, texts, seed)
    index_tables(open_benchmarks(folder), folder / "index.parquet")
    write_corpus(folder, documents, leaks, seed)


class Watch:
    """Measures a start and what follows it."""

    def __init__(self) -> None:
        self.times = [self.now()]

    def now(self) -> tuple[float, float, int]:
        """Wall seconds, processor seconds and peak memory of this process and of those that it waited for."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
        return time.perf_counter(), cpu, max(peak_memory() or used[0].ru_maxrss * 1024, used[1].ru_maxrss * 1024)

    def lap(self) -> None:
        self.times.append(self.now())

    def cost(self, documents: int) -> Cost:
        (start, start_cpu, _), (first, first_cpu, loaded), (end, end_cpu, peak) = self.times
        return Cost(documents, first - start, first_cpu - start_cpu, end - first, end_cpu - first_cpu, loaded, peak)


def run_ours(folder: Path, name: str = "ours", workers: int = 1) -> Cost:
    """Scan as the command does: texts to a scratch file, partitions by an engine, sums and matches from their results."""
    watch = Watch()
    from pipelines.checking.corpora import open_corpus
    from pipelines.decontamination.engines import Engine, run_partitions
    from pipelines.decontamination.index_file import read_index_header
    from pipelines.decontamination.indexing import write_texts
    from pipelines.decontamination.scans import Scan, scan_partition, write_matches

    index, datasets, engine = folder / "index.parquet", open_benchmarks(folder), Engine("local", workers)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        scratch = Path(temporary)
        for part in ("head", "results"):
            (scratch / part).mkdir()
        texts = scratch / "texts.arrow"
        tables = read_index_header(index).tables
        write_texts(tables, datasets, texts)
        work = partial(scan_partition, index=index, texts=texts)
        head, corpus = (open_corpus([str(folder / f"{part}.parquet")]) for part in ("head", "corpus"))
        if workers == 1:
            run_partitions(head.partitions, work, engine, scratch / "head")
        watch.lap()
        run_partitions(corpus.partitions, work, engine, scratch / "results")
        scan = Scan(corpus, tables, (True,) * len(tables), 0.9, scratch / "results", index, texts)
        rows = scan.sums.rows
        write_matches(scan, folder / f"{name}.parquet")
        watch.lap()
    return watch.cost(rows)


ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
PROGRAMS = {
    "ours": Program("ours", run_ours, {}),
    "one-thread": Program("ours, one thread", partial(run_ours, name="one-thread"), ONE_THREAD),
    "two-processes": Program("ours, two processes", partial(run_ours, name="two-processes", workers=2), {}),
}
DEFAULT = ["ours", "one-thread"]


def measure(name: str, folder: Path) -> Cost:
    """Run a program in a separate process."""
    command = [sys.executable, __file__, "--folder", str(folder.resolve())]
    environment = os.environ | PROGRAMS[name].environment
    process = subprocess.run(
        [*command, "--run", name], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=environment
    )
    if process.returncode:
        sys.exit(f"{name} exited with {process.returncode}")
    return Cost(**json.loads(process.stdout.splitlines()[-1]))


@dataclass(frozen=True)
class Found:
    """What a program found. rows: those with their leak. listed: all that it names. wrong: how many matches are none."""

    rows: set[int]
    listed: set[int]
    wrong: int


def check_matches(folder: Path, matches: pl.DataFrame) -> Found:
    """Matches: which leaks they are of, and how many are none by the definition of their kind."""
    plants, texts, wrong = pl.read_parquet(folder / "plants.parquet"), benchmark_texts(folder), 0
    corpus = (
        pl.scan_parquet(folder / "corpus.parquet")
        .with_row_index("corpus_row")
        .with_columns(pl.col("corpus_row").cast(pl.Int64))
    )
    rows = corpus.join(matches.lazy().select("corpus_row").unique(), on="corpus_row", how="semi").collect(
        engine="streaming"
    )
    fields = {row: {"title": title, "text": text} for row, title, text in rows.rows()}
    named: dict[int, dict[str, str]] = {}
    for match in matches.iter_rows(named=True):
        row, key = match["corpus_row"], match["row"] + (f" {match['column']}" if match["dataset"] == "pairs" else "")
        text = " ".join(fields[row][column] for column in match["corpus_column"].split("+"))
        wrong += not is_match(match["kind"], text, texts[key], match["similarity"])
        named.setdefault(row, {})[key] = match["unit"]
    right = {
        row
        for row, kind, targets in plants.select("row", "kind", "targets").rows()
        if targets
        and set(targets) <= set(named.get(row, {}))
        and (kind != "swapped pair" or {named[row][target] for target in targets} == {"pair"})
    }
    return Found(right, set(named), wrong)


def table(folder: Path, runs: dict[str, list[Cost]]) -> str:
    """The Markdown table of all programs."""
    plants = pl.read_parquet(folder / "plants.parquet")
    ran = {name: costs for name, costs in runs.items() if costs}
    found = {name: check_matches(folder, pl.read_parquet(folder / f"{name}.parquet")) for name in ran}
    base = next(iter(ran))

    def middle(value: Callable[[Cost], float], name: str) -> float:
        return median(value(cost) for cost in ran[name])

    def ratio(name: str, value: Callable[[Cost], float]) -> str:
        pairs = zip(ran[name], ran[base], strict=True)
        return f"{median(value(one) / value(other) for one, other in pairs):.1f}"

    rows: list[tuple[str, Callable[[str], str]]] = [
        ("documents a second", lambda name: f"{1 / middle(lambda c: c.seconds / c.documents, name):,.0f}"),
        ("processor, µs a document", lambda name: f"{1e6 * middle(lambda c: c.cpu / c.documents, name):,.1f}"),
        (f"time, {base} = 1", lambda name: ratio(name, lambda c: c.seconds / c.documents)),
        (f"processor, {base} = 1", lambda name: ratio(name, lambda c: c.cpu / c.documents)),
        ("until the first document, s", lambda name: f"{middle(lambda c: c.load, name):.1f}"),
        ("of the processor, s", lambda name: f"{middle(lambda c: c.load_cpu, name):.1f}"),
        ("memory after the first document, MB", lambda name: f"{middle(lambda c: c.loaded, name) / 1e6:,.0f}"),
        ("peak memory, MB", lambda name: f"{max(cost.peak for cost in ran[name]) / 1e6:,.0f}"),
    ]
    groups = {kind: set(group["row"]) for [kind], group in plants.group_by("kind", maintain_order=True)}
    rows += [(f"found: {kind} ({len(groups[kind]):,})", partial(_share, found, groups[kind], "rows")) for kind in LEAKS]
    rows += [
        (f"no leak, but listed: {kind} ({len(groups[kind]):,})", partial(_share, found, groups[kind], "listed"))
        for kind in OTHERS
    ]
    rows.append(("wrong", lambda name: f"{found[name].wrong:,}"))
    lines = ["", f"| figure | {' | '.join(PROGRAMS[name].title for name in ran)} |", f"| --- |{' ---: |' * len(ran)}"]
    lines += [f"| {title} | {' | '.join(cell(name) for name in ran)} |" for title, cell in rows]
    return "\n".join([*lines, "", LEGEND])


def _share(found: dict[str, Found], rows: set[int], which: str, name: str) -> str:
    return f"{len(rows & getattr(found[name], which)) / len(rows):.2%}"


LEGEND = """\
Speed leaves out what the first document costs: loading libraries and the index. Numbers are medians over the rounds, a ratio is
the median of those of each round. `no leak, but listed`: texts edited until 50 to 85 % of their shingles are left, a passage of
15 to 25 words of a longer text, a notice that many texts have. `wrong`: matches that are none by definition."""


def count_found(folder: Path) -> str:
    """How many of the planted leaks a scan found."""
    found = check_matches(folder, pl.read_parquet(folder / "ours.parquet"))
    planted = pl.read_parquet(folder / "plants.parquet").filter(pl.col("kind").is_in(list(LEAKS))).height
    return f"{len(found.rows):,} of {planted:,} planted leaks found, {found.wrong} wrong matches"


TASKS = {
    "leaks": Task(
        "documents",
        (5_000,),
        (50_000,),
        lambda folder, documents: prepare(folder, documents, 8 * documents, documents // 100, 1),
        {"scan": run_ours},
        check=count_found,
    )
}


if __name__ == "__main__":
    main()
