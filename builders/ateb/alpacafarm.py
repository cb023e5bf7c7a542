"""AlpacaFarm's human preferences: two answers to an instruction, and which one a crowd worker chose (Dubois et al., 2023)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_array
from builders.shaping.preferences import parse_preferences, rerank_pairs
from builders.spec import RawFiles, Source, Tables, Version, dataset, hub
from builders.tasks import Reranking

REVISION = "e576524ca841af3c36fd6912e68e5920430928c1"
TEXTS = ("instruction", "input", "output_1", "output_2")
PAIR = dict.fromkeys(TEXTS, pl.String()) | {"preference": pl.Int64()}
FIRST_PREFERRED = {1: True, 2: False}

SOURCE = Source(
    name="alpacafarm",
    title="AlpacaFarm, human preferences",
    license="cc-by-nc-4.0",
    license_note="The dataset's card says CC BY-NC 4.0, the loading script beside it CC BY 4.0: the stricter one is given here.",
    homepage="https://huggingface.co/datasets/tatsu-lab/alpaca_farm",
    citation="dubois2023alpacafarm",
    annotations=("crowdsourced",),
    files={"pairs": hub("tatsu-lab/alpaca_farm", REVISION, "alpaca_human_preference.json")},
)


@dataset(
    "alpacafarm-reranking",
    benchmark="ateb",
    task=Reranking(),
    needs=("pairs",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Left out: pairs of answers that are equal but for case and white space, pairs that repeat another, and all that"
            " contradict each other.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the better of two answers to an instruction first.

    Every pair is a query with two documents of its own, in the order of the source. corpus: id (String: `<pair>-0` and
    `<pair>-1`, in hash order), title (""), text: the answers; queries: id (String: the pair, its record's number from 0), text
    (String: the instruction, and after an empty line its input where it has one); qrels: query-id, corpus-id, score (Int64: 1
    preferred, 0 not); top_ranked: query-id, corpus-ids (List(String): the two answers). clean: pairs that bend a score are left
    out (builders.shaping.preferences).

    Raises SourceError for a preference other than 1 or 2.
    """
    file = raw["pairs"]
    rows = read_json_array(file, PAIR).with_row_index("pair")
    with_input = pl.concat_str("instruction", "input", separator="\n\n")
    pairs = rows.select(
        id=pl.col("pair").cast(pl.String),
        query=pl.when(pl.col("input") == "").then("instruction").otherwise(with_input),
        a="output_1",
        b="output_2",
        a_preferred=parse_preferences(rows["preference"], FIRST_PREFERRED, file, unit="record"),
    )
    return rerank_pairs(pairs, split="test", clean=clean)
