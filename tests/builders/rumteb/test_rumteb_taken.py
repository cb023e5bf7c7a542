"""ru_sci_bench, sts22 and massive: what their real files hold, and what their readers refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from builders.errors import RecipeError, SourceError
from builders.reading import read_csv
from builders.rumteb import massive, ru_sci_bench, sts22
from builders.rumteb.ru_sci_bench import GRNTI, OECD, read_labels
from builders.shaping.folding import fold_text
from builders.spec import Raw, RawFiles, Tables
from pipelines.make import GOLDEN, BuildResult
from pipelines.release import staging
from tests.support.reading import write_zip
from tests.support.releases import NAMES, definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABELLED = {
    ("grnti", "train"): 138_650,
    ("grnti", "test"): 15_441,
    ("oecd", "train"): 169_890,
    ("oecd", "test"): 18_897,
}
RUBRICS = {"grnti": GRNTI, "oecd": OECD}


def frame(tables: Tables, split: str = "test") -> pl.DataFrame:
    return tables.frames["default"][split].lazy().collect()


# ru_sci_bench


@pytest.mark.parametrize(("kind", "split"), LABELLED)
def test_the_real_tables_of_labels_have_the_published_rows_and_codes(kind: str, split: str, real_sources: Path) -> None:
    raw = Raw("labels", real_sources / "ru_sci_bench" / f"elibrary_{kind}_ru" / f"{split}.csv")
    rows = read_labels(raw, RUBRICS[kind])
    assert rows.height == LABELLED[kind, split]
    assert rows["id"].n_unique() == rows.height
    assert sorted(rows["label"].unique()) == list(range({"grnti": 28, "oecd": 29}[kind]))
    codes = rows.select("label", code=pl.col("label_text").str.extract(r"^(\d+) ").cast(pl.Int64)).unique()
    assert codes.sort("label")["code"].is_sorted(), "a label is the rank of its code"
    assert codes.height == len(RUBRICS[kind])


@pytest.fixture(scope="session")
def papers(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Raw]:
    """The real labels of all 194,071 papers, with texts made here: the real texts are not to be had."""
    folder = real_sources / "ru_sci_bench"
    names = {f"{kind}_{split}": folder / f"elibrary_{kind}_ru" / f"{split}.csv" for kind, split in LABELLED}
    ids = pl.concat([pl.read_csv(path, columns=["id"]) for path in names.values()])["id"].unique().sort()
    path = tmp_path_factory.mktemp("papers") / "ru.parquet"
    texts = pl.DataFrame({"paper_id": ids}).with_columns(
        title="Статья " + pl.col("paper_id").cast(pl.String), abstract=pl.lit("Тезисы.")
    )
    texts.write_parquet(path)
    return {key: Raw(key, place) for key, place in names.items()} | {"texts": Raw("texts", path)}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("ru-scibench-grnti-classification", {"train": (28, 1017), "test": (28, 99)}),
        ("ru-scibench-oecd-classification", {"train": (29, 958), "test": (29, 111)}),
        ("ru-scibench-grnti-clustering-p2p", {"test": (28, 1110)}),
        ("ru-scibench-oecd-clustering-p2p", {"test": (29, 1060)}),
    ],
)
def test_the_real_labels_give_the_published_sizes(
    name: str, sizes: dict[str, tuple[int, int]], papers: dict[str, Raw], tmp_path: Path
) -> None:
    dataset = definition_of(name).dataset
    tables = dataset.recipe(RawFiles(dataset.task.splits, papers, tmp_path), **dataset.options("1.0.0"))
    for split, (classes, each) in sizes.items():
        rows = frame(tables, split)
        counts = rows.get_column("labels" if "labels" in rows.columns else "label").value_counts()
        assert rows.height == classes * each
        assert counts["count"].to_list() == [each] * classes
    assert tables.dropped == ()


def with_leaks(papers: dict[str, Raw], kind: str, folder: Path) -> dict[str, Raw]:
    """The same, but 40 training papers of each rubric have the text of a test paper of that rubric, in capitals."""
    tables = (read_labels(papers[f"{kind}_{split}"], RUBRICS[kind]) for split in ("train", "test"))
    train, test = (
        table.sort("label", maintain_order=True).group_by("label", maintain_order=True).head(40) for table in tables
    )
    copies = pl.DataFrame({"paper_id": train["id"], "of": test["id"]}).with_columns(pl.col("paper_id").cast(pl.Int64))
    texts = pl.read_parquet(papers["texts"].path).join(copies, on="paper_id", how="left", maintain_order="left")
    title = pl.when(pl.col("of").is_null()).then("title").otherwise(pl.format("СТАТЬЯ {}!", "of"))
    texts.with_columns(title=title).drop("of").write_parquet(folder / "leaks.parquet")
    return papers | {"texts": Raw("texts", folder / "leaks.parquet")}


@pytest.mark.parametrize(("kind", "train", "test", "cluster"), [("grnti", 950, 90, 1050), ("oecd", 900, 100, 1000)])
def test_clean_versions_have_the_sizes_they_promise_though_splits_share_texts(
    kind: str, train: int, test: int, cluster: int, papers: dict[str, Raw], tmp_path: Path
) -> None:
    files, classes = with_leaks(papers, kind, tmp_path), len(RUBRICS[kind])
    one, other = (definition_of(f"ru-scibench-{kind}-{task}").dataset for task in ("classification", "clustering-p2p"))
    raw = RawFiles(("train", "test"), files, tmp_path)
    tables, clusters = (each.recipe(raw, **each.options("2.0.0")) for each in (one, other))
    for rows, label, size in (
        (frame(tables, "train"), "label", train),
        (frame(tables), "label", test),
        (frame(clusters), "labels", cluster),
    ):
        assert rows[label].value_counts()["count"].to_list() == [size] * classes
    shared = frame(tables, "train").join(frame(tables), on=fold_text(pl.col("text")))
    assert (shared.height, frame(clusters).select(fold_text(pl.col("sentences")).n_unique()).item()) == (
        0,
        cluster * classes,
    )
    assert [(dropped.reason, dropped.count) for dropped in (*tables.dropped, *clusters.dropped)] == [
        ("the text is in the test split too", 40 * classes),
        ("the text stands in an earlier row too", 40 * classes),
    ]
    with pytest.raises(RecipeError, match="too few rows"):
        one.recipe(raw, **one.options("1.0.0") | {"clean": True})


def test_the_clean_test_split_needs_no_training_file(papers: dict[str, Raw], tmp_path: Path) -> None:
    dataset = definition_of("ru-scibench-oecd-classification").dataset
    needed = {key: papers[key] for key in dataset.needs["test"]}
    alone = dataset.recipe(RawFiles(("test",), needed, tmp_path), **dataset.options("2.0.0"))
    both = dataset.recipe(RawFiles(("train", "test"), papers, tmp_path), **dataset.options("2.0.0"))
    assert_frame_equal(frame(alone), frame(both))


def test_there_are_as_many_labelled_papers_as_texts_upstream(papers: dict[str, Raw]) -> None:
    assert pl.read_parquet(papers["texts"].path).height == 194_071


def test_a_class_that_became_too_small_is_an_error(papers: dict[str, Raw], tmp_path: Path) -> None:
    texts = pl.read_parquet(papers["texts"].path)
    smallest = read_labels(papers["grnti_test"], GRNTI).filter(pl.col("label_text").str.starts_with("650000"))
    gone = smallest["id"][:40].cast(pl.Int64)
    texts.filter(~pl.col("paper_id").is_in(gone.implode())).write_parquet(tmp_path / "fewer.parquet")
    files = papers | {"texts": Raw("texts", tmp_path / "fewer.parquet")}
    with pytest.raises(RecipeError, match="too few rows"):
        ru_sci_bench.grnti_classification.recipe(RawFiles(("test",), files, tmp_path))


def test_a_class_without_a_single_paper_is_an_error(tmp_path: Path) -> None:
    labels = "id,label\n" + "".join(f"{number},{code}\n" for number, code in enumerate(OECD) if code != "403")
    (tmp_path / "test.csv").write_text(labels)
    pl.DataFrame({"paper_id": range(29), "title": map(str, range(29)), "abstract": ["а"] * 29}).write_parquet(
        tmp_path / "ru"
    )
    files = {"oecd_test": Raw("oecd_test", tmp_path / "test.csv"), "texts": Raw("texts", tmp_path / "ru")}
    with pytest.raises(RecipeError, match="too few rows") as caught:
        ru_sci_bench.oecd_classification.recipe(RawFiles(("test",), files, tmp_path), test_per_class=1)
    assert "none of class '403 Ветеринарные науки'" in str(caught.value)


def test_an_unknown_code_is_an_error_with_its_record(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("id,label\n5,101\n6,102\n")
    with pytest.raises(SourceError, match="unknown label") as caught:
        read_labels(Raw("train.csv", tmp_path / "train.csv"), OECD)
    assert "record 2" in str(caught.value)


def test_a_paper_with_two_texts_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,label\n5,101\n")
    pl.DataFrame({"paper_id": [5, 6, 5], "title": ["а"] * 3, "abstract": ["б"] * 3}).write_parquet(tmp_path / "ru")
    files = {"oecd_test": Raw("oecd_test", tmp_path / "test.csv"), "texts": Raw("texts", tmp_path / "ru")}
    with pytest.raises(SourceError, match="papers stand twice") as caught:
        ru_sci_bench.oecd_classification.recipe(RawFiles(("test",), files, tmp_path))
    assert "paper_id 5" in str(caught.value)


# sts22


def article(text: str) -> str:
    return json.dumps({"title": "Заголовок", "text": text, "authors": []})


def test_the_real_table_has_287_russian_pairs_and_their_scores(real_sources: Path) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    table = read_csv(raw, sts22.TABLE)
    pairs = sts22.russian_pairs(raw, table)
    assert (table.height, pairs.height) == (4902, 287)
    assert pairs["id"].n_unique() == 287
    counts = dict(pairs["score"].value_counts().iter_rows())
    assert counts == {4.0: 51, 3.0: 53, 2.0: 92, 1.0: 91}
    first = pairs.row(0, named=True)
    assert first == {"id": "1494234418_1492760032", "article1": "1494234418", "article2": "1492760032", "score": 3.0}


def test_the_real_pairs_find_their_articles_and_the_others_are_counted(real_sources: Path, tmp_path: Path) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    pairs = sts22.russian_pairs(raw, read_csv(raw, sts22.TABLE))
    articles = [*pairs["article1"], *pairs["article2"]]
    lost = articles[287:303]  # the second articles of the first 16 pairs
    files = {f"articles/{one[-2:]}/{one}.json": article(f"\n Статья {one}. ") for one in articles if one not in lost}
    archive = write_zip(tmp_path / "articles.zip", files)
    tables = sts22.sts.recipe(RawFiles(("test",), {"pairs": raw, "articles": archive}, tmp_path))
    rows = frame(tables)
    assert rows.height == 271
    assert [dropped.count for dropped in tables.dropped] == [16]
    assert rows["id"].to_list() == pairs["id"][16:].to_list()
    assert rows["sentence1"].to_list() == [f"Статья {one}." for one in pairs["article1"][16:]]
    assert rows["sentence2"].to_list() == [f"Статья {one}." for one in pairs["article2"][16:]]


def test_real_pairs_with_an_empty_article_or_the_texts_of_an_earlier_pair_are_not_in_the_clean_version(
    real_sources: Path, tmp_path: Path
) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    pairs = sts22.russian_pairs(raw, read_csv(raw, sts22.TABLE)).filter(pl.col("score") == 1)
    texts = {one: f"Статья {one}." for one in [*pairs["article1"], *pairs["article2"]]}
    (first, second), (third, fourth), (fifth, _) = pairs.select("article1", "article2").rows()[:3]
    texts |= {third: texts[second], fourth: texts[first], fifth: " \n"}
    archive = write_zip(tmp_path / "articles.zip", {f"{one}.json": article(text) for one, text in texts.items()})
    made = [
        sts22.sts.recipe(RawFiles(("test",), {"pairs": raw, "articles": archive}, tmp_path), clean=one)
        for one in (False, True)
    ]
    everything, clean = map(frame, made)
    assert everything.height == pairs.height
    assert clean["id"].to_list() == [pairs["id"][0], *pairs["id"][3:]]
    assert [(dropped.reason, dropped.examples) for dropped in made[1].dropped[1:]] == [
        ("a text is empty or a single character", (pairs["id"][2],)),
        ("the pair stands in an earlier row too", (pairs["id"][1],)),
    ]


@pytest.mark.parametrize("name", ["1500000011", "../1_2", "1_2_3", "1_", "1_2\n", "1_two"])
def test_a_pair_id_that_is_not_two_numbers_is_an_error(name: str, tmp_path: Path) -> None:
    columns = {"url1_lang": ["ru"], "url2_lang": ["ru"], "pair_id": [name], "Overall": [1.0]}
    with pytest.raises(SourceError, match="pair_id that is not two ids") as caught:
        sts22.russian_pairs(Raw("pairs", tmp_path), pl.DataFrame(columns))
    assert "record 1" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<html>", "no JSON"),
        ('{"title": "Без текста"}', "text is missing"),
        ('{"text": null}', "text is null"),
        ("[]", "type"),
    ],
)
def test_a_file_that_is_no_article_is_an_error_with_its_name(text: str, what: str, tmp_path: Path) -> None:
    raw = write_zip(tmp_path / "articles.zip", {"articles/12/12.json": text})
    with pytest.raises(SourceError, match=what) as caught:
        sts22.article_texts(raw, ["11", "12"])
    assert "12.json" in str(caught.value)


# massive


def utterance(**changed: str) -> str:
    row = {"id": "1", "partition": "train", "scenario": "alarm", "intent": "alarm_set", "utt": "поставь будильник"}
    return json.dumps(row | changed, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("changed", "found"),
    [({"intent": "alarm_snooze"}, "alarm_snooze"), ({"partition": "validation"}, "unknown label in 'partition'")],
)
def test_an_utterance_with_an_unknown_intent_or_partition_is_an_error_with_its_line(
    changed: dict[str, str], found: str, tmp_path: Path
) -> None:
    path = tmp_path / "ru-RU.jsonl"
    path.write_text(utterance() + utterance(**changed), encoding="utf-8")
    with pytest.raises(SourceError, match=found) as caught:
        massive.intent.recipe(RawFiles(("train",), {"russian": Raw("ru-RU.jsonl", path)}, tmp_path))
    assert "line 2" in str(caught.value)


def test_a_clean_split_is_the_same_whichever_splits_are_built(tmp_path: Path) -> None:
    texts = {
        "1": ("train", "свет"),
        "2": ("dev", "СВЕТ!"),
        "3": ("dev", "звук"),
        "4": ("test", "звук"),
        "5": ("train", "газ"),
    }
    lines = [utterance(id=name, partition=partition, utt=text) for name, (partition, text) in texts.items()]
    path = tmp_path / "ru-RU.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    for splits in (("train", "validation", "test"), ("train",), ("validation", "test")):
        raw = RawFiles(splits, {"russian": Raw("ru-RU.jsonl", path)}, tmp_path)
        tables = massive.intent.recipe(raw, clean=True)
        kept = {split: frame(tables, split)["id"].to_list() for split in splits}
        assert kept == {split: {"train": ["5"], "validation": ["2"], "test": ["4"]}[split] for split in splits}


def test_every_intent_begins_with_its_scenario_and_names_ascend() -> None:
    assert (len(massive.INTENTS), len(massive.SCENARIOS)) == (60, 18)
    assert {intent.split("_", 1)[0] for intent in massive.INTENTS} == set(massive.SCENARIOS)
    assert list(massive.INTENTS) == sorted(set(massive.INTENTS))
    assert list(massive.SCENARIOS) == sorted(set(massive.SCENARIOS))


def test_both_datasets_hold_the_same_utterances(golden_release: Callable[..., BuildResult]) -> None:
    one, other = (golden_release(f"massive-{kind}-classification", "1.0.0") for kind in ("intent", "scenario"))
    for split in ("train", "validation", "test"):
        rows, others = (
            staging.frames_of(made.place, made.manifest)["default"][split].collect() for made in (one, other)
        )
        assert_frame_equal(rows.select("id", "text", "lang"), others.select("id", "text", "lang"))
        assert rows["label_text"].str.extract(r"^([a-z]+)_").to_list() == others["label_text"].to_list()


# mteb's own tasks, on our releases as they are


BUILT_IN = {
    "massive-intent-classification": "MassiveIntentClassification",
    "massive-scenario-classification": "MassiveScenarioClassification",
    "sts22-ru": "STS22",
    "ru-stsbenchmark-sts": "RuSTSBenchmarkSTS",
    "ru-scibench-grnti-classification": "RuSciBenchGRNTIClassification",
    "ru-scibench-oecd-classification": "RuSciBenchOECDClassification",
}


@pytest.mark.filterwarnings("default")  # what mteb and its libraries warn of is not ours to mend
@pytest.mark.parametrize("name", BUILT_IN)
def test_mtebs_own_task_loads_our_release(name: str, golden_release: Callable[[str], BuildResult]) -> None:
    mteb = pytest.importorskip("mteb", reason="mteb is not installed")
    made = golden_release(name)
    task = mteb.get_task(BUILT_IN[name])
    if task.metadata.is_multilingual:
        task = mteb.get_task(BUILT_IN[name], hf_subsets=["ru"])
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": str(made.place), "revision": "main"}})
    task.load_data()
    loaded = task.dataset["ru"] if task.metadata.is_multilingual else task.dataset
    for split in task.metadata.eval_splits:
        ours = staging.frames_of(made.place, made.manifest)["default"][split].collect()
        theirs = loaded[split].to_polars()
        assert theirs["id"].to_list() == ours["id"].to_list()
        wanted = {"text", "label"} if "text" in ours.columns else {"sentence1", "sentence2", "score"}
        assert wanted <= set(theirs.columns)


def test_every_dataset_that_mteb_takes_by_language_has_the_column_for_it(
    golden_release: Callable[[str], BuildResult],
) -> None:
    for name in BUILT_IN.keys() & set(NAMES):
        if name.startswith(("massive", "sts22")):
            for path in (GOLDEN / definition_of(name).source.name / name).glob("*/default.test.jsonl"):
                assert all(json.loads(line)["lang"] == "ru" for line in path.read_text("utf-8").splitlines())
