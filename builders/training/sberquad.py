"""SberQuAD: questions in Russian about paragraphs of Wikipedia (Sber's challenge of 2017; Efimov et al., 2020)."""

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.contrastive import make_short_pairs, measure_rows
from builders.shaping.rows import join_tables
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

CONFIG = "sberquad"


def _read_rows(raw: Raw) -> pl.DataFrame:
    """A row for each question, in the order of the source."""
    return read_parquet(raw, {"question": pl.String(), "context": pl.String()}).select(
        id=pl.format(f"sberquad:{CONFIG}:{{}}", pl.int_range(pl.len())),
        query="question",
        positives=pl.concat_list("context"),
        negatives=pl.lit([], pl.List(pl.String)),
    )


SOURCE = Source(
    name="sberquad",
    title="SberQuAD, questions about paragraphs of Russian Wikipedia",
    license="other",
    license_note="No licence of the data is stated. The paragraphs are of Russian Wikipedia (CC BY-SA), the questions were"
    " written for a challenge of Sberbank. Only the recipe is published here.",
    homepage="https://huggingface.co/datasets/kuznetsoffandrey/sberquad",
    citation="efimov2020sberquad",
    annotations=("crowdsourced",),
    files={
        "train": hub(
            "kuznetsoffandrey/sberquad",
            "deb870ee29b280657470f2c3851e9b23899fdbc3",
            "sberquad/train-00000-of-00001.parquet",
        ),
        **training_files("sberquad", (CONFIG,)),
    },
    measurements=(measure_rows("train", _read_rows),),
)


@dataset(
    "sberquad-contrastive",
    pretty_name="SberQuAD training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "tokens", "index"),
    versions=training_versions(
        "The set SberQuAD of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 8, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 45_000, clean: bool = False) -> Tables:
    """Which paragraph answers a question?

    The train file of the source: a question is the query, its paragraph the positive; answers are not used. White space at the
    ends of texts is removed (builders.shaping.contrastive), texts of more than 500 tokens are dropped
    (builders.shaping.measurements), of rows with equal query and positive the first is kept, and of more than `rows` rows as
    many are drawn in hash order. Several questions may have one paragraph. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `sberquad:sberquad:<row in the source's file, from 0>`); query (String); positives (List(String), one); negatives,
    negative_kinds (List(String), empty).

    Raises SourceError for texts whose lengths were not measured.
    """
    read = _read_rows(raw["train"])
    counts = {"different paragraphs": read["positives"].n_unique()}
    made = make_short_pairs(raw, read, CONFIG, size=rows, clean=clean, unique_queries=False)
    return join_tables(made, Tables({}, observed=counts))
