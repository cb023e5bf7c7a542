"""Columns with other names and types than their task's: what mteb accepts is read, the rest is a finding."""

from pathlib import Path

import polars as pl

from builders.tasks import TYPES
from pipelines.checking.columns import fit_table
from tests.support.foreign import report_of
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables, with_edit


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
    table = fit_table(qrels, ("qrels", "test"), judgements)
    assert (table.findings, table.notes) == ((), ())
    assert table.frame.collect()["query-id"].to_list() == ["1", "2"]
    documents = pl.LazyFrame({"_id": [1, 2], "text": ["a", "b"], "url": ["c", "d"]})
    table = fit_table(corpus, ("corpus", "test"), documents)
    assert (table.findings, table.notes) == ((), ("corpus: ignored columns url",))
    assert table.frame.collect().to_dicts()[0] == {"id": "1", "title": "", "text": "a"}
    [finding] = fit_table(corpus, ("corpus", "test"), documents.rename({"_id": "id"})).findings
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
    ]
    assert report["findings"][0]["examples"] == (
        "honey: 100% of the empty value, 0% of hive",
        "wax: 100% of hive, 0% of the empty value",
    )
    assert report["tables"][0]["rows"] == 80
