"""What is wrong with labels and judgements: one text with two of them, rare ones, documents that should be judged and are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from builders.shaping.text import WHITE_SPACE
from cards.manifest import Finding
from pipelines.audit.integrity import row_name
from pipelines.audit.kinds import KINDS, MANY_TIMES
from pipelines.audit.statistics import label_counts, model_input
from pipelines.audit.survey import findings_where

if TYPE_CHECKING:
    from pipelines.audit.integrity import Frames


def find_conflicting_labels(rows: pl.DataFrame, place: tuple[str, str, str]) -> list[Finding]:
    """Texts with several labels; rows have the columns id, same and label."""

    texts = rows.group_by("same", maintain_order=True).agg(pl.col("id").first(), pl.col("label").n_unique())
    return findings_where("conflicting_label", place, texts, pl.col("label") > 1)


def find_label_imbalance(task: tasks.Task, frame: pl.LazyFrame, place: tuple[str, str, str]) -> list[Finding]:
    """Rare labels, those that the task names and no row has among them."""
    counts = {label: count for label, count in label_counts(frame, place[-1]).items() if label is not None}
    if names := tasks.label_names(task):
        counts = {name: counts.get(label, 0) for label, name in enumerate(names)}
    most = max(counts.values())
    rare = [f"{name}: {count}" for name, count in counts.items() if MANY_TIMES * count < most]
    if not rare:
        return []
    severity, share = KINDS["label_imbalance"].severity, len(rare) / len(counts)
    detail = f"the most frequent has {most}"
    return [Finding("label_imbalance", severity, *place, len(rare), share, tuple(rare[:5]), detail)]


def find_judgement_findings(task: tasks.Task, frames: Frames, split: str, documents: pl.DataFrame) -> list[Finding]:
    """What judgements say of documents with one text; documents: corpus-id, same."""

    qrels = frames["qrels"][split].select("query-id", "corpus-id", "score").collect(engine="streaming")
    qrels = qrels.join(documents, on="corpus-id", maintain_order="left")
    rows = qrels.select(
        id=pl.concat_str("query-id", "corpus-id", separator=" "),
        same=pl.concat_str("query-id", "same", separator=" "),
        label="score",
    )
    found = find_conflicting_labels(rows, ("qrels", split, "score"))
    if isinstance(task, tasks.Retrieval):
        return found + _twins(qrels, documents, ["same"], split)
    ranked = frames["top_ranked"][split].explode("corpus-ids").rename({"corpus-ids": "corpus-id"})
    listed = ranked.collect(engine="streaming").join(documents, on="corpus-id", maintain_order="left")
    return found + _twins(qrels, listed, ["query-id", "same"], split)


def _twins(qrels: pl.DataFrame, pool: pl.DataFrame, by: list[str], split: str) -> list[Finding]:
    """Documents of the pool with the text of a positive; by: the columns of the pool in which twins agree.

    The twins of a query are counted, not listed: of a text that stands a thousand times there may be a million.
    """

    positives = qrels.filter(pl.col("score") > 0).height
    pool = pool.filter(pl.struct(by).is_duplicated())
    judged = qrels.join(pool, on=["corpus-id", *by], how="semi", maintain_order="left")
    texts = judged.group_by("query-id", "same", maintain_order=True).agg(
        positive=(pl.col("score") > 0).any(), judged=pl.len().cast(pl.Int64)
    )
    copies = pool.group_by(by).agg(copies=pl.len().cast(pl.Int64))
    texts = (
        texts.filter("positive").join(copies, on=by, maintain_order="left").filter(pl.col("copies") > pl.col("judged"))
    )
    count = texts.select(pl.col("copies") - pl.col("judged")).sum().item()
    if not count:
        return []
    twins = texts.head(5).join(pool, on=by, maintain_order="left_right")
    twins = twins.join(judged, on=["query-id", "corpus-id"], how="anti", maintain_order="left").head(5)
    examples = tuple(twins.select(row_name(twins.columns).alias("id"))["id"])
    severity, share = KINDS["unjudged_twin"].severity, count / (count + positives)
    return [Finding("unjudged_twin", severity, "qrels", split, "", count, share, examples)]


def find_queries_in_corpus(frames: Frames, split: str, survey: pl.DataFrame, seed: int) -> list[Finding]:

    corpus, queries = frames["corpus"][split], frames["queries"][split]
    stripped = pl.col("text").str.strip_chars(WHITE_SPACE)
    asked = queries.select(stripped).filter(pl.col("text") != "").unique().collect(engine="streaming")["text"]
    # Only a document with the number of a query can have its text: the others need not be read again.
    likely = survey.filter(pl.col("number text").is_in(asked.hash(seed).implode()))["id"]
    documents = corpus.filter(pl.col("id").is_in(likely.implode())).select(text=model_input("corpus", "text"))
    titles = corpus.select(text=pl.col("title").str.strip_chars(WHITE_SPACE))
    some = [titles] if likely.is_empty() else [titles, documents]
    known = pl.concat([texts.filter(pl.col("text").is_in(asked.implode())) for texts in some]).unique()
    there = stripped.is_in(known.collect(engine="streaming")["text"].implode())
    return findings_where("query_in_corpus", ("queries", split, "text"), queries, there)
