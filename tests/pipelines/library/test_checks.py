"""Checks and comparisons of records, names, folders and tables in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pytest

import embedding_datasets as ed
from builders.errors import ReleaseError, SourceError, UsageError
from pipelines.library import checks, releases
from pipelines.library.records import Check, Release
from pipelines.make import BuildResult
from tests.support.releases import write_dataset

TERRA = "terra-pairclassification"
ROWS = {"text": ["a good film", "a bad film", "a good film"], "label": [1, 0, 0]}


def check(data: object, **options: Any) -> Check:
    defaults = {"task": None, "language": (), "subset": (), "scale": None, "columns": {}, "output": None, "rules": None}
    return checks.check(data, **(defaults | {"audit_language": "sample", "profile": False} | options))


def kinds(result: Check) -> list[tuple[str, str, int]]:
    return sorted((finding.kind, finding.location, finding.count) for finding in result.findings)


def class_labels(rows: dict[str, list[Any]]) -> datasets.Dataset:
    names = datasets.ClassLabel(names=["bad", "good"])
    return datasets.Dataset.from_dict(rows, datasets.Features({"text": datasets.Value("string"), "label": names}))


@pytest.mark.parametrize(
    "make_frame",
    [
        pl.DataFrame,
        pl.LazyFrame,
        lambda rows: pd.DataFrame(rows, index=["x", "x", "y"]),
        lambda rows: pd.DataFrame(rows).astype({"text": "object"}),
        datasets.Dataset.from_dict,
        class_labels,
        lambda rows: pl.DataFrame(rows).to_arrow(),
    ],
    ids=["polars", "lazy", "pandas with an index", "pandas objects", "datasets", "ClassLabel", "PyArrow"],
)
def test_frames_of_every_library_are_checked_alike(make_frame: Callable[[dict[str, list[Any]]], Any]) -> None:
    result = check({"train": make_frame(ROWS), "test": make_frame(ROWS)}, language="eng-Latn")
    assert result.task == "Classification"
    assert ("conflicting_label", "default/train.label", 1) in kinds(result)
    assert [finding.count for finding in result.findings if finding.kind == "split_leak"] == [2]
    assert result.verdict.state == "compromised"
    assert result.problems == ()


def test_frames_are_checked_like_the_same_rows_in_files(tmp_path: Path) -> None:
    tables = {"default": {"train": pl.DataFrame(ROWS), "test": pl.DataFrame(ROWS).head(1)}}
    in_files = check(write_dataset(tmp_path, tables))
    in_memory = check(tables)
    assert (in_memory.findings, in_memory.verdict) == (in_files.findings, in_files.verdict)
    same = {"findings", "tables", "notes", "languages", "verdict", "audited"}
    assert {key: in_memory.report[key] for key in same} == {key: in_files.report[key] for key in same}


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("test.csv", pl.DataFrame.write_csv),
        ("test.jsonl", pl.DataFrame.write_ndjson),
        ("test.parquet", pl.DataFrame.write_parquet),
    ],
    ids=["csv", "jsonl", "parquet"],
)
def test_a_single_file_is_checked_as_the_split_that_its_name_says(
    tmp_path: Path, name: str, write: Callable[[pl.DataFrame, Path], None]
) -> None:
    path = tmp_path / name
    write(pl.DataFrame(ROWS), path)
    result = check(path, task="Classification")
    assert (result.dataset, result.report["path"]) == (name, str(path))
    assert ("conflicting_label", "default/test.label", 1) in kinds(result)
    assert [(table["split"], table["rows"]) for table in result.report["tables"]] == [("test", 3)]


def test_a_file_in_no_format_of_data_is_an_error_that_lists_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt.bak"
    path.write_text("not rows\n", "utf-8")
    with pytest.raises(SourceError, match="not a data file") as raised:
        check(path)
    assert "CSV" in str(raised.value.expected)


def test_one_frame_is_the_train_split_and_a_dataset_keeps_its_own() -> None:
    assert {finding.split for finding in check(pl.DataFrame(ROWS)).findings} == {"train"}
    dataset = datasets.Dataset.from_dict({"sentence1": ["a"], "sentence2": ["b"], "score": [1.0]}, split="validation")
    assert {table["split"] for table in check(dataset).report["tables"]} == {"validation"}
    loaded = datasets.DatasetDict({"train": datasets.Dataset.from_dict(ROWS), "test": datasets.Dataset.from_dict(ROWS)})
    assert len(check(loaded).report["tables"]) == 2


def test_corpus_queries_and_judgements_need_no_split() -> None:
    result = check(
        {
            "corpus": pd.DataFrame({"id": ["d1"], "title": [""], "text": ["a document about films"]}),
            "queries": pd.DataFrame({"id": ["q1"], "text": ["films"]}),
            "qrels": pd.DataFrame({"query-id": ["q1"], "corpus-id": ["d2"], "score": [1]}),
        },
    )
    assert result.task == "Retrieval"
    assert "dangling_qrel" in {finding.kind for finding in result.findings}
    assert result.verdict.state == "defective"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (3, "a value of the type int"),
        ({}, "an empty dict"),
        ({"train": [1, 2]}, "a value of the type list"),
        ({"train": {}}, "a config without a split"),
        ({7: pl.DataFrame(ROWS)}, "a config or split needs a name"),
        (pd.DataFrame([["a", 1], ["b", 0]], columns=["text", "text"]), "unique"),
        ({"test": pd.DataFrame({"text": ["a", 1], "label": [0, 1]})}, "test, column 'text'"),
        (pl.DataFrame({"text": [object()], "label": [0]}), "column 'text'"),
        (datasets.Dataset.from_dict(ROWS).to_iterable_dataset(), "without streaming=True"),
    ],
    ids=["number", "nothing", "lists", "no split", "no name", "equal columns", "mixed values", "objects", "streaming"],
)
def test_what_is_not_a_dataset_is_refused_with_what_was_found(data: object, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        check(data)
    assert text in str(raised.value)


def test_odd_and_empty_frames_are_errors_or_findings_never_a_traceback() -> None:
    with pytest.raises(SourceError, match="no table of a known task type"):
        check(pl.DataFrame())
    with pytest.raises(SourceError, match="no table of a known task type"):
        check(pd.DataFrame([["a", 1]]))  # columns named 0 and 1
    with pytest.raises(SourceError, match="no table of the task type STS"):
        check(pl.DataFrame(ROWS), task="STS")
    for columns in (ROWS, {"sentence1": ["a"], "sentence2": ["b"], "score": [1.0]}):
        empty = check(pl.DataFrame(columns).clear())
        assert ("empty_table", "default/train", 1) in kinds(empty)
    with pytest.raises(SourceError, match="cannot read the rows"):
        check(pl.LazyFrame(ROWS).with_columns(label=pl.col("text").str.to_integer()))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"task": "Clasification"}, "unknown task type 'Clasification'"),
        ({"scale": (5, 0)}, "the lower one first"),
        ({"language": "rus_Cyrl"}, "unknown language"),
        ({"audit_language": "none"}, "'sample' or 'all'"),
        ({"subset": "ru"}, "no subset 'ru'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError) as raised:
        check(pl.DataFrame(ROWS), **options)
    assert text in str(raised.value)


def test_several_subsets_are_a_choice_to_make(tmp_path: Path) -> None:
    tables = {"en": {"train": pl.DataFrame(ROWS)}, "ru": {"train": pl.DataFrame(ROWS)}}
    for data in (tables, write_dataset(tmp_path, tables)):
        with pytest.raises(UsageError, match="several subsets") as raised:
            check(data)
        assert raised.value.found == "en, ru"
        assert {finding.config for finding in check(data, subset="ru").findings} == {"ru"}


def test_a_release_is_verified_by_record_by_folder_and_by_name(
    golden_release: Callable[..., BuildResult], copy_terra: Callable[[Path], Path], cache: Path
) -> None:
    built = golden_release("cedr-classification")
    assert check(Release(built.release_dir, built.manifest)).findings == built.manifest.findings
    assert check(str(built.release_dir)).findings == built.manifest.findings
    release_dir = copy_terra(cache / "releases")
    assert check("terra").problems == ()
    (release_dir / "statistics.json").unlink()
    assert check("terra@1.0.0").problems == ("statistics.json is missing",)
    assert check("terra").verdict.state == "damaged"


def test_a_name_that_was_not_built_or_means_several_is_an_error(cache: Path) -> None:
    with pytest.raises(ReleaseError, match="terra has not been built"):
        check("terra")
    with pytest.raises(UsageError, match="means 2 datasets"):
        check("rubq")
    with pytest.raises(UsageError, match="an empty name"):
        check("")


def test_two_releases_are_compared_by_record_by_folder_and_by_name(
    golden_release: Callable[..., BuildResult], copy_terra: Callable[[Path], Path], cache: Path
) -> None:
    old, new = (golden_release("cedr-classification", version) for version in ("1.0.0", "4.0.0"))
    difference = ed.diff(Release(old.release_dir, old.manifest), new.release_dir)
    assert not difference.same
    assert difference.differences == ["rows"]
    assert {(table.split, table.before, table.after) for table in difference.tables} == {
        ("train", 36, 29),
        ("test", 17, 16),
    }
    assert "default/train: changed, 36 -> 29 rows, 28 equal, 0 changed, 8 removed, 1 added" in repr(difference)
    copy_terra(cache / "releases")
    assert ed.diff("terra@1.0.0", releases.load("terra")).same
    with pytest.raises(ReleaseError, match="has not been built"):
        ed.diff("terra", "cedr@1.0.0")


ODD = pl.DataFrame({"utt": ["a good film", "a bad film &amp;", "a good film"], "klass": [1, 0, 0]})


def test_columns_of_other_names_are_named_and_an_error_names_them_as_an_argument() -> None:
    with pytest.raises(SourceError) as caught:
        check(ODD)
    assert caught.value.todo == (
        """say which columns are which, for example task="Classification", columns={'text': 'utt', 'label': 'klass'}"""
    )
    with pytest.raises(UsageError) as caught:
        check(ODD, columns={"text": "sentence"})
    assert "--" not in str(caught.value)
    assert caught.value.what == "columns={'text': 'sentence'}: no table has a column 'sentence'"
    result = check(ODD, columns={"text": "utt", "label": "klass"})
    assert ("html_residue", "default/train.text", 1) in kinds(result)
    assert not [note for note in result.notes if "--" in note]


def test_the_rows_of_findings_are_a_frame_with_their_texts() -> None:
    result = check(ODD, columns={"text": "utt", "label": "klass"})
    [row] = result.rows("html_residue").to_dicts()
    assert (row["config"], row["split"], row["column"], row["text"]) == ("default", "train", "text", "a bad film &amp;")
    assert result.rows("conflicting_label").select("text", "label", "twin text", "twin label").rows() == [
        ("a good film", 1, "a good film", 0)
    ]
    assert set(result.rows()["kind"]) == {"html_residue", "conflicting_label", "duplicate_text"}
    assert result.rows("mojibake").is_empty()


def test_frames_are_checked_with_rules_under_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "columns: {text: utt, label: klass}\nrules:\n- {name: plain, column: utt, must_not: '&\\w+;'}\n"
        "severities: {html_residue: info}\nby_design: {duplicate_text: Short reviews recur.}\n",
        "utf-8",
    )
    result = check(ODD, rules=tmp_path / "own.yaml")
    weights = {finding.kind: (finding.severity, finding.by_design) for finding in result.findings}
    assert weights["rule"] == ("warning", False)
    assert (weights["html_residue"], weights["duplicate_text"]) == (("info", False), ("info", True))
    assert result.rows("rule").select("split", "utt", "detail").rows() == [
        ("train", "a bad film &amp;", 'plain: must_not "&\\\\w+;"')
    ]
    assert "checks.yaml: the rule 'plain' was applied" in result.notes
