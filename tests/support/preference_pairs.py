"""What tests of preference sets share: looking at tables, and guessing from what should tell nothing."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import settings as hypothesis_settings
from polars.testing import assert_frame_equal

if TYPE_CHECKING:
    from builders.spec import Tables

CONFIGS = ("corpus", "queries", "qrels", "top_ranked")


quick = hypothesis_settings(deadline=None, max_examples=80)


def frame(made: Tables, config: str, split: str = "test") -> pl.DataFrame:
    return made.frames[config][split].lazy().collect()


def judged(made: Tables) -> dict[str, list[tuple[str, int]]]:
    """Text and score of the candidates of each query, in the order of the list."""
    text_of = dict(frame(made, "corpus").select("id", "text").iter_rows())
    score_of = {(query, document): score for query, document, score in frame(made, "qrels").iter_rows()}
    lists = frame(made, "top_ranked").iter_rows()
    return {query: [(text_of[one], score_of[query, one]) for one in candidates] for query, candidates in lists}


def assert_same(one: Tables, other: Tables) -> None:
    for config in CONFIGS:
        assert_frame_equal(frame(one, config), frame(other, config))
    assert one.dropped == other.dropped
    assert one.observed == other.observed


def clues(made: Tables, split: str = "test") -> tuple[pl.DataFrame, pl.Series]:
    """All that can be seen of pairs but texts and scores, as yes or no, and the truth: does the first candidate win?"""
    lists = frame(made, "top_ranked", split).with_row_index("place")
    two = pl.col("corpus-ids")
    rows = lists.select("place", "query-id", x=two.list.get(0), y=two.list.get(1))
    corpus = frame(made, "corpus", split).with_row_index("row").select("id", "row")
    qrels = frame(made, "qrels", split).with_row_index("judged_at").cast({"judged_at": pl.Int64})
    often = lists.explode("corpus-ids").group_by("corpus-ids").len("often")
    for side in ("x", "y"):
        rows = rows.join(corpus.rename({"id": side, "row": f"row_{side}"}), on=side)
        rows = rows.join(often.rename({"corpus-ids": side, "often": f"often_{side}"}), on=side)
        own = qrels.rename({"corpus-id": side, "judged_at": f"judged_at_{side}", "score": f"score_{side}"})
        rows = rows.join(own, on=["query-id", side])
    rows = rows.sort("place")
    odd = {side: pl.col(side).str.contains("[13579]$") for side in ("query-id", "x", "y")}
    seen = rows.select(
        stands_first=pl.lit(value=True),
        smaller_id=pl.col("x") < pl.col("y"),
        earlier_in_corpus=pl.col("row_x") < pl.col("row_y"),
        earlier_in_qrels=pl.col("judged_at_x") < pl.col("judged_at_y"),
        in_more_lists=pl.col("often_x") > pl.col("often_y"),
        in_fewer_lists=pl.col("often_x") < pl.col("often_y"),
        odd_query=odd["query-id"],
        odd_place=pl.col("place") % 2 == 1,
        odd_id_first=odd["x"],
        odd_id_second=odd["y"],
        late=pl.col("place") > rows.height // 2,
    )
    return seen, rows["score_x"] == 1


def best_guess(made: Tables, split: str = "test") -> tuple[float, int]:
    """The share of pairs that the best rule guesses, of all single clues and of all two together; and how many pairs."""
    seen, wins = clues(made, split)
    rules = [*seen.get_columns(), *(seen[one] ^ seen[other] for one, other in combinations(seen.columns, 2))]
    hits = max(max(same, wins.len() - same) for same in (int((rule == wins).sum()) for rule in rules))
    return hits / wins.len(), wins.len()


def chance(pairs: int) -> float:
    """What no rule should reach by luck: five standard deviations above a half."""
    return 0.5 + 2.5 / math.sqrt(pairs)
