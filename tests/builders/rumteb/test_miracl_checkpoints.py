"""MIRACL's checkpoints: a killed build resumes with the first shard that is not stored, if it is a build of the same rows."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.miracl import DATASETS, SHARDS
from builders.errors import RecipeError
from builders.reading.json import json_batches
from builders.rumteb import miracl
from builders.rumteb.miracl import passages
from builders.spec import Raw
from pipelines.make import BuildResult, make
from tests.support.killed_builds import run_killed
from tests.support.releases import definition_of, sample_settings

RETRIEVAL = DATASETS[0]


def record_shards(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by the name of every shard that a build reads from now on."""
    names: list[str] = []

    def read_and_record(raw: Raw, columns: Any) -> Any:
        names.append(raw.name.rsplit("-", 1)[1])
        return json_batches(raw, columns)

    monkeypatch.setattr(passages, "json_batches", read_and_record)
    return names


@pytest.mark.parametrize("name", [DATASETS[0], pytest.param(DATASETS[1], marks=pytest.mark.slow)], ids=DATASETS)
def test_a_build_killed_at_any_step_is_resumed_with_the_first_shard_that_is_not_stored(
    name: str,
    golden_release: Callable[..., BuildResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "pipelines.release.staging")
    folders = run_killed(tmp_path, name, version="2.0.0", most=1_000, every=43, below="cache")
    undisturbed = golden_release(name, "2.0.0").manifest
    resumed, read = [], record_shards(monkeypatch)
    for folder in folders[:-1]:
        checkpoints = [path.name for path in folder.glob("cache/checkpoints/*/*/*") if path.suffix != ".part"]
        stored = [f"{shard}.jsonl.gz" for shard in range(SHARDS) if f"passages-{shard:02d}" in checkpoints]
        caplog.clear()
        result = make(definition_of(name), "2.0.0", sample_settings(folder))
        for field in ("content_sha256", "dropped", "observed"):
            assert getattr(result.manifest, field) == getattr(undisturbed, field)
        if result.state == "up to date":
            assert read == [], "the build was killed after its release was complete"
            continue
        assert stored + read == [f"{shard}.jsonl.gz" for shard in range(SHARDS)], "each shard is read once"
        resuming = [message for message in caplog.messages if "resuming from the checkpoints" in message]
        assert len(resuming) == bool(checkpoints), caplog.messages
        taken_over = f"{len(stored)} of {SHARDS} shards of passages taken over from an earlier build"
        assert (taken_over in caplog.messages) == bool(stored), caplog.messages
        assert not list(folder.glob("cache/checkpoints/*/*"))
        resumed.append(len(stored))
        read.clear()
    assert resumed == sorted(resumed)
    assert resumed[0] == 0, "the first build was killed before it stored a shard"
    assert 0 < resumed[1] < resumed[2] < resumed[3]


def test_checkpoints_of_other_rows_are_removed_and_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = sample_settings(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise RecipeError("no more", todo="")

    with monkeypatch.context() as patch:
        patch.setattr(miracl, "refuse_missing_passages", fail)
        with pytest.raises(RecipeError):
            make(definition_of(RETRIEVAL), "1.0.0", settings)
    [first] = tmp_path.glob("cache/checkpoints/*/*")
    assert len(list(first.iterdir())) == SHARDS
    read = record_shards(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(miracl, "refuse_missing_passages", fail)
        with pytest.raises(RecipeError):
            make(definition_of(RETRIEVAL), "2.0.0", settings)
    assert len(read) == SHARDS
    [second] = tmp_path.glob("cache/checkpoints/*/*")
    assert second != first
    make(definition_of(RETRIEVAL), "2.0.0", settings)
    assert len(read) == SHARDS
    assert not list(tmp_path.glob("cache/checkpoints/*/*"))
