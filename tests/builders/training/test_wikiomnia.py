"""WikiOmnia: both layouts of its file, summaries with several questions, and the title in the document."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.training.wikiomnia import CONFIG
from tests.support.training import build_golden, count_dropped, rows_of

NAME = "wikiomnia-contrastive"
FILE = "dummy/wikiomnia_ruT5_filtered/wikiomnia_ruT5_filtered_train.json"


def test_the_title_can_be_the_first_line_of_the_document(tmp_path: Path) -> None:
    rows = rows_of(build_golden(NAME, tmp_path, title=True), CONFIG)
    assert rows[15][1] == ["Храм\nХрам стоит на холме над рекой."]


def test_empty_texts_are_counted_and_a_summary_of_another_type_is_refused(tmp_path: Path) -> None:
    dropped = count_dropped(build_golden(NAME, tmp_path / "as it is"))
    assert (dropped["an empty positive"], dropped["an empty query"]) == (2, 1)

    def number_for_text(raw: Path) -> None:
        (raw / FILE).write_bytes((raw / FILE).read_bytes().replace(b'"summary": null', b'"summary": 13'))

    with pytest.raises(SourceError, match="summary has the wrong type") as caught:
        build_golden(NAME, tmp_path / "changed", number_for_text)
    assert "line 13" in str(caught.value.where)
