"""Layouts of others as tables of our tasks: training pairs and triplets, lists of candidates, pairs and texts under other names.

A table is only translated where its own columns make no task type, and a note says what was read as what. Names are compared in
lower case.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
from polars import selectors

from pipelines.audit.tables import Frames
from pipelines.checking.data_files import Tables

# Other names of the columns of a task, the more telling first.
TEXT = (
    "text", "sentence", "review", "comment", "content", "tweet", "utterance", "message", "headline", "title", "body", "document",
    "review_body", "question", "query", "input", "passage", "abstract", "description",
)  # fmt: skip
LABEL = (
    "label", "target", "labels", "class", "category", "sentiment", "intent", "emotion", "topic", "rating", "stars", "toxic",
    "is_toxic", "coarse_label", "fine_label", "annotation", "gold_label", "score",
)  # fmt: skip
FIRST = ("sentence1", "sent1", "premise", "question1", "text1", "text_a", "sentence_a", "q1", "s1")
SECOND = ("sentence2", "sent2", "hypothesis", "question2", "text2", "text_b", "sentence_b", "q2", "s2")
JUDGED = (
    "labels", "label", "score", "is_duplicate", "duplicate", "is_paraphrase", "gold_label", "class", "target", "similarity",
    "similarity_score", "relatedness_score",
)  # fmt: skip
QUERY, POSITIVE = ("query", "anchor", "question"), ("positives", "positive", "pos")
NEGATIVE = re.compile(r"(?:mined_)?(?:hard_)?neg(?:ative)?s?(?:_?[0-9]+)?")
WORDS = r"\s|[^\x00-\x7F]"  # what a text has and an id lacks
MAX_KINDS = 2  # of labels of a pair that says whether its sides are the same

Parts = dict[str, dict[str, pl.LazyFrame]]  # part of a task (`default`, or `corpus`, ...) -> split -> frame


def _first(types: pl.Schema, candidates: tuple[str, ...]) -> str | None:
    """The name of the first of some columns that a table has, in any case."""
    names = {name.lower(): name for name in reversed(types.names())}
    return next((names[name] for name in candidates if name in names), None)


def translate(tables: Frames, requested: str | None, is_known: Callable[..., bool]) -> tuple[Tables, list[str]]:
    """The tables with columns of ours in place of those of known layouts, and notes. requested: the task type, if one is named.

    is_known: whether the columns of a config, with its splits, make the requested task type, or any, as they are.
    """
    translated: Tables = {}
    notes = []
    for config, splits in tables.items():
        types = next(iter(splits.values())).collect_schema()
        # Not only named like ours.
        own = "negative_kinds" in types or not (_first(types, ("query",)) and _first(types, ("positives",)))
        readers = () if own and is_known(config, splits, requested) else (_read_training, _read_pairs, _read_texts)
        for read in readers:
            found = read(splits, types, requested)
            if found is not None and requested in (None, found[0]):
                task, parts, words = found
                prefix = "" if config == "default" else f"{config}-"
                translated |= {config if part == "default" else prefix + part: own for part, own in parts.items()}
                notes.append(f"{config}: read as {task}: {words}")
                break
        else:
            translated[config] = dict(splits)
    return translated, notes


Found = tuple[str, Parts, str] | None  # the task type, its tables, and in words what was read as what


def _read_training(splits: Mapping[str, pl.LazyFrame], types: pl.Schema, requested: str | None) -> Found:
    """Training pairs and triplets: of sentence-transformers, FlagEmbedding, MEDI; lists without a train split are candidates."""
    query, positive = _first(types, QUERY), _first(types, POSITIVE)
    if query is None or positive is None:
        return None
    negatives = [name for name in types if NEGATIVE.fullmatch(name.lower())]
    others = f"{', '.join(negatives)} as its negatives" if negatives else "without negatives"
    words = f"{query} as the query, {positive} as its positives, {others}"
    instructed = _is_list_of_texts(types[query])
    if instructed:  # MEDI: each text follows its instruction, in a list of two
        words += ", without the instructions before them"
    texts = {
        "query": pl.col(query).list.last() if instructed else pl.col(query).cast(pl.String),
        "positives": _as_list(types, [positive], instructed=instructed),
        "negatives": _as_list(types, negatives, instructed=instructed),
    }
    rows = {split: frame.select(**texts) for split, frame in splits.items()}
    in_lists = _is_list_of_texts(types[positive]) and not instructed
    if in_lists and negatives and requested != "Contrastive" and not any("train" in split.lower() for split in splits):
        return "Reranking", _list_candidates(rows), words
    kinds = pl.lit("provided").repeat_by(pl.col("negatives").list.len())
    for split, frame in rows.items():
        numbered = frame.with_row_index("id").with_columns(pl.col("id").cast(pl.String))
        rows[split] = numbered.with_columns(negative_kinds=kinds)
    return "Contrastive", {"default": rows}, words


def _is_list_of_texts(kind: Any) -> bool:
    return isinstance(kind, pl.List | pl.Array) and kind.inner == pl.String


def _as_list(types: pl.Schema, names: list[str], *, instructed: bool) -> pl.Expr:
    """The texts of some columns, of single texts or of lists, as one list. instructed: each is the last of its list."""
    parts = []
    for name in names:
        if types[name].is_nested() and not instructed:
            parts.append(pl.col(name).cast(pl.List(pl.String)))
        else:
            text = pl.col(name).list.last() if instructed else pl.col(name).cast(pl.String)
            parts.append(pl.concat_list(text).list.drop_nulls())
    return pl.concat_list(parts) if parts else pl.lit([], pl.List(pl.String))


def _list_candidates(splits: Mapping[str, pl.LazyFrame]) -> Parts:
    """Queries with lists of relevant and of other texts as the tables of reranking, each text of a list a document of its own."""
    parts: Parts = {"corpus": {}, "queries": {}, "qrels": {}, "top_ranked": {}}
    for split, frame in splits.items():
        numbered = (
            frame.with_row_index("number").with_columns(id=pl.format("q{}", "number")).collect(engine="streaming")
        )
        both = pl.concat_list("positives", "negatives")
        places = pl.int_ranges(pl.col("positives").list.len() + pl.col("negatives").list.len())
        rows = numbered.select("id", text=both, place=places, count=pl.col("positives").list.len())
        rows = rows.explode("text", "place").drop_nulls("text")
        rows = rows.with_columns(document=pl.format("{}-d{}", "id", "place"))
        parts["corpus"][split] = rows.lazy().select(id="document", title=pl.lit(""), text="text")
        parts["queries"][split] = numbered.lazy().select("id", text="query")
        relevant = (pl.col("place") < pl.col("count")).cast(pl.Int64)
        parts["qrels"][split] = rows.lazy().select(**{"query-id": "id", "corpus-id": "document"}, score=relevant)
        # The two lists say nothing about an order: by their texts, no place is that of the relevant ones.
        listed = rows.group_by("id", maintain_order=True).agg(pl.col("document").sort_by("text", "place"))
        parts["top_ranked"][split] = listed.lazy().select(**{"query-id": "id", "corpus-ids": "document"})
    return parts


def _read_pairs(splits: Mapping[str, pl.LazyFrame], types: pl.Schema, requested: str | None) -> Found:
    """Pairs of texts under other names: scored, labelled as the same or not, or with more labels, as texts of two lines."""
    first, second, judged = _first(types, FIRST), _first(types, SECOND), _first(types, JUDGED)
    if first is None or second is None or judged is None:
        return None
    names = {"sentence1": first, "sentence2": second}
    words = f"{first} and {second} as the sides, {judged} as "
    kind = types[judged]
    inner = kind.inner if isinstance(kind, pl.List) else kind
    values = pl.concat([frame.select(value=pl.col(judged)) for frame in splits.values()])
    values = values.explode("value") if isinstance(kind, pl.List) else values
    distinct = values.select(pl.col("value").drop_nulls().unique().head(MAX_KINDS + 1)).collect(engine="streaming")[
        "value"
    ]
    fractional = inner.is_float() and bool((distinct != distinct.floor()).any())
    if requested == "STS" or (
        requested is None and (fractional or (len(distinct) > MAX_KINDS and judged != "label" and inner.is_numeric()))
    ):
        return "STS", {"default": _select(splits, names | {"score": judged})}, f"{words}the score"
    if requested == "PairClassification" or (requested is None and len(distinct) <= MAX_KINDS):
        return "PairClassification", {"default": _select(splits, names | {"labels": judged})}, f"{words}the label"
    joined = pl.concat_str(pl.col(first), pl.col(second), separator="\n")
    rows = {split: frame.select(text=joined, label=judged) for split, frame in splits.items()}
    return "Classification", {"default": rows}, f"{first} and {second} as a text of two lines, {judged} as the label"


def _read_texts(splits: Mapping[str, pl.LazyFrame], types: pl.Schema, requested: str | None) -> Found:
    """Texts with labels under other names."""
    text, label = _first(types, TEXT), _first(types, LABEL)
    if text is None or label is None or text == label or types[text] != pl.String:
        return None
    if requested == "Clustering":
        return "Clustering", {"default": _select(splits, {"sentences": text, "labels": label})}, f"{text}, {label}"
    rows = _select(splits, {"text": text, "label": label})
    task = "MultilabelClassification" if isinstance(types[label], pl.List) else "Classification"
    return task, {"default": rows}, f"{text} as the text, {label} as the label"


def _select(splits: Mapping[str, pl.LazyFrame], names: Mapping[str, str]) -> dict[str, pl.LazyFrame]:
    """The frames with some columns under our names, and all others."""
    return {
        split: frame.select(pl.exclude(*names.values(), *names), **{own: pl.col(other) for own, other in names.items()})
        for split, frame in splits.items()
    }


def propose(tables: Frames) -> str:
    """Options that may read tables that no layout fits, from the names that are there; empty where it is not clear which.

    Texts are columns of strings of several words that are not much shorter than the longest. Two of them are a pair; the other
    column with the fewest values is the label or the score.
    """
    head = next(iter(next(iter(tables.values())).values())).head(200).collect(engine="streaming")
    strings = head.select(selectors.string()).fill_null("")
    worded: dict[str, Any] = {
        name: strings[name].str.len_chars().mean()
        for name in strings.columns
        if strings[name].str.contains(WORDS).sum() > 0.9 * len(head)
    }
    texts = [name for name in worded if worded[name] * 4 >= max(worded.values())]
    flat = [name for name, kind in head.schema.items() if name not in worded and not kind.is_nested()]
    labels = sorted((name for name in flat if head[name].n_unique() > 1), key=lambda name: head[name].n_unique())[:1]
    scored = bool(labels) and head[labels[0]].dtype.is_numeric() and head[labels[0]].n_unique() > MAX_KINDS
    proposals = {
        (1, 1): ("Classification", "text", "label"),
        (2, 1): ("STS" if scored else "PairClassification", "sentence1", "sentence2", "score" if scored else "labels"),
        (2, 0): ("Contrastive", "query", "positives"),
    }
    task, *names = proposals.get((len(texts), len(labels)), ("",))
    columns = " ".join(f"--map {own}={other}" for own, other in zip(names, (*texts, *labels), strict=False))
    return f"--task {task} {columns}" if task else ""
