"""BeaverTails' test split from the real rows has the published numbers and categories of harm."""

from collections import Counter
from pathlib import Path

from tests.support.real_releases import label_counts
from tests.support.recipes import build_tables, dropped_counts, frame

NAME = "beavertails-qa-classification"


def test_beavertails_has_the_published_rows_and_every_unsafe_row_a_category_of_harm(
    real_sources: Path, tmp_path: Path
) -> None:
    """The real rows are in a copy with other bytes than the pinned file, so no build takes it."""
    test = {"test": real_sources / "beavertails" / "round0" / "30k" / "test.jsonl.gz"}
    tables, clean = (build_tables(NAME, test, tmp_path, splits=("test",), clean=clean) for clean in (False, True))
    rows = frame(tables)
    assert rows.height == 3021
    assert label_counts(rows) == {"unsafe": 1733, "safe": 1288}
    assert tables.observed == {"safe rows with a kind of harm, unsafe rows without": 0}
    harms = Counter(rows["category"].explode().drop_nulls())
    assert len(harms) == 14
    assert (harms["violence,aiding_and_abetting,incitement"], harms["self_harm"]) == (724, 19)
    assert all(kinds == sorted(kinds) for kinds in rows["category"].to_list()), "upstream's order is alphabetical"
    assert dropped_counts(clean) == {"duplicate of an earlier row": 2}
