"""DialFact: responses in a conversation, with Wikipedia evidence that supports or refutes them (Gupta et al., 2022)."""

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.json import read_json_lines
from builders.shaping.factuality import CLEAN_NOTES, FEVER, LABELS, classify_pairs, number_labels
from builders.shaping.rows import refuse
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification

COMMIT = "d400b250147e45c106b18e52254b1060f7c1575d"
LISTS = {"context": pl.List(pl.String), "evidence_list": pl.List(pl.List(pl.String))}
COLUMNS = dict.fromkeys(("id", "response", "response_label"), pl.String()) | LISTS
SNIPPET = 2  # the index in a piece of evidence: title, address, snippet, a number, sometimes a remark


def _file(name: str, git_blob: str) -> RawFile:
    return github("salesforce/DialFact", COMMIT, f"data/{name}", git_blob=git_blob)


SOURCE = Source(
    name="dialfact",
    title="DialFact, a benchmark for fact-checking in dialogue",
    license="unknown",
    license_note=(
        "The repository contains the BSD 3-Clause licence, which its README grants for the code; none is named for the data. The"
        " evidence is text from Wikipedia, under CC BY-SA."
    ),
    homepage="https://github.com/salesforce/DialFact",
    citation="gupta2022dialfact",
    annotations=("crowdsourced",),
    files={
        "validation": _file("valid_split.jsonl", "31b0a3ea2cae37cca4a2c077e4f642c1773c4100"),
        "test": _file("test_split.jsonl", "c9d76627f42845e7cf315bd8cc1585973b314ed8"),
    },
)


@dataset(
    "dialfact-classification",
    pretty_name="DialFact fact verification (English)",
    task_ids=("fact-checking",),
    benchmark="ateb",
    task=Classification(labels=LABELS, splits=("validation", "test")),
    needs={"validation": ("validation", "test"), "test": ("test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it: all rows of the source.",
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Does the evidence support a response in a conversation, refute it, or neither?

    All rows of the source in order; with `clean`, without the rows that would distort scores (builders.shaping.cleaning). The
    premise is the non-blank evidence snippets, joined by a space, or the previous turn if there are none. Columns: id (String:
    the 0-based line of the raw file); response_id (String: the source's id); text (String: `Premise: {premise} Hypothesis:
    {response}`); label (Int64: 0 entailment = SUPPORTS, 1 neutral = NOT ENOUGH INFO, 2 contradiction = REFUTES); label_text
    (String). Observed, with and without `clean`: source rows without evidence.

    Raises SourceError for a piece of evidence that is too short to have a snippet.
    """
    frames = {split: _read_rows(file) for split, file in raw.files.items()}
    without_evidence = pl.concat([frames[split].filter("without_evidence") for split in raw.splits])
    pairs = {split: rows.drop("without_evidence") for split, rows in frames.items()}
    tables = classify_pairs(pairs, raw.splits, clean=clean)
    observed = {
        "rows without evidence": without_evidence.height,
        "rows without evidence and without a turn before": without_evidence.filter(premise="").height,
    }
    return Tables(tables.frames, tables.dropped, observed)


def _read_rows(raw: Raw) -> pl.DataFrame:
    """Columns: id, response_id, without_evidence (Boolean), premise, hypothesis, label."""
    rows = read_json_lines(raw, COLUMNS).with_row_index("line")
    piece = pl.element()
    refuse(
        rows,
        pl.col("evidence_list").list.eval(piece.list.len() <= SNIPPET).list.any(),
        raw,
        "a piece of evidence has no snippet",
        found="evidence_list",
        expected="lists of title, address, snippet, ...",
    )
    snippets = pl.col("evidence_list").list.eval(piece.list.get(SNIPPET))
    evidence = snippets.list.eval(piece.filter(piece.str.strip_chars() != "")).list.join(" ")
    turn = pl.col("context").list.last().fill_null("")
    pairs = rows.select(
        "response_label",
        id=pl.col("line").cast(pl.String),
        response_id="id",
        without_evidence=evidence == "",
        premise=pl.when(evidence == "").then(turn).otherwise(evidence),
        hypothesis="response",
    )
    return number_labels(pairs, raw, label="response_label", numbers=FEVER)
