"""Habr: articles on technology with their titles and leads (Gusev, 2023)."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "habr"
CONFIG = "habr-title-abstract"
ARTICLE: Mapping[str, Any] = {
    "id": pl.Int64,
    "language": pl.String,
    "title": pl.String,
    "lead_markdown": pl.String,
    "statistics": pl.Struct({"score": pl.Int64, "readingCount": pl.Int64}),
}
OPTIONAL = ("title", "lead_markdown", "statistics.score", "statistics.readingCount")


def _read_articles(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the lead), language (String), score, readings (Int64)."""
    for batch in json_lines(files["articles"], ARTICLE, optional=OPTIONAL):
        statistics = pl.col("statistics").struct
        yield batch.select(
            "language",
            number="id",
            query="title",
            positive="lead_markdown",
            score=statistics.field("score"),
            readings=statistics.field("readingCount"),
        )


def _pair_set(rows: int = 50_000, *, english: bool = False) -> PairSet:
    other_languages = {} if english else {"an article that is not in Russian": pl.col("language") != "ru"}
    no_lead = {"no lead": pl.col("positive").is_null()}
    return PairSet(CONFIG, rows, _read_articles, ("score", "readings"), other_languages | no_lead)


SOURCE = Source(
    name=NAME,
    title="Habr",
    license="other",
    license_note="The card on the Hub states no licence. The texts were written by users of habr.com and by companies. Only the"
    " recipe is published here.",
    homepage="https://huggingface.co/datasets/IlyaGusev/habr",
    citation="gusev2023habr",
    files={
        "articles": hub(
            "IlyaGusev/habr",
            "3e67cc276131c4d34aa5c8d1892f8133a0739ffb",
            "habr.jsonl.zst",
            sha256="64d76fa3c1fc9df749c4c20c4d80da8463a71337d80895a1aa41cee24328ced3",
            about=3_490_000_000,
        ),
        **training_files(NAME, (CONFIG,)),
    },
    measurements=(measure_tokens(("articles",), partial(texts_to_measure, (_pair_set(english=True),), NAME)),),
)


@dataset(
    "habr-contrastive",
    pretty_name="Habr training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("articles", "tokens", "index"),
    versions=training_versions(
        "The set Habr Title-Abstract of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 5, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 50_000,
    english: bool = False,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which lead belongs to the title of an article?

    A row is the title of an article and its lead, in the Markdown of the source without white space at its ends; articles in
    other languages than Russian (unless `english`) and those without a lead are dropped. Ranked by score, then by readings.
    builders.shaping.popularity.select_pool drops what is too long (`max_tokens`) or repeated and takes the most popular `times` *
    `rows` rows; `rows` are drawn of these in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does
    and what the index of benchmarks has. Columns: id (String: `habr:habr-title-abstract:<id of the article>`); query (String);
    positives (List(String), one each); negatives, negative_kinds (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    sets = (_pair_set(rows, english=english),)
    return build_sets(raw, NAME, sets, times=times, limit=max_tokens, clean=clean)
