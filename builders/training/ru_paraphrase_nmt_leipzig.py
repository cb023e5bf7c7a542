"""ru-paraphrase-NMT-Leipzig: Russian sentences, each translated into English and back (Dale, 2021)."""

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.csv import read_csv
from builders.shaping.benchmark_index import read_benchmark_index
from builders.shaping.contrastive import apply_rules, make_pairs, measure_rows
from builders.shaping.measurements import drop_below, read_tokens
from builders.shaping.rows import join_tables, refuse
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "ru_paraphrase_nmt_leipzig"
CONFIG = "paraphrase-nmt-leipzig"


def _read_rows(raw: Raw) -> pl.DataFrame:
    """A row for each line, in the order of the source, with its p_good (Float64)."""
    read = read_csv(raw, {"original": pl.String(), "ru": pl.String(), "p_good": pl.Float64()})
    outside = ~pl.col("p_good").is_between(0, 1)
    refuse(read, outside, raw, "p_good is not a probability", found="p_good", expected="0 to 1", unit="record")
    return read.select(
        "p_good",
        id=pl.format(f"{NAME}:{CONFIG}:{{}}", pl.int_range(pl.len())),
        query="original",
        positives=pl.concat_list("ru"),
        negatives=pl.lit([], pl.List(pl.String)),
    )


SOURCE = Source(
    name=NAME,
    title="ru-paraphrase-NMT-Leipzig, Russian sentences and their back-translations",
    license="cc-by-4.0",
    homepage="https://huggingface.co/datasets/cointegrated/ru-paraphrase-NMT-Leipzig",
    citation=("dale2021paraphrases", "goldhahn2012leipzig"),
    annotations=("machine-generated",),
    files={
        "train": hub(
            "cointegrated/ru-paraphrase-NMT-Leipzig",
            "9070da7298a73ea6129f711916f17e52d82884de",
            "train.csv",
            sha256="32099344d25f482a108b8bd19fa1979a86ea8492324133cc32200acb9bc3a34a",
            bytes=521_170_917,
        ),
        **training_files(NAME, (CONFIG,)),
    },
    measurements=(measure_rows("train", _read_rows),),
)


@dataset(
    "ru-paraphrase-nmt-leipzig-contrastive",
    pretty_name="paraphrase-NMT-Leipzig training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "tokens", "index"),
    versions=training_versions(
        "The set paraphrase-NMT-Leipzig of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 7, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 210_000, p_good: float = 0.5, clean: bool = False) -> Tables:
    """Which sentence is a paraphrase of another?

    The train file of the source: a sentence is the query, its translation into English and back the positive. White space at the
    ends of texts is removed (builders.shaping.contrastive), texts of more than 500 tokens are dropped
    (builders.shaping.measurements), of rows with equal query the first is kept. Rows with a lower `p_good` in the source are
    dropped, unless fewer than `rows` would be left: then the threshold is the largest multiple of 0.01 that leaves as many
    (builders.shaping.measurements). Of more rows than `rows` as many are drawn in hash order. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `ru_paraphrase_nmt_leipzig:paraphrase-nmt-leipzig:<row in the source's file, from 0>`); query (String); positives
    (List(String), one); negatives, negative_kinds (List(String), empty).

    Raises SourceError for a `p_good` that is not between 0 and 1, and for texts whose lengths were not measured.
    """
    read = _read_rows(raw["train"])
    different, dropped = apply_rules(read, read_tokens(raw.whole("tokens")))
    good, below, cut = drop_below(different, "p_good", rows, at_most=p_good)
    index = read_benchmark_index(raw.whole("index"))
    made = make_pairs(good, CONFIG, index, size=rows, clean=clean, deduplicate=False)
    counts = {f"rows of {CONFIG} in the source": read.height} | cut
    return join_tables(Tables({}, (*dropped, *below)), made, Tables({}, observed=counts))
