"""ru_sci_bench: the real tables of labels, the published sizes, and what the reader refuses."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from builders.errors import RecipeError, SourceError
from builders.reading.csv import read_csv
from builders.rumteb import ru_sci_bench
from builders.rumteb.ru_sci_bench import GRNTI, OECD, read_labels
from builders.shaping.folding import fold_text_1
from builders.spec import Raw, RawFiles
from tests.support.recipes import frame
from tests.support.releases import definition_of

# Rows of the real tables of labels.
LABELLED = {
    ("grnti", "train"): 138_650,
    ("grnti", "test"): 15_441,
    ("oecd", "train"): 169_890,
    ("oecd", "test"): 18_897,
}
RUBRICS = {"grnti": GRNTI, "oecd": OECD}


@pytest.fixture(scope="module", autouse=True)
def read_every_table_once() -> Iterator[None]:
    """Reading the tables of labels takes longer than all that is tested here of their rows."""
    once = cache(lambda raw, columns: read_csv(raw, dict(columns)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{read_labels.__module__}.read_csv", lambda raw, columns: once(raw, tuple(columns.items())))
        yield


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


@pytest.fixture(scope="module")
def papers(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Raw]:
    """The real labels of all 194,071 papers, with invented texts, because the real texts are not available."""
    folder = real_sources / "ru_sci_bench"
    names = {f"{kind}_{split}": folder / f"elibrary_{kind}_ru" / f"{split}.csv" for kind, split in LABELLED}
    ids = pl.concat([pl.read_csv(path, columns=["id"]) for path in names.values()])["id"].unique().sort()
    path = tmp_path_factory.mktemp("papers") / "ru.parquet"
    texts = pl.DataFrame({"paper_id": ids}).with_columns(
        title="Статья " + pl.col("paper_id").cast(pl.String), abstract=pl.lit("Тезисы.")
    )
    texts.write_parquet(path)
    return {key: Raw(key, file) for key, file in names.items()} | {"texts": Raw("texts", path)}


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


def add_leaks(papers: dict[str, Raw], kind: str, folder: Path) -> dict[str, Raw]:
    """The same papers, but 40 train papers of each rubric have the text of a test paper of that rubric, in capitals."""
    tables = (read_labels(papers[f"{kind}_{split}"], RUBRICS[kind]) for split in ("train", "test"))
    train, test = (
        table.sort("label", maintain_order=True).group_by("label", maintain_order=True).head(40) for table in tables
    )
    copies = pl.DataFrame({"paper_id": train["id"], "of": test["id"]}).with_columns(pl.col("paper_id").cast(pl.Int64))
    texts = pl.read_parquet(papers["texts"].path).join(copies, on="paper_id", how="left", maintain_order="left")
    title = pl.when(pl.col("of").is_null()).then("title").otherwise(pl.format("СТАТЬЯ {}!", "of"))
    texts.with_columns(title=title).drop("of").write_parquet(folder / "leaks.parquet")
    return papers | {"texts": Raw("texts", folder / "leaks.parquet")}


@pytest.mark.parametrize(
    ("kind", "train", "test", "cluster"),
    [("grnti", 950, 90, 1050), pytest.param("oecd", 900, 100, 1000, marks=pytest.mark.slow)],
)
def test_cleaned_versions_have_their_full_size_although_the_splits_share_texts(
    kind: str, train: int, test: int, cluster: int, papers: dict[str, Raw], tmp_path: Path
) -> None:
    files, classes = add_leaks(papers, kind, tmp_path), len(RUBRICS[kind])
    classification, clustering = (
        definition_of(f"ru-scibench-{kind}-{task}").dataset for task in ("classification", "clustering-p2p")
    )
    raw = RawFiles(("train", "test"), files, tmp_path)
    tables, clusters = (one.recipe(raw, **one.options("2.0.0")) for one in (classification, clustering))
    for rows, label, size in (
        (frame(tables, "train"), "label", train),
        (frame(tables), "label", test),
        (frame(clusters), "labels", cluster),
    ):
        assert rows[label].value_counts()["count"].to_list() == [size] * classes
    shared = frame(tables, "train").join(frame(tables), on=fold_text_1(pl.col("text")))
    assert shared.height == 0
    assert frame(clusters).select(fold_text_1(pl.col("sentences")).n_unique()).item() == cluster * classes
    assert [(dropped.reason, dropped.count) for dropped in (*tables.dropped, *clusters.dropped)] == [
        ("the text is also in the test split", 40 * classes),
        ("duplicate of an earlier row", 40 * classes),
    ]
    with pytest.raises(RecipeError, match="too few rows"):
        classification.recipe(raw, **classification.options("1.0.0") | {"clean": True})


def test_the_cleaned_test_split_needs_no_train_file(papers: dict[str, Raw], tmp_path: Path) -> None:
    dataset = definition_of("ru-scibench-oecd-classification").dataset
    needed = {key: papers[key] for key in dataset.needs["test"]}
    alone = dataset.recipe(RawFiles(("test",), needed, tmp_path), **dataset.options("2.0.0"))
    both = dataset.recipe(RawFiles(("train", "test"), papers, tmp_path), **dataset.options("2.0.0"))
    assert_frame_equal(frame(alone), frame(both))


def test_as_many_papers_have_labels_as_have_texts_upstream(papers: dict[str, Raw]) -> None:
    assert pl.read_parquet(papers["texts"].path).height == 194_071


def test_a_class_without_papers_is_an_error(tmp_path: Path) -> None:
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


def test_a_repeated_paper_id_is_an_error_with_its_record(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,label\n5,101\n")
    pl.DataFrame({"paper_id": [5, 6, 5], "title": ["а"] * 3, "abstract": ["б"] * 3}).write_parquet(tmp_path / "ru")
    files = {"oecd_test": Raw("oecd_test", tmp_path / "test.csv"), "texts": Raw("texts", tmp_path / "ru")}
    with pytest.raises(SourceError, match="repeated paper_id") as caught:
        ru_sci_bench.oecd_classification.recipe(RawFiles(("test",), files, tmp_path))
    assert (caught.value.where, caught.value.found) == ("texts, record 3", "'5'")
