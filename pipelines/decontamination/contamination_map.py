"""Which datasets share texts: the texts of each one, in all of its splits, searched for in all others.

docs/contamination-map.md is written from the committed map of our own datasets (pipelines.release.shared_texts).
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import UsageError
from cards.markdown import join_with_and, number
from cards.render import card_template
from pipelines.audit.tables import available_splits, text_layouts
from pipelines.checking.corpora import open_corpus
from pipelines.decontamination.engines import Engine
from pipelines.decontamination.indexing import IndexedDataset, index_tables, table_texts
from pipelines.decontamination.matching import FOUND_SCHEMA, THRESHOLD, WHOLE_KINDS
from pipelines.decontamination.scans import TABLE, open_scan
from pipelines.process.files import write_atomically
from pipelines.process.outputs import SCHEMA
from pipelines.process.resumable import scratch_folder
from pipelines.process.tables import WIDTH, table, wrap

IN = [f"in_{name}" for name in TABLE]  # where the texts are


def make_map(datasets: Sequence[IndexedDataset], cache: Path) -> dict[str, Any]:
    """The texts that datasets share with each other, as pipelines.release.shared_texts describes it.

    cache: where scratch files are.

    Raises UsageError for fewer than two datasets.
    """
    if len({(dataset.dataset, dataset.version) for dataset in datasets}) < 2:
        raise UsageError("a map needs two datasets", todo="name several, or a folder with releases")
    sides = [side for dataset in datasets for side in _columns(dataset)]
    with scratch_folder(cache, "map-") as folder:
        every = sorted({split for dataset in datasets for split in available_splits(dataset.task, dataset.frames)})
        index_tables(datasets, folder / "index", every)
        names = [str(folder / f"{number:06d}.parquet") for number in range(len(sides))]
        for name, (_, frame) in zip(names, sides, strict=True):
            frame.sink_parquet(name)
        corpus, found = open_corpus(names, ["text"]), [pl.DataFrame(schema=FOUND_SCHEMA)]
        with open_scan(
            corpus,
            folder / "index",
            datasets,
            Engine(),
            checkpoints=folder / "scans",
            threshold=THRESHOLD,
            whole_texts=True,
        ) as scan:
            found += [result.matches.unique(["corpus_file", "entry", "kind"]) for result in scan.results()]
    places = [(name, *side) for name, (side, _) in zip(names, sides, strict=True)]
    files = pl.DataFrame(places, ["corpus_file", *IN], orient="row")
    matches = pl.concat(found).join(files, on="corpus_file").filter(pl.col("dataset") != pl.col(IN[0]))
    rows = matches.group_by(*TABLE, *IN, "row").agg(pl.col("kind").cast(pl.Enum(WHOLE_KINDS)).min())
    counts = rows.group_by(*TABLE, *IN, "kind").len().sort(*TABLE, *IN, "kind")
    digests = {(dataset.dataset, dataset.version): dataset.content_sha256 for dataset in datasets}
    return {
        "datasets": [
            dict(zip(TABLE[:2], key, strict=True)) | {"content_sha256": digest} for key, digest in digests.items()
        ],
        "shared": [
            {
                "of": dict(zip(TABLE, key[:5], strict=True)),
                "in": dict(zip(TABLE, key[5:], strict=True)),
                "kinds": dict(kinds["kind", "len"].iter_rows()),
            }
            for key, kinds in counts.group_by(*TABLE, *IN, maintain_order=True)
        ],
    }


def _columns(dataset: IndexedDataset) -> Iterator[tuple[tuple[str, ...], pl.LazyFrame]]:
    """Each column of texts of a dataset, and the frame of its texts as a model receives them."""
    for layout in text_layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            table = (dataset.dataset, dataset.version, *dataset.own_location(layout.config, split))
            for column, text in (item for texts in table_texts(layout, frame) for item in texts.items()):
                yield (*table, column), frame.select(text=text.cast(pl.String))


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
    return card_template("contamination-map.md.jinja").render(
        found, heading=HEADING, rows=_rows(found), join_with_and=join_with_and
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
