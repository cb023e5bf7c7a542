"""Compare the search for leaked texts with datatrove's n-gram decontamination and with a set of 13-grams.

    python benchmarks/contamination.py                                   50,000 documents, an index of 100,000 texts
    python benchmarks/contamination.py --documents 200000 --texts 400000 --rounds 3
    python benchmarks/contamination.py --programs ours --documents 1000000 --texts 400000   ours alone

Benchmarks and a corpus are generated (benchmarks/planted_leaks.py): documents of about 1,000 characters, one row in a hundred
with a planted leak. In each round the programs read the same Parquet file, one after the other, each in a separate process:

- ours: what `embedding-datasets contamination scan --matches` does, on two threads; the texts of the benchmarks are available;
- ours, one thread: the same, with POLARS_MAX_THREADS=1;
- ours, two processes: the same, with `--jobs 2`. Each process loads the index, which is part of its time;
- datatrove: NGramsDecontFilter with its default configuration (12-grams, xxhash) and its default language, English. Its indexer
  needs lighteval, for that library's own list of tasks: its compute_hashes is called on each text instead, and its filter on each
  document; one thread;
- 13-grams: a Python set of all runs of 13 words (`re.findall(r"\\w+", text.lower())`), one thread.

The last two are given title and text as one document, so that they can find what is split. They list rows. Ours also names the
text and the kind of each match: a leak counts as found only if the right texts are named, and every match is checked again by
the definitions, in plain Python.

datatrove is not installed by any extra: python -m pip install datatrove spacy loguru regex "xxhash<4" orjson
Without it, its column says so.
"""

import argparse
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.planted_leaks import (  # noqa: E402
    LEAKS,
    OTHERS,
    SHORT,
    benchmark_texts,
    is_match,
    open_benchmarks,
    read_documents,
    write_benchmarks,
    write_corpus,
)

NGRAM = 13
HASHES = Path("hashes", "benchmarks.index.hashes")
DATATROVE = ("datatrove", "spacy", "loguru", "regex", "xxhash")


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
        help="programs to run (default: all but two-processes)",
    )
    add("--folder", type=Path, help="work in this folder and keep it (default: a temporary folder)")
    add("--run", choices=PROGRAMS, help=argparse.SUPPRESS)
    add("--index", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.index:
        index_datatrove(options.folder)
        return
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
            for name in [name for name in options.programs if is_installed(name)]:
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
        return time.perf_counter(), cpu, max(peak_memory(), used[1].ru_maxrss * 1024)

    def lap(self) -> None:
        self.times.append(self.now())

    def cost(self, documents: int) -> Cost:
        (start, start_cpu, _), (first, first_cpu, loaded), (end, end_cpu, peak) = self.times
        return Cost(documents, first - start, first_cpu - start_cpu, end - first, end_cpu - first_cpu, loaded, peak)


def peak_memory() -> int:
    """The highest resident memory of this process in bytes: getrusage would begin with that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        next(int(line.split()[1]) for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM")) * 1024
    )


def run_ours(folder: Path, name: str = "ours", workers: int = 1) -> Cost:
    """Scan as the command does: texts to a scratch file, partitions by an engine, sums and matches from their results."""
    watch = Watch()
    from pipelines.checking.corpora import open_corpus
    from pipelines.decontamination.engines import Engine, run_partitions
    from pipelines.decontamination.index_file import read_index_tables
    from pipelines.decontamination.indexing import write_texts
    from pipelines.decontamination.scans import Scan, scan_partition, write_matches

    index, datasets, engine = folder / "index.parquet", open_benchmarks(folder), Engine("local", workers)
    with scratch_folder(folder, name) as scratch:
        texts = scratch / "texts.arrow"
        tables = read_index_tables(index)
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


@contextmanager
def scratch_folder(folder: Path, name: str) -> Iterator[Path]:
    """A folder with the folders of results, for the time of the block."""
    scratch = folder / f"scratch-{name}"
    for part in ("head", "results"):
        (scratch / part).mkdir(parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch)


def run_set(folder: Path) -> Cost:
    """The obvious script."""
    watch = Watch()
    grams = {gram for text in benchmark_texts(folder).values() for gram in word_runs(text)}

    def is_listed(text: str) -> bool:
        return any(gram in grams for gram in word_runs(text))

    return _list_rows(folder, "13-grams", is_listed, watch, read_documents)


def word_runs(text: str) -> Iterator[str]:
    """The runs of 13 words of a text."""
    words = re.findall(r"\w+", text.lower())
    return (" ".join(words[start : start + NGRAM]) for start in range(len(words) - NGRAM + 1))


def index_datatrove(folder: Path) -> None:
    """Write the index of datatrove: the hashes of all runs of 12 words, by its own function."""
    n_grams, numpy = import_datatrove("datatrove.pipeline.decont.n_grams"), importlib.import_module("numpy")
    hashes = folder / HASHES
    hashes.parent.mkdir(exist_ok=True)
    indexer = object.__new__(n_grams.NGramsDecontIndexer)  # its __new__ wants lighteval, which texts do not need
    indexer.__init__(str(hashes.parent))
    found: set[int] = set()
    for text in benchmark_texts(folder).values():
        found.update(indexer.compute_hashes(text, ""))
    numpy.fromiter(found, indexer.config.hash_config.np_dtype).tofile(hashes)


def run_datatrove(folder: Path) -> Cost:
    """Datatrove's own reader and filter, with their defaults."""
    watch = Watch()
    n_grams, readers = map(import_datatrove, ("datatrove.pipeline.decont.n_grams", "datatrove.pipeline.readers"))

    def read(path: Path) -> Iterator[Any]:
        def adapter(_self: Any, row: dict[str, Any], _path: str, number: int | str) -> dict[str, Any]:
            title = row["title"]
            return {"text": f"{title} {row['text']}" if title else row["text"], "id": str(number)}

        return iter(readers.ParquetReader(str(path.parent), glob_pattern=path.name, adapter=adapter).run())

    decont = n_grams.NGramsDecontFilter(str(folder / HASHES.parent))
    return _list_rows(folder, "datatrove", lambda document: decont.filter(document) is not True, watch, read)


def import_datatrove(name: str) -> Any:
    """Import a module of datatrove; it logs nothing."""
    here = str(Path(__file__).parent)
    sys.path[:] = [path for path in sys.path if path != here]  # spaCy imports another `catalogue` than the one here
    importlib.import_module("loguru").logger.remove()
    return importlib.import_module(name)


def _list_rows(
    folder: Path, name: str, is_listed: Callable[[Any], bool], watch: Watch, read: Callable[[Path], Iterator[Any]]
) -> Cost:
    """Write the rows of the corpus that a function lists; the watch has started already."""
    for document in read(folder / "head.parquet"):
        is_listed(document)
    watch.lap()
    number, rows = 0, []
    for number, document in enumerate(read(folder / "corpus.parquet"), 1):
        if is_listed(document):
            rows.append(number - 1)
    pl.DataFrame({"row": rows}, {"row": pl.Int64}).write_parquet(folder / f"{name}.parquet")
    watch.lap()
    return watch.cost(number)


ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
PROGRAMS = {
    "ours": Program("ours", run_ours, {}),
    "one-thread": Program("ours, one thread", partial(run_ours, name="one-thread"), ONE_THREAD),
    "two-processes": Program("ours, two processes", partial(run_ours, name="two-processes", workers=2), {}),
    "datatrove": Program("datatrove", run_datatrove, {}),
    "13-grams": Program("13-grams", run_set, {}),
}
DEFAULT = ["ours", "one-thread", "datatrove", "13-grams"]


def is_installed(name: str) -> bool:
    """Whether the libraries of a program are there."""
    return name != "datatrove" or all(find_spec(module) for module in DATATROVE)


def measure(name: str, folder: Path) -> Cost:
    """Run a program in a separate process."""
    command = [sys.executable, __file__, "--folder", str(folder.resolve())]
    if name == "datatrove" and not (folder / HASHES).exists():
        subprocess.run([*command, "--index"], cwd=ROOT, check=True)
    environment = os.environ | PROGRAMS[name].environment
    process = subprocess.run(
        [*command, "--run", name], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=environment
    )
    if process.returncode:
        sys.exit(f"{name} exited with {process.returncode}")
    return Cost(**json.loads(process.stdout.splitlines()[-1]))


@dataclass(frozen=True)
class Found:
    """What a program found. rows: those with their leak. listed: all that it names. wrong: how many matches or rows are none."""

    rows: set[int]
    listed: set[int]
    wrong: int


def read_found(folder: Path, name: str) -> Found:
    """What a program found, checked."""
    frame = pl.read_parquet(folder / f"{name}.parquet")
    plants = pl.read_parquet(folder / "plants.parquet")
    if "kind" in frame.columns:
        return check_matches(folder, frame, plants)
    listed = set(frame["row"])
    return Found(listed, listed, len(listed.difference(plants["row"])))


def check_matches(folder: Path, matches: pl.DataFrame, plants: pl.DataFrame) -> Found:
    """Matches of ours: which leaks they are of, and how many are none by the definition of their kind."""
    texts, wrong = benchmark_texts(folder), 0
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
    found = {name: read_found(folder, name) for name in ran}
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
    groups = {kind: plants.filter(pl.col("kind") == kind) for kind in LEAKS}
    leaks = plants.filter(pl.col("kind").is_in(list(LEAKS)))
    groups[f"all leaks of texts below {SHORT} words"] = leaks.filter(pl.col("words") < SHORT)
    groups[f"all leaks of texts of {SHORT} words or more"] = leaks.filter(pl.col("words") >= SHORT)
    for title, group in groups.items():
        rows.append((f"found: {title} ({len(group):,})", partial(_share, found, set(group["row"]), "rows")))
    for kind, count in Counter(plants["kind"].to_list()).items():
        if kind in OTHERS:
            own = set(plants.filter(pl.col("kind") == kind)["row"])
            rows.append((f"no leak, but listed: {kind} ({count:,})", partial(_share, found, own, "listed")))
    rows.append(("wrong", lambda name: f"{found[name].wrong:,}"))
    lines = ["", f"| | {' | '.join(PROGRAMS[name].title for name in ran)} |", f"| --- |{' ---: |' * len(ran)}"]
    lines += [f"| {title} | {' | '.join(cell(name) for name in ran)} |" for title, cell in rows]
    lines += [f"\n{name}: not run, because it is not installed; see --help" for name in runs if name not in ran]
    return "\n".join([*lines, "", LEGEND])


def _share(found: dict[str, Found], rows: set[int], which: str, name: str) -> str:
    return f"{len(rows & getattr(found[name], which)) / len(rows):.2%}" if rows else "none planted"


LEGEND = """\
Speed leaves out what the first document costs: loading libraries and the index. Numbers are medians over the rounds, a ratio is
the median of those of each round. `no leak, but listed`: texts edited until 50 to 85 % of their shingles are left, a passage of
15 to 25 words of a longer text, a notice that many texts have. By n-grams these are leaks; ours looks for whole texts. `wrong`:
matches of ours that are none by definition; of the others, rows without any plant."""


if __name__ == "__main__":
    main()
