"""ruSciBench: Russian scientific papers from eLibrary, labelled with their GRNTI and OECD rubrics (Vatolin et al., 2024)."""

from typing import Any

from builders.raw_files import RawFile, github, hub
from builders.rumteb.ru_sci_bench.papers import build_classification, build_clustering
from builders.rumteb.ru_sci_bench.rubrics import GRNTI, OECD, label_names
from builders.shaping.cleaning import DEDUPLICATED
from builders.spec import Prompts, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification, Clustering

REPOSITORY = "mlsa-iai-msu-lab/ru_sci_bench"
COMMIT = "deade1bcc85bfeb768d1126d5f6eb652868ce065"
REVISION = "e627fb545289359c6cdd402f681fc884c739ce70"


def _labels(name: str, **digest: Any) -> RawFile:
    return github(REPOSITORY, COMMIT, f"ru_sci_bench/data/{name}", name=name, **digest)


SOURCE = Source(
    name="ru_sci_bench",
    title="ruSciBench, Russian scientific papers by rubric",
    license="mit",
    license_note="As stated on upstream's dataset card of the texts; the tables of labels have no licence.",
    homepage="https://github.com/mlsa-iai-msu-lab/ru_sci_bench",
    citation="vatolin2024ruscibench",
    annotations=("found",),
    files={
        "texts": hub(
            REPOSITORY,
            REVISION,
            "data/ru-00000-of-00001.parquet",
            # As published in another commit of the dataset, a5aa494.
            sha256="22ef8ab2514c45bcc75d912887c6419e5102743d7db53a57026aa93cb7cc4559",
            bytes=149_013_239,
        ),
        "grnti_train": _labels(
            "elibrary_grnti_ru/train.csv",
            sha256="44503c115e2881bb95b04c264ac6e495bad9819ead206082cf6e6ab039355947",
            bytes=1_825_821,
        ),
        "grnti_test": _labels(
            "elibrary_grnti_ru/test.csv",
            sha256="a0844b166521cbe117f5e2384769fbdd3cc8a4ba746d1752c495242ca8b93f60",
            bytes=203_399,
        ),
        "oecd_train": _labels(
            "elibrary_oecd_ru/train.csv",
            sha256="f06b6ac262a27b5881dcfd3679f4cf69c10938afa2d728ac48ce218fd8743b0b",
            bytes=1_772_987,
        ),
        "oecd_test": _labels(
            "elibrary_oecd_ru/test.csv",
            sha256="e4b8cb1fde0e2481b7ba3329f34fbeef76e1e40a87cc2b8872ca4b115e9ba92e",
            bytes=197_310,
        ),
    },
)
DROPPED_TEXTS = (
    "Drops texts with different labels and train texts that are also in test, ignoring case, punctuation and white space, before"
    " papers are drawn."
)
CLASSIFY = Prompts(
    "Classify the category of scientific papers based on the titles and abstracts",
    rosberta=("clustering",),
    e5=("query",),
)
CLUSTER = Prompts(
    "Identify the category of scientific papers based on the titles and abstracts",
    rosberta=("clustering",),
    e5=("query",),
)


@dataset(
    "ru-scibench-grnti-classification",
    pretty_name="ruSciBench GRNTI classification (Russian)",
    benchmark="rumteb",
    task=Classification(labels=label_names(GRNTI), splits=("train", "test"), bare_labels=True),
    needs={"train": ("texts", "grnti_train", "grnti_test"), "test": ("texts", "grnti_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            f"{DROPPED_TEXTS} Fewer papers per class, because the smallest class has none to spare: 950 train papers instead of"
            " 1,017, and 90 test papers instead of 99.",
            {"clean": True, "train_per_class": 950, "test_per_class": 90},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    prompts=CLASSIFY,
)
def grnti_classification(
    raw: RawFiles, *, train_per_class: int = 1_017, test_per_class: int = 99, clean: bool = False
) -> Tables:
    """Which of 28 rubrics of GRNTI, the Russian classification of science, does a paper belong to?

    Balanced samples of the source's two splits, without papers that lack a title or an abstract and without exact duplicates in
    a split. `clean` drops short, conflicting, repeated and leaked texts instead (builders.shaping.cleaning.clean_rows). Columns:
    id (String: the source's paper_id); text (String: title, newline, abstract); label (Int64: the rank of the code among the
    28, from 0); label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return build_classification(raw, "grnti", GRNTI, sizes, clean=clean)


@dataset(
    "ru-scibench-oecd-classification",
    pretty_name="ruSciBench OECD classification (Russian)",
    benchmark="rumteb",
    task=Classification(labels=label_names(OECD), splits=("train", "test"), bare_labels=True),
    needs={"train": ("texts", "oecd_train", "oecd_test"), "test": ("texts", "oecd_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            f"{DROPPED_TEXTS} Fewer papers per class, because the smallest class has none to spare: 900 train papers instead of"
            " 958, and 100 test papers instead of 111.",
            {"clean": True, "train_per_class": 900, "test_per_class": 100},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    prompts=CLASSIFY,
)
def oecd_classification(
    raw: RawFiles, *, train_per_class: int = 958, test_per_class: int = 111, clean: bool = False
) -> Tables:
    """Which of the OECD's 29 fields of science does a paper belong to?

    Balanced samples of the source's two splits, without papers that lack a title or an abstract and without exact duplicates in
    a split. `clean` drops short, conflicting, repeated and leaked texts instead (builders.shaping.cleaning.clean_rows). Columns:
    id (String: the source's paper_id); text (String: title, newline, abstract); label (Int64: the rank of the code among the
    29, from 0); label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return build_classification(raw, "oecd", OECD, sizes, clean=clean)


@dataset(
    "ru-scibench-grnti-clustering-p2p",
    pretty_name="ruSciBench GRNTI clustering (Russian)",
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "grnti_train", "grnti_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            f"{DEDUPLICATED} Fewer papers per class, because the smallest class has few to spare: 1,050 instead of 1,110.",
            {"clean": True, "per_class": 1_050},
        ),
    },
    sample={"per_class": 2},
    prompts=CLUSTER,
)
def grnti_clustering(raw: RawFiles, *, per_class: int = 1_110, clean: bool = False) -> Tables:
    """Group papers by the 28 rubrics of GRNTI, the Russian classification of science.

    A balanced sample of the source's two splits together, without papers that lack a title or an abstract and without duplicates:
    of equal texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those with
    different labels (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return build_clustering(raw, "grnti", GRNTI, per_class, clean=clean)


@dataset(
    "ru-scibench-oecd-clustering-p2p",
    pretty_name="ruSciBench OECD clustering (Russian)",
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "oecd_train", "oecd_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            f"{DEDUPLICATED} Fewer papers per class, because the smallest class has few to spare: 1,000 instead of 1,060.",
            {"clean": True, "per_class": 1_000},
        ),
    },
    sample={"per_class": 2},
    prompts=CLUSTER,
)
def oecd_clustering(raw: RawFiles, *, per_class: int = 1_060, clean: bool = False) -> Tables:
    """Group papers by the OECD's 29 fields of science.

    A balanced sample of the source's two splits together, without papers that lack a title or an abstract and without duplicates:
    of equal texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those with
    different labels (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return build_clustering(raw, "oecd", OECD, per_class, clean=clean)
