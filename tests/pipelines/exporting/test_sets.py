"""The negatives of a row for trainers: provided, then mined, then random ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import ReleaseError
from pipelines.exporting.sets import BATCH, Tally, find_releases, join_negatives, read_pairs, select_sets
from pipelines.release import folder, parquet
from tests.support.altered_releases import with_manifest, with_rows
from tests.support.training_releases import SCHEMA, Row, pair, write_training_release


def joined(*rows: Row, most: int = 7) -> list[str]:
    frame = pl.DataFrame(list(rows), {name: SCHEMA[name] for name in rows[0]})
    return [" ".join(texts) for texts in join_negatives(frame.drop("id"), most)["negatives"]]


def test_negatives_are_provided_then_mined_then_random() -> None:
    assert joined(pair("q", provided="a b", mined="c d", random="e f")) == ["a b c d e f"]
    assert joined(pair("q", provided="a b", random="e f")) == ["a b e f"]


words = st.lists(st.sampled_from("abcdefgh"), max_size=7, unique=True)


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=4), st.integers(0, 7))
def test_the_negatives_are_those_that_a_loop_would_take(rows: list[tuple[list[str], ...]], most: int) -> None:
    def expected(provided: list[str], mined: list[str], random: list[str]) -> str:
        return " ".join([*provided, *mined, *(text for text in random if text not in mined)][:most])

    texts = [[" ".join(one) for one in row] for row in rows]
    pairs = [pair("q", provided=provided, mined=mined, random=random) for provided, mined, random in texts]
    assert joined(*pairs, most=most) == [expected(*row) for row in rows]


def read(release_dir: Path, negatives: int = 7) -> tuple[list[pl.DataFrame], Tally]:
    [one] = select_sets(find_releases([str(release_dir)], release_dir), None)
    tally = Tally()
    return list(read_pairs(one, negatives, tally)), tally


def test_rows_are_read_in_batches_and_in_order(tmp_path: Path) -> None:
    rows = [pair(f"q{number}", provided="a") for number in range(2 * BATCH + 5)]
    batches, tally = read(write_training_release(tmp_path, {"faq": rows}))
    assert [batch.height for batch in batches] == [BATCH, BATCH, 5]
    assert [query for batch in batches for query in batch["query"]] == [row["query"] for row in rows]
    assert tally.read == len(rows)


def test_the_files_of_a_set_are_read_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 4)
    monkeypatch.setattr(parquet, "SHARD_BYTES", 1)
    rows = [pair(f"q{number}", provided="a") for number in range(10)]
    release_dir = write_training_release(tmp_path, {"faq": rows})
    assert len(list(release_dir.rglob("*.parquet"))) == 3
    batches, _ = read(release_dir)
    assert [query for batch in batches for query in batch["query"]] == [row["query"] for row in rows]


def test_another_number_of_rows_than_that_of_the_manifest_is_refused(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"faq": [pair("q", provided="a")]})
    [table] = folder.require_manifest(release_dir).tables
    with_manifest(release_dir, tables=(replace(table, rows=2),))
    with pytest.raises(ReleaseError, match=r"(?s)the release is damaged.*1 rows.*expected: 2"):
        read(release_dir)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.with_columns(query=pl.lit(None, pl.String)), "a null"),
        (lambda frame: frame.with_columns(positives=pl.lit([], pl.List(pl.String))), "without a positive"),
        (lambda frame: frame.with_columns(negative_kinds=pl.lit([], pl.List(pl.String))), "number of kinds"),
        (lambda frame: frame.with_columns(negative_kinds=pl.lit(["guessed"])), "unknown kind"),
        (lambda frame: frame.with_columns(negatives=pl.lit([None], pl.List(pl.String))), "a null"),
        (lambda frame: frame.with_columns(positives=pl.lit("text")), "column positives: string"),
        (lambda frame: frame.drop("negative_kinds"), "column negative_kinds: missing"),
    ],
    ids=["null query", "no positive", "kinds", "kind", "null negative", "type", "column"],
)
def test_rows_that_no_build_writes_are_refused(
    change: Callable[[pl.DataFrame], pl.DataFrame], problem: str, tmp_path: Path
) -> None:
    release_dir = write_training_release(tmp_path, {"faq": [pair("q", provided="a")]})
    with_rows(release_dir, change)
    with pytest.raises(ReleaseError, match=r"(?s)the release is damaged.*" + problem):
        read(release_dir)


@pytest.mark.parametrize("size", [0, 100, -1], ids=["empty", "truncated", "longer"])
def test_a_file_that_differs_from_the_manifest_is_refused(size: int, tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"faq": [pair("q", provided="a")]})
    [path] = release_dir.rglob("*.parquet")
    path.write_bytes(path.read_bytes()[:size] if size >= 0 else path.read_bytes() + b" ")
    with pytest.raises(ReleaseError, match="has changed"):
        read(release_dir)
    path.unlink()
    with pytest.raises(ReleaseError, match="is missing"):
        read(release_dir)
