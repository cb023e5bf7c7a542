"""Datasets that this package did not build, read as mteb reads them."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import UsageError
from pipelines.checking.datasets import declared_languages
from tests.support.foreign import finding_counts, report_of, write_card, write_json_lines
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables

RUSSIAN = "Сегодня утром в город снова пришла настоящая весна, и люди вышли гулять в парк."
ENGLISH = "The committee will meet again next week to discuss the remaining questions of the report."


def test_an_older_retrieval_dataset_with_one_corpus_for_all_splits_is_read_as_in_mteb(tmp_path: Path) -> None:
    documents = ({"_id": number, "text": f"Document {number} is here."} for number in range(4))
    write_json_lines(tmp_path / "corpus.jsonl", *documents)
    queries = ({"_id": f"q{number}", "text": f"who is {number}", "more": 1} for number in range(4))
    write_json_lines(tmp_path / "queries.jsonl", *queries)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\t0\t1\nq1\t1\t1\n")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\t2\t1\n")
    front_matter = """configs:
- {config_name: default, data_files: [{split: test, path: qrels/test.tsv}, {split: dev, path: qrels/dev.tsv}]}
- {config_name: corpus, data_files: [{split: corpus, path: corpus.jsonl}]}
- {config_name: queries, data_files: [{split: queries, path: queries.jsonl}]}"""
    for with_card in (True, False):
        if with_card:
            write_card(tmp_path, front_matter)
        else:
            (tmp_path / "README.md").unlink()
        report = report_of(tmp_path)
        qrels = "default" if with_card else "qrels"
        assert (report["task"], report["findings"]) == ("Retrieval", [])
        assert report["audited"] == ["dev", "test"]
        assert [f"{table['config']}/{table['split']}" for table in report["tables"]] == [
            "corpus/corpus", "queries/queries", f"{qrels}/dev", f"{qrels}/test",
        ]  # fmt: skip
        assert report["notes"][:2] == [
            "queries: ignored columns more",
            "queries/queries: 1 queries without judgements in any split ignored, as in mteb",
        ]


def test_a_finding_in_a_shared_corpus_is_reported_once_at_its_own_location(tmp_path: Path) -> None:
    tables = clean_tables("Reranking")
    corpus = pl.concat([tables["corpus"]["test"], pl.DataFrame({"id": ["d4"], "title": [""], "text": ["&amp;"]})])
    report = report_of(write_dataset(tmp_path, tables | {"corpus": {"corpus": corpus}}))
    assert finding_counts(report) == [("html_residue", "corpus/corpus/text", 1)]


@pytest.mark.parametrize(
    ("front_matter", "languages", "count"),
    [
        ("language: ru", (), 1),
        ("language: [ru, en]", (), 0),
        ("language: tt", (), 2),
        ("language: sah", (), 0),
        ("pretty_name: no language", (), 0),
        ("language: en", ("rus-Cyrl",), 1),
    ],
)
def test_languages_are_the_requested_ones_or_those_of_the_card(
    front_matter: str, languages: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    texts = pl.DataFrame({"sentences": [RUSSIAN, ENGLISH], "labels": ["a", "b"]})
    dataset_dir = write_dataset(tmp_path, {"default": {"test": texts}})
    write_card(dataset_dir, front_matter)
    report = report_of(dataset_dir, languages=languages)
    counts = [count for kind, _, count in finding_counts(report) if kind == "wrong_language"]
    assert sum(counts) == count
    assert any("language unknown" in note for note in report["notes"]) == (report["languages"] == [])


def test_languages_use_the_notation_of_mteb() -> None:
    assert declared_languages({"language": ["zh", "ru-RU", "xx"]}, ()) == ("cmn", "rus")
    with pytest.raises(UsageError, match="unknown language 'russian'"):
        declared_languages({}, ("russian",))
