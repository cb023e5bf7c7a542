"""VitaminC: claims, with evidence from Wikipedia before and after an edit (Schuster et al., 2021)."""

import polars as pl

from builders.raw_files import RawFile, github, member
from builders.reading.json import read_json_lines
from builders.shaping.factuality import CLEAN_NOTES, FEVER, FORM, LABELS, classify_pairs, number_labels, read_splits
from builders.spec import KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

COMMIT = "152c9639f1e33ca295d0776b618c17884088f72f"
ARCHIVES = {
    "vitaminc": "60f0b2fe99a2587b66be4e841254a26cbd8731f3",
    "vitaminc_real": "e8d7521c97168098e9489cd7e985ad6a3725a0a1",
    "vitaminc_synthetic": "df11b9b871bd91812f4460103e1bf6e6c21833ef",
}
TEST = ("real", "synthetic")
FILES = {"train": ("train",), "validation": ("dev",), "test": TEST}
COLUMNS = dict.fromkeys(("unique_id", "claim", "evidence", "label"), pl.String())
SOURCE_DEFECT = "Present in the source; version 2.0.0 drops these rows."
LOST_CHARACTERS = KnownFinding(
    "encoding_residue", "default/test.text", 144, "The source contains U+FFFD; version 2.0.0 drops these rows."
)


def _file(archive: str, path: str, sha256: str | None = None, size: int | None = None) -> RawFile:
    zipped = github("TalSchuster/talschuster.github.io", COMMIT, f"static/{archive}.zip", git_blob=ARCHIVES[archive])
    return member(zipped, f"{archive}/{path}", sha256=sha256, bytes=size)


SOURCE = Source(
    name="vitaminc",
    title="VitaminC, fact verification with contrastive evidence",
    license="cc-by-sa-3.0",
    license_note="The synthetic part is derived from FEVER, whose claims and evidence also come from Wikipedia.",
    homepage="https://github.com/TalSchuster/VitaminC",
    citation="schuster2021vitaminc",
    annotations=("crowdsourced",),
    files={
        "train": _file("vitaminc", "train.jsonl"),
        "dev": _file("vitaminc", "dev.jsonl"),
        "real": _file(
            "vitaminc_real",
            "test.jsonl",
            "4d9a916d430ac4a6507671f7414f7b3ac8bdb7636008b5a5dd85be65d1b8d86f",
            15_634_561,
        ),
        "synthetic": _file(
            "vitaminc_synthetic",
            "test.jsonl",
            "9105b7efdc3baa198260eb80a3c6b43bcd8380dc682db25df5c0ba3889cf535a",
            8_143_050,
        ),
    },
)


@dataset(
    "vitaminc-classification",
    pretty_name="VitaminC fact verification (English)",
    benchmark="ateb",
    task=Classification(labels=LABELS),
    needs={"train": ("train", "dev", *TEST), "validation": ("dev", *TEST), "test": TEST},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper, as far as the paper describes it: all rows of the source.",
            known=(
                KnownFinding("duplicate_text", "default/test.text", 553, SOURCE_DEFECT),
                KnownFinding("conflicting_label", "default/test.label", 12, SOURCE_DEFECT),
                LOST_CHARACTERS,
                KnownFinding("boilerplate", "default/test.text", 55_197, FORM),
            ),
        ),
        "2.0.0": Version(
            CLEAN_NOTES, {"clean": True}, known=(KnownFinding("boilerplate", "default/test.text", 54_346, FORM),)
        ),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Does a passage from Wikipedia support a claim, refute it, or neither?

    All rows of the source in order, the test split being its real part followed by its synthetic part; with `clean`, without the
    rows that would distort scores (builders.shaping.cleaning). Columns: id (String: the source's unique_id); text (String:
    `Premise: {evidence} Hypothesis: {claim}`); label (Int64: 0 entailment = SUPPORTS, 1 neutral = NOT ENOUGH INFO, 2
    contradiction = REFUTES); label_text (String).
    """
    return classify_pairs(read_splits(raw, FILES, _read_rows), raw.splits, clean=clean)


def _read_rows(raw: Raw) -> pl.DataFrame:
    rows = read_json_lines(raw, COLUMNS).rename({"unique_id": "id", "evidence": "premise", "claim": "hypothesis"})
    return number_labels(rows, raw, label="label", numbers=FEVER)
