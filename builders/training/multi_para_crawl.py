"""MultiParaCrawl: sentences of web pages in English and Russian, aligned by a machine (OPUS, v7.1)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import https, member
from builders.reading.lines import moses_batches
from builders.shaping.bitexts import SIDES, bitext_set, build_bitext, measure_bitext
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "multi_para_crawl"
CONFIG = "multi-para-crawl"
MIN_WORDS = 3  # of each side
POOL = 1_200_000  # pairs that LaBSE compares: comparing all of them would be the costliest step of the corpus
ARCHIVE = https("https://object.pouta.csc.fi/OPUS-MultiParaCrawl/v7.1/moses/en-ru.txt.zip", bytes=657_054_876)


def _read_pairs(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    for batch in moses_batches(files["en"], files["ru"]):
        yield batch.rename({"first": "query", "second": "positive"})


def _has_few_words(side: str) -> pl.Expr:
    return pl.col(side).str.count_matches(r"\S+") < MIN_WORDS


BITEXT = bitext_set(
    CONFIG,
    _read_pairs,
    POOL,
    {
        f"a side of fewer than {MIN_WORDS} words": _has_few_words(SIDES[0]) | _has_few_words(SIDES[1]),
        "no Cyrillic letter in the Russian side": ~pl.col(SIDES[1]).str.contains(r"\p{Cyrillic}"),
    },
)

SOURCE = Source(
    name=NAME,
    title="MultiParaCrawl, sentences of web pages in English and Russian",
    license="cc0-1.0",
    license_note="OPUS distributes the bitext under this licence; the texts are of web pages, whose terms were not verified.",
    homepage="https://opus.nlpl.eu/MultiParaCrawl.php",
    citation=("banon2020paracrawl", "tiedemann2012opus"),
    annotations=("machine-generated",),
    files={
        "en": member(ARCHIVE, "MultiParaCrawl.en-ru.en"),
        "ru": member(ARCHIVE, "MultiParaCrawl.en-ru.ru"),
        **training_files(NAME, (CONFIG,), cosines=True),
    },
    measurements=measure_bitext(NAME, BITEXT, ("en", "ru")),
)


@dataset(
    "multi-para-crawl-contrastive",
    pretty_name="MultiParaCrawl training pairs (Russian-English)",
    languages=("rus-Cyrl", "eng-Latn"),
    task=Contrastive((CONFIG,)),
    needs=("en", "ru", "tokens", "cosines", "index"),
    versions=training_versions(
        "The set MultiParaCrawl of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    checkpoints=True,
    citation=("snegirev2025rumteb",),
    sample={"rows": 5, "pool": 11, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 300_000, pool: int = POOL, clean: bool = False) -> Tables:
    """Which sentence is the translation of another?

    The two files of the source, line by line, in batches. A row is a sentence with its translation; the query is in English or
    in Russian, by the hash of the row's id (builders.shaping.bitexts.draw_direction). White space at the ends of texts is
    removed; pairs with an empty side, with two sides that are equal ignoring case, with a side of fewer than three words,
    without a Cyrillic letter in the Russian side, or with a side of more than 500 tokens (builders.shaping.measurements) are
    dropped. Of pairs with equal English sides the first is kept; of the others the first `pool` in hash order, and of those
    with equal Russian sides the first. Then pairs are dropped whose LaBSE cosine is below a threshold, the largest multiple of
    0.01 that leaves at least twice `rows` pairs (builders.shaping.measurements); `rows` of the others are drawn in hash order.
    `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id
    (String: `multi_para_crawl:multi-para-crawl:<line in the source's files, from 0>`); query (String); positives (List(String),
    one); negatives, negative_kinds (List(String), empty).

    Raises SourceError for files of different numbers of lines, and for texts and pairs that were not measured.
    """
    return build_bitext(raw, NAME, replace(BITEXT, rows=pool), rows=rows, clean=clean)
