"""Geo Reviews 2023: 500,000 reviews of Russian organisations on Yandex Maps, each with a rating and rubrics (Yandex, 2023)."""

from __future__ import annotations

import polars as pl

from builders.errors import RecipeError
from builders.reading import read_tskv
from builders.shaping.cleaning import each_text_once
from builders.shaping.rows import drop
from builders.shaping.sampling import balanced, split
from builders.spec import Dropped, Prompts, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Classification, Clustering

RATINGS = ("1", "2", "3", "4", "5")
FIELDS = {"text": pl.String(), "rating": pl.Float64(), "rubrics": pl.String()}

SOURCE = Source(
    name="geo_reviews",
    title="Geo Reviews Dataset 2023, reviews of organisations on Yandex Maps",
    license="mit",
    homepage="https://github.com/yandex/geo-reviews-dataset-2023",
    citation="yandex2023georeviews",
    files={
        "reviews": github(
            "yandex/geo-reviews-dataset-2023",
            # The commit that added the file. Upstream has rewritten its branch since, and the file is not on it any more.
            "60ca4b75b47c57eb2c91fbdcfc6a4a6f8bc0937f",
            "geo-reviews-dataset-2023.tskv",
            lfs=True,
            sha256="3aa1a838276e23217b14d904f47ab20c753751a48eef8e046d6d671a65098109",
            bytes=378_730_064,
        ),
    },
)


@dataset(
    "georeview-classification",
    benchmark="rumteb",
    task=Classification(labels=RATINGS),
    needs=("reviews",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Drawn from reviews whose texts differ in more than case, punctuation and white space: where they do not, the first"
            " is kept, or none where the ratings differ. Texts of a single character are left out.",
            {"clean": True},
        ),
    },
    sample={"train_per_class": 2, "validation_per_class": 1, "test_per_class": 1},
    prompts=Prompts(
        "Classify the organization rating based on the reviews", rosberta=("classification",), e5=("query",)
    ),
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

    Reviews without a text or without one of these ratings are left out; a text that stands in several reviews is kept once, with
    the rating of the first; to be `clean`, texts are compared folded, and one with two ratings is left out
    (builders.shaping.cleaning). As many reviews of each rating. Columns: id (String: the review's line in the raw file, 0-based);
    text (String); label (Int64: the rating - 1); label_text (String: the rating).
    """
    rows, no_text = _reviews(raw)
    rated = pl.col("rating").is_in([float(rating) for rating in RATINGS]).fill_null(value=False)
    rows, unrated = drop(rows, ~rated, "the rating is none of 1, 2, 3, 4, 5", split="all")
    label = (pl.col("rating") - 1).cast(pl.Int64)
    rows = rows.select("id", "text", label=label, label_text=pl.col("rating").cast(pl.Int64).cast(pl.String))
    rows, repeated = _once(rows, "label", "rating", clean=clean)
    sizes = {"train": train_per_class, "validation": validation_per_class, "test": test_per_class}
    frames = split(rows, sizes, by="label", key="id", seed="georeview-classification")
    return Tables({"default": {name: frames[name] for name in raw.splits}}, (*no_text, *unrated, *repeated))


@dataset(
    "georeview-clustering-p2p",
    benchmark="rumteb",
    task=Clustering(),
    needs=("reviews",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, at the size of its published dataset.",
        "2.0.0": Version(
            "Drawn from reviews whose texts differ in more than case, punctuation and white space: where they do not, the first"
            " is kept, or none where the rubrics differ. Texts of a single character are left out.",
            {"clean": True},
        ),
    },
    sample={"rubrics": 3, "texts_per_rubric": 2, "longer_than": 40, "shorter_than": 120},
    prompts=Prompts("Identify the organization category based on the reviews", rosberta=("clustering",), e5=("query",)),
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
    """Which reviews are about organisations of one kind?

    The label of a review is the first of its organisation's rubrics. A text that stands in several reviews is kept once, with
    the rubric of the first; to be `clean`, texts are compared folded, and one with two rubrics is left out
    (builders.shaping.cleaning). Then the most frequent rubrics are taken (of equally frequent ones those that come first by code
    point), and of each as many texts, with more than `longer_than` and fewer than `shorter_than` characters. Columns: id (String:
    the review's line in the raw file, 0-based); sentences (String); labels (String: the rubric).
    """
    rows, no_text = _reviews(raw)
    first = pl.col("rubrics").str.split(";").list.first()
    rows, no_rubric = drop(rows, first.fill_null("") == "", "the review has no rubric", split="all")
    rows, repeated = _once(rows.select("id", "text", labels=first), "labels", "rubric", clean=clean)
    counts = rows.group_by("labels").len().sort("len", "labels", descending=[True, False])
    if counts.height < rubrics:
        raise RecipeError(
            "too few rubrics",
            where=raw["reviews"].name,
            found=f"{counts.height} different first rubrics",
            expected=f"at least {rubrics}",
            todo="check that the raw file is complete; a smaller build needs smaller numbers in the recipe's options",
        )
    frequent = counts.head(rubrics)
    seldom = ~pl.col("labels").is_in(frequent["labels"].implode())
    rows, rare = drop(rows, seldom, f"the rubric is none of the {rubrics} most frequent", split="all")
    fits = pl.col("text").str.len_chars().is_between(longer_than, shorter_than, closed="none")
    unfit = f"the text has {longer_than} characters or fewer, or {shorter_than} or more"
    rows, misfits = drop(rows, ~fits, unfit, split="all")
    rows = balanced(rows, texts_per_rubric, by="labels", key="id", seed="georeview-clustering-p2p")
    observed = {
        "different first rubrics": counts.height,
        "reviews under the most frequent rubric": int(counts["len"][0]),
        "reviews under the last rubric taken": int(frequent["len"][-1]),
        "reviews under the first rubric left out": int(counts["len"][rubrics]) if counts.height > rubrics else 0,
    }
    frame = rows.select("id", sentences="text", labels="labels")
    return Tables({"default": {"test": frame}}, (*no_text, *no_rubric, *repeated, *rare, *misfits), observed)


def _reviews(raw: RawFiles) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """id, text, rating and rubrics of all reviews that have a text; rating and rubrics may be null."""
    rows = read_tskv(raw["reviews"], FIELDS, optional=FIELDS)
    rows = rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
    return drop(rows, pl.col("text").is_null(), "the review has no text", split="all")


def _once(rows: pl.DataFrame, label: str, what: str, *, clean: bool) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Each text in its first row only, or, to be clean, as builders.shaping.cleaning has it."""
    if clean:
        return each_text_once(rows, label=label, fold=True)
    other = pl.col(label) != pl.col(label).first().over("text")
    rows, contradicting = drop(rows, other, f"the text stands in an earlier review, with another {what}", split="all")
    again = ~pl.col("text").is_first_distinct()
    rows, repeated = drop(rows, again, f"the text stands in an earlier review, with the same {what}", split="all")
    return rows, (*contradicting, *repeated)
