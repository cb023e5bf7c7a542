"""Small releases of training data, written without a build."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.spec import ConfigPrompts, Prompts
from cards.manifest import Manifest, Recipe, encode
from pipelines.release import folder, parquet
from pipelines.release.content_hash import dataset_sha256

Row = dict[str, Any]
SCHEMA = {
    "id": pl.String(),
    "query": pl.String(),
    "positives": pl.List(pl.String),
    "negatives": pl.List(pl.String),
    "negative_kinds": pl.List(pl.String),
    "mined": pl.List(pl.String),
}
SEARCH, CLUSTERING = ("search_query", "search_document"), ("clustering",)


def pair(
    query: str,
    positives: str = "yes",
    *,
    provided: str = "",
    random: str = "",
    mined: str | None = None,
) -> Row:
    """A row; texts are words: `pair("who", "a b", provided="c")`. mined: None for a release without that column."""
    kinds = ["provided"] * len(provided.split()) + ["random"] * len(random.split())
    negatives = [*provided.split(), *random.split()]
    row = {"id": query, "query": query, "positives": positives.split(), "negatives": negatives, "negative_kinds": kinds}
    return row if mined is None else row | {"mined": mined.split()}


def write_training_release(
    releases: Path,
    sets: Mapping[str, Sequence[Row]],
    prefixes: Mapping[str, tuple[str, ...]] | None = None,
    *,
    dataset: str = "toy-contrastive",
    version: str = "1.0.0",
    **changes: Any,
) -> Path:
    """Write a release as `<releases>/<dataset>/<version>`. prefixes: by set; CLUSTERING for others. changes: of its manifest."""
    release_dir = releases / dataset / version
    tables = []
    for name, rows in sets.items():
        schema = {column: SCHEMA[column] for column in (rows[0] if rows else list(SCHEMA)[:5])}
        tables.append(parquet.write_table(pl.DataFrame(list(rows), schema), release_dir, name, "train"))
    prompts = tuple(ConfigPrompts(name, (prefixes or {}).get(name, CLUSTERING)) for name in sets)
    values: dict[str, Any] = {
        "dataset": dataset,
        "version": version,
        "source": "toy",
        "task": "Contrastive",
        "content_sha256": dataset_sha256({(table.config, table.split): table.content_sha256 for table in tables}),
        "tables": tuple(tables),
        "splits": ("train",),
        "sample": False,
        "partial": False,
        "raw": (),
        "recipe": Recipe("builders.toy", {}, "0" * 64),
        "prompts": Prompts("", configs=prompts),
        "dropped": (),
        "findings": (),
    }
    (release_dir / folder.MANIFEST).write_bytes(encode(Manifest(**values | changes)))
    return release_dir
