"""MultiParaCrawl: the members of the archive, the pool, and builds that are killed."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from builders.reading import lines
from builders.shaping import popularity
from builders.spec import Raw
from builders.training.multi_para_crawl import BITEXT, CONFIG, SOURCE
from pipelines.make import GOLDEN, BuildResult, make
from tests.support.killed_builds import run_killed
from tests.support.releases import definition_of, sample_settings
from tests.support.training import build_golden, table_of

NAME = "multi-para-crawl-contrastive"
SIDES = {"en": "MultiParaCrawl.en-ru.en", "ru": "MultiParaCrawl.en-ru.ru"}


def test_the_two_files_are_read_in_the_archive(tmp_path: Path) -> None:
    folder = GOLDEN / "multi_para_crawl" / "raw"
    path = tmp_path / "en-ru.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("README", *SIDES.values(), "MultiParaCrawl.en-ru.ids"):
            archive.writestr(name, (folder / name).read_bytes() if name in SIDES.values() else b"x\n")
    assert {side: SOURCE.files[side].location.path for side in SIDES} == SIDES
    archived = {side: Raw(name, path, name) for side, name in SIDES.items()}
    plain = {side: Raw(name, folder / name) for side, name in SIDES.items()}
    batches = [list(BITEXT.read(files)) for files in (archived, plain)]
    assert [frame.rows() for frame in batches[0]] == [frame.rows() for frame in batches[1]]


def test_a_smaller_pool_has_fewer_rows_to_choose_from(tmp_path: Path) -> None:
    rows = [table_of(build_golden(NAME, tmp_path / str(pool), pool=pool)).height for pool in (3, 8, 1_200_000)]
    assert rows == [3, 8, 11]


def test_a_missing_line_is_refused(tmp_path: Path) -> None:
    def remove_the_last_line(raw: Path) -> None:
        path = raw / SIDES["ru"]
        path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-2]))

    with pytest.raises(SourceError, match="different numbers of lines"):
        build_golden(NAME, tmp_path, remove_the_last_line)


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
