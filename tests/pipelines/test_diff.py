"""Two releases side by side: rows by key, figures, and the command that tells."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import ReleaseError, UsageError
from cards.manifest import Manifest, Recipe, encode
from pipelines.diff import diff
from pipelines.make import make
from pipelines.release import comparison, folder, parquet
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.verification import verify_release
from tests.support.processes import run
from tests.support.releases import definition_of, other_golden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.make import BuildResult, BuildSettings
    from pipelines.release.comparison import Change

TERRA = "terra-pairclassification"
Frames = dict[str, dict[str, pl.DataFrame]]


@pytest.fixture(scope="session")
def release_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Frames], Path]:
    """A folder with a release of some frames: tables, manifest, empty statistics."""

    def write(frames: Frames) -> Path:
        release_dir = tmp_path_factory.mktemp("release")
        tables = [
            parquet.write_table(frame, release_dir, config, split)
            for config, splits in frames.items()
            for split, frame in splits.items()
        ]
        manifest = Manifest(
            dataset="toy",
            version="1.0.0",
            source="toy",
            task="Retrieval",
            content_sha256=dataset_sha256({(table.config, table.split): table.content_sha256 for table in tables}),
            tables=tuple(tables),
            splits=("test",),
            sample=True,
            partial=False,
            raw=(),
            recipe=Recipe("builders.toy", {}, "0" * 64),
            dropped=(),
            findings=(),
        )
        (release_dir / "manifest.json").write_bytes(encode(manifest))
        folder.write_json(release_dir / "statistics.json", {})
        (release_dir / "README.md").touch()
        assert verify_release(release_dir, manifest) == []
        return release_dir

    return write


def change(release_of: Callable[[Frames], Path], old: pl.DataFrame, new: pl.DataFrame) -> Change:
    """How one table differs."""
    [found] = comparison.compare_tables(release_of({"default": {"test": old}}), release_of({"default": {"test": new}}))
    return found


def test_rows_with_an_id_are_added_removed_or_changed(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"id": ["a", "b", "c"], "title": ["", "", ""], "text": ["one", "two", "three"]})
    new = pl.DataFrame({"id": ["c", "b", "d"], "title": ["", "new", ""], "text": ["three", "two", "four"]})
    found = change(release_of, old, new)
    assert (found.key, found.added, found.removed, found.changed, found.reordered) == (("id",), 1, 1, 1, False)
    assert found.examples == {
        "added": [{"id": "d", "title": "", "text": "four"}],
        "removed": [{"id": "a", "title": "", "text": "one"}],
        "changed": [{"id": "b", "title": ["", "new"]}],
    }


def test_judgements_are_matched_by_both_ids_and_candidates_by_the_query(release_of: Callable[[Frames], Path]) -> None:
    qrels = pl.DataFrame({"query-id": ["q", "q"], "corpus-id": ["1", "2"], "score": [1, 1]})
    found = change(release_of, qrels, qrels.with_columns(score=pl.Series([1, 2])))
    assert found.examples is not None
    assert found.examples["changed"] == [{"query-id": "q", "corpus-id": "2", "score": [1, 2]}]
    ranked = pl.DataFrame({"query-id": ["q"], "corpus-ids": [["1", "2"]]})
    found = change(release_of, ranked, ranked.with_columns(pl.col("corpus-ids").list.reverse()))
    assert (found.key, found.changed) == (("query-id",), 1)


def test_rows_without_a_key_are_matched_whole_as_often_as_they_stand(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"text": ["x", "x", "x", "y"], "label": [0, 0, 0, 1]})
    new = pl.DataFrame({"text": ["x", "y", "y"], "label": [0, 1, 0]})
    found = change(release_of, old, new)
    assert (found.key, found.added, found.removed, found.changed) == ((), 1, 2, 0)


def test_a_key_that_stands_twice_is_none(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"id": ["a", "a"], "text": ["one", "two"]})
    found = change(release_of, old, old.with_columns(text=pl.Series(["one", "three"])))
    assert (found.key, found.added, found.removed) == ((), 1, 1)


def test_another_order_is_told_as_that(release_of: Callable[[Frames], Path]) -> None:
    for old in (pl.DataFrame({"id": ["a", "b"]}), pl.DataFrame({"text": ["a", "b"]})):
        found = change(release_of, old, old.reverse())
        assert found.reordered
        assert (found.added, found.removed, found.changed) == (0, 0, 0)


def test_columns_that_came_went_or_changed_their_type_are_named(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"id": ["a"], "text": ["x"], "label": [1]})
    new = pl.DataFrame({"id": ["a"], "text": ["x"], "label": ["1"], "label_text": ["bad"]})
    found = change(release_of, old, new)
    assert found.columns == ("-label (int64)", "+label (string)", "+label_text (string)")
    assert (found.added, found.removed, found.changed) == (0, 0, 0)
    found = change(release_of, old.select("text"), new.select("id"))
    assert (found.added, found.removed) == (1, 1)


def test_tables_that_came_went_or_are_the_same_are_told(release_of: Callable[[Frames], Path]) -> None:
    one, two = pl.DataFrame({"text": ["a"]}), pl.DataFrame({"text": ["b", "c"]})
    found = comparison.compare_tables(
        release_of({"default": {"train": one, "test": two}}), release_of({"default": {"test": two, "dev": two}})
    )
    assert [(table.split, table.state, table.before, table.after) for table in found] == [
        ("test", "same", 2, 2), ("dev", "new", 0, 2), ("train", "gone", 1, 0),
    ]  # fmt: skip
    assert (found[1].added, found[2].removed) == (2, 1)


def test_only_a_few_examples_are_given_in_the_order_of_the_rows(release_of: Callable[[Frames], Path]) -> None:
    old, new = (pl.DataFrame({"id": [f"{number}" for number in range(end)]}) for end in (100, 30_000))
    found = change(release_of, old, new)
    assert found.added == 29_900
    assert found.examples is not None
    assert [row["id"] for row in found.examples["added"]] == ["100", "101", "102", "103", "104"]


ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "x", "y", None]), st.lists(st.sampled_from("pq"))),
    max_size=8,
)


@given(ROWS, ROWS)
def test_the_counts_are_those_of_a_plain_comparison(
    release_of: Callable[[Frames], Path], old: list[Any], new: list[Any]
) -> None:
    schema = {"id": pl.String, "text": pl.String, "list": pl.List(pl.String)}
    found = change(release_of, *(pl.DataFrame(rows, schema, orient="row") for rows in (old, new)))
    before, after = ([(key, text, tuple(items)) for key, text, items in rows] for rows in (old, new))
    if before == after:
        assert found.state == "same"
        return
    olds, news = ({row[0]: row for row in rows} for rows in (before, after))
    if len(olds) == len(before) and len(news) == len(after):
        assert found.added == len(news.keys() - olds.keys())
        assert found.removed == len(olds.keys() - news.keys())
        assert found.changed == sum(olds[key] != news[key] for key in olds.keys() & news.keys())
    else:
        assert found.added == (Counter(after) - Counter(before)).total()
        assert found.removed == (Counter(before) - Counter(after)).total()
        assert found.changed == 0
    assert found.reordered == (Counter(before) == Counter(after))


@pytest.fixture
def two(settings: BuildSettings, tmp_path: Path) -> tuple[BuildResult, BuildResult]:
    """TERRa, and TERRa with one other text."""
    first = make(definition_of(TERRA), "1.0.0", settings)
    changed = replace(settings, output=tmp_path / "changed", golden=other_golden(tmp_path / "golden"))
    return first, make(definition_of(TERRA), "1.0.0", changed)


def test_diff_shows_rows_and_figures_that_differ(two: tuple[BuildResult, BuildResult]) -> None:
    done = run("diff", str(two[0].release_dir), str(two[1].release_dir.parent))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("different rows\n")
    [table] = [line for line in done.stdout.splitlines() if line.startswith("default/dev")]
    assert table.split() == ["default/dev", "14", "14", "0", "0", "1"]
    assert '"id": "0"' in done.stdout
    assert "Совсем другая гипотеза." in done.stdout
    assert "statistics / dev / number_of_characters" in done.stdout
    assert "figures are equal" in done.stdout


def test_diff_of_the_same_rows_ends_with_0(two: tuple[BuildResult, BuildResult]) -> None:
    done = run("diff", str(two[0].release_dir), str(two[0].release_dir))
    assert done.returncode == 0
    assert done.stdout.startswith("the same rows\n")
    assert "statistics, options, findings: all" in done.stdout


def test_diff_tells_programs_in_json(two: tuple[BuildResult, BuildResult]) -> None:
    done = run("diff", str(two[0].release_dir), str(two[1].release_dir), "--json")
    told = json.loads(done.stdout)
    assert told["same"] is False
    assert told["a"]["content_sha256"] == two[0].manifest.content_sha256
    assert told["tables"][0]["changed"] == 1
    assert len(told["tables"][0]["examples"]["changed"][0]["sentence2"]) == 2
    old, new = told["figures"]["statistics / dev / number_of_characters"]
    assert old != new


def test_diff_looks_at_the_rows_and_not_at_the_manifest_alone(two: tuple[BuildResult, BuildResult]) -> None:
    data = two[0].manifest.files[0].path
    (two[0].release_dir / data).write_bytes((two[1].release_dir / data).read_bytes())
    with pytest.raises(ReleaseError, match="the release is damaged") as caught:
        diff(str(two[0].release_dir), str(two[1].release_dir))
    assert "has changed" in str(caught.value)


def test_diff_of_nothing_says_so(two: tuple[BuildResult, BuildResult], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder") as caught:
        diff(str(two[0].release_dir), "org/nothing")
    assert "ORG/NAME@TAG" in str(caught.value)
    with pytest.raises(ReleaseError, match="not a release directory"):
        diff(str(tmp_path), str(two[0].release_dir))
    folder.write_json(two[0].release_dir / "manifest.json", {"tables": [], "content_sha256": ""})
    with pytest.raises(ReleaseError, match="invalid manifest"):
        diff(str(two[0].release_dir), str(two[1].release_dir))
