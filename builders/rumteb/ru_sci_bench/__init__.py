"""ruSciBench: Russian scientific papers of eLibrary under their GRNTI and OECD rubrics (Vatolin et al., 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.errors import RecipeError, SourceError
from builders.reading import read_csv
from builders.reading.parquet import read_parquet
from builders.shaping.cleaning import clean_rows, each_text_once
from builders.shaping.labels import label_numbers
from builders.shaping.rows import drop
from builders.shaping.sampling import balanced
from builders.spec import Dropped, Prompts, RawFiles, Source, Tables, Version, dataset, github, hub
from builders.tasks import Classification, Clustering

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import Raw

REPOSITORY = "mlsa-iai-msu-lab/ru_sci_bench"
COMMIT = "deade1bcc85bfeb768d1126d5f6eb652868ce065"
REVISION = "e627fb545289359c6cdd402f681fc884c739ce70"

# The codes that occur, as the source writes them (060000 as 60000), with the headings of the two rubricators.
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


def _names(rubrics: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{code} {heading}" for code, heading in rubrics.items())


SOURCE = Source(
    name="ru_sci_bench",
    title="ruSciBench, Russian scientific papers by rubric",
    license="mit",
    license_note="As upstream's dataset card of the texts states it; the tables of labels come without a licence.",
    homepage="https://github.com/mlsa-iai-msu-lab/ru_sci_bench",
    citation="vatolin2024ruscibench",
    annotations=("found",),
    files={
        "texts": hub(REPOSITORY, REVISION, "data/ru-00000-of-00001.parquet"),
        "grnti_train": github(
            REPOSITORY,
            COMMIT,
            "ru_sci_bench/data/elibrary_grnti_ru/train.csv",
            name="elibrary_grnti_ru/train.csv",
            sha256="44503c115e2881bb95b04c264ac6e495bad9819ead206082cf6e6ab039355947",
            bytes=1_825_821,
        ),
        "grnti_test": github(
            REPOSITORY,
            COMMIT,
            "ru_sci_bench/data/elibrary_grnti_ru/test.csv",
            name="elibrary_grnti_ru/test.csv",
            sha256="a0844b166521cbe117f5e2384769fbdd3cc8a4ba746d1752c495242ca8b93f60",
            bytes=203_399,
        ),
        "oecd_train": github(
            REPOSITORY,
            COMMIT,
            "ru_sci_bench/data/elibrary_oecd_ru/train.csv",
            name="elibrary_oecd_ru/train.csv",
            sha256="f06b6ac262a27b5881dcfd3679f4cf69c10938afa2d728ac48ce218fd8743b0b",
            bytes=1_772_987,
        ),
        "oecd_test": github(
            REPOSITORY,
            COMMIT,
            "ru_sci_bench/data/elibrary_oecd_ru/test.csv",
            name="elibrary_oecd_ru/test.csv",
            sha256="e4b8cb1fde0e2481b7ba3329f34fbeef76e1e40a87cc2b8872ca4b115e9ba92e",
            bytes=197_310,
        ),
    },
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
    benchmark="rumteb",
    task=Classification(labels=_names(GRNTI), splits=("train", "test")),
    needs={"train": ("texts", "grnti_train", "grnti_test"), "test": ("texts", "grnti_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "No text with another rubric in another row, and none of train that is in test too, exactly or but for case,"
            " punctuation and white space: these are left out before papers are drawn. Fewer of each class, since the smallest"
            " has none to spare: 950 for training and 90 for testing, not 1,017 and 99.",
            {"clean": True, "train_per_class": 950, "test_per_class": 90},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    prompts=CLASSIFY,
)
def grnti_classification(
    raw: RawFiles, *, train_per_class: int = 1_017, test_per_class: int = 99, clean: bool = False
) -> Tables:
    """Under which of 28 rubrics of GRNTI, Russia's rubricator of science, does a paper stand?

    Papers without a text are dropped, and exact duplicates within a split or, to be `clean`, what builders.shaping.cleaning
    leaves out; as many papers of each class. Columns: id (String: the source's paper_id); text (String: title, newline,
    abstract); label (Int64: the code's rank among the 28);
    label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return _classification(raw, "grnti", GRNTI, sizes, clean=clean)


@dataset(
    "ru-scibench-oecd-classification",
    benchmark="rumteb",
    task=Classification(labels=_names(OECD), splits=("train", "test")),
    needs={"train": ("texts", "oecd_train", "oecd_test"), "test": ("texts", "oecd_test")},
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "No text with another field in another row, and none of train that is in test too, exactly or but for case,"
            " punctuation and white space: these are left out before papers are drawn. Fewer of each class, since the smallest"
            " has none to spare: 900 for training and 100 for testing, not 958 and 111.",
            {"clean": True, "train_per_class": 900, "test_per_class": 100},
        ),
    },
    sample={"train_per_class": 1, "test_per_class": 1},
    prompts=CLASSIFY,
)
def oecd_classification(
    raw: RawFiles, *, train_per_class: int = 958, test_per_class: int = 111, clean: bool = False
) -> Tables:
    """In which of 29 fields of science, as the OECD divides it, does a paper stand?

    Papers without a text are dropped, and exact duplicates within a split or, to be `clean`, what builders.shaping.cleaning
    leaves out; as many papers of each class. Columns: id (String: the source's paper_id); text (String: title, newline,
    abstract); label (Int64: the code's rank among the 29);
    label_text (String: the code and its heading).
    """
    sizes = {"train": train_per_class, "test": test_per_class}
    return _classification(raw, "oecd", OECD, sizes, clean=clean)


@dataset(
    "ru-scibench-grnti-clustering-p2p",
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "grnti_train", "grnti_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "No text twice, exactly or but for case, punctuation and white space, and none with two rubrics: these are left out"
            " before papers are drawn. Fewer of each class, since the smallest has few to spare: 1,050, not 1,110.",
            {"clean": True, "per_class": 1_050},
        ),
    },
    sample={"per_class": 2},
    prompts=CLUSTER,
)
def grnti_clustering(raw: RawFiles, *, per_class: int = 1_110, clean: bool = False) -> Tables:
    """Group papers as the 28 rubrics of GRNTI, Russia's rubricator of science, do.

    Both label tables together; papers without a text are dropped, and exact duplicates or, to be `clean`, what
    builders.shaping.cleaning leaves out; as many papers of each class. Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return _clustering(raw, "grnti", GRNTI, per_class, clean=clean)


@dataset(
    "ru-scibench-oecd-clustering-p2p",
    benchmark="rumteb",
    task=Clustering(),
    needs=("texts", "oecd_train", "oecd_test"),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "No text twice, exactly or but for case, punctuation and white space, and none with two fields: these are left out"
            " before papers are drawn. Fewer of each class, since the smallest has few to spare: 1,000, not 1,060.",
            {"clean": True, "per_class": 1_000},
        ),
    },
    sample={"per_class": 2},
    prompts=CLUSTER,
)
def oecd_clustering(raw: RawFiles, *, per_class: int = 1_060, clean: bool = False) -> Tables:
    """Group papers as the 29 fields of science of the OECD do.

    Both label tables together; papers without a text are dropped, and exact duplicates or, to be `clean`, what
    builders.shaping.cleaning leaves out; as many papers of each class. Columns: id (String: the source's paper_id); sentences
    (String: title, newline, abstract); labels (String: the code and its heading).
    """
    return _clustering(raw, "oecd", OECD, per_class, clean=clean)


def read_labels(raw: Raw, rubrics: Mapping[str, str]) -> pl.DataFrame:
    """The papers of one table of labels: id (String), label (Int64: the code's rank), label_text (String).

    Raises SourceError for a code that is none of the rubrics.
    """
    rows = read_csv(raw, {"id": pl.Int64(), "label": pl.String()})
    names = dict(zip(rubrics, _names(rubrics), strict=True))
    label = label_numbers(rows["label"], {code: rank for rank, code in enumerate(rubrics)}, raw, unit="record")
    return rows.select(
        pl.col("id").cast(pl.String), label.alias("label"), label_text=pl.col("label").replace_strict(names)
    )


def _classification(
    raw: RawFiles, kind: str, rubrics: Mapping[str, str], sizes: Mapping[str, int], *, clean: bool
) -> Tables:
    texts, frames, dropped = _texts(raw), {}, list[Dropped]()
    for split in (split for split in sizes if f"{kind}_{split}" in raw.files and (clean or split in raw.splits)):
        frames[split], gone = _papers(read_labels(raw[f"{kind}_{split}"], rubrics), texts, split)
        dropped += gone
        if not clean:
            frames[split], repeated = _once(frames[split], split)
            dropped += repeated
    if clean:
        frames, more = clean_rows(frames, raw.splits)
        dropped += more
    seed = f"ru-scibench-{kind}-classification"
    drawn = {split: _balanced(rows, sizes[split], rubrics, seed) for split, rows in frames.items()}
    default = {split: rows.select("id", "text", "label", "label_text") for split, rows in drawn.items()}
    return Tables({"default": default}, tuple(dropped))


def _clustering(raw: RawFiles, kind: str, rubrics: Mapping[str, str], size: int, *, clean: bool) -> Tables:
    tables = [read_labels(raw[f"{kind}_{split}"], rubrics) for split in ("train", "test")]
    rows, dropped = _papers(pl.concat(tables), _texts(raw), "test")
    rows, repeated = each_text_once(rows, fold=True, split="test") if clean else _once(rows, "test")
    chosen = _balanced(rows, size, rubrics, f"ru-scibench-{kind}-clustering")
    frame = chosen.select("id", sentences="text", labels="label_text")
    return Tables({"default": {"test": frame}}, (*dropped, *repeated))


def _texts(raw: RawFiles) -> pl.DataFrame:
    """Each paper's id and text, null where it has no title or no abstract.

    Raises SourceError for a paper that stands twice.
    """
    file = raw.whole("texts")
    columns = {"paper_id": pl.Int64(), "title": pl.String(), "abstract": pl.String()}
    papers = read_parquet(file, columns, optional=("title", "abstract"))
    twice = papers["paper_id"].filter(papers["paper_id"].is_duplicated())
    if twice.len():
        raise SourceError(
            "papers stand twice",
            where=file.name,
            found=f"paper_id {twice[0]} and {twice.n_unique() - 1} others",
            expected="each paper_id once",
            todo="fetch the file again",
        )
    return papers.select(id=pl.col("paper_id").cast(pl.String), text=pl.concat_str("title", "abstract", separator="\n"))


def _papers(labels: pl.DataFrame, texts: pl.DataFrame, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The labelled papers that have a text, with it, in the order of the labels."""
    rows = labels.join(texts, on="id", how="left", maintain_order="left")
    return drop(rows, pl.col("text").is_null(), "the source has no title and abstract of the paper", split=split)


def _once(rows: pl.DataFrame, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    return drop(rows, ~pl.col("text").is_first_distinct(), "the text stands in an earlier row", split=split)


def _balanced(rows: pl.DataFrame, size: int, rubrics: Mapping[str, str], seed: str) -> pl.DataFrame:
    """As many papers of each rubric, none of which may be without papers."""
    absent = set(range(len(rubrics))) - set(rows["label"])
    if absent:
        raise RecipeError(
            "too few rows",
            found=f"none of class {_names(rubrics)[min(absent)]!r}",
            expected=f"at least {size} rows of each class",
            todo="check that the raw files are complete",
        )
    return balanced(rows, size, by="label", key="id", seed=seed)
