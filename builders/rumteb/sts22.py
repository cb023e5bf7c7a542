"""STS22: pairs of news articles rated for similarity, from SemEval-2022 task 8; here the Russian pairs (Chen et al., 2022)."""

import orjson
import polars as pl

from builders.raw_files import by_hand, https
from builders.reading.archives import read_members
from builders.reading.csv import read_csv
from builders.reading.values import check_record, malformed
from builders.shaping.cleaning import clean_rows
from builders.shaping.rows import drop, refuse
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import STS

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
    license_note="The ratings have no licence; the articles belong to the newspapers that published them.",
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
    pretty_name="STS22 news similarity (Russian)",
    benchmark="rumteb",
    task=STS(low=1.0, high=4.0),
    needs=("pairs", "articles"),
    versions={
        "1.0.0": "The recipe of MTEB's first STS22, on articles that are downloaded again.",
        "2.0.0": Version(
            "Every pair once, in either order: drops pairs with an article that is empty or a single character, pairs with"
            " different scores, and pairs that duplicate an earlier one.",
            {"clean": True},
        ),
    },
    own_rows="the articles are downloaded again, and may have changed or be gone since",
)
def sts(raw: RawFiles, *, clean: bool = False) -> Tables:
    """How similar are two news articles?

    The pairs of two Russian articles whose texts are both available, in the source's order. `clean` drops pairs with an article
    that is empty, a single character or damaged by a wrong decoding, pairs with different scores, and those that repeat an
    earlier one, ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns: id (String: the
    source's pair_id); sentence1, sentence2 (String: the articles' texts without titles, stripped of surrounding white space);
    score (Float64: 5 minus the source's Overall, from 1 unrelated to 4 the same); lang (String: ru).
    """
    table = read_csv(raw["pairs"], TABLE)
    pairs = select_russian_pairs(raw["pairs"], table)
    texts = read_articles(raw.whole("articles"), pairs["article1"].to_list() + pairs["article2"].to_list())
    for side in "12":
        text = pl.Series(f"sentence{side}", [texts.get(name) for name in pairs[f"article{side}"]], pl.String)
        pairs = pairs.with_columns(text)
    missing = pl.col("sentence1").is_null() | pl.col("sentence2").is_null()
    rows, dropped = drop(pairs, missing, "an article is missing from the archive", split="test")
    frames = {"test": rows.select("id", "sentence1", "sentence2", "score", lang=pl.lit("ru"))}
    if clean:
        frames, more = clean_rows(frames, ("test",), texts=("sentence1", "sentence2"), label="score", symmetric=True)
        dropped = (*dropped, *more)
    observed = {"pairs in the table": table.height, "Russian pairs in the table": pairs.height}
    return Tables({"default": frames}, dropped, observed)


def select_russian_pairs(raw: Raw, table: pl.DataFrame) -> pl.DataFrame:
    """The pairs of two Russian articles: id, article1, article2 (String: the articles' ids), score (Float64).

    Raises SourceError for a pair_id that is not two ids.
    """
    russian = (pl.col("url1_lang") == "ru") & (pl.col("url2_lang") == "ru")
    invalid = russian & ~pl.col("pair_id").str.contains(PAIR)
    refuse(table, invalid, raw, "invalid pair_id", found="pair_id", expected="two ids, joined by _", unit="record")
    return table.filter(russian).select(
        id="pair_id",
        article1=pl.col("pair_id").str.extract(PAIR, 1),
        article2=pl.col("pair_id").str.extract(PAIR, 2),
        score=5 - pl.col("Overall"),  # as in MTEB: a higher score means more similar
    )


def read_articles(raw: Raw, articles: list[str]) -> dict[str, str]:
    """The text of each of these articles that is in the archive, by id. Raises SourceError for a malformed article."""
    texts = {}
    for name, data in read_members(raw, [f"{article}.json" for article in articles]):
        try:
            article = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise malformed(raw, name, "invalid JSON", found=str(error), expected="one JSON object") from error
        check_record(raw, name, article, {"text": pl.String()})
        texts[name.removesuffix(".json")] = article["text"].strip()
    return texts
