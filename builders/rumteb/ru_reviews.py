"""RuReviews: reviews of women's clothing from a Russian online shop, labelled by star rating (Smetanin and Komarov, 2019)."""

import polars as pl

from builders.published import published_files
from builders.raw_files import github
from builders.reading.csv import read_loose_tsv
from builders.shaping.cleaning import DEDUPLICATED, deduplicate_texts
from builders.shaping.labels import label_numbers
from builders.shaping.sampling import draw_splits
from builders.spec import OWN_DRAW, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

LABELS = ("negative", "neutral", "positive")
SENTIMENTS = {"negative": 0, "neautral": 1, "positive": 2}  # as upstream spells them

SOURCE = Source(
    name="ru_reviews",
    title="RuReviews, an automatically annotated sentiment analysis dataset for product reviews in Russian",
    license="apache-2.0",
    homepage="https://github.com/sismetanin/rureviews",
    citation="smetanin2019rureviews",
    files={
        "reviews": github(
            "sismetanin/rureviews",
            "2f6e61d30dc6c58ba47dce72e5803e1f0a3f38a7",
            "women-clothing-accessories.3-class.balanced.csv",
            git_blob="db9fbf29f256aadf3b80ed8c911541a8b867a2dc",
        ),
        **published_files("ru-reviews-classification"),
    },
)


def read_reviews(raw: RawFiles) -> pl.DataFrame:
    """All reviews: id (String: the row in the raw file, from 0), text (String), label (Int64) and label_text (String)."""
    reviews = read_loose_tsv(raw["reviews"], {"review": pl.String(), "sentiment": pl.String()})
    label = label_numbers(reviews["sentiment"], SENTIMENTS, raw["reviews"], unit="record")
    return reviews.select(
        pl.int_range(pl.len()).cast(pl.String).alias("id"),
        pl.col("review").alias("text"),
        label.alias("label"),
        label_text=label.replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String),
    )


@dataset(
    "ru-reviews-classification",
    pretty_name="RuReviews sentiment classification (Russian)",
    task_ids=("sentiment-classification",),
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("reviews",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(DEDUPLICATED, {"clean": True}),
    },
    sample={"train_per_class": 3, "validation_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=read_reviews,
)
def classification(
    raw: RawFiles,
    *,
    train_per_class: int = 15_000,
    validation_per_class: int = 5_000,
    test_per_class: int = 5_000,
    clean: bool = False,
) -> Tables:
    """Is a review of a piece of clothing negative, neutral or positive?

    Balanced splits of the reviews without duplicates: of equal texts, the first is kept, or none if their labels differ. `clean`
    compares texts ignoring case, punctuation and white space (builders.shaping.cleaning.deduplicate_texts). Columns: id (String:
    the review's row in the raw file, from 0); text (String); label (Int64: 0 negative, 1 neutral, 2 positive); label_text
    (String).
    """
    rows = read_reviews(raw)
    rows, dropped = deduplicate_texts(rows, fold=clean)
    return draw_splits(
        rows,
        raw.splits,
        seed="ru-reviews-classification",
        dropped=dropped,
        train=train_per_class,
        validation=validation_per_class,
        test=test_per_class,
    )
