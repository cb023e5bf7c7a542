"""Titles of Russian Wikipedia's articles with their first paragraphs: a set of training pairs from MIRACL's passages."""

from collections.abc import Iterator, Mapping

import polars as pl

from builders.reading.json import json_lines
from builders.rumteb.miracl.passages import PASSAGE, SHARDS
from builders.shaping.measurements import LIMIT, Measurements
from builders.shaping.popularity import PairSet
from builders.shaping.rows import refuse
from builders.shaping.sampling import hash_order
from builders.shaping.text import WHITE_SPACE
from builders.spec import Raw

CONFIG = "miracl-title-paragraph"
ARTICLES = 200_000  # twice as many as the set has rows
# Texts of several passages that have more are too long without being measured: a token of Russian text has some 4 characters.
MAX_CHARACTERS = 6_000
DOCID = "^([0-9]{1,18})#([0-9]{1,9})$"


def title_pairs(rows: int, articles: int, tokens: Measurements, limit: int = LIMIT) -> PairSet:
    """The set for builders.shaping.popularity: the title of an article, and its first passages up to `limit` tokens.

    articles: how many are taken, the first in hash order.
    """

    def read(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
        for texts in _candidate_texts(files, articles):
            yield _choose_longest(texts, tokens, limit)

    return PairSet(CONFIG, rows, read, checks={"an article without its first passage": pl.col("positive").is_null()})


def texts_to_measure(files: Mapping[str, Raw], articles: int = ARTICLES) -> Iterator[pl.DataFrame]:
    """The texts whose tokens title_pairs looks up, in batches: text (String)."""
    for texts in _candidate_texts(files, articles):
        columns = [texts["title"].alias("text"), texts["text"].drop_nulls()]
        yield pl.concat(columns).unique(maintain_order=True).to_frame()


def _choose_longest(texts: pl.DataFrame, tokens: Measurements, limit: int) -> pl.DataFrame:
    """For each article its longest text of at most `limit` tokens: number, query, positive; the first if all are longer.

    Texts grow passage by passage: the first that is too long ends the search.
    """
    known = texts.filter(pl.col("text").is_not_null())
    fits = known.with_columns(fits=pl.lit(tokens.of(known["text"]) <= limit))
    fits = fits.with_columns(before=pl.col("fits").cast(pl.Int8).cum_min().over("number") == 1)
    longest = fits.filter(pl.col("before") | (pl.col("last") == 0)).group_by("number", maintain_order=True).last()
    titles = texts.select("number", query="title").unique("number", keep="first", maintain_order=True)
    chosen = longest.select("number", positive="text")
    return titles.join(chosen, on="number", how="left", maintain_order="left")


def _candidate_texts(files: Mapping[str, Raw], articles: int) -> Iterator[pl.DataFrame]:
    """The texts that an article's row may have, in batches of whole articles: number, title, last (a passage's number), text.

    Text i is passages 0 to i, joined by line feeds, as long as no number is missing and it has at most MAX_CHARACTERS; text 0 is
    there at any length, and is null where the article has no passage 0.
    """
    for passages in _whole_articles(files, _last_hash(files, articles)):
        by_number = passages.sort("number", "passage", maintain_order=True).unique(
            ["number", "passage"], keep="first", maintain_order=True
        )
        lists = by_number.group_by("number", maintain_order=True).agg(pl.col("title").first(), "passage", "text")
        rows = [
            (number, title, last, text)
            for number, title, numbers, texts in lists.iter_rows()
            for last, text in _grow(numbers, texts)
        ]
        schema = {"number": pl.Int64, "title": pl.String, "last": pl.Int64, "text": pl.String}
        frame = pl.DataFrame(rows, schema, orient="row")
        yield frame.with_columns(pl.col("title", "text").str.strip_chars(WHITE_SPACE))


def _grow(numbers: list[int], texts: list[str]) -> Iterator[tuple[int, str | None]]:
    """The texts of an article: the number of the last passage in each, and the text."""
    if numbers[0] != 0:
        yield 0, None
        return
    joined = texts[0]
    yield 0, joined
    for position in range(1, len(numbers)):
        joined = f"{joined}\n{texts[position]}"
        if numbers[position] != position or len(joined) > MAX_CHARACTERS:
            return
        yield position, joined


def _whole_articles(files: Mapping[str, Raw], threshold: int | None) -> Iterator[pl.DataFrame]:
    """The passages of the articles up to a hash, in batches that end with an article: number, passage, title, text.

    An article goes on in the next batch, and in the next shard.
    """
    rest = pl.DataFrame()
    for batch in _read_passages(files, ("number", "passage", "title", "text")):
        passages = pl.concat([rest, batch]) if rest.height else batch
        is_last = pl.lit(passages["number"] == passages["number"][-1]) if passages.height else pl.lit(value=True)
        rest = passages.filter(is_last)
        if (done := _select(passages.filter(~is_last), threshold)).height:
            yield done
    if (done := _select(rest, threshold)).height:
        yield done


def _select(passages: pl.DataFrame, threshold: int | None) -> pl.DataFrame:
    """The passages of the articles whose hash is not above a threshold."""
    if threshold is None or not passages.height:
        return passages
    numbers = passages["number"].unique()
    chosen = numbers.filter(_hashes(numbers) <= threshold)
    return passages.filter(pl.col("number").is_in(chosen.implode()))


def _last_hash(files: Mapping[str, Raw], articles: int) -> int | None:
    """The largest hash of the first `articles` in hash order; None for all of them. Numbers of articles are in memory."""
    parts = [batch["number"].unique() for batch in _read_passages(files, ("number",))]
    numbers = pl.concat(parts).unique() if parts else pl.Series("number", [], pl.Int64)
    return None if len(numbers) <= articles else int(_hashes(numbers).sort()[articles - 1])


def _hashes(numbers: pl.Series) -> pl.Series:
    """The hashes of articles: those of the ids of their rows, in the order that the rows are sampled in."""
    return hash_order(pl.select(pl.format(f"miracl:{CONFIG}:{{}}", numbers)).to_series(), f"training {CONFIG}")


def _read_passages(files: Mapping[str, Raw], columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """The passages of all shards in their order, in batches: number (Int64: of the article), passage (Int64), title, text.

    Raises SourceError for a docid that is not `<article>#<passage>`.
    """
    for shard in SHARDS:
        for batch in json_lines(files[shard], PASSAGE):
            refuse(
                batch,
                ~pl.col("docid").str.contains(DOCID),
                files[shard],
                "a docid of another form",
                found="docid",
                expected="<article>#<passage>",
            )
            numbers = pl.col("docid").str.extract_groups(DOCID)
            parts = batch.with_columns(
                number=numbers.struct[0].cast(pl.Int64), passage=numbers.struct[1].cast(pl.Int64)
            )
            yield parts.select(columns)
