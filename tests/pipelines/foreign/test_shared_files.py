"""Splits with the same files: their findings are reported once."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.checking.datasets import find_shared_files
from tests.support.foreign import finding_counts, report_of, write_card, write_json_lines

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


@pytest.mark.parametrize("corpus_config", [ONE_CORPUS, TWO_COPIES], ids=["one file", "two copies"])
def test_findings_of_one_corpus_for_two_splits_are_listed_once(corpus_config: str, tmp_path: Path) -> None:
    report = report_of(write_retrieval(tmp_path, corpus_config))
    assert finding_counts(report) == [("html_residue", "corpus/dev/text", 1)]
    assert report["notes"][0] == "corpus/test: the same files as corpus/dev, findings that both have are listed once"


def test_findings_of_two_different_corpora_are_listed_for_both(tmp_path: Path) -> None:
    report = report_of(write_retrieval(tmp_path, TWO_COPIES, copy="ants &amp; bees"))
    assert finding_counts(report) == [("html_residue", "corpus/dev/text", 1), ("html_residue", "corpus/test/text", 1)]
    assert not any(note.startswith("corpus/test: the same") for note in report["notes"])


def test_files_are_compared_by_their_bytes_within_a_config(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")):
        (tmp_path / name).write_text(text)
    files = {"x": {"train": ["a"], "dev": ["c"], "test": ["b"], "all": ["a", "b"]}, "y": {"test": ["a"]}}
    assert find_shared_files(tmp_path, files) == {("x", "test"): ("x", "train")}
