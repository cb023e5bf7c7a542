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
from pipelines.make import BuildResult
from tests.support.releases import write_dataset

TERRA = "terra-pairclassification"
ROWS = {"text": ["a good film", "a bad film", "a good film"], "label": [1, 0, 0]}


def kinds(result: ed.Check) -> list[tuple[str, str, int]]:
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
    result = ed.check({"train": make_frame(ROWS), "test": make_frame(ROWS)}, language="eng-Latn")
    assert result.task == "Classification"
    assert ("conflicting_label", "default/train.label", 1) in kinds(result)
    assert [finding.count for finding in result.findings if finding.kind == "split_leak"] == [2]
    assert result.verdict.state == "compromised"
    assert result.problems == ()


def test_frames_are_checked_like_the_same_rows_in_files(tmp_path: Path) -> None:
    tables = {"default": {"train": pl.DataFrame(ROWS), "test": pl.DataFrame(ROWS).head(1)}}
    in_files = ed.check(write_dataset(tmp_path, tables))
    in_memory = ed.check(tables)
    assert (in_memory.findings, in_memory.verdict) == (in_files.findings, in_files.verdict)
    same = {"findings", "tables", "notes", "languages", "verdict", "audited"}
    assert {key: in_memory.report[key] for key in same} == {key: in_files.report[key] for key in same}


def test_one_frame_is_the_train_split_and_a_dataset_keeps_its_own() -> None:
    assert {finding.split for finding in ed.check(pl.DataFrame(ROWS)).findings} == {"train"}
    dataset = datasets.Dataset.from_dict({"sentence1": ["a"], "sentence2": ["b"], "score": [1.0]}, split="validation")
    assert {table["split"] for table in ed.check(dataset).report["tables"]} == {"validation"}
    loaded = datasets.DatasetDict({"train": datasets.Dataset.from_dict(ROWS), "test": datasets.Dataset.from_dict(ROWS)})
    assert len(ed.check(loaded).report["tables"]) == 2


def test_corpus_queries_and_judgements_need_no_split() -> None:
    result = ed.check(
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
        ed.check(data)
    assert text in str(raised.value)


def test_odd_and_empty_frames_are_errors_or_findings_never_a_traceback() -> None:
    with pytest.raises(SourceError, match="no table of a known task type"):
        ed.check(pl.DataFrame())
    with pytest.raises(SourceError, match="no table of a known task type"):
        ed.check(pd.DataFrame([["a", 1]]))  # columns named 0 and 1
    with pytest.raises(SourceError, match="no table of the task type STS"):
        ed.check(pl.DataFrame(ROWS), task="STS")
    for columns in (ROWS, {"sentence1": ["a"], "sentence2": ["b"], "score": [1.0]}):
        assert ("empty_table", "default/train", 1) in kinds(ed.check(pl.DataFrame(columns).clear()))
    with pytest.raises(SourceError, match="cannot read the rows"):
        ed.check(pl.LazyFrame(ROWS).with_columns(label=pl.col("text").str.to_integer()))


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
        ed.check(pl.DataFrame(ROWS), **options)
    assert text in str(raised.value)


def test_several_subsets_are_a_choice_to_make(tmp_path: Path) -> None:
    tables = {"en": {"train": pl.DataFrame(ROWS)}, "ru": {"train": pl.DataFrame(ROWS)}}
    for data in (tables, write_dataset(tmp_path, tables)):
        with pytest.raises(UsageError, match="means 2 subsets") as raised:
            ed.check(data)
        assert raised.value.found == "en, ru"
        assert {finding.config for finding in ed.check(data, subset="ru").findings} == {"ru"}


def test_a_release_is_verified_by_record_by_folder_and_by_name(
    golden_release: Callable[..., BuildResult], copy_terra: Callable[[Path], Path], cache: Path
) -> None:
    built = golden_release("cedr-classification")
    assert ed.check(ed.Release(built.release_dir, built.manifest)).findings == built.manifest.findings
    assert ed.check(str(built.release_dir)).findings == built.manifest.findings
    release_dir = copy_terra(cache / "releases")
    assert ed.check("terra").problems == ()
    (release_dir / "statistics.json").unlink()
    assert ed.check("terra@1.0.0").problems == ("statistics.json is missing",)
    assert ed.check("terra").verdict.state == "damaged"


def test_a_name_that_was_not_built_or_means_several_is_an_error(cache: Path) -> None:
    with pytest.raises(ReleaseError, match="terra has not been built"):
        ed.check("terra")
    with pytest.raises(UsageError, match="means 2 datasets"):
        ed.check("rubq")
    with pytest.raises(UsageError, match="an empty name"):
        ed.check("")


def test_two_releases_are_compared_by_record_by_folder_and_by_name(
    golden_release: Callable[..., BuildResult], copy_terra: Callable[[Path], Path], cache: Path
) -> None:
    old, new = (golden_release("cedr-classification", version) for version in ("1.0.0", "4.0.0"))
    difference = ed.diff(ed.Release(old.release_dir, old.manifest), new.release_dir)
    assert not difference.same
    assert difference.differences == ["rows"]
    assert {(table.split, table.before, table.after) for table in difference.tables} == {
        ("train", 36, 29),
        ("test", 17, 16),
    }
    assert "default/train: changed, 36 -> 29 rows, 28 equal, 0 changed, 8 removed, 1 added" in repr(difference)
    copy_terra(cache / "releases")
    assert ed.diff("terra@1.0.0", ed.load("terra")).same
    with pytest.raises(ReleaseError, match="has not been built"):
        ed.diff("terra", "cedr@1.0.0")


ODD = pl.DataFrame({"utt": ["a good film", "a bad film &amp;", "a good film"], "klass": [1, 0, 0]})


def test_columns_of_other_names_are_named_and_an_error_names_them_as_an_argument() -> None:
    with pytest.raises(SourceError) as caught:
        ed.check(ODD)
    assert caught.value.todo == (
        """say which columns are which, for example task="Classification", columns={'text': 'utt', 'label': 'klass'}"""
    )
    with pytest.raises(UsageError) as caught:
        ed.check(ODD, columns={"text": "sentence"})
    assert "--" not in str(caught.value)
    assert caught.value.what == "columns={'text': 'sentence'}: no table has a column 'sentence'"
    result = ed.check(ODD, columns={"text": "utt", "label": "klass"})
    assert ("html_residue", "default/train.text", 1) in kinds(result)
    assert not [note for note in result.notes if "--" in note]


def test_the_rows_of_findings_are_a_frame_with_their_texts() -> None:
    result = ed.check(ODD, columns={"text": "utt", "label": "klass"})
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
    result = ed.check(ODD, rules=tmp_path / "own.yaml")
    weights = {finding.kind: (finding.severity, finding.by_design) for finding in result.findings}
    assert weights["rule"] == ("warning", False)
    assert (weights["html_residue"], weights["duplicate_text"]) == (("info", False), ("info", True))
    assert result.rows("rule").select("split", "utt", "detail").rows() == [
        ("train", "a bad film &amp;", 'plain: must_not "&\\\\w+;"')
    ]
    assert "checks.yaml: the rule 'plain' was applied" in result.notes
