"""Geo Reviews 2023: 500,000 reviews of Russian organisations on Yandex Maps, each with a rating and rubrics (Yandex, 2023)."""

import polars as pl

from builders.published import published_files
from builders.raw_files import Hub, github
from builders.reading.parquet import read_parquet
from builders.reading.tskv import read_tskv
from builders.shaping.cleaning import DEDUPLICATED, deduplicate_texts, keep_first_texts
from builders.shaping.rows import drop_each
from builders.shaping.sampling import count_left_over, draw_splits, sample_per_class, too_few
from builders.spec import OWN_DRAW, Dropped, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification, Clustering

RATINGS = ("1", "2", "3", "4", "5")
FIELDS = {"text": pl.String(), "rating": pl.Float64(), "rubrics": pl.String()}
COPY = Hub(
    "d0rj/geo-reviews-dataset-2023",
    "55f2840fff9c1552abd1e205ec13dc9839cd4607",
    "data/train-00000-of-00001-49261e4e5a35a5a0.parquet",
)

SOURCE = Source(
    name="geo_reviews",
    title="Geo Reviews Dataset 2023, reviews of organisations on Yandex Maps",
    license="mit",
    homepage="https://github.com/yandex/geo-reviews-dataset-2023",
    citation="yandex2023georeviews",
    files={
        "reviews": github(
            "yandex/geo-reviews-dataset-2023",
            # The commit that added the file. Upstream has since rewritten the branch.
            "60ca4b75b47c57eb2c91fbdcfc6a4a6f8bc0937f",
            "geo-reviews-dataset-2023.tskv",
            lfs=True,
            sha256="3aa1a838276e23217b14d904f47ab20c753751a48eef8e046d6d671a65098109",
            bytes=378_730_064,
            copies=(COPY,),
            withdrawn="its branch no longer has it, and GitHub may remove it at any time",
        ),
        **published_files("georeview-classification", "georeview-clustering-p2p"),
    },
)


def read_ratings(raw: RawFiles) -> pl.DataFrame:
    """id, text, label (Int64: the rating - 1) and label_text of all reviews; no label where the rating is not one of RATINGS."""
    rating = pl.col("rating")
    rating = pl.when(rating.is_in([float(rating) for rating in RATINGS])).then(rating.cast(pl.Int64))
    return _read_reviews(raw).select("id", "text", label=rating - 1, label_text=rating.cast(pl.String))


def read_rubrics(raw: RawFiles) -> pl.DataFrame:
    """id, sentences and labels (the first rubric, perhaps empty) of all reviews."""
    return _read_reviews(raw).select("id", sentences="text", labels=pl.col("rubrics").str.split(";").list.first())


@dataset(
    "georeview-classification",
    pretty_name="Geo Reviews rating classification (Russian)",
    task_ids=("sentiment-classification",),
    benchmark="rumteb",
    task=Classification(labels=RATINGS),
    needs=("reviews",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(DEDUPLICATED, {"clean": True}),
    },
    sample={"train_per_class": 2, "validation_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=read_ratings,
)
def classification(
    raw: RawFiles,
    *,
    train_per_class: int = 10_000,
    validation_per_class: int = 1_000,
    test_per_class: int = 1_000,
    clean: bool = False,
) -> Tables:
    """How many stars, 1 to 5, did the author of a review give?

    Balanced splits of the reviews that have a field `text` and a rating; in 1.0.0 the field may be empty. Of reviews with equal
    texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those that are empty, a
    single character or damaged by a wrong decoding, and those with different ratings
    (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the review's line in the raw file, from 0); text (String);
    label (Int64: the rating - 1); label_text (String: the rating).
    """
    exclusions = {
        "the review has no text": pl.col("text").is_null(),
        "the rating is not 1, 2, 3, 4 or 5": pl.col("label").is_null(),
    }
    rows, unfit = drop_each(read_ratings(raw), exclusions, split="all")
    rows, repeated = _deduplicate(rows, "label", "rating", clean=clean)
    return draw_splits(
        rows,
        raw.splits,
        seed="georeview-classification",
        dropped=(*unfit, *repeated),
        train=train_per_class,
        validation=validation_per_class,
        test=test_per_class,
    )


@dataset(
    "georeview-clustering-p2p",
    pretty_name="Geo Reviews clustering (Russian)",
    benchmark="rumteb",
    task=Clustering(),
    needs=("reviews",),
    versions={
        "1.0.0": "The task of the ruMTEB paper, with the size of the published dataset: 50 rubrics with 40 texts, in one split.",
        "2.0.0": Version(DEDUPLICATED, {"clean": True}),
    },
    sample={"rubrics": 3, "texts_per_rubric": 2, "longer_than": 40, "shorter_than": 120},
    own_rows=OWN_DRAW,
    published=read_rubrics,
)
def clustering(
    raw: RawFiles,
    *,
    rubrics: int = 50,
    texts_per_rubric: int = 40,
    longer_than: int = 200,
    shorter_than: int = 1_000,
    clean: bool = False,
) -> Tables:
    """Which reviews are about organisations of the same kind?

    The label of a review is the first of its organisation's rubrics; reviews without a field `text` are dropped. Of reviews
    with equal texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those that
    are empty, a single character or damaged by a wrong decoding, and those with different rubrics
    (builders.shaping.cleaning.deduplicate_texts). Each of the most frequent rubrics (ties by code point) then gives the same
    number of texts with more than `longer_than` and fewer than `shorter_than` characters. Columns: id (String: the review's line
    in the raw file, from 0); sentences (String); labels (String: the rubric).
    """
    exclusions = {
        "the review has no text": pl.col("text").is_null(),
        "the review has no rubric": pl.col("labels").fill_null("") == "",
    }
    rows, unfit = drop_each(read_rubrics(raw).rename({"sentences": "text"}), exclusions, split="all")
    rows, repeated = _deduplicate(rows, "labels", "rubric", clean=clean)
    counts = rows.group_by("labels").len().sort("len", "labels", descending=[True, False])
    if counts.height < rubrics:
        raise too_few("rubrics", f"{counts.height} different first rubrics", f"{rubrics}", where=raw["reviews"].name)
    frequent, length = counts.head(rubrics), pl.col("text").str.len_chars()
    exclusions = {
        f"the rubric is not one of the {rubrics} most frequent": ~pl.col("labels").is_in(frequent["labels"].implode()),
        f"the text is not {longer_than + 1} to {shorter_than - 1} characters long": (length <= longer_than)
        | (length >= shorter_than),
    }
    rows, rejected = drop_each(rows, exclusions, split="all")
    taken = sample_per_class(rows, texts_per_rubric, by="labels", key="id", seed="georeview-clustering-p2p")
    observed = {
        "different first rubrics": counts.height,
        "reviews under the most frequent rubric": int(counts["len"][0]),
        "reviews under the last rubric taken": int(frequent["len"][-1]),
        "reviews under the first rubric left out": int(counts["len"][rubrics]) if counts.height > rubrics else 0,
        **count_left_over(rows, [taken], by="labels"),
    }
    frame = taken.select("id", sentences="text", labels="labels")
    return Tables({"default": {"test": frame}}, (*unfit, *repeated, *rejected), observed)


def _read_reviews(raw: RawFiles) -> pl.DataFrame:
    """id, text, rating and rubrics of all reviews. Text, rating and rubrics may be null; a copy has whole ratings, as numbers."""
    if raw["reviews"].path.suffix == ".parquet":
        rows = read_parquet(raw["reviews"], FIELDS | {"rating": pl.Int64()}, optional=FIELDS)
        rows = rows.with_columns(pl.col("rating").cast(pl.Float64))
    else:
        rows = read_tskv(raw["reviews"], FIELDS, optional=FIELDS)
    return rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))


def _deduplicate(
    rows: pl.DataFrame, label: str, named: str, *, clean: bool
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    if clean:
        return deduplicate_texts(rows, label=label, fold=True)
    return keep_first_texts(rows, label=label, of="an earlier review", named=named)
