"""headlines: the sizes of the paper, clusters that stay in one split, and malformed raw files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from builders.shaping.sampling import split
from builders.spec import Tables
from tests.support.recipes import assert_balanced_and_distinct, build_tables, split_frames

CLASSES = {"спорт": 0, "Происшествия": 1, "ПОЛИТИКА": 2, "Наука": 3, "Культура": 4, "экономика": 5}


def build(path: Path, scratch: Path, **options: Any) -> Tables:
    return build_tables("headline-classification", {"clusters": path}, scratch, **options)


def write_clusters(path: Path, clusters: int, headlines: int, rubrics: Sequence[str] = tuple(CLASSES)) -> Path:
    """Write clusters under each rubric in turn, and under an unknown one; each repeats a headline of the third one before it."""
    objects = {}
    for number in range(clusters):
        rubric = (*rubrics, "Общество")[number % (len(rubrics) + 1)]
        texts = [f"Новость {number}, агентство {agency}" for agency in range(headlines)]
        if number >= 3:
            texts.append(f"Новость {number - 3}, агентство 0")
        objects[str(number)] = {"rubric": rubric, "date": "1.1.2014", "headlines": texts}
    path.write_text(json.dumps(objects, ensure_ascii=False), encoding="utf-8")
    return path


def test_the_splits_have_the_sizes_of_the_paper_and_no_cluster_is_in_two_of_them(tmp_path: Path) -> None:
    path = write_clusters(tmp_path / "clusters.json", 24_000, 3)
    tables = build(path, tmp_path / "scratch")
    splits = split_frames(tables)
    sizes = {"train": 36_000, "validation": 12_000, "test": 12_000}
    assert {name: rows.height for name, rows in splits.items()} == sizes
    assert_balanced_and_distinct(splits, {"train": 6_000, "validation": 2_000, "test": 2_000})
    clusters = [set(rows["id"].str.split("-").list.first()) for rows in splits.values()]
    assert sum(map(len, clusters)) == len(set.union(*clusters))
    assert tables.observed["clusters"] == 24_000
    assert tables.observed["headlines"] == 4 * 24_000 - 3
    under = {name.removeprefix("headlines under ") for name in tables.observed if name.startswith("headlines under ")}
    assert under == {*CLASSES, "Общество"}
    left = {name: count for name, count in tables.observed.items() if name.endswith(" left over")}
    available = {name: count for name, count in tables.observed.items() if name.endswith(" to choose from")}
    assert len(left) == len(available) == 6
    assert sum(available.values()) - sum(left.values()) == 60_000
    for rows in splits.values():
        labels = pl.Series([(*CLASSES.values(), 6)[int(name.split("-")[0]) % 7] for name in rows["id"]])
        assert (rows["label"] == labels).all()


def test_a_file_with_one_cluster_per_line_gives_the_same_rows(tmp_path: Path) -> None:
    path = write_clusters(tmp_path / "clusters.json", 2_000, 3)
    lines = tmp_path / "lines.json"
    clusters = json.loads(path.read_text("utf-8")).values()
    lines.write_text("".join(json.dumps(cluster, ensure_ascii=False) + "\n" for cluster in clusters), encoding="utf-8")
    sizes = {"train_per_class": 20, "validation_per_class": 7, "test_per_class": 9}
    expected, tables = build(path, tmp_path / "one", **sizes), build(lines, tmp_path / "two", **sizes)
    assert tables.observed == expected.observed
    for name, rows in split_frames(expected).items():
        assert split_frames(tables)[name].equals(rows), name


def test_a_malformed_cluster_in_json_lines_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_text('{"rubric": "Спорт", "headlines": ["Да"]}\n{"rubric": "Спорт"}\n', encoding="utf-8")
    with pytest.raises(SourceError, match="headlines is missing") as caught:
        build(path, tmp_path / "scratch")
    assert caught.value.where == "source/lines.json, line 2"


def test_blanks_around_a_rubric_do_not_hide_its_headlines(tmp_path: Path) -> None:
    path = write_clusters(
        tmp_path / "clusters.json", 50, 3, ["Спорт ", *list(CLASSES)[1:4], "\u00a0Культура", "экономика"]
    )
    sizes = {"train_per_class": 2, "validation_per_class": 1, "test_per_class": 1}
    for rows in split_frames(build(path, tmp_path / "scratch", **sizes)).values():
        assert set(rows["label"]) == set(range(6))


def test_limiting_the_clusters_does_not_change_the_splits(tmp_path: Path) -> None:
    path = write_clusters(tmp_path / "clusters.json", 2_000, 4)
    sizes = {"train": 20, "validation": 7, "test": 9}
    options = {f"{name}_per_class": size for name, size in sizes.items()}
    splits = split_frames(build(path, tmp_path / "scratch", **options))
    seen, headlines = set(), []
    for name, cluster in json.loads(path.read_text("utf-8")).items():
        for position, text in enumerate(cluster["headlines"] if cluster["rubric"] in CLASSES else ()):
            if text not in seen:
                headlines.append((f"{name}-{position}", name, CLASSES[cluster["rubric"]], text))
            seen.add(text)
    rows = pl.DataFrame(headlines, ["id", "cluster", "label", "text"], orient="row")
    expected = split(rows, sizes, by="label", key="id", group="cluster", seed="headline-classification")
    for name, frame in expected.items():
        assert splits[name].select("id", "text", "label").equals(frame.select("id", "text", "label")), name


def test_a_rubric_without_headlines_is_an_error_that_lists_the_rubrics_of_the_file(tmp_path: Path) -> None:
    path = write_clusters(tmp_path / "clusters.json", 50, 2, ["Спорт", "политика", "Science"])
    with pytest.raises(RecipeError, match="no headline under происшествия, наука, культура, экономика") as caught:
        build(path, tmp_path / "scratch")
    assert "'Science', 'Общество', 'Спорт', 'политика'" in str(caught.value.found)


def test_a_repeated_cluster_name_is_refused(tmp_path: Path) -> None:
    path = write_clusters(tmp_path / "clusters.json", 50, 2)
    path.write_text(path.read_text("utf-8").replace('"17": {', '"16": {'), encoding="utf-8")
    with pytest.raises(SourceError, match="repeated cluster name") as caught:
        build(path, tmp_path / "scratch")
    assert (caught.value.where, caught.value.found) == ("source/clusters.json, cluster 18", "'16'")
