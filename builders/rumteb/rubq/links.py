"""RuBQ's questions and paragraphs, the links between them, and what makes two of them one."""

import polars as pl

from builders.reading import read_json_array
from builders.shaping.cleaning import SHORT, is_short
from builders.shaping.rows import drop, refuse
from builders.spec import Dropped, Raw, RawFiles

UIDS = pl.Struct({"with_answer": pl.List(pl.Int64), "all_related": pl.List(pl.Int64)})
QUESTION = {"uid": pl.Int64(), "question_text": pl.String(), "paragraphs_uids": UIDS}
PARAGRAPH = {"uid": pl.Int64(), "ru_wiki_pageid": pl.Int64(), "text": pl.String()}
# The columns that paragraphs must share to be merged, by the recipes' option `same`.
SAME = {"uid": ["paragraph"], "page and text": ["ru_wiki_pageid", "text"], "text": ["text"]}


def read_tables(raw: RawFiles) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Questions (question, text), their links to paragraphs (question, paragraph, score) and paragraphs.

    Raises SourceError for a gold paragraph that is not among the related ones, and for a link to a missing paragraph.
    """
    file = raw["questions"]
    questions = read_json_array(file, QUESTION).unnest("paragraphs_uids").rename({"uid": "question"})
    paragraphs = read_json_array(raw.whole("paragraphs"), PARAGRAPH).rename({"uid": "paragraph"})
    gold, related = (
        questions.select("question", paragraph=field).explode("paragraph").drop_nulls().unique(maintain_order=True)
        for field in ("with_answer", "all_related")
    )
    pair = ["question", "paragraph"]
    _refuse_links(gold.join(related, on=pair, how="anti", maintain_order="left"), file, "unrelated gold paragraph")
    _refuse_links(
        related.join(paragraphs, on="paragraph", how="anti", maintain_order="left"), file, "unknown paragraph"
    )
    marked = gold.with_columns(score=pl.lit(1, pl.Int64))
    links = related.join(marked, on=pair, how="left", maintain_order="left")
    return (
        questions.select("question", text="question_text"),
        links.with_columns(pl.col("score").fill_null(0)),
        paragraphs.with_columns(id=pl.col("paragraph").cast(pl.String), title=pl.lit("")),
    )


def _refuse_links(links: pl.DataFrame, raw: Raw, what: str) -> None:
    refuse(
        links,
        pl.lit(value=True),
        raw,
        what,
        found="paragraph",
        expected="with_answer within all_related, and all_related within the paragraphs' uids",
        location=pl.format("question uid {}", "question"),
    )


def merge_questions(
    questions: pl.DataFrame, links: pl.DataFrame, paragraphs: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """Merge questions with equal texts and drop paragraphs of a single character, with their links."""
    first = questions.select("question", first=pl.col("question").first().over("text"))
    links = links.join(first, on="question", maintain_order="left").select("paragraph", "score", question="first")
    reason = "merged into an earlier question with the same text"
    questions, repeated = drop(questions, ~pl.col("text").is_first_distinct(), reason, split="test", key="question")
    paragraphs, short = drop(paragraphs, is_short(pl.col("text")), SHORT, split="test")
    links = links.join(paragraphs, on="paragraph", how="semi", maintain_order="left")
    return questions, links, paragraphs, repeated + short


def merge_paragraphs(
    links: pl.DataFrame, paragraphs: pl.DataFrame, same: str
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """The first of the paragraphs that are the same, with the links of all: one per question, gold if any of them is."""
    merged = paragraphs.with_columns(first=pl.col("paragraph").first().over(SAME[same]))
    links = links.join(merged.select("paragraph", "first"), on="paragraph", maintain_order="left")
    grouped = links.group_by("question", paragraph="first", maintain_order=True).agg(pl.col("score").max())
    reason = f"merged into an earlier paragraph with the same {same}"
    firsts, repeated = drop(merged, pl.col("paragraph") != pl.col("first"), reason, split="test")
    return grouped, firsts, repeated


def query_id(prefix: str) -> pl.Expr:
    """The id of a question's query: its uid after a prefix."""
    return pl.concat_str(pl.lit(prefix), "question")


def make_qrels(links: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """The judgements of links: query-id (with the prefix), corpus-id (String), score (Int64)."""
    document = pl.col("paragraph").cast(pl.String)
    return links.select(query_id(prefix).alias("query-id"), document.alias("corpus-id"), "score")
