"""MIRACL's questions and relevance judgements."""

import polars as pl

from builders.reading.csv import read_csv
from builders.shaping.rows import drop, refuse
from builders.spec import Dropped, RawFiles

TOPIC = {"id": pl.String(), "text": pl.String()}
JUDGEMENT = {"query-id": pl.String(), "iteration": pl.String(), "corpus-id": pl.String(), "score": pl.Int64()}
LOCATION = pl.format("question {}, passage {}", "query-id", "corpus-id")


def read_judgements(raw: RawFiles) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """The questions with a relevant passage (id, text), their judgements (query-id, corpus-id, score), and the questions dropped.

    Raises SourceError for a judgement of an unknown question.
    """
    topics = read_csv(raw.whole("topics"), TOPIC, separator="\t", header=False, quotes=False)
    judgements = read_csv(raw.whole("qrels"), JUDGEMENT, separator="\t", header=False, quotes=False).drop("iteration")
    unknown = ~pl.col("query-id").is_in(topics["id"].implode())
    refuse(
        judgements,
        unknown,
        raw["qrels"],
        "judgement of an unknown question",
        found="query-id",
        expected=f"an id in {raw['topics'].name}",
        location=LOCATION,
    )
    relevant = judgements.filter(pl.col("score") > 0)
    unanswered = ~pl.col("id").is_in(relevant["query-id"].implode())
    topics = topics.slice(0, raw["topics"].limit)
    questions, dropped = drop(topics, unanswered, "no passage is judged relevant", split="dev")
    judgements = judgements.join(questions, left_on="query-id", right_on="id", how="semi", maintain_order="left")
    return questions, judgements, dropped


def merge_duplicates(
    judgements: pl.DataFrame, duplicates: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[Dropped, ...], dict[str, int]]:
    """The judgements, with those of a duplicate passage given to the first of its equals; the rows dropped; and a count.

    A passage with several judgements for one question is relevant if any of them says so.

    duplicates: from builders.rumteb.miracl.passages.find_duplicates.
    """
    firsts = duplicates.select("first", **{"corpus-id": "id"})
    matched = judgements.join(firsts, on="corpus-id", how="left", maintain_order="left")
    moved = matched.with_columns(pl.coalesce("first", "corpus-id").alias("corpus-id")).drop("first")
    pair = ["query-id", "corpus-id"]
    best = moved.with_columns(pl.col("score").max().over(pair))
    repeated = ~pl.struct(pair).is_first_distinct()
    reason = "merged into the judgement of an equal passage for the same question"
    merged, superseded = drop(best, repeated, reason, split="dev", key="query-id")
    _, removed = drop(duplicates, pl.lit(value=True), "merged into an earlier equal passage", split="dev")
    return merged, removed + superseded, {"judgements given to an equal passage": matched["first"].count()}


def refuse_missing_passages(judgements: pl.DataFrame, passages: pl.LazyFrame, raw: RawFiles) -> None:
    """Raise SourceError for a judgement of a passage that is not in the corpus. passages: with a column id."""
    ids = (
        passages.filter(pl.col("id").is_in(judgements["corpus-id"].implode())).select("id").collect(engine="streaming")
    )
    missing = ~pl.col("corpus-id").is_in(ids["id"].implode())
    refuse(
        judgements,
        missing,
        raw["qrels"],
        "judged passage not in the corpus",
        found="corpus-id",
        expected="a docid in the corpus, of the same version of MIRACL",
        location=LOCATION,
    )
