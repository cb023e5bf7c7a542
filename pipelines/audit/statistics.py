"""What a dataset looks like in numbers: mteb's descriptive statistics, under mteb's names, of every row.

The model is mteb 2.26 (mteb/types/statistics.py, mteb/abstasks/_statistics_calculation.py), so that a release can be laid
beside the figures mteb publishes. What mteb says of images, audio and video is left out. Lengths are in characters
(Unicode code points); an average is the quotient of two exact sums; labels stand in ascending order, `None` (a row without
a label) first. Tables are taken to be sound: pipelines.audit.integrity has passed them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks
from builders.shaping.text import WHITE_SPACE
from pipelines.audit.integrity import row_name
from pipelines.audit.languages import language_shares, sample_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.audit.integrity import Frames

LanguageSamples = Mapping[tuple[str, str], "pl.DataFrame"]  # (config, split) -> rows of which the language is told
Texts = dict[tuple[str, str, str], dict[str, Any]]  # (config, split, column) -> statistics of its texts

AT_ONCE = 50_000  # repeated texts that are compared in one pass
QUANTILES = (1, 5, 25, 50, 75, 95, 99)  # per cent


def describe_tables(
    task: tasks.Task, frames: Frames, seed: int | None = None, heard: LanguageSamples | None = None
) -> dict[str, dict[str, Any]]:
    """For each split, in the task's order, what mteb's `calculate_descriptive_statistics` gives for the task's type.

    frames: config -> split -> lazy frame. seed, heard: those of `seed_of` and `heard_of`, where they are known. Values are
    numbers, dicts of them, or None: `samples_in_train` of the train split and where train is not among the frames,
    `top_ranked_statistics` without candidates. Unlike mteb, which drops queries without a judgement before it counts, every
    query counts.
    """
    layouts = tasks.layouts(task)
    splits = [split for split in task.splits if split in frames[layouts[0].config]]
    texts = _read(task, frames)
    seed = hash_seed(task, frames) if seed is None else seed
    spoken = _languages(sample_languages(task, frames) if heard is None else heard)
    described = {place: _texts(frame, seed) | {"languages": spoken[place]} for place, frame in texts.items()}
    match task:
        case tasks.Retrieval() | tasks.Reranking():
            return {split: _retrieval(frames, split, described) for split in splits}
        case tasks.Classification() | tasks.MultilabelClassification():
            return {split: _classification(frames["default"], split, described, seed) for split in splits}
        case tasks.PairClassification():
            return {split: _pair_classification(frames["default"][split], split, described, seed) for split in splits}
        case tasks.STS():
            return {split: _sts(frames["default"][split], split, described, seed) for split in splits}
        case tasks.Clustering():
            return {split: _clustering(frames["default"][split], split, described) for split in splits}
        case tasks.BitextMining(pair=pair):
            return {split: _bitext(frames[pair][split], pair, split, described, seed) for split in splits}


def sample_languages(task: tasks.Task, frames: Frames) -> LanguageSamples:
    """What the detectors of languages are asked about: a sample of the rows of each table, always the same.

    By config and split: id, as examples name the row, and each column of texts, as pipelines.audit.languages.beginning leaves it.
    """

    heard = {}
    for layout in tasks.layouts(task):
        for split in (split for split in task.splits if layout.text and split in frames[layout.config]):
            frame = frames[layout.config][split]
            key = row_name(frame.collect_schema().names()).cast(pl.String)
            keys = frame.with_row_index("__row").select(key).collect(engine="streaming").to_series()
            texts = {column: model_input(layout.config, column) for column in layout.text}
            heard[layout.config, split] = pl.concat(sample_texts(frame, texts, keys)).select("id", *layout.text)
    return heard


def hash_seed(task: tasks.Task, frames: Frames) -> int:
    """The `telling_seed` of all texts of a dataset, as models read them."""
    return collision_free_seed(list(_read(task, frames).values()))


def _read(task: tasks.Task, frames: Frames) -> dict[tuple[str, str, str], pl.LazyFrame]:
    """Every column of texts as a frame of one column, `text`, by config, split and column."""
    layouts = tasks.layouts(task)
    return {
        (layout.config, split, column): frames[layout.config][split].select(text=model_input(layout.config, column))
        for layout in layouts
        for split in task.splits
        if split in frames[layouts[0].config]
        for column in layout.text
    }


def model_input(config: str, column: str) -> pl.Expr:
    """A text as mteb hands it to a model: a document is title, space and text, stripped; any other text stays as it is."""

    if config != "corpus" or column != "text":
        return pl.col(column)
    return pl.concat_str("title", pl.lit(" "), "text").str.strip_chars(WHITE_SPACE)


def collision_free_seed(texts: Sequence[pl.LazyFrame]) -> int:
    """A seed under which `hash` gives no two different texts the same number: then numbers may stand for texts, exactly.

    texts: frames of one string column, `text`. In memory are a number a text, and AT_ONCE of the texts that stand there more
    than once. Numbers differ between versions of polars: they are for comparing, never for keeping.
    """

    every = pl.concat(texts) if texts else pl.LazyFrame({"text": []}, {"text": pl.String})
    return next(seed for seed in itertools.count() if _tells_apart(every, seed))


def _tells_apart(texts: pl.LazyFrame, seed: int) -> bool:
    """Whether all texts with one number are equal."""

    numbered = texts.with_columns(number=pl.col("text").hash(seed))
    numbers = numbered.select("number").collect(engine="streaming")["number"]
    repeated = numbers.filter(numbers.is_duplicated()).unique()
    for some in repeated.to_frame().iter_slices(AT_ONCE):
        alike = numbered.filter(pl.col("number").is_in(some["number"].implode())).group_by("number")
        ends = alike.agg(pl.col("text").min().alias("least"), pl.col("text").max().alias("greatest"))
        if not ends.filter(pl.col("least") != pl.col("greatest")).collect(engine="streaming").is_empty():
            return False
    return True


def label_counts(frame: pl.LazyFrame, column: str) -> dict[Any, int]:
    """How many rows have each label, in ascending order of labels; None, first, for rows whose list of labels is empty."""

    label, counts = pl.col(column), {}
    if isinstance(frame.collect_schema()[column], pl.List):
        bare = frame.select((label.list.len() == 0).sum()).collect(engine="streaming").item()
        counts = {None: bare} if bare else {}
        frame = frame.select(label.explode()).drop_nulls()  # whether an empty list leaves a null depends on the version
    found = frame.group_by(column).agg(pl.len()).collect(engine="streaming").sort(column)
    return counts | dict(found.iter_rows())


def _texts(frame: pl.LazyFrame, seed: int) -> dict[str, Any]:

    length = pl.col("text").str.len_chars().cast(pl.Int64)  # polars sums UInt32 as UInt32, and a corpus may pass 2^32
    found = frame.select(length=length, number=pl.col("text").hash(seed)).collect(engine="streaming")
    lengths = found["length"].sort()
    return {
        "total_text_length": lengths.sum(),
        "min_text_length": lengths.min(),
        "average_text_length": lengths.sum() / len(lengths),
        "max_text_length": lengths.max(),
        "unique_texts": found["number"].n_unique(),
        "text_length_quantiles": {f"p{percent:02d}": _quantile(lengths, percent) for percent in QUANTILES},
    }


def _quantile(ascending: pl.Series, percent: int) -> Any:
    """The nearest rank: the least value that at least so many per cent of all do not exceed."""
    return ascending[max(math.ceil(percent * len(ascending) / 100), 1) - 1]


def _languages(heard: LanguageSamples) -> dict[tuple[str, str, str], dict[str, Any]]:
    """For each column of texts: how many texts were looked at, and the share of each language among them."""
    found = {}
    for (config, split), rows in heard.items():
        for column in rows.columns[1:]:
            judged = rows[column].drop_nulls()
            found[config, split, column] = {"texts": len(judged), "shares": language_shares(judged)}
    return found


def _labels(frame: pl.LazyFrame, column: str) -> dict[str, Any]:

    listed = isinstance(frame.collect_schema()[column], pl.List)
    size = pl.col(column).list.len().cast(pl.Int64) if listed else pl.when(pl.col(column).is_not_null()).then(1)
    row = frame.select(rows=pl.len(), total=size.sum(), least=size.min(), most=size.max())
    rows, total, least, most = row.collect(engine="streaming").row(0)
    counts = label_counts(frame, column)
    return {
        "min_labels_per_text": least,
        "average_label_per_text": total / rows,
        "max_labels_per_text": most,
        "unique_labels": len(counts),
        "labels": {str(label): {"count": count} for label, count in counts.items()},
    }


def _retrieval(frames: Frames, split: str, texts: Texts) -> dict[str, Any]:
    documents, queries = texts["corpus", split, "text"], texts["queries", split, "text"]
    count = {config: row_count(frames[config][split]) for config in ("queries", "corpus")}
    ranked = frames["top_ranked"][split] if "top_ranked" in frames else None
    return {
        "num_samples": count["corpus"] + count["queries"],
        "num_queries": count["queries"],
        "num_documents": count["corpus"],
        "number_of_characters": documents["total_text_length"] + queries["total_text_length"],
        "documents_text_statistics": documents,
        "queries_text_statistics": queries,
        "relevant_docs_statistics": _judgements(frames, split),
        "top_ranked_statistics": None if ranked is None else _candidates(ranked, count["queries"]),
    }


def _judgements(frames: Frames, split: str) -> dict[str, Any]:
    """As in mteb, a judgement of 0 counts among the unique documents, but nowhere else."""

    qrels, corpus, queries = (frames[config][split] for config in ("qrels", "corpus", "queries"))
    relevant = (pl.col("score") != 0).sum().cast(pl.Int64).alias("relevant")
    per_query = qrels.group_by("query-id").agg(relevant).collect(engine="streaming")["relevant"]
    judged = {column: qrels.select(id=pl.col(column)).unique() for column in ("query-id", "corpus-id")}
    return {
        "num_relevant_docs": per_query.sum(),
        "min_relevant_docs_per_query": per_query.min(),
        "average_relevant_docs_per_query": per_query.sum() / per_query.len(),
        "max_relevant_docs_per_query": per_query.max(),
        "unique_relevant_docs": row_count(judged["corpus-id"]),
        "num_missing_query_ids": row_count(judged["query-id"].join(queries, on="id", how="anti")),
        "num_missing_corpus_ids": row_count(judged["corpus-id"].join(corpus, on="id", how="anti")),
    }


def _candidates(ranked: pl.LazyFrame, queries: int) -> dict[str, Any]:

    listed = ranked.select(pl.col("corpus-ids").list.len().cast(pl.Int64)).collect(engine="streaming")["corpus-ids"]
    return {
        "num_top_ranked": listed.sum(),
        "min_top_ranked_per_query": listed.min(),
        "average_top_ranked_per_query": listed.sum() / queries,
        "max_top_ranked_per_query": listed.max(),
    }


def _classification(frames: Mapping[str, pl.LazyFrame], split: str, texts: Texts, seed: int) -> dict[str, Any]:

    number = pl.col("text").hash(seed)
    in_train = None
    if split != "train" and "train" in frames:
        train = frames["train"].select(number)
        in_train = row_count(frames[split].select(number).unique().join(train, on="text", how="semi"))
    return {
        "num_samples": row_count(frames[split]),
        "samples_in_train": in_train,
        "text_statistics": texts["default", split, "text"],
        "label_statistics": _labels(frames[split], "label"),
    }


def _pair_classification(frame: pl.LazyFrame, split: str, texts: Texts, seed: int) -> dict[str, Any]:
    first, second = texts["default", split, "sentence1"], texts["default", split, "sentence2"]
    return {
        "num_samples": row_count(frame),
        "number_of_characters": first["total_text_length"] + second["total_text_length"],
        "unique_pairs": _unique_pairs(frame, seed),
        "text1_statistics": first,
        "text2_statistics": second,
        "labels_statistics": _labels(frame, "labels"),
    }


def _sts(frame: pl.LazyFrame, split: str, texts: Texts, seed: int) -> dict[str, Any]:
    first, second = texts["default", split, "sentence1"], texts["default", split, "sentence2"]
    scores = frame.select("score").collect(engine="streaming")["score"]
    return {
        "num_samples": scores.len(),
        "number_of_characters": first["total_text_length"] + second["total_text_length"],
        "unique_pairs": _unique_pairs(frame, seed, symmetric=True),
        "text1_statistics": first,
        "text2_statistics": second,
        "label_statistics": {
            "min_score": scores.min(),
            "avg_score": math.fsum(scores) / scores.len(),  # exact, whatever the order of addition
            "max_score": scores.max(),
        },
    }


def _clustering(frame: pl.LazyFrame, split: str, texts: Texts) -> dict[str, Any]:
    return {
        "num_samples": row_count(frame),
        "text_statistics": texts["default", split, "sentences"],
        "labels_statistics": _labels(frame, "labels"),
    }


def _bitext(frame: pl.LazyFrame, pair: str, split: str, texts: Texts, seed: int) -> dict[str, Any]:
    """mteb gives the figures of all language pairs together, then those of each: of one pair they are the same."""
    first, second = texts[pair, split, "sentence1"], texts[pair, split, "sentence2"]
    described = {
        "num_samples": row_count(frame),
        "number_of_characters": first["total_text_length"] + second["total_text_length"],
        "unique_pairs": _unique_pairs(frame, seed),
        "sentence1_statistics": first,
        "sentence2_statistics": second,
    }
    return described | {"hf_subset_descriptive_stats": {pair: described}}


def _unique_pairs(frame: pl.LazyFrame, seed: int, *, symmetric: bool = False) -> int:
    """Distinct pairs of sentences; where `symmetric`, a pair and its reverse are one."""

    numbers = frame.select(first=pl.col("sentence1").hash(seed), second=pl.col("sentence2").hash(seed))
    if symmetric:
        numbers = numbers.select(
            pl.min_horizontal(pl.all()).alias("first"), pl.max_horizontal(pl.all()).alias("second")
        )
    return row_count(numbers.unique())


def row_count(frame: pl.LazyFrame) -> int:
    """How many rows a frame has."""

    return int(frame.select(pl.len()).collect(engine="streaming").item())
