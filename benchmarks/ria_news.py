"""The build of ria-news-retrieval beside a simple script and a lower bound: python benchmarks/all.py ria

The generated articles have the real raw format, and about the length and compressed size of the real articles:

- floor: the lower bound: gunzip, parse the JSON, write the raw texts to Parquet with zstd, on one thread;
- build: what `embedding-datasets build ria-news-retrieval` does, from raw file to release, including all checks;
- script: a simple script with pandas, BeautifulSoup and `to_parquet`. It writes the same documents (which the benchmark
  verifies), without integrity checks, findings, statistics or card. One thread, except for its last step;
- datatrove: what the floor does, by its JsonlReader and ParquetWriter;
- decide: finds the articles of a published copy: the rows of the build in another order, with other ids, and one document in a
  thousand that no article has;
- published: a complete build of version 0.1.0, of those rows.
"""

import gzip
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.programs import Task, without_digests, write_floor
from benchmarks.programs import build as build_release
from benchmarks.ria_articles import write_articles

NAME = "ria-news-retrieval"
RAW = Path("raw", "ria_news", "ria.json.gz")
RELEASE = Path("outputs", NAME, "2.0.0")
MAX_LENGTH, QUERIES = 2_000, 10_000


def prepare(folder: Path, articles: int) -> None:
    """Write the raw file."""
    (folder / RAW).parent.mkdir(parents=True)
    write_articles(folder / RAW, articles)


def floor(folder: Path) -> None:
    """Convert the raw file to Parquet without any other work."""
    with gzip.open(folder / RAW) as file:
        write_floor(folder, [file], "title", "text")


def build(folder: Path) -> None:
    """Run a complete build."""
    build_release(folder, without_digests(NAME), "2.0.0")


def build_published(folder: Path) -> None:
    """Run a complete build of the rows of the published copy."""
    build_release(folder, without_digests(NAME), "0.1.0")


def datatrove(folder: Path) -> None:
    """Convert the raw file to Parquet with datatrove."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import ParquetWriter

    read = JsonlReader(str((folder / RAW).parent), glob_pattern=RAW.name, doc_progress=False)
    write = ParquetWriter(str(folder / "datatrove"), compression="zstd", expand_metadata=True)
    LocalPipelineExecutor([read, write], logging_dir=str(folder / "logs"), skip_completed=False).run()


def publish(folder: Path) -> None:
    """Write the published copy, once."""
    if (folder / "copy").exists():
        return
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
        found = published.find_records(without_digests(NAME).dataset, RawFiles(("test",), raw, Path(scratch)), side, {})
    keys = folder / RAW.parent / "published" / f"{NAME}.parquet"
    keys.unlink(missing_ok=True)
    published.write_keys(keys, NAME, found, side)


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


def compare(folder: Path) -> str:
    """Exit unless the script and the build wrote the same documents in the same order."""
    import polars as pl

    if not (folder / "script").exists():
        return ""
    ours = pl.scan_parquet(folder / RELEASE / "corpus" / "*.parquet").select("id", "text").collect()
    theirs = pl.scan_parquet(folder / "script" / "corpus.parquet").select(pl.col("id", "text").cast(pl.String))
    if not ours.equals(theirs.collect()):
        sys.exit("build and script wrote different documents")
    return f"build and script wrote the same {ours.height:,} documents"


SHARED = 200_000  # with more articles the script needs more memory than most machines have
TASKS = {
    "ria": Task(
        "articles",
        (20_000,),
        (200_000, 1_000_000),
        prepare,
        {
            "floor": floor,
            "build": build,
            "script": script,
            "datatrove": datatrove,
            "decide": decide,
            "published": build_published,
        },
        peers={"datatrove": "datatrove"},
        most=dict.fromkeys(("script", "datatrove", "decide", "published"), SHARED),
        before={"decide": publish},
        check=compare,
    )
}
