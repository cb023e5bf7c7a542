"""STSb in Russian: SemEval's STS benchmark, machine-translated (May, 2021), without pairs that are not acceptable Russian."""

import json
from collections.abc import Iterable

import polars as pl

from builders.errors import SourceError
from builders.raw_files import by_hand, github
from builders.reading.csv import read_csv
from builders.reading.json import read_json_lines
from builders.reading.values import shorten
from builders.shaping.cleaning import clean_rows
from builders.shaping.rows import drop_each, refuse
from builders.spec import Decisions, Dropped, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import STS

REBUILD = "move the file away and create it again with embedding-datasets decide"


def head_line(classifier: str) -> str:
    """The first line of a file of decisions, without a newline."""
    return json.dumps({"classifier": classifier}, ensure_ascii=False)


def decision_line(sentence: str, acceptable: bool) -> str:
    """The line of one sentence, without a newline."""
    return json.dumps({"sentence": sentence, "acceptable": acceptable}, ensure_ascii=False)


def read_decisions(raw: Raw, classifier: str) -> pl.DataFrame:
    """The decisions in a file: sentence (String, unique), acceptable (Boolean).

    Raises SourceError if the first line names another classifier or none, and for an incomplete decision or a repeated sentence.
    """
    columns = {"classifier": pl.String(), "sentence": pl.String(), "acceptable": pl.Boolean()}
    rows = read_json_lines(raw, columns, optional=tuple(columns)).with_row_index("line", offset=1)
    author = rows["classifier"][0] if rows.height else None
    if author != classifier:
        raise SourceError(
            f"{raw.name}: decisions of another classifier",
            where=f"{raw.name}, line 1",
            found="no classifier" if author is None else shorten(author, 120),
            expected=shorten(classifier, 120),
            todo=REBUILD,
        )
    decisions, line = rows[1:], pl.format("line {}", "line")
    incomplete = pl.col("sentence").is_null() | pl.col("acceptable").is_null()
    decision, expected = pl.struct("sentence", "acceptable").struct.json_encode(), "a sentence and true or false"
    refuse(decisions, incomplete, raw, "incomplete decision", found=decision, expected=expected, location=line)
    repeated = ~pl.col("sentence").is_first_distinct()
    refuse(
        decisions, repeated, raw, "repeated sentence", found="sentence", expected="each sentence once", location=line
    )
    return decisions.select("sentence", "acceptable")


def find_acceptable(texts: pl.Series, decisions: pl.DataFrame, raw: Raw) -> pl.Series:
    """Whether each text is acceptable (Boolean). decisions: those of `raw`.

    Raises SourceError for a text without a decision.
    """
    verdicts = pl.DataFrame({"sentence": texts}).join(decisions, on="sentence", how="left", maintain_order="left")
    undecided = verdicts.filter(pl.col("acceptable").is_null()).get_column("sentence").unique(maintain_order=True)
    if undecided.len():
        raise SourceError(
            f"{raw.name}: no decision on some sentences",
            where=raw.name,
            found=f"{undecided.len():,} sentences without a decision, the first is {shorten(undecided[0])}",
            expected="a decision on each sentence",
            todo=REBUILD,
        )
    return verdicts.get_column("acceptable")


def rejected_sentences(raw: Raw, classifier: str, sentences: list[str]) -> list[str]:
    """The sentences that a file of decisions rejects.

    Raises SourceError as read_decisions and find_acceptable do.
    """
    each = pl.Series("sentence", sentences, pl.String)
    return each.filter(~find_acceptable(each, read_decisions(raw, classifier), raw)).to_list()


def read_pairs(raw: Raw, split: str) -> pl.DataFrame:
    """The pairs of one file: id, sentence1, sentence2, score."""
    columns = {"sentence1": pl.String(), "sentence2": pl.String(), "score": pl.Float64()}
    rows = read_csv(raw, columns, header=False)
    number = pl.int_range(1, pl.len() + 1).cast(pl.String)
    return rows.select((f"{split}-" + number).alias("id"), *columns)


def distinct_sentences(files: Iterable[Raw]) -> list[str]:
    """All distinct sentences, in the order of the files: the input of the classifier."""
    tables = [read_pairs(raw, "") for raw in files]
    each = [table.select(pl.concat_list("sentence1", "sentence2").explode()) for table in tables]
    return pl.concat(each).to_series().unique(maintain_order=True).to_list()


COMMIT = "30de0dec4ee199b7f42351d3f1a0b19592955385"
MODEL = "RussianNLP/ruRoBERTa-large-rucola"
REVISION = "6c831fed5181698d68282387e331ea3e891eee91"
CLASSIFIER = f"{MODEL}@{REVISION}"
FILES = {"train": "train", "validation": "dev", "test": "test"}
SIDES = ("sentence1", "sentence2")
SAME = {"pair and score": ["sentence1", "sentence2", "score"], "pair": ["sentence1", "sentence2"]}

SOURCE = Source(
    name="stsb_ru",
    title="STSb Multi MT, the STS benchmark in Russian",
    license="cc-by-sa-4.0",
    license_note="This is the licence of the scores. The sentences come from several corpora with their own terms, and were "
    "translated with DeepL: see LICENSE upstream.",
    homepage="https://github.com/PhilipMay/stsb-multi-mt",
    citation=("may2021stsb", "cer2017semeval", "mikhailov2022rucola"),
    annotations=("crowdsourced",),
    files={
        "train": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-train.csv",
            sha256="9b2fa623b9a0fa827151a47f4713c5ebc56313c069ff47855e393d505951aa30",
            bytes=1_373_901,
        ),
        "dev": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-dev.csv",
            sha256="8e4de0dcb2d87c1a2adc7bfdbe8ce4a7e0a1e10e3deba947e26069490ab66abd",
            bytes=382_231,
        ),
        "test": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-test.csv",
            sha256="87a92ee27b26e724c4e4923d744d8198f9eef49698be7b514734118a755c4fce",
            bytes=295_513,
        ),
        "decisions": by_hand(
            "rucola-decisions.jsonl",
            f"run the classifier {MODEL} once: pip install '.[acceptability]' and "
            "embedding-datasets decide stsb_ru --raw-dir DIR; or copy the file from somebody who has it",
            made_by="decide",
        ),
    },
    decisions=Decisions(
        key="decisions",
        inputs=tuple(FILES.values()),
        model=MODEL,
        revision=REVISION,
        sentences=distinct_sentences,
        head=head_line,
        line=decision_line,
        rejected=rejected_sentences,
    ),
)


@dataset(
    "ru-stsbenchmark-sts",
    pretty_name="STS Benchmark (Russian)",
    benchmark="rumteb",
    by_design={
        "duplicate_text": "A sentence is in several pairs.",
        "side_leak": "A sentence is in pairs of several splits.",
    },
    task=STS(low=0.0, high=5.0, splits=("train", "validation", "test")),
    needs={
        "train": ("train", "dev", "test", "decisions"),
        "validation": ("dev", "test", "decisions"),
        "test": ("test", "decisions"),
    },
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Every pair once, in either order, ignoring case, punctuation and white space: drops rows whose pair has different"
            " scores, rows that duplicate an earlier pair, and rows whose pair is also in a later split. Drops pairs of two equal"
            " sentences with a score below 5. Without the classifier, these rules would drop 166 train rows, 21 validation rows"
            " and 15 test rows.",
            {"clean": True},
        ),
    },
    sample={"classifier": "made by hand for the golden sample"},
    own_rows="a classifier decides which rows stay, at a revision of our choice, because the paper records none",
)
def sts(raw: RawFiles, *, classifier: str = CLASSIFIER, same: str = "pair and score", clean: bool = False) -> Tables:
    """How close in meaning are two sentences?

    The source's three files, in their order, without the pairs that have a sentence judged unacceptable by the `classifier` and
    those that are the `same` as an earlier one of their split ("pair and score": both sentences and the score are equal;
    "pair": both sentences are equal). Instead of the latter, `clean` drops pairs with a sentence that is empty, a single
    character or damaged by a wrong decoding, pairs of two equal sentences with a score below 5, pairs with different scores,
    those that repeat an earlier one of their split, and those that are also in a later split, ignoring case, punctuation and
    white space (builders.shaping.cleaning.clean_rows). Columns: id (String: `<split>-<row in the source's file, from 1>`);
    sentence1, sentence2 (String); score (Float64: 0 unrelated to 5 equivalent).
    """
    file = raw.whole("decisions")
    decisions = read_decisions(file, classifier)
    frames, dropped, observed = {}, list[Dropped](), dict[str, int]()
    for split in (split for split, key in FILES.items() if key in raw.files and (clean or split in raw.splits)):
        rows = read_pairs(raw[FILES[split]], split)
        observed |= {f"pairs read in {split}": rows.height}
        observed |= {f"distinct by {name} in {split}": rows.n_unique(columns) for name, columns in SAME.items()}
        first, second = (find_acceptable(rows[side], decisions, file) for side in ("sentence1", "sentence2"))
        exclusions = {"a sentence is not acceptable": pl.lit(~(first & second))}
        if not clean:
            exclusions[f"an earlier row has the same {same}"] = ~pl.struct(SAME[same]).is_first_distinct()
        frames[split], excluded = drop_each(rows, exclusions, split=split)
        dropped += excluded
    if clean:
        frames, more = clean_rows(frames, raw.splits, texts=SIDES, label="score", symmetric=True, top=5.0)
        dropped += more
    return Tables({"default": frames}, tuple(dropped), observed)
