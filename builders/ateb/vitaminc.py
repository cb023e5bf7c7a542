"""VitaminC: claims, with evidence from Wikipedia before and after an edit (Schuster et al., 2021)."""

from typing import Any

import polars as pl

from builders.raw_files import RawFile, github, member
from builders.reading.json import read_json_lines
from builders.shaping.factuality import (
    CLEAN_NOTES,
    FEVER,
    FORM,
    LABELS,
    SIDES,
    classify_pairs,
    number_labels,
    read_splits,
)
from builders.shaping.rows import drop
from builders.spec import Dropped, KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

COMMIT = "152c9639f1e33ca295d0776b618c17884088f72f"
ARCHIVES: dict[str, dict[str, Any]] = {
    "vitaminc": {"git_blob": "60f0b2fe99a2587b66be4e841254a26cbd8731f3"},
    "vitaminc_real": {"git_blob": "e8d7521c97168098e9489cd7e985ad6a3725a0a1", "bytes": 1_644_623},
    "vitaminc_synthetic": {"git_blob": "df11b9b871bd91812f4460103e1bf6e6c21833ef", "bytes": 643_286},
}
TEST = ("real", "synthetic")
FILES = {"train": ("train",), "validation": ("dev",), "test": TEST}
COLUMNS = dict.fromkeys(("unique_id", "claim", "evidence", "label"), pl.String())
SOURCE_DEFECT = "Present in the source; version 2.0.0 drops these rows."
REPEATED = "Present in the source; version 2.0.0 drops these rows, but for 13 that differ from another in quotation marks alone."
CONTRAST = "By design: a contrast set, whose claims and passages differ in a few words from those with another label."
LOST_CHARACTERS = KnownFinding(
    "encoding_residue", "default/test.text", 144, "The source contains U+FFFD; version 2.0.0 drops these rows."
)
# What Wikipedia's pages leave in a passage, in upstream's tokens: `< /ref >`, `< ref name= '' snep '' >`, `< ! --`, `& apos ;`.
_NAMES = "blockquote|br|center|gallery|math|nowiki|ref|small|sub|sup"
MARKUP = rf"(?i)< ?(?:/ ?)?(?:{_NAMES})\b|< ?! ?--|& ?(?:amp|apos|gt|lt|nbsp|quot) ?;"
WITH_MARKUP = "the passage or the claim has an HTML tag or character reference"


def _file(archive: str, path: str, sha256: str | None = None, size: int | None = None) -> RawFile:
    zipped = github("TalSchuster/talschuster.github.io", COMMIT, f"static/{archive}.zip", **ARCHIVES[archive])
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
    task_ids=("fact-checking", "natural-language-inference"),
    benchmark="ateb",
    task=Classification(labels=LABELS),
    by_design={
        "near_duplicate": "A contrast set: a claim comes with evidence before and after an edit, which differ in a few words.",
    },
    needs={"train": ("train", "dev", *TEST), "validation": ("dev", *TEST), "test": TEST},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper, as far as the paper describes it: all rows of the source.",
            known=(
                KnownFinding("duplicate_text", "default/test.text", 566, REPEATED),
                KnownFinding("conflicting_label", "default/test.label", 12, SOURCE_DEFECT),
                LOST_CHARACTERS,
                KnownFinding("near_duplicate", "default/test.text", 18_545, CONTRAST),
                KnownFinding("boilerplate", "default/test.text", 55_197, FORM),
            ),
        ),
        "2.0.0": Version(
            CLEAN_NOTES,
            {"clean": True},
            known=(
                KnownFinding("near_duplicate", "default/test.text", 18_435, CONTRAST),
                KnownFinding("boilerplate", "default/test.text", 54_346, FORM),
            ),
        ),
        "3.0.0": Version(
            "Pairs that differ only in quotation marks are repeated pairs, whatever the marks: 13 test rows go. Pairs that differ"
            " in `?`, `!` or a sign are different pairs: no test row returns. Pairs with an HTML tag or character reference, such"
            " as `< /ref >`, are dropped: 92 more test rows go.",
            {"clean": True, "by_meaning": True, "drop_markup": True},
            known=(
                KnownFinding("near_duplicate", "default/test.text", 18_414, CONTRAST),
                KnownFinding("boilerplate", "default/test.text", 54_241, FORM),
            ),
        ),
    },
)
def classification(
    raw: RawFiles, *, clean: bool = False, by_meaning: bool = False, drop_markup: bool = False
) -> Tables:
    """Does a passage from Wikipedia support a claim, refute it, or neither?

    All rows of the source in order, the test split being its real part followed by its synthetic part; with `clean`, without the
    rows that would distort scores (builders.shaping.cleaning). `by_meaning`: pairs that differ in `?`, `!` or a sign are
    different, those that differ only in quotation marks are not. `drop_markup` first drops pairs with an HTML tag or character
    reference. Columns: id (String: the source's unique_id); text (String: `Premise: {evidence} Hypothesis: {claim}`); label
    (Int64: 0 entailment = SUPPORTS, 1 neutral = NOT ENOUGH INFO, 2 contradiction = REFUTES); label_text (String).
    """
    frames = read_splits(raw, FILES, _read_rows)
    dropped: dict[str, tuple[Dropped, ...]] = {}
    if drop_markup:
        has_markup = pl.any_horizontal(pl.col(side).str.contains(MARKUP) for side in SIDES)
        for split, rows in frames.items():
            frames[split], dropped[split] = drop(rows, has_markup, WITH_MARKUP, split=split)
    tables = classify_pairs(frames, raw.splits, clean=clean, by_meaning=by_meaning)
    return Tables(tables.frames, (*(one for split in raw.splits for one in dropped.get(split, ())), *tables.dropped))


def _read_rows(raw: Raw) -> pl.DataFrame:
    rows = read_json_lines(raw, COLUMNS).rename({"unique_id": "id", "evidence": "premise", "claim": "hypothesis"})
    return number_labels(rows, raw, label="label", numbers=FEVER)
