"""Whatever is complete among the real raw files is built and compared with the published figures of each dataset.

The figures are those of the datasets on the Hub, as mteb measures them, and of the papers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from builders.ateb.arc import PREFIX, questions
from builders.shaping.choices import option_pool
from builders.spec import Raw
from pipelines.make import BuildResult, make
from pipelines.release import folder, ledger
from tests.support.paths import ROOT
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPLETE = {
    "europarl-bitext": None,
    "iwslt17-bitext": None,
    "nc2016-bitext": None,
    "cedr-classification": None,
    "terra-pairclassification": None,
    "ru-paraphraser-sts": None,
    "arc-challenge-retrieval": None,
    "hhrlhf-harmlessness-classification": ("test",),
}


@pytest.fixture(scope="session")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., BuildResult]:
    """The release of a dataset from real raw files, of 1.0.0 or another version, built once a session."""
    folder, made = tmp_path_factory.mktemp("real"), dict[tuple[str, str], BuildResult]()
    settings = sample_settings(folder)
    settings = replace(settings, sample=False, places=replace(settings.raw, raw_dir=real_sources))

    def outcome(name: str, version: str = "1.0.0") -> BuildResult:
        if (name, version) not in made:
            made[name, version] = make(
                definition_of(name), version, replace(settings, splits=COMPLETE[name]), lambda _: None
            )
        return made[name, version]

    return outcome


def frame(outcome: BuildResult, config: str = "default", split: str = "test") -> pl.DataFrame:
    return folder.scan_tables(outcome.release_dir, outcome.manifest)[config][split].collect()


def findings(outcome: BuildResult) -> dict[tuple[str, str, str], int]:
    found: dict[tuple[str, str, str], int] = {}
    for one in outcome.manifest.findings:
        key = (one.kind, one.split, one.column)
        found[key] = found.get(key, 0) + one.count
    return found


def lengths(texts: pl.Series) -> tuple[int, int, int]:
    """Characters: min, mean (rounded), max."""
    counts: Any = texts.str.len_chars()
    return counts.min(), round(counts.mean()), counts.max()


@pytest.mark.parametrize("name", COMPLETE)
def test_the_rows_are_those_of_the_ledger(name: str, real: Callable[[str], BuildResult]) -> None:
    manifest = real(name).manifest
    assert all(file.verified for file in manifest.raw)
    if not manifest.partial:
        entry = ledger.find_entry(name, "1.0.0")
        assert entry is not None
        assert manifest.content_sha256 == entry["content_sha256"]


def test_another_process_with_other_threads_gets_the_same_rows(
    real: Callable[[str], BuildResult], real_sources: Path, tmp_path: Path
) -> None:
    names = [name for name, splits in COMPLETE.items() if splits is None]
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.build", *(f"{name}@1.0.0" for name in names), "--json", "--offline", "--jobs", "2",
         "--raw-dir", str(real_sources), "--output", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")],
        cwd=ROOT, env=os.environ | {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "7"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    hashes = {row["dataset"]: row["content_sha256"] for row in map(json.loads, done.stdout.splitlines())}
    assert hashes == {name: real(name).manifest.content_sha256 for name in names}


@pytest.mark.parametrize(
    ("name", "documents", "segments"),
    [("europarl-bitext", 360, 5134), ("iwslt17-bitext", 23, 2271), ("nc2016-bitext", 155, 2999)],
)
def test_document_sets_have_the_published_documents_and_segments(
    name: str, documents: int, segments: int, real: Callable[[str], BuildResult]
) -> None:
    outcome = real(name)
    rows = frame(outcome, "en-de")
    assert outcome.manifest.observed == {"documents": documents, "segments": segments}
    assert rows.height == documents
    for side in ("sentence1", "sentence2"):
        assert rows[side].str.count_matches("\n").sum() + documents == segments
        assert not rows[side].str.contains(r"[ \t\r](\n|$)").any(), "segments end without white space"


def test_cedr_has_the_published_rows_labels_and_duplicates(real: Callable[[str], BuildResult]) -> None:
    outcome = real("cedr-classification")
    train, test = frame(outcome, split="train"), frame(outcome)
    assert (train.height, test.height) == (7528, 1882)
    assert (train["text"].n_unique(), test["text"].n_unique()) == (7500, 1875)
    for rows, counts, none in ((train, [1569, 1417, 607, 589, 411], 3043), (test, [353, 379, 170, 141, 125], 734)):
        labels = rows["label"].explode().drop_nulls()
        assert [(labels == number).sum() for number in range(5)] == counts
        assert (rows["label"].list.len() == 0).sum() == none
    found = findings(outcome)
    assert found["duplicate_text", "train", "text"] == 28
    assert found["duplicate_text", "test", "text"] == 7
    leaks = {one.detail: one.count for one in outcome.manifest.findings if one.kind == "split_leak"}
    assert leaks == {"in train": 7, "in train, ignoring case, punctuation, white space and Unicode form": 6}


def test_terra_has_the_published_pairs(real: Callable[[str], BuildResult]) -> None:
    rows = frame(real("terra-pairclassification"), split="dev")
    assert rows.height == 307
    assert rows["labels"].value_counts(sort=True)["count"].to_list() == [154, 153]
    assert rows["sentence1"].n_unique() == 282
    assert lengths(rows["sentence1"]) == (39, 231, 717)
    assert lengths(rows["sentence2"]) == (12, 46, 129)


def test_paraphraser_has_the_published_pairs(real: Callable[[str], BuildResult]) -> None:
    outcome = real("ru-paraphraser-sts")
    assert frame(outcome, split="train").height == 7227
    rows = frame(outcome)
    assert rows.height == 1924
    assert rows.n_unique(["sentence1", "sentence2"]) == 1899
    assert (rows["sentence1"].n_unique(), rows["sentence2"].n_unique()) == (1514, 1383)
    assert sorted(rows["score"].unique()) == [-1.0, 0.0, 1.0]
    assert findings(outcome)["duplicate_pair", "test", ""] == 25


def test_the_clean_paraphraser_has_every_pair_once_with_one_score(real: Callable[..., BuildResult]) -> None:
    outcome = real("ru-paraphraser-sts", "2.0.0")
    for split, rows in (("train", 7198), ("test", 1892)):
        pairs = frame(outcome, split=split).select(pl.concat_list("sentence1", "sentence2").list.sort())
        assert (pairs.height, pairs.n_unique()) == (rows, rows)
    assert [(one.split, one.reason, one.count) for one in outcome.manifest.dropped] == [
        ("train", "the pair has another score too", 6),
        ("train", "the pair stands in an earlier row too", 23),
        ("test", "the pair has another score too", 14),
        ("test", "the pair stands in an earlier row too", 18),
    ]
    warnings = {one.kind for one in outcome.manifest.findings if one.severity == "warning"}
    assert not warnings & {"conflicting_label", "duplicate_pair", "split_leak", "swapped_pair", "empty_text"}


def test_arc_has_the_published_queries_and_every_answer_in_its_pool(real: Callable[[str], BuildResult]) -> None:
    outcome = real("arc-challenge-retrieval")
    queries, qrels = frame(outcome, "queries"), frame(outcome, "qrels")
    assert (queries.height, queries["text"].n_unique()) == (1172, 1170)
    assert queries["id"][0] == "ARC-Challenge-q-0"
    assert qrels["query-id"].to_list() == queries["id"].to_list()
    assert set(qrels["corpus-id"]) == set(frame(outcome, "corpus")["id"])


def test_the_rarb_pool_begins_with_the_options_of_the_real_test_set(real_sources: Path) -> None:
    """The train file and five questions of dev are not to be had here: of 9,350 documents these are what is certain."""
    files = [
        Raw(name, real_sources / "arc" / name)
        for name in ("ARC-Challenge-Test.jsonl", "ARC-Challenge-Dev.294of299.jsonl")
    ]
    test, dev = (questions(file) for file in files)
    frames = option_pool(test, [dev], prefix=PREFIX, split="test").frames
    corpus, qrels = frames["corpus"]["test"].lazy().collect(), frames["qrels"]["test"].lazy().collect()
    options = list(dict.fromkeys(option for row in test["options"] for option in row))
    assert corpus["text"][: len(options)].to_list() == options
    assert corpus.height == len(dict.fromkeys([*options, *(option for row in dev["options"] for option in row)]))
    texts = dict(zip(corpus["id"], corpus["text"], strict=True))
    gold = [row["options"][row["gold"]] for row in test.iter_rows(named=True)]
    assert [texts[document] for document in qrels["corpus-id"]] == gold


def test_hh_rlhf_gives_two_rows_a_pair_but_for_the_four_empty_answers(real: Callable[[str], BuildResult]) -> None:
    outcome = real("hhrlhf-harmlessness-classification")
    assert outcome.manifest.partial is True
    [dropped] = outcome.manifest.dropped
    assert (dropped.count, dropped.reason) == (4, "the answer is empty")
    rows = frame(outcome)
    assert rows.height == 2 * 2312 - 4
    assert dict(rows["label_text"].value_counts().iter_rows()) == {"harmless": 2308, "harmful": 2312}
