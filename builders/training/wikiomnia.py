"""WikiOmnia: questions that a model wrote about the summaries of Russian Wikipedia (Pisarevskaya and Shavrina, 2022)."""

from collections.abc import Iterator, Mapping

import polars as pl

from builders.raw_files import hub
from builders.reading.json import json_objects
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED
from builders.shaping.popularity import TIMES, PairSet, sample_pool, select_pool
from builders.shaping.rows import join_tables, number_rows
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

NAME = "wikiomnia"
CONFIG = "wikiomnia"
QUESTION = {"title": pl.String, "summary": pl.String, "question": pl.String}

SOURCE = Source(
    name=NAME,
    title="WikiOmnia, questions about the summaries of Russian Wikipedia",
    license="apache-2.0",
    license_note="The card on the Hub states this licence. The summaries are of Russian Wikipedia (CC BY-SA), the questions were"
    " written by a model.",
    homepage="https://huggingface.co/datasets/RussianNLP/wikiomnia",
    citation="pisarevskaya2022wikiomnia",
    annotations=("machine-generated",),
    files={
        "train": hub(
            "RussianNLP/wikiomnia",
            # A commit whose full name is known. It has the file, which bff12ca has too; the commits after it, up to f8024be, are
            # listed as adding other files and the card, which states the size.
            "e779d8701b4c72e2e587af74d85ccc4998b695ea",
            "dummy/wikiomnia_ruT5_filtered/wikiomnia_ruT5_filtered_train.json",
            bytes=4_278_635_364,
        ),
        "index": INDEX_FILE,
    },
)


@dataset(
    "wikiomnia-contrastive",
    pretty_name="WikiOmnia training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "index"),
    versions={
        "1.0.0": "The set WikiOmnia of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"rows": 9},
)
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 100_000,
    times: int = TIMES,
    negatives: int = 7,
    title: bool = False,
    clean: bool = False,
) -> Tables:
    """Which summary of an article answers a question?

    The filtered file of the source, an array or lines of JSON: a question is the query, the summary that it was written about the
    positive, both without white space at their ends; answers are not used. title: the article's title is the first line of the
    positive. builders.shaping.popularity.select_pool drops empty and repeated rows and takes `times` * `rows` of all others, the
    first in hash order; the first `rows` of these are the set. All negatives are random
    (builders.shaping.contrastive.fill_negatives; the pool is all summaries of the config, each once, as several questions may
    have one). `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has, before
    `rows` are taken. Columns: id (String: `wikiomnia:wikiomnia:<record in the file, from 0>`); query (String); positives
    (List(String), one); negatives (List(String)); negative_kinds (List(String): random).
    """

    def read(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
        positive = pl.concat_str("title", "summary", separator="\n") if title else pl.col("summary")
        for batch in number_rows(json_objects(files["train"], QUESTION, optional=tuple(QUESTION))):
            yield batch.select("number", query="question", positive=positive)

    pairs = PairSet(CONFIG, rows, read, unique_queries=False)
    pool = select_pool(pairs, raw.files, NAME, None, raw.scratch, times=times)
    counts = {f"different summaries of {CONFIG} in the pool": pool.rows["positives"].n_unique()}
    index = read_benchmark_index(raw.whole("index"))
    sampled = sample_pool(pool, CONFIG, index, size=rows, negatives=negatives, clean=clean)
    return join_tables(sampled, Tables({}, observed=counts))
