"""Sentences of a few words, and tables of them, made by hashes: the same everywhere, and without any rule but those planted."""

from hashlib import blake2b

import polars as pl

from builders import tasks

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "juniper", "kelp", "larch")
COLOURS = ("green", "brown")  # of one length


def digit(*key: object) -> int:
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=4).digest())


def word(*key: object) -> str:
    return WORDS[digit(*key) % len(WORDS)]


def sentence(*key: object, words: int = 6) -> str:
    return " ".join(word(*key, position) for position in range(words))


def default(**splits: pl.DataFrame) -> dict[str, dict[str, pl.LazyFrame]]:
    return {"default": {split: frame.lazy() for split, frame in splits.items()}}


def retrieval(corpus: list[str], queries: list[str], relevant: list[int]) -> dict[str, dict[str, pl.LazyFrame]]:
    """A query each for some of the documents. relevant: their positions."""
    documents = [f"d{number}" for number in range(len(corpus))]
    names = [f"q{number}" for number in range(len(queries))]
    frames = {
        "corpus": pl.DataFrame({"id": documents, "title": [""] * len(corpus), "text": corpus}),
        "queries": pl.DataFrame({"id": names, "text": queries}),
        "qrels": pl.DataFrame({"query-id": names, "corpus-id": [documents[one] for one in relevant], "score": 1}),
    }
    return {config: {"test": frame.lazy()} for config, frame in frames.items()}


def noisy_tables(rows: int) -> list[tuple[tasks.Task, dict[str, dict[str, pl.LazyFrame]]]]:
    """A dataset of each task type whose labels words tell in part: what two versions of a library could score differently."""
    numbers = range(rows)
    labels = [digit(row, "label") % 3 for row in numbers]
    texts = [
        f"{sentence(row, words=4 + digit(row) % 9)} {word(label, digit(row) % 5)}." for row, label in enumerate(labels)
    ]
    others = [f"{sentence(row, 'other')} {word(label, digit(row) % 4)}" for row, label in enumerate(labels)]
    pairs = pl.DataFrame({"sentence1": texts, "sentence2": others})
    sets = [sorted({label, digit(row, "set") % 3}) for row, label in enumerate(labels)]
    ranked = [[f"d{row}", *(f"d{(row + step) % rows}" for step in (1, 7, 11))] for row in numbers]
    candidates = pl.DataFrame({"query-id": [f"q{row}" for row in numbers], "corpus-ids": ranked})
    judged = retrieval(texts, others, list(numbers))
    names = ("a", "b", "c")
    single = pl.DataFrame({"text": texts, "label": labels})
    several = pl.DataFrame({"text": texts, "label": sets})
    half = rows // 2
    return [
        (tasks.Classification(labels=names), default(train=single.head(half), test=single.tail(half))),
        (tasks.MultilabelClassification(labels=names), default(train=several.head(half), test=several.tail(half))),
        (tasks.PairClassification(names=("no", "yes")), default(test=pairs.with_columns(labels=pl.Series(labels) % 2))),
        (tasks.STS(low=0, high=2), default(test=pairs.with_columns(score=pl.Series(labels).cast(pl.Float64)))),
        (
            tasks.Clustering(),
            default(test=pl.DataFrame({"sentences": texts, "labels": [names[label] for label in labels]})),
        ),
        (tasks.BitextMining(pair="en-de"), {"en-de": {"test": pairs.lazy()}}),
        (tasks.Retrieval(), judged),
        (tasks.Reranking(), judged | {"top_ranked": {"test": candidates.lazy()}}),
    ]
