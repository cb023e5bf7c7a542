"""RuWANLI: Russian premises with hypotheses that follow, contradict or do neither, made like WANLI (Malashenko et al., 2024)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED, make_pairs
from builders.shaping.rows import drop, join_tables, refuse
from builders.spec import Dropped, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

CONFIG = "ru-wanli"
LABELS = ("entailment", "neutral", "contradiction")

SOURCE = Source(
    name="ru_wanli",
    title="Ruwanli, natural language inference in Russian",
    license="apache-2.0",
    homepage="https://huggingface.co/datasets/deepvk/ru-WANLI",
    citation=("malashenko2024ruwanli", "liu2022wanli"),
    annotations=("machine-generated", "crowdsourced"),
    files={
        "train": hub(
            "deepvk/ru-WANLI", "6dafb666178498e72f6ffd0bc2d914234b6d6a4a", "data/train.parquet", about=16_400_000
        ),
        "index": INDEX_FILE,
    },
)


@dataset(
    "ru-wanli-contrastive",
    pretty_name="RuWANLI training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "index"),
    versions={
        "1.0.0": "The set RuWANLI of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"rows": 6},
)
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 34_000,
    negatives: int = 7,
    row_per: str = "premise",
    contradiction: bool = False,
    clean: bool = False,
) -> Tables:
    """Which hypotheses follow from a premise, and which contradict it?

    The train file of the source by premise, compared exactly, in the order of each premise's first row: `entailment` gives
    positives, `contradiction` negatives; `neutral` rows and premises without a positive are dropped. row_per: "premise" for one
    row with all of its positives, "entailment" for one row a positive. contradiction: also drop premises without one. Random
    negatives follow up to `negatives` (builders.shaping.contrastive.fill_negatives; the pool is all documents of the config). Of
    rows with equal query and positives the first is kept, and of more than `rows` rows as many are drawn in hash order. `clean`
    also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `ru_wanli:ru-wanli:<first row of the premise, or row of the positive, in the source's file, from 0>`); query (String);
    positives, negatives (List(String)); negative_kinds (List(String): provided or random).

    Raises SourceError for another label, ValueError for another `row_per`.
    """
    if row_per not in ("premise", "entailment"):
        raise ValueError(f"row_per is 'premise' or 'entailment', not {row_per!r}")
    columns = {"premise": pl.String(), "hypothesis": pl.String(), "label": pl.String()}
    read = read_parquet(raw["train"], columns)
    unknown = ~pl.col("label").is_in(LABELS)
    refuse(read, unknown, raw["train"], "unknown label", found="label", expected=" or ".join(LABELS), unit="record")
    numbered = read.with_row_index("number")
    hypothesis, number = pl.col("hypothesis"), pl.col("number")
    is_positive, is_negative = (pl.col("label") == label for label in ("entailment", "contradiction"))
    premises = numbered.group_by("premise", maintain_order=True).agg(
        number=number.first(),
        numbers=number.filter(is_positive),
        positives=hypothesis.filter(is_positive),
        negatives=hypothesis.filter(is_negative),
    )
    counts = _count_variants(premises)
    premises, dropped = drop(
        premises, pl.col("positives").list.len() == 0, "a premise without entailment", split="train", key="number"
    )
    neutral = read.filter(label="neutral").height
    dropped = (*([Dropped("a neutral hypothesis", neutral, "train")] if neutral else []), *dropped)
    if contradiction:
        without = pl.col("negatives").list.len() == 0
        premises, more = drop(premises, without, "a premise without contradiction", split="train", key="number")
        dropped += more
    if row_per == "entailment":
        premises = premises.drop("number").explode("numbers", "positives").rename({"numbers": "number"})
        premises = premises.with_columns(pl.concat_list("positives"))
    made = make_pairs(
        premises.with_columns(id=pl.format(f"ru_wanli:{CONFIG}:{{}}", "number"), query="premise"),
        CONFIG,
        read_benchmark_index(raw.whole("index")),
        size=rows,
        negatives=negatives,
        clean=clean,
    )
    return join_tables(Tables({}, dropped, counts), made)


def _count_variants(premises: pl.DataFrame) -> dict[str, int]:
    """The rows that each reading of the paper would give: it says 34,000 and not which."""
    entailed = pl.col("positives").list.len()
    contradicted = premises.filter(pl.col("negatives").list.len() > 0)
    return {
        "premises with entailment": premises.filter(entailed > 0).height,
        "entailment pairs": premises.select(entailed.sum()).item(),
        "premises with entailment and contradiction": contradicted.filter(entailed > 0).height,
        "entailment pairs of premises with contradiction": contradicted.select(entailed.sum()).item(),
    }
