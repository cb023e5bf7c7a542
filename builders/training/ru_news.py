"""RuNews: articles of Russian news sites with their titles, from five collections (Gusev, 2023)."""

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.shaping.rows import number_rows
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "ru_news"
CONFIG = "ru-news-title-body"
ARTICLE = {"title": pl.String, "text": pl.String}


def _read_articles(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64: the line in the file, from 0), query, positive (String: the text of the article)."""
    for batch in number_rows(json_lines(files["articles"], ARTICLE, optional=tuple(ARTICLE))):
        yield batch.select("number", query="title", positive="text")


def _pair_set(rows: int = 100_000) -> PairSet:
    return PairSet(CONFIG, rows, _read_articles)


SOURCE = Source(
    name=NAME,
    title="RuNews",
    license="other",
    license_note="The card on the Hub states no licence. The texts are of news agencies and newspapers. Only the recipe is"
    " published here.",
    homepage="https://huggingface.co/datasets/IlyaGusev/ru_news",
    citation="gusev2023runews",
    files={
        "articles": hub(
            "IlyaGusev/ru_news",
            "d85158aae54fbdea8e52cf9541f60e7f1bbb3fa7",
            "ru_news.jsonl.zst",
            sha256="339b3aa815feef45c74bbb4dd90b542d5495693adb9f52e0ae939a3cd88f3494",
            bytes=3_669_747_077,
        ),
        **training_files(NAME, (CONFIG,)),
    },
    measurements=(measure_tokens(("articles",), partial(texts_to_measure, (_pair_set(),), NAME)),),
)


@dataset(
    "ru-news-contrastive",
    pretty_name="RuNews training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("articles", "tokens", "index"),
    versions=training_versions(
        "The set RuNews Title-Body of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 6, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles, *, rows: int = 100_000, times: int = TIMES, max_tokens: int = LIMIT, clean: bool = False
) -> Tables:
    """Which article belongs to a title?

    A row is the title of an article and its text, without white space at their ends.
    builders.shaping.popularity.select_pool drops what is too long (`max_tokens`) or repeated and takes `times` * `rows` of all
    other rows, the first in hash order; the first `rows` of these are the set. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has, before `rows` are taken. Columns: id
    (String: `ru_news:ru-news-title-body:<line in the file, from 0>`); query (String); positives (List(String), one each);
    negatives, negative_kinds (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    return build_sets(raw, NAME, (_pair_set(rows),), times=times, limit=max_tokens, clean=clean)
