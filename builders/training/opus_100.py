"""OPUS-100: sentences in English and Russian, drawn from the bitexts of OPUS (Zhang et al., 2020)."""

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.shaping.bitexts import bitext_set, build_bitext, measure_bitext, read_translations
from builders.spec import RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "opus_100"
CONFIG = "opus-100"
BITEXT = bitext_set(CONFIG, read_translations)

SOURCE = Source(
    name=NAME,
    title="OPUS-100, a multilingual corpus of translations: English and Russian",
    license="other",
    license_note="No licence is known for the whole: its texts are drawn from the bitexts of OPUS, which have terms of their own."
    " Only the recipe is published here.",
    homepage="https://huggingface.co/datasets/Helsinki-NLP/opus-100",
    citation=("zhang2020opus100", "tiedemann2012opus"),
    files={
        "train": hub(
            "Helsinki-NLP/opus-100",
            "805090dc28bf78897da9641cdf08b61287580df9",
            "en-ru/train-00000-of-00001.parquet",
        ),
        **training_files(NAME, (CONFIG,)),
    },
    measurements=measure_bitext(NAME, BITEXT, ("train",), cosines=False),
)


@dataset(
    "opus-100-contrastive",
    pretty_name="OPUS-100 training pairs (Russian-English)",
    languages=("rus-Cyrl", "eng-Latn"),
    task=Contrastive((CONFIG,)),
    needs=("train", "tokens", "index"),
    versions=training_versions(
        "The set OPUS-100 of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 9, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 175_000, clean: bool = False) -> Tables:
    """Which sentence is the translation of another?

    The train file of the source. A row is a sentence with its translation; the query is in English or in Russian, by the hash of
    the row's id (builders.shaping.bitexts.draw_direction). White space at the ends of texts is removed; pairs with an empty side,
    with two sides that are equal ignoring case, or with a side of more than 500 tokens (builders.shaping.measurements) are
    dropped. Of pairs with equal English sides the first is kept, and of those with equal Russian ones too; of more than `rows`
    as many are drawn in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of
    benchmarks has. Columns: id (String: `opus_100:opus-100:<row in the source's file, from 0>`); query (String); positives
    (List(String), one); negatives, negative_kinds (List(String), empty).

    Raises SourceError for texts whose lengths were not measured.
    """
    return build_bitext(raw, NAME, BITEXT, rows=rows, clean=clean)
