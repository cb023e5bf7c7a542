"""Datasets that this package did not build, read as mteb reads them. Which files of a folder are read: those in it, and
none that a symbolic link adds from elsewhere. Splits with the same files: their findings are reported once.
"""

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from pipelines import check
from pipelines.checking.data_files import list_files
from pipelines.checking.datasets import declared_languages, find_shared_files
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
    added = pl.DataFrame({"id": ["d4", "d5"], "title": ["", ""], "text": ["&amp;", "Ants bite."]})
    corpus = pl.concat([tables["corpus"]["test"], added])
    report = report_of(write_dataset(tmp_path, tables | {"corpus": {"corpus": corpus}}))
    counts = [("html_residue", "corpus/corpus/text", 1), ("duplicate_text", "corpus/corpus/text", 1)]
    assert finding_counts(report) == counts


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
    for code in ("russian", "ru-RU"):
        with pytest.raises(UsageError, match=f"unknown language '{code}'") as caught:
            declared_languages({}, (code,))
        assert caught.value.todo == "did you mean 'rus'? use mteb's notation: rus-Cyrl"


def write(path: Path, text: str = "id,text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_files_and_links_to_files_in_the_folder_are_listed(tmp_path: Path) -> None:
    file = write(tmp_path / "data" / "test.csv")
    (tmp_path / "README.md").symlink_to(file)
    assert sorted(list_files(tmp_path)) == ["README.md", "data/test.csv"]
    snapshot = tmp_path / "snapshots" / "c0"  # of the Hub's library
    snapshot.mkdir(parents=True)
    (snapshot / "test.csv").symlink_to(write(tmp_path / "blobs" / "a1"))
    assert list_files(snapshot) == ["test.csv"]


@pytest.mark.parametrize("name", ["test.csv", "README.md"])
def test_a_link_out_of_the_folder_is_an_error_that_does_not_quote_the_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write(tmp_path / "secret", "the-first-line: [\n")
    dataset_dir = tmp_path / "dataset"
    write(dataset_dir / "train.csv", "text,label\na,0\n")
    (dataset_dir / name).symlink_to(secret)
    with pytest.raises(SourceError, match="a symbolic link out of its folder") as caught:
        list_files(dataset_dir)
    assert caught.value.where == str(dataset_dir / name)
    monkeypatch.setattr(sys, "argv", ["check", str(dataset_dir)])
    assert check.main() == SourceError.exit_code
    printed = capsys.readouterr()
    assert "the-first-line" not in printed.out + printed.err


ONE_CORPUS = (
    "- {config_name: corpus, data_files: [{split: dev, path: corpus.jsonl}, {split: test, path: corpus.jsonl}]}"
)
TWO_COPIES = "- {config_name: corpus, data_files: [{split: dev, path: corpus.jsonl}, {split: test, path: copy.jsonl}]}"


def write_retrieval(dataset_dir: Path, corpus_config: str, **changes: str) -> Path:
    """A dataset with two splits. changes: of the text of the first document, by the name of a file with a corpus."""
    for stem in ("corpus", "copy"):
        documents = [("d1", changes.get(stem, "bees &amp; ants")), ("d2", "Wax melts.")]
        write_json_lines(
            dataset_dir / f"{stem}.jsonl", *({"_id": name, "title": "", "text": text} for name, text in documents)
        )
    for split in ("dev", "test"):
        query: dict[str, Any] = {"_id": "q1", "text": f"who is it ({split})"}
        write_json_lines(dataset_dir / "queries" / f"{split}.jsonl", query)
        write_json_lines(dataset_dir / "qrels" / f"{split}.jsonl", {"query-id": "q1", "corpus-id": "d1", "score": 1})
    parts = "".join(
        f"\n- {{config_name: {part}, data_files: [{{split: dev, path: {part}/dev.jsonl}},"
        f" {{split: test, path: {part}/test.jsonl}}]}}"
        for part in ("queries", "qrels")
    )
    write_card(dataset_dir, f"configs:\n{corpus_config}{parts}")
    return dataset_dir


@pytest.mark.parametrize(
    ("corpus_config", "changes", "splits"),
    [(ONE_CORPUS, {}, ["dev"]), (TWO_COPIES, {}, ["dev"]), (TWO_COPIES, {"copy": "ants &amp; bees"}, ["dev", "test"])],
    ids=["one file", "two copies", "two corpora"],
)
def test_findings_of_one_corpus_for_two_splits_are_listed_once(
    corpus_config: str, changes: dict[str, str], splits: list[str], tmp_path: Path
) -> None:
    report = report_of(write_retrieval(tmp_path, corpus_config, **changes))
    assert finding_counts(report) == [("html_residue", f"corpus/{split}/text", 1) for split in splits]
    note = "corpus/test: the same files as corpus/dev, findings that both have are listed once"
    assert [one for one in report["notes"] if one.startswith("corpus/test: the same")] == [note] * (len(splits) == 1)


def test_files_are_compared_by_their_bytes_within_a_config(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")):
        (tmp_path / name).write_text(text)
    files = {"x": {"train": ["a"], "dev": ["c"], "test": ["b"], "all": ["a", "b"]}, "y": {"test": ["a"]}}
    assert find_shared_files(tmp_path, files) == {("x", "test"): ("x", "train")}
