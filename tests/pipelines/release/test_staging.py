"""Checkpoints: a killed build leaves complete steps to the next build of the same rows, and nothing else."""

import logging
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.batches import run_once
from cards.manifest import Manifest, RawEntry, Recipe
from pipelines.release import staging

RAW = RawEntry("toy.jsonl", None, "b" * 64, 3, verified=False)
RECIPE = Recipe("builders.ateb.toy", {"clean": False}, "a" * 64)
IDENTITY = Manifest(
    dataset="toy-sts",
    version="1.0.0",
    source="toy",
    task="STS",
    content_sha256="",
    tables=(),
    splits=("test",),
    sample=False,
    partial=False,
    raw=(RAW,),
    recipe=RECIPE,
    report_sha256="c" * 64,
    dropped=(),
    findings=(),
)


def writing(*names: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        assert list(folder.iterdir()) == []
        for name in names:
            (folder / name).write_text(name)

    return step


def refuse(_: Path) -> None:
    pytest.fail("the step ran again")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_step_runs_once(tmp_path: Path) -> None:
    folder = run_once(tmp_path / "steps" / "one", writing("a", "b"))
    assert run_once(folder, refuse) == folder
    assert names(folder) == ["a", "b"]
    assert names(tmp_path / "steps") == ["one"]


def test_a_step_without_files_runs_once_too(tmp_path: Path) -> None:
    run_once(tmp_path / "one", writing())
    assert names(run_once(tmp_path / "one", refuse)) == []


def test_an_interrupted_step_runs_again_from_its_beginning(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        writing("half")(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path / "one", fail)
    assert not (tmp_path / "one").exists()
    assert names(run_once(tmp_path / "one", writing("whole"))) == ["whole"]


def build(cache: Path, *, end: bool = True, **changes: Any) -> list[str]:
    """Build something with one step; returns the checkpoints that were there. end: whether the build ends well."""
    with pytest.MonkeyPatch.context() as patch:
        tools = changes.pop("tools", {"polars": "2"})
        patch.setattr(staging.fingerprint, "tools", lambda: tools)
        with suppress(InterruptedError), staging.checkpoint_dir(cache, replace(IDENTITY, **changes)) as folder:
            found = names(folder)
            run_once(folder / "one", writing("a"))
            if not end:
                interrupt()
    return found


def interrupt() -> None:
    raise InterruptedError


def test_the_next_build_finds_the_checkpoints_and_removes_them_when_it_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert build(tmp_path, end=False) == []
    assert caplog.messages == []
    assert build(tmp_path, end=True) == ["one"]
    [message] = caplog.messages
    assert message.startswith("toy-sts: resuming from the checkpoints in ")
    assert build(tmp_path) == []
    assert names(tmp_path / "checkpoints") == []


def test_a_build_that_fails_before_its_first_checkpoint_leaves_no_folder(tmp_path: Path) -> None:
    with suppress(InterruptedError), staging.checkpoint_dir(tmp_path, IDENTITY):
        interrupt()
    assert names(tmp_path / "checkpoints") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"raw": (replace(RAW, sha256="d" * 64),)},
        {"recipe": replace(RECIPE, sha256="d" * 64)},
        {"recipe": replace(RECIPE, options={"clean": True})},
        {"limit": 10},
        {"splits": ("train",)},
        {"tools": {"polars": "3"}},
    ],
    ids=["raw file", "code", "options", "limit", "splits", "libraries"],
)
def test_checkpoints_of_other_rows_are_removed(changes: dict[str, Any], tmp_path: Path) -> None:
    build(tmp_path, end=False)
    assert build(tmp_path, end=False, **changes) == []
    assert len(names(tmp_path / "checkpoints" / "toy-sts")) == 1
    assert build(tmp_path, end=False) == []


def test_a_sample_does_not_remove_the_checkpoints_of_the_whole_dataset(tmp_path: Path) -> None:
    build(tmp_path, end=False)
    build(tmp_path, sample=True, end=False)
    assert build(tmp_path, sample=True, limit=10) == [], "another sample"
    assert build(tmp_path) == ["one"]


def test_a_build_with_another_card_of_the_same_rows_resumes_too(tmp_path: Path) -> None:
    build(tmp_path, end=False)
    assert build(tmp_path, report_sha256="d" * 64, version="1.0.1") == ["one"]


@pytest.mark.parametrize("limit", [None, 10], ids=["its own", "another build's"])
def test_a_killed_removal_leaves_nothing_that_counts_as_complete(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, end=False)

    def die(folder: Path, *, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path, limit=limit)
    [leftover] = names(tmp_path / "checkpoints" / "toy-sts")
    assert leftover.endswith(".removed")
    assert build(tmp_path, end=False) == []
    assert leftover not in names(tmp_path / "checkpoints" / "toy-sts")


def test_two_builds_of_one_dataset_never_share_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with staging.checkpoint_dir(tmp_path, IDENTITY):
        other = threading.Thread(target=build, args=(tmp_path,))
        other.start()
        other.join(0.5)
        assert other.is_alive()
    other.join(60)
    assert caplog.messages == ["toy-sts: waiting for another command that is writing it"]
