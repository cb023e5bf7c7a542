"""MultiParaCrawl: the members of the archive, the pool, and builds that are killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.reading import lines
from builders.shaping import popularity
from builders.training.multi_para_crawl import CONFIG
from pipelines.make import BuildResult, make
from tests.support.killed_builds import run_killed
from tests.support.releases import definition_of, sample_settings
from tests.support.training import build_golden, table_of

NAME = "multi-para-crawl-contrastive"
SIDES = {"en": "MultiParaCrawl.en-ru.en", "ru": "MultiParaCrawl.en-ru.ru"}


def test_a_smaller_pool_has_fewer_rows_to_choose_from(tmp_path: Path) -> None:
    rows = [table_of(build_golden(NAME, tmp_path / str(pool), pool=pool)).height for pool in (3, 8, 1_200_000)]
    assert rows == [3, 8, 11]


@pytest.mark.slow
def test_a_killed_build_resumes_with_the_first_batch_that_is_not_finished(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample has 19 pairs, here ten batches."""
    folders = run_killed(tmp_path, NAME, batch=2, most=1_000, every=17, below="cache")
    undisturbed, stored, resumed = golden_release(NAME, "1.0.0"), list[int](), list[int]()
    write_batch = popularity._store_batch

    def write_and_record(folder: Path, **batch: Any) -> None:
        stored.append(int(folder.stem))
        write_batch(folder, **batch)

    monkeypatch.setattr(popularity, "_store_batch", write_and_record)
    monkeypatch.setattr(popularity, "BATCH_ROWS", 2)
    monkeypatch.setattr(lines, "BATCH", 2)
    for folder in folders[:-1]:
        finished = [
            path.name for path in folder.glob(f"cache/checkpoints/*/*/{CONFIG}-all*/*") if path.suffix != ".part"
        ]
        result = make(definition_of(NAME), "1.0.0", sample_settings(folder))
        for field in ("content_sha256", "dropped", "observed"):
            assert getattr(result.manifest, field) == getattr(undisturbed.manifest, field)
        [file] = (result.release_dir / path.path for path in result.manifest.files)
        assert file.read_bytes() == (undisturbed.release_dir / file.relative_to(result.release_dir)).read_bytes()
        if result.state != "up to date":
            assert [*map(int, sorted(finished)), *stored] == [*range(10)], "each batch is written once"
            resumed.append(len(finished))
        assert not list(folder.glob("cache/checkpoints/*/*"))
        stored.clear()
    assert resumed == sorted(resumed)
    assert {0, 10} < {*resumed}
    assert len({*resumed}) > 4, "most were killed while they read"
