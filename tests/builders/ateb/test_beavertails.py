"""BeaverTails' test split from the real raw file has the published rows and categories of harm."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.support.real_releases import label_counts, read_table, warning_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.make import BuildResult


def test_beavertails_has_the_published_rows_and_every_unsafe_row_a_category_of_harm(
    real_release: Callable[[str], BuildResult],
) -> None:
    result = real_release("beavertails-qa-classification")
    rows = read_table(result)
    assert rows.height == 3021
    assert label_counts(rows) == {"unsafe": 1733, "safe": 1288}
    assert result.manifest.observed == {"safe rows with a kind of harm, unsafe rows without": 0}
    harms = Counter(rows["category"].explode().drop_nulls())
    assert len(harms) == 14
    assert (harms["violence,aiding_and_abetting,incitement"], harms["self_harm"]) == (724, 19)
    assert all(kinds == sorted(kinds) for kinds in rows["category"].to_list()), "upstream's order is alphabetical"
    assert warning_counts(result) == {"duplicate_text": 2, "invisible_character": 1}
