"""The records of a statistics.json: one of SplitStatistics is the value of a split, and its fields are the keys there, in order.

pipelines.audit.statistics computes them, under mteb's names.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import msgspec

from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON


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
