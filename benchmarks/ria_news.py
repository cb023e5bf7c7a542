"""Compare the build time of ria-news-retrieval with a simple script and with a lower bound.

    python benchmarks/ria_news.py                     200,000 articles
    python benchmarks/ria_news.py 1000000             another number of articles
    python benchmarks/ria_news.py --from ria_20.json  generated from the paragraphs of real articles

The generated articles have the real raw format, and about the length and compressed size of the real articles. The programs
run, each in a separate process:

- build: what `embedding-datasets build ria-news-retrieval` does, from raw file to release, including all checks;
- script: a simple script with pandas, BeautifulSoup and `to_parquet`. It writes the same documents (which the benchmark
  verifies), without integrity checks, findings, statistics or card;
- floor: the lower bound: gunzip, parse the JSON, write the raw texts to Parquet with zstd;
- decide: finds the articles of a published copy: the rows of the build in another order, with other ids, and one document in a
  thousand that no article has;
- published: a complete build of version 0.1.0, of those rows.

The script requires pandas (the extra `benchmarks`). The floor uses one thread, as does the script except for its last step.
"""

import argparse
import gzip
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from extras import require_modules
from ria_articles import write_articles

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.programs import Measurement, measure  # noqa: E402

if TYPE_CHECKING:
    from builders.catalogue import Definition

RAW = Path("raw", "ria_news", "ria.json.gz")
RELEASE = Path("outputs", "ria-news-retrieval", "2.0.0")
MAX_LENGTH, QUERIES = 2_000, 10_000


def main() -> None:
    """Generate the articles, run the three programs, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "articles", nargs="?", type=int, default=200_000, help="number of articles (default: 200000)"
    )
    arguments.add_argument(
        "--from", dest="real", nargs="+", type=Path, default=[], metavar="FILE", help="real articles"
    )
    arguments.add_argument("--folder", type=Path, help="work in this folder and keep it (default: a temporary folder)")
    arguments.add_argument("--skip", nargs="+", default=[], choices=RUNS, help="programs to skip")
    arguments.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        RUNS[options.run](options.folder)
        return
    if "script" not in options.skip:
        require_modules("pandas", otherwise="leave that program out: --skip script")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        raw = folder / RAW
        if not raw.exists():
            raw.parent.mkdir(parents=True)
            write_articles(raw, options.articles, options.real)
        mean_bytes = raw.stat().st_size / options.articles
        print(
            f"{options.articles:,} articles of {mean_bytes:,.0f} bytes, compressed (real articles: 1,021)", flush=True
        )
        measurements = dict[str, Measurement]()
        for name in RUNS:
            if name == "decide" and not (folder / "copy").exists():
                publish(folder)
            if name not in options.skip:
                measurements[name] = measure(__file__, "--run", name, "--folder", str(folder))
        if {"build", "script"} <= set(measurements):
            compare(folder)
        print(table(measurements, options.articles))


def floor(folder: Path) -> None:
    """Convert the raw file to Parquet without any other work."""
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


def without_digests() -> "Definition":
    """The dataset without the pinned digest, which generated articles do not have."""
    from builders import catalogue

    definition = catalogue.load(catalogue.entries()["ria-news-retrieval"])
    files = {key: replace(file, sha256=None, bytes=None) for key, file in definition.source.files.items()}
    return replace(definition, source=replace(definition.source, files=files))


def build(folder: Path, version: str = "2.0.0") -> None:
    """Run a complete build."""
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    raw = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", raw, force=True, ledger=folder / "ledger.json")
    outcome = make(without_digests(), version, replace(settings, partial=version == "0.1.0"))
    for drop in outcome.manifest.dropped:
        print(f"  dropped: {drop.count:,}, {drop.reason}")
    for name, count in outcome.manifest.observed.items():
        print(f"  {name}: {count:,}")


def publish(folder: Path) -> None:
    """Write the published copy."""
    import polars as pl

    tables = {name: pl.read_parquet(folder / RELEASE / name / "*.parquet") for name in ("corpus", "queries", "qrels")}
    names = (
        tables["corpus"]
        .select(pl.col("id").shuffle(1))
        .with_row_index("name")
        .with_columns(pl.col("name").cast(pl.String))
    )
    text = (
        pl.when(pl.col("name").str.ends_with("777")).then(pl.lit("ни в одной статье")).otherwise("text").alias("text")
    )
    tables["corpus"] = names.join(tables["corpus"], on="id", maintain_order="left").select("title", text, _id="name")
    tables["queries"] = tables["queries"].rename({"id": "_id"})
    tables["qrels"] = (
        tables["qrels"]
        .join(names, left_on="corpus-id", right_on="id")
        .select("query-id", "score", **{"corpus-id": "name"})
    )
    for name, table in tables.items():
        (folder / "copy" / name).mkdir(parents=True)
        table.write_parquet(folder / "copy" / name / "test.parquet")


def decide(folder: Path) -> None:
    """Write the keys of the rows of the published copy."""
    from builders.spec import Raw, RawFiles
    from pipelines.checking.datasets import ForeignOptions
    from pipelines.identity import published
    from pipelines.identity.datasets import read_side

    raw = {"articles": Raw("articles", folder / RAW)}
    side = read_side(str(folder / "copy"), ForeignOptions(), folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        found = published.find_records(without_digests().dataset, RawFiles(("test",), raw, Path(scratch)), side, {})
    keys = folder / RAW.parent / "published" / "ria-news-retrieval.parquet"
    keys.unlink(missing_ok=True)
    published.write_keys(keys, "ria-news-retrieval", found, side)
    print("\n".join(published.describe(found)))


def script(folder: Path) -> None:
    """Run the simple script."""
    import pandas as pd
    from bs4 import BeautifulSoup

    dateline = r"^[^.—–]{2,70}?, \d+ \w+\s*[-–—] (?:риа новости|р-спорт|прайм)(?:, [^.]+)?\. ?"
    frame = pd.read_json(folder / RAW, lines=True, dtype=False)
    frame["text"] = [BeautifulSoup(html, "html.parser").get_text() for html in frame["text"]]
    frame["text"] = [re.sub(dateline, "", " ".join(text.split())) for text in frame["text"]]
    frame = frame[frame["text"].str.len().between(1, MAX_LENGTH)]
    frame = frame.drop_duplicates("title").drop_duplicates("text")
    frame["id"] = (frame.index + 1).astype(str)
    queries = frame.sample(QUERIES, random_state=0)
    output = folder / "script"
    output.mkdir(exist_ok=True)
    frame.assign(title="")[["id", "title", "text"]].to_parquet(output / "corpus.parquet")
    queries[["id"]].assign(text=queries["title"]).to_parquet(output / "queries.parquet")
    pd.DataFrame({"query-id": queries["id"], "corpus-id": queries["id"], "score": 1}).to_parquet(
        output / "qrels.parquet"
    )


RUNS: dict[str, Callable[[Path], None]] = {
    "floor": floor,
    "build": build,
    "script": script,
    "decide": decide,
    "published": lambda folder: build(folder, "0.1.0"),
}


def compare(folder: Path) -> None:
    """Exit unless the script and the build wrote the same documents in the same order."""
    import polars as pl

    ours = pl.scan_parquet(folder / RELEASE / "corpus" / "*.parquet").select("id", "text").collect()
    theirs = (
        pl.scan_parquet(folder / "script" / "corpus.parquet").select(pl.col("id", "text").cast(pl.String)).collect()
    )
    if not ours.equals(theirs):
        sys.exit("build and script wrote different documents")
    print(f"build and script wrote the same {ours.height:,} documents")


def table(measurements: dict[str, Measurement], articles: int) -> str:
    """Return the measurements as a Markdown table."""
    lines = ["", "| | seconds | processor seconds | articles/s | peak memory |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, result in measurements.items():
        speed, memory = articles / result.seconds, result.memory / 1e6
        lines.append(f"| {name} | {result.seconds:.1f} | {result.processor:.1f} | {speed:,.0f} | {memory:,.0f} MB |")
    build = measurements.get("build")
    if build is not None and "script" in measurements:
        lines += ["", f"The build is {measurements['script'].seconds / build.seconds:.1f} times as fast as the script."]
    if build is not None and "floor" in measurements:
        lines += [
            "",
            f"The build takes {build.seconds / measurements['floor'].seconds:.2f} times as long as the floor.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
