"""Which raw records the rows of a published dataset are, for the file of keys that builders.published describes.

A published row is the record with the same text and label; of several, the first in the source. Where there is none, the changes
of builders.published are tried in their order, then whether texts are equal after folding, then other labels. Labels that
have another name in the copy, one to one, are the same: the texts that both have tell which they are.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import tasks
from builders.errors import SourceError, UsageError
from builders.published import (
    CHANGES,
    COLUMNS,
    FORMAT,
    KEY,
    NOT_MADE,
    TEXT,
    THEIRS,
    content_digests,
    id_and_title,
    join_names,
    number_records,
)
from builders.shaping.benchmark_index import header_metadata
from builders.shaping.folding import fold_text_1
from builders.spec import Dataset, RawFiles
from cards.markdown import shorten, visible
from pipelines.checking.columns import is_list
from pipelines.checking.datasets import ForeignOptions
from pipelines.hub.client import parse_reference
from pipelines.identity.datasets import Side, read_side_as, task_tables
from pipelines.identity.rows import find_exchange
from pipelines.process.files import replacing
from pipelines.process.safe_text import first_line
from pipelines.process.stages import stage
from pipelines.process.tables import WIDTH, number_table, wrap

ROW, LABEL, OWN, WRITTEN = "__row", "__label", "__own", ("__written", "__written_again")
ALIKE = "alike"
Change = Callable[[pl.Expr], pl.Expr]
# What is compared with what: a published text after the first change, that of a record after the second.
STAGES: Mapping[str, tuple[Change, Change]] = {
    **{name: (CHANGES["exact"], change) for name, change in CHANGES.items()},
    ALIKE: (fold_text_1, fold_text_1),
}
SHOWN = 5


@dataclass(frozen=True)
class Provenance:
    """Where published rows come from.

    keys: as builders.published.COLUMNS. content: the digest of the rows that can be made, by split. absent: the first
    texts that no record has. labels: labels of the source by their published names, where these differ.
    """

    keys: pl.DataFrame
    content: Mapping[str, str]
    absent: Sequence[str]
    labels: Mapping[str, str]


def find_records(dataset: Dataset, raw: RawFiles, side: Side, columns: Mapping[str, str]) -> Provenance:
    """Which records of the raw source the rows of a published copy of a dataset are.

    columns: of the copy, by our names.

    Raises UsageError for a copy with other splits or tables, SourceError for what cannot be read.
    """
    with stage("published rows"):
        published = _read_published(dataset, side, columns)
    records, renamed = number_records(dataset, raw), dict[str, str]()
    if "default" in published:
        with stage("names of labels"):
            names, renamed = _find_names(dataset, published["default"], records["default"])
        own_names = join_names(pl.col(LABEL).list.eval(pl.element().replace(names)))
        rows = _find_rows(published["default"].with_columns(own_names.alias(LABEL)), records["default"])
    else:
        rows = _find_retrieval(published, records)
    made, absent = rows.filter(pl.col("change").is_in(list(CHANGES))), rows.filter(pl.col("change") == "absent")
    content = dict[str, str]()
    for part in made.partition_by("split", maintain_order=True):
        content |= content_digests(part["split"], part[TEXT], part[LABEL])
    texts = absent[TEXT].drop_nulls().unique(maintain_order=True).head(SHOWN).to_list()
    return Provenance(rows.select(list(COLUMNS)), content, texts, renamed)


def _find_rows(published: pl.DataFrame, records: pl.LazyFrame) -> pl.DataFrame:
    """The rows in their order, with record, records and change. published: with ROW, split, TEXT and LABEL (String)."""
    left, found, others = published, list[pl.DataFrame](), list[pl.DataFrame]()
    for change, functions in STAGES.items():
        if others and left.is_empty():
            break
        with stage(change):
            pairs = _find_texts(left, records, *functions)
        same = pairs.filter(pl.col(LABEL) == pl.col(THEIRS)).with_columns(change=pl.lit(change))
        left = left.join(same, on=ROW, how="anti")
        found.append(same)
        others.append(pairs.with_columns(change=pl.lit("relabelled")))
    first = pl.concat(others).sort(ROW, "record").unique(ROW, keep="first").join(left, on=ROW, how="semi")
    keyed = pl.concat([*found, first]).select(ROW, "record", "records", "change")
    rows = published.join(keyed, on=ROW, how="left").sort(ROW)
    return rows.with_columns(pl.col("change").fill_null("absent"), pl.col("records").fill_null(0))


def _find_retrieval(published: Mapping[str, pl.DataFrame], records: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """The same of documents, queries and judgements, one table after the other."""
    corpus, queries, qrels = (published[config] for config in ("corpus", "queries", "qrels"))
    keeps_ids = "label" in records["corpus"].collect_schema()
    documents = _find_rows(
        corpus.with_columns((id_and_title(corpus.columns) if keeps_ids else pl.lit("")).alias(LABEL)),
        records["corpus"],
    )
    qrels = qrels.join(_own_ids(documents, records["corpus"], "corpus-id"), on="corpus-id", how="left").sort(ROW)
    relevant = qrels.filter(pl.col("score") > 0).group_by(pl.col("query-id").alias("id")).agg(pl.first(OWN))
    label = id_and_title(queries.columns) if keeps_ids else pl.col(OWN)
    queries = queries.join(relevant, on="id", how="left").sort(ROW).with_columns(label.alias(LABEL)).drop(OWN)
    asked = _find_rows(queries, records["queries"])
    qrels = qrels.join(
        _own_ids(asked, records["queries"], "query-id"), on="query-id", how="left", suffix="-query"
    ).sort(ROW)
    pair = pl.concat_str(f"{OWN}-query", pl.lit(" "), OWN)
    judged = qrels.with_columns(pair.alias(TEXT), pl.col("score").cast(pl.String).alias(LABEL))
    columns = ["split", TEXT, LABEL, "record", "records", "change"]
    return pl.concat(part.select(columns) for part in (documents, asked, _find_rows(judged, records["qrels"])))


def _own_ids(rows: pl.DataFrame, records: pl.LazyFrame, name: str) -> pl.DataFrame:
    """The ids of the source (OWN) of those rows that can be made, by their published ids, in the column `name`."""
    made = rows.filter(pl.col("change").is_in(list(CHANGES))).select("record", pl.col("id").alias(name))
    ids = records.select("record", pl.col("id").alias(OWN)).join(made.lazy().select("record"), on="record", how="semi")
    return made.join(ids.collect(engine="streaming"), on="record").select(name, OWN)


def write_keys(path: Path, dataset: str, provenance: Provenance, side: Side) -> None:
    """Write the file of keys of a dataset, completely or not at all: the same copy and source give the same bytes.

    Raises SourceError where other keys are there already.
    """
    reference = parse_reference(side.name, "main")
    header = {
        "format": FORMAT,
        "dataset": dataset,
        "rows": len(provenance.keys),
        "content": provenance.content,
        "labels": provenance.labels,
        "published": f"{reference[0]}, {side.where}" if reference else "",
    }
    metadata = header_metadata(KEY, json.dumps(header, ensure_ascii=False, sort_keys=True).encode())
    types = {pl.String(): pa.string(), pl.Int64(): pa.int64()}
    schema = pa.schema([(name, types[dtype]) for name, dtype in COLUMNS.items()], metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        with pq.ParquetWriter(part, schema, compression="zstd", version="2.6", write_page_checksum=True) as writer:
            writer.write_table(provenance.keys.to_arrow().cast(schema), row_group_size=1 << 20)
        if path.exists() and path.read_bytes() != part.read_bytes():
            raise SourceError(
                "other keys are there already, of another copy or source",
                where=str(path),
                todo="remove the file, and run the command again",
            )


def _read_published(dataset: Dataset, side: Side, columns: Mapping[str, str]) -> dict[str, pl.DataFrame]:
    """The rows of the published copy in their order, by table: ROW, split, TEXT, and names of labels, or ids and scores."""
    tables = task_tables(read_side_as(side, dataset.task.type.name, ForeignOptions(columns=columns)))
    tables = {config.removeprefix(f"{dataset.subset}-"): splits for config, splits in tables.items()}
    layouts = tasks.layouts(dataset.task)
    if len(layouts) == 1:
        tables = {layouts[0].config: next(iter(tables.values()))} if len(tables) == 1 else tables
    found = {(config, split) for config, splits in tables.items() for split in splits}
    if found != {(layout.config, split) for layout in layouts for split in dataset.task.splits}:
        raise UsageError(
            "the published copy has other splits",
            where=side.name,
            found=", ".join(f"{config}/{split}" for config, split in sorted(found)),
            expected=", ".join(dataset.task.splits),
        )
    return {layout.config: _read_table(dataset, side, layout, tables[layout.config]) for layout in layouts}


def _read_table(dataset: Dataset, side: Side, layout: tasks.Layout, splits: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """The rows of a table of the published copy."""
    label, frames = dataset.task.type.label, list[pl.LazyFrame]()
    for split in dataset.task.splits:
        schema = splits[split].collect_schema()
        name = pl.lit(split if label else layout.config).alias("split")
        kept = [pl.col(column).cast(pl.Int64 if column == "score" else pl.String) for column in schema]
        if label:
            if label not in schema:
                raise UsageError(
                    f"{split} has no column {label}",
                    where=side.name,
                    found=", ".join(schema),
                    todo=f"say which column it is: --map {label}=COLUMN",
                )
            one = pl.concat_list(pl.col(label).cast(pl.String))
            kept = [(pl.col(label).cast(pl.List(pl.String)) if is_list(schema[label]) else one).alias(LABEL)]
        written = [pl.col(text).cast(pl.String).alias(TEXT) for text in layout.text]
        frames.append(splits[split].select(name, *written, *kept))
    try:
        rows = pl.concat(frames).with_row_index(ROW).collect(engine="streaming").sort(ROW)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(
            "cannot read the rows of the published copy", where=side.name, found=first_line(error)
        ) from error
    if len(rows["split"].unique()) < len(frames):
        lacking = [split for split in dataset.task.splits if split not in rows["split"]]
        raise SourceError("the published copy has no rows", where=f"{side.name}: {', '.join(lacking)}")
    return rows


def _find_texts(left: pl.DataFrame, records: pl.LazyFrame, published: Change, raw: Change) -> pl.DataFrame:
    """The records with the text of each row, after a change of each: the first of each label, and how many they are.

    Texts count as equal if two hashes of 64 bits are: a record that is collected would keep the texts of its batch in memory.
    Returns ROW, LABEL of the row, THEIRS of the record, record, records, in the order of rows and records.
    """
    wanted = left.select(ROW, LABEL, *_hash(published(pl.col(TEXT)))).drop_nulls(WRITTEN)
    # Eager: while one side of a join is not ready, the other piles up in memory, ten million headlines of it.
    texts = wanted.select(WRITTEN).unique().lazy()
    written = records.select("record", THEIRS, *_hash(raw(pl.col(TEXT)))).join(texts, on=WRITTEN, how="semi")
    alike = written.group_by(*WRITTEN, THEIRS).agg(pl.min("record"), records=pl.len().cast(pl.Int64))
    return wanted.join(alike.collect(engine="streaming"), on=WRITTEN).sort(ROW, "record").drop(WRITTEN)


def _hash(text: pl.Expr) -> list[pl.Expr]:
    """Two hashes of a text, null for none."""
    return [pl.when(text.is_not_null()).then(text.hash(seed)).alias(name) for seed, name in enumerate(WRITTEN)]


def _find_names(
    dataset: Dataset, published: pl.DataFrame, records: pl.LazyFrame
) -> tuple[dict[str, str], dict[str, str]]:
    """The label of the source for each published one, and those of them that are not as their name or number says."""
    labels = sorted(set(published[LABEL].explode().drop_nulls()))
    own = dataset.task.labels if isinstance(dataset.task, tasks.Classification) else ()
    numbers = {str(number): name for number, name in enumerate(own)}
    by_number = set(labels) <= numbers.keys() and not set(labels) <= set(own)
    names = {label: numbers[label] if by_number else label for label in labels}
    pairs = _find_texts(published, records, *STAGES[ALIKE])
    clear = pairs.filter(pl.len().over(ROW) == 1, pl.col(LABEL).list.len() == 1)
    both = clear.select(old=pl.col(LABEL).list.first().replace(names), new=THEIRS)
    renamed = find_exchange(both, set(both["old"]), set(both["new"]))
    return (
        {label: renamed.get(name, name) for label, name in names.items()},
        {label: renamed[name] for label, name in names.items() if name in renamed},
    )


def describe(provenance: Provenance) -> list[str]:
    """Where published rows come from, as lines: a table by split, labels, what cannot be made, texts that no record has."""
    keys = provenance.keys
    counts = {(split, change): count for split, change, count in keys.group_by("split", "change").len().iter_rows()}
    kinds = [kind for kind in (*CHANGES, *NOT_MADE) if kind in {"exact", *keys["change"].unique()}]
    rows = [
        [split, *(f"{counts.get((split, kind), 0):,}" for kind in kinds)]
        for split in keys["split"].unique(maintain_order=True)
    ]
    lines = number_table([["split", *kinds], *rows], WIDTH)
    if several := int((keys["records"] > 1).sum()):
        lines += wrap(f"{several:,} rows have the text and label of several records: the first of them counts", "  ")
    if provenance.labels:
        names = ", ".join(f"{visible(published)} is {raw}" for published, raw in provenance.labels.items())
        lines += wrap(f"labels: {names} in the source", "  ")
    notes = [f"{kind}: {NOT_MADE[kind]}" for kind in kinds if kind in NOT_MADE]
    notes += [f"absent: {visible(shorten(absent, 100))}" for absent in provenance.absent]
    return [*lines, *(line for note in notes for line in wrap(note, "  "))]
