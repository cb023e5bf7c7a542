"""What a builder of training pairs declares for mined negatives: raw files, versions, and two options of its recipe.

The rankings are of version 1.0.0. Versions 1.1.0 and 2.1.0 are 1.0.0 and 2.0.0 with the column `mined`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import polars as pl

from builders.raw_files import RawFile, by_hand
from builders.shaping.benchmark_index import read_benchmark_index
from builders.shaping.contrastive import CLEANED, SPLIT
from builders.shaping.mined_negatives import Ranking, add_mined, read_ranking
from builders.spec import Mining, RawFiles, Tables, Version

MINED_VERSION = "1.0.0"
COUNT = 7  # negatives of a query, as in the paper
RANKS = (21, 100)
BATCH = 10_000  # rows whose lists are in memory
NOTES = (
    "with the column `mined`: hard negatives that an embedding model ranked 21st to 100th for the query, drawn from that"
    " ranking in an order given by hashes. All other columns are the same."
)


def mined_files(dataset: str, configs: Sequence[str]) -> dict[str, RawFile]:
    """The raw files with the rankings of the configs of a dataset, by key."""
    instructions = (
        f"documents as an embedding model ranks them: embedding-datasets build {dataset}@{MINED_VERSION}, then"
        f" embedding-datasets decide {dataset} --model intfloat/multilingual-e5-small --raw-dir DIR; or copy the file from"
        " somebody who has it. The versions without mined negatives do not need it"
    )
    return {_key(config): by_hand(f"mined/{config}.parquet", instructions) for config in configs}


def mining(configs: Sequence[str]) -> Mining:
    """Which version of a dataset is mined, and into which raw files."""
    return Mining(MINED_VERSION, {config: _key(config) for config in configs})


def training_versions(notes: str, configs: Sequence[str]) -> dict[str, Version]:
    """The four versions of a dataset whose negatives are mined. notes: of 1.0.0."""
    needs = tuple(map(_key, configs))
    return {
        "1.0.0": Version(notes),
        "1.1.0": Version(f"1.0.0 {NOTES}", {"mined": COUNT}, needs=needs),
        "2.0.0": Version(CLEANED, {"clean": True}),
        "2.1.0": Version(f"2.0.0 {NOTES}", {"clean": True, "mined": COUNT}, needs=needs),
    }


def with_mined(recipe: Callable[..., Tables]) -> Callable[..., Tables]:
    """A recipe of training pairs with two more options, which add the column `mined` (List(String)) to every table.

    mined: how many hard negatives a row gets, 0 for no column. mined_ranks: the ranks of the documents that they are drawn from,
    the first and the last (builders.shaping.mined_negatives.add_mined). The recipe must have the option `clean`, and the raw
    file `index`: with it, texts of the index are not drawn.
    """

    @wraps(recipe)
    def mined_recipe(raw: RawFiles, *, mined: int = 0, mined_ranks: tuple[int, int] = RANKS, **options: Any) -> Tables:
        tables = recipe(raw, **options)
        if not mined:
            return tables
        ranked, index = tables, None
        if options.get("clean"):  # the ranking is of the table before it was cleaned
            scratch = raw.scratch / "ranked"
            scratch.mkdir()
            ranked = recipe(replace(raw, scratch=scratch), **options | {"clean": False})
            index = read_benchmark_index(raw.whole("index"))
        frames, observed = {}, dict(tables.observed)
        for config, splits in tables.frames.items():
            file, ranks = raw.whole(_key(config)), (mined_ranks[0], mined_ranks[1])
            ranking = read_ranking(file, ranked.frames[config][SPLIT].lazy().collect(), ranks, index)
            rows = _write_mined(splits[SPLIT].lazy().collect(), ranking, mined, raw.scratch / f"mined-{config}")
            frames[config] = {SPLIT: rows}
            observed[f"queries of {config} ranked by {ranking.header.model}"] = ranking.header.queries.count
            short = rows.select((pl.col("mined").list.len() < mined).sum()).collect().item()
            observed[f"rows of {config} with fewer than {mined} mined negatives"] = short
        return replace(tables, frames=frames, observed=observed)

    own = inspect.signature(recipe)
    more = [inspect.signature(mined_recipe, follow_wrapped=False).parameters[name] for name in ("mined", "mined_ranks")]
    mined_recipe.__signature__ = own.replace(parameters=[*own.parameters.values(), *more])  # type: ignore[attr-defined]
    return mined_recipe


def _write_mined(rows: pl.DataFrame, ranking: Ranking, count: int, folder: Path) -> pl.LazyFrame:
    """The rows with the column `mined`, from files: the texts of all its lists need not be in memory at once."""
    folder.mkdir()
    paths = []
    for number, batch in enumerate(list(rows.iter_slices(BATCH)) or [rows]):
        paths.append(folder / f"{number:06}.parquet")
        add_mined(batch, ranking, count).write_parquet(paths[-1])
    return pl.scan_parquet(paths)


def _key(config: str) -> str:
    return f"mined-{config}"
