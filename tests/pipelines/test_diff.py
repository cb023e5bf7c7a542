"""Compare two releases: rows by key, figures, and the diff command."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import embedding_datasets as ed
from builders.errors import ReleaseError, UsageError
from cards.manifest import Manifest, Recipe, encode
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release import comparison, folder, parquet
from pipelines.release.comparison import Change
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.folder import verify_release
from tests.support.processes import run
from tests.support.releases import definition_of, other_golden

TERRA = "terra-pairclassification"
Frames = dict[str, dict[str, pl.DataFrame]]


@pytest.fixture(scope="session")
def release_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Frames], Path]:
    """A function that writes frames as a release: tables, manifest, empty statistics."""

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


def compare_frames(release_of: Callable[[Frames], Path], old: pl.DataFrame, new: pl.DataFrame) -> Change:
    """Compare two releases of a single table each, and return the change of the table."""
    [change] = comparison.compare_tables(release_of({"default": {"test": old}}), release_of({"default": {"test": new}}))
    return change


def test_rows_with_an_id_are_added_removed_or_changed(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"id": ["a", "b", "c"], "title": ["", "", ""], "text": ["one", "two", "three"]})
    new = pl.DataFrame({"id": ["c", "b", "d"], "title": ["", "new", ""], "text": ["three", "two", "four"]})
    change = compare_frames(release_of, old, new)
    assert (change.key, change.added, change.removed, change.changed, change.reordered) == (("id",), 1, 1, 1, False)
    assert change.examples == {
        "added": [{"id": "d", "title": "", "text": "four"}],
        "removed": [{"id": "a", "title": "", "text": "one"}],
        "changed": [{"id": "b", "title": ["", "new"]}],
    }


def test_judgements_are_matched_by_both_ids_and_candidates_by_query_id(release_of: Callable[[Frames], Path]) -> None:
    qrels = pl.DataFrame({"query-id": ["q", "q"], "corpus-id": ["1", "2"], "score": [1, 1]})
    change = compare_frames(release_of, qrels, qrels.with_columns(score=pl.Series([1, 2])))
    assert change.examples is not None
    assert change.examples["changed"] == [{"query-id": "q", "corpus-id": "2", "score": [1, 2]}]
    ranked = pl.DataFrame({"query-id": ["q"], "corpus-ids": [["1", "2"]]})
    change = compare_frames(release_of, ranked, ranked.with_columns(pl.col("corpus-ids").list.reverse()))
    assert (change.key, change.changed) == (("query-id",), 1)


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ({"text": ["x", "x", "x", "y"], "label": [0, 0, 0, 1]}, {"text": ["x", "y", "y"], "label": [0, 1, 0]}, (1, 2)),
        ({"id": ["a", "a"], "text": ["one", "two"]}, {"id": ["a", "a"], "text": ["one", "three"]}, (1, 1)),
    ],
    ids=["no ids", "an id twice"],
)
def test_rows_without_a_key_are_matched_as_a_whole_with_their_counts(
    old: dict[str, Any], new: dict[str, Any], counts: tuple[int, int], release_of: Callable[[Frames], Path]
) -> None:
    change = compare_frames(release_of, pl.DataFrame(old), pl.DataFrame(new))
    assert (change.key, change.added, change.removed, change.changed) == ((), *counts, 0)


def test_a_different_row_order_is_reported_as_reordered(release_of: Callable[[Frames], Path]) -> None:
    for old in (pl.DataFrame({"id": ["a", "b"]}), pl.DataFrame({"text": ["a", "b"]})):
        change = compare_frames(release_of, old, old.reverse())
        assert change.reordered
        assert (change.added, change.removed, change.changed) == (0, 0, 0)


def test_added_removed_and_retyped_columns_are_listed(release_of: Callable[[Frames], Path]) -> None:
    old = pl.DataFrame({"id": ["a"], "text": ["x"], "label": [1]})
    new = pl.DataFrame({"id": ["a"], "text": ["x"], "label": ["1"], "label_text": ["bad"]})
    change = compare_frames(release_of, old, new)
    assert change.columns == ("-label (int64)", "+label (string)", "+label_text (string)")
    assert (change.added, change.removed, change.changed) == (0, 0, 0)
    change = compare_frames(release_of, old.select("text"), new.select("id"))
    assert (change.added, change.removed) == (1, 1)


def test_tables_are_reported_as_same_new_or_gone(release_of: Callable[[Frames], Path]) -> None:
    one, two = pl.DataFrame({"text": ["a"]}), pl.DataFrame({"text": ["b", "c"]})
    changes = comparison.compare_tables(
        release_of({"default": {"train": one, "test": two}}), release_of({"default": {"test": two, "dev": two}})
    )
    assert [(table.split, table.state, table.before, table.after) for table in changes] == [
        ("test", "same", 2, 2), ("dev", "new", 0, 2), ("train", "gone", 1, 0),
    ]  # fmt: skip
    assert (changes[1].added, changes[2].removed) == (2, 1)


def test_only_the_first_few_examples_are_listed_in_row_order(release_of: Callable[[Frames], Path]) -> None:
    old, new = (pl.DataFrame({"id": [f"{number}" for number in range(end)]}) for end in (100, 30_000))
    change = compare_frames(release_of, old, new)
    assert change.added == 29_900
    assert change.examples is not None
    assert [row["id"] for row in change.examples["added"]] == ["100", "101", "102", "103", "104"]


ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "x", "y", None]), st.lists(st.sampled_from("pq"))),
    max_size=8,
)


@given(ROWS, ROWS)
def test_the_counts_match_a_plain_python_comparison(
    release_of: Callable[[Frames], Path], old: list[Any], new: list[Any]
) -> None:
    schema = {"id": pl.String, "text": pl.String, "list": pl.List(pl.String)}
    change = compare_frames(release_of, *(pl.DataFrame(rows, schema, orient="row") for rows in (old, new)))
    before, after = ([(key, text, tuple(items)) for key, text, items in rows] for rows in (old, new))
    if before == after:
        assert change.state == "same"
        return
    old_by_id, new_by_id = ({row[0]: row for row in rows} for rows in (before, after))
    if len(old_by_id) == len(before) and len(new_by_id) == len(after):
        assert change.added == len(new_by_id.keys() - old_by_id.keys())
        assert change.removed == len(old_by_id.keys() - new_by_id.keys())
        assert change.changed == sum(old_by_id[key] != new_by_id[key] for key in old_by_id.keys() & new_by_id.keys())
    else:
        assert change.added == (Counter(after) - Counter(before)).total()
        assert change.removed == (Counter(before) - Counter(after)).total()
        assert change.changed == 0
    assert change.reordered == (Counter(before) == Counter(after))


@pytest.fixture
def two_builds(settings: BuildSettings, tmp_path: Path) -> tuple[BuildResult, BuildResult]:
    """TERRa, and TERRa with one changed text."""
    first = make(definition_of(TERRA), "1.0.0", settings)
    changed = replace(settings, output=tmp_path / "changed", golden=other_golden(tmp_path / "golden"))
    return first, make(definition_of(TERRA), "1.0.0", changed)


def test_diff_lists_different_rows_and_figures(two_builds: tuple[BuildResult, BuildResult]) -> None:
    process = run("diff", str(two_builds[0].release_dir), str(two_builds[1].release_dir.parent))
    assert (process.returncode, process.stderr) == (1, "")
    assert process.stdout.startswith("different rows\n")
    [table] = [line for line in process.stdout.splitlines() if line.startswith("default/dev")]
    assert table.split() == ["default/dev", "14", "14", "13", "1", "0", "0"]
    assert max(map(len, process.stdout.splitlines())) <= 80
    assert '"id": "0"' in process.stdout
    assert "Совсем другая гипотеза." in process.stdout
    assert "statistics / dev " in process.stdout
    assert "\ncharacters in all texts " in process.stdout
    assert "figures are equal" in process.stdout
    same = run("diff", str(two_builds[0].release_dir), str(two_builds[0].release_dir))
    assert (same.returncode, same.stdout.splitlines()[0]) == (0, "the same rows")
    assert "statistics, options, findings: all" in same.stdout


def test_diff_prints_json_for_programs(two_builds: tuple[BuildResult, BuildResult]) -> None:
    process = run("diff", str(two_builds[0].release_dir), str(two_builds[1].release_dir), "--json")
    report = json.loads(process.stdout)
    assert report["same"] is False
    assert report["a"]["content_sha256"] == two_builds[0].manifest.content_sha256
    assert report["tables"][0]["changed"] == 1
    assert len(report["tables"][0]["examples"]["changed"][0]["sentence2"]) == 2
    old, new = report["figures"]["statistics / dev / number_of_characters"]
    assert old != new


def test_diff_reads_the_rows_and_not_only_the_manifest(two_builds: tuple[BuildResult, BuildResult]) -> None:
    data = two_builds[0].manifest.files[0].path
    (two_builds[0].release_dir / data).write_bytes((two_builds[1].release_dir / data).read_bytes())
    with pytest.raises(ReleaseError, match="the release is damaged") as caught:
        ed.diff(two_builds[0].release_dir, two_builds[1].release_dir)
    assert "has changed" in str(caught.value)


def test_diff_rejects_paths_without_a_valid_release(
    two_builds: tuple[BuildResult, BuildResult], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    release_dir = two_builds[0].release_dir
    with pytest.raises(UsageError, match="no such folder or file") as caught:
        ed.diff(release_dir, "no/such/folder")
    assert "ORG/NAME@REVISION" in str(caught.value)
    with pytest.raises(UsageError, match="the folder holds no dataset"):
        ed.diff(tmp_path / "empty", release_dir)
    folder.write_json(release_dir / "manifest.json", {"tables": [], "content_sha256": ""})
    with pytest.raises(ReleaseError, match="invalid manifest"):
        ed.diff(release_dir, two_builds[1].release_dir)
