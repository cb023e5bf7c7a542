"""geo_reviews: the sizes of the paper, and which rubrics and texts the clustering set takes."""

from pathlib import Path

import polars as pl

from tests.support.recipes import build_tables, frame

CLUSTERING = "georeview-clustering-p2p"


def write_rubrics(path: Path, rubrics: int = 60) -> Path:
    """Write reviews so that rubric n comes first in 41 + n // 2 long ones (201 to 999 characters) and as many short ones.

    So the rubrics 2k and 2k + 1 are equally frequent.
    """
    lines = []
    for rubric in range(rubrics):
        for number in range(41 + rubric // 2):
            text = f"Отзыв {rubric} {number} ".ljust(201 + (rubric * 100 + number * 17) % 799, "ы")
            lines += [f"rating=5.\trubrics=Р{rubric:02};Кафе\ttext={text}", f"rubrics=Р{rubric:02}\ttext={text[:200]}"]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    return path


def test_clusters_are_the_50_most_frequent_rubrics_with_40_texts_each(tmp_path: Path) -> None:
    path = write_rubrics(tmp_path / "reviews.tskv")
    rows = frame(build_tables(CLUSTERING, {"reviews": path}, tmp_path / "scratch"))
    assert rows.height == 2000
    assert set(rows["labels"].value_counts()["count"]) == {40}
    assert sorted(rows["labels"].unique()) == [f"Р{rubric:02}" for rubric in range(10, 60)]
    assert rows["sentences"].str.len_chars().is_between(201, 999).all()
    assert rows["sentences"].n_unique() == 2000


def test_among_equally_frequent_rubrics_the_first_by_code_point_is_taken(tmp_path: Path) -> None:
    path = write_rubrics(tmp_path / "reviews.tskv")
    tables = build_tables(CLUSTERING, {"reviews": path}, tmp_path / "scratch", rubrics=49)
    names = set(frame(tables)["labels"])
    assert ("Р10" in names, "Р11" in names) == (True, False)


def test_a_copy_in_parquet_gives_the_rows_of_the_file(tmp_path: Path) -> None:
    path = write_rubrics(tmp_path / "reviews.tskv")
    lines = [dict(field.split("=", 1) for field in line.split("\t")) for line in path.read_text("utf-8").splitlines()]
    copied = pl.DataFrame(lines).with_columns(rating=pl.col("rating").str.strip_suffix(".").cast(pl.Int64))
    copied.write_parquet(tmp_path / "copy.parquet")
    tables = [
        build_tables(CLUSTERING, {"reviews": tmp_path / name}, tmp_path / "scratch")
        for name in ("reviews.tskv", "copy.parquet")
    ]
    assert frame(tables[0]).equals(frame(tables[1]))
    assert tables[0].dropped == tables[1].dropped
