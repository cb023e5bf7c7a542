"""What a killed build leaves to the next one: whole steps, of the same rows, and nothing else."""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from builders.checkpoints import run_once
from pipelines.release import checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IDENTITY = {
    "dataset": "toy-sts",
    "version": "1.0.0",
    "splits": ["test"],
    "limit": None,
    "sample": False,
    "recipe": {"module": "builders.ateb.toy", "options": {"clean": False}, "sha256": "aa"},
    "raw": [{"name": "toy.jsonl", "sha256": "bb", "verified": False}],
    "report_sha256": "cc",
}


def silent(_: str) -> None:
    """Nobody listens."""


def writing(*names: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        assert list(folder.iterdir()) == []
        for name in names:
            (folder / name).write_text(name)

    return step


def refuse(_: Path) -> None:
    pytest.fail("the step was taken again")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_step_is_taken_once(tmp_path: Path) -> None:
    folder = run_once(tmp_path / "kept" / "one", writing("a", "b"))
    assert run_once(folder, refuse) == folder
    assert names(folder) == ["a", "b"]
    assert names(tmp_path / "kept") == ["one"]


def test_a_step_that_leaves_nothing_is_taken_once_too(tmp_path: Path) -> None:
    run_once(tmp_path / "one", writing())
    assert names(run_once(tmp_path / "one", refuse)) == []


def test_a_step_that_did_not_end_is_taken_again_from_its_beginning(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        writing("half")(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path / "one", fail)
    assert not (tmp_path / "one").exists()
    assert names(run_once(tmp_path / "one", writing("whole"))) == ["whole"]


def use(cache: Path, said: Callable[[str], None] = silent, *, end: bool = True, **changed: Any) -> list[str]:
    """Build something: what was kept for it; `end` says whether the build ends well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.fingerprint, "tools", lambda: changed.pop("tools", {"polars": "2"}))
        with suppress(InterruptedError), checkpoints.checkpoint_dir(cache, IDENTITY | changed, said) as folder:
            found = names(folder)
            run_once(folder / "one", writing("a"))
            if not end:
                interrupt()
    return found


def interrupt() -> None:
    raise InterruptedError


def test_what_a_build_leaves_is_there_for_the_next_one_and_gone_after_it(tmp_path: Path) -> None:
    said: list[str] = []
    assert use(tmp_path, said.append, end=False) == []
    assert said == []
    assert use(tmp_path, said.append, end=True) == ["one"]
    assert len(said) == 1
    assert said[0].startswith("toy-sts: going on from what a build that did not end left in ")
    assert use(tmp_path) == []
    assert names(tmp_path / "kept" / "toy-sts") == []


@pytest.mark.parametrize(
    "changed",
    [
        {"raw": [{"name": "toy.jsonl", "sha256": "b0", "verified": False}]},
        {"recipe": IDENTITY["recipe"] | {"sha256": "a0"}},  # type: ignore[operator]
        {"recipe": IDENTITY["recipe"] | {"options": {"clean": True}}},  # type: ignore[operator]
        {"limit": 10},
        {"splits": ["train"]},
        {"tools": {"polars": "3"}},
    ],
)
def test_what_follows_from_something_else_is_removed(changed: dict[str, Any], tmp_path: Path) -> None:
    use(tmp_path, end=False)
    assert use(tmp_path, end=False, **changed) == []
    assert len(names(tmp_path / "kept" / "toy-sts")) == 1
    assert use(tmp_path, end=False) == []


def test_a_sample_leaves_what_the_whole_has_left(tmp_path: Path) -> None:
    use(tmp_path, end=False)
    use(tmp_path, sample=True, end=False)
    assert use(tmp_path, sample=True, limit=10) == [], "another sample"
    assert use(tmp_path) == ["one"]


def test_another_card_of_the_same_rows_takes_over_what_was_kept(tmp_path: Path) -> None:
    use(tmp_path, end=False)
    assert use(tmp_path, report_sha256="c0", version="1.0.1") == ["one"]


@pytest.mark.parametrize("limit", [None, 10], ids=["its own", "another's"])
def test_a_removal_that_was_killed_leaves_nothing_that_looks_whole(
    limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(tmp_path, end=False)

    def die(folder: Path, *, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            use(tmp_path, limit=limit)
    assert "gone" in names(tmp_path / "kept" / "toy-sts")
    assert use(tmp_path, end=False) == []
    assert "gone" not in names(tmp_path / "kept" / "toy-sts")


def test_two_builds_of_one_dataset_never_share_a_folder(tmp_path: Path) -> None:
    said: list[str] = []
    with checkpoints.checkpoint_dir(tmp_path, IDENTITY, silent):
        other = threading.Thread(target=use, args=(tmp_path, said.append))
        other.start()
        other.join(0.5)
        assert other.is_alive()
    other.join(60)
    assert said == ["toy-sts: another command is writing it; waiting for it to end"]
