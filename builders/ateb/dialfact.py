"""DialFact: answers in a conversation, with evidence from Wikipedia for or against them (Gupta et al., 2022)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_lines
from builders.reading.errors import malformed, shorten
from builders.shaping.factuality import FEVER, LABELS, classify_pairs, labelled
from builders.spec import Raw, RawFile, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Classification

COMMIT = "d400b250147e45c106b18e52254b1060f7c1575d"
TEXT = pl.String()
COLUMNS = {
    "id": TEXT,
    "context": pl.List(TEXT),
    "response": TEXT,
    "evidence_list": pl.List(pl.List(TEXT)),
    "response_label": TEXT,
}
SNIPPET = 2  # a piece of evidence is a list: title, address, snippet, a number, and a remark or none


def _file(name: str, git_blob: str) -> RawFile:
    return github("salesforce/DialFact", COMMIT, f"data/{name}", git_blob=git_blob)


SOURCE = Source(
    name="dialfact",
    title="DialFact, a benchmark for fact-checking in dialogue",
    license="other",
    license_note=(
        "The repository holds the BSD 3-Clause licence, which its README grants for the code; none is named for the data. The"
        " evidence is text of Wikipedia, under CC BY-SA."
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
    benchmark="ateb",
    task=Classification(labels=LABELS, splits=("validation", "test")),
    needs={"validation": ("validation", "test"), "test": ("test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says: all rows of the source.",
        "2.0.0": Version(
            "Left out: texts with two labels, repeated ones, those of validation that test has, and those with a side of no"
            " more than a character, as where there is neither evidence nor a turn before.",
            {"clean": True},
        ),
    },
)
def classification(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Does the evidence support an answer given in a conversation, refute it, or neither?

    All rows of the source, or those that are `clean` (builders.shaping.cleaning), in its order. The premise is the snippets of
    evidence that are not blank, joined by a space; where there is none, the turn before the answer. Columns: id (String: the
    line of the raw file, 0-based); response_id (String: the source's id); text (String: `Premise: {premise} Hypothesis:
    {answer}`); label (Int64: 0 entailment = SUPPORTS, 1 neutral = NOT ENOUGH INFO, 2 contradiction = REFUTES); label_text
    (String). Observed of the source, whatever is clean: rows without evidence.
    """
    frames: dict[str, pl.DataFrame] = {}
    bare = blank = 0
    for split, file in raw.files.items():
        rows = _rows(file)
        if split in raw.splits:
            without = rows.filter(pl.col("evidence") == "")
            bare, blank = bare + without.height, blank + without.filter(pl.col("turn") == "").height
        premise = pl.when(pl.col("evidence") == "").then("turn").otherwise("evidence")
        named = rows.select("id", "response_id", "response_label", premise=premise, hypothesis="response")
        frames[split] = labelled(named, file, label="response_label", numbers=FEVER)
    observed = {"rows without evidence": bare, "rows without evidence and without a turn before": blank}
    made = classify_pairs(frames, raw.splits, clean=clean)
    return Tables(made.frames, made.dropped, observed)


def _rows(raw: Raw) -> pl.DataFrame:
    """Columns: id, response_id, response, response_label, evidence (the snippets that are not blank) and turn (the last one of
    the context), both "" where there is none.

    Raises SourceError for a piece of evidence that is too short to hold a snippet.
    """
    rows = read_json_lines(raw, COLUMNS).with_row_index("line")
    piece = pl.element()
    short = rows.filter(pl.col("evidence_list").list.eval(piece.list.len() <= SNIPPET).list.any())
    if short.height:
        what, found = "a piece of evidence has no snippet", str(short["evidence_list"][0].to_list())
        expected = "lists of title, address, snippet, ..."
        raise malformed(raw, f"line {short['line'][0] + 1}", what, found=shorten(found, 200), expected=expected)
    snippets = pl.col("evidence_list").list.eval(piece.list.get(SNIPPET))
    return rows.select(
        id=pl.col("line").cast(pl.String),
        response_id="id",
        response="response",
        response_label="response_label",
        evidence=snippets.list.eval(piece.filter(piece.str.strip_chars() != "")).list.join(" "),
        turn=pl.col("context").list.last().fill_null(""),
    )
