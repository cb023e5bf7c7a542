"""What baselines and models score on a release: scores.json, as frozen records, read and validated in one place.

Scores belong to rows: `content_sha256` names them. They are outside every content hash. A scores.json may come from the Hub:
until `decode_scores` has validated it, it is data.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from builders import limits
from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON, Sha256, VersionNumber

SCORES_FORMAT = 1
Score = Annotated[float, msgspec.Meta(ge=-100, le=100)]  # times 100, as papers and leaderboards print it
Labels = Literal["none", "few", "all"]
Reads = Literal["nothing", "order", "length", "one side", "texts"]

# What the names of baselines mean, in the order in which they are shown.
BASELINES: Mapping[str, str] = MappingProxyType(
    {
        "chance": "a random answer, on average",
        "majority": "always the most frequent label",
        "first": "the candidate that is listed first",
        "length": "lengths and punctuation alone",
        "longer": "the longer candidate first",
        "shorter": "the shorter candidate first",
        "sentence1": "TF-IDF of the first text alone, with a linear model",
        "sentence2": "TF-IDF of the second text alone, with a linear model",
        "candidate": "TF-IDF of the candidate alone, without the query, with a linear model",
        "words": "shared words",
        "letters": "shared character trigrams",
        "named": "the document whose words are in the query, the first named first",
        "bm25": "BM25",
        "tfidf": "TF-IDF with a linear model, trained on all training rows",
        "tfidf_few": "TF-IDF with the simple model of the protocol, trained on as few rows as models are",
        "centroid": "TF-IDF, the label with the nearest mean",
        "kmeans": "k-means on TF-IDF",
    }
)


@dataclass(frozen=True)
class Baseline:
    """What a rule or a simple model scores.

    name: one of BASELINES. score: in the metric of the Scores, times 100, to one decimal. reads: which part of the row it
    reads; `one side` is one text of a pair, or a candidate without its query. labels: which labels it learns from: none, as few
    as the task's protocol gives a model (`few`), or all of train, or of the other folds (`all`); `chance` and `majority` know
    how frequent labels are, and count as `none`. auc: how well it tells the labels apart, the area under the ROC curve times 100;
    of more than two labels, the mean of each against all others; None where it orders no rows by a label. detail: what of the
    data it used, if not everything.
    """

    name: str
    score: Score
    reads: Reads
    labels: Labels
    auc: Score | None = None
    detail: str = ""


@dataclass(frozen=True)
class Published:
    """A published score of a model, times 100. metric: as mteb calls it. model, source: its name there, the paper and table."""

    model: str
    metric: str
    score: Score
    source: str


@dataclass(frozen=True)
class ModelScore:
    """What a model scores, through mteb.

    model: its name on our command line. weights: its full name. revision: the sha256 of its weights, or its revision on the Hub.
    task: the mteb task. metric, score: the main score, times 100, to two decimals. prompts: what is put before the texts, by what
    they are (`query`, `document`). packages: versions of the packages that computed it. published: the score of the same model
    in a paper, in the metric that is named there, and `same_metric` ours in that metric. detail: in what the evaluation differs
    from mteb's own run of the task, if in anything.
    """

    model: str
    weights: str
    revision: str
    task: str
    metric: str
    score: Score
    prompts: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    published: Published | None = None
    same_metric: Score | None = None
    detail: str = ""


@dataclass(frozen=True)
class Shortcut:
    """A baseline that reads less than the task asks for, and scores far above chance all the same.

    baseline: one of BASELINES. metric: the one of the Scores, or `auc`. score, chance: in it, times 100.
    """

    baseline: str
    metric: str
    score: Score
    chance: Score


@dataclass(frozen=True, kw_only=True)
class Scores:
    """All scores of a release.

    content_sha256: of the rows that were scored. metric: the main score of the task (`accuracy`). split: the one scored.
    packages: versions of the packages that computed the baselines.
    """

    format: int = SCORES_FORMAT
    dataset: str
    version: VersionNumber
    content_sha256: Sha256
    metric: str
    split: str
    baselines: tuple[Baseline, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    models: tuple[ModelScore, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)

    @property
    def chance(self) -> float | None:
        """What a random answer scores; None where no baselines were computed."""
        return next((one.score for one in self.baselines if one.name == "chance"), None)

    @property
    def best_baseline(self) -> Baseline | None:
        """The best baseline that sees no more labels than a model does; the first of equal ones."""
        fair = [one for one in self.baselines if one.labels != "all"]
        return max(fair, key=lambda one: one.score, default=None)

    @property
    def best_model(self) -> ModelScore | None:
        """The model with the highest score in the metric of the baselines; the first of equal ones."""
        return max((one for one in self.models if one.metric == self.metric), key=lambda one: one.score, default=None)


def decode_scores(data: bytes, where: str) -> Scores:
    """The scores from the bytes of a scores.json; keys that are not known are ignored. where: the file, for the error.

    Raises ReleaseError for more bytes than limits.MAX_MANIFEST, for invalid JSON, and for scores of a later format.
    """
    found = f"more than {limits.MAX_MANIFEST:,} bytes"
    if len(data) <= limits.MAX_MANIFEST:
        try:
            scores = msgspec.json.decode(data, type=Scores)
        except INVALID_JSON as error:
            found = str(error)[:500]
        else:
            if scores.format <= SCORES_FORMAT:
                return scores
            found = f"format {scores.format}"
    raise ReleaseError(
        "invalid scores.json",
        where=where,
        found=found,
        expected=f"scores of this package, format {SCORES_FORMAT}",
        todo="compute them again: embedding-datasets score NAME",
    )


def encode_scores(scores: Scores) -> bytes:
    """The bytes of a scores.json: indented, UTF-8, keys in the order of the records, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(asdict(scores)), indent=2) + b"\n"
