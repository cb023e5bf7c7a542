"""Which datasets share texts: the texts of each one, in all of its splits, searched for in all others.

docs/contamination-map.md is written from the committed map of our own datasets (pipelines.release.shared_texts).
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import UsageError
from cards.markdown import code, join_with_and, number
from pipelines.audit.tables import available_splits, text_layouts
from pipelines.checking.corpora import open_corpus
from pipelines.decontamination.engines import Engine
from pipelines.decontamination.indexing import IndexedDataset, index_tables, table_texts
from pipelines.decontamination.matching import THRESHOLD, WHOLE_KINDS
from pipelines.decontamination.scans import TABLE, open_scan
from pipelines.process.files import write_atomically
from pipelines.process.outputs import SCHEMA
from pipelines.process.resumable import scratch_folder
from pipelines.process.tables import WIDTH, table, wrap


def make_map(datasets: Sequence[IndexedDataset], cache: Path) -> dict[str, Any]:
    """The texts that datasets share with each other, as pipelines.release.shared_texts describes it.

    cache: where scratch files are.

    Raises UsageError for fewer than two datasets.
    """
    if len({(dataset.dataset, dataset.version) for dataset in datasets}) < 2:
        raise UsageError("a map needs two datasets", todo="name several, or a folder with releases")
    with scratch_folder(cache, "map-") as folder:
        every = sorted({split for dataset in datasets for split in available_splits(dataset.task, dataset.frames)})
        index_tables(datasets, folder / "index", every)
        by_name: dict[str, tuple[str, ...]] = {}
        for side, frame in (text for dataset in datasets for text in _columns(dataset)):
            name = str(folder / f"{len(by_name):06d}.parquet")
            frame.sink_parquet(name)
            by_name[name] = side
        corpus = open_corpus(list(by_name), ["text"])
        shared: dict[tuple[str, ...], dict[str, set[str]]] = {}
        with open_scan(
            corpus,
            folder / "index",
            datasets,
            Engine(),
            checkpoints=folder / "scans",
            threshold=THRESHOLD,
            whole_texts=True,
        ) as scan:
            for result in scan.results():
                for match in result.matches.iter_rows(named=True):
                    where = by_name[match["corpus_file"]]
                    of = tuple(match[name] for name in TABLE)
                    if of[0] != where[0]:
                        shared.setdefault((*of, *where), {}).setdefault(match["row"], set()).add(match["kind"])
    digests = {(dataset.dataset, dataset.version): dataset.content_sha256 for dataset in datasets}
    listed = [dict(zip(TABLE[:2], key, strict=True)) | {"content_sha256": digest} for key, digest in digests.items()]
    entries = [_entry(key, rows) for key, rows in sorted(shared.items())]
    return {"datasets": listed, "shared": entries}


def _columns(dataset: IndexedDataset) -> Iterator[tuple[tuple[str, ...], pl.LazyFrame]]:
    """Each column of texts of a dataset, and the frame of its texts as a model receives them."""
    for layout in text_layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            table = (dataset.dataset, dataset.version, *dataset.own_location(layout.config, split))
            for column, text in (item for texts in table_texts(layout, frame) for item in texts.items()):
                yield (*table, column), frame.select(text=text.cast(pl.String))


def _entry(key: tuple[str, ...], rows: dict[str, set[str]]) -> dict[str, Any]:
    strictest = [min(kinds, key=WHOLE_KINDS.index) for kinds in rows.values()]
    counts = {kind: strictest.count(kind) for kind in WHOLE_KINDS if kind in strictest}
    sides = {"of": dict(zip(TABLE, key[:5], strict=True)), "in": dict(zip(TABLE, key[5:], strict=True))}
    return sides | {"kinds": counts}


def write_map(found: dict[str, Any], path: Path) -> None:
    """Write a map as JSON."""
    marked = {"$schema": f"{SCHEMA}contamination-map"} | found
    write_atomically(path, json.dumps(marked, ensure_ascii=False, indent=1) + "\n")


def map_page(found: dict[str, Any], *, width: int | None) -> list[str]:
    """A map as lines of text."""
    lines = wrap(f"{len(found['datasets'])} datasets compared with each other", width=width or WIDTH)
    if not found["shared"]:
        return [*lines, "they share no texts"]
    return [*lines, "", *table([HEADING, *_rows(found)], width=width).splitlines()]


def map_markdown(found: dict[str, Any]) -> str:
    """docs/contamination-map.md."""
    releases = [
        f"- `{dataset['dataset']}` {dataset['version']}" for dataset in found["datasets"] if dataset["content_sha256"]
    ]
    files = [code(dataset["dataset"]) for dataset in found["datasets"] if not dataset["content_sha256"]]
    rows = ["| " + " | ".join(row) + " |" for row in (HEADING, ["---"] * len(HEADING), *_rows(found))]
    return "\n".join(
        [
            "# Texts that datasets share",
            "",
            "The texts of each of these releases, in all of its splits, were searched for in all others. The releases were",
            "built from complete real files.",
            "",
            *releases,
            "",
            *(
                [f"There is no complete release of {join_with_and(files)}: raw files were used instead."]
                if files
                else []
            ),
            "",
            "[contamination.md](contamination.md) says what the kinds mean and what is not found. The numbers count rows of the",
            "first dataset, each once. Texts of 1 to 4 words are not listed.",
            "",
            *(rows if found["shared"] else ["They share no texts."]),
            "",
            "This page is written from `pipelines/release/contamination_map.json`, which",
            "`embedding-datasets contamination map NAME... --output FILE` writes.",
            "",
        ]
    )


HEADING = ["texts of", "are in", *WHOLE_KINDS]


def _rows(found: dict[str, Any]) -> list[list[str]]:
    return [
        [_side(pair["of"]), _side(pair["in"]), *(number(pair["kinds"].get(kind, 0)) for kind in WHOLE_KINDS)]
        for pair in found["shared"]
    ]


def _side(side: dict[str, str]) -> str:
    config = "" if side["config"] == "default" else f"{side['config']}/"
    return f"{' '.join(filter(None, (side['dataset'], side['version'])))}, {config}{side['split']} {side['column']}"
