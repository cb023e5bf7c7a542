"""AlpacaFarm's human preferences: two answers to an instruction, and the one a crowd worker preferred (Dubois et al., 2023)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.json import read_json_array
from builders.shaping.preferences import CLEAN_NOTES, parse_preferences, rerank_pairs
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking

REVISION = "e576524ca841af3c36fd6912e68e5920430928c1"
COLUMNS = dict.fromkeys(("instruction", "input", "output_1", "output_2"), pl.String()) | {"preference": pl.Int64()}
FIRST_PREFERRED = {1: True, 2: False}

SOURCE = Source(
    name="alpacafarm",
    title="AlpacaFarm, human preferences",
    license="cc-by-nc-4.0",
    license_note=(
        "The dataset's card says CC BY-NC 4.0, the loading script beside it CC BY 4.0. The stricter one is named here."
    ),
    homepage="https://huggingface.co/datasets/tatsu-lab/alpaca_farm",
    citation="dubois2023alpacafarm",
    annotations=("crowdsourced",),
    files={"pairs": hub("tatsu-lab/alpaca_farm", REVISION, "alpaca_human_preference.json", about=7_710_000)},
)


@dataset(
    "alpacafarm-reranking",
    pretty_name="AlpacaFarm reranking (English)",
    benchmark="ateb",
    task=Reranking(),
    needs=("pairs",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank the better of two answers to an instruction first.

    Every pair is a query with its own two documents, in source order. corpus: id (String: `<pair>-0` and `<pair>-1`, numbered
    by hash), title (""), text: the answers; queries: id (String: the pair, i.e. its 0-based record number), text (String: the
    instruction, followed by an empty line and the input if there is one); qrels: query-id, corpus-id, score (Int64: 1 preferred,
    0 not); top_ranked: query-id, corpus-ids (List(String): the two answers). clean: drop pairs that would distort scores
    (builders.shaping.preferences).

    Raises SourceError for a preference other than 1 or 2.
    """
    rows = read_json_array(raw["pairs"], COLUMNS).with_row_index("pair")
    with_input = pl.concat_str("instruction", "input", separator="\n\n")
    pairs = rows.select(
        id=pl.col("pair").cast(pl.String),
        query=pl.when(pl.col("input") == "").then("instruction").otherwise(with_input),
        a="output_1",
        b="output_2",
        a_preferred=parse_preferences(rows["preference"], FIRST_PREFERRED, raw["pairs"], unit="record"),
    )
    return rerank_pairs(pairs, split="test", clean=clean)
