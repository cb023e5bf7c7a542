"""Columns with other names and types than their task's: what mteb accepts is read, the rest is a finding. Columns with
other names than the task's, and single files. Labels in any form: each becomes a number with a name. The task type of
tables is inferred from configs and columns, or requested where it is ambiguous. The scale of STS scores is that from the command
line, or from the lowest to the highest score.
"""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from builders.tasks import EVALUATED, TYPES
from pipelines.checking.checks import check_dataset
from pipelines.checking.columns import (
    REQUIRED_COLUMNS,
    REQUIRED_CONFIGS,
    find_subsets,
    fit_table,
    infer_type,
    parse_column_map,
    rename_columns,
)
from pipelines.checking.data_files import PART_CONFIGS
from pipelines.checking.datasets import ForeignOptions
from tests.support.foreign import check_subsets, finding_counts, report_of, reports_of, write_json_lines
from tests.support.processes import run
from tests.support.releases import write_dataset
from tests.support.tables import TASKS, clean_tables, combine, with_edit, with_rows, with_value


def test_numbers_are_read_as_scores_clusters_and_labels_of_pairs(tmp_path: Path) -> None:
    scores = with_edit("default", "test", lambda frame: frame.with_columns(pl.col("score").round().cast(pl.Int32)))
    assert report_of(write_dataset(tmp_path / "sts", scores(clean_tables("STS"))))["findings"] == []
    clusters = with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.Series([0, 1] * 2)))
    assert report_of(write_dataset(tmp_path / "clusters", clusters(clean_tables("Clustering"))))["findings"] == []
    floats = with_edit("default", "test", lambda frame: frame.with_columns(pl.col("labels").cast(pl.Float64)))
    assert report_of(write_dataset(tmp_path / "pairs", floats(clean_tables("PairClassification"))))["findings"] == []


def test_numbers_are_read_as_ids_of_judgements_but_not_as_ids_of_documents() -> None:
    corpus, _, qrels = TYPES["Retrieval"].layouts
    judgements = pl.LazyFrame({"query-id": [1, 2], "corpus-id": [1, 2], "score": [1, 1]})
    table, *others = fit_table(qrels, ("qrels", "test"), judgements)
    assert others == [[], []]
    assert table.collect()["query-id"].to_list() == ["1", "2"]
    documents = pl.LazyFrame({"_id": [1, 2], "text": ["a", "b"], "url": ["c", "d"]})
    table, *others = fit_table(corpus, ("corpus", "test"), documents)
    assert others == [[], ["corpus: ignored columns url"]]
    assert table.collect().to_dicts()[0] == {"id": "1", "title": "", "text": "a"}
    _, [finding], _ = fit_table(corpus, ("corpus", "test"), documents.rename({"_id": "id"}))
    assert (finding.kind, finding.location, finding.detail) == (
        "wrong_type",
        "corpus/test.id",
        "Int64, expected string",
    )


def test_rows_that_are_lists_of_texts_are_read_as_one_row_per_text(tmp_path: Path) -> None:
    frame = clean_tables("PairClassification")["default"]["test"].drop("id").select(pl.all().implode())
    report = report_of(write_dataset(tmp_path, {"default": {"test": frame}}))
    assert (report["task"], report["findings"], report["tables"][0]["rows"]) == ("PairClassification", [], 4)
    assert report["notes"][0] == "default: each row is a list of texts, an older layout; one row per text was read"


def test_a_column_that_tells_the_label_is_reported_whatever_its_type(tmp_path: Path) -> None:
    rows = range(80)
    frame = pl.DataFrame(
        {
            "id": [f"{('wax', 'honey')[row % 2]}/{row:05}.txt" for row in rows],
            "sentences": [f"{row * 7919} is sentence {row * 104_729}." for row in rows],
            "labels": ["wax", "honey"] * 40,
            "source": pl.Series(["hive", None] * 40, dtype=pl.Categorical),
            "words": pl.Series([3, None] * 40, dtype=pl.Int16),
            "tags": [["a", "b"], None] * 40,
            "flags": [[True], []] * 40,
            "when": pl.Series(range(80), dtype=pl.Date),
            "place": [{"x": row} for row in rows],
        }
    )
    report = report_of(write_dataset(tmp_path, {"default": {"test": frame}}))
    assert [(one["kind"], one["column"], one["count"]) for one in report["findings"]] == [
        ("label_leaking_column", "source", 2),
        ("label_leaking_column", "tags", 2),
        ("label_leaking_column", "words", 2),
        ("label_leaking_column", "_id", 2),
    ]
    assert report["findings"][0]["examples"] == (
        "honey: 100% of the empty value, 0% of hive",
        "wax: 100% of hive, 0% of the empty value",
    )
    assert report["tables"][0]["rows"] == 80


ROWS = pl.DataFrame({"sentence": ["It rains again.", "The sun is out.", "It rains again."], "target": [0, 1, 0]})
MAP = {"text": "sentence", "label": "target"}


def check_one(path: Path, **options: Any) -> dict[str, Any]:
    [result] = check_dataset(path, path.name, ForeignOptions(**options), language_sample=2000)
    return result.report


def test_our_column_comes_first_then_the_one_in_the_file() -> None:
    assert parse_column_map(["text=sentence", "label=a=b"]) == {"text": "sentence", "label": "a=b"}


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["text"], "does not name two columns"),
        (["=sentence"], "does not name two columns"),
        (["text="], "does not name two columns"),
        (["text=a", "text=b"], "names the column 'text' twice"),
        (["text=a", "label=a"], "names the column 'a' twice"),
    ],
)
def test_a_map_of_another_form_is_refused(texts: list[str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        parse_column_map(texts)


@pytest.mark.parametrize(
    ("row", "columns", "renamed", "notes"),
    [
        ({"text": "ignored", "sentence": "read", "label": 1}, {"text": "sentence"}, {"label": 1, "text": "read"},
         ["default: the column text is ignored, because --map reads sentence as text"]),
        ({"sentence1": "a", "sentence2": "b"}, {"sentence1": "sentence2", "sentence2": "sentence1"},
         {"sentence1": "b", "sentence2": "a"}, []),
    ],
    ids=["one", "each other's"],
)  # fmt: skip
def test_a_renamed_column_replaces_one_of_its_new_name_and_a_note_says_so(
    row: dict[str, Any], columns: dict[str, str], renamed: dict[str, Any], notes: list[str]
) -> None:
    tables, found = rename_columns({"default": {"test": pl.LazyFrame([row])}}, columns)
    assert tables["default"]["test"].collect().row(0, named=True) == renamed
    assert found == notes


@pytest.mark.parametrize(
    ("columns", "task", "words"),
    [
        ({"text": "sentense"}, None, ["no table has a column 'sentense'", "found:    sentence, target"]),
        ({"txt": "sentence"}, None, ["'txt' is not a column of a task type", "text", "sentence1"]),
        ({"sentence1": "sentence"}, "Classification", ["not a column of Classification", "text, label, label_text"]),
    ],
)
def test_an_unknown_column_is_an_error_that_lists_the_columns(
    columns: dict[str, str], task: str | None, words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        rename_columns({"default": {"test": ROWS.lazy()}}, columns, task)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_folder_with_other_columns_is_audited_under_the_names_of_its_task(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_json_lines(tmp_path / "data" / f"{split}.jsonl", *ROWS.rename({MAP["label"]: "klass"}).to_dicts())
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        report_of(tmp_path)
    assert f"--task Classification --map text={MAP['text']} --map label=klass" in str(caught.value)
    report = report_of(tmp_path, columns=MAP | {"label": "klass"})
    assert report["task"] == "Classification"
    assert ("split_leak", "default/test/text", 2) in finding_counts(report)


@pytest.mark.parametrize(
    ("name", "split", "write"),
    [
        ("test.parquet", "test", ROWS.write_parquet),
        ("test.csv", "test", ROWS.write_csv),
        ("test.tsv.gz", "test", lambda path: path.write_bytes(gzip.compress(ROWS.write_csv(separator="\t").encode()))),
        ("test.json", "test", ROWS.write_json),
        ("test.jsonl.gz", "test", lambda path: path.write_bytes(gzip.compress(ROWS.write_ndjson().encode()))),
        ("data-2020.csv", "train", ROWS.write_csv),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_single_file_is_a_dataset_with_one_split_named_after_the_file(
    name: str, split: str, write: Callable[[Path], object], tmp_path: Path
) -> None:
    (tmp_path / "train.csv").write_text("another,table\n1,2\n", "utf-8")
    write(tmp_path / name)
    report = check_one(tmp_path / name, columns=MAP)
    assert [(table["config"], table["split"], table["rows"]) for table in report["tables"]] == [("default", split, 3)]
    assert ("duplicate_text", f"default/{split}/text", 1) in finding_counts(report)
    assert not finding_counts(report, "error"), "a single file needs no split to train on"


def test_a_single_file_that_cannot_be_read_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "data.txt").touch()
    with pytest.raises(SourceError, match="not a data file") as caught:
        check_one(tmp_path / "data.txt")
    assert "Parquet, JSON lines, JSON, CSV, TSV" in str(caught.value)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        check_one(tmp_path / "data.csv")
    assert caught.value.where == str(tmp_path / "data.csv")


def test_labels_that_are_words_are_numbered_and_named(tmp_path: Path) -> None:
    tables = clean_tables("Classification")
    words = {split: frame.select("text", label="label_text") for split, frame in tables["default"].items()}
    [result] = check_subsets(write_dataset(tmp_path, {"default": words}))
    assert (result.report["findings"], result.report["problems"]) == ([], [])
    assert result.task.labels == ("blue", "green", "red")  # type: ignore[union-attr]
    rows = result.frames["default"]["test"].select("label", "label_text").collect().rows()
    assert rows[:3] == [(2, "red"), (1, "green"), (0, "blue")]


def test_label_text_names_the_labels_and_a_row_with_another_name_is_a_finding(tmp_path: Path) -> None:
    tables = combine(*(
        with_edit("default", split, lambda frame: frame.with_columns(pl.col("label").cast(pl.Int8) + 5))
        for split in ("train", "validation", "test")
    ))(clean_tables("Classification"))  # fmt: skip
    assert report_of(write_dataset(tmp_path / "clean", tables))["findings"] == []
    other_name = with_value("default", "test", "label_text", 0, "blue")(tables)
    report = report_of(write_dataset(tmp_path / "wrong", other_name))
    assert finding_counts(report) == [("label_text_differs", "default/test/label_text", 1)]


def test_lists_of_labels_may_be_words_in_any_order(tmp_path: Path) -> None:
    tables = clean_tables("MultilabelClassification")
    words = {
        split: frame.with_columns(label=pl.Series([["red", "green"], ["green", "blue"], ["blue", "red"], []] * 6))
        for split, frame in tables["default"].items()
    }
    [result] = check_subsets(write_dataset(tmp_path, {"default": words}))
    assert (result.report["task"], result.report["findings"]) == ("MultilabelClassification", [])
    assert result.frames["default"]["test"].collect()["label"].to_list()[:4] == [[1, 2], [0, 1], [0, 2], []]


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
        "Contrastive": ("query", "positives"),
    }
    assert REQUIRED_CONFIGS.keys() | REQUIRED_COLUMNS.keys() == TYPES.keys()
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


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A dataset whose scores run from 0 to 5, but for one of 11 in test."""
    tables = with_rows("default", "test", ("e", "Bees sting.", "Bienen stechen.", 11.0))(clean_tables("STS"))
    return write_dataset(tmp_path / "scores", tables)


def test_scores_outside_the_requested_scale_are_errors(scores: Path) -> None:
    done = run("check", str(scores), "--json", "--scale", "-1", "5.5")
    assert done.returncode == 4
    report = json.loads(done.stdout)
    assert finding_counts(report) == [("score_out_of_range", "default/test/score", 1)]
    [finding] = report["defects"]
    [name] = finding["examples"]
    assert (finding["severity"], len(name)) == ("error", 16)
    assert report["notes"][-2] == "scale of the scores: -1 to 5.5"
    assert report["audited"] == ["train", "test"], "the other rows are audited"


def test_the_ends_belong_to_the_scale(scores: Path) -> None:
    assert report_of(scores, scale=(0.0, 11.0))["findings"] == []
    assert finding_counts(report_of(scores, scale=(0.5, 11.0))) == [
        ("score_out_of_range", "default/train/score", 1),
        ("score_out_of_range", "default/test/score", 1),
    ]


def test_without_a_scale_the_assumed_one_is_reported(scores: Path) -> None:
    report = report_of(scores)
    assert report["findings"] == []
    assert report["notes"][-2] == (
        "scale of the scores unknown, assumed 0 to 11, the lowest and the highest score (pass --scale LOW HIGH)"
    )


def test_a_scale_is_ignored_for_other_tasks(tmp_path: Path) -> None:
    report = report_of(write_dataset(tmp_path, clean_tables("Clustering")), scale=(0.0, 5.0))
    assert (report["findings"], report["notes"][0]) == ([], "--scale ignored: it is for the scores of STS")


@pytest.mark.parametrize("ends", [("5", "0"), ("1", "1"), ("nan", "5"), ("0", "inf")])
def test_a_scale_that_is_not_one_is_a_usage_error(ends: tuple[str, str]) -> None:
    done = run("check", "cedr", "--scale", *ends)
    assert done.returncode == 2
    assert "--scale needs two numbers, the lower one first" in done.stderr


def test_equal_sides_below_the_top_are_reported_in_rusts(real_sources: Path, tmp_path: Path) -> None:
    for split, name in (("train", "train"), ("dev", "validation"), ("test", "test")):
        with (real_sources / "stsb_ru" / f"stsb-ru-{split}.csv").open(encoding="utf-8", newline="") as file:
            rows = [{"sentence1": a, "sentence2": b, "score": float(score)} for a, b, score in csv.reader(file)]
        write_json_lines(tmp_path / f"{name}.jsonl", *rows)
    findings = report_of(tmp_path, scale=(0.0, 5.0))["findings"]
    counts = [(one["split"], one["count"]) for one in findings if one["kind"] == "identical_pair"]
    assert counts == [("train", 23), ("train", 3), ("validation", 8), ("test", 6)]
