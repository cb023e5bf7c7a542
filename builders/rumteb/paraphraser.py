"""ParaPhraser: pairs of Russian news headlines judged as paraphrases or not (Pivovarova et al., 2017)."""

import polars as pl

from builders.raw_files import by_hand
from builders.reading.xml import read_xml_values
from builders.shaping.cleaning import clean_rows
from builders.spec import KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import STS

DOWNLOAD = "open http://paraphraser.ru/download/get?file_id={number}, unpack the zip archive and take {name} from it"
REPEATED = "The source contains them; version 3.0.0 has none."
ENTITY = KnownFinding(
    "html_residue", "default/train.sentence2", 1, "The source contains an HTML entity that was escaped twice."
)

SOURCE = Source(
    name="paraphraser",
    title="ParaPhraser, a corpus of Russian sentence paraphrases",
    license="mit",
    homepage="http://paraphraser.ru",
    citation="pivovarova2017paraphraser",
    annotations=("crowdsourced",),
    license_note="The authors publish the corpus under terms like those of the MIT licence.",
    files={
        "train": by_hand(
            "paraphrases.xml",
            DOWNLOAD.format(number=1, name="paraphrases.xml"),
            sha256="a65e06da99efac414d04d4a0b4f2214559049342a92fc223edb17d80fbce76a4",
            bytes=3_701_830,
        ),
        "test": by_hand(
            "paraphrases_gold.xml",
            DOWNLOAD.format(number=5, name="paraphrases_gold.xml"),
            sha256="0f194ac6e8709f090a15add6adafa97e9d64d20fc114be38fea33d708c48da1c",
            bytes=923_540,
        ),
    },
)


@dataset(
    "ru-paraphraser-sts",
    pretty_name="ParaPhraser STS (Russian)",
    benchmark="rumteb",
    by_design={
        "duplicate_text": "A headline is in several pairs.",
        "side_leak": "A headline is in pairs of both splits.",
    },
    task=STS(low=-1.0, high=1.0, splits=("train", "test")),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ruMTEB paper, as in MTEB: the source unchanged.",
            known=(
                KnownFinding("conflicting_label", "default/train.score", 4, REPEATED),
                KnownFinding("conflicting_label", "default/test.score", 7, REPEATED),
                KnownFinding("duplicate_pair", "default/train", 26, REPEATED),
                KnownFinding("duplicate_pair", "default/test", 26, REPEATED),
                ENTITY,
            ),
        ),
        "2.0.0": Version(
            "Every pair once, in either order: drops 6 train rows and 14 test rows whose pair has different scores, and 23 train"
            " rows and 18 test rows that duplicate an earlier pair (one of them in reverse order).",
            {"clean": True},
            known=(ENTITY,),
        ),
        "3.0.0": Version(
            "Every pair once, in either order, ignoring case, punctuation and white space within a split too. Drops a test pair"
            " that a wrong decoding damaged.",
            {"clean": True, "thorough": True},
            known=(ENTITY,),
        ),
    },
)
def sts(raw: RawFiles, *, clean: bool = False, thorough: bool = False) -> Tables:
    """How close in meaning are two headlines?

    The source's training and gold files, in their order. `clean` drops pairs with a text that is empty or a single character,
    pairs with different scores, those that repeat an earlier one of their split, and those that are also in test; `thorough`
    also pairs with a text that a wrong decoding damaged and pairs of two equal texts with another score than 1, and compares the
    pairs of a split ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns: id (String: the
    source's id); sentence1, sentence2 (String); score (Float64: 1 precise paraphrase, 0 near paraphrase, -1 neither).
    """
    if not clean:
        return Tables({"default": {split: _read_pairs(raw[split]) for split in raw.splits}})
    pairs = {split: _read_pairs(file) for split, file in raw.files.items()}
    frames, dropped = clean_rows(
        pairs,
        raw.splits,
        texts=("sentence1", "sentence2"),
        label="score",
        symmetric=True,
        top=1.0 if thorough else None,
        thorough=thorough,
    )
    return Tables({"default": frames}, dropped)


def _read_pairs(raw: Raw) -> pl.DataFrame:
    columns = {"id": pl.String, "text_1": pl.String, "text_2": pl.String, "class": pl.Float64}
    rows = read_xml_values(raw, columns, records=("paraphrase", "paragraph"))
    return rows.select("id", sentence1="text_1", sentence2="text_2", score="class")
