"""Lists as classic scripts: nothing in a value can end the script, and pages are written one at a time. Rows have their names and
their order, of a large table those that are named are shown, and of two versions those that differ.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.audit.findings import findings_where
from pipelines.audit.quality import audit_tables
from pipelines.catalogue_site import lists
from pipelines.catalogue_site.lists import (
    ALL_ROWS,
    as_json,
    compare_versions,
    listed_ids,
    named_positions,
    write_finding,
    write_list,
    write_queries,
    write_rows,
)
from pipelines.make import make
from tests.support.releases import definition_of, other_golden, sample_settings
from tests.support.sites import HOSTILE, read_records
from tests.support.tables import TASKS, as_lazy, clean_tables, row_names, with_rows


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "READ_ROWS", 3)


def rows_of(tmp_path: Path, table: pl.DataFrame, shown: pl.Expr = ALL_ROWS) -> list[list[Any]]:
    write_rows(tmp_path, "table-1", table.lazy(), shown)
    return read_records(tmp_path, "table-1")


def test_rows_without_an_id_have_the_names_of_the_audit_also_where_they_are_equal(tmp_path: Path) -> None:
    table = pl.DataFrame({"text": ["a", "b", "a", "c", "a", "b", "d"], "label": [[1], [], [1], [], [1], [0], [2]]})
    rows = rows_of(tmp_path, table)
    assert [row[0] for row in rows] == list(range(7))
    assert tuple(row[1] for row in rows) == row_names(table, *range(7))
    assert rows[4][1] == f"{rows[0][1]}-3"
    assert [tuple(row[2:]) for row in rows] == table.rows()


def test_rows_with_an_id_are_named_by_it(tmp_path: Path) -> None:
    tables = clean_tables("Retrieval")
    assert [row[1] for row in rows_of(tmp_path, tables["corpus"]["test"])] == ["d1", "d2", "d3"]
    assert [row[1] for row in rows_of(tmp_path / "qrels", tables["qrels"]["test"])] == ["q1 d1", "q2 d2", "q2 d3"]


def test_of_a_large_table_the_named_rows_are_shown_with_their_places_and_names(tmp_path: Path) -> None:
    table = pl.DataFrame({"text": ["same", "b", "same", "c", "same"]})
    rows = rows_of(tmp_path, table, pl.col("__position").is_in([4, 1]))
    assert [row[0] for row in rows] == [1, 4]
    assert tuple(row[1] for row in rows) == row_names(table, 1, 4), "equal rows that are not shown count"
    corpus = pl.DataFrame({"id": [f"d{n}" for n in range(9)], "text": list("abcdefghi")})
    named = pl.col("__position").is_in([0]) | pl.col("id").is_in(["d7", "d2", "unknown"])
    assert [row[1] for row in rows_of(tmp_path / "corpus", corpus, named)] == ["d0", "d2", "d7"]
    assert listed_ids(corpus.lazy(), named).rows() == [(0, "d0"), (1, "d2"), (2, "d7")]


def test_rows_are_read_batch_after_batch_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    slices, slice_of = [], pl.LazyFrame.slice

    def watch(frame: pl.LazyFrame, offset: int, length: int | None = None) -> pl.LazyFrame:
        slices.append((offset, length))
        return slice_of(frame, offset, length)

    monkeypatch.setattr(pl.LazyFrame, "slice", watch)
    batches = lists.read_batches(pl.LazyFrame({"id": [str(n) for n in range(100)]}))
    assert [list(batch["__position"]) for batch in islice(batches, 2)] == [[0, 1, 2], [3, 4, 5]]
    assert slices == [(0, 3), (3, 3)], "the third batch is not read before somebody asks for it"


def test_queries_come_with_judged_documents_the_best_first_and_with_unjudged_candidates(tmp_path: Path) -> None:
    frames = as_lazy(clean_tables("Reranking"))
    ids = [listed_ids(frames[config]["test"]) for config in ("queries", "corpus")]
    listed, positives = write_queries(tmp_path, "queries-1", frames, (ids[0], ids[1]), split="test")
    assert listed.records == 2
    assert positives == {1: 2}
    assert read_records(tmp_path, "queries-1") == [[0, [[0, 1]], [2]], [1, [[1, 2], [2, 0]], [0]]]


def test_a_document_that_is_not_shown_keeps_its_id(tmp_path: Path) -> None:
    frames = as_lazy(clean_tables("Retrieval"))
    queries, documents = (listed_ids(frames[config]["test"]) for config in ("queries", "corpus"))
    write_queries(tmp_path, "queries-1", frames, (queries, documents.head(1)), split="test")
    assert read_records(tmp_path, "queries-1")[1] == [1, [["d2", 2], ["d3", 0]], []]


def test_a_finding_brings_all_its_rows_with_their_twins(tmp_path: Path) -> None:
    table = pl.DataFrame({"text": ["one", "two", "one", "one"], "label": [0, 1, 0, 1]})
    rows = table.with_row_index("position").with_columns(twin=pl.lit(0, pl.UInt32))
    [found] = findings_where(
        "duplicate_text", ("default", "test", "text"), rows, pl.col("text").eq("one") & (pl.col("position") > 0)
    )
    found = replace(found, tables={"test": table.lazy()})
    _, columns = write_finding(tmp_path, "finding-1", found, {})
    first, _, third, fourth = row_names(table, 0, 1, 2, 3)
    assert columns == ("text", "label")
    assert read_records(tmp_path, "finding-1") == [
        [third, 2, ["one", 0], first, "test", ["one", 0]],
        [fourth, 3, ["one", 1], first, "test", ["one", 0]],
    ]
    assert named_positions([found], "default", "test").sort().to_list() == [0, 2, 3]


def test_a_judgement_brings_the_texts_of_its_query_and_document(tmp_path: Path) -> None:
    frames = as_lazy(clean_tables("Retrieval"))
    rows = frames["qrels"]["test"].with_row_index("position")
    [found] = findings_where("score_out_of_range", ("qrels", "test", ""), rows, pl.col("score") == 2)
    found = replace(found, tables=frames["qrels"])
    _, columns = write_finding(tmp_path, "finding-1", found, frames)
    assert columns[-2:] == ("queries: text", "corpus: text")
    [[name, _, values, twin, _, _]] = read_records(tmp_path, "finding-1")
    assert (name, twin) == ("q2 d2", None)
    assert values == ["q2", "d2", 2, "what do bees build with (test)", "They build with it."]


def test_an_unjudged_pair_brings_the_texts_of_its_query_and_document(tmp_path: Path) -> None:
    frames = as_lazy(with_rows("corpus", "test", ("d4", "", "Bees make honey."))(clean_tables("Retrieval")))
    found = audit_tables(TASKS["Retrieval"], frames, ("test",), ())
    [unjudged] = [one for one in found if one.finding.kind == "unjudged_twin"]
    _, columns = write_finding(tmp_path, "finding-1", unjudged, frames)
    assert columns == ("query-id", "corpus-id", "score", "queries: text", "corpus: text")
    values = ["q1", "d4", None, "who makes honey (test)", "Bees make honey."]
    assert read_records(tmp_path, "finding-1") == [["q1 d4", -1, values, None, None, None]]


def test_a_row_that_has_an_id_and_other_values_is_changed(tmp_path: Path) -> None:
    settings = sample_settings(tmp_path)
    terra = definition_of("terra-pairclassification")
    old = make(terra, "1.0.0", settings)
    golden = other_golden(tmp_path / "other")
    new = make(terra, "1.0.0", replace(settings, output=tmp_path / "others", golden=golden))
    sides = ((old.release_dir, old.manifest), (new.release_dir, new.manifest))
    [change] = compare_versions(tmp_path, "changes", *sides, with_rows=True)
    assert (change.state, change.removed, change.added, change.changed) == ("changed", 0, 0, 1)
    [[name, position, before, after]] = read_records(tmp_path, change.lists["changed"].folder)
    assert (name, position) == ("0", 0)
    column = change.new_columns.index("sentence2")
    assert after[column] == "Совсем другая гипотеза."
    assert before[column] != after[column]
    assert before[:column] + before[column + 1 :] == after[:column] + after[column + 1 :]
    [unlisted] = compare_versions(tmp_path, "none", *sides, with_rows=False)
    assert (unlisted.changed, unlisted.lists) == (1, {})
    [same] = compare_versions(tmp_path, "same", sides[0], sides[0], with_rows=True)
    assert same.state == "same"


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_text_is_the_same_text_again_and_holds_no_markup(number: int) -> None:
    text = HOSTILE[number]
    written = as_json([text]).decode()
    assert json.loads(written) == [text]
    for character in "<\0\u2028\u2029\n":
        assert character not in written


def test_half_of_a_pair_of_surrogates_becomes_a_replacement_character() -> None:
    written = as_json({"a \ud800": ["\udfff", "😀", 1, None, True]})
    assert json.loads(written) == {"a \ufffd": ["\ufffd", "😀", 1, None, True]}


@pytest.mark.parametrize(
    ("value", "read"),
    [(2**53 - 1, 2**53 - 1), (2**53, str(2**53)), (-(2**62), str(-(2**62))), (float("nan"), None), (0.1, 0.1)],
    ids=["the largest", "too large", "too small", "not a number", "a fraction"],
)
def test_a_number_that_javascript_would_change_is_written_as_text(value: Any, read: Any) -> None:
    assert json.loads(as_json([value])) == [read]


def test_a_list_is_pages_of_a_thousand_records(tmp_path: Path) -> None:
    listed = write_list(tmp_path, "table-1", ([number] for number in range(2_001)))
    assert (listed.folder, listed.records, listed.pages) == ("table-1", 2_001, 3)
    assert [path.name for path in sorted(tmp_path.rglob("*.js"))] == ["rows-0001.js", "rows-0002.js", "rows-0003.js"]
    assert read_records(tmp_path, "table-1") == [[number] for number in range(2_001)]


def test_no_more_than_a_page_of_records_is_in_memory(tmp_path: Path) -> None:
    def records() -> Iterator[list[int]]:
        for number in range(3_000):
            assert len(list((tmp_path / "table-1").iterdir())) == number // 1_000, "earlier pages are written"
            yield [number]

    assert write_list(tmp_path, "table-1", records()).pages == 3


def test_an_empty_list_has_a_folder_and_no_pages(tmp_path: Path) -> None:
    assert write_list(tmp_path, "table-1", []).pages == 0
    assert list((tmp_path / "table-1").iterdir()) == []
