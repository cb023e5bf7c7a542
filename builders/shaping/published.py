"""Rows as they were published: for each of them, in order, a file of keys says which raw record it is and what was changed.

`embedding-datasets decide NAME --published ORG/NAME@REVISION` compares the published copy with the raw source and writes the file
(pipelines.identity.published). It holds no text. Version 0.1.0 of a dataset takes the rows that it names from the raw source, so
that a score on them compares with the leaderboard's.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import tasks
from builders.errors import SourceError
from builders.raw_files import RawFile, by_hand
from builders.reading.values import shorten
from builders.shaping.text import WHITE_SPACE, fold_white_space
from builders.spec import AS_PUBLISHED, Dataset, Dropped, Raw, RawFiles, Tables, published_key

FORMAT = 1
KEY = b"embedding-datasets.published"
COLUMNS: dict[str, pl.DataType] = {"split": pl.String(), "record": pl.String(), "change": pl.String()}
# What makes a published text of that of its record, and whether it does, in this order.
CHANGES: Mapping[str, Callable[[pl.Expr], pl.Expr]] = MappingProxyType(
    {
        "exact": lambda text: text,
        "trimmed": lambda text: text.str.strip_chars(WHITE_SPACE),
        "spaced": fold_white_space,
    }
)
NOT_MADE = {  # rows that cannot be made from the raw source
    "folded": "equal to a raw record only after folding",
    "relabelled": "a raw record has the text with another label",
    "absent": "no raw record has the text",
}


def published_files(*datasets: str) -> dict[str, RawFile]:
    """The raw files with the keys of the published rows of some datasets, by key."""
    return {published_key(name): _file(name) for name in datasets}


def _file(name: str) -> RawFile:
    instructions = (
        f"which raw records were published: embedding-datasets decide {name} --published ORG/NAME@REVISION --raw-dir DIR; or copy"
        f" the file from somebody who has it. Only version {AS_PUBLISHED} needs it"
    )
    return by_hand(f"published/{name}.parquet", instructions, made_by="published")


def make_tables(dataset: Dataset, version: str, raw: RawFiles, options: Mapping[str, Any]) -> Tables:
    """The tables of a version of a dataset: those that its recipe makes, or the published rows.

    Raises what the recipe raises, and SourceError for a damaged file of keys.
    """
    return select_published(dataset, raw) if version == AS_PUBLISHED else dataset.recipe(raw, **options)


def select_published(dataset: Dataset, raw: RawFiles) -> Tables:
    """The published rows in their order, with the columns of the task; rows that cannot be made are counted as dropped.

    Raises SourceError for a file of keys that is damaged, of another dataset, or names records that the source lacks.
    """
    assert dataset.published is not None
    file = raw.whole(published_key(dataset.name))
    keys, header = read_keys(file, dataset)
    [layout] = tasks.layouts(dataset.task)
    [text] = layout.text
    made = keys.filter(pl.col("change").is_in(list(CHANGES)))
    records = dataset.published(raw).lazy().rename({"id": "record"})
    rows = made.lazy().join(records, on="record", how="left", maintain_order="left").collect(engine="streaming")
    lacking = rows.filter(pl.col(text).is_null())
    if any(given.limit is not None for given in raw.files.values()):
        rows = rows.filter(pl.col(text).is_not_null())
    elif len(lacking):
        raise _refused(file, f"{len(lacking):,} records that the source lacks, such as {shorten(lacking['record'][0])}")
    changed = [pl.when(pl.col("change") == name).then(change(pl.col(text))) for name, change in CHANGES.items()]
    rows = rows.with_columns(pl.coalesce(changed).alias(text)).select("split", *layout.columns)
    frames = {split: rows.filter(pl.col("split") == split).drop("split") for split in raw.splits}
    counts = keys.group_by("split", "change").len().sort("split", "change").rows()
    dropped = tuple(Dropped(NOT_MADE[change], count, split) for split, change, count in counts if change in NOT_MADE)
    observed = {f"published rows of {split}: {change}": count for split, change, count in counts}
    observed["published rows whose text several raw records have"] = int(header["several"])
    return Tables({"default": frames}, tuple(drop for drop in dropped if drop.split in raw.splits), observed)


def read_keys(raw: Raw, dataset: Dataset) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The keys of a file: split, record (null for a row that no record has) and change (String); and what its header says.

    Raises SourceError for a file that is damaged or of another dataset.
    """
    try:
        with pq.ParquetFile(raw.path, page_checksum_verification=True) as file:
            header: dict[str, Any] = json.loads((file.metadata.metadata or {})[KEY])
            keys = pl.DataFrame(pl.from_arrow(file.read())).cast(dict(COLUMNS))  # type: ignore[arg-type]
        about = (header["format"], header["dataset"], header["rows"])
        int(header["several"])
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, LookupError, TypeError) as error:
        raise _refused(raw, str(error).split("\n", 1)[0][:200] or type(error).__name__) from error
    if about != (FORMAT, dataset.name, len(keys)):
        raise _refused(
            raw, f"format {about[0]}, of {shorten(str(about[1]))}, {about[2]} rows said and {len(keys):,} there"
        )
    unknown = keys.filter(
        ~pl.col("split").is_in(list(dataset.task.splits))
        | ~pl.col("change").is_in([*CHANGES, *NOT_MADE])
        | (pl.col("record").is_null() != (pl.col("change") == "absent"))
    )
    if len(unknown):
        raise _refused(raw, f"a row that says nothing known: {shorten(str(unknown.row(0)))}")
    return keys, header


def _refused(raw: Raw, found: str) -> SourceError:
    return SourceError(
        f"{raw.name}: not the keys of published rows, or damaged",
        where=str(raw.path),
        found=found,
        expected=f"a file of format {FORMAT}, of this dataset and this raw source",
        todo="remove the file, then: embedding-datasets decide DATASET --published ORG/NAME@REVISION --raw-dir DIR",
    )
