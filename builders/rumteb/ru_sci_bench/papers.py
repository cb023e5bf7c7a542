"""ruSciBench's papers: their texts, joined to one table of labels, and the two kinds of tables drawn from them."""

from collections.abc import Mapping

import polars as pl

from builders.reading import read_csv, read_parquet
from builders.rumteb.ru_sci_bench.rubrics import label_names
from builders.shaping.cleaning import REPEATED, clean_rows, deduplicate_texts
from builders.shaping.labels import label_numbers
from builders.shaping.rows import drop, drop_each, refuse
from builders.shaping.sampling import sample_per_class, too_few
from builders.spec import Dropped, Raw, RawFiles, Tables

NO_TEXT = "the paper has no title or no abstract"


def build_classification(
    raw: RawFiles, kind: str, rubrics: Mapping[str, str], sizes: Mapping[str, int], *, clean: bool
) -> Tables:
    """Balanced samples of the papers of each split. kind: `grnti` or `oecd`. sizes: rows per class, by split."""
    texts, frames, dropped = _read_texts(raw), {}, list[Dropped]()
    for split in (split for split in sizes if f"{kind}_{split}" in raw.files and (clean or split in raw.splits)):
        papers = _add_texts(read_labels(raw[f"{kind}_{split}"], rubrics), texts)
        exclusions = {NO_TEXT: pl.col("text").is_null()}
        if not clean:
            exclusions[REPEATED] = ~pl.col("text").is_first_distinct()
        frames[split], excluded = drop_each(papers, exclusions, split=split)
        dropped += excluded
    if clean:
        frames, excluded = clean_rows(frames, raw.splits)
        dropped += excluded
    seed = f"ru-scibench-{kind}-classification"
    samples = {split: _sample(rows, sizes[split], rubrics, seed) for split, rows in frames.items()}
    default = {split: rows.select("id", "text", "label", "label_text") for split, rows in samples.items()}
    return Tables({"default": default}, tuple(dropped))


def build_clustering(raw: RawFiles, kind: str, rubrics: Mapping[str, str], size: int, *, clean: bool) -> Tables:
    """A balanced sample of the papers of both splits. kind: `grnti` or `oecd`. size: rows per class."""
    labels = pl.concat(read_labels(raw[f"{kind}_{split}"], rubrics) for split in ("train", "test"))
    papers, no_text = drop(_add_texts(labels, _read_texts(raw)), pl.col("text").is_null(), NO_TEXT, split="test")
    if clean:
        papers, repeated = deduplicate_texts(papers, fold=True, split="test")
    else:
        papers, repeated = drop(papers, ~pl.col("text").is_first_distinct(), REPEATED, split="test")
    rows = _sample(papers, size, rubrics, f"ru-scibench-{kind}-clustering")
    frame = rows.select("id", sentences="text", labels="label_text")
    return Tables({"default": {"test": frame}}, no_text + repeated)


def read_labels(raw: Raw, rubrics: Mapping[str, str]) -> pl.DataFrame:
    """The papers of one table of labels: id (String), label (Int64: the rank of the code, from 0), label_text (String).

    Raises SourceError for a code that is not among the rubrics.
    """
    rows = read_csv(raw, {"id": pl.Int64(), "label": pl.String()})
    names = dict(zip(rubrics, label_names(rubrics), strict=True))
    label = label_numbers(rows["label"], tuple(rubrics), raw, unit="record")
    return rows.select(
        pl.col("id").cast(pl.String), label.alias("label"), label_text=pl.col("label").replace_strict(names)
    )


def _read_texts(raw: RawFiles) -> pl.DataFrame:
    """id (String), text (String: title, newline, abstract; null if one is missing). Raises SourceError for a repeated id."""
    file = raw.whole("texts")
    columns = {"paper_id": pl.Int64(), "title": pl.String(), "abstract": pl.String()}
    papers = read_parquet(file, columns, optional=("title", "abstract"))
    repeated, expected = ~pl.col("paper_id").is_first_distinct(), "each paper_id once"
    refuse(papers, repeated, file, "repeated paper_id", found="paper_id", expected=expected, unit="record")
    return papers.select(id=pl.col("paper_id").cast(pl.String), text=pl.concat_str("title", "abstract", separator="\n"))


def _add_texts(labels: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    return labels.join(texts, on="id", how="left", maintain_order="left")


def _sample(papers: pl.DataFrame, size: int, rubrics: Mapping[str, str], seed: str) -> pl.DataFrame:
    """`size` papers of each rubric. Raises RecipeError for a rubric with fewer papers, or none."""
    absent = set(range(len(rubrics))) - set(papers["label"])
    if absent:
        raise too_few("rows", f"none of class {label_names(rubrics)[min(absent)]!r}", f"{size} rows of each class")
    return sample_per_class(papers, size, by="label", key="id", seed=seed)
