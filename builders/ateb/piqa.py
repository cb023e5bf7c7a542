"""PIQA: everyday goals, each with two solutions, one of them right (Bisk et al., 2020)."""

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.json import read_json_lines
from builders.shaping.choices import build_gold_pool, build_option_pool, gold_notes, read_gold_labels
from builders.spec import KnownFinding, Prompts, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

COMMIT = "21edab439af693b961be2f069e8690a88d3b4e37"
PREFIX = "piqa"
PROMPTS = Prompts("Given the following goal, retrieve a possible solution.")
LABELS = {"0": 0, "1": 1}
SOLUTIONS = ("sol1", "sol2")


def _file(name: str, sha256: str, size: int) -> RawFile:
    return github("ybisk/ybisk.github.io", COMMIT, f"piqa/data/{name}", sha256=sha256, bytes=size)


def _known(why: str) -> tuple[KnownFinding, ...]:
    repeats = "Some goals occur several times in the validation set, each time with a different correct solution"
    return (KnownFinding("duplicate_text", "queries/test.text", 37, f"{repeats}; {why}"),)


SOURCE = Source(
    name="piqa",
    title="PIQA, Physical Interaction: Question Answering",
    license="afl-3.0",
    homepage="https://yonatanbisk.com/piqa/",
    citation="bisk2020piqa",
    annotations=("crowdsourced",),
    files={
        "valid": _file("valid.jsonl", "93503cc97c679e459b065c3d13e848282e44b2a25213985bed3e5d458abef72d", 495_929),
        "valid_labels": _file(
            "valid-labels.lst", "b4192dc3a2a0363d9d60ccf79800cbbe2f32ebb17726efdde6970e0b8131bceb", 3_676
        ),
        "train": _file("train.jsonl", "f55986008cf9f1a336854936b82cec4ccba6fb5c698d221861299fb508840a8c", 5_123_360),
    },
)


@dataset(
    "piqa-retrieval",
    pretty_name="PIQA retrieval (English)",
    benchmark="ateb",
    task=Retrieval(),
    needs=("valid", "valid_labels"),
    versions={
        "1.0.0": Version(
            gold_notes("the correct solutions of the validation split"),
            known=_known("version 2.0.0 merges them, except one with a comma in front, which 3.0.0 merges."),
        ),
        "2.0.0": Version(
            "Merges queries that differ only in case, white space or final punctuation, and documents likewise. No document is"
            " affected.",
            {"clean": True},
        ),
        "3.0.0": Version(
            "Also merges queries that differ only in a comma before the first word (one does), and documents likewise (none"
            " does).",
            {"clean": True, "start": True},
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False, start: bool = False) -> Tables:
    """Find a solution that reaches a goal among the correct solutions to all goals.

    corpus: id, title (""), text (String: the distinct correct solutions of the validation split, in order); queries: id, text
    (String: the goal, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1). clean: merge duplicate queries and
    documents (builders.shaping.rows). start: ignore commas and the like before the first word, too.
    """
    questions = read_questions(raw["valid"], raw["valid_labels"])
    return build_gold_pool(questions, prefix=PREFIX, split="test", clean=clean, start=start)


@dataset(
    "rarb-piqa",
    pretty_name="RAR-b PIQA (English)",
    benchmark="rarb",
    task=Retrieval(),
    needs=("valid", "valid_labels", "train"),
    versions={
        "1.0.0": Version(
            "RAR-b's published construction: the corpus is all solutions of the validation and train splits.",
            known=_known("RAR-b's published queries repeat them too."),
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find a solution that reaches a goal among the correct and wrong solutions to all goals.

    corpus: id, title (""), text (String: the distinct solutions of the validation and train splits, in this order); queries:
    id, text (String: the goal, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    valid = read_questions(raw["valid"], raw["valid_labels"])
    train = read_json_lines(raw["train"], dict.fromkeys(SOLUTIONS, pl.String()))
    return build_option_pool(valid, [train.select(options=pl.concat_list(SOLUTIONS))], prefix=PREFIX, split="test")


def read_questions(raw: Raw, labels: Raw) -> pl.DataFrame:
    """The table of questions for builders.shaping.choices: query (the goal), options (the two solutions), gold.

    Raises SourceError if the label file has a different number of lines, or a label other than 0 and 1.
    """
    rows = read_json_lines(raw, dict.fromkeys(("goal", *SOLUTIONS), pl.String()))
    return rows.select(
        query="goal", options=pl.concat_list(SOLUTIONS), gold=read_gold_labels(labels, LABELS, raw, rows.height)
    )
