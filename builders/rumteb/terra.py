"""TERRa: Russian textual entailment, a task of Russian SuperGLUE (Shavrina et al., 2020)."""

import polars as pl

from builders.raw_files import https, member
from builders.reading.json import read_json_lines
from builders.shaping.labels import label_numbers
from builders.spec import KnownFinding, RawFiles, Source, Tables, Version, dataset
from builders.tasks import PairClassification

ARCHIVE = https(
    "https://russiansuperglue.com/tasks/download/TERRa",
    name="TERRa.zip",
    sha256="fc7320210b5b6f7087615f13558868de55f46d5e0e365d9d82968c66e6e0dba7",
    bytes=907_346,
)
NAMES = ("not_entailment", "entailment")
PREMISES = KnownFinding("duplicate_text", "default/dev", 25, "One premise has several hypotheses; no pair is repeated.")
DOUBLED = "The source contains them, left by a CSV export. Texts are kept unchanged."
QUOTATION_MARKS = (
    KnownFinding("csv_residue", "default/dev.sentence1", 80, DOUBLED),
    KnownFinding("csv_residue", "default/dev.sentence2", 11, DOUBLED),
)

SOURCE = Source(
    name="terra",
    title="TERRa, Textual Entailment Recognition for Russian",
    license="mit",
    homepage="https://russiansuperglue.com/tasks/task_info/TERRa",
    citation="shavrina2020russiansuperglue",
    annotations=("crowdsourced",),
    files={
        "val": member(
            ARCHIVE,
            "TERRa/val.jsonl",
            name="val.jsonl",
            sha256="9a5ee3fc11a597cdfc838dac5140c6e66fc51eaaa6b418c90367ecb9bffa3601",
            bytes=177_788,
        ),
        "train": member(
            ARCHIVE,
            "TERRa/train.jsonl",
            name="train.jsonl",
            sha256="f2e4e6f2902c0a713f6202f13fbd98f74043a1a06de12acebe98fc06663c62d1",
            bytes=1_551_099,
        ),
    },
)


@dataset(
    "terra-pairclassification",
    pretty_name="TERRa textual entailment (Russian)",
    task_ids=("natural-language-inference",),
    benchmark="rumteb",
    by_design={"duplicate_text": "One premise has several hypotheses; no pair is repeated."},
    task=PairClassification(names=NAMES, splits=("dev",)),
    needs=("val",),
    training={"val": "train"},
    versions={
        "1.0.0": Version(
            "The recipe of the ruMTEB paper: the source's val split, unchanged, as split dev.",
            known=(PREMISES, *QUOTATION_MARKS),
        ),
    },
)
def pair_classification(raw: RawFiles) -> Tables:
    """Does the premise entail the hypothesis?

    The source's labelled val split, unchanged and in its order. Columns: id (String: the source's idx); sentence1 (String: the
    premise); sentence2 (String: the hypothesis); labels (Int64: 1 entailment, 0 not_entailment).
    """
    columns = {"premise": pl.String, "hypothesis": pl.String, "label": pl.String, "idx": pl.Int64}
    rows = read_json_lines(raw["val"], columns)
    frame = rows.select(
        id=pl.col("idx").cast(pl.String),
        sentence1="premise",
        sentence2="hypothesis",
        labels=pl.lit(label_numbers(rows["label"], NAMES, raw["val"])),
    )
    return Tables({"default": {"dev": frame}})
