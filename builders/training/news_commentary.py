"""News Commentary: opinion pieces of Project Syndicate in English and Russian, sentence by sentence (OPUS, v11)."""

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.shaping.bitexts import bitext_set, build_bitext, measure_bitext, read_translations
from builders.spec import RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "news_commentary"
CONFIG = "news-commentary"
BITEXT = bitext_set(CONFIG, read_translations)

SOURCE = Source(
    name=NAME,
    title="News Commentary, opinion pieces in English and Russian",
    license="other",
    license_note="The copy on the Hub states its licence as unknown. The texts are of Project Syndicate and its translators. Only"
    " the recipe is published here.",
    homepage="https://huggingface.co/datasets/Helsinki-NLP/news_commentary",
    citation="tiedemann2012opus",
    files={
        "train": hub(
            "Helsinki-NLP/news_commentary",
            "6ec8745a0c7a6c9c181fd9a97a1aa2a2ab065613",
            "en-ru/train-00000-of-00001.parquet",
            sha256="0bc3a404bafa52fcbd54fa768db7dc0e39a6126ac003dd5e3f405bfee487f4cf",
            bytes=45_349_681,
        ),
        **training_files(NAME, (CONFIG,), cosines=True),
    },
    measurements=measure_bitext(NAME, BITEXT, ("train",)),
)


@dataset(
    "news-commentary-contrastive",
    pretty_name="News Commentary training pairs (Russian-English)",
    languages=("rus-Cyrl", "eng-Latn"),
    task=Contrastive((CONFIG,)),
    needs=("train", "tokens", "cosines", "index"),
    versions=training_versions(
        "The set NewsCommentary of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 4, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 25_000, clean: bool = False) -> Tables:
    """Which sentence is the translation of another?

    The train file of the source. A row is a sentence with its translation; the query is in English or in Russian, by the hash of
    the row's id (builders.shaping.bitexts.draw_direction). White space at the ends of texts is removed; pairs with an empty side,
    with two sides that are equal ignoring case, or with a side of more than 500 tokens (builders.shaping.measurements) are
    dropped. Of pairs with equal English sides the first is kept, and of those with equal Russian ones too. Then pairs are
    dropped whose LaBSE cosine is below a threshold, the largest multiple of 0.01 that leaves at least twice `rows` pairs
    (builders.shaping.measurements); `rows` of the others are drawn in hash order. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `news_commentary:news-commentary:<row in the source's file, from 0>`); query (String); positives (List(String), one);
    negatives, negative_kinds (List(String), empty).

    Raises SourceError for texts and pairs that were not measured.
    """
    return build_bitext(raw, NAME, BITEXT, rows=rows, clean=clean)
