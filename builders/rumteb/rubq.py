"""RuBQ 2.0: questions over Wikidata, and the Wikipedia paragraphs that answer them (Rybin et al., 2021)."""

from __future__ import annotations

import polars as pl

from builders.errors import SourceError
from builders.reading import read_json_array
from builders.shaping.cleaning import SHORT, is_short
from builders.shaping.rows import drop
from builders.shaping.sampling import hash_order
from builders.spec import Dropped, Prompts, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Reranking, Retrieval

COMMIT = "fade3eae6a4807c35b19cfce20dfa805fc8c0cdf"
PROMPTS = Prompts(
    "Given a question, retrieve Wikipedia passages that answer the question",
    rosberta=("search_query", "search_document"),
    e5=("query", "passage"),
)
UIDS = pl.Struct({"with_answer": pl.List(pl.Int64), "all_related": pl.List(pl.Int64)})
QUESTION = {"uid": pl.Int64(), "question_text": pl.String(), "paragraphs_uids": UIDS}
PARAGRAPH = {"uid": pl.Int64(), "ru_wiki_pageid": pl.Int64(), "text": pl.String()}
SAME = {"uid": ["paragraph"], "page and text": ["ru_wiki_pageid", "text"], "text": ["text"]}

SOURCE = Source(
    name="rubq",
    title="RuBQ 2.0, Russian questions over Wikidata",
    license="cc-by-sa-4.0",
    homepage="https://github.com/vladislavneon/RuBQ",
    citation="rybin2021rubq",
    annotations=("expert-generated", "crowdsourced"),
    files={
        "questions": github(
            "vladislavneon/RuBQ",
            COMMIT,
            "RuBQ_2.0/RuBQ_2.0_test.json",
            git_blob="fd9b04aa5754b7bbc454d875e559bce6d31d323f",
        ),
        "paragraphs": github(
            "vladislavneon/RuBQ",
            COMMIT,
            "RuBQ_2.0/RuBQ_2.0_paragraphs.json",
            git_blob="1b27f82170edf9fbae8310d816a983340c9e706c",
        ),
    },
)


@dataset(
    "rubq-reranking",
    benchmark="rumteb",
    task=Reranking(),
    needs=("questions", "paragraphs"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Paragraphs with one text are one, relevant where any of them is, before those that do not answer are counted;"
            " questions with one text are one, with the paragraphs of all. Paragraphs of a single character are left out.",
            {"same": "text", "clean": True},
        ),
    },
    sample={"min_negatives": 2},
    prompts=PROMPTS,
)
def reranking(raw: RawFiles, *, min_negatives: int = 9, same: str = "uid", clean: bool = False) -> Tables:
    """Put the paragraphs that answer a question before others on the same subjects.

    Test questions with a gold paragraph (with_answer) and at least `min_negatives` others (all_related without them).
    Paragraphs that are the `same` ("uid": none; "page and text", "text": with these equal) are merged into the first, which is
    gold where one of them is. clean: questions with one text are merged likewise, and paragraphs of a single character left out.
    corpus: id (the paragraph's uid), title (""), text: every candidate once, in the order of the raw file; queries: id (the
    question's uid), text; qrels: query-id, corpus-id, score (Int64: 1 gold, 0 not); top_ranked: query-id, corpus-ids
    (List(String): all candidates, in hash order, so that no place tells which are gold).
    """
    questions, links, paragraphs = _read(raw)
    dropped: tuple[Dropped, ...] = ()
    if clean:
        questions, links, paragraphs, dropped = _clean(questions, links, paragraphs)
    links, paragraphs = _merged(links, paragraphs, same)
    counts = links.group_by("question").agg(positives=pl.col("score").sum(), negatives=(pl.col("score") == 0).sum())
    counted = questions.join(counts, on="question", how="left", maintain_order="left").with_columns(
        pl.col("positives", "negatives").fill_null(0)
    )
    answered, unanswered = drop(counted, pl.col("positives") == 0, "no paragraph answers the question", split="test")
    too_few = f"fewer than {min_negatives} paragraphs that do not answer the question"
    kept, unfit = drop(answered, pl.col("negatives") < min_negatives, too_few, split="test")
    judged = links.join(kept.select("question"), on="question", how="semi", maintain_order="left")
    names = judged.select("question", "score", pl.col("question", "paragraph").cast(pl.String).name.suffix("_id"))
    pairs = names.select(pl.concat_str("question_id", "paragraph_id", separator=" ")).to_series()
    ranked = names.with_columns(place=hash_order(pairs, "rubq-reranking")).sort("place", "paragraph_id")
    candidates = ranked.group_by("question").agg(pl.col("paragraph_id").alias("corpus-ids"))
    frames = {
        "corpus": paragraphs.join(judged, on="paragraph", how="semi", maintain_order="left").select(
            "id", "title", "text"
        ),
        "queries": kept.select("id", "text"),
        "qrels": names.select(**{"query-id": "question_id", "corpus-id": "paragraph_id"}, score="score"),
        "top_ranked": kept.join(candidates, on="question", maintain_order="left").select(
            pl.col("id").alias("query-id"), "corpus-ids"
        ),
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, (*dropped, *unanswered, *unfit))


@dataset(
    "rubq-retrieval",
    benchmark="rumteb",
    task=Retrieval(),
    needs=("questions", "paragraphs"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Paragraphs with one text are one, of whatever pages, and questions with one text are one, with the judgements of"
            " all. Paragraphs of a single character are left out.",
            {"same": "text", "clean": True},
        ),
    },
    prompts=PROMPTS,
)
def retrieval(raw: RawFiles, *, same: str = "page and text", clean: bool = False) -> Tables:
    """Find the Wikipedia paragraphs that answer a question.

    Paragraphs that are the `same` ("page and text": of one page with one text; "text": with one text) are merged into the
    first, with their links. clean: questions with one text are merged likewise, and paragraphs of a single character left out.
    corpus: id (the paragraph's uid), title (""), text; queries: id (the question's uid), text: the
    test questions with a gold paragraph; qrels: query-id, corpus-id, score (Int64, 1).
    """
    questions, links, paragraphs = _read(raw)
    observed = {"paragraphs": paragraphs.height}
    observed |= {
        f"paragraphs distinct by {name}": paragraphs.n_unique(SAME[name]) for name in ("page and text", "text")
    }
    dropped: tuple[Dropped, ...] = ()
    if clean:
        questions, links, paragraphs, dropped = _clean(questions, links, paragraphs)
    gold, paragraphs = _merged(links.filter(pl.col("score") == 1), paragraphs, same)
    qrels = gold.select(
        pl.col("question").cast(pl.String).alias("query-id"),
        pl.col("paragraph").cast(pl.String).alias("corpus-id"),
        "score",
    )
    answered = pl.col("id").is_in(qrels.get_column("query-id").implode())
    queries, unanswered = drop(questions, ~answered, "no paragraph answers the question", split="test")
    frames = {
        "corpus": paragraphs.select("id", "title", "text"),
        "queries": queries.select("id", "text"),
        "qrels": qrels,
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, (*dropped, *unanswered), observed)


def _read(raw: RawFiles) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Questions (question, id, text), their links to paragraphs (question, paragraph, score) and paragraphs.

    Raises SourceError for a gold paragraph that is not among the related ones, and for a link to no paragraph.
    """
    questions = read_json_array(raw["questions"], QUESTION).unnest("paragraphs_uids").rename({"uid": "question"})
    paragraphs = read_json_array(raw.whole("paragraphs"), PARAGRAPH).rename({"uid": "paragraph"})
    gold = (
        questions.select("question", paragraph="with_answer")
        .explode("paragraph")
        .drop_nulls()
        .unique(maintain_order=True)
    )
    related = questions.select("question", paragraph="all_related").explode("paragraph").drop_nulls()
    on = ["question", "paragraph"]
    _refuse(gold.join(related, on=on, how="anti"), raw, "a gold paragraph that is not among the related ones")
    _refuse(related.join(paragraphs, on="paragraph", how="anti"), raw, "a link to a paragraph that does not exist")
    marked = gold.with_columns(score=pl.lit(1, pl.Int64))
    links = related.unique(maintain_order=True).join(marked, on=on, how="left", maintain_order="left")
    return (
        questions.select("question", id=pl.col("question").cast(pl.String), text="question_text"),
        links.with_columns(pl.col("score").fill_null(0)),
        paragraphs.with_columns(id=pl.col("paragraph").cast(pl.String), title=pl.lit("")),
    )


def _clean(
    questions: pl.DataFrame, links: pl.DataFrame, paragraphs: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """Every question once, by its text, no paragraph of a single character, the links between, and what became of the rest."""
    first = questions.select("question", first=pl.col("question").first().over("text"))
    links = links.join(first, on="question", maintain_order="left").select("paragraph", "score", question="first")
    reason = "the question's text stands in an earlier one, which takes its paragraphs"
    questions, repeated = drop(questions, ~pl.col("text").is_first_distinct(), reason, split="test")
    paragraphs, none = drop(paragraphs, is_short(pl.col("text")), SHORT, split="test")
    links = links.join(paragraphs, on="paragraph", how="semi", maintain_order="left")
    return questions, links, paragraphs, (*repeated, *none)


def _merged(links: pl.DataFrame, paragraphs: pl.DataFrame, same: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first of the paragraphs that are the same, with the links of all: one a question, gold where one of them is."""
    merged = paragraphs.with_columns(first=pl.col("paragraph").first().over(SAME[same]))
    links = links.join(merged.select("paragraph", "first"), on="paragraph", maintain_order="left")
    grouped = links.group_by("question", paragraph="first", maintain_order=True).agg(pl.col("score").max())
    return grouped, merged.filter(pl.col("paragraph") == pl.col("first"))


def _refuse(wrong: pl.DataFrame, raw: RawFiles, what: str) -> None:
    if wrong.height:
        question, paragraph = wrong.select("question", "paragraph").row(0)
        raise SourceError(
            what,
            where=f"{raw['questions'].name}, question uid {question}",
            found=f"paragraph uid {paragraph} ({wrong.height} such links in all)",
            todo="fetch both files again, of one commit",
        )
