"""MultiParaCrawl: the members of the archive, and the pool."""

import zipfile
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.spec import Raw
from builders.training.multi_para_crawl import BITEXT, SOURCE
from pipelines.make import GOLDEN
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
