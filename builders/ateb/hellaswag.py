"""HellaSwag: what happens next, by one of four endings, after video captions and how-to articles (Zellers et al., 2019)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_lines
from builders.reading.errors import malformed
from builders.shaping.choices import gold_pool, option_pool
from builders.spec import Prompts, Raw, RawFile, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Retrieval

PREFIX = "hellaswag"
PROMPTS = Prompts("Given the following unfinished context, retrieve the most plausible ending to finish it.")
ENDINGS = pl.List(pl.String)


def _file(name: str, sha256: str, size: int) -> RawFile:
    return github(
        "rowanz/hellaswag", "a29ff8e9a04bba4bd6588223785ce105328adc57", f"data/{name}", sha256=sha256, bytes=size
    )


SOURCE = Source(
    name="hellaswag",
    title="HellaSwag",
    license="mit",
    homepage="https://rowanzellers.com/hellaswag/",
    citation="zellers2019hellaswag",
    files={
        "val": _file(
            "hellaswag_val.jsonl", "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588", 12_246_618
        ),
        "train": _file(
            "hellaswag_train.jsonl", "dae5e69249868cb9fe4e23ff925c60b66169564cfb7072d793cd7356a2b69f8d", 47_496_131
        ),
    },
)


@dataset(
    "hellaswag-retrieval",
    benchmark="ateb",
    task=Retrieval(),
    needs=("val",),
    versions={
        "1.0.0": "The recipe of the ATEB paper: the gold endings of the validation split are the corpus.",
        "2.0.0": Version(
            "Queries that are equal but for case, white space and the end of the sentence are merged, with all their true"
            " endings, and so are documents.",
            {"clean": True},
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Find how a text goes on among the right endings of all texts.

    corpus: id, title (""), text (String: the distinct right endings of the validation split, in order); queries: id, text
    (String: `ctx` as it stands); qrels: query-id, corpus-id (String), score (Int64, 1). clean: equal queries and documents
    are merged (builders.shaping.merging).
    """
    return gold_pool(questions(raw["val"]), prefix=PREFIX, split="test", clean=clean)


@dataset(
    "rarb-hellaswag",
    benchmark="rarb",
    task=Retrieval(),
    needs=("val", "train"),
    versions={"1.0.0": "RAR-b's construction: all endings of the validation and train splits are the corpus."},
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find how a text goes on among all endings, right and wrong, of all texts.

    corpus: id, title (""), text (String: the distinct endings of the validation and train splits, in this order); queries: id,
    text (String: `ctx` as it stands); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    train = read_json_lines(raw["train"], {"endings": ENDINGS})
    return option_pool(questions(raw["val"]), [train.select(options="endings")], prefix=PREFIX, split="test")


def questions(raw: Raw) -> pl.DataFrame:
    """The question table of builders.shaping.choices: query (`ctx`), options (the four endings), gold.

    Raises SourceError where there are not four endings, or the label is none of their places 0 to 3.
    """
    rows = read_json_lines(raw, {"ctx": pl.String(), "endings": ENDINGS, "label": pl.Int64()})
    wrong = rows.with_row_index("line", offset=1).filter(
        (pl.col("endings").list.len() != 4) | ~pl.col("label").is_between(0, 3)
    )
    if wrong.height:
        line, _, endings, label = wrong.row(0)
        what, found = "the label is the place of no ending", f"{len(endings)} endings and the label {label}"
        raise malformed(raw, f"line {line}", what, found=found, expected="four endings and a label from 0 to 3")
    return rows.select(query="ctx", options="endings", gold="label")
