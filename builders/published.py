"""Rows as they were published: for each of them, in order, a file of keys says which raw record it is and what was changed.

`embedding-datasets decide NAME --published ORG/NAME@REVISION` compares the published copy with the raw source and writes the file
(pipelines.identity.published). It holds no text. Version 0.1.0 of a dataset takes the rows that it names from the raw source, so
that a score on them compares with the leaderboard's.

A retrieval dataset has three tables. A document is the record with its text, and with its id and title where the copy has the ids
of the source; a query that with its text and the same relevant document, or id; a judgement that with the same two and its score.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import limits, tasks
from builders.errors import RecipeError, SourceError
from builders.raw_files import RawFile, by_hand
from builders.reading.values import shorten
from builders.shaping.benchmark_index import read_header
from builders.shaping.folding import fold_text_1
from builders.shaping.text import WHITE_SPACE, fold_white_space
from builders.spec import AS_PUBLISHED, Dataset, Dropped, Raw, RawFiles, Tables, published_key

FORMAT = 1
KEY = b"embedding-datasets.published"
# split: of retrieval the table. record: its number in the raw source (of retrieval among those of its table), from 0; null where
# none has the text. records: how many have its text and label.
COLUMNS: Mapping[str, pl.DataType] = MappingProxyType(
    {"split": pl.String(), "record": pl.Int64(), "records": pl.Int64(), "change": pl.String()}
)
TEXT, THEIRS = "__text", "__theirs"  # of a record: the text and the label that are compared
ORDER = "__order"  # of a published row
WHOLE = "whole"  # the column with the text before a step of the recipe, such as the removal of ratings; else the text
FIRST_SENTENCE = r"^[^.]*\.\s*"
# What makes the published text of that of its record; the first that does is taken.
CHANGES: Mapping[str, Callable[[pl.Expr], pl.Expr]] = MappingProxyType(
    {
        "exact": lambda text: text,
        "whole": lambda _: pl.col(WHOLE),  # without the step of the recipe that records went through
        "trimmed": lambda text: text.str.strip_chars(WHITE_SPACE),
        "spaced": fold_white_space,
        "headless": lambda _: pl.col(WHOLE).str.replace(FIRST_SENTENCE, ""),
        "escaped": lambda text: text.str.replace_all("\n", r"\n", literal=True),
        "folded": fold_text_1,
    }
)
NOT_MADE = {  # rows that cannot be made from the raw source
    "alike": "equal to a raw record only ignoring case, punctuation and white space",
    "relabelled": "a raw record has the text with another label",
    "absent": "no raw record has the text",
}


HOW = (
    "which raw records were published: embedding-datasets decide {} --published ORG/NAME@REVISION --raw-dir DIR; or copy the file"
    f" from somebody who has it. Only version {AS_PUBLISHED} needs it"
)


def published_files(*datasets: str) -> dict[str, RawFile]:
    """The raw files with the keys of the published rows of some datasets, by key."""
    return {
        published_key(name): by_hand(f"published/{name}.parquet", HOW.format(name), made_by="published")
        for name in datasets
    }


def select_published(dataset: Dataset, raw: RawFiles, *, partial: bool) -> Tables:
    """The published rows in their order, with the columns of the task.

    Raises SourceError for a file of keys that is damaged or of another dataset or source, RecipeError for rows that cannot be
    made, unless the tables may be `partial`: then these are counted as dropped.
    """
    file = raw.whole(published_key(dataset.name))
    keys, content = read_keys(file, dataset)
    is_single = len(tasks.layouts(dataset.task)) == 1
    keys = keys.filter(pl.col("split").is_in(raw.splits)) if is_single else keys
    counts = keys.group_by("split", "change").len().sort("split", "change").rows()
    dropped = tuple(Dropped(NOT_MADE[change], count, split) for split, change, count in counts if change in NOT_MADE)
    if dropped and not partial:
        raise RecipeError(
            f"{dataset.name}@{AS_PUBLISHED}: published rows cannot be made from the raw source",
            where=str(file.path),
            found="; ".join(f"{drop.count:,} of {drop.split}: {drop.reason}" for drop in dropped),
            todo="this is what is known of where the published rows come from; build the others with --partial",
        )
    made = keys.filter(pl.col("change").is_in(list(CHANGES))).with_row_index(ORDER)
    records, frames, digests = number_records(dataset, raw), dict[str, dict[str, pl.DataFrame]](), dict[str, str]()
    for layout in tasks.layouts(dataset.task):
        own = made if is_single else made.filter(pl.col("split") == layout.config)
        rows = _make_rows(own, records[layout.config], layout, raw.scratch / f"records-{layout.config}.parquet")
        digests |= content_digests(rows["split"], rows[TEXT], rows[THEIRS])
        rows = rows.with_columns(pl.col(TEXT).alias(name) for name in layout.text)
        frames[layout.config] = {
            split: rows.filter(pl.col("split") == (split if is_single else layout.config)).select(*layout.columns)
            for split in raw.splits
        }
    if all(given.limit is None for given in raw.files.values()) and digests != {
        split: content[split] for split in content if split in keys["split"]
    }:
        raise _refused(file, "other rows than those that were compared: of another raw source, or builder")
    if dropped and not is_single:
        dropped += _drop_unanswered(frames, raw.splits)
    observed = {f"published rows of {split}: {change}": count for split, change, count in counts}
    observed["published rows that several raw records have"] = int((made["records"] > 1).sum())
    return Tables(frames, dropped, observed)


def _make_rows(keys: pl.DataFrame, records: pl.LazyFrame, layout: tasks.Layout, file: Path) -> pl.DataFrame:
    """The published rows of a table: split, TEXT as it was published, THEIRS, and the other columns; by way of a temporary file.

    Collected directly, each record would keep the texts of its whole batch in memory.
    """
    others = [name for name in layout.columns if name not in layout.text]
    whole = pl.col(WHOLE) if keys["change"].is_in(["whole", "headless"]).any() else pl.lit("").alias(WHOLE)
    # Not a join: while one side is not ready, the other piles up in memory.
    named = records.filter(pl.col("record").is_in(keys["record"].unique().implode()))
    named.select("record", TEXT, THEIRS, whole, *others).sink_parquet(file, row_group_size=2_000)
    named = pl.read_parquet(file, glob=False).lazy()
    # One change after the other: all changes of all texts would not fit in memory.
    parts = [
        keys.lazy()
        .filter(pl.col("change") == name)
        .join(named, on="record")
        .select("split", ORDER, change(pl.col(TEXT)).alias(TEXT), THEIRS, *others)
        for name, change in CHANGES.items()
    ]
    return pl.concat(parts).collect().sort(ORDER)


def _drop_unanswered(frames: dict[str, dict[str, pl.DataFrame]], splits: Iterable[str]) -> tuple[Dropped, ...]:
    """Leave out, in place, queries without a judgement of a relevant document that can be made, and their other judgements."""
    dropped = []
    for split in splits:
        answered = frames["qrels"][split].filter(pl.col("score") > 0)["query-id"].implode()
        for config, name in (("queries", "id"), ("qrels", "query-id")):
            kept = frames[config][split].filter(pl.col(name).is_in(answered))
            if count := len(frames[config][split]) - len(kept):
                dropped.append(Dropped("no judgement of a relevant document can be made for its query", count, config))
            frames[config][split] = kept
    return tuple(dropped)


def number_records(dataset: Dataset, raw: RawFiles) -> dict[str, pl.LazyFrame]:
    """All records of the raw source of a dataset, by table, with their number, `record` (Int64), TEXT, THEIRS and WHOLE."""
    assert dataset.published is not None
    found = dataset.published(raw)
    tables = found if isinstance(found, Mapping) else {"default": found}
    numbered = {}
    for config, frame in tables.items():
        records = frame.lazy().with_row_index("record").with_columns(pl.col("record").cast(pl.Int64))
        schema = records.collect_schema()
        if config == "qrels":
            text, label = pl.concat_str("query-id", pl.lit(" "), "corpus-id"), pl.col("score").cast(pl.String)
        elif config == "default":
            [text], label = map(pl.col, tasks.layouts(dataset.task)[0].text), label_names(dataset, schema)
        else:
            text, label = pl.col("text"), pl.col("label") if "label" in schema else pl.lit("")
        records = records.with_columns(text.alias(TEXT), label.alias(THEIRS))
        numbered[config] = records if WHOLE in schema else records.with_columns(pl.col(TEXT).alias(WHOLE))
    return numbered


def id_and_title(columns: Collection[str]) -> pl.Expr:
    """The label of a document or query whose published id is that of the source."""
    return pl.concat_str("id", pl.lit(" "), "title" if "title" in columns else pl.lit("")).alias("label")


def label_names(dataset: Dataset, columns: Mapping[str, pl.DataType]) -> pl.Expr:
    """What the label of a record, or the list of its labels, is called (String); null where it has none."""
    name = "label_text" if "label_text" in columns else dataset.task.type.label
    several = isinstance(columns[name], pl.List)
    return join_names(pl.col(name).cast(pl.List(pl.String))) if several else pl.col(name).cast(pl.String)


def join_names(labels: pl.Expr) -> pl.Expr:
    """A list of names of labels as one text, in whatever order they come; null if one is."""
    return labels.list.sort().list.join(" ", ignore_nulls=False)


def content_digests(splits: pl.Series, texts: pl.Series, labels: pl.Series) -> dict[str, str]:
    """The sha256 of the rows of each split: of text and label in JSON, one row per line."""
    digests = {split: hashlib.sha256() for split in splits.unique(maintain_order=True)}
    for split, *row in zip(splits, texts, labels, strict=True):
        digests[split].update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return {split: digest.hexdigest() for split, digest in digests.items()}


def read_keys(raw: Raw, dataset: Dataset) -> tuple[pl.DataFrame, dict[str, str]]:
    """The keys of a file, with COLUMNS, and the digest of the rows that are made from them, by split.

    Raises SourceError for a file that is damaged or of another dataset.
    """
    try:
        with pq.ParquetFile(raw.path, page_checksum_verification=True) as file:
            header = json.loads(read_header(file.metadata.metadata, KEY))
            about, rows = (header["format"], header["dataset"], header["rows"]), file.metadata.num_rows
            if about != (FORMAT, dataset.name, rows) or rows > limits.MAX_KEYS:
                raise _refused(
                    raw, shorten(f"format {about[0]}, of {about[1]}, {about[2]} rows said and {rows:,} there", 200)
                )
            keys = pl.DataFrame(pl.from_arrow(file.read())).select(list(COLUMNS)).cast(dict(COLUMNS))  # type: ignore[arg-type]
        content = {str(split): str(digest) for split, digest in header["content"].items()}
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _refused(raw, "an invalid header") from error
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise _refused(raw, str(error).split("\n", 1)[0][:200] or type(error).__name__) from error
    tables = [layout.config for layout in tasks.layouts(dataset.task)]
    known = (
        pl.col("split").is_in(dataset.task.splits if len(tables) == 1 else tables)
        & pl.col("change").is_in([*CHANGES, *NOT_MADE])
        & (pl.col("record").is_null() == (pl.col("change") == "absent"))
        & (pl.col("records") >= 0)
    )
    if len(unknown := keys.filter(~known.fill_null(value=False))):
        raise _refused(raw, f"a row that says nothing known: {shorten(str(unknown.row(0)), 200)}")
    return keys, content


def _refused(raw: Raw, found: str) -> SourceError:
    return SourceError(
        f"{raw.name}: not the keys of published rows, or damaged",
        where=str(raw.path),
        found=found,
        expected=f"a file of format {FORMAT}, of this dataset and this raw source",
        todo="remove the file, then: embedding-datasets decide DATASET --published ORG/NAME@REVISION --raw-dir DIR",
    )
