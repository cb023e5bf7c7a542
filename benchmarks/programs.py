"""What the benchmarks share: tasks, the measurement of a program, builds of generated files, the lower bound."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:  # not imported: the programs are measured with what they need
    from builders.catalogue import Definition
    from builders.spec import Tables

PAGE = os.sysconf("SC_PAGE_SIZE")
INTERVAL = 0.02  # seconds between two looks at the memory


@dataclass(frozen=True)
class Measurement:
    """seconds: wall time; processor: CPU seconds of all cores; memory: peak resident memory of the tree, in bytes."""

    seconds: float
    processor: float
    memory: int


@dataclass(frozen=True)
class Task:
    """What benchmarks/all.py measures.

    unit: what a size counts, empty if there is one size. small, true: the sizes. prepare: writes the raw files of a size into a
    folder. programs: what reads that folder and writes into it, by name, in an order in which each finds what it needs; ratios
    are to the first. peers: the programs that need a package of the extra `benchmarks`. most: the largest size of a program.
    before: what is done before a program and not measured. check: compares what the programs wrote, and says how it agrees.
    """

    unit: str
    small: Sequence[int]
    true: Sequence[int]
    prepare: Callable[[Path, int], object]
    programs: Mapping[str, Callable[[Path], object]]
    peers: Mapping[str, str] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[str, Callable[[Path], object]] = field(default_factory=dict)
    check: Callable[[Path], str] = lambda _: ""


def measure(command: Sequence[str]) -> Measurement:
    """Run a command and measure its tree of processes. Raises CalledProcessError if it fails."""
    start = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peaks, ended = [0], threading.Event()
    sampler = threading.Thread(target=_sample, args=(process.pid, peaks, ended))
    sampler.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    ended.set()
    sampler.join()
    process.returncode = os.waitstatus_to_exitcode(status)  # or it would be waited for again
    if status:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, max(peaks) or usage.ru_maxrss * 1024)


def _sample(pid: int, peaks: list[int], ended: threading.Event) -> None:
    """Add what a tree has, and what its root had at most. getrusage knows one process, and begins with the peak of its parent."""
    while not ended.wait(INTERVAL):
        peaks += [tree_memory(pid), peak_memory(str(pid))]


def peak_memory(process: str = "self") -> int:
    """The highest resident memory of a process in bytes; 0 where there is no such process, or no /proc."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def tree_memory(pid: int) -> int:
    """The resident memory of a process and its descendants in bytes; 0 where there is no such process, or no /proc."""
    folder = Path(f"/proc/{pid}")
    try:
        resident = int((folder / "statm").read_text().split()[1]) * PAGE
        threads = [(path / "children").read_text() for path in (folder / "task").iterdir()]
    except (OSError, IndexError):
        return 0
    return resident + sum(tree_memory(int(child)) for children in threads for child in children.split())


def without_digests(name: str) -> "Definition":
    """A dataset of the catalogue without the digests and sizes of its files, which generated files do not have."""
    from builders import catalogue

    definition = catalogue.load(catalogue.entries()[name])
    files = {
        key: replace(file, sha256=None, git_blob=None, bytes=None) for key, file in definition.source.files.items()
    }
    return replace(definition, source=replace(definition.source, files=files))


def build(folder: Path, definition: "Definition", name: str = "", **options: object) -> None:
    """What `embedding-datasets build` does, from the raw files of a folder to a release in it.

    name: of a version (default: the newest). options: of its recipe, in place of those that it has.
    """
    from builders.spec import AS_PUBLISHED
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    name = name or definition.dataset.newest
    versions = dict(definition.dataset.versions)
    if options:
        versions[name] = replace(versions[name], options={**versions[name].options, **options})
    raw = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    partial = name == AS_PUBLISHED
    settings = BuildSettings(folder / "outputs", raw, force=True, ledger=folder / "ledger.json", partial=partial)
    make(replace(definition, dataset=replace(definition.dataset, versions=versions)), name, settings)


def run_recipe(raw: Path, scratch: Path, name: str, limit: int | None = None, **options: Any) -> "Tables":
    """Run the recipe of a dataset on a folder with all raw files, without checks or output files. scratch: an empty folder."""
    from builders import catalogue
    from builders.spec import Raw, RawFiles

    definition = catalogue.load(catalogue.entries()[name])
    source, dataset = definition.source, definition.dataset
    files = {key: Raw(f"{source.name}/{file.name}", raw / file.name, limit=limit) for key, file in source.files.items()}
    return dataset.recipe(RawFiles(dataset.task.splits, files, scratch), **options)


def write_measurements(raw: Path, definition: "Definition", key: str, numbers: Callable[[Any], list[int]]) -> None:
    """Write a file of measurements beside the raw files of its source, with a model that is none.

    numbers: of a batch, as for pipelines.models.loading.MeasuringModel.
    """
    from builders.raw_files import Member
    from builders.spec import Raw
    from pipelines.models import measuring
    from pipelines.models.loading import MeasuringModel

    source = definition.source
    measurement = next(measurement for measurement in source.measurements if measurement.key == key)
    inputs = {}
    for name in measurement.inputs:
        file, called = source.files[name], f"{source.name}/{name}"
        if isinstance(file.location, Member):
            inputs[name] = Raw(called, raw / file.location.archive.name, file.location.path)
        else:
            inputs[name] = Raw(called, raw / file.name)
    model = MeasuringModel(measurement.kind, f"{measurement.model}@{measurement.revision or '0' * 40}", numbers)
    measuring.write_measurements(measurement.texts(inputs), model, raw / source.files[key].name)


def count_words(block: Any) -> list[int]:
    """The number of words of each text of a batch: what counts tokens, without a tokenizer."""
    counts: list[int] = block["text"].str.count_matches(r"\S+").to_list()
    return counts


def write_floor(folder: Path, files: Iterable[IO[bytes]], *keys: str) -> None:
    """The lower bound of a build: some keys of JSON lines, unpacked and parsed, in Parquet with zstd. One thread."""
    import orjson
    import polars as pl
    import pyarrow.parquet as pq

    writer = None
    for file in files:
        while lines := file.readlines(8 << 20):
            rows = [orjson.loads(line) for line in lines]
            table = pl.DataFrame({key: [row[key] for row in rows] for key in keys}).to_arrow()
            writer = writer or pq.ParquetWriter(folder / "floor.parquet", table.schema, compression="zstd")
            writer.write_table(table)
    if writer is not None:
        writer.close()
