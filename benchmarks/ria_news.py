"""How fast ria-news-retrieval is built: against the obvious script, and against the least that any program must do.

    python benchmarks/ria_news.py                     200,000 articles
    python benchmarks/ria_news.py 1000000             another number
    python benchmarks/ria_news.py --from ria_20.json  made from the paragraphs of real articles

The articles are made in the true raw format, and have about the length, and the bytes when packed, that they have in the real
file. Then three programs, each in a process of its own:

- build: what `python -m pipelines.build ria-news-retrieval` does from raw file to finished release, all checks included;
- script: what one would write in an afternoon, with pandas, BeautifulSoup and `to_parquet`. It makes the same documents (that
  they are the same is checked) and nothing else: no ids checked, no findings, no statistics, no card;
- floor: gunzip, parse the JSON, write the same bytes to Parquet with zstd.

pandas is needed for the script. The floor is one thread, as is all of the script but the last step.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ria_articles import write_articles

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
RAW = Path("raw", "ria_news", "ria.json.gz")
RELEASE = Path("outputs", "ria-news-retrieval", "1.0.0")
MAX_LENGTH, QUERIES = 2_000, 10_000


def main() -> None:
    """Make the articles, run the three, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("articles", nargs="?", type=int, default=200_000, help="how many (200000)")
    arguments.add_argument("--from", dest="real", nargs="+", type=Path, default=[], metavar="FILE", help="real ones")
    arguments.add_argument("--folder", type=Path, help="work here, and keep what is made (default: a temporary folder)")
    arguments.add_argument("--skip", nargs="+", default=[], choices=RUNS, help="leave some out")
    arguments.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        RUNS[options.run](options.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        raw = folder / RAW
        if not raw.exists():
            raw.parent.mkdir(parents=True)
            write_articles(raw, options.articles, options.real)
        each = raw.stat().st_size / options.articles
        print(f"{options.articles:,} articles of {each:,.0f} bytes, packed (the real ones: 1,021)", flush=True)
        measured = {name: measure(name, folder) for name in RUNS if name not in options.skip}
        if {"build", "script"} <= set(measured):
            compare(folder)
        print(table(measured, options.articles))


def floor(folder: Path) -> None:
    """Raw file in, Parquet out, and nothing between."""
    import orjson
    import polars as pl
    import pyarrow.parquet as pq

    writer = None
    with gzip.open(folder / RAW) as file:
        while lines := file.readlines(8 << 20):
            rows = [orjson.loads(line) for line in lines]
            table = pl.DataFrame({key: [row[key] for row in rows] for key in ("title", "text")}).to_arrow()
            writer = writer or pq.ParquetWriter(folder / "floor.parquet", table.schema, compression="zstd")
            writer.write_table(table)
    if writer is not None:
        writer.close()


def build(folder: Path) -> None:
    """The whole of a build; the articles are not the pinned ones, so their digest is left out."""
    sys.path.insert(0, str(ROOT))
    from builders import catalogue
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    known = catalogue.load(catalogue.entries()["ria-news-retrieval"])
    files = {key: replace(file, sha256=None, bytes=None) for key, file in known.source.files.items()}
    places = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", places, force=True, ledger=folder / "ledger.json")
    made = make(replace(known, source=replace(known.source, files=files)), "1.0.0", settings)
    for drop in made.manifest.dropped:
        print(f"  left out: {drop['count']:,}, {drop['reason']}")
    for what, count in made.manifest.observed.items():
        print(f"  {what}: {count:,}")


def script(folder: Path) -> None:
    """The obvious script."""
    import pandas as pd
    from bs4 import BeautifulSoup

    dateline = r"^[^.—–]{2,70}?, \d+ \w+\s*[-–—] (?:риа новости|р-спорт|прайм)(?:, [^.]+)?\. ?"
    frame = pd.read_json(folder / RAW, lines=True, dtype=False)
    frame["text"] = [BeautifulSoup(html, "html.parser").get_text() for html in frame["text"]]
    frame["text"] = [re.sub(dateline, "", " ".join(text.split())) for text in frame["text"]]
    frame = frame[frame["text"].str.len().between(1, MAX_LENGTH)]
    frame = frame.drop_duplicates("title").drop_duplicates("text")
    frame["id"] = (frame.index + 1).astype(str)
    asked = frame.sample(QUERIES, random_state=0)
    place = folder / "script"
    place.mkdir(exist_ok=True)
    frame.assign(title="")[["id", "title", "text"]].to_parquet(place / "corpus.parquet")
    asked[["id"]].assign(text=asked["title"]).to_parquet(place / "queries.parquet")
    pd.DataFrame({"query-id": asked["id"], "corpus-id": asked["id"], "score": 1}).to_parquet(place / "qrels.parquet")


RUNS: dict[str, Callable[[Path], None]] = {"floor": floor, "build": build, "script": script}


@dataclass(frozen=True)
class Measured:
    """seconds: by the clock; processor: those of all cores together; memory: the most that was resident, in bytes."""

    seconds: float
    processor: float
    memory: int


def measure(name: str, folder: Path) -> Measured:
    """Run one of the three in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--run", name, "--folder", str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{name} failed")
    print(f"{name}: {seconds:.1f} s", flush=True)
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def compare(folder: Path) -> None:
    """Whether the script's documents and the package's are the same, in the same order."""
    import polars as pl

    ours = pl.scan_parquet(folder / RELEASE / "corpus" / "*.parquet").select("id", "text").collect()
    theirs = (
        pl.scan_parquet(folder / "script" / "corpus.parquet").select(pl.col("id", "text").cast(pl.String)).collect()
    )
    if not ours.equals(theirs):
        sys.exit("build and script have made different documents")
    print(f"build and script have made the same {ours.height:,} documents")


def table(measured: dict[str, Measured], articles: int) -> str:
    """What was measured, in Markdown."""
    lines = ["", "| | seconds | processor seconds | articles/s | peak memory |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, one in measured.items():
        speed, memory = articles / one.seconds, one.memory / 1e6
        lines.append(f"| {name} | {one.seconds:.1f} | {one.processor:.1f} | {speed:,.0f} | {memory:,.0f} MB |")
    build = measured.get("build")
    if build is not None and "script" in measured:
        lines += ["", f"The build is {measured['script'].seconds / build.seconds:.1f} times as fast as the script."]
    if build is not None and "floor" in measured:
        lines += ["", f"The build takes {build.seconds / measured['floor'].seconds:.2f} times as long as the floor."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
