"""Three cases of mteb's maintainers, by the commands of this package: the output in docs/for-mteb.md.

    python benchmarks/mteb_cases.py ../shared/sources

A Hub in memory serves every task of MTEB(rus, v1.1) at the path and revision of the installed mteb. CEDR, TERRa and ParaPhraser
are complete real files in the layouts that mteb reads; of all other tasks it serves our golden samples, so their numbers of rows
are not mteb's. Then each command runs in a process of its own:

1. CEDR as mteb publishes it against our releases 1.0.0 and 3.0.0
2. a re-upload of CEDR with 30 changed rows
3. all tasks in one table
"""

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from builders.benchmarks import BUILT_IN  # noqa: E402
from pipelines.mteb_tasks.registry import find_tasks  # noqa: E402
from tests.support.loopback_hub import Blob, Commit, LoopbackHub, Repo  # noqa: E402

BENCHMARK = "MTEB(rus, v1.1)"
CEDR, COPY = "mteb/CEDRClassification", "somebody/cedr"
REAL = ("cedr-classification", "terra-pairclassification", "ru-paraphraser-sts")


def main() -> None:
    """Build, serve, run the commands, print what they print and cost."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sources", type=Path, help="the folder with the real raw files")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as work, LoopbackHub() as hub:
        folder = Path(work)
        environment = os.environ | {
            "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "EMBEDDING_DATASETS_CACHE": f"{work}/cache", "COLUMNS": "80",
        }  # fmt: skip
        tasks = {task.metadata.name: task.metadata.dataset for task in find_tasks(BENCHMARK)}
        ours = {task.name: task.dataset for task in BUILT_IN if task.name in tasks}
        for name in dict.fromkeys(ours.values()):
            raw = ["--raw-dir", str(options.sources.absolute())] if name in REAL else ["--sample"]
            run(folder, environment, "build", f"{name}@1.0.0", "--output", "out", "--quiet", *raw)
        run(
            folder,
            environment,
            "build",
            "cedr@3.0.0",
            "--output",
            "out",
            "--quiet",
            "--raw-dir",
            str(options.sources.absolute()),
        )
        for task, dataset in ours.items():
            serve(
                hub, tasks[task]["path"], tasks[task]["revision"], layout_of(task, folder / "out" / dataset / "1.0.0")
            )
        tables = {split: pl.read_parquet(io.BytesIO(blob.content)) for split, blob in parquet_of(hub, CEDR).items()}
        serve(hub, COPY, "1" * 40, {f"{split}.jsonl": re_uploaded(frame) for split, frame in tables.items()})
        revision = tasks["CEDRClassification"]["revision"]
        for command in (
            ["diff", f"{CEDR}@{revision}", "cedr@1.0.0", "--releases", "out", "--allow", "columns"],
            ["diff", f"{CEDR}@{revision}", "cedr@3.0.0", "--releases", "out", "--allow", "columns"],
            ["diff", f"{CEDR}@{revision}", f"{COPY}@main", "--allow", "columns"],
            ["check", f"mteb:{BENCHMARK}", "--quiet"],
        ):
            report(folder, environment, command)


def run(folder: Path, environment: Mapping[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of this package."""
    python = [sys.executable, "-m", "embedding_datasets", *command]
    known = dict(environment) | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(python, cwd=folder, env=known, capture_output=True, text=True, check=False)


def report(folder: Path, environment: Mapping[str, str], command: list[str]) -> None:
    """Run a command, and print what it prints, its exit code and its cost."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(folder, environment, *command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    quoted = " ".join(f'"{word}"' if " " in word else word for word in command)
    print(f"$ embedding-datasets {quoted}\n{done.stdout.rstrip()}\n{done.stderr.rstrip()}")
    seconds = time.perf_counter() - start
    print(f"exit code {done.returncode}, {seconds:.1f} s, {processor:.1f} s of the processor, "
          f"at most {after.ru_maxrss / 1e6:.2f} GB in a process so far\n", flush=True)  # fmt: skip


def serve(hub: LoopbackHub, path: str, revision: str, files: Mapping[str, bytes]) -> None:
    """Put files where mteb looks for them, beside those of other tasks of the same repository."""
    repo = hub.repos.setdefault(path, Repo(private=False))
    earlier = repo.commits[revision].tree if revision in repo.commits else {}
    tree = dict(earlier) | {name: Blob(content, name.endswith(".parquet")) for name, content in files.items()}
    repo.branches["main"], repo.commits[revision] = revision, Commit(tree, None, "as mteb reads it", "")


def layout_of(task: str, release_dir: Path) -> dict[str, bytes]:
    """The files of a release as mteb's copy has them: CEDR and ParaPhraser under their names there, all else as it is."""
    files = {
        str(path.relative_to(release_dir)): path
        for path in release_dir.rglob("*")
        if path.suffix in (".parquet", ".md")
    }
    names = {
        "CEDRClassification": {},
        "RUParaPhraserSTS": {"sentence1": "text_1", "sentence2": "text_2", "score": "class"},
    }
    if task not in names:
        return {name: path.read_bytes() for name, path in files.items()}
    frames = {name: pl.read_parquet(path) for name, path in files.items() if path.suffix == ".parquet"}
    kept = {
        name: frame.drop("id", "source", strict=False).rename(names[task], strict=False)
        for name, frame in frames.items()
    }
    if task == "RUParaPhraserSTS":
        kept = {
            name: frame.with_columns(pl.col("class").cast(pl.Int64).cast(pl.String)) for name, frame in kept.items()
        }
    return {name: as_parquet(frame) for name, frame in kept.items()}


def as_parquet(frame: pl.DataFrame) -> bytes:
    """A table as the bytes of a Parquet file."""
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def parquet_of(hub: LoopbackHub, path: str) -> dict[str, Blob]:
    """The data files of a repository by split."""
    tree = hub.repos[path].commits[hub.repos[path].branches["main"]].tree
    return {name.rsplit("/", 1)[-1].split("-")[0]: blob for name, blob in tree.items() if name.endswith(".parquet")}


def re_uploaded(frame: pl.DataFrame) -> bytes:
    """A copy of a split in another order and format, with the labels of ten rows changed, ten texts cut and ten rows replaced."""
    number = pl.int_range(pl.len())
    changed = frame.with_columns(
        text=pl.when(number.is_between(10, 19)).then(pl.col("text").str.head(12))
        .when(number.is_between(20, 29)).then(pl.lit("Совсем другой текст, номер ") + number.cast(pl.String))
        .otherwise("text"),
        label=pl.when(number < 10).then(pl.lit([4], pl.List(pl.Int64))).otherwise("label"),
    ) if frame.height < 5_000 else frame  # fmt: skip
    return changed.sample(fraction=1, shuffle=True, seed=1).write_ndjson().encode()


if __name__ == "__main__":
    main()
