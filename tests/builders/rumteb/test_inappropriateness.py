"""inappropriateness: real files, the sizes of the paper, labels by people and by machine, and malformed scores."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError
from builders.rumteb.inappropriateness import TOPICS, find_topics, is_certain, read_scores
from builders.shaping.folding import fold_text_1
from builders.spec import Raw, Tables
from pipelines.make import GOLDEN
from tests.support.recipes import assert_balanced_and_distinct, build_tables, dropped_counts, split_frames, write_csv
from tests.support.releases import definition_of


def build_messages(path: Path, scratch: Path, **options: Any) -> Tables:
    return build_tables("inappropriateness-classification", {"messages": path}, scratch, **options)


def build_topics(path: Path, scratch: Path, **options: Any) -> Tables:
    return build_tables("sensitive-topics-classification", {"topics": path}, scratch, **options)


@pytest.mark.parametrize(
    ("path", "rows", "inappropriate"),
    [
        ("Version1/appropriateness/test.csv", 8207, 1845),
        ("Version1/appropriateness/val.csv", 8207, 1826),
        ("Version2/appropriateness/manual_labelled.csv", 193, 98),
    ],
)
def test_columns_of_real_messages_are_found_by_name(
    path: str, rows: int, inappropriate: int, real_sources: Path
) -> None:
    frame = read_scores(Raw(path, real_sources / "inappropriateness" / path), ("inappropriate",))
    assert (frame.height, frame["text"].n_unique()) == (rows, rows)
    assert (frame["inappropriate"] >= 0.5).sum() == inappropriate


def test_real_messages_fill_balanced_splits(real_sources: Path, tmp_path: Path) -> None:
    path = real_sources / "inappropriateness/Version1/appropriateness/test.csv"
    sizes = {"train": 1000, "validation": 100, "test": 500}
    options = {f"{name}_per_class": size for name, size in sizes.items()}
    tables = build_messages(path, tmp_path, **options)
    assert_balanced_and_distinct(split_frames(tables), sizes)
    assert tables.dropped == ()


@pytest.mark.parametrize(
    ("path", "rows", "empty", "counts"),
    [
        (
            "Version1/sensitive_topics/test.csv",
            1322,
            216,
            [122, 36, 78, 7, 182, 84, 34, 8, 42, 139, 106, 95, 215, 176, 92, 91, 117, 166],
        ),
        (
            "Version1/sensitive_topics/val.csv",
            1174,
            217,
            [93, 28, 64, 3, 141, 59, 23, 4, 28, 128, 91, 79, 177, 138, 74, 63, 93, 134],
        ),
        (
            "Version1/sensitive_topics/Sensitive_topics_crowdsource_only.csv",
            9945,
            1834,
            [817, 299, 530, 47, 1206, 532, 205, 51, 263, 1519, 678, 680, 1506, 1122, 572, 574, 732, 993],
        ),
        (
            "Version2/sensitive_topics/test.csv",
            1156,
            188,
            [108, 28, 70, 6, 163, 77, 33, 6, 39, 107, 89, 85, 191, 163, 83, 84, 107, 148],
        ),
        (
            "Version2/sensitive_topics/val.csv",
            1017,
            188,
            [76, 23, 58, 2, 128, 55, 22, 4, 26, 96, 68, 72, 159, 127, 63, 58, 81, 114],
        ),
    ],
)
def test_real_confidences_become_lists_of_topic_numbers(
    path: str, rows: int, empty: int, counts: list[int], real_sources: Path
) -> None:
    file = real_sources / "inappropriateness" / path
    labels = read_scores(Raw(path, file), TOPICS).select(find_topics(0.5).alias("label"))["label"]
    assert labels.len() == rows
    assert (labels.list.len() == 0).sum() == empty
    each = labels.explode().drop_nulls()
    assert [(each == number).sum() for number in range(len(TOPICS))] == counts
    with file.open(encoding="utf-8", newline="") as stream:
        expected = [[n for n, topic in enumerate(TOPICS) if float(row[topic]) >= 0.5] for row in csv.DictReader(stream)]
    assert labels.to_list() == expected


@pytest.fixture
def topics_file(real_sources: Path, tmp_path: Path) -> Path:
    """A table in the format of version 3, from real rows of version 1: crowdsourced ones, and others marked as automatic.

    The columns are not in upstream's order: `human_labeled` comes first.
    """
    folder = real_sources / "inappropriateness" / "Version1" / "sensitive_topics"
    columns = ["human_labeled", *reversed(TOPICS), "text"]
    rows = []
    for name, mark in (("val.csv", "0"), ("Sensitive_topics_crowdsource_only.csv", "1")):
        with (folder / name).open(encoding="utf-8", newline="") as stream:
            rows += [[(row | {"human_labeled": mark})[column] for column in columns] for row in csv.DictReader(stream)]
    return write_csv(tmp_path / "sensitive_topics.csv", columns, rows)


def test_the_test_split_is_a_stratified_sample_of_the_real_rows_labelled_by_people(
    topics_file: Path, tmp_path: Path
) -> None:
    tables = build_topics(topics_file, tmp_path / "scratch")
    train, test = (split_frames(tables)[name] for name in ("train", "test"))
    assert tables.observed == {"messages": 1174 + 9945, "messages labelled by people": 9945}
    assert test.height == 2048
    texts = pl.concat([train["text"], test["text"]])
    assert texts.n_unique() == texts.len() == 11_119 - sum(dropped_counts(tables).values())
    automatic = int(tables.observed["messages"] - tables.observed["messages labelled by people"])
    assert all(int(row) >= automatic for row in test["id"]), "a row labelled automatically is in test"
    by_people = pl.concat([train, test]).filter(pl.col("id").cast(pl.Int64) >= automatic)
    shares, taken = (Counter(map(tuple, frame["label"].to_list())) for frame in (by_people, test))
    for label, count in shares.items():
        assert abs(taken[label] - 2048 * count / by_people.height) < 1, label


def test_of_real_rows_with_the_same_text_the_first_one_labelled_by_people_is_kept(
    topics_file: Path, tmp_path: Path
) -> None:
    tables = build_topics(topics_file, tmp_path / "scratch")
    rows = read_scores(Raw("t", topics_file), (*TOPICS, "human_labeled")).with_columns(find_topics(0.5).alias("label"))
    certain = rows.filter((pl.col("human_labeled") == 1) | is_certain(0.1, 0.9))
    by_people = certain.filter(pl.col("human_labeled") == 1)
    assert by_people.height - by_people["text"].n_unique() == 7
    repeated = sum(count for reason, count in dropped_counts(tables).items() if reason.startswith("duplicate of"))
    assert repeated == certain.height - certain["text"].n_unique()
    drawn = pl.concat(list(split_frames(tables).values()))
    first = by_people.unique("text", keep="first", maintain_order=True).select("text", "id", "label")
    assert drawn.join(first, on="text").select(same=(pl.col("id") == pl.col("id_right")))["same"].all()


def test_of_real_messages_that_differ_only_in_case_and_punctuation_the_cleaned_version_keeps_one(
    real_sources: Path, tmp_path: Path
) -> None:
    path = real_sources / "inappropriateness/Version1/appropriateness/val.csv"
    sizes = {"train_per_class": 1200, "validation_per_class": 100, "test_per_class": 500}
    tables = build_messages(path, tmp_path, **sizes, clean=True)
    assert dropped_counts(tables) == {"duplicate of an earlier row": 2}
    texts = pl.concat([frame.select("text") for frame in split_frames(tables).values()])
    assert texts.select(fold_text_1(pl.col("text")).n_unique()).item() == texts.height


def test_in_the_cleaned_version_labels_by_people_take_precedence_and_must_agree(
    topics_file: Path, tmp_path: Path
) -> None:
    tables = build_topics(topics_file, tmp_path / "scratch", clean=True)
    train, test = (split_frames(tables)[name] for name in ("train", "test"))
    assert test.height == 2048
    assert train.height + test.height + sum(dropped_counts(tables).values()) == tables.observed["messages"]
    rows = read_scores(Raw("t", topics_file), (*TOPICS, "human_labeled")).with_columns(find_topics(0.5).alias("label"))
    people = rows.filter(pl.col("human_labeled") == 1).with_columns(same=fold_text_1(pl.col("text")))
    agreed = people.group_by("same").agg(pl.col("id").first(), pl.col("label").n_unique(), pl.len())
    assert agreed.filter(pl.col("len") > 1).height == 11
    drawn = pl.concat([train, test]).with_columns(same=fold_text_1(pl.col("text")))
    assert drawn["same"].n_unique() == drawn.height
    judged = agreed.join(drawn, on="same", how="left", suffix="_drawn")
    assert judged.filter(pl.col("label") > 1)["id_drawn"].null_count() == (agreed["label"] > 1).sum()
    assert judged.filter(pl.col("label") == 1).select((pl.col("id") == pl.col("id_drawn")).all()).item()


def test_a_score_out_of_range_is_refused_with_its_record_and_column(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "messages.csv", ("text", "inappropriate"), [("а", 0.1), ("б", 1.2)])
    with pytest.raises(SourceError, match="score out of range in column 'inappropriate'") as caught:
        build_messages(path, tmp_path)
    assert caught.value.where == "source/messages.csv, record 2"


def test_the_order_of_columns_does_not_matter(tmp_path: Path) -> None:
    for name, key in (("inappropriateness-classification", "messages"), ("sensitive-topics-classification", "topics")):
        dataset, source = definition_of(name).dataset, definition_of(name).source
        path = GOLDEN / source.name / "raw" / source.files[key].name
        with path.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        reversed_columns = write_csv(tmp_path / path.name, header[::-1], [row[::-1] for row in rows])
        splits, expected = (
            split_frames(build_tables(name, {key: file}, tmp_path, **dataset.sample))
            for file in (reversed_columns, path)
        )
        assert all(splits[split].equals(expected[split]) for split in expected)
