"""BeaverTails: questions to a language model and its answers, labelled with categories of harm (Ji et al., 2023)."""

import polars as pl

from builders.raw_files import RawFile, hub
from builders.reading.json import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.spec import KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

REVISION = "8401fe609d288129cc684a9b3be6a93e41cfe678"
LABELS = ("unsafe", "safe")
CATEGORIES = (
    "animal_abuse",
    "child_abuse",
    "controversial_topics,politics",
    "discrimination,stereotype,injustice",
    "drug_abuse,weapons,banned_substance",
    "financial_crime,property_crime,theft",
    "hate_speech,offensive_language",
    "misinformation_regarding_ethics,laws_and_safety",
    "non_violent_unethical_behavior",
    "privacy_violation",
    "self_harm",
    "sexually_explicit,adult_content",
    "terrorism,organized_crime",
    "violence,aiding_and_abetting,incitement",
)
COLUMNS = {
    "prompt": pl.String(),
    "response": pl.String(),
    "category": pl.Struct(dict.fromkeys(CATEGORIES, pl.Boolean)),
    "is_safe": pl.Boolean(),
}
DUPLICATES = KnownFinding(
    "duplicate_text", "default/test.text", 2, "The source repeats them; version 2.0.0 drops them."
)


def _file(split: str, sha256: str) -> RawFile:
    return hub("PKU-Alignment/BeaverTails", REVISION, f"round0/30k/{split}.jsonl.gz", sha256=sha256)


SOURCE = Source(
    name="beavertails",
    title="BeaverTails",
    license="cc-by-nc-4.0",
    homepage="https://huggingface.co/datasets/PKU-Alignment/BeaverTails",
    citation="ji2023beavertails",
    annotations=("crowdsourced",),
    files={
        "train": _file("train", "2e24b85dd599224eeb7379da297223bad50e11fea9fee6a7fdb4bd26aedec315"),
        "test": _file("test", "0ce619bf4c421c12e578445b1fb8d1aedf4bf05ca3eb985f4ddf498a784769ff"),
    },
)


@dataset(
    "beavertails-qa-classification",
    pretty_name="BeaverTails safety classification (English)",
    benchmark="ateb",
    task=Classification(labels=LABELS, splits=("train", "test")),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper, as far as the paper describes it: all rows of the 30k set, which the paper does not"
            " name.",
            known=(DUPLICATES,),
        ),
        "2.0.0": Version(
            "Drops texts with conflicting labels, repeated texts, and train texts that are also in test, ignoring case,"
            " punctuation and white space; and texts that a wrong decoding damaged.",
            {"clean": True},
        ),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Classify a question and its answer together as safe or unsafe.

    All rows of the 30k set in source order; with `clean`, without the rows that would distort scores (builders.shaping.cleaning).
    Columns: id (String: the 0-based line of the raw file); text (String: the prompt, a space and the response); label (Int64: 1
    safe, 0 unsafe); label_text (String); category (List(String): the categories of harm that annotators chose, in source order;
    may be empty). Observed, with and without `clean`: source rows whose label contradicts their categories of harm.
    """
    frames = {split: _read_rows(file) for split, file in raw.files.items()}
    contradictory = (pl.col("category").list.len() == 0) != (pl.col("label") == 1)
    count = sum(frames[split].filter(contradictory).height for split in raw.splits)
    rows, dropped = clean_rows(frames, raw.splits) if clean else (frames, ())
    return Tables(
        {"default": {split: rows[split] for split in raw.splits}},
        dropped,
        {"safe rows with a kind of harm, unsafe rows without": count},
    )


def _read_rows(raw: Raw) -> pl.DataFrame:
    label = pl.col("is_safe").cast(pl.Int64)
    names = [pl.when(pl.col("category").struct.field(name)).then(pl.lit(name)) for name in CATEGORIES]
    return (
        read_json_lines(raw, COLUMNS)
        .with_row_index("line")
        .select(
            id=pl.col("line").cast(pl.String),
            text=pl.concat_str("prompt", "response", separator=" "),
            label=label,
            label_text=label.replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String),
            category=pl.concat_list(names).list.drop_nulls(),
        )
    )
