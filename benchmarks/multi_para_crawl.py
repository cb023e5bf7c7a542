"""The build of MultiParaCrawl's training pairs on a generated bitext: python benchmarks/all.py para-crawl

The archive is generated in the real format, with about as many bytes a pair as the real one; words and sentences are
invented.

- floor: the lower bound: unpack both sides and write them to Parquet with zstd, on one thread;
- tokens, cosines: what `embedding-datasets decide` does for the lengths of all texts and the cosines of the pool, with words
  instead of tokens and a hash instead of an encoder: reading, hashing, sorting, writing;
- build: what `embedding-datasets build` does for version 2.0.0, without mined negatives, from raw files to release, with all
  checks. The set has its true size, 300,000 rows of a pool of 1,200,000 pairs, or of all if there are fewer.
"""

import itertools
import random
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.programs import Task, count_words, without_digests, write_measurements
from benchmarks.programs import build as build_release

ROOT = Path(__file__).parents[1]
NAME = "multi_para_crawl"
LETTERS = {"en": ("bcdfghklmnprst", "aeiou"), "ru": ("бвгджзклмнпрст", "аеиоу")}
PHRASES = 100_000  # of 6 words, in each language


# --- raw files


def make_archive(raw: Path, pairs: int) -> None:
    """Write the archive, with the same texts every time, and the index."""
    raw.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(raw / "en-ru.txt.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for side in ("en", "ru"):
            with file.open(f"MultiParaCrawl.en-ru.{side}", "w", force_zip64=True) as member:
                member.writelines(generate_lines(side, pairs))
    shutil.copy(ROOT / "tests" / "golden" / "ru_hnp" / "raw" / "benchmark-index.parquet", raw)


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


def floor(folder: Path) -> None:
    """Convert the archive to Parquet without any other work."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("en", pa.string()), ("ru", pa.string())])
    with (
        zipfile.ZipFile(folder / "raw" / NAME / "en-ru.txt.zip") as archive,
        archive.open("MultiParaCrawl.en-ru.en") as first,
        archive.open("MultiParaCrawl.en-ru.ru") as second,
        pq.ParquetWriter(folder / "floor.parquet", schema, compression="zstd") as writer,
    ):
        while lines := list(itertools.islice(zip(first, second, strict=True), 100_000)):
            sides = [[line[:-1].decode() for line in side] for side in zip(*lines, strict=True)]
            writer.write_table(pa.table(sides, schema))


def write_tokens(folder: Path) -> None:
    """Write the lengths of all texts, in words."""
    write_measurements(folder / "raw" / NAME, load(), "tokens", count_words)


def write_cosines(folder: Path) -> None:
    """Write a number for each pair of the pool, by the hash of its first text."""
    write_measurements(
        folder / "raw" / NAME, load(), "cosines", lambda block: (block["first"].hash() % 10_000).to_list()
    )


def build(folder: Path) -> None:
    """Run a complete build, without the size of the real archive, which generated ones do not have."""
    definition = load()
    source = definition.source
    archive = replace(source.files["en"].location.archive, bytes=None)
    sides = {
        side: replace(source.files[side], location=replace(source.files[side].location, archive=archive))
        for side in ("en", "ru")
    }
    definition = replace(definition, source=replace(source, files={**source.files, **sides}))
    build_release(folder, definition, "2.0.0")


def load() -> Any:
    """The definition of the dataset."""
    return without_digests("multi-para-crawl-contrastive")


TASKS = {
    "para-crawl": Task(
        "pairs",
        (100_000,),
        (5_400_000,),
        lambda folder, pairs: make_archive(folder / "raw" / NAME, pairs),
        {"floor": floor, "tokens": write_tokens, "cosines": write_cosines, "build": build},
    )
}
