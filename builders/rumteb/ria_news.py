"""RIA news: articles of the news agency Rossiya Segodnya from 2010 to 2014, with their titles (Gavrilov et al., 2019)."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from builders.batches import map_in_order
from builders.published import published_files
from builders.ranking.hard_negatives import (
    CITATIONS,
    DEPTH,
    OWN_POOLS,
    QUERIES,
    VERSIONS,
    pool_hard_negatives,
    ranked_files,
    ranking_of,
)
from builders.raw_files import github
from builders.reading.json import json_batches
from builders.shaping.rows import drop_each
from builders.shaping.sampling import sample
from builders.shaping.text import html_to_text
from builders.spec import OWN_DRAW, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

# One or several places (`афины/никосия`, `фарнборо (великобритания)`, `г. москва`), without the end of a sentence.
PLACE = r"""(?:\p{L}{1,3}\.[ -]?)?[\p{L}\d"«][\p{L}\d ,()/'’"«»-]*"""
MONTHS = "янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек"
DATE = rf"\d{{1,2}}(?:-\d{{1,2}})? ?(?:{MONTHS})\p{{L}}{{0,5}}\.?(?: \d{{4}}(?: г(?:\.|ода))?)?"
AGENCY = """["«]?(?:риа новости|р-спорт|ria\\.ru|прайм)["»]?"""
WORD = r"\p{L}[\p{L}'’-]+"
NAME = rf"(?:\p{{L}}\. ?|{WORD} ){{1,2}}{WORD}"
REPORTERS = rf"{NAME}(?:(?:,| и) ?{NAME}){{0,3}}"
DASH = "[ ,/]*[–—―−-]+ ?"
REST = rf"(?:, ?{REPORTERS})? ?\.+ ?"
DATELINE = rf"(?i)^{PLACE}, ?{DATE}{DASH}{AGENCY}(?: ?/ ?{AGENCY})*{REST}"
# Also the branches of an agency (`риа новости-урал`, `прайм-тасс`), and agencies between slashes.
BRANCH = rf"{AGENCY}(?:-\p{{L}}+[\"»]?)?"
ANY_DATELINE = rf"(?i)^{PLACE}, ?{DATE}{DASH}/?{BRANCH}(?: ?/ ?{BRANCH})*/?{REST}"


def remove_dateline(text: pl.Expr, *, branches: bool = True) -> pl.Expr:
    """The text without the dateline that it begins with, and the space that follows; a text without one is unchanged.

    White space must be folded (builders.shaping.text). A dateline is a place, a comma, a day and a month, a dash of any kind, one
    or more agencies joined by slashes, optionally a comma and up to four names of reporters, and a full stop. Case is ignored.
    branches: also with the name of an agency's branch, and with agencies between slashes.
    """
    return text.str.replace(ANY_DATELINE if branches else DATELINE, "")


ARTICLE = {"title": pl.String(), "text": pl.String()}
SEEDS = (0, 1)  # titles, and texts, count as equal if two hashes of 64 bits are equal
# Reading keeps 46 bytes per article in memory; the texts are in files.
DIGEST = {
    "id": pl.Int64(),
    "parsed": pl.Boolean(),
    "dateline": pl.Boolean(),
    "titled": pl.Boolean(),
    "length": pl.UInt32(),
} | {f"{column}_{seed}": pl.UInt64() for column in ARTICLE for seed in SEEDS}

RANKED_DATASET = ("ria-news-retrieval", "2.0.0")

SOURCE = Source(
    name="ria_news",
    title="Rossiya Segodnya news dataset",
    license="cc-by-nc-nd-4.0",
    license_note="The licence does not permit sharing derivatives, and this dataset is one: articles are selected and cleaned. "
    "Publishing it needs the explicit permission of Rossiya Segodnya.",
    homepage="https://github.com/RossiyaSegodnya/ria_news_dataset",
    citation="gavrilov2019ria",
    files={
        "articles": github(
            "RossiyaSegodnya/ria_news_dataset",
            "84f75bd8873b89a3870818eeebd491628c091df1",
            "ria.json.gz",
            lfs=True,
            sha256="59a25bbcb14a261a82ac6baa84d11d23ca2125c28f0cc1905418b5301a8cb12d",
            bytes=1_025_015_063,
        ),
        **ranked_files("ria-news-retrieval-hard-negatives", *RANKED_DATASET),
        **published_files("ria-news-retrieval", "ria-news-retrieval-hard-negatives"),
    },
)


def read_articles(raw: RawFiles) -> dict[str, pl.LazyFrame]:
    """All articles as documents without dateline, and whole, their titles as queries, and each relevant for its own."""
    clean = partial(_clean_batch, max_length=None, branches=True, scratch=raw.scratch)
    for _ in map_in_order(clean, json_batches(raw["articles"], ARTICLE)):
        pass
    articles = pl.scan_ipc(sorted(raw.scratch.glob("*.arrow")), glob=False)
    document = pl.col("id").cast(pl.String)
    query = pl.concat_str(pl.lit("q"), document)
    return {
        "corpus": articles.select(document, pl.lit("").alias("title"), "text", "whole"),
        "queries": articles.select(id=query, text="title", label=document),
        "qrels": articles.select(**{"query-id": query, "corpus-id": document}, score=pl.lit(1, pl.Int64)),
    }


@dataset(
    "ria-news-retrieval",
    pretty_name="RIA news retrieval (Russian)",
    task_ids=("document-retrieval",),
    benchmark="rumteb",
    task=Retrieval(),
    needs=("articles",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but a first sentence is removed only if it is a dateline.",
        "2.0.0": Version(
            "Also removes datelines with a branch of an agency (`риа новости-урал`, `прайм-тасс`) and with agencies between"
            " slashes.",
            {"branches": True},
        ),
    },
    sample={"queries": 5, "max_length": 300},
    own_rows=OWN_DRAW,
    published=read_articles,
)
def retrieval(raw: RawFiles, *, queries: int = 10_000, max_length: int = 2_000, branches: bool = False) -> Tables:
    """Find the news article that a title belongs to.

    An article's text is extracted from its HTML, its white space is folded and its dateline removed
    (builders.rumteb.ria_news; branches: as there). Dropped are articles with an
    empty text or one of more than `max_length` characters, and articles whose title or text repeats an earlier one. corpus: id
    (the article's line in the raw file, from 1), title (""), text; queries: id (`q` and that line), text: `queries` titles, in
    hash order; qrels: query-id, corpus-id, score (Int64, 1).
    """
    clean = partial(_clean_batch, max_length=max_length, branches=branches, scratch=raw.scratch)
    articles = pl.concat([pl.DataFrame(schema=DIGEST), *map_in_order(clean, json_batches(raw["articles"], ARTICLE))])
    exclusions = {
        "BeautifulSoup cannot parse the HTML": pl.col("length").is_null(),
        f"the text is longer than {max_length:,} characters": pl.col("length") > max_length,
        "the text is empty": pl.col("length") == 0,
        "an earlier article has the same title": ~pl.struct("title_0", "title_1").is_first_distinct(),
        "an earlier article has the same text": ~pl.struct("text_0", "text_1").is_first_distinct(),
    }
    documents, dropped = drop_each(articles, exclusions, split="test")
    titled = documents.filter("titled").select("id")
    size = queries if raw["articles"].limit is None else max(1, min(queries, titled.height))
    query_ids = sample(titled, size, key="id", seed="ria-news-retrieval", what="titles")
    texts = pl.scan_ipc(sorted(raw.scratch.glob("*.arrow")), glob=False)
    titles = (
        texts.filter(pl.col("id").is_in(query_ids["id"].implode())).select("id", "title").collect(engine="streaming")
    )
    document = pl.col("id").cast(pl.String)
    pairs = query_ids.join(titles, on="id", maintain_order="left").select(
        "title", document=document, query=pl.concat_str(pl.lit("q"), document)
    )
    frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
        "corpus": texts.filter(pl.col("id").is_in(documents["id"].implode())).select(
            document, pl.lit("").alias("title"), "text"
        ),
        "queries": pairs.select(id="query", text="title"),
        "qrels": pairs.select(**{"query-id": "query", "corpus-id": "document"}, score=pl.lit(1, pl.Int64)),
    }
    observed = {
        "articles": articles.height,
        "articles with a dateline": int(articles["dateline"].sum()),
        "articles left to BeautifulSoup": int(articles["parsed"].sum()),
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, dropped, observed)


@dataset(
    "ria-news-retrieval-hard-negatives",
    pretty_name="RIA news retrieval, hard negatives (Russian)",
    task_ids=("document-retrieval",),
    benchmark="mteb-rus-v1.1",
    task=Retrieval(),
    needs=("articles",),
    versions=VERSIONS,
    prompts=retrieval.prompts,
    citation=CITATIONS,
    mining=ranking_of(*RANKED_DATASET),
    sample={"queries": 3, "depth": 4, "titles": 5, "max_length": 300},
    own_rows=OWN_POOLS,
    published=read_articles,
)
def hard_negatives(
    raw: RawFiles,
    *,
    queries: int = QUERIES,
    depth: int = DEPTH,
    union: bool = False,
    titles: int = 10_000,
    max_length: int = 2_000,
) -> Tables:
    """Find the news article that a title belongs to, among the articles that rankings find for any title.

    The corpus and `titles` queries are those of version 2.0.0 of ria-news-retrieval, and `queries` of the latter are drawn in
    hash order. The pool of a query has `depth` articles: its own, and those that BM25 and two models rank first, in turn; with
    `union`, its own and the first `depth` of each ranking (builders.ranking.hard_negatives). corpus: id (the article's line in
    the raw file, from 1), title (""), text: the articles of all pools, in the order of the raw file; queries: id (`q` and the
    line of its article), text: titles, in hash order; qrels: query-id, corpus-id, score (Int64, 1).
    """
    whole = retrieval.recipe(raw, queries=titles, max_length=max_length, branches=True)
    seed = "ria-news-retrieval-hard-negatives"
    return pool_hard_negatives(whole, raw, "test", seed=seed, queries=queries, depth=depth, union=union)


def _clean_batch(
    batch: tuple[int, Callable[[], pl.DataFrame]], *, max_length: int | None, branches: bool, scratch: Path
) -> pl.DataFrame:
    """Clean a batch of articles, write those of valid length to a file in `scratch`, and return a digest of all (DIGEST).

    Without `max_length`, all articles are written, with the column `whole`: the text with its dateline.
    """
    first, parse = batch
    articles = parse()
    texts, parsed = html_to_text(articles["text"])
    text = pl.col("text")
    articles = (
        articles.with_columns(texts, parsed.alias("parsed"))
        .with_columns(cleaned=remove_dateline(text, branches=branches))
        .with_columns(dateline=pl.col("cleaned") != text, text=pl.col("cleaned"))
        .with_row_index("id", offset=first)
    )
    length = pl.col("text").str.len_chars()
    valid = articles.filter(length.is_between(1, max_length)) if max_length else articles.with_columns(whole=texts)
    valid = valid.select(pl.col("id").cast(pl.Int64), "title", "text", *([] if max_length else ["whole"]))
    # What is not compressed is mapped into memory: of all articles, twice the text, that would be gigabytes.
    valid.write_ipc(scratch / f"{first:012d}.arrow", compression="uncompressed" if max_length else "lz4")
    hashes = {f"{column}_{seed}": pl.col(column).hash(seed) for column in ARTICLE for seed in SEEDS}
    digest = articles.select(
        "id", "dateline", "parsed", length=length, titled=pl.col("title").str.contains(r"\S"), **hashes
    )
    return digest.select(pl.col(name).cast(dtype) for name, dtype in DIGEST.items())
