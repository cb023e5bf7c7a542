"""A release as Python users hold it: its tables for polars, pandas and `datasets`, and what it shows of itself."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.errors import UsageError
from cards.manifest import Finding
from pipelines.audit.findings import name_rows
from pipelines.checking.verdict import Verdict
from pipelines.library.checks import list_catalogue
from pipelines.library.findings import Findings
from pipelines.library.records import Check, Difference, Release
from pipelines.make import BuildResult


@pytest.fixture
def cedr(golden_release: Callable[..., BuildResult]) -> Release:
    built = golden_release("cedr-classification")
    return Release(built.release_dir, built.manifest)


@pytest.fixture
def rubq(golden_release: Callable[..., BuildResult]) -> Release:
    built = golden_release("rubq-retrieval")
    return Release(built.release_dir, built.manifest)


def test_tables_are_read_when_they_are_asked_for(cedr: Release, tmp_path: Path) -> None:
    moved = Release(tmp_path / "moved", cedr.manifest)
    splits = moved.tables["default"]
    assert list(splits) == ["train", "test"]
    assert "train" in splits
    assert repr(splits) == "{'train': 29 rows, 'test': 16 rows}"
    shutil.copytree(cedr.path, moved.path)
    scanned = cedr.scan()["default"]["train"]
    assert isinstance(splits["train"], pl.DataFrame)
    assert isinstance(scanned, pl.LazyFrame)
    assert splits["train"].equals(scanned.collect())
    assert splits["train"].height == 29


def test_an_unknown_split_is_a_key_error_that_lists_the_splits(cedr: Release) -> None:
    splits = cedr.tables["default"]
    with pytest.raises(KeyError, match="the splits are train, test"):
        splits["valid"]
    assert splits.get("valid") is None


def test_pandas_and_datasets_get_the_same_rows(cedr: Release) -> None:
    rows = cedr.tables["default"]["test"].to_dicts()
    frame = cedr.to_pandas()["test"]
    assert frame["text"].tolist() == [row["text"] for row in rows]
    assert [list(label) for label in frame["label"]] == [row["label"] for row in rows]
    assert cedr.to_datasets()["test"].to_list() == rows


def test_datasets_knows_the_names_of_the_labels_and_shows_no_bars(
    cedr: Release, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import datasets

    hidden = Release(shutil.copytree(cedr.path, tmp_path / ".cache" / "4.0.0"), cedr.manifest)  # as a user's cache is
    shown = datasets.are_progress_bars_disabled()
    loaded = hidden.to_datasets()
    assert loaded["train"].features["label"].feature.names == ["joy", "sadness", "surprise", "fear", "anger"]
    assert capfd.readouterr().err == ""
    assert datasets.are_progress_bars_disabled() == shown


@pytest.mark.parametrize("method", ["to_pandas", "to_datasets"])
def test_of_several_configs_one_must_be_named(method: str, rubq: Release) -> None:
    with pytest.raises(UsageError, match="rubq-retrieval has several configs") as raised:
        getattr(rubq, method)()
    assert raised.value.expected == "corpus, queries, qrels"
    assert raised.value.todo == f'name one: release.{method}("corpus")'
    with pytest.raises(UsageError, match="no config 'default'"):
        getattr(rubq, method)("default")
    assert len(getattr(rubq, method)("queries")["test"]) == rubq.manifest.rows["queries/test"]


def test_a_subset_is_loaded_by_the_name_that_the_manifest_has(golden_release: Callable[..., BuildResult]) -> None:
    built = golden_release("miracl-retrieval-ru")  # its card names the config ru-queries
    [split] = Release(built.release_dir, built.manifest).to_datasets("queries").values()
    assert split.num_rows == sum(table.rows for table in built.manifest.tables if table.config == "queries")


def test_a_release_shows_what_it_is_in_a_few_lines(cedr: Release) -> None:
    assert repr(cedr).splitlines() == [
        "<Release cedr-classification 4.0.0, MultilabelClassification, sample",
        "  default/train: 29 rows, columns text, label, source",
        "  default/test: 16 rows, columns text, label, source",
        "  6 findings: 1 warning, 5 info",
        f"  {cedr.path}>",
    ]
    assert (cedr.name, cedr.version) == ("cedr-classification", "4.0.0")
    assert cedr.card.startswith("---\n")
    assert cedr.findings == cedr.manifest.findings


def test_the_catalogue_is_a_tuple_of_records_that_shows_itself_as_a_table() -> None:
    catalogue = list_catalogue(["cedr", "paraphraser"])
    assert repr(catalogue).splitlines()[0].split() == [
        "dataset",
        "versions",
        "task",
        "benchmark",
        "languages",
        "license",
    ]
    assert (
        repr(catalogue)
        .splitlines()[1]
        .startswith("cedr-classification  1.0.0, 2.0.0, 3.0.0, 4.0.0  MultilabelClassification")
    )
    assert [(one.dataset, one.newest, one.benchmark) for one in catalogue] == [
        ("cedr-classification", "4.0.0", "rumteb"),
        ("ru-paraphraser-sts", "3.0.0", "rumteb"),
    ]


def test_a_check_shows_its_verdict_and_its_first_findings() -> None:
    findings = [Finding(f"kind_{number}", "info", "default", "test", "text", 1, 0.5) for number in range(9)]
    findings.append(Finding("worst", "error", "default", "test", "", 2, 1.0))
    check = Check(
        "mine",
        "STS",
        Verdict("no problems", "no problems"),
        Findings(tuple(findings)),
        ("a.parquet is missing",),
        (),
        {},
    )
    lines = repr(check).splitlines()
    assert lines[0] == "<Check mine, STS: no problems"
    assert lines[1] == "  problem: a.parquet is missing"
    assert lines[2:4] == [
        "  error: worst in default/test, 2 (100.0%)",
        "  info: kind_0 in default/test.text, 1 (50.0%)",
    ]
    assert lines[-1] == "  and 2 more>"


def test_a_table_is_had_by_its_split_or_by_config_and_split(cedr: Release, rubq: Release) -> None:
    assert cedr["train"].equals(cedr.tables["default"]["train"])
    assert cedr["default", "test"].height == 16
    assert rubq["corpus", "test"].height == rubq.manifest.rows["corpus/test"]
    assert rubq._ipython_key_completions_() == [("corpus", "test"), ("queries", "test"), ("qrels", "test")]
    with pytest.raises(UsageError, match="cedr-classification has no table 'dev'") as raised:
        cedr["dev"]
    assert raised.value.expected == "release['train'], release['test']"
    with pytest.raises(UsageError, match="no table 'test'") as raised:
        rubq["test"]
    assert str(raised.value.expected).startswith("release['corpus', 'test'], release['queries', 'test']")
    with pytest.raises(UsageError, match="no table slice"):
        cedr[:5]  # type: ignore[index]


def test_findings_are_a_sequence_and_a_frame_with_the_texts_of_their_examples(cedr: Release) -> None:
    assert cedr.findings[0] == cedr.manifest.findings[0]
    assert len(cedr.findings) == 6
    assert repr(cedr.findings).startswith(
        "6 findings: 1 warning, 5 info\n  warning: invisible_character in default/train.text, 1 (3.4%)"
    )
    frame = cedr.findings.to_polars()
    assert frame["kind"].to_list() == [finding.kind for finding in cedr.findings]
    [row] = frame.filter(kind="invisible_character").to_dicts()
    assert (row["examples"], row["count"]) == (["1083436816d77567"], 1)
    assert row["texts"] == ["По словам сотрудника, \u200bмузей откроется в мае."]
    assert frame.filter(kind="few_rows_of_label")["texts"].to_list() == [[None, None, None]]  # labels, not rows
    assert Findings().to_polars().schema == frame.schema


@pytest.mark.parametrize("table", [{"id": ["a", "b"], "text": ["one", "two"]}, {"text": ["two", "two"]}])
def test_the_texts_of_examples_are_found_by_id_or_by_value(table: dict[str, list[str]]) -> None:
    frame = pl.DataFrame(table)
    second = name_rows(frame.lazy(), pl.Series([1], dtype=pl.UInt32))[0]  # of two equal rows, with `-2` at its end
    finding = Finding("near_duplicate", "info", "default", "test", "", 1, 0.5, examples=(second, "gone"))
    findings = Findings((finding,), lambda: {("default", "test"): frame.lazy()})
    assert findings.to_polars()["texts"].to_list() == [["two", None]]


def test_what_a_notebook_shows_has_the_facts_and_no_markup_of_the_data(cedr: Release) -> None:
    shown = cedr._repr_html_()
    assert "<td>default/train</td><td>29</td><td>text, label, source</td>" in shown
    assert "6 findings: 1 warning, 5 info" in shown
    assert "<td>cedr-classification</td>" in list_catalogue(["cedr"])._repr_html_()
    hostile = "<script>alert(1)</script>\u202e"
    findings = Findings(tuple(Finding(hostile, "info", hostile, "", "", 1, 1.0, detail=hostile) for _ in range(60)))
    check = Check(hostile, "STS", Verdict("no problems", hostile), findings, (hostile,), (hostile,), {})
    sides = {"dataset": None, "version": None, "name": hostile}
    difference = Difference(False, [hostile], sides, sides, "", [], [], {}, 0)
    for page in (check._repr_html_(), findings._repr_html_(), difference._repr_html_()):
        assert "<script" not in page
        assert "\u202e" not in page
        assert "&lt;script&gt;" in page
    assert check._repr_html_().count("<tr>") == 1 + 48
    assert "<p>and 12 more</p>" in check._repr_html_()
