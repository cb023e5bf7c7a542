"""WinoGrande: sentences with a blank and two words, only one of them right (Sakaguchi et al., 2020)."""

import polars as pl

from builders.raw_files import RawFile, https, member
from builders.reading.json import read_json_lines
from builders.shaping.choices import build_gold_pool, build_option_pool, gold_notes
from builders.shaping.labels import label_numbers
from builders.shaping.rows import CLEAN_NOTES
from builders.spec import KnownFinding, Prompts, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

ARCHIVE = https(
    "https://storage.googleapis.com/ai2-mosaic/public/winogrande/winogrande_1.1.zip",
    sha256="3619ab104d8be2977b25c90ff420cb42d491707dcc75362a1e5d22bc082b7318",
    bytes=3_395_492,
)
PREFIX = "wino"
PROMPTS = Prompts(
    "Given the following sentence, retrieve an appropriate answer to fill in the missing underscored part."
)
ANSWERS = {"1": 0, "2": 1}
OPTIONS = ("option1", "option2")
FORM = (
    KnownFinding(
        "boilerplate", "queries/test.text", 1_267, "RAR-b writes `Sentence:` before each sentence, as ATEB does."
    ),
)


def _file(name: str, sha256: str, size: int) -> RawFile:
    return member(ARCHIVE, f"winogrande_1.1/{name}", name=name, sha256=sha256, bytes=size)


SOURCE = Source(
    name="winogrande",
    title="WinoGrande 1.1, an adversarial Winograd schema challenge at scale",
    license="cc-by-2.0",
    license_note="As stated in the archive's README. The repository's README says CC BY, without a version.",
    homepage="https://github.com/allenai/winogrande",
    citation="sakaguchi2020winogrande",
    annotations=("crowdsourced",),
    files={
        "dev": _file("dev.jsonl", "1aeac79cf46a3dcbe59a71ca7e5372a1490cde2b4ae2387dc56f00378104d2e8", 275_682),
        "train": _file("train_xl.jsonl", "5da4d7f6924348ace9e64fd0922d8a7a8e0e14f55cd08005ffb1a3a3d649e36f", 8_741_021),
    },
)


@dataset(
    "winogrande-retrieval",
    pretty_name="WinoGrande retrieval (English)",
    benchmark="ateb",
    by_design={"near_duplicate": "A sentence has a twin, which differs from it in one word."},
    task=Retrieval(),
    needs=("dev",),
    versions={
        "1.0.0": Version(gold_notes("the correct options of the development split"), known=FORM),
        "2.0.0": Version(f"{CLEAN_NOTES} No query is affected.", {"clean": True}, known=FORM),
        "3.0.0": Version(
            "A query ends as its sentence does: earlier versions add RAR-b's full stop to sentences that end with one already.",
            {"clean": True, "full_stop": False},
            known=FORM,
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False, full_stop: bool = True) -> Tables:
    """Find the word that fills the blank of a sentence among the correct words of all sentences.

    corpus: id, title (""), text (String: the distinct correct options of the development split, in order); queries: id, text
    (String: `Sentence: {sentence}`, with `full_stop` one more full stop); qrels: query-id, corpus-id (String), score (Int64, 1).
    clean: merge duplicate queries and documents (builders.shaping.rows). full_stop: add a full stop to every query, as RAR-b does
    (not in 3.0.0).
    """
    questions = read_questions(raw["dev"], full_stop=full_stop)
    return build_gold_pool(questions, prefix=PREFIX, split="test", clean=clean)


@dataset(
    "rarb-winogrande",
    pretty_name="RAR-b WinoGrande (English)",
    benchmark="rarb",
    task=Retrieval(),
    needs=("dev", "train"),
    versions={
        "1.0.0": "RAR-b's construction, as far as it is known: the corpus is all options of the development split and train_xl."
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find the word that fills the blank of a sentence among all options of all sentences.

    corpus: id, title (""), text (String: the distinct options of the development split and of train_xl, in this order);
    queries: id, text (String: `Sentence: {sentence}.`); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    train = read_json_lines(raw["train"], dict.fromkeys(OPTIONS, pl.String())).select(options=pl.concat_list(OPTIONS))
    return build_option_pool(read_questions(raw["dev"]), [train], prefix=PREFIX, split="test")


def read_questions(raw: Raw, *, full_stop: bool = True) -> pl.DataFrame:
    """The table of questions for builders.shaping.choices: query (the sentence, with another full stop if asked), options, gold.

    Raises SourceError for an answer other than 1 and 2.
    """
    rows = read_json_lines(raw, dict.fromkeys(("sentence", *OPTIONS, "answer"), pl.String()))
    gold = label_numbers(rows["answer"], ANSWERS, raw)
    form = "Sentence: {}." if full_stop else "Sentence: {}"
    return rows.select(query=pl.format(form, "sentence"), options=pl.concat_list(OPTIONS), gold=gold)
