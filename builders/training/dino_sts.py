"""DINO-STS: English sentence pairs that a model wrote with a wanted similarity: 1, 0.5 or 0 (Schick and Schütze, 2021)."""

import polars as pl

from builders.raw_files import by_hand
from builders.reading.json import read_json_lines
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED, make_pairs
from builders.shaping.rows import drop, join_tables, refuse
from builders.spec import Dropped, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

CONFIG = "dino-sts"
FORMS = ("postprocessed", "raw")
# The labels of both forms, as numbers: the postprocessed one smooths 1 and 0, and has 0 for partners that were drawn.
TOP, BOTTOM = (0.9, 1.0), (0.0, 0.1)
LABELS = (*BOTTOM, 0.5, *TOP)
PAIR = {name: pl.String() for name in ("text_a", "text_b", "label")}
INSTRUCTIONS = (
    "github.com/timoschick/dino at 0e4a0525f05dfa763bb99fe7cbde2563be32df4f links the file in its README, as the dataset"
    " STS-DINO-x1x2"
)

SOURCE = Source(
    name="dino_sts",
    title="STS-DINO-x1x2, pairs of sentences written by a model",
    license="other",
    license_note="No licence of the data is stated; the code that made them is under Apache-2.0. A language model wrote both"
    " sentences. Only the recipe is published here.",
    homepage="https://github.com/timoschick/dino",
    citation="schick2021dino",
    annotations=("machine-generated",),
    files={
        "raw": by_hand("sts-dino-x1x2.jsonl", INSTRUCTIONS),
        "postprocessed": by_hand("sts-dino-x1x2-postprocessed.jsonl", f"{INSTRUCTIONS} (postprocessed)"),
        "index": INDEX_FILE,
    },
)


@dataset(
    "dino-sts-contrastive",
    pretty_name="DINO-STS training pairs (English)",
    languages=("eng-Latn",),
    task=Contrastive((CONFIG,)),
    needs=("raw", "postprocessed", "index"),
    versions={
        "1.0.0": "The set DINO-STS-x1x2 of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"rows": 5},
)
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 13_000,
    negatives: int = 7,
    form: str = "postprocessed",
    row_per: str = "sentence",
    clean: bool = False,
) -> Tables:
    """Which sentences mean the same as a sentence, and which do not?

    One file of the source by its first sentence (`text_a`), compared exactly, in the order of each sentence's first pair: the top
    label (1 or 0.9) gives positives, the bottom one (0 or 0.1) negatives; pairs of 0.5 and sentences without a positive are
    dropped. form: "postprocessed" or "raw", the file. row_per: "sentence" for one row with all of its positives, "pair" for one
    row a positive. Random negatives follow up to `negatives` (builders.shaping.contrastive.fill_negatives; the pool is all
    documents of the config). Of rows with equal query and positives the first is kept, and of more than `rows` rows as many are
    drawn in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks
    has. Columns: id (String: `dino_sts:dino-sts:<line of the sentence's first pair, or of the positive, in its file, from 0>`);
    query (String); positives, negatives (List(String)); negative_kinds (List(String): provided or random).

    Raises SourceError for another label, ValueError for another `form` or `row_per`.
    """
    if form not in FORMS or row_per not in ("sentence", "pair"):
        raise ValueError(f"form is 'postprocessed' or 'raw', row_per 'sentence' or 'pair', not {form!r}, {row_per!r}")
    sentences, of_half = _read_sentences(raw[form])
    counts = _count_variants({name: raw[name] for name in FORMS})
    has_none = pl.col("positives").list.len() == 0
    sentences, dropped = drop(
        sentences, has_none, "a sentence without a pair of the top label", split="train", key="number"
    )
    if row_per == "pair":
        exploded = sentences.drop("number").explode("numbers", "positives").rename({"numbers": "number"})
        sentences = exploded.with_columns(pl.concat_list("positives"))
    made = make_pairs(
        sentences.with_columns(id=pl.format(f"dino_sts:{CONFIG}:{{}}", "number"), query="text_a"),
        CONFIG,
        read_benchmark_index(raw.whole("index")),
        size=rows,
        negatives=negatives,
        clean=clean,
    )
    return join_tables(Tables({}, (*of_half, *dropped), counts), made)


def _read_sentences(raw: Raw) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The first sentences: number (of their first pair), text_a, numbers (of the positives), positives, negatives."""
    read = read_json_lines(raw, PAIR, numbers_as_text=("label",))
    pairs = read.with_row_index("number").with_columns(value=pl.col("label").cast(pl.Float64, strict=False))
    unknown = ~pl.col("value").is_in(LABELS) | pl.col("value").is_null()
    refuse(pairs, unknown, raw, "unknown label", found="label", expected="1, 0.9, 0.5, 0.1 or 0")
    text, number, value = pl.col("text_b"), pl.col("number"), pl.col("value")
    sentences = pairs.group_by("text_a", maintain_order=True).agg(
        number=number.first(),
        numbers=number.filter(value.is_in(TOP)),
        positives=text.filter(value.is_in(TOP)),
        negatives=text.filter(value.is_in(BOTTOM)),
    )
    halves = pairs.filter(value == 0.5).height
    return sentences, (Dropped("a pair of the label 0.5", halves, "train"),) if halves else ()


def _count_variants(files: dict[str, Raw]) -> dict[str, int]:
    """The rows that each reading of the paper would give: it says 13,000 and not which."""
    counts: dict[str, int] = {}
    for form, file in files.items():
        of_top = _read_sentences(file)[0]["positives"].list.len()
        counts[f"{form}: sentences with a positive"] = int((of_top > 0).sum())
        counts[f"{form}: pairs of the top label"] = int(of_top.sum())
    return counts
