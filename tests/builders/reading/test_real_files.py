"""The readers on real raw files, compared with the published sizes and the standard library."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.reading.archives import open_raw
from builders.reading.csv import read_csv
from builders.reading.json import read_json_array, read_json_lines
from builders.reading.lines import read_documents, read_lines
from builders.reading.xml import read_xml_values
from builders.spec import Raw
from tests.support.reading import QUESTION


@pytest.fixture
def source(real_sources: Path) -> Callable[..., Raw]:
    return lambda path, member=None: Raw(path, real_sources / path, member)


@pytest.mark.parametrize(
    ("path", "member", "columns", "rows"),
    [
        ("cedr/main/train.jsonl", None, {"text": pl.String, "labels": pl.List(pl.String)}, 7528),
        ("cedr/main/test.jsonl", None, {"text": pl.String, "labels": pl.List(pl.String)}, 1882),
        ("arc/ARC-Challenge-Test.jsonl", None, {"id": pl.String, "question": QUESTION}, 1172),
        ("hh_rlhf/harmless-base/test.jsonl.gz", None, {"chosen": pl.String, "rejected": pl.String}, 2312),
        ("vitaminc/vitaminc_real.zip", "vitaminc_real/test.jsonl", {"claim": pl.String, "evidence": pl.String}, 34_481),
        ("vitaminc/vitaminc_synthetic.zip", "vitaminc_synthetic/test.jsonl", {"claim": pl.String}, 20_716),
    ],
)
def test_json_lines_have_the_published_number_of_rows(
    path: str, member: str | None, columns: dict[str, Any], rows: int, source: Callable[..., Raw]
) -> None:
    file = source(path, member)
    frame = read_json_lines(file, columns)
    assert frame.height == rows
    # The standard library, line by line, gives the same values.
    with open_raw(file) as stream:
        expected = [json.loads(text) for text in stream]
    for name, dtype in columns.items():
        if dtype != QUESTION:
            assert frame[name].to_list() == [row[name] for row in expected]


def test_rubq_has_580_questions(source: Callable[..., Raw]) -> None:
    columns = {"uid": pl.Int64, "paragraphs_uids": pl.Struct({"with_answer": pl.List(pl.Int64)})}
    file = source("rubq/RuBQ_2.0_dev.json")
    frame = read_json_array(file, columns)
    assert frame.height == 580
    expected = json.loads(file.path.read_text(encoding="utf-8"))
    assert frame["uid"].to_list() == [row["uid"] for row in expected]


@pytest.mark.parametrize(("name", "rows"), [("paraphrases.xml", 7227), ("paraphrases_gold.xml", 1924)])
def test_paraphrases_have_the_published_number_of_pairs(name: str, rows: int, source: Callable[..., Raw]) -> None:
    columns: dict[str, Any] = {"id": pl.Int64, "text_1": pl.String, "text_2": pl.String, "class": pl.Float64}
    frame = read_xml_values(source(f"paraphraser/{name}"), columns, records=("paragraph", "paraphrase"))
    assert frame.height == rows
    assert set(frame["class"]) == {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("folder", "documents", "segments"), [("Europarl7", 360, 5134), ("IWSLT2017", 23, 2271), ("NC-2016", 155, 2999)]
)
def test_documents_have_the_published_sizes(
    folder: str, documents: int, segments: int, language: str, source: Callable[..., Raw]
) -> None:
    frame = read_documents(source(f"document_mt/{folder}/concatenated_en2de_test_{language}.txt"))
    assert (frame.height, frame["segments"].list.len().sum()) == (documents, segments)


def test_tables_have_the_published_number_of_rows(source: Callable[..., Raw]) -> None:
    esnli = read_csv(source("esnli/esnli_test.csv"), {"gold_label": pl.String, "Sentence1": pl.String})
    assert dict(esnli["gold_label"].value_counts().iter_rows()) == {
        "entailment": 3368,
        "contradiction": 3237,
        "neutral": 3219,
    }
    columns = {"sentence1": pl.String, "sentence2": pl.String, "score": pl.Float64}
    stsb = read_csv(source("stsb_ru/stsb-ru-train.csv"), columns, header=False)
    assert (stsb.height, stsb["score"].min(), stsb["score"].max()) == (5749, 0.0, 5.0)
    columns = {"id": pl.Int64, "text": pl.String}
    path = "miracl/topics.miracl-v1.0-ru-dev.tsv"
    assert read_csv(source(path), columns, separator="\t", header=False, quotes=False).height == 1252


def test_label_files_have_a_label_for_each_row(source: Callable[..., Raw]) -> None:
    labels = read_lines(source("piqa/valid-labels.lst"))
    assert len(labels) == 1838
    assert set(labels) == {"0", "1"}
