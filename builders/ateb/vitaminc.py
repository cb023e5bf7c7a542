"""VitaminC: claims with evidence from Wikipedia before and after it was edited (Schuster et al., 2021)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_lines
from builders.shaping.factuality import FEVER, LABELS, classify_pairs, labelled
from builders.spec import KnownFinding, Raw, RawFile, RawFiles, Source, Tables, Version, dataset, github, member
from builders.tasks import Classification

COMMIT = "152c9639f1e33ca295d0776b618c17884088f72f"
FILES = {"train": ("train",), "validation": ("dev",), "test": ("real", "synthetic")}
COLUMNS = dict.fromkeys(("unique_id", "claim", "evidence", "label"), pl.String())
MENDED = "The source has them; version 2.0.0 leaves them out."
LOST = "The source holds U+FFFD; what was lost is not known."


def _archive(name: str, git_blob: str) -> RawFile:
    return github("TalSchuster/talschuster.github.io", COMMIT, f"static/{name}", git_blob=git_blob)


WHOLE = _archive("vitaminc.zip", "60f0b2fe99a2587b66be4e841254a26cbd8731f3")
REAL = _archive("vitaminc_real.zip", "e8d7521c97168098e9489cd7e985ad6a3725a0a1")
SYNTHETIC = _archive("vitaminc_synthetic.zip", "df11b9b871bd91812f4460103e1bf6e6c21833ef")

SOURCE = Source(
    name="vitaminc",
    title="VitaminC, fact verification with contrastive evidence",
    license="cc-by-sa-3.0",
    license_note="The synthetic part is made from FEVER, whose claims and evidence come from Wikipedia as well.",
    homepage="https://github.com/TalSchuster/VitaminC",
    citation="schuster2021vitaminc",
    annotations=("crowdsourced",),
    files={
        "train": member(WHOLE, "vitaminc/train.jsonl"),
        "dev": member(WHOLE, "vitaminc/dev.jsonl"),
        "real": member(
            REAL,
            "vitaminc_real/test.jsonl",
            sha256="4d9a916d430ac4a6507671f7414f7b3ac8bdb7636008b5a5dd85be65d1b8d86f",
            bytes=15_634_561,
        ),
        "synthetic": member(
            SYNTHETIC,
            "vitaminc_synthetic/test.jsonl",
            sha256="9105b7efdc3baa198260eb80a3c6b43bcd8380dc682db25df5c0ba3889cf535a",
            bytes=8_143_050,
        ),
    },
)


@dataset(
    "vitaminc-classification",
    benchmark="ateb",
    task=Classification(labels=LABELS),
    needs={
        "train": ("train", "dev", "real", "synthetic"),
        "validation": ("dev", "real", "synthetic"),
        "test": ("real", "synthetic"),
    },
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper: all rows of the source.",
            known=(
                KnownFinding("duplicate_text", "default/test.text", 529, MENDED),
                KnownFinding("conflicting_label", "default/test.label", 12, MENDED),
                KnownFinding("encoding_residue", "default/test.text", 144, LOST),
            ),
        ),
        "2.0.0": Version(
            "Left out: texts with two labels, repeated ones, those of train and validation that a later split has, and those"
            " with a side of no more than a character. Of test these are 26 rows of 12 texts, and 515 repetitions.",
            {"clean": True},
            known=(KnownFinding("encoding_residue", "default/test.text", 144, LOST),),
        ),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Does a passage of Wikipedia support a claim, refute it, or neither?

    All rows of the source, or those that are `clean` (builders.shaping.cleaning), in its order; the test split is its real
    part, then its synthetic part. Columns: id (String: the source's unique_id); text (String: `Premise: {evidence}
    Hypothesis: {claim}`); label (Int64: 0 entailment = SUPPORTS, 1 neutral = NOT ENOUGH INFO, 2 contradiction = REFUTES);
    label_text (String).
    """
    here = {split: keys for split, keys in FILES.items() if set(keys) <= set(raw.files)}
    frames = {split: pl.concat([_rows(raw[key]) for key in keys]) for split, keys in here.items()}
    return classify_pairs(frames, raw.splits, clean=clean)


def _rows(raw: Raw) -> pl.DataFrame:
    names = {"unique_id": "id", "evidence": "premise", "claim": "hypothesis"}
    return labelled(read_json_lines(raw, COLUMNS).rename(names), raw, label="label", numbers=FEVER)
