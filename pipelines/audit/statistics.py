"""The statistics of a dataset: mteb's descriptive statistics, under mteb's names, computed on every row.

They follow mteb 2.26 (mteb/types/statistics.py, mteb/abstasks/_statistics_calculation.py), so that they can be compared with the
figures that mteb publishes; its figures of images, audio and video are left out. An average is the quotient of two exact sums.
The tables must have passed pipelines.audit.integrity.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from builders import tasks
from cards.statistics import (
    BitextStatistics,
    ClassificationStatistics,
    ClusteringStatistics,
    LabelCount,
    LabelStatistics,
    LanguagePairStatistics,
    LanguageStatistics,
    PairClassificationStatistics,
    PreferenceStatistics,
    RelevanceStatistics,
    RetrievalStatistics,
    ScoreStatistics,
    SplitStatistics,
    STSStatistics,
    TextStatistics,
    TopRankedStatistics,
    TrainingSetStatistics,
    TrainingStatistics,
)
from pipelines.audit.languages import SampledTexts, language_shares, sample_tables
from pipelines.audit.tables import (
    Frames,
    Location,
    available_splits,
    count_rows,
    list_candidates,
    measure_texts,
    read_column,
    text_layouts,
)
from pipelines.process.stages import stage

Texts = Mapping[Location, TextStatistics]
Measures = Mapping[tuple[str, str], pl.DataFrame]  # config, split -> `hash <column>` and `length <column>` of each row
QUANTILES = (1, 5, 25, 50, 75, 95, 99)  # per cent


def describe_tables(
    task: tasks.Task,
    frames: Frames,
    measures: Measures | None = None,
    sampled_texts: Callable[[], SampledTexts] | None = None,
) -> dict[str, SplitStatistics]:
    """The statistics of each split, in the task's order, as mteb's `calculate_descriptive_statistics` computes them.

    frames: config -> split -> lazy frame. measures: what tables.measure_texts returns, or surveys, if the caller has them.
    sampled_texts: returns what languages.sample_tables does, if the caller has it.
    """
    measures = measure_texts(task, frames) if measures is None else measures
    sampled = sample_tables(task, frames) if sampled_texts is None else sampled_texts()
    with stage("statistics of texts"):
        texts = describe_texts(task, measures, sampled)
    with stage("statistics"):
        return {
            split: _describe_split(task, frames, split, texts, measures) for split in available_splits(task, frames)
        }


def _describe_split(task: tasks.Task, frames: Frames, split: str, texts: Texts, measures: Measures) -> SplitStatistics:
    match task:
        case tasks.Retrieval() | tasks.Reranking():
            return _describe_retrieval(frames, split, texts, measures)
        case tasks.Classification() | tasks.MultilabelClassification():
            return _describe_classification(frames["default"], split, texts, measures)
        case tasks.PairClassification():
            pairs = _describe_pairs(measures, "default", split, texts)
            return PairClassificationStatistics(*pairs, describe_labels(frames["default"][split], "labels"))
        case tasks.STS():
            pairs = _describe_pairs(measures, "default", split, texts, symmetric=True)
            return STSStatistics(*pairs, _describe_scores(read_column(frames["default"][split], "score")))
        case tasks.Clustering():
            labels = describe_labels(frames["default"][split], "labels")
            return ClusteringStatistics(len(measures["default", split]), texts["default", split, "sentences"], labels)
        case tasks.BitextMining(pair=languages):
            pairs = _describe_pairs(measures, languages, split, texts)
            return BitextStatistics(*pairs, {languages: LanguagePairStatistics(*pairs)})
        case tasks.Contrastive(configs=configs):
            return describe_training({config: frames[config][split] for config in configs}, split, texts)


def _describe_retrieval(frames: Frames, split: str, texts: Texts, measures: Measures) -> RetrievalStatistics:
    queries, documents = (len(measures[config, split]) for config in ("queries", "corpus"))
    query_texts, document_texts = texts["queries", split, "text"], texts["corpus", split, "text"]
    return RetrievalStatistics(
        num_samples=documents + queries,
        num_queries=queries,
        num_documents=documents,
        number_of_characters=document_texts.total_text_length + query_texts.total_text_length,
        documents_text_statistics=document_texts,
        queries_text_statistics=query_texts,
        relevant_docs_statistics=describe_judgements(frames, split),
        top_ranked_statistics=describe_candidates(frames, split, measures) if "top_ranked" in frames else None,
    )


def describe_judgements(frames: Frames, split: str) -> RelevanceStatistics:
    """The statistics of the relevance judgements of a split. frames: config -> split -> lazy frame."""
    qrels, corpus, queries = (frames[config][split] for config in ("qrels", "corpus", "queries"))
    relevant = (pl.col("score") != 0).sum().cast(pl.Int64).alias("relevant")
    per_query = qrels.group_by("query-id").agg(relevant).collect(engine="streaming")["relevant"].sort()
    judged = {column: qrels.select(id=pl.col(column)).unique() for column in ("query-id", "corpus-id")}
    total = int(per_query.sum())
    return RelevanceStatistics(
        num_relevant_docs=total,
        min_relevant_docs_per_query=per_query[0],
        average_relevant_docs_per_query=total / per_query.len(),
        max_relevant_docs_per_query=per_query[-1],
        unique_relevant_docs=count_rows(judged["corpus-id"]),
        num_missing_query_ids=count_rows(judged["query-id"].join(queries, on="id", how="anti")),
        num_missing_corpus_ids=count_rows(judged["corpus-id"].join(corpus, on="id", how="anti")),
    )


def describe_candidates(frames: Frames, split: str, measures: Measures) -> TopRankedStatistics:
    """The statistics of the candidate lists of a split."""
    ranked = frames["top_ranked"][split]
    sizes = read_column(ranked.select(size=pl.col("corpus-ids").list.len().cast(pl.Int64)), "size").sort()
    total = int(sizes.sum())
    return TopRankedStatistics(
        num_top_ranked=total,
        min_top_ranked_per_query=sizes[0],
        average_top_ranked_per_query=total / len(measures["queries", split]),
        max_top_ranked_per_query=sizes[-1],
        preferences=_describe_preferences(frames, split, measures) if sizes[0] == sizes[-1] == 2 else None,
    )


def _describe_preferences(frames: Frames, split: str, measures: Measures) -> PreferenceStatistics | None:
    """The statistics of lists of two candidates; None if those of one of them are both relevant, or none is."""
    length = measures["corpus", split]["length text"].cast(pl.Int64)
    lengths = pl.DataFrame({"corpus-id": read_column(frames["corpus"][split], "id"), "length": length})
    candidates = list_candidates(frames, split).join(lengths, on="corpus-id", maintain_order="left")
    relevant, other = (
        candidates.filter(rows).select("list", "length") for rows in (pl.col("relevant"), ~pl.col("relevant"))
    )
    pairs = relevant.join(other, on="list", suffix=" other")
    if not relevant.height == other.height == pairs.height:
        return None
    difference = (pairs["length"] - pairs["length other"]).sign()
    same, longer = int((difference == 0).sum()), int((difference > 0).sum())
    return PreferenceStatistics(pairs.height, same, longer / (pairs.height - same) if same < pairs.height else None)


def _describe_classification(
    frames: Mapping[str, pl.LazyFrame], split: str, texts: Texts, measures: Measures
) -> ClassificationStatistics:
    own, samples_in_train = measures["default", split].select("hash text"), None
    if split != "train" and "train" in frames:
        samples_in_train = len(own.unique().join(measures["default", "train"], on="hash text", how="semi"))
    return ClassificationStatistics(
        num_samples=len(own),
        samples_in_train=samples_in_train,
        text_statistics=texts["default", split, "text"],
        label_statistics=describe_labels(frames[split], "label"),
    )


def _describe_pairs(
    measures: Measures, config: str, split: str, texts: Texts, *, symmetric: bool = False
) -> tuple[int, int, int, TextStatistics, TextStatistics]:
    """The fields of PairCounts, then the statistics of both sides. symmetric: a pair and its reverse are one."""
    sides = ("sentence1", "sentence2")
    hashes = measures[config, split].select(f"hash {side}" for side in sides)
    different = hashes.select(least=pl.min_horizontal("*"), most=pl.max_horizontal("*")) if symmetric else hashes
    first, second = (texts[config, split, side] for side in sides)
    characters = first.total_text_length + second.total_text_length
    return len(hashes), characters, different.n_unique(), first, second


def describe_training(
    frames: Mapping[str, pl.LazyFrame], split: str, texts: Mapping[Location, TextStatistics]
) -> TrainingStatistics:
    """The statistics of a split. frames: its tables by config. texts: the statistics of the texts, by location."""
    sets = {}
    for config, frame in frames.items():
        kinds = pl.col("negative_kinds")
        counted = {kind: kinds.list.count_matches(kind).cast(pl.Int64).sum() for kind in tasks.NEGATIVE_KINDS}
        counts = frame.select(positives=pl.col("positives").list.len().cast(pl.Int64).sum(), **counted)
        positives, *negatives = counts.collect(engine="streaming").row(0)
        by_kind = dict(zip(tasks.NEGATIVE_KINDS, negatives, strict=True))
        query, positive = (texts[config, split, column] for column in ("query", "positives"))
        sets[config] = TrainingSetStatistics(count_rows(frame), positives, by_kind, query, positive)
    return TrainingStatistics(
        num_samples=sum(pairs.num_samples for pairs in sets.values()),
        num_positives=sum(pairs.num_positives for pairs in sets.values()),
        num_negatives={
            kind: sum(pairs.num_negatives[kind] for pairs in sets.values()) for kind in tasks.NEGATIVE_KINDS
        },
        training_sets=sets,
    )


def describe_texts(task: tasks.Task, measures: Measures, sampled_texts: SampledTexts) -> dict[Location, TextStatistics]:
    """The statistics of every column of texts of a dataset."""
    return {
        (config, split, column): _describe_column(
            measured[f"length {column}"],
            measured[f"hash {column}"],
            sampled_texts[config, split][f"guess {column}"].drop_nulls(),
        )
        for (config, split), measured in measures.items()
        for layout in text_layouts(task)
        if layout.config == config
        for column in layout.text
    }


def _describe_column(lengths: pl.Series, hashes: pl.Series, guesses: pl.Series) -> TextStatistics:
    lengths = lengths.cast(pl.Int64).sort()  # polars sums UInt32 as UInt32, and a corpus may exceed 2^32
    total = int(lengths.sum())
    return TextStatistics(
        total_text_length=total,
        min_text_length=lengths[0],
        average_text_length=total / len(lengths),
        max_text_length=lengths[-1],
        unique_texts=hashes.n_unique(),
        text_length_quantiles={f"p{percent:02d}": _quantile(lengths, percent) for percent in QUANTILES},
        languages=LanguageStatistics(texts=len(guesses), shares=language_shares(guesses)),
    )


def _quantile(ascending: pl.Series, percent: int) -> int:
    """The nearest rank: the least value that at least this percentage of all values does not exceed."""
    return int(ascending[max(math.ceil(percent * len(ascending) / 100), 1) - 1])


def describe_labels(frame: pl.LazyFrame, column: str) -> LabelStatistics:
    """The statistics of a column of labels, or of lists of them."""
    is_list = isinstance(frame.collect_schema()[column], pl.List)
    size = pl.col(column).list.len().cast(pl.Int64) if is_list else pl.when(pl.col(column).is_not_null()).then(1)
    sizes = frame.select(rows=pl.len(), total=size.sum(), least=size.min(), most=size.max())
    rows, total, least, most = sizes.collect(engine="streaming").row(0)
    counts = count_labels(frame, column)
    return LabelStatistics(
        min_labels_per_text=least,
        average_label_per_text=total / rows,
        max_labels_per_text=most,
        unique_labels=len(counts),
        labels={str(label): LabelCount(count) for label, count in counts.items()},
    )


def count_labels(frame: pl.LazyFrame, column: str) -> dict[Any, int]:
    """The number of rows with each label, in ascending order of labels; None, first, for rows with an empty list."""
    label, counts = pl.col(column), {}
    if isinstance(frame.collect_schema()[column], pl.List):
        unlabelled = frame.select((label.list.len() == 0).sum()).collect(engine="streaming").item()
        counts = {None: unlabelled} if unlabelled else {}
        # Whether an empty list becomes a null depends on the version of polars.
        frame = frame.select(label.explode()).drop_nulls()
    by_label = frame.group_by(column).agg(pl.len()).collect(engine="streaming").sort(column)
    return counts | dict(by_label.iter_rows())


def _describe_scores(scores: pl.Series) -> ScoreStatistics:
    """The statistics of a column of scores. The average is exact, whatever the order of the rows."""
    lowest, highest = scores.to_frame("score").select(lowest=pl.min("score"), highest=pl.max("score")).row(0)
    return ScoreStatistics(min_score=lowest, avg_score=math.fsum(scores) / scores.len(), max_score=highest)
