"""RuHNP: Russian sentences, each with texts of the same meaning and hard negatives, by a model (Malashenko et al., 2024)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED, make_pairs
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

CONFIG = "ru-hnp"

SOURCE = Source(
    name="ru_hnp",
    title="Ruhnp, Russian hard-non-paraphrases",
    license="apache-2.0",
    license_note="The card on the Hub states this licence. The queries are sentences of Russian Wikipedia (CC BY-SA), the other"
    " texts were written by gpt-3.5-turbo.",
    homepage="https://huggingface.co/datasets/deepvk/ru-HNP",
    citation="malashenko2024ruhnp",
    annotations=("machine-generated",),
    files={
        "train": hub(
            "deepvk/ru-HNP",
            "f43fca040b2635de6163b2b4ed16e5e5907f20f8",
            "train.parquet",
            sha256="210c0a80185c430aa0e2d62dff9e56ca3a142919d064582161d019069e769a7e",
        ),
        "index": INDEX_FILE,
    },
)


@dataset(
    "ru-hnp-contrastive",
    pretty_name="RuHNP training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "index"),
    versions={
        "1.0.0": "The set RuHNP of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"rows": 13},
)
def contrastive(raw: RawFiles, *, rows: int = 100_000, negatives: int = 7, clean: bool = False) -> Tables:
    """Which texts mean the same as a sentence, and which only look alike?

    The train file of the source: a row is a query with all of its positives, in the source's order. Its own negatives come first,
    then random ones up to `negatives` (builders.shaping.contrastive.fill_negatives; the pool is all documents of the config).
    Empty positives and rows without any are dropped, of rows with equal query and positives the first is kept, and of more than
    `rows` rows as many are drawn in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what
    the index of benchmarks has. Columns: id (String: `ru_hnp:ru-hnp:<row in the source's file, from 0>`); query (String);
    positives, negatives (List(String)); negative_kinds (List(String): provided or random).
    """
    columns = {"query": pl.String(), "pos": pl.List(pl.String()), "neg": pl.List(pl.String())}
    read = read_parquet(raw["train"], columns).select(
        "query",
        id=pl.format(f"ru_hnp:{CONFIG}:{{}}", pl.int_range(pl.len())),
        positives="pos",
        negatives="neg",
    )
    return make_pairs(
        read, CONFIG, read_benchmark_index(raw.whole("index")), size=rows, negatives=negatives, clean=clean
    )
