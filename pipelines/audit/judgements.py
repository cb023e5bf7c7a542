"""Findings about relevance judgements: documents with the same text judged differently or not at all, queries in the corpus,
queries with the id of a document.

Judgements that a reader cannot use (dangling, repeated, negative) are integrity findings.
"""

import polars as pl

from builders import tasks
from builders.shaping.text import WHITE_SPACE
from cards.manifest import Finding
from pipelines.audit.findings import EXAMPLES, FindingRows, findings_where
from pipelines.audit.kinds import KINDS
from pipelines.audit.labels import find_conflicting_labels
from pipelines.audit.tables import Frames, model_input, read_column, row_id


def audit_judgements(
    task: tasks.Task, frames: Frames, split: str, corpus_survey: pl.DataFrame, seed: int
) -> list[FindingRows]:
    """The findings about the relevance judgements of a split; none for a task other than retrieval and reranking.

    seed: the one that the hashes of the survey were computed with.
    """
    if not isinstance(task, tasks.Retrieval | tasks.Reranking):
        return []
    corpus_survey = corpus_survey.with_columns(read_column(frames["corpus"][split], "id").alias("corpus-id"))
    documents = corpus_survey.select("texts", "corpus-id")
    judgements = frames["qrels"][split].select("query-id", "corpus-id", "score")
    qrels = judgements.with_row_index("position").collect(engine="streaming")
    qrels = qrels.join(documents, on="corpus-id", maintain_order="left")
    labelled = qrels.select("position", "query-id", "texts", label="score", twin_split=pl.lit(split))
    location = ("qrels", split, "score")
    findings = find_conflicting_labels(labelled, location, {"": pl.struct("query-id", "texts")})
    if isinstance(task, tasks.Retrieval):
        findings += _find_unjudged_twins(qrels, documents, ["texts"], split)
    else:
        ranked = frames["top_ranked"][split].explode("corpus-ids").rename({"corpus-ids": "corpus-id"})
        candidates = ranked.collect(engine="streaming").join(documents, on="corpus-id", maintain_order="left")
        findings += _find_unjudged_twins(qrels, candidates, ["query-id", "texts"], split)
    findings += _find_queries_in_corpus(frames, split, corpus_survey, seed)
    return findings + _find_shared_ids(frames, split, documents["corpus-id"], qrels)


def _find_unjudged_twins(qrels: pl.DataFrame, pool: pl.DataFrame, by: list[str], split: str) -> list[FindingRows]:
    """A finding for the documents of a pool with the text of a positive of a query, not judged for that query.

    by: the columns in which twins of the pool agree: the texts, and the query if every query has its own pool. Twins are counted
    by subtraction and never all listed: a text with a thousand copies may have a million. For a query whose positive has 4 copies
    in the pool, 1 of them judged, 3 are counted.
    """
    positives = qrels.filter(pl.col("score") > 0).height
    pool = pool.filter(pl.struct(by).is_duplicated())
    judged = qrels.join(pool, on=["corpus-id", *by], how="semi", maintain_order="left")
    texts = judged.group_by("query-id", "texts", maintain_order=True).agg(
        positive=(pl.col("score") > 0).any(), judged=pl.len().cast(pl.Int64)
    )
    copies = pool.group_by(by).agg(copies=pl.len().cast(pl.Int64))
    texts = texts.filter("positive").join(copies, on=by, maintain_order="left")
    texts = texts.filter(pl.col("copies") > pl.col("judged"))
    count = texts.select(pl.col("copies") - pl.col("judged")).sum().item()
    if not count:
        return []

    def list_twins(texts: pl.DataFrame) -> pl.DataFrame:
        twins = texts.join(pool, on=by, maintain_order="left_right")
        return twins.join(judged, on=["query-id", "corpus-id"], how="anti", maintain_order="left")

    name = row_id(["query-id", "corpus-id"])
    examples = tuple(list_twins(texts.head(EXAMPLES)).head(EXAMPLES).select(row=name)["row"])
    severity, share = KINDS["unjudged_twin"].severity, count / (count + positives)
    finding = Finding("unjudged_twin", severity, "qrels", split, "", count, share, examples)
    schema = {"row": pl.String}
    rows = pl.defer(lambda: list_twins(texts).select(row=name), schema=schema)
    return [FindingRows(finding, rows)]


def _find_queries_in_corpus(frames: Frames, split: str, corpus_survey: pl.DataFrame, seed: int) -> list[FindingRows]:
    """A finding for the queries that equal a document, its text or its title, ignoring surrounding white space."""
    corpus, queries = frames["corpus"][split], frames["queries"][split]
    query = pl.col("text").str.strip_chars(WHITE_SPACE)
    query_texts = read_column(queries.select(query).filter(pl.col("text") != "").unique(), "text")
    # Only a document with the hash of a query can have its text; the other documents need not be read again.
    hashes = query_texts.hash(seed).implode()
    has_hash_of_query = pl.any_horizontal(pl.col("hash text", "hash own text").is_in(hashes))
    same_hash = corpus_survey.filter(has_hash_of_query)["corpus-id"]
    documents = corpus.filter(pl.col("id").is_in(same_hash.implode()))
    sources = [corpus.select(text=pl.col("title").str.strip_chars(WHITE_SPACE))]
    if not same_hash.is_empty():
        sources += [documents.select(text=text) for text in (model_input("corpus", "text"), query)]
    matches = pl.concat([texts.filter(pl.col("text").is_in(query_texts.implode())) for texts in sources]).unique()
    is_match = query.is_in(read_column(matches, "text").implode())
    return findings_where("query_in_corpus", ("queries", split, "text"), queries, is_match)


def _find_shared_ids(frames: Frames, split: str, documents: pl.Series, qrels: pl.DataFrame) -> list[FindingRows]:
    """A finding for the queries that have the id of a document; the detail counts those judged relevant to that document."""
    is_own = (pl.col("query-id") == pl.col("corpus-id")) & (pl.col("score") > 0)
    lost = qrels.filter(is_own).height
    detail = f"{lost:,} of them judged relevant to the document with their id" if lost else ""
    is_shared = pl.col("id").is_in(documents.implode())
    return findings_where("shared_ids", ("queries", split, "id"), frames["queries"][split], is_shared, detail=detail)
