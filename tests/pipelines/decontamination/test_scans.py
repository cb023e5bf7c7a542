"""A scan of a corpus from its files to its matches: the same however it is divided and on any engine."""

import gzip
import json
import random
from pathlib import Path

import polars as pl
import pytest

from pipelines.checking.corpora import open_corpus
from pipelines.decontamination.clean import write_clean
from pipelines.decontamination.engines import Engine, open_checkpoints, run_partitions, scan_digest
from pipelines.decontamination.index_file import read_index
from pipelines.decontamination.indexing import index_tables
from pipelines.decontamination.matching import FOUND_SCHEMA
from pipelines.decontamination.scans import Scan, scan_partition
from tests.support.benchmark_tables import sentence, similarity, store_texts
from tests.support.foreign import write_json_lines

needs_ray = pytest.mark.extra("ray")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of pairs, as JSON lines, BGE and Parquet; every tenth row has a pair of the index in the folder."""
    source = random.Random(5)
    pairs = [(sentence(source, 12), sentence(source, 9)) for _ in range(30)]
    index_tables([similarity("pairs", pairs, [1.5] * 30)], tmp_path / "index")
    rows = [
        pairs[number // 10] if number % 10 == 0 else (sentence(source, 15), sentence(source, 15))
        for number in range(300)
    ]
    folder = tmp_path / "corpus"
    anchors = [{"anchor": one, "positive": other, "score": 1.5} for one, other in rows]
    write_json_lines(folder / "a.jsonl", *anchors)
    bge = [{"query": one.upper(), "pos": [sentence(source, 5), other], "neg": []} for one, other in rows]
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in bge).encode()))
    pl.DataFrame(anchors).rename({"anchor": "sentence1"}).write_parquet(folder / "c.parquet", row_group_size=50)
    return folder


def scan(tmp_path: Path, corpus: Path, engine: Engine, size: int) -> pl.DataFrame:
    opened = open_corpus([str(corpus)], partition_bytes=size)
    with open_checkpoints(tmp_path / "checkpoints", scan_digest(opened.partitions, {})) as folder:
        run_partitions(opened.partitions, scan_partition, engine, folder, {"index": tmp_path / "index"})
        found = list(Scan(opened, (), (), 0.9, folder, tmp_path / "index", None).results())
    assert sum(one.rows for one in found) == 900
    assert sum(one.texts for one in found) == 2100
    return pl.concat(one.matches for one in found)


def test_every_planted_row_is_found_in_every_format_and_nothing_else(tmp_path: Path, corpus: Path) -> None:
    matches = scan(tmp_path, corpus, Engine(), 1 << 30)
    assert dict(matches.schema) == FOUND_SCHEMA
    rows = matches.select(pl.col("corpus_file").str.split("/").list.last(), "corpus_row").unique().sort(pl.all()).rows()
    assert rows == [(name, row) for name in ("a.jsonl", "b.jsonl.gz", "c.parquet") for row in range(0, 300, 10)]
    columns = matches.select("corpus_column", "kind", "unit").unique().sort(pl.all()).rows()
    assert columns == [
        ("anchor", "exact", "labelled pair"),
        ("pos[1]", "exact", "pair"),
        ("positive", "exact", "labelled pair"),
        ("query", "folded", "pair"),
        ("sentence1", "exact", "labelled pair"),
    ]


def test_matches_do_not_depend_on_how_the_corpus_is_divided(tmp_path: Path, corpus: Path) -> None:
    assert scan(tmp_path, corpus, Engine(), 10_000).equals(scan(tmp_path, corpus, Engine(), 1 << 30))


def test_available_texts_are_read_from_their_file(tmp_path: Path, corpus: Path) -> None:
    index, [part, *_] = read_index(tmp_path / "index"), open_corpus([str(corpus)]).partitions
    store_texts(index, [], tmp_path)
    found = scan_partition(part, index=tmp_path / "index", texts=tmp_path / "texts.arrow")
    assert found.equals(scan_partition(part, index=tmp_path / "index"))


def test_a_clean_copy_has_no_match_left(tmp_path: Path, corpus: Path) -> None:
    matches = scan(tmp_path, corpus, Engine(), 1 << 30)
    drop = matches.select(file="corpus_file", row="corpus_row", reason="kind")
    files = [file for file, _ in open_corpus([str(corpus)]).files]
    clean = write_clean(files, drop, tmp_path / "clean")
    assert (clean["rows"], clean["kept"], clean["dropped"]) == (900, 810, {"exact": 90, "folded": 30})
    for part in open_corpus([str(tmp_path / "clean")]).partitions:
        assert scan_partition(part, index=tmp_path / "index")["matches"][0].is_empty()


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [
        Engine("local", 2),
        Engine("local", 4),
        *(pytest.param(Engine("ray", count), marks=needs_ray) for count in (1, 2, 4)),
    ],
    ids=str,
)
def test_matches_do_not_depend_on_the_engine(tmp_path: Path, corpus: Path, engine: Engine) -> None:
    assert scan(tmp_path, corpus, engine, 10_000).equals(scan(tmp_path, corpus, Engine(), 1 << 30))
