"""Shared by the tests of sampling: rows to choose from, hypothesis strategies, and every way to choose."""

import json
from collections import Counter

import polars as pl
from hypothesis import strategies as st

from builders.shaping import sampling

SEED = "kinopoisk"
CLASSES = ("Bad", "Neutral", "Good")

ids = st.text(max_size=6)
reviews = st.dictionaries(ids, st.sampled_from(CLASSES), max_size=40)


def table(rows: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"id": list(rows), "label": list(rows.values())}, schema={"id": pl.String, "label": pl.String})


def keys(frame: pl.DataFrame) -> list[str]:
    return frame.get_column("id").to_list()


def counts(frame: pl.DataFrame) -> Counter[str]:
    return Counter(frame.get_column("label").to_list())


def corpus(classes: int = 7, rows: int = 4000) -> pl.DataFrame:
    """Rows with classes of different sizes, lists of labels, and clusters within one class."""
    numbers = range(rows)
    return pl.DataFrame(
        {
            "id": [f"row-{n}" for n in numbers],
            "label": [(n // 4) ** 2 % classes for n in numbers],
            "topics": [[t for t in range(3) if n % (t + 2) == 0] for n in numbers],
            "cluster": [n // 4 for n in numbers],
        }
    )


def all_choices(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The result of every function, by name."""
    small = {"train": 40, "validation": 7, "test": 20}
    large = {"train": 2001, "test": 999}
    splits_by_way = {
        "by class": sampling.split(frame, small, key="id", seed=SEED, by="label"),
        "of all": sampling.split(frame, large, key="id", seed=SEED),
        "by cluster": sampling.split(frame, small, key="id", seed=SEED, by="label", group="cluster"),
    }
    frames = {f"{way}: {name}": part for way, splits in splits_by_way.items() for name, part in splits.items()}
    return frames | {
        "sorted": sampling.sort_by_hash(frame, key="id", seed=SEED),
        "sample": sampling.sample(frame, 1000, key="id", seed=SEED),
        "stratified": sampling.sample_stratified(frame, 2001, by="label", key="id", seed=SEED),
        "stratified by topics": sampling.sample_stratified(frame, 2001, by="topics", key="id", seed=SEED),
        "per class": sampling.sample_per_class(frame, 100, by="label", key="id", seed=SEED),
    }


def all_choices_as_json(frame: pl.DataFrame) -> str:
    return json.dumps({name: part.rows() for name, part in all_choices(frame).items()})
