"""ParaPhraser Plus: Russian news headlines from 2009 to 2020, in clusters about one event each (Gudkov et al., 2020)."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from builders.errors import RecipeError
from builders.published import published_files
from builders.raw_files import by_hand, member
from builders.reading.archives import open_raw
from builders.reading.json import json_lines, json_members
from builders.reading.values import shorten
from builders.shaping.cleaning import DEDUPLICATED, SHORT, deduplicate_texts, is_short, keep_first_texts
from builders.shaping.folding import fold_text_1
from builders.shaping.rows import drop, number_rows, refuse
from builders.shaping.sampling import count_left_over, hash_order, sort_by_hash, split
from builders.spec import OWN_DRAW, Dropped, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

RUBRICS = {
    "спорт": "sports",
    "происшествия": "incidents",
    "политика": "politics",
    "наука": "science",
    "культура": "culture",
    "экономика": "economics",
}
RUBRIC = pl.col("rubric").str.strip_chars().str.to_lowercase()
LABELS = tuple(RUBRICS.values())
SEED = "headline-classification"
CLUSTER = {"rubric": pl.String(), "headlines": pl.List(pl.String())}
# What is held in memory of every headline; the texts are in files. Headlines with equal hashes count as equal: among ten million
# different headlines, a collision of 64-bit hashes has a chance of three in a million, and happens on all machines or on none.
HEADLINE = {"id": pl.String(), "cluster": pl.String(), "label": pl.Int64(), "hash": pl.UInt64(), "short": pl.Boolean()}

# How a file begins that is one object of clusters, {"0": {"rubric": ...; any other file has one cluster per line.
OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:\}|"[^"]*"\s*:\s*\{)')
HEAD = 1 << 12  # bytes

ARCHIVE = by_hand(
    "ParaPhraserPlus.zip",
    "open http://paraphraser.ru/download/get?file_id=7 (ParaPhraser Plus on http://paraphraser.ru/download/) and save the zip"
    " archive, or the ParaPhraserPlus.json in it; a file of JSON lines, one cluster per line, may have that name too",
)

SOURCE = Source(
    name="headlines",
    title="ParaPhraser Plus, clusters of Russian news headlines",
    license="mit",
    license_note=(
        "As stated by an author of the corpus on the Hub (merionum/ru_paraphraser). The headlines were written by the news media"
        " that published them."
    ),
    homepage="http://paraphraser.ru",
    citation="gudkov2020paraphraserplus",
    files={
        "clusters": member(ARCHIVE, "ParaPhraserPlus/ParaPhraserPlus.json", name="ParaPhraserPlus.json"),
        **published_files("headline-classification"),
    },
)


def read_records(raw: RawFiles) -> pl.LazyFrame:
    """All headlines, from files in `scratch`: id, text, label (Int64) and label_text (String), null if not of the six rubrics."""
    nothing = pl.DataFrame(schema={"cluster": pl.String(), **CLUSTER})
    for number, frame in enumerate(chain([nothing], _read_clusters(raw["clusters"]))):
        each = explode_headlines(frame).with_columns(label_text=label_name(pl.col("label")))
        each.drop("cluster").write_parquet(raw.scratch / f"{number:06d}.parquet", compression="lz4")
    return pl.scan_parquet(sorted(raw.scratch.glob("*.parquet")), glob=False)


@dataset(
    "headline-classification",
    pretty_name="News headline classification (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("clusters",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper; no cluster in two splits.",
        "2.0.0": Version(DEDUPLICATED, {"clean": True}),
    },
    sample={"train_per_class": 2, "validation_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=read_records,
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

    Balanced splits of the headlines of all clusters in one of the six categories, each labelled with its cluster's category. No
    cluster is in two splits. Of equal headlines, the first is kept. `clean` compares headlines ignoring case, punctuation and
    white space, and drops those that are empty or a single character, and those in different categories
    (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: `<cluster>-<position in it, from 0>`); text (String);
    label (Int64: 0 sports, 1 incidents, 2 politics, 3 science, 4 culture, 5 economics); label_text (String).
    """
    headlines, observed = _read_headlines(raw["clusters"], raw.scratch, clean=clean)
    others = observed["headlines"] - headlines.height
    dropped = (Dropped("the rubric is not one of the six", others, "all"),) if others else ()
    rows, repeated = _deduplicate(headlines, clean=clean)
    sizes = {"train": train_per_class, "validation": validation_per_class, "test": test_per_class}
    chosen = _limit_clusters(rows, sum(sizes.values()))
    frames = split(chosen, sizes, by="label", key="id", group="cluster", seed=SEED)
    drawn = pl.concat(frames.values())
    texts = (
        pl.scan_parquet(sorted(raw.scratch.glob("*.parquet")), glob=False)
        .join(drawn.lazy().select("id"), on="id", how="semi")
        .collect(engine="streaming")
    )
    names = label_name(pl.col("label"))
    observed |= count_left_over(rows.with_columns(label=names), [drawn.with_columns(label=names)], by="label")
    default = {
        name: frames[name].join(texts, on="id", maintain_order="left").select("id", "text", "label", label_text=names)
        for name in raw.splits
    }
    return Tables({"default": default}, dropped + repeated, observed)


def _read_headlines(file: Raw, scratch: Path, *, clean: bool) -> tuple[pl.DataFrame, dict[str, int]]:
    """The headlines under the six rubrics (HEADLINE), and counts of all clusters and headlines.

    The headlines' texts (id, text) are written to Parquet files in `scratch`. clean: headlines that are equal after folding get
    the same hash.

    Rubrics are compared in lower case, without blanks around them.

    Raises SourceError for a repeated cluster name, RecipeError if one of the rubrics has no headline.
    """
    text = fold_text_1(pl.col("text")) if clean else pl.col("text")
    clusters, rows, counts = [pl.Series(dtype=pl.String)], [pl.DataFrame(schema=HEADLINE)], Counter[str]()
    for number, frame in enumerate(_read_clusters(file)):
        clusters.append(frame["cluster"])
        size = pl.col("headlines").list.len().sum()
        counts.update(dict(frame.group_by(pl.col("rubric").fill_null("")).agg(size).iter_rows()))
        each = explode_headlines(frame.filter(RUBRIC.is_in(list(RUBRICS))))
        each.select("id", "text").write_parquet(scratch / f"{number:06d}.parquet", compression="lz4")
        hashes = hash_order(each.select(text).to_series(), SEED).alias("hash")
        rows.append(each.select("id", "cluster", "label", hashes, short=is_short(pl.col("text"))))
    names, headlines = pl.concat(clusters).alias("cluster").to_frame(), pl.concat(rows)
    repeated = ~pl.col("cluster").is_first_distinct()
    refuse(
        names,
        repeated,
        file,
        "repeated cluster name",
        found="cluster",
        expected="a different name for each cluster",
        unit="cluster",
    )
    missing = [rubric for number, rubric in enumerate(RUBRICS) if number not in headlines["label"]]
    if missing:
        raise RecipeError(
            f"no headline under {', '.join(missing)}",
            where=file.name,
            found=f"the rubrics {', '.join(map(shorten, sorted(counts)[:30]))}" if counts else "no cluster",
            expected=", ".join(RUBRICS),
            todo="check that the raw file is complete; if it spells a rubric differently, add the spelling to RUBRICS",
        )
    by_rubric = {
        f"headlines under {rubric}" if rubric else "headlines without a rubric": count
        for rubric, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    }
    return headlines, {"clusters": names.height, "headlines": counts.total()} | by_rubric


def explode_headlines(clusters: pl.DataFrame) -> pl.DataFrame:
    """The headlines of clusters: cluster, label (Int64, null if not of the six rubrics), id and text (String)."""
    size = pl.col("headlines").list.len()
    each = clusters.filter(size > 0).with_columns(position=pl.int_ranges(size)).explode("headlines", "position")
    label = RUBRIC.replace_strict(list(RUBRICS), range(len(RUBRICS)), default=None, return_dtype=pl.Int64)
    return each.select("cluster", label=label, id=pl.concat_str("cluster", pl.lit("-"), "position"), text="headlines")


def label_name(label: pl.Expr) -> pl.Expr:
    """The names of labels; null where there is no label."""
    return label.replace_strict(dict(enumerate(LABELS)), default=None, return_dtype=pl.String)


def _read_clusters(file: Raw) -> Iterator[pl.DataFrame]:
    """Frames of clusters: cluster (String: its name, or its line from 0), rubric, headlines."""
    with open_raw(file) as stream:
        head = stream.read(HEAD)
    if OBJECT.match(head) or not head.lstrip().startswith(b"{"):
        yield from json_members(file, CLUSTER, key="cluster", optional=("rubric",))
        return
    for frame in number_rows(json_lines(file, CLUSTER, optional=("rubric",))):
        yield frame.select(pl.col("number").cast(pl.String).alias("cluster"), *CLUSTER)


def _deduplicate(rows: pl.DataFrame, *, clean: bool) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    if not clean:
        return keep_first_texts(rows, text="hash", of="an earlier headline", named="rubric")
    rows, short = drop(rows, pl.col("short"), SHORT, split="all")
    rows, repeated = deduplicate_texts(rows, text="hash")
    return rows, short + repeated


def _limit_clusters(rows: pl.DataFrame, n: int) -> pl.DataFrame:
    """The headlines of the first n clusters of each class in hash order.

    Every cluster gives at least one headline, so splits of n headlines per class never need more clusters.
    """
    clusters = rows.filter(pl.col("cluster").is_first_distinct()).select("cluster", "label")
    first = sort_by_hash(clusters, key="cluster", seed=SEED).group_by("label", maintain_order=True).head(n)
    return rows.join(first, on="cluster", how="semi", maintain_order="left")
