"""GENIE: what systems generated for one prompt, as people rated it (Khashabi et al., 2022). The table is supplied by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading import read_json_lines
from builders.reading.errors import malformed, shorten
from builders.shaping.preferences import pair_systems, rerank_pairs
from builders.spec import RawFiles, Source, Tables, Version, by_hand, dataset
from builders.tasks import Reranking

if TYPE_CHECKING:
    from builders.spec import Raw

RATING = dict.fromkeys(("task", "prompt", "response", "system"), pl.String()) | {"rating": pl.Float64()}

SOURCE = Source(
    name="genie",
    title="GENIE, human ratings of generated text",
    license="other",
    license_note=(
        "GENIE's ratings were published under no licence that could be found, and the texts of its tasks are under those of the"
        " datasets they come from. Whoever supplies the table must know that it may be used."
    ),
    homepage="https://aclanthology.org/2022.emnlp-main.787/",
    citation="khashabi2022genie",
    annotations=("crowdsourced",),
    files={
        "ratings": by_hand(
            "ratings.jsonl",
            "GENIE's ratings have no single public file: write them as JSON lines, one rating a line,"
            ' {"task": "...", "prompt": "...", "response": "...", "system": "...", "rating": 4};'
            " cards/prose/genie.md says what each key means",
        ),
    },
)


@dataset(
    "genie-reranking",
    benchmark="ateb",
    task=Reranking(),
    needs=("ratings",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says, on a table that is supplied by hand.",
        "2.0.0": Version(
            "Left out: pairs of responses that are equal but for case and white space, pairs that repeat another, and all"
            " that contradict each other.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the better of two generated texts first.

    Every two systems on one prompt of a task make a pair, and every pair is a query with two documents of its own, in the order
    in which the prompts first occur. corpus: id (String: `<pair>-0` and `<pair>-1`, in hash order), title (""), text: the
    responses; queries: id (String: the pair, `<prompt, 0-based>-<n>`), text (String: the prompt), task (String); qrels:
    query-id, corpus-id, score (Int64: 1 rated higher on average, 0 lower); top_ranked: query-id, corpus-ids (List(String): the
    two responses). clean: pairs that bend a score are left out (builders.shaping.preferences).
    """
    rows = _ratings(raw["ratings"])
    order = rows.select("task", "prompt").unique(maintain_order=True).with_row_index("number")
    ratings = rows.join(order, on=["task", "prompt"], maintain_order="left").select(
        "task", "system", "response", "rating", id=pl.col("number").cast(pl.String), query="prompt"
    )
    pairs, alone = pair_systems(ratings, split="test")
    made = rerank_pairs(pairs, split="test", clean=clean)
    observed = {"ratings": rows.height, "prompts": order.height}
    return Tables(made.frames, (*alone, *made.dropped), observed | dict(made.observed))


def _ratings(file: Raw) -> pl.DataFrame:
    """The rows of the table. Raises SourceError for a second response of one system to one prompt."""
    rows = read_json_lines(file, RATING).with_row_index("line", offset=1)
    first = pl.col("response").first().over("task", "prompt", "system")
    strays = rows.filter(pl.col("response") != first)
    if strays.height:
        line, system, found = strays.row(0)[0], strays["system"][0], shorten(strays["response"][0])
        what = "another response of the same system to the same prompt"
        expected = f"one response of {shorten(system)} to a prompt: give what it generated otherwise another name"
        raise malformed(file, f"line {line}", what, found=found, expected=expected)
    return rows.drop("line")
