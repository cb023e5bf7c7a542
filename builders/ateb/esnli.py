"""e-SNLI: photo captions and sentences about them that follow, may be true or cannot be (Camburu et al., 2018)."""

from typing import Any

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.csv import read_csv
from builders.shaping.factuality import CLEAN_NOTES, FORM, LABELS, NLI, classify_pairs, number_labels, read_splits
from builders.spec import KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

COMMIT = "7b585a3f077fdea899780eb0473940522ae44a2e"
FILES = {"train": ("train_1", "train_2"), "validation": ("dev",), "test": ("test",)}
COLUMNS = dict.fromkeys(("pairID", "gold_label", "Sentence1", "Sentence2"), pl.String())


def _file(name: str, git_blob: str, **size: Any) -> RawFile:
    return github("OanaMariaCamburu/e-SNLI", COMMIT, f"dataset/{name}", git_blob=git_blob, **size)


KNOWN = (
    KnownFinding("boilerplate", "default/test.text", 9_824, FORM),
    KnownFinding(
        "label_leaking_column",
        "default/test.id",
        3,
        "The source's ids end in the first letter of the label that was asked for.",
    ),
)
SOURCE = Source(
    name="esnli",
    title="e-SNLI, Natural Language Inference with Natural Language Explanations",
    license="cc-by-sa-4.0",
    license_note=(
        "The sentences and labels, all that is used here, come from SNLI, which is under CC BY-SA 4.0; its premises are captions"
        " of photos on Flickr. The repository of e-SNLI is under the MIT licence."
    ),
    homepage="https://github.com/OanaMariaCamburu/e-SNLI",
    citation=("camburu2018esnli", "bowman2015snli"),
    annotations=("crowdsourced",),
    files={
        # The sizes that are only about right are of the branch, not of this commit.
        "train_1": _file("esnli_train_1.csv", "04b098c83c88500a68bf4979fdecd5e796898891", about=90_169_741),
        "train_2": _file("esnli_train_2.csv", "1288666e01ecc3ec391d64f11a4d24a6591c229d", about=99_406_852),
        "dev": _file("esnli_dev.csv", "4ce63116003f2ca8ddbf12035cebb9d019a0cf46", about=7_501_310),
        "test": _file("esnli_test.csv", "58e3400341dd20296dedb7a539aa51dcb8750fef", bytes=7_438_107),
    },
)


@dataset(
    "esnli-classification",
    pretty_name="e-SNLI inference classification (English)",
    task_ids=("natural-language-inference",),
    benchmark="ateb",
    by_design={"near_duplicate": "A premise has three hypotheses, which often differ in a word or two."},
    task=Classification(labels=LABELS),
    needs={"train": ("train_1", "train_2", "dev", "test"), "validation": ("dev", "test"), "test": ("test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper, as far as the paper describes it: all rows of the source.", known=KNOWN
        ),
        "2.0.0": Version(f"{CLEAN_NOTES} The test split is unchanged.", {"clean": True}, known=KNOWN),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Does the hypothesis follow from the premise, contradict it, or neither?

    All rows of the source in order, the two train files one after the other; with `clean`, without the rows that would distort
    scores (builders.shaping.cleaning). Columns: id (String: the source's pairID); text (String: `Premise: {premise} Hypothesis:
    {hypothesis}`); label (Int64: 0 entailment, 1 neutral, 2 contradiction); label_text (String).
    """
    return classify_pairs(read_splits(raw, FILES, _read_rows), raw.splits, clean=clean)


def _read_rows(raw: Raw) -> pl.DataFrame:
    rows = read_csv(raw, COLUMNS).rename({"pairID": "id", "Sentence1": "premise", "Sentence2": "hypothesis"})
    return number_labels(rows, raw, label="gold_label", numbers=NLI, unit="record")
