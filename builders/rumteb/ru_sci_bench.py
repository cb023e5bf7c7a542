"""ruSciBench: Russian scientific papers from eLibrary, labelled with their GRNTI and OECD headings (Vatolin et al., 2024)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from builders.published import published_files
from builders.raw_files import RawFile, github, hub
from builders.reading.csv import read_csv
from builders.reading.parquet import read_parquet
from builders.shaping.cleaning import DEDUPLICATED, REPEATED, clean_rows, deduplicate_texts
from builders.shaping.labels import label_numbers
from builders.shaping.rows import drop, drop_each, refuse
from builders.shaping.sampling import count_left_over, sample_per_class, too_few
from builders.spec import OWN_DRAW, Dropped, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification, Clustering

# Codes are written as in the source (060000 as 60000), headings as in the two classifications.
GRNTI = {
    "20000": "Философия",
    "30000": "История. Исторические науки",
    "40000": "Социология",
    "60000": "Экономика. Экономические науки",
    "100000": "Государство и право. Юридические науки",
    "110000": "Политика. Политические науки",
    "130000": "Культура. Культурология",
    "140000": "Народное образование. Педагогика",
    "150000": "Психология",
    "160000": "Языкознание",
    "170000": "Литература. Литературоведение. Устное народное творчество",
    "180000": "Искусство. Искусствоведение",
    "270000": "Математика",
    "290000": "Физика",
    "310000": "Химия",
    "340000": "Биология",
    "380000": "Геология",
    "440000": "Энергетика",
    "500000": "Автоматика. Вычислительная техника",
    "520000": "Горное дело",
    "550000": "Машиностроение",
    "650000": "Пищевая промышленность",
    "670000": "Строительство. Архитектура",
    "680000": "Сельское и лесное хозяйство",
    "683500": "Растениеводство",
    "730000": "Транспорт",
    "760000": "Медицина и здравоохранение",
    "770000": "Физическая культура и спорт",
}
OECD = {
    "101": "Математика",
    "103": "Физика и астрономия",
    "104": "Химические науки",
    "105": "Науки о Земле и смежные экологические науки",
    "106": "Биологические науки",
    "201": "Строительство и архитектура",
    "202": "Электротехника, электронная техника, информационные технологии",
    "203": "Механика и машиностроение",
    "204": "Химические технологии",
    "205": "Технологии материалов",
    "207": "Энергетика и рациональное природопользование",
    "211": "Прочие технологии",
    "302": "Клиническая медицина",
    "303": "Науки о здоровье",
    "401": "Сельское хозяйство, лесное хозяйство, рыбное хозяйство",
    "402": "Животноводство и молочное дело",
    "403": "Ветеринарные науки",
    "501": "Психологические науки",
    "502": "Экономика и бизнес",
    "503": "Науки об образовании",
    "504": "Социологические науки",
    "505": "Право",
    "506": "Политологические науки",
    "507": "Социальная и экономическая география",
    "508": "СМИ и массовые коммуникации",
    "601": "История и археология",
    "602": "Языкознание и литературоведение",
    "603": "Философия, этика, религиоведение",
    "604": "Искусствоведение",
}


def label_names(rubrics: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the labels, `<code> <heading>`, in the order of their numbers."""
    return tuple(f"{code} {heading}" for code, heading in rubrics.items())


NO_TEXT = "the paper has no title or no abstract"


def build_classification(
    raw: RawFiles, kind: str, rubrics: Mapping[str, str], sizes: Mapping[str, int], *, clean: bool
) -> Tables:
    """Balanced samples of the papers of each split. kind: `grnti` or `oecd`. sizes: rows per class, by split."""
    texts, frames, dropped = _read_texts(raw), {}, list[Dropped]()
    for split in (split for split in sizes if f"{kind}_{split}" in raw.files and (clean or split in raw.splits)):
        papers = _add_texts(read_labels(raw[f"{kind}_{split}"], rubrics), texts)
        exclusions = {NO_TEXT: pl.col("text").is_null()}
        if not clean:
            exclusions[REPEATED] = ~pl.col("text").is_first_distinct()
        frames[split], excluded = drop_each(papers, exclusions, split=split)
        dropped += excluded
    if clean:
        frames, excluded = clean_rows(frames, raw.splits)
        dropped += excluded
    seed = f"ru-scibench-{kind}-classification"
    samples = {split: _sample(rows, sizes[split], rubrics, seed) for split, rows in frames.items()}
    default = {split: rows.select("id", "text", "label", "label_text") for split, rows in samples.items()}
    observed = {
        f"{split}: {name}": count
        for split in samples
        for name, count in count_left_over(frames[split], [samples[split]], by="label_text").items()
    }
    return Tables({"default": default}, tuple(dropped), observed)


def build_clustering(raw: RawFiles, kind: str, rubrics: Mapping[str, str], size: int, *, clean: bool) -> Tables:
    """A balanced sample of the papers of both splits. kind: `grnti` or `oecd`. size: rows per class."""
    papers, no_text = drop(read_papers(raw, kind, rubrics), pl.col("text").is_null(), NO_TEXT, split="test")
    if clean:
        papers, repeated = deduplicate_texts(papers, fold=True, split="test")
    else:
        papers, repeated = drop(papers, ~pl.col("text").is_first_distinct(), REPEATED, split="test")
    rows = _sample(papers, size, rubrics, f"ru-scibench-{kind}-clustering")
    observed = count_left_over(papers, [rows], by="label_text")
    frame = rows.select("id", sentences="text", labels="label_text")
    return Tables({"default": {"test": frame}}, no_text + repeated, observed)


def read_papers(raw: RawFiles, kind: str, rubrics: Mapping[str, str]) -> pl.DataFrame:
    """The papers of both splits, train first, as read_labels, with `text`: null if they have none. kind: `grnti` or `oecd`."""
    labels = pl.concat(read_labels(raw[f"{kind}_{split}"], rubrics) for split in ("train", "test"))
    return _add_texts(labels, _read_texts(raw))


def read_clusters(raw: RawFiles, kind: str, rubrics: Mapping[str, str]) -> pl.DataFrame:
    """The papers of both splits as clustering has them: id, sentences, labels."""
    return read_papers(raw, kind, rubrics).select("id", sentences="text", labels="label_text")


def read_labels(raw: Raw, rubrics: Mapping[str, str]) -> pl.DataFrame:
    """The papers of one table of labels: id (String), label (Int64: the rank of the code, from 0), label_text (String).

    Raises SourceError for a code that is not among the rubrics.
    """
    rows = read_csv(raw, {"id": pl.Int64(), "label": pl.String()})
    names = dict(zip(rubrics, label_names(rubrics), strict=True))
    return rows.select(
        pl.col("id").cast(pl.String),
        label_numbers(rows["label"], tuple(rubrics), raw, unit="record").alias("label"),
        label_text=pl.col("label").replace_strict(names),
    )


def _read_texts(raw: RawFiles) -> pl.DataFrame:
    """id (String), text (String: title, newline, abstract; null if one is missing). Raises SourceError for a repeated id."""
    file = raw.whole("texts")
    columns = {"paper_id": pl.Int64(), "title": pl.String(), "abstract": pl.String()}
    papers = read_parquet(file, columns, optional=("title", "abstract"))
    repeated, expected = ~pl.col("paper_id").is_first_distinct(), "each paper_id once"
    refuse(papers, repeated, file, "repeated paper_id", found="paper_id", expected=expected, unit="record")
    return papers.select(id=pl.col("paper_id").cast(pl.String), text=pl.concat_str("title", "abstract", separator="\n"))


def _add_texts(labels: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    return labels.join(texts, on="id", how="left", maintain_order="left")


def _sample(papers: pl.DataFrame, size: int, rubrics: Mapping[str, str], seed: str) -> pl.DataFrame:
    """`size` papers of each rubric. Raises RecipeError for a rubric with fewer papers, or none."""
    if absent := set(range(len(rubrics))) - set(papers["label"]):
        raise too_few("rows", f"none of class {label_names(rubrics)[min(absent)]!r}", f"{size} rows of each class")
    return sample_per_class(papers, size, by="label", key="id", seed=seed)


REPOSITORY = "mlsa-iai-msu-lab/ru_sci_bench"
COMMIT = "deade1bcc85bfeb768d1126d5f6eb652868ce065"
REVISION = "e627fb545289359c6cdd402f681fc884c739ce70"


def _labels(name: str, **digest: Any) -> RawFile:
    return github(REPOSITORY, COMMIT, f"ru_sci_bench/data/{name}", name=name, **digest)


SOURCE = Source(
    name="ru_sci_bench",
    title="ruSciBench, Russian scientific papers by heading",
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
            # The folder data/ has one commit in its history, a5aa494, five days before: this commit changes README.md alone.
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
        **published_files(
            "ru-scibench-grnti-classification",
            "ru-scibench-oecd-classification",
            "ru-scibench-grnti-clustering-p2p",
            "ru-scibench-oecd-clustering-p2p",
        ),
    },
)
DROPPED_TEXTS = (
    "Drops texts with different labels and train texts that are also in test, ignoring case, punctuation and white space, before"
    " papers are drawn."
)


@dataset(
    "ru-scibench-grnti-classification",
    pretty_name="ruSciBench GRNTI classification (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=Classification(labels=label_names(GRNTI), splits=("train", "test"), bare_labels=True),
    needs={"train": ("texts", "grnti_train", "grnti_test"), "test": ("texts", "grnti_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but the splits are the source's own.",
        "2.0.0": Version(
            f"{DROPPED_TEXTS} Fewer papers per class, because the smallest class has none to spare: 950 train papers instead of"
            " 1,017, and 90 test papers instead of 99.",
            {"clean": True, "train_per_class": 950, "test_per_class": 90},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=partial(read_papers, kind="grnti", rubrics=GRNTI),
)
def grnti_classification(
    raw: RawFiles, *, train_per_class: int = 1_017, test_per_class: int = 99, clean: bool = False
) -> Tables:
    """Which of 28 headings of GRNTI, the Russian classification of science, does a paper belong to?

    Balanced samples of the source's two splits, without papers that lack a title or an abstract and without exact duplicates in
    a split. `clean` instead drops texts that are damaged by a wrong decoding, have different labels, repeat an earlier one of
    their split, or are also in test, ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns:
    id (String: the source's paper_id); text (String: title, newline, abstract); label (Int64: the rank of the code among the
    28, from 0); label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return build_classification(raw, "grnti", GRNTI, sizes, clean=clean)


@dataset(
    "ru-scibench-oecd-classification",
    pretty_name="ruSciBench OECD classification (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=Classification(labels=label_names(OECD), splits=("train", "test"), bare_labels=True),
    needs={"train": ("texts", "oecd_train", "oecd_test"), "test": ("texts", "oecd_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but the splits are the source's own.",
        "2.0.0": Version(
            f"{DROPPED_TEXTS} Fewer papers per class, because the smallest class has none to spare: 900 train papers instead of"
            " 958, and 100 test papers instead of 111.",
            {"clean": True, "train_per_class": 900, "test_per_class": 100},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=partial(read_papers, kind="oecd", rubrics=OECD),
)
def oecd_classification(
    raw: RawFiles, *, train_per_class: int = 958, test_per_class: int = 111, clean: bool = False
) -> Tables:
    """Which of the OECD's 29 fields of science does a paper belong to?

    Balanced samples of the source's two splits, without papers that lack a title or an abstract and without exact duplicates in
    a split. `clean` instead drops texts that are damaged by a wrong decoding, have different labels, repeat an earlier one of
    their split, or are also in test, ignoring case, punctuation and white space (builders.shaping.cleaning.clean_rows). Columns:
    id (String: the source's paper_id); text (String: title, newline, abstract); label (Int64: the rank of the code among the
    29, from 0); label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return build_classification(raw, "oecd", OECD, sizes, clean=clean)


@dataset(
    "ru-scibench-grnti-clustering-p2p",
    pretty_name="ruSciBench GRNTI clustering (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "grnti_train", "grnti_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but in one split.",
        "2.0.0": Version(
            f"{DEDUPLICATED} Fewer papers per class, because the smallest class has few to spare: 1,050 instead of 1,110.",
            {"clean": True, "per_class": 1_050},
        ),
    },
    sample={"per_class": 2},
    own_rows=OWN_DRAW,
    published=partial(read_clusters, kind="grnti", rubrics=GRNTI),
)
def grnti_clustering(raw: RawFiles, *, per_class: int = 1_110, clean: bool = False) -> Tables:
    """Group papers by 28 headings of GRNTI, the Russian classification of science.

    A balanced sample of the source's two splits together, without papers that lack a title or an abstract and without duplicates:
    of equal texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those with
    different labels (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return build_clustering(raw, "grnti", GRNTI, per_class, clean=clean)


@dataset(
    "ru-scibench-oecd-clustering-p2p",
    pretty_name="ruSciBench OECD clustering (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "oecd_train", "oecd_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, but in one split.",
        "2.0.0": Version(
            f"{DEDUPLICATED} Fewer papers per class, because the smallest class has few to spare: 1,000 instead of 1,060.",
            {"clean": True, "per_class": 1_000},
        ),
    },
    sample={"per_class": 2},
    own_rows=OWN_DRAW,
    published=partial(read_clusters, kind="oecd", rubrics=OECD),
)
def oecd_clustering(raw: RawFiles, *, per_class: int = 1_060, clean: bool = False) -> Tables:
    """Group papers by the OECD's 29 fields of science.

    A balanced sample of the source's two splits together, without papers that lack a title or an abstract and without duplicates:
    of equal texts, the first is kept. `clean` compares texts ignoring case, punctuation and white space, and drops those with
    different labels (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return build_clustering(raw, "oecd", OECD, per_class, clean=clean)
