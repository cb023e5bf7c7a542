"""Measure the build of MultiParaCrawl's training pairs on a generated bitext.

    python benchmarks/multi_para_crawl.py                  540,000 pairs, a tenth of the real ones
    python benchmarks/multi_para_crawl.py 5400000          another number

The archive is generated in the real format, with about as many bytes a pair as the real one; words and sentences are
invented. Three programs run, each in a separate process:

- tokens, cosines: what `embedding-datasets decide` does for the lengths of all texts and the cosines of the pool, with words
  instead of tokens and a hash instead of an encoder: reading, hashing, sorting, writing;
- build: what `embedding-datasets build` does for the newest version, from raw files to release, with all checks. The set has its
  true size, 300,000 rows of a pool of 1,200,000 pairs, or of all if there are fewer.
"""

import argparse
import random
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.programs import measure  # noqa: E402

REAL_PAIRS = 5_400_000
NAME = "multi_para_crawl"
LETTERS = {"en": ("bcdfghklmnprst", "aeiou"), "ru": ("бвгджзклмнпрст", "аеиоу")}
PHRASES = 100_000  # of 6 words, in each language


def main() -> None:
    """Generate the archive, run the programs, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pairs", nargs="?", type=int, default=REAL_PAIRS // 10, help="number (default: 540000)")
    arguments.add_argument("--folder", type=Path, help="work in this folder and keep it (default: a temporary folder)")
    arguments.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        RUNS[options.run](options.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        packed, size = make_archive(folder / "raw" / NAME, options.pairs)
        print(f"{options.pairs:,} pairs, {packed / 1e6:,.0f} MB packed, {size / 1e6:,.0f} MB of text\n")
        print("| program | seconds | processor seconds | peak memory |\n| --- | ---: | ---: | ---: |")
        for name in RUNS:
            took = measure(__file__, "--run", name, "--folder", str(folder), show=False)
            print(f"| {name} | {took.seconds:,.0f} | {took.processor:,.0f} | {took.memory / 1e6:,.0f} MB |", flush=True)
        outputs = sum(path.stat().st_size for path in (folder / "outputs").rglob("*") if path.is_file())
        print(f"\nthe release: {outputs / 1e6:,.0f} MB")


# --- raw files


def make_archive(raw: Path, pairs: int) -> tuple[int, int]:
    """Write the archive, with the same texts every time, and the index. Returns its size, and that of its texts."""
    raw.mkdir(parents=True, exist_ok=True)
    archive, size = raw / "en-ru.txt.zip", 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for side in ("en", "ru"):
            with file.open(f"MultiParaCrawl.en-ru.{side}", "w", force_zip64=True) as member:
                for lines in generate_lines(side, pairs):
                    size += len(lines)
                    member.write(lines)
    shutil.copy(ROOT / "tests" / "golden" / "ru_hnp" / "raw" / "benchmark-index.parquet", raw)
    return archive.stat().st_size, size


def generate_lines(side: str, pairs: int) -> Iterator[bytes]:
    """Yield the lines of one side, a thousand at a time: some repeated, some empty, most of 12 or 18 words."""
    rng = random.Random(f"{side} 2020")
    words = [
        "".join(rng.choice(LETTERS[side][part]) for part in (0, 1) * rng.choice((1, 2, 3, 4))) for _ in range(50_000)
    ]
    phrases = [" ".join(rng.choices(words, k=6)) for _ in range(PHRASES)]
    kinds = random.Random(2020)  # the same for both sides: a short or repeated line is so in both
    for start in range(0, pairs, 1000):
        lines = []
        for _ in range(min(1000, pairs - start)):
            kind = kinds.random()
            if kind < 0.02:
                lines.append("" if side == "ru" else "Empty")
            elif kind < 0.05:
                lines.append(f"{phrases[int(kind * 1e6) % 500]}.")
            else:
                lines.append(f"{' '.join(rng.choices(phrases, k=2 if kind < 0.5 else 4)).capitalize()}.")
        yield "".join(f"{line}\n" for line in lines).encode()


# --- programs


def write_tokens(folder: Path) -> None:
    """Write the lengths of all texts, in words."""
    write(folder, "tokens", lambda block: block["text"].str.count_matches(r"\S+").to_list())


def write_cosines(folder: Path) -> None:
    """Write a number for each pair of the pool, by the hash of its first text."""
    write(folder, "cosines", lambda block: (block["first"].hash() % 10_000).to_list())


def write(folder: Path, key: str, numbers: Callable[[Any], list[int]]) -> None:
    """Write a file of measurements with a model that is none."""
    definition = load()
    from builders.spec import Raw
    from pipelines.models.loading import MeasuringModel
    from pipelines.models.measuring import write_measurements

    measurement = next(measurement for measurement in definition.source.measurements if measurement.key == key)
    raw, files = folder / "raw" / NAME, definition.source.files
    inputs = {key: Raw(f"{NAME}/{key}", raw / files[key].name) for key in measurement.inputs}
    for side in ("en", "ru"):
        inputs[side] = Raw(f"{NAME}/{side}", raw / "en-ru.txt.zip", files[side].name)
    model = MeasuringModel(measurement.kind, f"{measurement.model}@{measurement.revision or '0' * 40}", numbers)
    write_measurements(measurement.texts(inputs), model, raw / files[key].name)


def build(folder: Path) -> None:
    """Run a complete build, without the size of the real archive, which generated ones do not have."""
    definition = load()
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    source = definition.source
    archive = replace(source.files["en"].location.archive, bytes=None)
    sides = {
        side: replace(source.files[side], location=replace(source.files[side].location, archive=archive))
        for side in ("en", "ru")
    }
    definition = replace(definition, source=replace(source, files={**source.files, **sides}))
    raw = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", raw, force=True, ledger=folder / "ledger.json")
    make(definition, definition.dataset.newest, settings)


def load() -> Any:
    """The definition of the dataset."""
    from builders import catalogue

    return catalogue.load(catalogue.entries()["multi-para-crawl-contrastive"])


RUNS: dict[str, Callable[[Path], None]] = {"tokens": write_tokens, "cosines": write_cosines, "build": build}


if __name__ == "__main__":
    main()
