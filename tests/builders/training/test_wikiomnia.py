"""WikiOmnia: both layouts of its file, summaries with several questions, and the title in the document."""

from pathlib import Path

from builders.training.wikiomnia import CONFIG
from tests.support.training import build_golden, count_dropped, rows_of

NAME = "wikiomnia-contrastive"


def test_the_title_can_be_the_first_line_of_the_document(tmp_path: Path) -> None:
    rows = rows_of(build_golden(NAME, tmp_path, title=True), CONFIG)
    assert rows[15][1] == ["Храм\nХрам стоит на холме над рекой."]


def test_empty_texts_are_counted(tmp_path: Path) -> None:
    dropped = count_dropped(build_golden(NAME, tmp_path))
    assert (dropped["an empty positive"], dropped["an empty query"]) == (2, 1)
