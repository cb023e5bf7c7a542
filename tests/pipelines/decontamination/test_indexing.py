"""What is in an index of texts. Releases and datasets of others are indexed alike. Texts that a recipe made of a premise
and a hypothesis are found in corpora that have them in two fields.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders import tasks
from builders.errors import SourceError, UsageError
from builders.shaping.folding import hash_texts
from pipelines.audit.copies import near_duplicates
from pipelines.audit.findings import name_rows
from pipelines.audit.tables import model_input
from pipelines.checking.batches import LABEL_SCHEMA, TEXT_SCHEMA, TextBatch
from pipelines.checking.datasets import ForeignOptions, read_tables
from pipelines.decontamination.index_file import Record, arrange_index, join_indexes, read_index
from pipelines.decontamination.indexing import IndexedDataset, available_texts, from_foreign, from_release, index_tables
from pipelines.decontamination.matching import find_matches
from pipelines.make import BuildResult
from tests.support.benchmark_tables import LATIN, classification, index_of, retrieval, sentence, similarity, store_texts
from tests.support.paths import ROOT


def some_datasets() -> list[IndexedDataset]:
    source = random.Random(5)
    texts = [sentence(source, 3 + number % 90) for number in range(60)]
    return [
        retrieval("facts", texts[:40], [(texts[50], [3, 1]), (texts[51], []), (texts[52], [3])]),
        classification("reviews", [*texts[10:30], *texts[10:15]], [number % 3 for number in range(25)]),
        similarity("pairs", list(zip(texts[30:40], texts[40:50], strict=True)), [number / 2 for number in range(10)]),
    ]


def numbers(*texts: str) -> list[int]:
    return [int(number) for number in hash_texts(pl.Series(texts, dtype=pl.String))]


def test_every_text_has_an_entry_with_the_row_that_it_is_of(tmp_path: Path) -> None:
    datasets = some_datasets()
    tables = index_tables(datasets, tmp_path / "index")
    index = read_index(tmp_path / "index")
    assert index.tables == tuple(tables)
    assert [(one.dataset, one.version, one.config, one.split, one.column, one.rows) for one in tables] == [
        ("facts", "2.0.0", "corpus", "test", "text", 40),
        ("facts", "2.0.0", "queries", "test", "text", 3),
        ("reviews", "1.0.0", "default", "test", "text", 25),
        ("pairs", "1.0.0", "default", "test", "sentence1", 10),
        ("pairs", "1.0.0", "default", "test", "sentence2", 10),
    ]
    assert index.columns["row"][:2].to_pylist() == ["d0", "d1"]
    reviews = datasets[1].frames["default"]["test"]
    names = name_rows(reviews, pl.Series(range(25), dtype=pl.UInt32)).to_list()
    assert index.columns["row"][43:68].to_pylist() == names
    first = datasets[0].frames["corpus"]["test"].select(model_input("corpus", "text")).collect().to_series()
    assert index.columns["exact"][:40].tolist() == [int(number) for number in hash_texts(first)]


def test_equal_rows_without_ids_have_the_names_of_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 4)
    same = classification("same", ["one", "two", "one", "one", "three", "two", "one"], [0] * 7)
    names = name_rows(same.frames["default"]["test"], pl.Series(range(7), dtype=pl.UInt32)).to_list()
    assert index_of([same], tmp_path).columns["row"].to_pylist() == names
    assert names[6].endswith("-4")


def test_indexes_join_to_the_bytes_of_one_that_is_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets, record = [*some_datasets(), replace(some_datasets()[0], dataset="again")], Record("all", {}, ())
    parts = [tmp_path / f"{number}.index" for number in range(4)]
    for dataset, part in zip(datasets, parts, strict=True):
        index_tables([dataset], part)
    joined = join_indexes(parts, tmp_path / "joined", record)
    assert joined == index_tables(datasets, tmp_path / "at once", record=record)
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "at once").read_bytes()
    monkeypatch.setattr("pipelines.decontamination.index_file.MAX_TABLES", 6)
    with pytest.raises(UsageError, match="too many texts for one index"):
        join_indexes(parts, tmp_path / "too large", record)
    assert not (tmp_path / "too large").exists()


def test_both_texts_of_a_row_follow_each_other(tmp_path: Path) -> None:
    pairs = [("first of one", "second of one"), ("first of two", "second of two")]
    index = index_of([similarity("pairs", pairs, [0.0, 3.5])], tmp_path)
    assert index.columns["exact"].tolist() == numbers("first of one", "second of one", "first of two", "second of two")
    assert index.columns["table"].tolist() == [0, 1, 0, 1]
    assert [table.pair for table in index.tables] == [1, 0]
    assert index.columns["label"].tolist() == numbers("0", "0", "3.5", "3.5")


def test_a_query_has_the_entries_of_its_relevant_documents(tmp_path: Path) -> None:
    index = index_of(some_datasets()[1:2] + some_datasets()[:1], tmp_path)
    assert index.tables[2].config == "queries"
    lists = [
        array.tolist()
        for array in np.split(index.columns["positives"].values, index.columns["positives"].offsets[1:-1])
    ][65:]
    assert lists == [[25 + 1, 25 + 3], [], [25 + 3]]


def test_labels_are_hashed_by_number_and_by_name(tmp_path: Path) -> None:
    index = index_of([classification("reviews", ["a b", "c d"], [2, 0])], tmp_path)
    assert index.columns["label"].tolist() == numbers("2", "0")
    assert index.columns["label_name"].tolist() == numbers("fair", "bad")


def test_only_the_evaluated_split_is_indexed_unless_others_are_requested(tmp_path: Path) -> None:
    frame = pl.LazyFrame({"text": ["a"], "label": [0]})
    task = tasks.Classification(("x",), ("train", "validation", "test"))
    dataset = IndexedDataset("reviews", "1.0.0", task, {"default": dict.fromkeys(task.splits, frame)})
    assert [table.split for table in index_tables([dataset], tmp_path / "index")] == ["test"]
    assert [table.split for table in index_tables([dataset], tmp_path / "index", ["train"])] == ["train", "test"]
    with pytest.raises(UsageError, match="no dataset has the split dev"):
        index_tables([dataset], tmp_path / "index", ["dev", "train"])


def test_a_null_is_an_entry_that_matches_nothing(tmp_path: Path) -> None:
    frame = pl.LazyFrame({"text": ["a b", None, ""], "label": [0, None, 0]}, {"text": pl.String, "label": pl.Int64})
    dataset = IndexedDataset("reviews", "", tasks.Classification(("x",), ("test",)), {"default": {"test": frame}})
    index = index_of([dataset], tmp_path)
    assert (index.columns["exact"] != 0).tolist() == [True, False, False]
    assert (index.columns["label"] != 0).tolist() == [True, False, True]


def test_the_bytes_are_the_same_with_other_batches_threads_and_hash_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_tables(some_datasets(), tmp_path / "one")
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 7)
    monkeypatch.setattr("builders.batches.os.cpu_count", lambda: 1)
    index_tables(some_datasets(), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.slow
def test_the_bytes_are_the_same_in_another_process(tmp_path: Path) -> None:
    index_tables(some_datasets(), tmp_path / "one")
    code = (
        "import sys; from pathlib import Path; from tests.pipelines.decontamination.test_indexing import *;"
        "index_tables(some_datasets(), Path(sys.argv[1]))"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "two")], check=True, cwd=ROOT, env=environment)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_no_text_and_no_label_is_in_the_file(tmp_path: Path) -> None:
    index_tables(some_datasets(), tmp_path / "index")
    content = (tmp_path / "index").read_bytes()
    words = {word for text in some_datasets()[0].frames["corpus"]["test"].collect()["text"] for word in text.split()}
    assert not [word for word in words if len(word) > 3 and word.encode() in content]
    assert b"good" not in content


def test_an_entry_takes_at_most_180_bytes(tmp_path: Path) -> None:
    source = random.Random(3)
    documents = [sentence(source, source.randint(40, 100)) for _ in range(1_500)]
    queries = [(sentence(source, 9), [number]) for number in range(500)]
    index_tables([retrieval("facts", documents, queries)], tmp_path / "index")
    assert (tmp_path / "index").stat().st_size < 180 * 2_000


def test_a_release_is_indexed_with_its_version_and_content_hash(
    tmp_path: Path, golden_release: Callable[..., BuildResult]
) -> None:
    release = golden_release("cedr-classification")
    [table], manifest = index_tables([from_release(release.release_dir)], tmp_path / "index"), release.manifest
    assert (table.dataset, table.version, table.content_sha256) == (
        "cedr-classification",
        manifest.version,
        manifest.content_sha256,
    )
    assert (table.config, table.split, table.column, table.languages) == ("default", "test", "text", ("rus-Cyrl",))
    assert table.rows == next(one.rows for one in manifest.tables if one.split == "test")


def test_a_dataset_of_others_is_indexed_under_its_own_names(tmp_path: Path) -> None:
    tables = {
        "ru": {
            "dev": pl.LazyFrame({"sentence1": ["a b", "c d"], "sentence2": ["e f", "g h"], "score": [0.5, 4]}),
            "test": pl.LazyFrame({"sentence1": ["i j"], "sentence2": ["k l"], "score": [5.0]}),
        }
    }
    [foreign] = read_tables(tables, "somebody/pairs", {}, ForeignOptions(scale=(0, 5)), {})
    index = index_of([from_foreign(foreign, "somebody/pairs", "main")], tmp_path)
    assert [
        (one.dataset, one.version, one.content_sha256, one.config, one.split, one.column) for one in index.tables
    ] == [
        ("somebody/pairs", "main", "", "ru", "test", "sentence1"),
        ("somebody/pairs", "main", "", "ru", "test", "sentence2"),
    ]


def test_a_dataset_without_a_table_of_texts_is_refused(tmp_path: Path) -> None:
    facts = retrieval("facts", ["a"], [("b", [0])])
    without = replace(facts, frames={name: tables for name, tables in facts.frames.items() if name != "queries"})
    with pytest.raises(SourceError, match="a table with texts is missing") as raised:
        index_tables([without], tmp_path / "index")
    assert "facts, queries/test" in str(raised.value)
    corpus = {"test": facts.frames["corpus"]["test"].drop("title")}
    with pytest.raises(SourceError, match="the column title is missing"):
        index_tables([replace(facts, frames={**facts.frames, "corpus": corpus})], tmp_path / "index")
    assert not list(tmp_path.iterdir())


SOURCE = random.Random(3)
PAIRS = [(sentence(SOURCE, 12, LATIN), sentence(SOURCE, 6, LATIN)) for _ in range(3)]
TEXTS = [f"Premise: {premise} Hypothesis: {hypothesis}" for premise, hypothesis in PAIRS]


def test_both_sides_of_a_text_are_found_as_a_pair(tmp_path: Path) -> None:
    rows = [(0, "anchor", PAIRS[0][0]), (0, "negative", PAIRS[0][1]), (1, "anchor", PAIRS[1][0])]
    index = index_of([classification("inference", TEXTS, [0, 1, 2])], tmp_path)
    batch = TextBatch("c", pl.DataFrame(rows, TEXT_SCHEMA, orient="row"), pl.DataFrame(schema=LABEL_SCHEMA))
    matches = find_matches(arrange_index(index), batch, whole_texts=True).matches
    assert matches.select("corpus_row", "corpus_column", "column", "kind", "unit").rows() == [
        (0, "anchor", "text[premise]", "exact", "pair"),
        (0, "negative", "text[hypothesis]", "exact", "pair"),
        (1, "anchor", "text[premise]", "exact", "text"),
    ]


def test_both_sides_of_an_available_text_are_stored(tmp_path: Path) -> None:
    dataset = classification("inference", TEXTS, [0, 1, 2])
    index = index_of([dataset], tmp_path)
    stored = available_texts(store_texts(index, [dataset], tmp_path), np.arange(len(index.columns["exact"])))
    assert stored.to_list() == [*TEXTS, *(side for pair in PAIRS for side in pair)]


def test_a_premise_ends_at_the_first_hypothesis(tmp_path: Path) -> None:
    text = "Premise: A dog. Hypothesis: He said: Hypothesis: it barks."
    tables = index_tables([classification("inference", [text], [0])], tmp_path / "index")
    assert [one.column for one in tables] == ["text", "text[premise]", "text[hypothesis]"]
    assert [one.pair for one in tables] == [None, 2, 1]
    expected = index_tables(
        [classification("plain", ["A dog.", "He said: Hypothesis: it barks."], [0, 0])], tmp_path / "plain"
    )
    assert [one.column for one in expected] == ["text"]
    assert (
        read_index(tmp_path / "index").columns["exact"][1:].tolist()
        == read_index(tmp_path / "plain").columns["exact"].tolist()
    )
    tables = index_tables([classification("mixed", [*TEXTS, "Premise: alone."], [0, 1, 2, 0])], tmp_path / "mixed")
    assert [one.column for one in tables] == ["text"], "one text of another form leaves all as they are"
