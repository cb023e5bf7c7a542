"""Sets of pairs from sources that do not fit in memory: the most popular pairs of a source, and a sample of them.

The ruMTEB paper filters five Russian sources "by content popularity (e.g. views, ratings, votes)", without its thresholds, and
samples what is left. Here the pool to sample from is the smallest top of the ranking that has twice as many rows as the set,
after long texts and duplicates are gone.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import msgspec
import polars as pl

from builders.batches import log_taken_over, run_once
from builders.shaping.benchmark_index import BenchmarkIndex, read_benchmark_index
from builders.shaping.contrastive import make_pairs
from builders.shaping.measurements import LIMIT, SPLIT, Measurements, drop_long, hash_texts, read_tokens, texts_of
from builders.shaping.rows import drop_each, join_tables, merge_dropped
from builders.shaping.sampling import hash_order, too_few
from builders.shaping.text import WHITE_SPACE
from builders.spec import Dropped, Raw, RawFiles, Tables

BATCH_ROWS = 20_000  # of a batch and a scratch file, at least
TEXTS, RANKS, DROPPED = "texts.parquet", "ranks.arrow", "dropped.json"  # of a batch
TIMES = 2  # the size of a pool, in sizes of its set


@dataclass(frozen=True)
class PairSet:
    """A set whose rows are one query and one positive, and how its source ranks them.

    config, rows: of the set. read: batches of the source, from its raw files: number (Int64: the id in the source), query and
    positive (String, may be null), the columns of `popularity`, and what the conditions need. popularity: columns of numbers, the
    most important first; without any, all rows are alike. checks: conditions of rows to drop, by reason, in their order.
    unique_queries: of rows with equal queries the first stays. parts: keys of raw files that `read` reads one after the other, so
    that a killed build reads those that are finished no more; without any, all is one part.
    """

    config: str
    rows: int
    read: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]
    popularity: tuple[str, ...] = ()
    checks: Mapping[str, pl.Expr] = field(default_factory=lambda: MappingProxyType({}))
    unique_queries: bool = True
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pool:
    """The rows to sample from (id, query, positives, negatives), in the order of the source, and how they were found."""

    rows: pl.DataFrame
    dropped: tuple[Dropped, ...]
    observed: dict[str, int]


def build_sets(
    raw: RawFiles,
    source: str,
    sets: tuple[PairSet, ...],
    *,
    times: int = TIMES,
    limit: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """The tables of the sets, each a sample of its pool.

    raw: also has the keys `index` and `tokens`. source: its name, with which ids begin. times, limit: as in select_pool. clean:
    as in builders.shaping.contrastive.make_pairs. Dropped rows are counted for each set, under the split `<config>/train`.

    Raises SourceError for texts that were not measured.
    """
    index, tokens = read_benchmark_index(raw.whole("index")), read_tokens(raw.whole("tokens"))
    built = []
    for pair_set in sets:
        pool = select_pool(
            pair_set, raw.files, source, tokens, raw.scratch, checkpoints=raw.checkpoints, times=times, limit=limit
        )
        sampled = sample_pool(pool, pair_set.config, index, size=pair_set.rows, clean=clean)
        split = f"{pair_set.config}/{SPLIT}"
        built.append(replace(sampled, dropped=tuple(replace(each, split=split) for each in sampled.dropped)))
    return join_tables(*built)


def sample_pool(
    pool: Pool, config: str, index: BenchmarkIndex, *, size: int, negatives: int = 0, clean: bool = False
) -> Tables:
    """The table of a config from its pool, by builders.shaping.contrastive.make_pairs."""
    made = make_pairs(pool.rows, config, index, size=size, negatives=negatives, clean=clean, deduplicate=False)
    return join_tables(Tables({}, pool.dropped), made, Tables({}, observed=pool.observed))


def texts_to_measure(sets: tuple[PairSet, ...], source: str, files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """The texts of all rows that could be in a pool of these sets, in batches: text (String)."""
    for pair_set in sets:
        for rows, _ in _candidates(pair_set, files, source):
            yield texts_of(rows)


def select_pool(
    pair_set: PairSet,
    files: Mapping[str, Raw],
    source: str,
    tokens: Measurements | None,
    scratch: Path,
    *,
    checkpoints: Path | None = None,
    times: int = TIMES,
    limit: int = LIMIT,
) -> Pool:
    """The pool of a set: the first rows of its ranking, `times` as many as the set has, or all if there are fewer.

    Texts lose white space at their ends. Rows with an empty text, whose positive is the query, that meet a condition of the set,
    or with a text of more than `limit` tokens are dropped. The others are ranked: the greatest popularity first, null last, then
    by number, then in the order of the source. Of rows with the same number, the same query and positive, or the same query
    (after Unicode normalization to NFC), the first stays. Without popularity the rows of the pool are the first in hash
    order, the order that make_pairs samples in. Observed are counts, and of the last row in the pool the popularity.

    Only numbers and hashes of the rows are in memory, about 50 bytes each; texts are in files in `scratch`, or in `checkpoints`,
    from which the next build takes the parts of the source that are finished, and of another part its batches.

    Raises SourceError for texts that were not measured, RecipeError for a source without records.
    """
    total = 0
    ranking: list[pl.DataFrame] = []
    parts: list[tuple[Path, int]] = []
    dropped: list[Dropped] = []
    names = pair_set.parts or ("all",)
    folders = [(checkpoints or scratch) / f"{pair_set.config}-{name}" for name in names]
    log_taken_over(f"parts of {pair_set.config}", folders)
    for name, folder in zip(names, folders, strict=True):
        own = {name: files[name]} if pair_set.parts else files
        store = partial(_store_part, pair_set=pair_set, files=own, source=source, tokens=tokens, limit=limit)
        for stored in sorted(run_once(folder, store, resumes=True).iterdir()):
            ranks = pl.read_ipc(stored / RANKS)
            ranking.append(ranks.with_columns(row=pl.int_range(total, total + ranks.height, dtype=pl.UInt32)))
            parts.append((stored / TEXTS, total))
            total += ranks.height
            dropped += msgspec.json.decode((stored / DROPPED).read_bytes(), type=list[Dropped])
    if not parts:
        raise too_few("records", "none", "one", where=f"{source}, {pair_set.config}")
    read = total + sum(each.count for each in dropped if not each.reason.endswith("(texts)"))
    ranked, repeated = _rank(ranking, pair_set, f"{source}:{pair_set.config}:")
    pool = ranked.head(times * pair_set.rows)
    observed = {
        f"rows of {pair_set.config} in the source": read,
        **({f"rows of {pair_set.config} of at most {limit} tokens a text": total} if tokens else {}),
        f"rows of {pair_set.config} after deduplication": ranked.height,
        f"rows of {pair_set.config} in the pool": pool.height,
    }
    for name in pair_set.popularity:
        if pool.height and (value := pool[name][-1]) is not None:
            observed[f"{name} of the last row in the pool of {pair_set.config}"] = int(value)
    texts = _take_texts(parts, pool, scratch)
    for folder in folders if checkpoints is None else ():
        shutil.rmtree(folder)
    return Pool(texts, merge_dropped([*dropped, *repeated]), observed)


def _store_part(
    folder: Path, *, pair_set: PairSet, files: Mapping[str, Raw], source: str, tokens: Measurements | None, limit: int
) -> None:
    """Write the batches of a part of a source, a folder each; those of a killed build are read again, and that is all."""
    finished = sum(path.suffix != ".part" for path in folder.iterdir())
    for number, (rows, of_batch) in enumerate(_candidates(pair_set, files, source, finished), finished):
        short, of_length = drop_long(rows, tokens, limit) if tokens else (rows, ())
        store = partial(_store_batch, rows=short, dropped=(*of_batch, *of_length), pair_set=pair_set)
        run_once(folder / f"{number:06d}", store)


def _store_batch(folder: Path, *, rows: pl.DataFrame, dropped: tuple[Dropped, ...], pair_set: PairSet) -> None:
    """Write the rows of a batch, what their ranking needs, and what was dropped."""
    _ranked_columns(rows, pair_set).write_ipc(folder / RANKS)
    rows.select("id", "query", "positives", "negatives").write_parquet(folder / TEXTS)
    (folder / DROPPED).write_bytes(msgspec.json.encode(dropped))


def _candidates(
    pair_set: PairSet, files: Mapping[str, Raw], source: str, first: int = 0
) -> Iterator[tuple[pl.DataFrame, tuple[Dropped, ...]]]:
    """The rows of a set that its source offers, in batches: id, query, positives, negatives, number, and popularity.

    first: the number of the first batch that is wanted.
    """
    for batch in islice(_gather(pair_set.read(files)), first, None):
        stripped = batch.with_columns(
            *(pl.col(name).str.strip_chars(WHITE_SPACE) for name in ("query", "positive")),
            id=pl.format(f"{source}:{pair_set.config}:{{}}", "number"),
        )
        conditions = {
            **pair_set.checks,
            "an empty query": pl.col("query").fill_null("") == "",
            "an empty positive": pl.col("positive").fill_null("") == "",
            "the positive is the query": pl.col("positive") == pl.col("query"),
        }
        kept, dropped = drop_each(stripped, conditions, split=SPLIT)
        yield (
            kept.select(
                "id",
                "query",
                pl.concat_list("positive").alias("positives"),
                pl.lit([], pl.List(pl.String)).alias("negatives"),
                "number",
                *pair_set.popularity,
            ),
            dropped,
        )


def _gather(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in batches of at least BATCH_ROWS: a few rows cost as much time as many."""
    gathered: list[pl.DataFrame] = []
    for batch in batches:
        gathered.append(batch)
        if sum(frame.height for frame in gathered) >= BATCH_ROWS:
            yield pl.concat(gathered)
            gathered = []
    if gathered:
        yield pl.concat(gathered)


def _ranked_columns(rows: pl.DataFrame, pair_set: PairSet) -> pl.DataFrame:
    """What the ranking needs of a batch: number, popularity or hash, and the hashes of both texts in NFC."""
    texts = rows.select("query", positive=pl.col("positives").list.first()).select(pl.all().str.normalize("NFC"))
    order = {} if pair_set.popularity else {"hash": hash_order(rows["id"], f"training {pair_set.config}")}
    hashes = {f"{name} hash": pl.Series(hash_texts(texts[name]), dtype=pl.UInt64) for name in texts.columns}
    return rows.select("number", *pair_set.popularity).with_columns(**order, **hashes)


def _rank(parts: list[pl.DataFrame], pair_set: PairSet, prefix: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The ranking of rows without repeated ones. parts: the rows; emptied. prefix: of an id, before its number."""
    descending = [*(True for _ in pair_set.popularity), False, False]
    ranked = pl.concat(parts).sort(*pair_set.popularity, "number", "row", descending=descending, nulls_last=True)
    parts.clear()
    before = "a row ranked above it" if pair_set.popularity else "an earlier row"
    # Equal pairs have equal queries: to compare all rows by both hashes would take more memory than the rows.
    is_shared = pl.col("query hash").is_duplicated()
    is_copy = ~pl.struct(pl.col("query hash", "positive hash").filter(is_shared)).is_first_distinct()
    conditions = {
        f"the id of {before}": ~pl.col("number").is_first_distinct(),
        f"the query and positive of {before}": pl.col("row").is_in(
            pl.col("row").filter(is_shared).filter(is_copy).implode()
        ),
    }
    if pair_set.unique_queries:
        conditions[f"the query of {before}"] = ~pl.col("query hash").is_first_distinct()
    ranked, dropped = drop_each(ranked, conditions, split=SPLIT, key="number")
    if not pair_set.popularity:
        ranked = ranked.sort("hash", "row")
    return ranked, tuple(
        replace(each, examples=tuple(f"{prefix}{number}" for number in each.examples)) for each in dropped
    )


def _take_texts(parts: list[tuple[Path, int]], pool: pl.DataFrame, scratch: Path) -> pl.DataFrame:
    """The rows of a pool from files, each with the number of its first row, in their order.

    Rows that polars selects keep all texts of their frame in memory. So those of each file are written to a file alone.
    """
    selected = [scratch / f"{number}.selected" for number in range(len(parts))]
    for (part, first), file in zip(parts, selected, strict=True):
        rows = pl.read_parquet(part).with_row_index("row", first)
        rows.join(pool, on="row", how="semi", maintain_order="left").drop("row").write_parquet(file)
    texts = pl.concat([pl.read_parquet(file, glob=False) for file in selected])
    for file in selected:
        file.unlink()
    return texts
