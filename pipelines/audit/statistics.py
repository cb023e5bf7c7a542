"""The statistics of a dataset: mteb's descriptive statistics, under mteb's names, computed on every row.

They follow mteb 2.26 (mteb/types/statistics.py, mteb/abstasks/_statistics_calculation.py), so that they can be compared with the
figures that mteb publishes; its figures of images, audio and video are left out. An average is the quotient of two exact sums.
The tables must have passed pipelines.audit.integrity.

A record is the value of one split in statistics.json, and its fields are the keys there, in this order.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import msgspec
import polars as pl

from builders import tasks
from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON
from pipelines.audit.label_statistics import LabelStatistics, ScoreStatistics, describe_labels, describe_scores
from pipelines.audit.languages import SampledTexts, sample_tables
from pipelines.audit.relevance_statistics import (
    RelevanceStatistics,
    TopRankedStatistics,
    describe_candidates,
    describe_judgements,
)
from pipelines.audit.tables import Frames, Location, available_splits, count_rows
from pipelines.audit.text_hashes import hash_seed
from pipelines.audit.text_statistics import TextStatistics, describe_texts
from pipelines.audit.training_statistics import TrainingStatistics, describe_training
from pipelines.stages import stage


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
class PairClassificationStatistics:
    """A split of a pair classification. unique_pairs: a pair and its reverse are two."""

    num_samples: int
    number_of_characters: int
    unique_pairs: int
    text1_statistics: TextStatistics
    text2_statistics: TextStatistics
    labels_statistics: LabelStatistics


@dataclass(frozen=True)
class STSStatistics:
    """A split of an STS task. unique_pairs: a pair and its reverse are one."""

    num_samples: int
    number_of_characters: int
    unique_pairs: int
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
class LanguagePairStatistics:
    """A language pair of a bitext."""

    num_samples: int
    number_of_characters: int
    unique_pairs: int
    sentence1_statistics: TextStatistics
    sentence2_statistics: TextStatistics


@dataclass(frozen=True)
class BitextStatistics:
    """A split of a bitext: the figures of all language pairs together, then those of each, as mteb gives them.

    A dataset has one pair here, so both are the same.
    """

    num_samples: int
    number_of_characters: int
    unique_pairs: int
    sentence1_statistics: TextStatistics
    sentence2_statistics: TextStatistics
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


def as_json(statistics: Mapping[str, SplitStatistics]) -> dict[str, Any]:
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
            return _describe_pair_classification(frames["default"][split], split, texts, seed)
        case tasks.STS():
            return _describe_sts(frames["default"][split], split, texts, seed)
        case tasks.Clustering():
            frame = frames["default"][split]
            return ClusteringStatistics(
                num_samples=count_rows(frame),
                text_statistics=texts["default", split, "sentences"],
                labels_statistics=describe_labels(frame, "labels"),
            )
        case tasks.BitextMining(pair=pair):
            return _describe_bitext(frames[pair][split], pair, split, texts, seed)
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


def _describe_pair_classification(
    frame: pl.LazyFrame, split: str, texts: Texts, seed: int
) -> PairClassificationStatistics:
    first, second = texts["default", split, "sentence1"], texts["default", split, "sentence2"]
    return PairClassificationStatistics(
        num_samples=count_rows(frame),
        number_of_characters=first.total_text_length + second.total_text_length,
        unique_pairs=_count_unique_pairs(frame, seed),
        text1_statistics=first,
        text2_statistics=second,
        labels_statistics=describe_labels(frame, "labels"),
    )


def _describe_sts(frame: pl.LazyFrame, split: str, texts: Texts, seed: int) -> STSStatistics:
    first, second = texts["default", split, "sentence1"], texts["default", split, "sentence2"]
    return STSStatistics(
        num_samples=count_rows(frame),
        number_of_characters=first.total_text_length + second.total_text_length,
        unique_pairs=_count_unique_pairs(frame, seed, symmetric=True),
        text1_statistics=first,
        text2_statistics=second,
        label_statistics=describe_scores(frame, "score"),
    )


def _describe_bitext(frame: pl.LazyFrame, pair: str, split: str, texts: Texts, seed: int) -> BitextStatistics:
    first, second = texts[pair, split, "sentence1"], texts[pair, split, "sentence2"]
    rows, unique_pairs = count_rows(frame), _count_unique_pairs(frame, seed)
    characters = first.total_text_length + second.total_text_length
    by_pair = {pair: LanguagePairStatistics(rows, characters, unique_pairs, first, second)}
    return BitextStatistics(rows, characters, unique_pairs, first, second, by_pair)


def _count_unique_pairs(frame: pl.LazyFrame, seed: int, *, symmetric: bool = False) -> int:
    """The number of different pairs of sentences; symmetric: a pair and its reverse are one."""
    hashes = frame.select(first=pl.col("sentence1").hash(seed), second=pl.col("sentence2").hash(seed))
    if symmetric:
        hashes = hashes.select(pl.min_horizontal(pl.all()).alias("first"), pl.max_horizontal(pl.all()).alias("second"))
    return count_rows(hashes.unique())
