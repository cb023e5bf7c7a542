"""The index of all texts of a site: every row, its limits, and nothing but numbers."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipelines.catalogue_site import text_index
from pipelines.make import BuildResult
from tests.support.sites import build_site, hostile_releases

RIA = "ria-news-retrieval"


def scripts_of(site: Path, name: str) -> Iterator[bytes]:
    """What the scripts of the index of a site hold."""
    for path in sorted((site / "search").iterdir()):
        call = re.fullmatch(r'site_push\("([a-z]+)-[0-9a-f]{4}","([A-Za-z0-9+/=]*)"\);\n', path.read_text("utf-8"))
        assert call, path
        if call[1] == name:
            yield base64.b64decode(call[2], validate=True)


def test_texts_that_may_not_be_shown_are_in_the_index_as_numbers_alone(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    release_dir = golden_release(RIA).release_dir
    site = build_site(release_dir.parents[1], tmp_path / "site", f"{RIA}@{release_dir.name}")
    texts = [
        *pl.read_parquet(release_dir / "corpus" / "*.parquet")["text"],
        *pl.read_parquet(release_dir / "queries" / "*.parquet")["text"],
    ]
    entries = np.frombuffer(b"".join(scripts_of(site, "texts")), text_index.TEXT)
    runs = np.frombuffer(b"".join(scripts_of(site, "runs")), text_index.RUN)
    assert sorted(entries["row"]) == list(range(len(texts)))
    assert 0 < len(runs) <= text_index.MAX_RUNS * len(texts)
    everything = entries.tobytes() + runs.tobytes()
    assert not any(word.encode() in everything for text in texts for word in text.split() if len(word) > 3)


def test_of_equal_rows_the_first_are_stored_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = hostile_releases(tmp_path, ["1.0.0"])
    texts = pl.read_parquet(releases / "cedr-classification" / "1.0.0" / "data" / "train-*.parquet")["text"]
    counts = text_index.fold_for_search(texts).value_counts().get_column("count")
    assert counts.max() == 3, "three rows of the sample are equal"
    monkeypatch.setattr(text_index, "MAX_ROWS", 1)
    entries = np.frombuffer(
        b"".join(scripts_of(build_site(releases, tmp_path / "site", "cedr"), "texts")), text_index.TEXT
    )
    of_train = entries[entries["row"] < len(texts)]
    assert sorted(of_train["rows"]) == sorted(counts)


def test_a_run_of_many_texts_is_left_out(tmp_path: Path) -> None:
    common, rare = (np.uint64(run << 36) for run in (1, 2))
    runs = np.concatenate(
        [
            common + np.arange(text_index.MAX_TEXTS + 1, dtype=np.uint64),
            rare + np.arange(text_index.MAX_TEXTS, dtype=np.uint64),
        ]
    )
    (tmp_path / "search").mkdir()
    text_index._write_runs(tmp_path / "search", runs, 0, text_index.PART_BITS)
    assert b"".join(scripts_of(tmp_path, "runs")) == runs[text_index.MAX_TEXTS + 1 :].tobytes()
