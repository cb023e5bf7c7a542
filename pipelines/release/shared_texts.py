"""What datasets share: texts, as far as releases of them were compared; and pairs of two sets of training data, by their hashes.

A pair of two sets is trained on twice, and a set that is left out is still there in part. Nothing is dropped: sets stay as their
sources are.

contamination_map.json is committed; `contamination map` writes it. It holds `datasets`, what was compared (dataset, version,
content_sha256; a dataset without version is the raw files of a source), and `shared`: for each column of a split with texts of
another dataset, `of` (whose texts), `in` (where they are), and how many different rows of `of` have each kind. No build reads
another release.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.batches import map_in_order
from builders.errors import ReleaseError
from builders.shaping.folding import fold_texts
from cards import markdown
from cards.evidence import Comparison, SharedTexts
from pipelines.process import tables
from pipelines.process.stages import counted, stage
from pipelines.release.folder import read_manifest, version_dirs

BATCH_ROWS = 20_000
KINDS = ("pairs", "folded_pairs", "queries", "folded_queries")
SCHEMA = {"set": pl.UInt16, "hash": pl.UInt64, "row": pl.UInt32}


@dataclass(frozen=True)
class PairSet:
    """A set of training data in a release: its name is the config. sample: not the complete set."""

    dataset: str
    version: str
    name: str
    sample: bool
    rows: int
    files: tuple[Path, ...] = field(repr=False)


@dataclass(frozen=True)
class SharedPairs:
    """What two sets share: different pairs and different queries, exactly and folded (builders.shaping.folding.fold_text_1).

    share: of the folded pairs of the set that has fewer. query, positive: the first shared pair in the order of `first`, as it is
    there; a query without positive where the sets share queries alone.
    """

    first: PairSet
    second: PairSet
    pairs: int
    folded_pairs: int
    queries: int
    folded_queries: int
    share: float
    query: str
    positive: str | None


def find_sets(datasets: Sequence[tuple[str, str]], releases: Path) -> tuple[list[PairSet], list[str]]:
    """The sets of datasets that are built, and the names of the datasets that are not.

    datasets: name and version; where that version is not built, the newest that is. releases: the folder with
    `<dataset>/<version>`.

    Raises ReleaseError for an invalid release.
    """
    found, missing = list[PairSet](), list[str]()
    for dataset, version in datasets:
        candidates = [releases / dataset / version, *reversed(version_dirs(releases / dataset))]
        manifest = next(filter(None, map(read_manifest, candidates)), None)
        if manifest is None:
            missing.append(dataset)
            continue
        folder = releases / dataset / manifest.version
        found += [
            PairSet(
                dataset,
                manifest.version,
                table.config,
                not manifest.complete,
                table.rows,
                tuple(folder / file.path for file in table.files),
            )
            for table in manifest.tables
        ]
    return found, missing


def find_shared_pairs(sets: Sequence[PairSet]) -> list[SharedPairs]:
    """What each two of some sets share, those with most pairs first; sets that share nothing are left out.

    Memory: about 200 bytes a pair, whatever its texts; the files are read in batches, on several threads.

    Raises ReleaseError for files that cannot be read.
    """
    hashes: dict[str, list[pl.DataFrame]] = {kind: [] for kind in KINDS}
    with stage("hashing pairs", total=sum(pair_set.rows for pair_set in sets), unit="rows") as advance:
        for number, pair_set in enumerate(sets):
            for kind, frame in _hash_set(pair_set, number, advance).items():
                hashes[kind].append(frame)
    sizes = [frame.height for frame in hashes["folded_pairs"]]
    shared = {kind: _count_shared(frames) for kind, frames in hashes.items()}
    found = []
    for first, second in sorted({both for counts in shared.values() for both in counts}):
        counts = {kind: shared[kind].get((first, second), (0, 0, 0)) for kind in KINDS}
        pairs, queries = counts["folded_pairs"], counts["folded_queries"]
        query, positive = _example(sets[first], pairs) if pairs[0] else (_example(sets[first], queries)[0], None)
        share = pairs[0] / min(sizes[first], sizes[second])
        numbers = {kind: count for kind, (count, _, _) in counts.items()}
        found.append(SharedPairs(sets[first], sets[second], **numbers, share=share, query=query, positive=positive))
    return sorted(
        found, key=lambda pairs: (-pairs.folded_pairs, -pairs.folded_queries, pairs.first.name, pairs.second.name)
    )


def _hash_set(pair_set: PairSet, number: int, advance: Callable[[int], None]) -> dict[str, pl.DataFrame]:
    """The different hashes of a set, each with the first row that has it, by kind."""
    parts: dict[str, list[pl.DataFrame]] = {kind: [pl.DataFrame([], SCHEMA)] for kind in KINDS}
    for hashes in map_in_order(_hash_batch, counted(_batches(pair_set), advance)):
        for kind, frame in hashes.items():
            parts[kind].append(frame.select(pl.lit(number, pl.UInt16).alias("set"), "hash", "row"))
    return {kind: pl.concat(frames).unique("hash", keep="first", maintain_order=True) for kind, frames in parts.items()}


def _batches(pair_set: PairSet) -> Iterator[pl.DataFrame]:
    """The pairs of a set, with the number of their `row`."""
    first_row = 0
    for path in pair_set.files:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=["query", "positives"]):
                    rows = cast("pl.DataFrame", pl.from_arrow(pa.Table.from_batches([batch])))
                    yield rows.with_row_index("row", first_row)
                    first_row += rows.height
        except (pa.ArrowException, OSError) as error:
            raise ReleaseError(
                "a data file cannot be read",
                where=str(path),
                found=str(error).split("\n", 1)[0][:200],
                todo=f"build it again: embedding-datasets build {pair_set.dataset}@{pair_set.version} --force",
            ) from error


def _hash_batch(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The hashes of rows by kind, with the numbers of the rows. They differ between versions of polars: they are never stored."""
    rows = rows.with_columns(folded=fold_texts(rows["query"]))
    pairs = rows.explode("positives", empty_as_null=False)
    pairs = pairs.with_columns(folded_positive=fold_texts(pairs["positives"]))
    return {
        "pairs": _hashed(pairs, "query", "positives"),
        "folded_pairs": _hashed(pairs, "folded", "folded_positive"),
        "queries": _hashed(rows, "query"),
        "folded_queries": _hashed(rows, "folded"),
    }


def _hashed(rows: pl.DataFrame, *texts: str) -> pl.DataFrame:
    return rows.select("row", hash=pl.struct(texts).hash())


def _count_shared(frames: Sequence[pl.DataFrame]) -> dict[tuple[int, int], tuple[int, int, int]]:
    """How many hashes each two sets share, and the row and the hash of the first of them, by the numbers of the sets."""
    hashes = pl.concat([pl.DataFrame([], SCHEMA), *frames])
    repeated = hashes.filter(pl.col("hash").is_duplicated())
    counted = (
        repeated.join(repeated, on="hash", suffix="_of_second")
        .filter(pl.col("set") < pl.col("set_of_second"))
        .group_by("set", "set_of_second")
        .agg(pl.len(), pl.col("row").min(), pl.col("hash").sort_by("row", "hash").first())
    )
    return {(first, second): (count, row, key) for first, second, count, row, key in counted.iter_rows()}


def _example(pair_set: PairSet, shared: tuple[int, int, int]) -> tuple[str, str | None]:
    """The query of a row, and its positive that gives the folded pair its hash. shared: count, row, hash."""
    _, row, key = shared
    rows = pl.scan_parquet(list(pair_set.files), glob=False, row_index_name="row").slice(row, 1)
    texts = rows.select("row", "query", "positives").collect()
    query, positives = texts.select("query", "positives").row(0)
    keys = _hash_batch(texts)["folded_pairs"]["hash"]
    return query, next((text for text, other in zip(positives, keys, strict=True) if other == key), None)


MAP = Path(__file__).with_name("contamination_map.json")


def read_map() -> dict[str, Any]:
    """The map of our own releases."""
    return dict(json.loads(MAP.read_text("utf-8")))


def shared_with_others(dataset: str, content_sha256: str, compared: dict[str, Any] | None = None) -> Comparison | None:
    """The texts that other datasets have; None if a release with this content was not compared.

    compared: a map, by default ours.
    """
    compared = read_map() if compared is None else compared
    names = {dataset["dataset"] for dataset in compared["datasets"]}
    versions = {release["version"] for release in compared["datasets"] if release["content_sha256"] == content_sha256}
    if dataset not in names or not versions:
        return None
    shared = tuple(
        SharedTexts(_table(pair["of"]), pair["in"]["dataset"], pair["in"]["version"], _table(pair["in"]), pair["kinds"])
        for pair in compared["shared"]
        if pair["of"]["dataset"] == dataset and pair["of"]["version"] in versions
    )
    return Comparison(len(names) - 1, shared)


def _table(side: dict[str, str]) -> str:
    config = "" if side["config"] == "default" else f"{side['config']}/"
    return f"{config}{side['split']}.{side['column']}"


EXAMPLE = 60  # characters of each text
NOTE = (
    "pairs: different pairs of a query and a positive that both sets have, ignoring case, punctuation and white space; exact: the"
    " same characters. share: of the set that has fewer pairs. queries: different queries of both, whatever their positives."
    " Nothing is removed: docs/training.md."
)


def shared_pairs_page(
    shared: Sequence[SharedPairs], sets: Sequence[PairSet], missing: Sequence[str], width: int | None = None
) -> list[str]:
    """The table as lines. sets: that were compared. missing: datasets that are not built. width: as for tables.table."""
    rows = [["set", "other set", "pairs", "share", "exact", "queries", "example"]]
    for pairs in shared:
        numbers = (f"{pairs.folded_pairs:,}", f"{pairs.share:.1%}", f"{pairs.pairs:,}", f"{pairs.folded_queries:,}")
        rows.append([pairs.first.name, pairs.second.name, *numbers, _example_cell(pairs)])
    page = []
    if shared:
        numbers_of = ("pairs", "share", "exact", "queries")
        optional = ("exact", "queries") if width is not None and width < 120 else ()
        page = [*tables.table(rows, width=width, optional=optional, numbers=numbers_of).splitlines(), ""]
    samples = sum(pair_set.sample for pair_set in sets)
    words = f"{len(sets)} sets compared" + (f", {samples} of them a sample or a part" if samples else "")
    page += tables.wrap(f"{words}." if shared else f"{words}: no two have a query or a pair in common.")
    if missing:
        page += tables.wrap(f"not built, not compared: {', '.join(missing)}.")
    return page + (tables.wrap(NOTE) if shared else [])


def to_json(shared: SharedPairs) -> dict[str, Any]:
    """What two sets share, for programs."""
    return {
        "kind": "pair_in_other_dataset",
        "set": _name(shared.first),
        "other_set": _name(shared.second),
        "pairs": shared.pairs,
        "folded_pairs": shared.folded_pairs,
        "queries": shared.queries,
        "folded_queries": shared.folded_queries,
        "share": shared.share,
        "example": {"query": shared.query, "positive": shared.positive},
    }


def _name(pair_set: PairSet) -> dict[str, Any]:
    return {
        "dataset": pair_set.dataset,
        "version": pair_set.version,
        "config": pair_set.name,
        "sample": pair_set.sample,
    }


def _example_cell(shared: SharedPairs) -> str:
    texts = [shared.query] if shared.positive is None else [shared.query, shared.positive]
    return " | ".join(markdown.shorten(markdown.visible(" ".join(part.split())), EXAMPLE) for part in texts)
