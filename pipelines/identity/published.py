"""Which raw records the rows of a published dataset are, for the file of keys that builders.shaping.published describes.

A published row is the record with the same text and label; of several, the first in the source. Where there is none, the changes
of builders.shaping.published are tried in their order, then whether texts are equal after folding, then other labels.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import tasks
from builders.errors import UsageError
from builders.shaping.folding import fold_text_1
from builders.shaping.published import CHANGES, COLUMNS, FORMAT, KEY, NOT_MADE
from builders.spec import AS_PUBLISHED, Dataset, RawFiles
from cards.markdown import shorten, visible
from pipelines.checking.columns import is_list
from pipelines.checking.datasets import ForeignOptions
from pipelines.identity.datasets import Side, read_side_as, task_tables
from pipelines.identity.rows import find_exchange
from pipelines.process.files import replacing
from pipelines.process.stages import stage
from pipelines.process.tables import WIDTH, number_table, wrap

ROW, TEXT, LABEL, NUMBER, WRITTEN = "__row", "__text", "__label", "__number", "__written"
Change = Callable[[pl.Expr], pl.Expr]
# What is compared with what: a published text after the first change, that of a record after the second.
STAGES: Mapping[str, tuple[Change, Change]] = {
    **{name: (CHANGES["exact"], change) for name, change in CHANGES.items()},
    "folded": (fold_text_1, fold_text_1),
}
SHOWN = 5


@dataclass(frozen=True)
class Provenance:
    """Where published rows come from.

    keys: as builders.shaping.published.COLUMNS. several: for how many of them several records have the text and label; the first
    was taken. absent: the first texts that no record has. labels: labels of the source by their published names, where these
    differ.
    """

    keys: pl.DataFrame
    several: int
    absent: Sequence[str]
    labels: Mapping[str, str]


def find_records(dataset: Dataset, raw: RawFiles, side: Side) -> Provenance:
    """Which records of the raw source the rows of a published copy of a dataset are.

    Raises UsageError for a dataset whose rows are not looked for and a copy with other splits, SourceError for unreadable files.
    """
    if dataset.published is None:
        todo = f"its version {dataset.first} takes over the published rows, or they are in several tables"
        raise UsageError(f"{dataset.name} has no version {AS_PUBLISHED}", todo=todo)
    [layout] = tasks.layouts(dataset.task)
    [text] = layout.text
    label = dataset.task.type.label or "labels"
    left = _read_published(dataset, side, text, label)
    with stage("raw records"):
        rows = dataset.published(raw).lazy().with_row_index(NUMBER)
        records = rows.select(NUMBER, pl.col("id").alias("record"), pl.col(text).alias(TEXT), _as_names(rows, label))
        names = _find_names(left, _find_texts(left, records, *STAGES["exact"]))
    left = left.with_columns(pl.col(LABEL).list.eval(pl.element().replace(names)).list.sort())
    keys, relabelled, several = [], [], 0
    for change, functions in STAGES.items():
        with stage(change):
            pairs = _find_texts(left, records, *functions)
        same = pairs.filter(pl.col(LABEL) == pl.col(f"{LABEL}_right"))
        taken = same.group_by(ROW, maintain_order=True).agg(pl.first("split", "record"), several=pl.len() > 1)
        several += int(taken["several"].sum())
        keys.append(taken.select(ROW, "split", "record", change=pl.lit(change)))
        relabelled.append(pairs.group_by(ROW, maintain_order=True).agg(pl.first("split", "record")))
        left = left.join(taken, on=ROW, how="anti")
    others = pl.concat(relabelled).unique(ROW, keep="first").join(left, on=ROW, how="semi")
    absent = left.join(others, on=ROW, how="anti")
    keys.append(others.with_columns(change=pl.lit("relabelled")))
    keys.append(absent.select(ROW, "split", record=pl.lit(None, pl.String), change=pl.lit("absent")))
    found = pl.concat(keys).sort(ROW).select(list(COLUMNS))
    return Provenance(found, several, absent[TEXT].head(SHOWN).to_list(), names)


def write_keys(path: Path, dataset: str, provenance: Provenance, side: Side) -> None:
    """Write the file of keys of a dataset, completely or not at all: the same copy and source give the same bytes."""
    header = {"format": FORMAT, "dataset": dataset, "rows": len(provenance.keys), "several": provenance.several}
    about = {"published": side.name, "revision": side.where, "labels": dict(sorted(provenance.labels.items()))}
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    table = provenance.keys.to_arrow().cast(schema)
    metadata = {KEY: json.dumps(header | about, ensure_ascii=False, sort_keys=True).encode()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as part,
        pq.ParquetWriter(
            part, schema.with_metadata(metadata), compression="zstd", version="2.6", write_page_checksum=True
        ) as writer,
    ):
        writer.write_table(table.replace_schema_metadata(metadata), row_group_size=1 << 20)


def _read_published(dataset: Dataset, side: Side, text: str, label: str) -> pl.DataFrame:
    """The rows of the published copy in their order: ROW, split, TEXT, and LABEL as a list of names."""
    [copy] = read_side_as(side, dataset.task.type.name, ForeignOptions(columns={}))
    [splits] = task_tables([copy]).values()
    if set(splits) != set(dataset.task.splits):
        expected = ", ".join(dataset.task.splits)
        raise UsageError(
            "the published copy has other splits", where=side.name, found=", ".join(splits), expected=expected
        )
    frames = [
        splits[split].select(pl.lit(split).alias("split"), pl.col(text).alias(TEXT), _as_names(splits[split], label))
        for split in dataset.task.splits
    ]
    return pl.concat(frames).with_row_index(ROW).collect(engine="streaming").sort(ROW)


def _as_names(frame: pl.LazyFrame, label: str) -> pl.Expr:
    """Labels, single or in lists, as a list of texts."""
    if is_list(frame.collect_schema()[label]):
        return pl.col(label).cast(pl.List(pl.String)).list.sort().alias(LABEL)
    return pl.concat_list(pl.col(label).cast(pl.String)).alias(LABEL)


def _find_texts(left: pl.DataFrame, records: pl.LazyFrame, published: Change, raw: Change) -> pl.DataFrame:
    """The records with the text of each row, after a change of each, in the order of rows and records."""
    wanted = left.with_columns(published(pl.col(TEXT)).alias(WRITTEN)).select(ROW, "split", LABEL, WRITTEN)
    alike = (
        records.with_columns(raw(pl.col(TEXT)).alias(WRITTEN)).join(wanted.lazy(), on=WRITTEN, how="semi").drop(TEXT)
    )
    return wanted.join(alike.collect(engine="streaming"), on=WRITTEN).sort(ROW, NUMBER)


def _find_names(left: pl.DataFrame, pairs: pl.DataFrame) -> dict[str, str]:
    """The label of the source for each published one, where it has another name or number there."""
    clear = pairs.filter(
        (pl.len().over(ROW) == 1) & (pl.col(LABEL).list.len() == 1) & (pl.col(f"{LABEL}_right").list.len() == 1)
    )
    both = clear.select(old=pl.col(LABEL).list.first(), new=pl.col(f"{LABEL}_right").list.first())
    return find_exchange(both, set(left[LABEL].explode()))


def describe(provenance: Provenance) -> list[str]:
    """Where published rows come from, as lines: a table by split, texts that no record has, labels."""
    keys = provenance.keys
    kinds = [*STAGES, "relabelled", "absent"]
    counts = {(split, change): count for split, change, count in keys.group_by("split", "change").len().iter_rows()}
    rows = [
        [split, *(f"{counts.get((split, kind), 0):,}" for kind in kinds)]
        for split in keys["split"].unique(maintain_order=True)
    ]
    lines = number_table([["split", *kinds], *rows], WIDTH)
    if provenance.several:
        lines += wrap(
            f"{provenance.several:,} rows have a text and label of several records: the first of them counts", "  "
        )
    if provenance.labels:
        names = ", ".join(f"{published} is {raw}" for published, raw in provenance.labels.items())
        lines += wrap(f"labels: {names} in the source", "  ")
    for kind in NOT_MADE if count_not_made(keys) else ():
        lines += wrap(f"{kind}: {NOT_MADE[kind]}", "  ")
    for absent in provenance.absent:
        lines += wrap(f"absent: {visible(str(shorten(absent, 100)))}", "  ")
    return lines


def count_not_made(keys: pl.DataFrame) -> int:
    """How many published rows cannot be made from the raw source."""
    return int(keys["change"].is_in(list(NOT_MADE)).sum())
