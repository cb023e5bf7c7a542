"""The task type of tables is inferred from configs and columns, or requested where it is ambiguous."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from builders.tasks import EVALUATED
from pipelines.checking.columns import REQUIRED_COLUMNS, REQUIRED_CONFIGS, find_subsets, infer_type
from pipelines.checking.data_files import PART_CONFIGS
from tests.support.foreign import report_of, reports_of
from tests.support.releases import write_dataset
from tests.support.tables import TASKS, clean_tables


@pytest.mark.parametrize("task_type", [name for name in TASKS if name in EVALUATED])
def test_each_layout_is_recognised_and_a_clean_dataset_has_no_findings(task_type: str, tmp_path: Path) -> None:
    report = report_of(write_dataset(tmp_path, clean_tables(task_type)))
    assert (report["task"], report["findings"], report["problems"]) == (task_type, [], [])
    assert set(report["audited"]) == set(TASKS[task_type].splits)
    assert {(table["config"], table["split"]): table["rows"] for table in report["tables"]} == {
        (config, split): frame.height
        for config, splits in clean_tables(task_type).items()
        for split, frame in splits.items()
    }


def test_what_recognises_a_type_is_derived_from_its_layouts() -> None:
    assert REQUIRED_CONFIGS == {
        "Retrieval": ("corpus", "queries", "qrels"),
        "Reranking": ("corpus", "queries", "qrels", "top_ranked"),
    }
    assert REQUIRED_COLUMNS == {
        "Classification": ("text", "label"),
        "MultilabelClassification": ("text", "label"),
        "PairClassification": ("sentence1", "sentence2", "labels"),
        "STS": ("sentence1", "sentence2", "score"),
        "Clustering": ("sentences", "labels"),
        "BitextMining": ("sentence1", "sentence2"),
    }
    assert REQUIRED_CONFIGS.keys() | REQUIRED_COLUMNS.keys() == EVALUATED.keys()
    assert set(PART_CONFIGS) == {"corpus", "queries", "query", "qrels", "top_ranked"}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        (["corpus", "queries", "qrels"], "Retrieval"),
        (["corpus", "queries", "qrels", "top_ranked"], "Reranking"),
        (["corpus", "queries"], "Retrieval"),
        (["corpus", "query", "top_ranked"], "Reranking"),
        (["qrels"], "Retrieval"),
        (["top_ranked"], "Reranking"),
    ],
)
def test_a_type_with_several_tables_is_recognised_by_its_configs_even_if_one_is_missing(
    configs: list[str], expected: str
) -> None:
    tables = {config: {"test": pl.LazyFrame({"id": ["1"]})} for config in configs}
    [(name, subset)] = find_subsets(tables).items()
    assert infer_type(name, subset, tables, None) == expected
    assert infer_type(name, subset, tables, "Retrieval") == "Retrieval"
    assert infer_type(name, subset, tables, "STS") is None


def test_every_subset_is_a_dataset_of_its_own(tmp_path: Path) -> None:
    pairs, texts = clean_tables("BitextMining")["en-de"], clean_tables("Clustering")["default"]
    tables = {"en-de": pairs, "deu-eng": pairs, "ru": texts, "meta": {"x": pl.DataFrame({"a": [1]})}}
    reports = reports_of(write_dataset(tmp_path, tables))
    assert [(report["subset"], report["task"]) for report in reports] == [
        ("deu-eng", "BitextMining"), ("en-de", "BitextMining"), ("ru", "Clustering"),
    ]  # fmt: skip
    assert reports[0]["notes"][0] == "meta: ignored, it has no task type"
    [requested] = reports_of(tmp_path, subsets=("ru",))
    assert (requested["task"], requested["notes"][0][:16]) == ("Clustering", "language unknown")
    with pytest.raises(SourceError, match=r"no subset 'fr'(.|\n)*deu-eng, en-de, meta, ru"):
        reports_of(tmp_path, subsets=("fr",))


def test_the_subsets_of_a_retrieval_task_are_the_prefixes_of_its_configs(tmp_path: Path) -> None:
    tables = clean_tables("Retrieval")
    reports = reports_of(
        write_dataset(tmp_path, {f"{name}-{part}": own for name in ("de", "ru") for part, own in tables.items()})
    )
    assert [(report["subset"], report["task"], report["tables"][2]["config"]) for report in reports] == [
        ("de", "Retrieval", "de-qrels"), ("ru", "Retrieval", "ru-qrels"),
    ]  # fmt: skip
    assert report_of(tmp_path, subsets=("ru",))["tables"][0]["config"] == "ru-corpus"


def test_columns_of_two_types_are_an_error_until_one_is_requested(tmp_path: Path) -> None:
    pairs = clean_tables("STS")["default"]
    ambiguous = {split: frame.with_columns(labels=pl.Series([0, 1, 0, 1])) for split, frame in pairs.items()}
    dataset_dir = write_dataset(tmp_path, {"default": ambiguous})
    with pytest.raises(UsageError, match="several task types match") as caught:
        reports_of(dataset_dir)
    assert "--task PairClassification or --task STS" in str(caught.value)
    assert report_of(dataset_dir, task="STS")["task"] == "STS"
    with pytest.raises(SourceError, match="no table of the task type Clustering"):
        reports_of(dataset_dir, task="Clustering")


def test_translations_under_another_name_need_their_languages(tmp_path: Path) -> None:
    dataset_dir = write_dataset(tmp_path, {"default": clean_tables("BitextMining")["en-de"]})
    with pytest.raises(SourceError, match=r"--task BitextMining --language eng --language deu"):
        reports_of(dataset_dir)
    with pytest.raises(UsageError, match="the languages of default are unknown"):
        reports_of(dataset_dir, task="BitextMining")
    report = report_of(dataset_dir, task="BitextMining", languages=("eng-Latn", "deu-Latn"))
    assert (report["task"], report["findings"], report["tables"][0]["config"]) == ("BitextMining", [], "default")


def test_columns_of_no_type_are_an_error_that_lists_them_and_the_columns_of_each_type(tmp_path: Path) -> None:
    dataset_dir = write_dataset(tmp_path, {"default": {"test": pl.DataFrame({"question": ["a"], "answer": ["b"]})}})
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        reports_of(dataset_dir)
    for words in (
        "default: question, answer",
        "Retrieval: configs corpus, queries, qrels",
        "STS: sentence1, sentence2, score",
    ):
        assert words in str(caught.value)
