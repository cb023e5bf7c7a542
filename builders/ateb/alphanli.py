"""ART, the data of αNLI: stories with a start, an end and two hypotheses that could connect them (Bhagavatula et al., 2020)."""

import polars as pl

from builders.raw_files import RawFile, https, member
from builders.reading.json import read_json_lines
from builders.shaping.choices import build_gold_pool, build_option_pool, gold_notes, read_gold_labels
from builders.spec import KnownFinding, Prompts, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

ARCHIVE = https("https://storage.googleapis.com/ai2-mosaic/public/abductive-commonsense-reasoning-iclr2020/anli.zip")
PREFIX = "alpha"
PROMPTS = Prompts("Given the following start and end of a story, retrieve a possible reason that leads to the end.")
LABELS = {"1": 0, "2": 1}
HYPOTHESES = ("hyp1", "hyp2")
FORM = (
    KnownFinding(
        "boilerplate", "queries/test.text", 1_532, "RAR-b writes `Start:` and `End:` before the observations."
    ),
)


def _file(name: str, sha256: str, size: int) -> RawFile:
    return member(ARCHIVE, f"anli/{name}", name=name, sha256=sha256, bytes=size)


SOURCE = Source(
    name="alphanli",
    title="ART, the data of αNLI (abductive natural language inference)",
    license="unknown",
    license_note="The authors state no licence for the data.",
    homepage="https://github.com/allenai/abductive-commonsense-reasoning",
    citation="bhagavatula2020abductive",
    annotations=("crowdsourced",),
    files={
        "dev": _file("dev.jsonl", "e8a7f2e50aa3812c1e998843888bc94519b2b1aae146a368799eedb235d3c51c", 431_993),
        "dev_labels": _file(
            "dev-labels.lst", "d170382e8e562ab2506175b0b01aa0edc851e5f53b2d199750509cdef39a89a1", 3_064
        ),
        "train": _file("train.jsonl", "23839e688ba80b8b0d46bde6fef70d09fbaa53d810b6d135e3b61ed664267e0c", 47_306_303),
    },
)


@dataset(
    "alphanli-retrieval",
    pretty_name="aNLI retrieval (English)",
    benchmark="ateb",
    task=Retrieval(),
    needs=("dev", "dev_labels"),
    versions={"1.0.0": Version(gold_notes("the correct hypotheses of the development split"), known=FORM)},
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles) -> Tables:
    """Given the start and end of a story, find what happened in between, among the correct hypotheses of all stories.

    corpus: id, title (""), text (String: the distinct correct hypotheses of the development split, in order); queries: id, text
    (String: `Start: {obs1} End: {obs2}`); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    return build_gold_pool(read_questions(raw["dev"], raw["dev_labels"]), prefix=PREFIX, split="test")


@dataset(
    "rarb-alphanli",
    pretty_name="RAR-b aNLI (English)",
    benchmark="rarb",
    task=Retrieval(),
    needs=("dev", "dev_labels", "train"),
    versions={
        "1.0.0": "RAR-b's published construction: the corpus is all hypotheses of the development and train splits."
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Given the start and end of a story, find what happened in between, among the correct and wrong hypotheses of all stories.

    corpus: id, title (""), text (String: the distinct hypotheses of the development and train splits, in this order);
    queries: id, text (String: `Start: {obs1} End: {obs2}`); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    dev = read_questions(raw["dev"], raw["dev_labels"])
    train = read_json_lines(raw["train"], dict.fromkeys(HYPOTHESES, pl.String()))
    return build_option_pool(dev, [train.select(options=pl.concat_list(HYPOTHESES))], prefix=PREFIX, split="test")


def read_questions(raw: Raw, labels: Raw) -> pl.DataFrame:
    """The table of questions for builders.shaping.choices: query (both observations), options (the two hypotheses), gold.

    Raises SourceError if the label file has a different number of lines, or a label other than 1 and 2.
    """
    rows = read_json_lines(raw, dict.fromkeys(("obs1", "obs2", *HYPOTHESES), pl.String()))
    return rows.select(
        query=pl.format("Start: {} End: {}", "obs1", "obs2"),
        options=pl.concat_list(HYPOTHESES),
        gold=read_gold_labels(labels, LABELS, raw, rows.height),
    )
