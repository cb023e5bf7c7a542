"""CEDR: Russian sentences from social media and news, labelled with the emotions they express (Sboev et al., 2021)."""

import polars as pl

from builders.raw_files import RawFile, https, member
from builders.reading.json import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.shaping.labels import label_numbers
from builders.spec import KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import MultilabelClassification

ARCHIVE = https(
    "https://sagteam.ru/cedr/main.zip",
    sha256="d81e6d19679a903773b8776c4c0f68755d55596e6b34866fbaa9d39d2e385bd3",
    bytes=693_026,
)
EMOTIONS = ("joy", "sadness", "surprise", "fear", "anger")
REPEATED = "The source contains them; version 3.0.0 has none."
# What tools left in the texts: the end of a line as a spreadsheet escapes it, several times over, and a tag of a tokenised page.
RESIDUE_PATTERN = r"(?:_x005F)*_x000D_|</ i >"
RESIDUE = KnownFinding(
    "encoding_residue",
    "default/train.text",
    4,
    "The source contains them: spreadsheet escapes in three texts and a lost letter in one. Texts are kept unchanged.",
)

ESCAPES = KnownFinding(
    "encoding_residue",
    "default/train.text",
    3,
    "The source contains them: spreadsheet escapes in three texts. Texts are kept unchanged.",
)


def _file(split: str, sha256: str, size: int) -> RawFile:
    return member(ARCHIVE, f"main/{split}.jsonl", sha256=sha256, bytes=size)


SOURCE = Source(
    name="cedr",
    title="CEDR, the Corpus for Emotions Detecting in Russian-language text sentences",
    license="apache-2.0",
    homepage="https://github.com/sag111/CEDR",
    citation="sboev2021cedr",
    annotations=("crowdsourced",),
    files={
        "train": _file("train", "83cdf73b0306150907f8d5ba955513d2398fbb2797e1754c5fc42aff7e4e2d5b", 3_861_409),
        "test": _file("test", "3b23fb3c6517ebf1ec125faa2bf83d5af84082ea8d802c7a9c0fdc2aa14f7840", 954_040),
    },
)


@dataset(
    "cedr-classification",
    pretty_name="CEDR emotion classification (Russian)",
    task_ids=("sentiment-classification",),
    benchmark="rumteb",
    task=MultilabelClassification(labels=EMOTIONS),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ruMTEB paper: the source unchanged.",
            known=(
                KnownFinding("duplicate_text", "default/train.text", 29, REPEATED),
                KnownFinding("duplicate_text", "default/test.text", 7, REPEATED),
                KnownFinding("split_leak", "default/test.text", 7, REPEATED, detail="in train"),
                RESIDUE,
            ),
        ),
        "2.0.0": Version(
            "Every text once: drops 28 train rows and 7 test rows that duplicate an earlier row, and 15 train rows whose text is"
            " in test (for 8 of them, ignoring case, punctuation and white space).",
            {"clean": True},
            known=(RESIDUE,),
        ),
        "3.0.0": Version(
            "Every text once, ignoring case, punctuation and white space within a split too; a text with different emotions is"
            " dropped, and so is one that a wrong decoding damaged.",
            {"clean": True, "thorough": True},
            known=(ESCAPES,),
        ),
        "4.0.0": Version(
            "Texts that differ in a smiley, `?` or `!` are different texts: 3 train rows and 2 test rows return. 1 train row"
            " goes, because the test rows that return differ from it only in these. Spreadsheet escapes are removed from 3 train"
            " texts, and a stray tag from 1 test text.",
            {"clean": True, "thorough": True, "by_meaning": True, "repair": True},
        ),
    },
)
def classification(
    raw: RawFiles, *, clean: bool = False, thorough: bool = False, by_meaning: bool = False, repair: bool = False
) -> Tables:
    """Which of five emotions does a sentence express?

    Both splits of the source, in its order. `clean` drops texts that are empty or a single character, have different labels,
    repeat an earlier one of their split, or are also in test; `thorough` also those that a wrong decoding damaged, and compares
    the texts of a split ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). `by_meaning`: texts
    that differ in a smiley or in `?` and `!` are different, and look-alike letters do not hide a text that is also in test.
    `repair` removes what tools left in the texts, before they are compared. Columns: text (String); label (List(Int64),
    ascending: 0 joy, 1 sadness, 2 surprise, 3 fear, 4 anger; empty if no emotion is expressed); source (String: where the text
    comes from).
    """
    if not clean:
        return Tables({"default": {split: _read_sentences(raw[split]) for split in raw.splits}})
    sentences = {split: _read_sentences(file) for split, file in raw.files.items()}
    observed: dict[str, int] = {}
    if repair:
        for split in raw.splits:
            damaged = sentences[split]["text"].str.contains(RESIDUE_PATTERN)
            observed[f"texts repaired in {split}"] = int(damaged.sum())
        repaired = pl.col("text").str.replace_all(RESIDUE_PATTERN, "")
        sentences = {split: rows.with_columns(repaired) for split, rows in sentences.items()}
    frames, dropped = clean_rows(sentences, raw.splits, thorough=thorough, by_meaning=by_meaning)
    return Tables({"default": frames}, dropped, observed)


def _read_sentences(raw: Raw) -> pl.DataFrame:
    rows = read_json_lines(raw, {"text": pl.String, "labels": pl.List(pl.String), "source": pl.String})
    return rows.select("text", label_numbers(rows["labels"], EMOTIONS, raw).alias("label"), "source")
