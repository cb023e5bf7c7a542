"""The statistics of a dataset: mteb's descriptive statistics, under mteb's names, computed on every row.

They follow mteb 2.26 (mteb/types/statistics.py, mteb/abstasks/_statistics_calculation.py), so that they can be compared with the
figures that mteb publishes; its figures of images, audio and video are left out. An average is the quotient of two exact sums.
The tables must have passed pipelines.audit.integrity.

The records come first: one of SplitStatistics is the value of a split in statistics.json, and its fields are the keys there, in
this order.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import msgspec
import polars as pl

from builders import tasks
from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON
from pipelines.audit.languages import SampledTexts, language_shares, sample_tables
from pipelines.audit.tables import (
    Frames,
    Location,
    available_splits,
    count_rows,
    hash_seed,
    list_candidates,
    model_input,
    read_column,
    text_columns,
)
from pipelines.process.stages import stage


@dataclass(frozen=True)
class LabelCount:
    """The number of rows with a label."""

    count: int


@dataclass(frozen=True)
class LabelStatistics:
    """mteb's figures of a column of labels.

    labels: by label, ascending; `None`, first, for rows with an empty list of labels.
    """

    min_labels_per_text: int
    average_label_per_text: float
    max_labels_per_text: int
    unique_labels: int
    labels: dict[str, LabelCount]


@dataclass(frozen=True)
class ScoreStatistics:
    """mteb's figures of a column of scores."""

    min_score: float
    avg_score: float
    max_score: float


@dataclass(frozen=True)
class RelevanceStatistics:
    """mteb's figures of relevance judgements. Documents judged 0 count among the unique ones, but nowhere else.

    queries_with_all_gold_black_or_white: of images, so 0; mteb has it from 2.26.24 on.
    """

    num_relevant_docs: int
    min_relevant_docs_per_query: int
    average_relevant_docs_per_query: float
    max_relevant_docs_per_query: int
    unique_relevant_docs: int
    num_missing_query_ids: int
    num_missing_corpus_ids: int
    queries_with_all_gold_black_or_white: int = 0


@dataclass(frozen=True)
class PreferenceStatistics:
    """Figures of preferences: queries with two candidates, one relevant and one not.

    num_same_length: the pairs of candidates with equally many characters. longer_is_relevant: of the other pairs, the share (0 to
    1) whose longer candidate is the relevant one; None without such pairs.
    """

    num_pairs: int
    num_same_length: int
    longer_is_relevant: float | None


@dataclass(frozen=True)
class TopRankedStatistics:
    """mteb's figures of candidate lists; the average is over all queries, with or without a list.

    preferences: mteb does not have these; None unless every list is a preference.
    """

    num_top_ranked: int
    min_top_ranked_per_query: int
    average_top_ranked_per_query: float
    max_top_ranked_per_query: int
    preferences: PreferenceStatistics | None = None


@dataclass(frozen=True)
class LanguageStatistics:
    """The languages of the texts with 30 letters or more; of a large table, of those in a fixed sample of its rows.

    texts: how many these are. shares: of these in each language (ISO 639-1, `und` if uncertain),
    the most frequent first.
    """

    texts: int
    shares: dict[str, float]


@dataclass(frozen=True)
class TextStatistics:
    """mteb's figures of a column of texts, in characters (Unicode code points), and two that mteb does not have.

    unique_texts: the number of different texts. text_length_quantiles: `p05` is the least length that at least 5 % of the texts
    do not exceed. The last two are missing in files from before they were computed.
    """

    total_text_length: int
    min_text_length: int
    average_text_length: float
    max_text_length: int
    unique_texts: int
    text_length_quantiles: dict[str, int] = field(default_factory=dict)
    languages: LanguageStatistics | None = None


@dataclass(frozen=True)
class TrainingSetStatistics:
    """A set of pairs of training data.

    num_negatives: how many there are of each kind. positive_statistics: of the first positive of each row.
    """

    num_samples: int
    num_positives: int
    num_negatives: dict[str, int]
    query_statistics: TextStatistics
    positive_statistics: TextStatistics


@dataclass(frozen=True)
class TrainingStatistics:
    """A split of training data: its rows, and the figures of each set of pairs. mteb has no such statistics."""

    num_samples: int
    num_positives: int
    num_negatives: dict[str, int]
    training_sets: dict[str, TrainingSetStatistics]


@dataclass(frozen=True)
class RetrievalStatistics:
    """A split of a retrieval or reranking task. top_ranked_statistics: None for retrieval.

    Unlike mteb, which first drops queries without a judgement, this counts every query.
    """

    num_samples: int
    num_queries: int
    num_documents: int
    number_of_characters: int
    documents_text_statistics: TextStatistics
    queries_text_statistics: TextStatistics
    relevant_docs_statistics: RelevanceStatistics
    top_ranked_statistics: TopRankedStatistics | None


@dataclass(frozen=True)
class ClassificationStatistics:
    """A split of a classification, with one label or several.

    samples_in_train: the number of different texts that train has too; None for train, and without train.
    """

    num_samples: int
    samples_in_train: int | None
    text_statistics: TextStatistics
    label_statistics: LabelStatistics


@dataclass(frozen=True)
class PairCounts:
    """What the statistics of all pairs of texts begin with."""

    num_samples: int
    number_of_characters: int
    unique_pairs: int


@dataclass(frozen=True)
class PairClassificationStatistics(PairCounts):
    """A split of a pair classification. unique_pairs: a pair and its reverse are two."""

    text1_statistics: TextStatistics
    text2_statistics: TextStatistics
    labels_statistics: LabelStatistics


@dataclass(frozen=True)
class STSStatistics(PairCounts):
    """A split of an STS task. unique_pairs: a pair and its reverse are one."""

    text1_statistics: TextStatistics
    text2_statistics: TextStatistics
    label_statistics: ScoreStatistics


@dataclass(frozen=True)
class ClusteringStatistics:
    """A split of a clustering."""

    num_samples: int
    text_statistics: TextStatistics
    labels_statistics: LabelStatistics


@dataclass(frozen=True)
class LanguagePairStatistics(PairCounts):
    """A language pair of a bitext. unique_pairs: a pair and its reverse are two."""

    sentence1_statistics: TextStatistics
    sentence2_statistics: TextStatistics


@dataclass(frozen=True)
class BitextStatistics(LanguagePairStatistics):
    """A split of a bitext: the figures of all language pairs together, then those of each, as mteb gives them.

    A dataset has one pair here, so both are the same.
    """

    hf_subset_descriptive_stats: dict[str, LanguagePairStatistics]


SplitStatistics = (
    RetrievalStatistics
    | ClassificationStatistics
    | PairClassificationStatistics
    | STSStatistics
    | ClusteringStatistics
    | BitextStatistics
    | TrainingStatistics
)
Texts = Mapping[Location, TextStatistics]
QUANTILES = (1, 5, 25, 50, 75, 95, 99)  # per cent


def describe_tables(
    task: tasks.Task, frames: Frames, seed: int | None = None, sampled_texts: Callable[[], SampledTexts] | None = None
) -> dict[str, SplitStatistics]:
    """The statistics of each split, in the task's order, as mteb's `calculate_descriptive_statistics` computes them.

    frames: config -> split -> lazy frame. seed: what text_hashes.hash_seed returns, if the caller has it. sampled_texts: returns
    what languages.sample_tables does, if the caller has it.
    """
    seed = hash_seed(task, frames) if seed is None else seed
    sampled = sample_tables(task, frames) if sampled_texts is None else sampled_texts()
    with stage("statistics of texts"):
        texts = describe_texts(task, frames, seed, sampled)
    with stage("statistics"):
        return {split: _describe_split(task, frames, split, texts, seed) for split in available_splits(task, frames)}


def to_json(statistics: Mapping[str, SplitStatistics]) -> dict[str, Any]:
    """The content of a statistics.json: dicts, numbers and None."""
    return {split: asdict(record) for split, record in statistics.items()}


def read_statistics(path: Path) -> dict[str, SplitStatistics]:
    """The statistics of each split from a statistics.json; unknown keys are ignored.

    Raises ReleaseError if the file cannot be read, and for invalid statistics, naming the split and the path of the first wrong
    value (`test: ... at $.num_samples`).
    """
    statistics, split = {}, ""
    try:
        for split, content in msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw]).items():
            statistics[split] = _decode_split(content)
    except (OSError, *INVALID_JSON) as error:
        raise ReleaseError(
            "invalid statistics",
            where=str(path),
            found=f"{split}: {error}" if split else str(error),
            expected="the statistics.json of a release",
            todo="build the release again, or fetch it again",
        ) from None
    return statistics


def _decode_split(content: msgspec.Raw) -> SplitStatistics:
    """The statistics of a split as the record whose fields are most like its keys: with the fewest in only one of both."""
    keys = msgspec.json.decode(content, type=dict[str, msgspec.Raw]).keys()
    records: tuple[type[SplitStatistics], ...] = get_args(SplitStatistics)
    record = min(records, key=lambda record: len(keys ^ {field.name for field in fields(record)}))
    return msgspec.json.decode(content, type=record)


def _describe_split(task: tasks.Task, frames: Frames, split: str, texts: Texts, seed: int) -> SplitStatistics:
    match task:
        case tasks.Retrieval() | tasks.Reranking():
            return _describe_retrieval(frames, split, texts)
        case tasks.Classification() | tasks.MultilabelClassification():
            return _describe_classification(frames["default"], split, texts, seed)
        case tasks.PairClassification():
            pairs, frame = _describe_pairs(frames, "default", split, texts, seed), frames["default"][split]
            return PairClassificationStatistics(*pairs, describe_labels(frame, "labels"))
        case tasks.STS():
            pairs, frame = (
                _describe_pairs(frames, "default", split, texts, seed, symmetric=True),
                frames["default"][split],
            )
            return STSStatistics(*pairs, describe_scores(frame, "score"))
        case tasks.Clustering():
            frame = frames["default"][split]
            labels = describe_labels(frame, "labels")
            return ClusteringStatistics(count_rows(frame), texts["default", split, "sentences"], labels)
        case tasks.BitextMining(pair=languages):
            pairs = _describe_pairs(frames, languages, split, texts, seed)
            return BitextStatistics(*pairs, {languages: LanguagePairStatistics(*pairs)})
        case tasks.Contrastive(configs=configs):
            return describe_training({config: frames[config][split] for config in configs}, split, texts)


def _describe_retrieval(frames: Frames, split: str, texts: Texts) -> RetrievalStatistics:
    queries, documents = count_rows(frames["queries"][split]), count_rows(frames["corpus"][split])
    query_texts, document_texts = texts["queries", split, "text"], texts["corpus", split, "text"]
    return RetrievalStatistics(
        num_samples=documents + queries,
        num_queries=queries,
        num_documents=documents,
        number_of_characters=document_texts.total_text_length + query_texts.total_text_length,
        documents_text_statistics=document_texts,
        queries_text_statistics=query_texts,
        relevant_docs_statistics=describe_judgements(frames, split),
        top_ranked_statistics=describe_candidates(frames, split, queries) if "top_ranked" in frames else None,
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


def describe_candidates(frames: Frames, split: str, queries: int) -> TopRankedStatistics:
    """The statistics of the candidate lists of a split. queries: the number of its queries."""
    ranked = frames["top_ranked"][split]
    sizes = read_column(ranked.select(size=pl.col("corpus-ids").list.len().cast(pl.Int64)), "size").sort()
    total = int(sizes.sum())
    return TopRankedStatistics(
        num_top_ranked=total,
        min_top_ranked_per_query=sizes[0],
        average_top_ranked_per_query=total / queries,
        max_top_ranked_per_query=sizes[-1],
        preferences=_describe_preferences(frames, split) if sizes[0] == sizes[-1] == 2 else None,
    )


def _describe_preferences(frames: Frames, split: str) -> PreferenceStatistics | None:
    """The statistics of lists of two candidates; None if those of one of them are both relevant, or none is."""
    length = model_input("corpus", "text").str.len_chars().cast(pl.Int64)
    lengths = frames["corpus"][split].select(pl.col("id").alias("corpus-id"), length=length).collect(engine="streaming")
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
    frames: Mapping[str, pl.LazyFrame], split: str, texts: Texts, seed: int
) -> ClassificationStatistics:
    text = pl.col("text").hash(seed)
    samples_in_train = None
    if split != "train" and "train" in frames:
        train = frames["train"].select(text)
        samples_in_train = count_rows(frames[split].select(text).unique().join(train, on="text", how="semi"))
    return ClassificationStatistics(
        num_samples=count_rows(frames[split]),
        samples_in_train=samples_in_train,
        text_statistics=texts["default", split, "text"],
        label_statistics=describe_labels(frames[split], "label"),
    )


def _describe_pairs(
    frames: Frames, config: str, split: str, texts: Texts, seed: int, *, symmetric: bool = False
) -> tuple[int, int, int, TextStatistics, TextStatistics]:
    """The fields of PairCounts, then the statistics of both sides. symmetric: a pair and its reverse are one."""
    frame, sides = frames[config][split], ("sentence1", "sentence2")
    hashes = frame.select(pl.col(sides).hash(seed))
    if symmetric:
        hashes = hashes.select(least=pl.min_horizontal(sides), most=pl.max_horizontal(sides))
    first, second = (texts[config, split, side] for side in sides)
    characters = first.total_text_length + second.total_text_length
    return count_rows(frame), characters, count_rows(hashes.unique()), first, second


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


def describe_texts(
    task: tasks.Task, frames: Frames, seed: int, sampled_texts: SampledTexts
) -> dict[Location, TextStatistics]:
    """The statistics of every column of texts of a dataset. seed: a `collision_free_seed` of all texts."""
    return {
        (config, split, column): _describe_column(
            frame, seed, sampled_texts[config, split][f"guess {column}"].drop_nulls()
        )
        for (config, split, column), frame in text_columns(task, frames).items()
    }


def _describe_column(frame: pl.LazyFrame, seed: int, guesses: pl.Series) -> TextStatistics:
    length = pl.col("text").str.len_chars().cast(pl.Int64)  # polars sums UInt32 as UInt32, and a corpus may exceed 2^32
    measures = frame.select(length=length, hash=pl.col("text").hash(seed)).collect(engine="streaming")
    lengths = measures["length"].sort()
    total = int(lengths.sum())
    return TextStatistics(
        total_text_length=total,
        min_text_length=lengths[0],
        average_text_length=total / len(lengths),
        max_text_length=lengths[-1],
        unique_texts=measures["hash"].n_unique(),
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


def describe_scores(frame: pl.LazyFrame, column: str) -> ScoreStatistics:
    """The statistics of a column of scores. The average is exact, whatever the order of the rows."""
    scores, score = read_column(frame, column), pl.col(column)
    lowest, highest = scores.to_frame().select(lowest=score.min(), highest=score.max()).row(0)
    return ScoreStatistics(min_score=lowest, avg_score=math.fsum(scores) / scores.len(), max_score=highest)
