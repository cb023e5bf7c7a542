"""ParaPhraser Plus: Russian news headlines of 2009 to 2020 in clusters of one event each, with a rubric (Gudkov et al., 2020)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from builders.errors import RecipeError
from builders.reading import json_members
from builders.reading.errors import malformed, shorten
from builders.shaping.cleaning import SHORT, each_text_once, is_short
from builders.shaping.folding import fold_text
from builders.shaping.rows import drop
from builders.shaping.sampling import hash_order, order, split
from builders.spec import Dropped, Prompts, RawFiles, Source, Tables, Version, by_hand, dataset, member
from builders.tasks import Classification

if TYPE_CHECKING:
    from pathlib import Path

    from builders.spec import Raw

RUBRICS = {
    "спорт": "sports",
    "происшествия": "incidents",
    "политика": "politics",
    "наука": "science",
    "культура": "culture",
    "экономика": "economics",
}
LABELS = tuple(RUBRICS.values())
SEED = "headline-classification"
CLUSTER = {"rubric": pl.String(), "headlines": pl.List(pl.String())}
# What the choice needs to know of a headline. Headlines of one hash are one headline: of ten million different ones two have
# the same 64 bits with a chance of three in a million, and then on every machine.
HEADLINE = {"id": pl.String(), "cluster": pl.String(), "label": pl.Int64(), "hash": pl.UInt64(), "short": pl.Boolean()}

ARCHIVE = by_hand(
    "ParaPhraserPlus.zip",
    "open http://paraphraser.ru/download/get?file_id=7 (ParaPhraser Plus, of http://paraphraser.ru/download/); the zip archive"
    " serves as it is, and so does the ParaPhraserPlus.json in it",
)

SOURCE = Source(
    name="headlines",
    title="ParaPhraser Plus, clusters of Russian news headlines",
    license="mit",
    license_note=(
        "As an author of the corpus states it on the Hub (merionum/ru_paraphraser). The headlines themselves were written by the"
        " news media that published them."
    ),
    homepage="http://paraphraser.ru",
    citation="gudkov2020paraphraserplus",
    files={"clusters": member(ARCHIVE, "ParaPhraserPlus/ParaPhraserPlus.json", name="ParaPhraserPlus.json")},
)


@dataset(
    "headline-classification",
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("clusters",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper; no cluster in two splits.",
        "2.0.0": Version(
            "Drawn from headlines that differ in more than case, punctuation and white space: where they do not, the first is"
            " kept, or none where the rubrics differ. Headlines of a single character are left out.",
            {"clean": True},
        ),
    },
    sample={"train_per_class": 2, "validation_per_class": 1, "test_per_class": 1},
    prompts=Prompts("Classify the topic or theme of the given news headline", rosberta=("clustering",), e5=("query",)),
)
def classification(
    raw: RawFiles,
    *,
    train_per_class: int = 6_000,
    validation_per_class: int = 2_000,
    test_per_class: int = 2_000,
    clean: bool = False,
) -> Tables:
    """Is a news headline about sports, incidents, politics, science, culture or economics?

    Every headline of a cluster is a row, with the cluster's rubric for its class; clusters under other rubrics are left out. A
    headline that stands several times among the rest is kept once, in its first cluster; to be `clean`, headlines are compared
    folded, and one under two rubrics is left out (builders.shaping.cleaning). As many headlines of each class; all that are
    taken of one cluster come into one split. Columns: id (String: `<cluster>-<place in it, 0-based>`); text (String);
    label (Int64: 0 sports, 1 incidents, 2 politics, 3 science, 4 culture, 5 economics); label_text (String).
    """
    ours, observed = _headlines(raw["clusters"], raw.scratch, clean=clean)
    others = observed["headlines"] - ours.height
    foreign = (Dropped("the rubric is none of the six", others, "all"),) if others else ()
    rows, repeated = _clean(ours) if clean else _once(ours)
    sizes = {"train": train_per_class, "validation": validation_per_class, "test": test_per_class}
    # A cluster in use gives one headline at least, so that no split looks beyond this many clusters of a class.
    first = order(
        rows.filter(pl.col("cluster").is_first_distinct()).select("cluster", "label"), key="cluster", seed=SEED
    )
    within = first.group_by("label", maintain_order=True).head(sum(sizes.values()))
    rows = rows.join(within, on="cluster", how="semi", maintain_order="left")
    frames = split(rows, sizes, by="label", key="id", group="cluster", seed=SEED)
    chosen = pl.concat(frames.values()).lazy().select("id")
    files = sorted(raw.scratch.glob("*.parquet"))
    texts = pl.scan_parquet(files, glob=False).join(chosen, on="id", how="semi").collect(engine="streaming")
    names = pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String)
    default = {
        name: frames[name].join(texts, on="id", maintain_order="left").select("id", "text", "label", label_text=names)
        for name in raw.splits
    }
    return Tables({"default": default}, (*foreign, *repeated), observed)


def _headlines(file: Raw, scratch: Path, *, clean: bool) -> tuple[pl.DataFrame, dict[str, int]]:
    """The headlines under the six rubrics (HEADLINE), whose texts go to files in `scratch`; and what was observed.

    clean: headlines that are equal when folded have one hash.

    Raises SourceError for two clusters of one name, RecipeError where one of the rubrics has no headline.
    """
    numbers = {rubric: number for number, rubric in enumerate(RUBRICS)}
    label = pl.col("rubric").str.to_lowercase().replace_strict(numbers, default=None, return_dtype=pl.Int64)
    count = pl.col("headlines").list.len()
    text = fold_text(pl.col("text")) if clean else pl.col("text")
    clusters, rows, seen = [pl.Series(dtype=pl.String)], [pl.DataFrame(schema=HEADLINE)], Counter[str]()
    for number, frame in enumerate(json_members(file, CLUSTER, key="cluster", optional=("rubric",))):
        clusters.append(frame["cluster"])
        seen.update(dict(frame.group_by(pl.col("rubric").fill_null("")).agg(count.sum()).iter_rows()))
        ours = frame.with_columns(label=label).filter(pl.col("label").is_not_null(), count > 0)
        each = ours.with_columns(place=pl.int_ranges(count)).explode("headlines", "place")
        each = each.select("cluster", "label", id=pl.concat_str("cluster", pl.lit("-"), "place"), text="headlines")
        each.select("id", "text").write_parquet(scratch / f"{number:06d}.parquet", compression="lz4")
        hashes = hash_order(each.select(text).to_series(), SEED).alias("hash")
        rows.append(each.select("id", "cluster", "label", hashes, short=is_short(pl.col("text"))))
    names, headlines = pl.concat(clusters), pl.concat(rows)
    if names.n_unique() < names.len():
        found = shorten(names.filter(names.is_duplicated())[0])
        raise malformed(
            file, "", "two clusters of one name", found=found, expected="a name of its own for each cluster"
        )
    missing = [rubric for rubric, number in numbers.items() if number not in headlines["label"]]
    if missing:
        raise RecipeError(
            f"no headline under {', '.join(missing)}",
            where=file.name,
            found=f"the rubrics {', '.join(map(shorten, sorted(seen)[:30])) or 'of no cluster'}",
            expected=", ".join(RUBRICS),
            todo="check that the raw file is complete; where it spells a rubric in another way, add that to RUBRICS",
        )
    observed = {"clusters": names.len(), "headlines": seen.total()}
    for rubric, headings in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        observed[f"headlines under {rubric}" if rubric else "headlines without a rubric"] = headings
    return headlines, observed


def _clean(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Each headline where it stands first, if that is under one rubric, and what became of the others."""
    rows, none = drop(rows, pl.col("short"), SHORT, split="all")
    rows, repeated = each_text_once(rows, text="hash")
    return rows, (*none, *repeated)


def _once(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Each headline where it stands first, and what became of the others."""
    first = rows["hash"].is_first_distinct()
    kept = rows.filter(first)
    earlier = kept.select("hash", earlier="label")
    repeated = rows.filter(~first).join(earlier, on="hash", maintain_order="left")
    other = pl.col("label") != pl.col("earlier")
    repeated, contradicting = drop(repeated, other, "the headline stands earlier, under another rubric", split="all")
    _, same = drop(repeated, pl.lit(value=True), "the headline stands earlier, under the same rubric", split="all")
    return kept, (*contradicting, *same)
