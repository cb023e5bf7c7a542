"""STS22: pairs of news articles from SemEval-2022 task 8, rated for how similar they are; here the Russian ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import polars as pl

from builders.reading import read_csv
from builders.reading.archive_members import read_members
from builders.reading.errors import malformed, shorten
from builders.reading.values import check_record
from builders.shaping.cleaning import clean_rows
from builders.shaping.rows import drop
from builders.spec import Prompts, RawFiles, Source, Tables, Version, by_hand, dataset, https
from builders.tasks import STS

if TYPE_CHECKING:
    from builders.spec import Raw

PAIR = r"^([0-9]+)_([0-9]+)$"
TABLE = {"url1_lang": pl.String(), "url2_lang": pl.String(), "pair_id": pl.String(), "Overall": pl.Float64()}
ARTICLES = (
    "get final_evaluation_data.csv; "
    "keep its Russian pairs: grep -e '^url1_lang,' -e '^ru,ru,' final_evaluation_data.csv > russian.csv; "
    "pip install semeval_8_2022_ia_downloader; "
    "python -m semeval_8_2022_ia_downloader.cli --links_file=russian.csv --dump_dir=articles "
    "(from the Internet Archive; it writes articles/<last two digits>/<id>.json); zip -r articles.zip articles"
)

SOURCE = Source(
    name="sts22",
    title="SemEval-2022 task 8, multilingual news article similarity",
    license="other",
    license_note="The ratings come without a licence; the articles belong to the newspapers that published them.",
    homepage="https://competitions.codalab.org/competitions/33835",
    citation="chen2022semeval",
    annotations=("expert-generated",),
    files={
        "pairs": https(
            "https://competitions.codalab.org/my/datasets/download/6798bbee-77fa-452d-bde2-96b8631acb5d",
            name="final_evaluation_data.csv",
            sha256="6d360ab9b58a7a4b831d8f409ccb0a1f77fcb536a6c6b68107d68ed2d7731dde",
            bytes=2_446_276,
        ),
        "articles": by_hand("articles.zip", ARTICLES),
    },
)


@dataset(
    "sts22-ru",
    benchmark="rumteb",
    task=STS(low=1.0, high=4.0),
    needs=("pairs", "articles"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper: taken from MTEB.",
        "2.0.0": Version(
            "Left out are pairs of which an article is empty, or a single character; pairs with another score in another row; and"
            " pairs that repeat an earlier one, whichever article comes first.",
            {"clean": True},
        ),
    },
    prompts=Prompts("Retrieve semantically similar text", rosberta=("clustering",), e5=("query",)),
)
def sts(raw: RawFiles, *, clean: bool = False) -> Tables:
    """How similar are two news articles?

    The pairs of two Russian articles, in the source's order; those of which an article could not be had are dropped, and, to be
    `clean`, those that builders.shaping.cleaning leaves out. Columns: id (String: the source's
    pair_id); sentence1, sentence2 (String: the articles' texts without white space around them, without titles); score (Float64:
    5 minus the source's Overall, from 1 unrelated to 4 the same); lang (String: ru).
    """
    table = read_csv(raw["pairs"], TABLE)
    pairs = russian_pairs(raw["pairs"], table)
    texts = article_texts(raw.whole("articles"), pairs["article1"].to_list() + pairs["article2"].to_list())
    for side in "12":
        text = pl.Series(f"sentence{side}", [texts.get(name) for name in pairs[f"article{side}"]], pl.String)
        pairs = pairs.with_columns(text)
    missing = pl.col("sentence1").is_null() | pl.col("sentence2").is_null()
    rows, dropped = drop(pairs, missing, "the archive of articles lacks one of the two", split="test")
    frames = {"test": rows.select("id", "sentence1", "sentence2", "score", lang=pl.lit("ru"))}
    if clean:
        frames, more = clean_rows(frames, ("test",), texts=("sentence1", "sentence2"), label="score", symmetric=True)
        dropped = (*dropped, *more)
    observed = {"pairs in the table": table.height, "Russian pairs in the table": pairs.height}
    return Tables({"default": frames}, dropped, observed)


def russian_pairs(raw: Raw, table: pl.DataFrame) -> pl.DataFrame:
    """The pairs of two Russian articles: id, article1, article2 (String: the articles' ids), score (Float64).

    Raises SourceError for a pair_id that is not two ids.
    """
    both = (pl.col("url1_lang") == "ru") & (pl.col("url2_lang") == "ru")
    numbered = table.with_row_index("record", offset=1).filter(both)
    wrong = numbered.filter(~pl.col("pair_id").str.contains(PAIR))
    if wrong.height:
        record, name = wrong.select("record", "pair_id").row(0)
        what = "a pair_id that is not two ids"
        raise malformed(raw, f"record {record}", what, found=shorten(name), expected="digits, _ and digits")
    return numbered.select(
        id="pair_id",
        article1=pl.col("pair_id").str.extract(PAIR, 1),
        article2=pl.col("pair_id").str.extract(PAIR, 2),
        score=5 - pl.col("Overall"),  # MTEB's orientation: the more similar, the higher
    )


def article_texts(raw: Raw, articles: list[str]) -> dict[str, str]:
    """The texts of those articles, by id, that the archive holds. Raises SourceError for a file that is no article."""
    texts = {}
    for name, data in read_members(raw, [f"{article}.json" for article in articles]):
        try:
            article = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise malformed(raw, name, "no JSON", found=str(error), expected="one JSON object") from error
        check_record(raw, name, article, {"text": pl.String()})
        texts[name.removesuffix(".json")] = article["text"].strip()
    return texts
