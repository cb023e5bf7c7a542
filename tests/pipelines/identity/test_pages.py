"""The pages of a difference: their width, and texts of a dataset that must not become markup."""

from pathlib import Path
from typing import Any

from pipelines.identity.pages import markdown_page, text_page, verdict, write_html
from pipelines.identity.rows import TableDifference

LONG = "a-very-long-name-of-a-dataset-that-somebody-chose-" * 2


def difference_of(*tables: TableDifference, **values: Any) -> dict[str, Any]:
    side = {"name": LONG, "where": "/".join([LONG] * 2), "dataset": None, "version": None, "content_sha256": None}
    empty = {"same": False, "differences": ["rows"], "a": side, "b": side, "task": "", "notes": [], "tables": tables}
    return {**empty, "figures": {}, "equal_figures": 0, **values}


def test_a_difference_fits_80_columns() -> None:
    rows = [{"text": "word " * 60, "label": [1, 2], "id": "x" * 90}]
    changed = TableDifference(
        LONG, "test", "changed", 10**7, 10**7, LONG, columns=("-label (int64)",) * 9, added=5, examples={"added": rows},
        types={LONG: ("int64", "string")}, labels={LONG: LONG}, differing={LONG: 10**7}, changed=10**7, same_text=10**7,
    )  # fmt: skip
    release = {"dataset": LONG, "version": "1.0.0", "content_sha256": "0" * 64, "name": LONG, "where": LONG}
    figures = {
        "statistics / test / text_statistics / labels / " + LONG: [1, 2.5],
        "option / words": ["word " * 90, None],
        "dropped / " + LONG * 2: [10**9, 10**9],
    }
    page = text_page(difference_of(changed, a=release, notes=["word " * 60], figures=figures, equal_figures=3))
    assert max(map(len, page)) <= 80


def test_long_names_of_figures_keep_their_beginning_and_end() -> None:
    name = "text_statistics / " + "x" * 80 + " / count"
    table = TableDifference("default", "test", "same", 1, 1, equal=1)
    page = text_page(difference_of(table, figures={f"statistics / test / {name}": [1, 2]}))
    [line] = [line for line in page if line.startswith("text: ")]
    assert "..." in line
    assert ": count  1  2" in line


def test_the_statistics_of_two_splits_are_side_by_side() -> None:
    table = TableDifference("default", "test", "same", 1, 1, equal=1)
    figures = {"train / num_samples": [7, 6], "test / num_samples": [5, 4], "test / samples_in_train": [1, 0]}
    page = text_page(difference_of(table, figures={f"statistics / {name}": pair for name, pair in figures.items()}))
    assert page[-6:-2] == [
        "statistics           train A  train B  test A  test B",
        "-------------------  -------  -------  ------  ------",
        "rows                       7        6       5       4",
        "texts also in train                         1       0",
    ]


def test_the_verdict_names_what_differs_and_does_not_count() -> None:
    assert verdict(difference_of(differences=[])) == "the same rows"
    assert (
        verdict(difference_of(differences=["order", "ids"]))
        == "the same rows, but for the order of rows and the ids of rows"
    )
    assert verdict(difference_of(differences=["order", "rows"])) == "different rows"


def test_texts_never_become_markup(tmp_path: Path) -> None:
    rows = [{"text": ["<script>alert(1)</script>|", "<b>`x`</b>\x1b[31m"], "label": 1}]
    changed = TableDifference(
        "default", "test", "changed", 1, 1, changed=1, same_id=1, differing={"text": 1}, examples={"changed": rows}
    )
    lines = markdown_page(difference_of(changed))
    [line] = [line for line in lines if "alert" in line]
    assert (line[:4], line[-2:], line.count("`")) == ("- `{", "}`", 2)
    assert "|" not in line
    assert not any("\x1b" in line for line in lines)
    write_html(tmp_path / "page.html", difference_of(changed))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert [part for part in ("<script", "<b>`", "\x1b") if part in page] == []
    assert "&lt;script&gt;alert(1)" in page
