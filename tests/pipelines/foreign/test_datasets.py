"""Datasets that this package did not build: each layout is recognised, what is wrong with it is found, what is odd is told."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from builders.errors import DatasetError, SourceError, UsageError
from pipelines import check
from pipelines.foreign import data_files
from pipelines.foreign.datasets import ForeignOptions, declared_languages
from pipelines.hub import client
from pipelines.make import make
from pipelines.report import checks
from tests.support.loopback_hub import Commit, LoopbackHub, Repo
from tests.support.paths import ROOT
from tests.support.processes import environment
from tests.support.releases import definition_of, sample_settings, write_dataset
from tests.support.tables import TASKS, Change, clean_tables, combine, with_edit, with_rows, with_value, without_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.make import BuildResult

RUSSIAN = "Сегодня утром в город снова пришла настоящая весна, и люди вышли гулять в парк."
RUSSIAN_PEOPLE = "учитель врач сосед дядя повар брат друг дедушка мальчик художник почтальон капитан"
RUSSIAN_DEEDS = (
    "вчера вечером долго рассказывал о том, что видел;обещал помочь построить новый дом, в котором будет жить;"
    "написал большое письмо, которое ещё не прочитал;каждое утро ходит на рынок, где его уже ждёт;"
    "купил старую лодку, которую раньше чинил;сказал, что завтра приедет и привезёт яблоки;"
    "совсем не помнит, куда положил ключи его;громко смеялся, когда на лестнице упал;"
    "сидел у окна и смотрел, как во дворе играет;нашёл в лесу белый гриб, какого не видел ещё;"
    "пел песню, которой его когда-то научил;открыл дверь и удивился: на пороге стоял;"
    "поливал цветы, которые весной посадил;читал газету, пока чай заваривал;"
    "уехал на север раньше, чем вернулся"
)
ENGLISH = "The committee will meet again next week to discuss the remaining questions of the report."


def lines(path: Path, *rows: dict[str, Any]) -> None:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def card(folder: Path, head: str) -> None:
    (folder / "README.md").write_text(f"---\n{head}\n---\n\n# A dataset\n", "utf-8")


def reports(folder: Path, **asked: Any) -> list[dict[str, Any]]:
    """What a check of a folder tells, of each subset."""
    results = checks.check_folder(folder, folder.name, ForeignOptions(**asked), language_sample=2000)
    return [one.report for one in results]


def report(folder: Path, **asked: Any) -> dict[str, Any]:
    [only] = reports(folder, **asked)
    return only


def findings(told: dict[str, Any], *severities: str) -> list[tuple[str, str, int]]:
    """Kind, place and count of the findings of some severities, or of all."""
    return [
        (one["kind"], "/".join(filter(None, (one["config"], one["split"], one["column"]))), one["count"])
        for one in told["findings"]
        if not severities or one["severity"] in severities
    ]


@pytest.mark.parametrize("kind", TASKS)
def test_each_layout_is_recognised_by_its_columns_and_a_clean_set_is_sound(kind: str, tmp_path: Path) -> None:
    told = report(write_dataset(tmp_path, clean_tables(kind)))
    assert (told["task"], told["findings"], told["problems"]) == (kind, [], [])
    assert set(told["audited"]) == set(TASKS[kind].splits)
    assert {(table["config"], table["split"]): table["rows"] for table in told["tables"]} == {
        (config, split): frame.height
        for config, splits in clean_tables(kind).items()
        for split, frame in splits.items()
    }


@dataclass(frozen=True)
class Planted:
    """A defect in a clean set of some type, and the errors that it must give; examples: those of the first."""

    task: str
    change: Change
    errors: list[tuple[str, str, int]]
    examples: list[str]
    audited: bool = True


def retyped(config: str, column: str, dtype: Any) -> Change:
    return with_edit(config, "test", lambda frame: frame.cast({column: dtype}))


def renamed(config: str, old: str, new: str) -> Change:
    return with_edit(config, "test", lambda frame: frame.rename({old: new}))


PLANTED = {
    "a null text": Planted(
        "Clustering", with_value("default", "test", "sentences", 2, None), [("null_text", "default/test/sentences", 1)], ["row 2"]
    ),
    "a null title": Planted(
        "Retrieval", with_value("corpus", "test", "title", 0, None), [("null_text", "corpus/test/title", 1)], ["d1"]
    ),
    "a judged document without a text": Planted(
        "Retrieval", with_value("corpus", "test", "text", 0, None), [("null_text", "corpus/test/text", 1)], ["d1"]
    ),
    "a null label": Planted(
        "Classification", with_value("default", "test", "label", 3, None), [("null_value", "default/test/label", 1)], ["row 3"]
    ),
    "a null in a list of labels": Planted(
        "MultilabelClassification", with_value("default", "test", "label", 0, [0, None]),
        [("null_value", "default/test/label", 1)], ["row 0"],
    ),
    "a judgement of an absent document": Planted(
        "Retrieval", with_rows("qrels", "test", ("q1", "d9", 1)), [("dangling_qrel", "qrels/test/corpus-id", 1)], ["q1 d9"]
    ),
    "a candidate that is absent": Planted(
        "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, ["d1", "d3", "d9"]),
        [("dangling_candidate", "top_ranked/test/corpus-ids", 1)], ["q1 d9"],
    ),
    "two documents with one id": Planted(
        "Retrieval", with_rows("corpus", "test", ("d1", "", "Wasps sting.")), [("duplicate_id", "corpus/test/id", 1)], ["d1"]
    ),
    "a null text, and behind it a query without a positive": Planted(
        "Retrieval",
        combine(with_value("corpus", "test", "text", 2, None), with_value("qrels", "test", "score", 0, 0)),
        [("null_text", "corpus/test/text", 1), ("query_without_positive", "queries/test/id", 1)],
        ["d3"],
    ),
    "ids that are numbers, which only `_id` may be": Planted(
        "Retrieval",
        with_edit("corpus", "test", lambda frame: frame.with_columns(id=pl.col("id").str.slice(1).cast(pl.Int64))),
        [("wrong_type", "corpus/test/id", 1), ("dangling_qrel", "qrels/test/corpus-id", 3)],
        [],
    ),
    "fractions as judgements": Planted(
        "Retrieval", with_edit("qrels", "test", lambda frame: frame.with_columns(score=pl.col("score") / 2)),
        [("wrong_type", "qrels/test/score", 1)], [],
    ),
    "an underscore in the name of a column": Planted(
        "Retrieval", renamed("qrels", "query-id", "query_id"), [("missing_column", "qrels/test/query-id", 1)], []
    ),
    "a column beside the candidates": Planted(
        "Reranking", with_edit("top_ranked", "test", lambda frame: frame.with_columns(rank=pl.lit(1))),
        [("unexpected_column", "top_ranked/test/rank", 1)], [],
    ),
    "similarities that are words": Planted(
        "STS", retyped("default", "score", pl.String), [("wrong_type", "default/test/score", 1)], []
    ),
    "a similarity that is no number": Planted(
        "STS", with_value("default", "test", "score", 1, float("nan")), [("score_out_of_range", "default/test/score", 1)],
        ["row 1"],
    ),
    "a third class of pairs": Planted(
        "PairClassification", with_value("default", "test", "labels", 0, 2), [("label_out_of_range", "default/test/labels", 1)],
        ["row 0"],
    ),
    "classes of pairs that are words": Planted(
        "PairClassification",
        with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.Series(["no", "yes"] * 2))),
        [("wrong_type", "default/test/labels", 1)], [],
    ),
    "two labels that are words, which mteb cannot score": Planted(
        "Classification",
        combine(*(with_edit("default", split, lambda frame: frame.select(
            "text", label=pl.when(pl.col("label") > 0).then(pl.lit("blue")).otherwise(pl.lit("red"))
        )) for split in ("train", "validation", "test"))),
        [("wrong_type", f"default/{split}/label", 1) for split in ("train", "validation", "test")], [],
    ),
    "no texts to train on": Planted(
        "Classification", without_table("default", "train"), [("missing_table", "default/train", 1)], [], audited=True
    ),
    "no texts": Planted(
        "STS", with_edit("default", "test", lambda frame: frame.drop("sentence2")),
        [("missing_column", "default/test/sentence2", 1)], [],
    ),
    "a table without a row": Planted(
        "Retrieval", with_edit("qrels", "test", lambda frame: frame.clear()), [("empty_table", "qrels/test", 1)], [],
        audited=False
    ),
    "no queries": Planted(
        "Retrieval", lambda tables: {config: own for config, own in tables.items() if config != "queries"},
        [("missing_table", "queries/test", 1)], [], audited=False,
    ),
    "one cluster": Planted(
        "Clustering", with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.lit("wax"))),
        [("one_class_only", "default/test/labels", 1)], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_planted_defect_is_an_error_and_the_rest_is_audited(planted: Planted, tmp_path: Path) -> None:
    told = report(write_dataset(tmp_path, planted.change(clean_tables(planted.task))))
    assert told["task"] == planted.task
    assert findings(told, "error") == planted.errors
    assert told["defects"][0]["examples"] == tuple(planted.examples)
    assert bool(told["audited"]) == planted.audited


def test_rows_with_a_null_are_left_out_of_the_audit_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    tables = combine(
        with_value("default", "test", "sentences", 0, None),
        with_rows("default", "test", ("test sentence number 3", "wax")),
    )(clean_tables("Clustering"))
    told = report(write_dataset(tmp_path, tables))
    assert findings(told) == [
        ("null_text", "default/test/sentences", 1), ("conflicting_label", "default/test/labels", 1),
        ("duplicate_text", "default/test/sentences", 1),
    ]  # fmt: skip
    assert [one["examples"] for one in told["findings"]] == [("row 0",), ("row 3",), ("row 4",)]


def test_an_old_retrieval_set_with_one_corpus_for_all_splits_reads_as_mteb_reads_it(tmp_path: Path) -> None:
    lines(tmp_path / "corpus.jsonl", *({"_id": number, "text": f"Document {number} is here."} for number in range(4)))
    lines(
        tmp_path / "queries.jsonl",
        *({"_id": f"q{number}", "text": f"who is {number}", "more": 1} for number in range(4)),
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\t0\t1\nq1\t1\t1\n")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\t2\t1\n")
    head = """configs:
- {config_name: default, data_files: [{split: test, path: qrels/test.tsv}, {split: dev, path: qrels/dev.tsv}]}
- {config_name: corpus, data_files: [{split: corpus, path: corpus.jsonl}]}
- {config_name: queries, data_files: [{split: queries, path: queries.jsonl}]}"""
    for with_card in (True, False):
        if with_card:
            card(tmp_path, head)
        else:
            (tmp_path / "README.md").unlink()
        told = report(tmp_path)
        qrels = "default" if with_card else "qrels"
        assert (told["task"], told["findings"]) == ("Retrieval", [])
        assert told["audited"] == ["dev", "test"]
        assert [f"{one['config']}/{one['split']}" for one in told["tables"]] == [
            "corpus/corpus", "queries/queries", f"{qrels}/dev", f"{qrels}/test",
        ]  # fmt: skip
        assert told["notes"][:2] == [
            "queries: columns not looked at: more",
            "queries/queries: 1 queries that no split judges are left out, as mteb does",
        ]


def test_what_a_shared_corpus_shows_is_told_once_at_its_own_place(tmp_path: Path) -> None:
    tables = clean_tables("Reranking")
    corpus = pl.concat([tables["corpus"]["test"], pl.DataFrame({"id": ["d4"], "title": [""], "text": ["&amp;"]})])
    told = report(write_dataset(tmp_path, tables | {"corpus": {"corpus": corpus}}))
    assert findings(told) == [("html_residue", "corpus/corpus/text", 1)]


def test_labels_that_are_words_are_numbered_and_named(tmp_path: Path) -> None:
    tables = clean_tables("Classification")
    words = {split: frame.select("text", label="label_text") for split, frame in tables["default"].items()}
    [checked] = checks.check_folder(
        write_dataset(tmp_path, {"default": words}), "set", ForeignOptions(), language_sample=None
    )
    assert (checked.report["findings"], checked.report["problems"]) == ([], [])
    assert checked.task.labels == ("blue", "green", "red")  # type: ignore[union-attr]
    rows = checked.frames["default"]["test"].select("label", "label_text").collect().rows()
    assert rows[:3] == [(2, "red"), (1, "green"), (0, "blue")]


def test_labels_are_named_by_label_text_and_a_row_that_names_its_label_otherwise_is_found(tmp_path: Path) -> None:
    tables = combine(*(
        with_edit("default", split, lambda frame: frame.with_columns(pl.col("label").cast(pl.Int8) + 5))
        for split in ("train", "validation", "test")
    ))(clean_tables("Classification"))  # fmt: skip
    told = report(write_dataset(tmp_path / "sound", tables))
    assert told["findings"] == []
    told = report(write_dataset(tmp_path / "wrong", with_value("default", "test", "label_text", 0, "blue")(tables)))
    assert findings(told) == [("label_text_differs", "default/test/label_text", 1)]


def test_lists_of_labels_may_be_words_in_any_order(tmp_path: Path) -> None:
    tables = clean_tables("MultilabelClassification")
    words = {
        split: frame.with_columns(label=pl.Series([["red", "green"], ["green", "blue"], ["blue", "red"], []] * 6))
        for split, frame in tables["default"].items()
    }
    [checked] = checks.check_folder(
        write_dataset(tmp_path, {"default": words}), "set", ForeignOptions(), language_sample=None
    )
    assert (checked.report["task"], checked.report["findings"]) == ("MultilabelClassification", [])
    assert checked.frames["default"]["test"].collect()["label"].to_list()[:4] == [[1, 2], [0, 1], [0, 2], []]


def test_numbers_are_taken_as_similarities_clusters_and_ids_of_judgements(tmp_path: Path) -> None:
    similar = with_edit("default", "test", lambda frame: frame.with_columns(pl.col("score").round().cast(pl.Int32)))
    assert report(write_dataset(tmp_path / "sts", similar(clean_tables("STS"))))["findings"] == []
    clusters = with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.Series([0, 1] * 2)))
    assert report(write_dataset(tmp_path / "clusters", clusters(clean_tables("Clustering"))))["findings"] == []
    whole = with_edit("default", "test", lambda frame: frame.with_columns(pl.col("labels").cast(pl.Float64)))
    assert report(write_dataset(tmp_path / "pairs", whole(clean_tables("PairClassification"))))["findings"] == []


def test_rows_of_lists_as_older_sets_have_them_are_taken_apart(tmp_path: Path) -> None:
    tables = {
        "default": {"test": clean_tables("PairClassification")["default"]["test"].drop("id").select(pl.all().implode())}
    }
    told = report(write_dataset(tmp_path, tables))
    assert (told["task"], told["findings"], told["tables"][0]["rows"]) == ("PairClassification", [], 4)
    assert told["notes"][0] == "default: rows that are lists of texts, as in older sets, are taken apart"


def test_every_subset_is_a_dataset_of_its_own(tmp_path: Path) -> None:
    pairs, texts = clean_tables("BitextMining")["en-de"], clean_tables("Clustering")["default"]
    told = reports(
        write_dataset(
            tmp_path, {"en-de": pairs, "deu-eng": pairs, "ru": texts, "meta": {"x": pl.DataFrame({"a": [1]})}}
        )
    )
    assert [(one["subset"], one["task"]) for one in told] == [
        ("deu-eng", "BitextMining"), ("en-de", "BitextMining"), ("ru", "Clustering"),
    ]  # fmt: skip
    assert told[0]["notes"][0] == "meta: not looked at, it is no table of a task"
    [asked] = reports(tmp_path, subsets=("ru",))
    assert (asked["task"], asked["notes"][0][:11]) == ("Clustering", "no language")
    with pytest.raises(SourceError, match=r"there is no subset 'fr'(.|\n)*deu-eng, en-de, meta, ru"):
        reports(tmp_path, subsets=("fr",))


def test_the_subsets_of_a_retrieval_are_told_by_what_their_configs_begin_with(tmp_path: Path) -> None:
    tables = clean_tables("Retrieval")
    told = reports(
        write_dataset(tmp_path, {f"{name}-{part}": own for name in ("de", "ru") for part, own in tables.items()})
    )
    assert [(one["subset"], one["task"], one["tables"][2]["config"]) for one in told] == [
        ("de", "Retrieval", "de-qrels"), ("ru", "Retrieval", "ru-qrels"),
    ]  # fmt: skip
    assert report(tmp_path, subsets=("ru",))["tables"][0]["config"] == "ru-corpus"


def test_columns_that_fit_two_types_are_an_error_until_one_is_said(tmp_path: Path) -> None:
    pairs = clean_tables("STS")["default"]
    both_columns = {split: frame.with_columns(labels=pl.Series([0, 1, 0, 1])) for split, frame in pairs.items()}
    folder = write_dataset(tmp_path, {"default": both_columns})
    with pytest.raises(UsageError, match="several types of task fit") as caught:
        reports(folder)
    assert "--task PairClassification or --task STS" in str(caught.value)
    assert report(folder, task="STS")["task"] == "STS"
    with pytest.raises(SourceError, match="no table here is of the type Clustering"):
        reports(folder, task="Clustering")


def test_translations_under_another_name_ask_for_their_languages(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path, {"default": clean_tables("BitextMining")["en-de"]})
    with pytest.raises(SourceError, match=r"--task BitextMining --language eng --language deu"):
        reports(folder)
    with pytest.raises(UsageError, match="the languages of the two sides of default are not known"):
        reports(folder, task="BitextMining")
    told = report(folder, task="BitextMining", languages=("eng-Latn", "deu-Latn"))
    assert (told["task"], told["findings"], told["tables"][0]["config"]) == ("BitextMining", [], "default")


def test_a_column_of_another_layout_is_an_error_that_says_what_is_there_and_what_fits(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path, {"default": {"test": pl.DataFrame({"question": ["a"], "answer": ["b"]})}})
    with pytest.raises(SourceError, match="no table here is in one of the eight layouts") as caught:
        reports(folder)
    for words in (
        "default: question, answer",
        "Retrieval: configs corpus, queries and qrels",
        "STS: sentence1, sentence2, score",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("head", "asked", "found"),
    [
        ("language: ru", (), 1),
        ("language: [ru, en]", (), 0),
        ("language: tt", (), 0),
        ("pretty_name: none told", (), 0),
        ("language: en", ("rus-Cyrl",), 1),
    ],
)
def test_languages_are_those_asked_for_or_those_of_the_card(
    head: str, asked: tuple[str, ...], found: int, tmp_path: Path
) -> None:
    texts = pl.DataFrame({"sentences": [RUSSIAN, ENGLISH], "labels": ["a", "b"]})
    folder = write_dataset(tmp_path, {"default": {"test": texts}})
    card(folder, head)
    told = report(folder, languages=asked)
    assert findings(told) == [("wrong_language", "default/test/sentences", 1)] * found
    assert any("no language is told" in note for note in told["notes"]) == (told["languages"] == [])


def test_a_language_is_written_as_mteb_writes_it() -> None:
    assert declared_languages({"language": ["zh", "ru-RU", "xx"]}, ()) == ("cmn", "rus")
    with pytest.raises(UsageError, match="no language is known as 'russian'"):
        declared_languages({}, ("russian",))


def broken_parquet(folder: Path) -> None:
    write_dataset(folder, clean_tables("STS"))
    path = folder / "data" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def half_a_page(folder: Path) -> None:
    """Rows that are unreadable only once they are read: the footer is whole."""
    texts = pl.DataFrame(
        {"sentences": [f"sentence number {number}" for number in range(5000)], "labels": ["a", "b"] * 2500}
    )
    path = folder / "data" / "test.parquet"
    path.parent.mkdir(parents=True)
    texts.write_parquet(path, compression="zstd")
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 2000 + data[2004:])


def broken_line(folder: Path) -> None:
    lines(folder / "test.jsonl", {"sentences": "one", "labels": 1}, {"sentences": "two", "labels": 2})
    with (folder / "test.jsonl").open("a") as file:
        file.write('{"sentences": "thr')


def pointer(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "test.parquet").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    )


def no_such_files(folder: Path) -> None:
    lines(folder / "test.jsonl", {"sentences": "one", "labels": 1})
    card(folder, "configs:\n- config_name: default\n  data_files: [{split: test, path: 'data/test-*'}]")


def no_yaml(folder: Path) -> None:
    folder.mkdir()
    card(folder, "configs: [")


@pytest.mark.parametrize(
    ("make_it", "words"),
    [
        (lambda folder: folder.mkdir(), ["no table is found here", "0 data files", "configs"]),
        (
            broken_parquet,
            ["this file cannot be read", "test-00000-of-00001.parquet", "a Parquet file of", "expected: Parquet"],
        ),
        (half_a_page, ["this file cannot be read", "test.parquet", "expected: Parquet"]),
        (broken_line, ["this file cannot be read", "test.jsonl, line 3", "JSON"]),
        (lambda folder: lines(folder / "test.jsonl"), ["test.jsonl", "an empty file of 0 bytes"]),
        (pointer, ["a git-lfs pointer", "test.parquet"]),
        (no_such_files, ["config 'default' names files that are not there", "none for the split test"]),
        (no_yaml, ["the front matter is no YAML"]),
    ],
    ids=[
        "nothing",
        "truncated",
        "a damaged page",
        "half a line",
        "an empty file",
        "an LFS pointer",
        "no such files",
        "no YAML",
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(make_it: Any, words: list[str], tmp_path: Path) -> None:
    make_it(tmp_path / "set")
    with pytest.raises(DatasetError) as caught:
        reports(tmp_path / "set")
    for word in words:
        assert word in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_text_that_reads_na_in_a_csv_is_null_to_its_readers(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('sentences,labels\nNA,a\n"NA, or not",b\n')
    assert findings(report(tmp_path)) == [("null_text", "default/test/sentences", 1)]


@pytest.mark.parametrize(
    ("paths", "head", "expected"),
    [
        (["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"], {},
         {"default": {"test": 1, "train": 2}}),
        (["train.csv", "test.csv", "README.md", ".gitattributes", "script.py", "dataset_infos.json"], {},
         {"default": {"test": 1, "train": 1}}),
        (["default/test/0000.parquet", "default/partial-train/0000.parquet"], {}, {"default": {"test": 1}}),
        (["en/train.jsonl.gz", "en/test.jsonl.gz", "de/test.jsonl"], {},
         {"de": {"test": 1}, "en": {"test": 1, "train": 1}}),
        (["corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"], {},
         {"corpus": {"corpus": 1}, "qrels": {"dev": 1}, "queries": {"queries": 1}}),
        (["test/a.parquet", "test/b.parquet"], {}, {"default": {"test": 2}}),
        (["a/x.parquet", "a/deep/y.parquet"], {"configs": [{"config_name": "c", "data_files": "a/**"}]}, {"c": {"train": 2}}),
        (["a/x.parquet", "a/deep/y.parquet"], {"configs": [{"config_name": "c", "data_files": ["a/*"]}]}, {"c": {"train": 1}}),
        (["en/test-1.csv", "en/test-2.csv"], {"configs": [{"config_name": "en", "data_dir": "en"}]}, {"en": {"test": 2}}),
    ],
)  # fmt: skip
def test_files_are_the_tables_that_their_names_or_the_card_say(
    paths: list[str], head: dict[str, Any], expected: dict[str, dict[str, int]]
) -> None:
    found = data_files.resolve_tables(paths, head, "here")
    counts = {config: {split: len(files) for split, files in splits.items()} for config, splits in found.items()}
    assert counts == expected


def test_no_path_leads_out_of_the_folder() -> None:
    head = {"configs": [{"config_name": "c", "data_files": "**"}]}
    found = data_files.resolve_tables(
        ["../x.parquet", "/etc/y.parquet", "a/../../z.csv", "a\\b.csv", "good/t.csv"], head, "here"
    )
    assert found == {"c": {"train": ["good/t.csv"]}}


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    """The command in this process: its exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "argv", ["check", *arguments])
    code = check.main()
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_tells_a_sound_set_by_0_and_a_defective_one_by_4(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sound = write_dataset(tmp_path / "sound", clean_tables("STS"))
    broken = write_dataset(
        tmp_path / "broken", with_value("default", "test", "sentence1", 1, None)(clean_tables("STS"))
    )
    code, out, _ = run(capsys, monkeypatch, str(sound), "--language", "eng-Latn")
    assert (code, out.splitlines()) == (0, [
        "sound: sound", "  task      STS", "  rows      default/train 4, default/test 4",
        "  note      default: columns not looked at: id",
    ])  # fmt: skip
    code, out, err = run(capsys, monkeypatch, str(tmp_path / "nothing"), str(sound), str(broken), "--json")
    assert code == 2
    assert "there is no such folder" in err
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["dataset"], row["path"], len(row["defects"])) for row in rows] == [
        ("sound", str(sound), 0), ("broken", str(broken), 1),
    ]  # fmt: skip
    assert run(capsys, monkeypatch, str(broken))[0] == 4


def test_a_name_means_the_newest_release_below_the_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path), lambda _: None)
    code, out, _ = run(capsys, monkeypatch, "terra", "--output", str(tmp_path / "outputs"), "--json")
    told = json.loads(out)
    assert (code, told["dataset"], told["path"], told["task"]) == (
        0,
        "terra-pairclassification",
        "terra",
        "PairClassification",
    )
    code, out, err = run(capsys, monkeypatch, "rubq", "--output", str(tmp_path / "outputs"))
    assert (code, out) == (1, "")
    assert err.count("has not been built") == 2


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub() as served:
        served.repos["org/set"] = Repo(private=False)
        served.repos["org/set"].add("main", Commit({}, None, "nothing yet", ""))
        yield served


def pushed(hub: LoopbackHub, folder: Path) -> str:
    """A folder as a new commit on main."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return hub.commit("org/set", {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def checked(hub: LoopbackHub, tmp_path: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.check", *arguments, "--json"], cwd=ROOT, stdin=subprocess.DEVNULL,
        env=environment(hub, tmp_path, HF_TOKEN=""), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_set_on_the_hub_is_checked_at_its_main_a_branch_or_a_commit_and_fetched_once(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    folder = write_dataset(tmp_path / "set", clean_tables("Retrieval"))
    card(folder, "language: en")
    (folder / "notes.bin").write_bytes(b"not data")
    first = pushed(hub, folder)
    with_defect = with_rows("qrels", "test", ("q1", "d9", 1))(clean_tables("Retrieval"))
    second = pushed(hub, write_dataset(tmp_path / "set", with_defect))
    hub.repos["org/set"].branches["refs/pr/1"] = first

    code, [told], err = checked(hub, tmp_path, "org/set")
    assert (code, err, told["revision"], told["path"], told["dataset"]) == (4, "", second, "org/set", "org/set")
    assert findings(told) == [("dangling_qrel", "qrels/test/corpus-id", 1)]
    assert told["languages"] == ["eng"]
    for revision in (first, "refs/pr/1"):
        code, [told], _ = checked(hub, tmp_path, f"org/set@{revision}")
        assert (code, told["revision"], told["findings"]) == (0, first, [])
    fetched = [seen.path for seen in hub.log if "/resolve/" in seen.path]
    assert any(path.endswith("corpus/test-00000-of-00001.parquet") for path in fetched)
    assert not any("notes.bin" in path for path in fetched), "only data files are downloaded"
    hub.log.clear()
    assert checked(hub, tmp_path, f"org/set@{first}")[0] == 0
    assert not any(seen.path.endswith(".parquet") for seen in hub.log), "they are in the cache"


def test_of_a_set_on_the_hub_one_subset_is_fetched_alone(hub: LoopbackHub, tmp_path: Path) -> None:
    texts = clean_tables("Clustering")["default"]
    folder = write_dataset(tmp_path / "set", {"de": texts, "ru": texts})
    configs = [f"- {{config_name: {name}, data_files: [{{split: test, path: '{name}/*'}}]}}" for name in ("de", "ru")]
    card(folder, "\n".join(["configs:", *configs]))
    pushed(hub, folder)
    code, [told], err = checked(hub, tmp_path, "org/set", "--subset", "ru")
    assert (code, err, told["subset"], told["tables"][0]["config"]) == (0, "", "ru", "ru")
    assert not any("/de/" in seen.path for seen in hub.log)
    code, told_all, _ = checked(hub, tmp_path, "org/set")
    assert (code, [told["subset"] for told in told_all]) == (0, ["de", "ru"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("org/set", ("org/set", "main")),
        ("org/set@v1.0.0", ("org/set", "v1.0.0")),
        ("org/set@refs/pr/1", ("org/set", "refs/pr/1")),
        ("here/set", None),
        ("here", None),
        ("org/set/more", None),
        ("../set", None),
        ("/org/set", None),
    ],
)
def test_a_name_with_a_slash_is_a_repository_unless_its_folder_is_here(
    name: str, meant: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert client.parse_reference(name, "main") == meant
    assert client.parse_reference(name) == (meant if "@" in name else None)


def test_what_the_hub_does_not_have_is_told(hub: LoopbackHub, tmp_path: Path) -> None:
    for name, words in {
        "org/other": "no such repository",
        "org/set@v9": "no such repository",
        "org/set": "no table",
    }.items():
        code, told, err = checked(hub, tmp_path, name)
        assert (code, told) == (3, [])
        assert words in err


def test_a_gz_of_json_lines_is_read_as_it_is(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"sentences": f"text {number}", "labels": number % 2}) + "\n" for number in range(6))
    (tmp_path / "test.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    told = report(tmp_path)
    assert (told["task"], told["tables"][0]["rows"], told["findings"]) == ("Clustering", 6, [])


def test_an_array_of_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text(
        json.dumps([{"sentences": "one", "labels": "a"}, {"sentences": "two", "labels": "b"}])
    )
    assert report(tmp_path)["tables"][0]["rows"] == 2


def test_the_documents_list_every_key(tmp_path: Path, golden_release: Callable[[str], BuildResult]) -> None:
    keys = (
        report(write_dataset(tmp_path, clean_tables("STS"))).keys()
        | check.check(golden_release("terra-pairclassification").place).keys()
    )
    documented = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|", (ROOT / "docs" / "checking.md").read_text("utf-8"), re.MULTILINE
    )
    assert keys <= set(re.findall(r"\w+", " ".join(documented)))


def test_lists_of_unequal_lengths_are_an_error(tmp_path: Path) -> None:
    table = pl.DataFrame({"sentences": [["one", "two"]], "labels": [["a", "b", "c"]]})
    with pytest.raises(SourceError, match="the rows of a table cannot be read") as caught:
        report(write_dataset(tmp_path, {"default": {"test": table}}))
    assert "test-00000-of-00001.parquet" in str(caught.value)


def test_audit_language_all_asks_for_the_language_of_every_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    golden_release: Callable[[str], BuildResult],
) -> None:  # fmt: skip
    people, deeds = RUSSIAN_PEOPLE.split(), RUSSIAN_DEEDS.split(";")
    texts = [" ".join(words) for words in product(people, deeds, people)]
    texts = [ENGLISH[number % 25 :] if number % 100 == 0 else text for number, text in enumerate(texts)]
    table = pl.DataFrame({"sentences": texts, "labels": [str(number % 2) for number in range(len(texts))]})
    folder = write_dataset(tmp_path, {"default": {"test": table}})

    def foreign_texts(*options: str) -> int:
        _, out, _ = run(capsys, monkeypatch, str(folder), "--language", "rus-Cyrl", "--json", *options)
        return sum(one["count"] for one in json.loads(out)["findings"] if one["kind"] == "wrong_language")

    assert len(texts) == 2160
    assert 0 < foreign_texts() < 22
    assert foreign_texts("--audit-language", "all") == 22
    released = str(golden_release("cedr-classification").place)
    assert run(capsys, monkeypatch, released, "--audit-language", "all")[0] == 0, "the manifest has those of the sample"
