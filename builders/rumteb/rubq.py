"""RuBQ 2.0: questions over Wikidata, and the Wikipedia paragraphs that answer them (Rybin et al., 2021)."""

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.json import read_json_array
from builders.shaping.cleaning import SHORT, is_short
from builders.shaping.rows import drop, drop_each, refuse
from builders.shaping.sampling import list_candidates
from builders.spec import Dropped, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking, Retrieval

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
    return (
        questions.select("question", text="question_text"),
        related.join(marked, on=pair, how="left", maintain_order="left").with_columns(pl.col("score").fill_null(0)),
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


def _file(name: str, git_blob: str) -> RawFile:
    commit = "fade3eae6a4807c35b19cfce20dfa805fc8c0cdf"
    return github("vladislavneon/RuBQ", commit, f"RuBQ_2.0/{name}", git_blob=git_blob)


SOURCE = Source(
    name="rubq",
    title="RuBQ 2.0, Russian questions over Wikidata",
    license="cc-by-sa-4.0",
    homepage="https://github.com/vladislavneon/RuBQ",
    citation="rybin2021rubq",
    annotations=("expert-generated", "crowdsourced"),
    files={
        "questions": _file("RuBQ_2.0_test.json", "fd9b04aa5754b7bbc454d875e559bce6d31d323f"),
        "paragraphs": _file("RuBQ_2.0_paragraphs.json", "1b27f82170edf9fbae8310d816a983340c9e706c"),
    },
)


@dataset(
    "rubq-reranking",
    pretty_name="RuBQ reranking (Russian)",
    benchmark="rumteb",
    task=Reranking(),
    needs=("questions", "paragraphs"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Paragraphs with the same text are merged, relevant if any of them is, before candidates are counted; questions with"
            " the same text are merged, with the paragraphs of all. Paragraphs of a single character are dropped. Ids of queries"
            " begin with `q`, so that no query has the id of a document.",
            {"same": "text", "clean": True, "prefix": "q"},
        ),
    },
    sample={"min_negatives": 2},
)
def reranking(
    raw: RawFiles, *, min_negatives: int = 9, same: str = "uid", clean: bool = False, prefix: str = ""
) -> Tables:
    """Rank the paragraphs that answer a question above others on the same subjects.

    Test questions with a gold paragraph (with_answer) and at least `min_negatives` others (all_related without the gold ones).
    Paragraphs that are the `same` ("uid": none; "page and text" or "text": with equal values) are merged into the first, which
    is gold if any of them is. clean: questions with the same text are merged likewise, and paragraphs of a single character
    dropped. corpus: id (the paragraph's uid), title (""), text: every candidate once, in the order of the raw file; queries: id
    (the question's uid, after `prefix`), text; qrels: query-id, corpus-id, score (Int64: 1 gold, 0 not); top_ranked: query-id,
    corpus-ids (List(String): all candidates, in hash order, so that no position reveals which ones are gold).
    """
    questions, links, paragraphs = read_tables(raw)
    short: tuple[Dropped, ...] = ()
    if clean:
        questions, links, paragraphs, short = merge_questions(questions, links, paragraphs)
    links, paragraphs, repeated = merge_paragraphs(links, paragraphs, same)
    counts = links.group_by("question").agg(positives=pl.col("score").sum(), negatives=(pl.col("score") == 0).sum())
    counted = questions.join(counts, on="question", how="left", maintain_order="left")
    exclusions = {
        "no paragraph answers the question": pl.col("positives").fill_null(0) == 0,
        f"fewer than {min_negatives} paragraphs that do not answer the question": pl.col("negatives") < min_negatives,
    }
    queries, unfit = drop_each(counted, exclusions, split="test", key="question")
    judged = links.join(queries, on="question", how="semi", maintain_order="left")
    qrels = make_qrels(judged, prefix)
    candidates = list_candidates(qrels, seed="rubq-reranking")
    frames = {
        "corpus": paragraphs.join(judged, on="paragraph", how="semi", maintain_order="left").select(
            "id", "title", "text"
        ),
        "queries": queries.select(query_id(prefix).alias("id"), "text"),
        "qrels": qrels,
        "top_ranked": queries.select(query_id(prefix).alias("query-id")).join(
            candidates, on="query-id", maintain_order="left"
        ),
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, short + repeated + unfit)


@dataset(
    "rubq-retrieval",
    pretty_name="RuBQ retrieval (Russian)",
    task_ids=("document-retrieval",),
    benchmark="rumteb",
    task=Retrieval(),
    needs=("questions", "paragraphs"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper; paragraphs of the same page with the same text are merged.",
        "2.0.0": Version(
            "Paragraphs with the same text are merged, whatever their pages, and so are questions with the same text, with the"
            " judgements of all. Paragraphs of a single character are dropped. Ids of queries begin with `q`, so that no query"
            " has the id of a document: MTEB's task ignores a document with the id of its query.",
            {"same": "text", "clean": True, "prefix": "q"},
        ),
    },
)
def retrieval(raw: RawFiles, *, same: str = "page and text", clean: bool = False, prefix: str = "") -> Tables:
    """Find the Wikipedia paragraphs that answer a question.

    Paragraphs that are the `same` ("page and text": of the same page with equal texts; "text": with equal texts) are merged into
    the first, with their links. clean: questions with the same text are merged likewise, and paragraphs of a single character
    dropped. corpus: id (the paragraph's uid), title (""), text; queries: id (the question's uid, after `prefix`), text: the test
    questions with a gold paragraph; qrels: query-id, corpus-id, score (Int64, 1).
    """
    questions, links, paragraphs = read_tables(raw)
    observed = {"paragraphs": paragraphs.height}
    for name in ("page and text", "text"):
        observed[f"paragraphs distinct by {name}"] = paragraphs.n_unique(SAME[name])
    short: tuple[Dropped, ...] = ()
    if clean:
        questions, links, paragraphs, short = merge_questions(questions, links, paragraphs)
    gold, paragraphs, repeated = merge_paragraphs(links.filter(pl.col("score") == 1), paragraphs, same)
    answered = pl.col("question").is_in(gold["question"].implode())
    queries, unanswered = drop(questions, ~answered, "no paragraph answers the question", split="test", key="question")
    frames = {
        "corpus": paragraphs.select("id", "title", "text"),
        "queries": queries.select(query_id(prefix).alias("id"), "text"),
        "qrels": make_qrels(gold, prefix),
    }
    return Tables(
        {config: {"test": frame} for config, frame in frames.items()}, short + repeated + unanswered, observed
    )
