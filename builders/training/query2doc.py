"""Query2doc: queries of MS MARCO, each with a passage that a model wrote to answer it (Wang et al., 2023)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.json import read_json_lines
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED, make_pairs
from builders.shaping.rows import refuse
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

CONFIG = "query2doc"

SOURCE = Source(
    name="query2doc",
    title="query2doc, passages written for the queries of MS MARCO",
    license="cc-by-4.0",
    license_note="The card on the Hub states this licence. The queries are of MS MARCO, which has terms of its own; the passages"
    " were written by text-davinci-003.",
    homepage="https://huggingface.co/datasets/intfloat/query2doc_msmarco",
    citation=("wang2023query2doc", "bajaj2016msmarco"),
    annotations=("machine-generated",),
    files={
        # The newest commit whose full name is known. The Hub lists this file as last changed by 2b168e3, here and at 3019b76.
        "train": hub(
            "intfloat/query2doc_msmarco",
            "a7ffea9bf9b3890c5128ee0146f599e0a41df5f7",
            "train.jsonl",
            about=241_000_000,
        ),
        "index": INDEX_FILE,
    },
)


@dataset(
    "query2doc-contrastive",
    pretty_name="Query2doc training pairs (English)",
    languages=("eng-Latn",),
    task=Contrastive((CONFIG,)),
    needs=("train", "index"),
    versions={
        "1.0.0": "The set Query2doc of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"rows": 9},
)
def contrastive(raw: RawFiles, *, rows: int = 500_000, negatives: int = 7, clean: bool = False) -> Tables:
    """Which passage was written for a query?

    The train file of the source: a query and the passage that a model wrote for it (`pseudo_doc`). Rows with an empty text are
    dropped, of rows with equal query and passage the first is kept, and of more than `rows` rows as many are drawn in hash order.
    All negatives are random (builders.shaping.contrastive.fill_negatives; the pool is all passages of the config). `clean` also
    drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `query2doc:query2doc:<query_id of the source>`); query (String); positives (List(String), one); negatives (List(String));
    negative_kinds (List(String): random).

    Raises SourceError for a query_id that is repeated.
    """
    read = read_json_lines(raw["train"], {name: pl.String() for name in ("query_id", "query", "pseudo_doc")})
    repeated, expected = ~pl.col("query_id").is_first_distinct(), "another id for each query"
    refuse(read, repeated, raw["train"], "a query_id for the second time", found="query_id", expected=expected)
    pairs = read.select(
        "query",
        id=pl.format(f"query2doc:{CONFIG}:{{}}", "query_id"),
        positives=pl.concat_list("pseudo_doc"),
        negatives=pl.lit([], pl.List(pl.String)),
    )
    return make_pairs(
        pairs, CONFIG, read_benchmark_index(raw.whole("index")), size=rows, negatives=negatives, clean=clean
    )
