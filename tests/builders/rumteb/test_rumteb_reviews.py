"""geo_reviews, headlines, inappropriateness and ru_reviews: real files, the papers' sizes, and what each of them refuses.

Expected rows of hand-made records stand in tests/golden; here raw files are real, or made at the size that the recipes ask for.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from builders.rumteb.inappropriateness import TOPICS, certain, scored, topics
from builders.shaping.folding import fold_text
from builders.shaping.sampling import split
from builders.spec import Raw, RawFiles
from pipelines.make import GOLDEN
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from builders.spec import Tables

CLASSES = {"спорт": 0, "Происшествия": 1, "ПОЛИТИКА": 2, "Наука": 3, "Культура": 4, "экономика": 5}


def make(name: str, key: str, path: Path, scratch: Path, **options: Any) -> Tables:
    """The tables of a dataset from one raw file, with the paper's numbers where no others are given."""
    dataset = definition_of(name).dataset
    scratch.mkdir(exist_ok=True)
    files = {key: Raw(f"source/{path.name}", path)}
    return dataset.recipe(RawFiles(dataset.task.splits, files, scratch), **options)


def frames(tables: Tables) -> dict[str, pl.DataFrame]:
    return {name: frame.lazy().collect() for name, frame in tables.frames["default"].items()}


def dropped(tables: Tables) -> dict[str, int]:
    return {one.reason: one.count for one in tables.dropped}


def written(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def sizes_and_texts(splits: dict[str, pl.DataFrame], per_class: dict[str, int]) -> None:
    """Every split has as many rows of each class as asked, and no text stands twice, in whatever splits."""
    for name, frame in splits.items():
        counts = dict(frame["label"].value_counts().iter_rows())
        assert set(counts.values()) == {per_class[name]}, name
    texts = pl.concat([frame["text"] for frame in splits.values()])
    assert texts.n_unique() == texts.len()


# Real files: versions 1 and 2 of the two tables of inappropriateness


@pytest.mark.parametrize(
    ("path", "rows", "inappropriate"),
    [
        ("Version1/appropriateness/test.csv", 8207, 1845),
        ("Version1/appropriateness/val.csv", 8207, 1826),
        ("Version2/appropriateness/manual_labelled.csv", 193, 98),
    ],
)
def test_real_messages_are_read_by_the_names_of_their_columns(
    path: str, rows: int, inappropriate: int, real_sources: Path
) -> None:
    frame = scored(Raw(path, real_sources / "inappropriateness" / path), ("inappropriate",))
    assert (frame.height, frame["text"].n_unique()) == (rows, rows)
    assert (frame["inappropriate"] >= 0.5).sum() == inappropriate


def test_real_messages_give_balanced_splits(real_sources: Path, tmp_path: Path) -> None:
    path = real_sources / "inappropriateness/Version1/appropriateness/test.csv"
    sizes = {"train": 1000, "validation": 100, "test": 500}
    options = {f"{name}_per_class": size for name, size in sizes.items()}
    made = make("inappropriateness-classification", "messages", path, tmp_path, **options)
    sizes_and_texts(frames(made), sizes)
    assert made.dropped == ()


@pytest.mark.parametrize(
    ("path", "rows", "none", "counts"),
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
def test_real_confidences_become_lists_of_topics(
    path: str, rows: int, none: int, counts: list[int], real_sources: Path
) -> None:
    file = real_sources / "inappropriateness" / path
    labels = scored(Raw(path, file), TOPICS).select(topics(0.5).alias("label"))["label"]
    assert labels.len() == rows
    assert (labels.list.len() == 0).sum() == none
    each = labels.explode().drop_nulls()
    assert [(each == number).sum() for number in range(len(TOPICS))] == counts
    with file.open(encoding="utf-8", newline="") as stream:
        expected = [[n for n, topic in enumerate(TOPICS) if float(row[topic]) >= 0.5] for row in csv.DictReader(stream)]
    assert labels.to_list() == expected


@pytest.fixture
def both_kinds(real_sources: Path, tmp_path: Path) -> Path:
    """A table of version 3's form from real rows of version 1: what a crowd labelled, and a split that here counts as automatic.

    The columns stand in another order than upstream's, `human_labeled` first.
    """
    folder = real_sources / "inappropriateness" / "Version1" / "sensitive_topics"
    columns = ["human_labeled", *reversed(TOPICS), "text"]
    rows = []
    for name, mark in (("val.csv", "0"), ("Sensitive_topics_crowdsource_only.csv", "1")):
        with (folder / name).open(encoding="utf-8", newline="") as stream:
            rows += [[(row | {"human_labeled": mark})[column] for column in columns] for row in csv.DictReader(stream)]
    return written(tmp_path / "sensitive_topics.csv", columns, rows)


def test_real_rows_labelled_by_people_fill_the_test_split_in_their_shares(both_kinds: Path, tmp_path: Path) -> None:
    made = make("sensitive-topics-classification", "topics", both_kinds, tmp_path / "scratch")
    train, test = (frames(made)[name] for name in ("train", "test"))
    assert made.observed == {"messages": 1174 + 9945, "messages labelled by people": 9945}
    assert test.height == 2048
    texts = pl.concat([train["text"], test["text"]])
    assert texts.n_unique() == texts.len() == 11_119 - sum(dropped(made).values())
    people = int(made.observed["messages"] - made.observed["messages labelled by people"])
    assert all(int(row) >= people for row in test["id"]), "a row labelled automatically is in test"
    everyone = pl.concat([train, test]).filter(pl.col("id").cast(pl.Int64) >= people)
    shares, taken = (Counter(map(tuple, frame["label"].to_list())) for frame in (everyone, test))
    for label, count in shares.items():
        assert abs(taken[label] - 2048 * count / everyone.height) < 1, label


def test_real_rows_that_repeat_a_text_are_dropped_after_the_row_that_people_labelled(
    both_kinds: Path, tmp_path: Path
) -> None:
    made = make("sensitive-topics-classification", "topics", both_kinds, tmp_path / "scratch")
    rows = scored(Raw("t", both_kinds), (*TOPICS, "human_labeled")).with_columns(topics(0.5).alias("label"))
    sure = rows.filter((pl.col("human_labeled") == 1) | certain(0.1, 0.9))
    by_people = sure.filter(pl.col("human_labeled") == 1)
    assert by_people.height - by_people["text"].n_unique() == 7
    again = sum(count for reason, count in dropped(made).items() if reason.startswith("another row"))
    assert again == sure.height - sure["text"].n_unique()
    kept = pl.concat(list(frames(made).values()))
    first = by_people.unique("text", keep="first", maintain_order=True).select("text", "id", "label")
    assert kept.join(first, on="text").select(same=(pl.col("id") == pl.col("id_right")))["same"].all()


# The papers' sizes


def test_ru_reviews_come_at_the_size_of_the_paper(tmp_path: Path) -> None:
    names = ("negative", "neautral", "positive")
    rows = [(f'Отзыв "{number // (1 + number % 20 // 19)}"', names[number % 3]) for number in range(90_000)]
    path = written(tmp_path / "reviews.csv", ("review", "sentiment"), rows, "\t")
    made = make("ru-reviews-classification", "reviews", path, tmp_path / "scratch")
    splits = frames(made)
    assert {name: frame.height for name, frame in splits.items()} == {
        "train": 45_000,
        "validation": 15_000,
        "test": 15_000,
    }
    sizes_and_texts(splits, {"train": 15_000, "validation": 5_000, "test": 5_000})
    labels: dict[str, set[str]] = {}
    for text, name in rows:
        labels.setdefault(text, set()).add(name)
    kept = pl.concat([frame["text"] for frame in splits.values()])
    assert all(len(labels[text]) == 1 for text in kept), "a text with two labels is in a split"
    assert sum(dropped(made).values()) == 90_000 - sum(len(names) == 1 for names in labels.values())


def test_inappropriate_messages_come_at_the_size_of_the_paper(tmp_path: Path) -> None:
    rows = [(f"Сообщение {number}, и ещё", (number % 2) * 0.9 + number % 3 / 20) for number in range(60_000)]
    path = written(tmp_path / "messages.csv", ("text", "inappropriate"), rows)
    made = make("inappropriateness-classification", "messages", path, tmp_path / "scratch")
    splits = frames(made)
    assert {name: frame.height for name, frame in splits.items()} == {
        "train": 40_000,
        "validation": 4_000,
        "test": 10_000,
    }
    sizes_and_texts(splits, {"train": 20_000, "validation": 2_000, "test": 5_000})
    kept = pl.concat(list(splits.values()))
    assert (kept["id"].cast(pl.Int64) % 2 == kept["label"]).all()


def test_geo_reviews_come_at_the_size_of_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "reviews.tskv"
    lines = (
        f"address=Мира, {n}\trating={n % 6}.\trubrics=Кафе\ttext=Отзыв {n - n % 7 // 6}\\n!\n" for n in range(90_000)
    )
    path.write_text("".join(lines), encoding="utf-8", newline="")
    made = make("georeview-classification", "reviews", path, tmp_path / "scratch")
    splits = frames(made)
    assert {name: frame.height for name, frame in splits.items()} == {
        "train": 50_000,
        "validation": 5_000,
        "test": 5_000,
    }
    sizes_and_texts(splits, {"train": 10_000, "validation": 1_000, "test": 1_000})
    kept = pl.concat(list(splits.values()))
    assert kept["text"].str.ends_with("\n!").all()
    assert (kept["id"].cast(pl.Int64) % 6 == kept["label"] + 1).all()
    assert (kept["label_text"].cast(pl.Int64) == kept["label"] + 1).all()
    assert dropped(made)["the rating is none of 1, 2, 3, 4, 5"] == 15_000


def clustering_file(path: Path, rubrics: int = 60) -> Path:
    """Rubric n comes first in 41 + n // 2 reviews of 201 to 999 characters and as many short ones: two are always as frequent."""
    lines = []
    for rubric in range(rubrics):
        for number in range(41 + rubric // 2):
            text = f"Отзыв {rubric} {number} ".ljust(201 + (rubric * 100 + number * 17) % 799, "ы")
            lines += [f"rating=5.\trubrics=Р{rubric:02};Кафе\ttext={text}", f"rubrics=Р{rubric:02}\ttext={text[:200]}"]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    return path


def test_geo_review_clusters_are_the_most_frequent_rubrics_with_forty_texts_each(tmp_path: Path) -> None:
    made = make("georeview-clustering-p2p", "reviews", clustering_file(tmp_path / "r.tskv"), tmp_path / "scratch")
    frame = frames(made)["test"]
    assert frame.height == 2000
    assert set(frame["labels"].value_counts()["count"]) == {40}
    assert sorted(frame["labels"].unique()) == [f"Р{rubric:02}" for rubric in range(10, 60)]
    assert frame["sentences"].str.len_chars().is_between(201, 999).all()
    assert frame["sentences"].n_unique() == 2000


def test_of_equally_frequent_rubrics_the_first_by_code_point_is_taken(tmp_path: Path) -> None:
    path = clustering_file(tmp_path / "r.tskv")
    made = make("georeview-clustering-p2p", "reviews", path, tmp_path / "scratch", rubrics=49)
    names = set(frames(made)["test"]["labels"])
    assert ("Р10" in names, "Р11" in names) == (True, False)


def test_too_few_rubrics_are_an_error_and_no_smaller_dataset(tmp_path: Path) -> None:
    path = clustering_file(tmp_path / "r.tskv", rubrics=49)
    with pytest.raises(RecipeError, match="too few rubrics") as caught:
        make("georeview-clustering-p2p", "reviews", path, tmp_path / "scratch")
    assert (caught.value.found, caught.value.expected) == ("49 different first rubrics", "at least 50")


def headlines_file(path: Path, clusters: int, headlines: int, rubrics: Sequence[str] = tuple(CLASSES)) -> Path:
    """Clusters under each rubric in turn, and under a foreign one; every cluster repeats a headline of one three before."""
    objects = {}
    for number in range(clusters):
        rubric = (*rubrics, "Общество")[number % (len(rubrics) + 1)]
        texts = [f"Новость {number}, агентство {agency}" for agency in range(headlines)]
        if number >= 3:
            texts.append(f"Новость {number - 3}, агентство 0")
        objects[str(number)] = {"rubric": rubric, "date": "1.1.2014", "headlines": texts}
    path.write_text(json.dumps(objects, ensure_ascii=False), encoding="utf-8")
    return path


def test_headlines_come_at_the_size_of_the_paper_and_no_cluster_is_in_two_splits(tmp_path: Path) -> None:
    path = headlines_file(tmp_path / "clusters.json", 24_000, 3)
    made = make("headline-classification", "clusters", path, tmp_path / "scratch")
    splits = frames(made)
    assert {name: frame.height for name, frame in splits.items()} == {
        "train": 36_000,
        "validation": 12_000,
        "test": 12_000,
    }
    sizes_and_texts(splits, {"train": 6_000, "validation": 2_000, "test": 2_000})
    clusters = [set(frame["id"].str.split("-").list.first()) for frame in splits.values()]
    assert sum(map(len, clusters)) == len(set.union(*clusters))
    assert made.observed["clusters"] == 24_000
    assert made.observed["headlines"] == 4 * 24_000 - 3
    assert {name.removeprefix("headlines under ") for name in list(made.observed)[2:]} == {*CLASSES, "Общество"}
    for frame in splits.values():
        rubric = pl.Series([(*CLASSES.values(), 6)[int(name.split("-")[0]) % 7] for name in frame["id"]])
        assert (frame["label"] == rubric).all()


def test_looking_at_the_first_clusters_only_changes_no_split(tmp_path: Path) -> None:
    path = headlines_file(tmp_path / "clusters.json", 2_000, 4)
    sizes = {"train": 20, "validation": 7, "test": 9}
    options = {f"{name}_per_class": size for name, size in sizes.items()}
    made = frames(make("headline-classification", "clusters", path, tmp_path / "scratch", **options))
    seen, rows = set(), []
    for name, cluster in json.loads(path.read_text("utf-8")).items():
        for place, text in enumerate(cluster["headlines"] if cluster["rubric"] in CLASSES else ()):
            if text not in seen:
                rows.append((f"{name}-{place}", name, CLASSES[cluster["rubric"]], text))
            seen.add(text)
    everything = pl.DataFrame(rows, ["id", "cluster", "label", "text"], orient="row")
    expected = split(everything, sizes, by="label", key="id", group="cluster", seed="headline-classification")
    for name, frame in expected.items():
        assert made[name].select("id", "text", "label").equals(frame.select("id", "text", "label")), name


# Version 2.0.0: what splits are drawn from has no text twice, in whatever case and punctuation


def texts_file(name: str, path: Path, texts: list[tuple[str, int]]) -> Path:
    """The raw file of a dataset that holds these texts, each of the class of its number."""
    if name == "headline-classification":
        clusters = {
            str(place): {"rubric": list(CLASSES)[number % 6], "headlines": [text]}
            for place, (text, number) in enumerate(texts)
        }
        path.write_text(json.dumps(clusters, ensure_ascii=False), encoding="utf-8")
    elif name.startswith("georeview"):
        rows = [f"rating={number % 5 + 1}.\trubrics=Р{number % 5}\ttext={text}\n" for text, number in texts]
        path.write_text("".join(rows), encoding="utf-8", newline="")
    elif name == "ru-reviews-classification":
        names = ("negative", "neautral", "positive")
        written(path, ("review", "sentiment"), [(text, names[number % 3]) for text, number in texts], "\t")
    else:
        written(path, ("text", "inappropriate"), [(text, number % 2) for text, number in texts])
    return path


DRAWN = {
    "georeview-classification": ("reviews", 5),
    "georeview-clustering-p2p": ("reviews", 5),
    "headline-classification": ("clusters", 6),
    "inappropriateness-classification": ("messages", 2),
    "ru-reviews-classification": ("reviews", 3),
}
SMALL = {"train_per_class": 30, "validation_per_class": 9, "test_per_class": 11}
CLUSTERS = {"rubrics": 5, "texts_per_rubric": 50, "longer_than": 0, "shorter_than": 100}


@pytest.mark.parametrize("name", DRAWN)
def test_copies_in_other_case_and_punctuation_do_not_come_into_the_clean_version(name: str, tmp_path: Path) -> None:
    key, classes = DRAWN[name]
    texts = [(f"Текст «{number}», и ещё", number) for number in range(50 * classes)]
    copies = [(f" ТЕКСТ {number} - и ещё!", number) for _, number in texts[::3]]
    contested = [("Так себе.", 0), ("так себе", 1), ("Ну…", 0), ("ну", 0), ("ну", 1)]
    options = definition_of(name).dataset.options("2.0.0") | (CLUSTERS if "clustering" in name else SMALL)
    plain, noisy = (
        make(name, key, texts_file(name, tmp_path / file, rows), tmp_path / f"{file}s", **options)
        for file, rows in (("plain", texts), ("noisy", [*texts, *copies, *contested, ("!", 0), ("я", 1)]))
    )
    assert plain.dropped == ()
    assert dropped(noisy) == {
        "a text is empty or a single character": 2,
        "the text has another label too": len(contested),
        "the text stands in an earlier row too": len(copies),
    }
    for split_name, frame in frames(plain).items():
        assert frame.equals(frames(noisy)[split_name]), split_name


def test_too_few_texts_once_they_are_clean_are_an_error_too(tmp_path: Path) -> None:
    texts = [(text, number) for number in range(75) for text in (f"Отзыв {number}", f"отзыв {number}!")]
    path = texts_file("ru-reviews-classification", tmp_path / "reviews.csv", texts)
    assert make("ru-reviews-classification", "reviews", path, tmp_path / "one", **SMALL).dropped == ()
    with pytest.raises(RecipeError, match="too few rows"):
        make("ru-reviews-classification", "reviews", path, tmp_path / "two", **SMALL, clean=True)


def test_real_messages_of_one_text_but_for_case_and_punctuation_are_one(real_sources: Path, tmp_path: Path) -> None:
    path = real_sources / "inappropriateness/Version1/appropriateness/val.csv"
    sizes = {"train_per_class": 1200, "validation_per_class": 100, "test_per_class": 500}
    made = make("inappropriateness-classification", "messages", path, tmp_path, **sizes, clean=True)
    assert dropped(made) == {"the text stands in an earlier row too": 2}
    texts = pl.concat([frame.select("text") for frame in frames(made).values()])
    assert texts.select(fold_text(pl.col("text")).n_unique()).item() == texts.height


def test_of_real_rows_with_one_text_those_of_people_count_and_must_agree(both_kinds: Path, tmp_path: Path) -> None:
    made = make("sensitive-topics-classification", "topics", both_kinds, tmp_path / "scratch", clean=True)
    train, test = (frames(made)[name] for name in ("train", "test"))
    assert test.height == 2048
    assert train.height + test.height + sum(dropped(made).values()) == made.observed["messages"]
    rows = scored(Raw("t", both_kinds), (*TOPICS, "human_labeled")).with_columns(topics(0.5).alias("label"))
    people = rows.filter(pl.col("human_labeled") == 1).with_columns(same=fold_text(pl.col("text")))
    agreed = people.group_by("same").agg(pl.col("id").first(), pl.col("label").n_unique(), pl.len())
    assert agreed.filter(pl.col("len") > 1).height == 11
    kept = pl.concat([train, test]).with_columns(same=fold_text(pl.col("text")))
    assert kept["same"].n_unique() == kept.height
    judged = agreed.join(kept, on="same", how="left", suffix="_kept")
    assert judged.filter(pl.col("label") > 1)["id_kept"].null_count() == (agreed["label"] > 1).sum()
    assert judged.filter(pl.col("label") == 1).select((pl.col("id") == pl.col("id_kept")).all()).item()


# What is refused


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("georeview-classification", "reviews"),
        ("georeview-clustering-p2p", "reviews"),
        ("headline-classification", "clusters"),
        ("inappropriateness-classification", "messages"),
        ("sensitive-topics-classification", "topics"),
        ("ru-reviews-classification", "reviews"),
    ],
)
def test_a_source_too_small_for_the_paper_is_an_error_and_no_smaller_dataset(
    name: str, key: str, tmp_path: Path
) -> None:
    source = definition_of(name).source
    with pytest.raises(RecipeError, match="too few") as caught:
        make(name, key, GOLDEN / source.name / "raw" / source.files[key].name, tmp_path)
    assert caught.value.found
    assert "at least" in str(caught.value.expected)


def test_a_rubric_without_headlines_is_an_error_that_lists_the_rubrics_seen(tmp_path: Path) -> None:
    path = headlines_file(tmp_path / "clusters.json", 50, 2, ["Спорт", "политика", "Science"])
    with pytest.raises(RecipeError, match="no headline under происшествия, наука, культура, экономика") as caught:
        make("headline-classification", "clusters", path, tmp_path / "scratch")
    assert "'Science', 'Общество', 'Спорт', 'политика'" in str(caught.value.found)


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    path = headlines_file(tmp_path / "clusters.json", 50, 2)
    path.write_text(path.read_text("utf-8").replace('"17": {', '"16": {'), encoding="utf-8")
    with pytest.raises(SourceError, match="two clusters of one name") as caught:
        make("headline-classification", "clusters", path, tmp_path / "scratch")
    assert caught.value.found == "'16'"


def test_a_score_out_of_range_is_refused_with_its_record_and_column(tmp_path: Path) -> None:
    path = written(tmp_path / "messages.csv", ("text", "inappropriate"), [("а", 0.1), ("б", 1.2)])
    with pytest.raises(SourceError, match="a score out of range") as caught:
        make("inappropriateness-classification", "messages", path, tmp_path)
    assert caught.value.where == "source/messages.csv, record 2, column inappropriate"


def test_an_unknown_sentiment_is_refused_with_its_record(tmp_path: Path) -> None:
    rows = [("хорошо", "positive"), ("так себе", "neutral")]
    path = written(tmp_path / "reviews.csv", ("review", "sentiment"), rows, "\t")
    with pytest.raises(SourceError, match="unknown label") as caught:
        make("ru-reviews-classification", "reviews", path, tmp_path)
    assert str(caught.value.where).endswith("record 2")


def test_the_order_of_columns_does_not_matter(tmp_path: Path) -> None:
    for name, key in (("inappropriateness-classification", "messages"), ("sensitive-topics-classification", "topics")):
        dataset, source = definition_of(name).dataset, definition_of(name).source
        path = GOLDEN / source.name / "raw" / source.files[key].name
        with path.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        turned = written(tmp_path / path.name, header[::-1], [row[::-1] for row in rows])
        made, expected = (frames(make(name, key, file, tmp_path, **dataset.sample)) for file in (turned, path))
        assert all(made[split].equals(expected[split]) for split in expected)
