"""BeaverTails: questions put to a language model and its answers, with the kinds of harm people saw in them (Ji et al., 2023)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.spec import KnownFinding, Raw, RawFile, RawFiles, Source, Tables, Version, dataset, hub
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
LINK = KnownFinding("html_residue", "default/test.text", 1, "The model wrote `<Link>` where a link might stand.")
COLUMNS = {
    "prompt": pl.String(),
    "response": pl.String(),
    "category": pl.Struct(dict.fromkeys(CATEGORIES, pl.Boolean)),
    "is_safe": pl.Boolean(),
}


def _file(split: str, sha256: str | None = None) -> RawFile:
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
        # The Hub's own file has sha256 0ce619bf4c421c12e578445b1fb8d1aedf4bf05ca3eb985f4ddf498a784769ff. It is not pinned: copies
        # of the same rows that were written anew, which are in wide use, would be refused.
        "test": _file("test"),
    },
)


@dataset(
    "beavertails-qa-classification",
    benchmark="ateb",
    task=Classification(labels=LABELS, splits=("train", "test")),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper: all rows of the 30k set.",
            known=(
                KnownFinding(
                    "duplicate_text", "default/test.text", 2, "The source has them; version 2.0.0 leaves them out."
                ),
                LINK,
            ),
        ),
        "2.0.0": Version(
            "Left out: texts with two labels, repeated ones (2 rows of test), and those of train that test has.",
            {"clean": True},
            known=(LINK,),
        ),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Is a question with its answer safe, seen as a whole?

    All rows of the 30k set, or those that are `clean` (builders.shaping.cleaning), in its order. Columns: id (String: the line
    of the raw file, 0-based); text (String: the prompt, a space and the response); label (Int64: 1 safe, 0 unsafe); label_text
    (String); category (List(String): the kinds of harm that people saw, in the source's order; empty for none). Observed of the
    source, whatever is clean: rows whose label and kinds of harm do not agree.
    """
    frames = {split: _rows(file) for split, file in raw.files.items()}
    disagree = (pl.col("category").list.len() == 0) != (pl.col("label") == 1)
    contrary = sum(frames[split].filter(disagree).height for split in raw.splits)
    observed = {"safe rows with a kind of harm, unsafe rows without": contrary}
    kept, dropped = clean_rows(frames, raw.splits) if clean else (frames, ())
    return Tables({"default": {split: kept[split] for split in raw.splits}}, dropped, observed)


def _rows(raw: Raw) -> pl.DataFrame:
    rows = read_json_lines(raw, COLUMNS).with_row_index("line")
    label = pl.col("is_safe").cast(pl.Int64)
    named = [pl.when(pl.col("category").struct.field(name)).then(pl.lit(name)) for name in CATEGORIES]
    return rows.select(
        id=pl.col("line").cast(pl.String),
        text=pl.concat_str("prompt", "response", separator=" "),
        label=label,
        label_text=label.replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String),
        category=pl.concat_list(named).list.drop_nulls(),
    )
