"""HellaSwag: beginnings of video captions and how-to articles, each with four possible endings (Zellers et al., 2019)."""

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.json import read_json_lines
from builders.shaping.choices import build_gold_pool, build_option_pool, gold_notes
from builders.shaping.rows import CLEAN_NOTES, refuse
from builders.spec import Prompts, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

COMMIT = "a29ff8e9a04bba4bd6588223785ce105328adc57"
PREFIX = "hellaswag"
PROMPTS = Prompts("Given the following unfinished context, retrieve the most plausible ending to finish it.")
ENDINGS = pl.List(pl.String)


def _file(split: str, sha256: str, size: int) -> RawFile:
    return github("rowanz/hellaswag", COMMIT, f"data/hellaswag_{split}.jsonl", sha256=sha256, bytes=size)


SOURCE = Source(
    name="hellaswag",
    title="HellaSwag",
    license="mit",
    homepage="https://rowanzellers.com/hellaswag/",
    citation="zellers2019hellaswag",
    files={
        "val": _file("val", "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588", 12_246_618),
        "train": _file("train", "dae5e69249868cb9fe4e23ff925c60b66169564cfb7072d793cd7356a2b69f8d", 47_496_131),
    },
)


@dataset(
    "hellaswag-retrieval",
    pretty_name="HellaSwag retrieval (English)",
    benchmark="ateb",
    task=Retrieval(),
    needs=("val",),
    versions={
        "1.0.0": gold_notes("the correct endings of the validation split"),
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Find how a text continues, among the correct endings of all texts.

    corpus: id, title (""), text (String: the distinct correct endings of the validation split, in order); queries: id, text
    (String: `ctx`, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1). clean: merge duplicate queries and
    documents (builders.shaping.rows).
    """
    return build_gold_pool(read_questions(raw["val"]), prefix=PREFIX, split="test", clean=clean)


@dataset(
    "rarb-hellaswag",
    pretty_name="RAR-b HellaSwag (English)",
    benchmark="rarb",
    task=Retrieval(),
    needs=("val", "train"),
    versions={"1.0.0": "RAR-b's construction: the corpus is all endings of the validation and train splits."},
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find how a text continues, among the correct and wrong endings of all texts.

    corpus: id, title (""), text (String: the distinct endings of the validation and train splits, in this order); queries: id,
    text (String: `ctx`, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    train = read_json_lines(raw["train"], {"endings": ENDINGS})
    return build_option_pool(read_questions(raw["val"]), [train.select(options="endings")], prefix=PREFIX, split="test")


def read_questions(raw: Raw) -> pl.DataFrame:
    """The table of questions for builders.shaping.choices: query (`ctx`), options (the four endings), gold.

    Raises SourceError unless there are four endings and the label is the 0-based index of one of them.
    """
    rows = read_json_lines(raw, {"ctx": pl.String(), "endings": ENDINGS, "label": pl.Int64()})
    refuse(
        rows,
        (pl.col("endings").list.len() != 4) | ~pl.col("label").is_between(0, 3),
        raw,
        "the label is not the index of an ending",
        found=pl.format("{} endings and the label {}", pl.col("endings").list.len(), "label"),
        expected="four endings and a label from 0 to 3",
    )
    return rows.select(query="ctx", options="endings", gold="label")
