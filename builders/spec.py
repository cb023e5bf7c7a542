"""The vocabulary of a builder: what it declares (Source, Dataset, Version, Prompts), is given (RawFiles) and returns (Tables).

Nothing here reads a file or opens a socket.
"""

from __future__ import annotations

import inspect
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from builders import papers
from builders.benchmarks import BENCHMARKS, Benchmark
from builders.errors import UsageError
from builders.raw_files import Hub, RawFile
from builders.tasks import Contrastive, Task

if TYPE_CHECKING:
    import polars as pl


VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


@dataclass(frozen=True)
class KnownFinding:
    """A finding that a maintainer examined and keeps.

    kind, location: as in the finding (`split_leak`, `default/test.text`). count: the sum over findings of this kind at this
    location, on complete raw files; a build that counts differently fails. why: the reason for keeping it, for the card.
    detail: only findings with this detail, where there are several.
    """

    kind: str
    location: str
    count: int
    why: str
    detail: str = ""


@dataclass(frozen=True)
class Version:
    """A version is options of the recipe, never a copy of it.

    notes: what changed, for the card's history. needs: keys of the raw files that this version takes beside those of the dataset,
    for every split.
    """

    notes: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    known: tuple[KnownFinding, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mining:
    """Raw files with hard negatives, which an embedding model ranks: `embedding-datasets decide` writes them.

    version: the one whose rows are ranked. files: the key of the raw file of each config. options: those of the recipe that add
    the column, with their defaults; `mined_ranks` among them, the first and the last rank that the files hold. of: the
    retrieval dataset whose corpus is ranked for its queries, where it is another one: `files` are then by model, and the last
    rank is the option `depth` of the recipe.
    """

    version: str
    files: Mapping[str, str]
    options: Mapping[str, Any]
    of: str = ""


# All records of a raw source: a table, or several by config.
Records: TypeAlias = "pl.DataFrame | pl.LazyFrame | Mapping[str, pl.LazyFrame]"
AS_PUBLISHED = "0.1.0"  # the version whose rows are the published ones, where the draw of these is not recorded
PUBLISHED_NOTES = (
    "The published rows in their order, taken from the raw source by a file of keys:"
    " scores on them compare with the leaderboard's."
)


def published_key(dataset: str) -> str:
    """The key of the raw file that says which raw records were published as a dataset."""
    return f"published-{dataset}"


def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a version: its numbers, so that 10.0.0 comes after 9.0.0."""
    return tuple(int(number) for number in version.split("."))


@dataclass(frozen=True)
class ConfigPrompts:
    """The prefixes of one config of training data for ru-en-RoSBERTa: for queries and documents, or one for both."""

    config: str
    rosberta: tuple[str, ...]


@dataclass(frozen=True)
class Prompts:
    """What an evaluation puts before the texts; two values are for query / document.

    rosberta: prefix for ru-en-RoSBERTa. e5: prefix for E5. instruction: for instruct models, empty for training data.
    configs: of training data, the prefixes of each config.
    """

    instruction: str
    rosberta: tuple[str, ...] = ()
    e5: tuple[str, ...] = ()
    configs: tuple[ConfigPrompts, ...] = ()


@dataclass(frozen=True)
class Reported:
    """Rows of a table, by their ids, that follow from a raw file: whether an index of benchmarks has their texts, for example.

    kind, config, split, column, detail: of the finding (cards.kinds).
    """

    kind: str
    config: str
    split: str
    column: str
    ids: tuple[str, ...]
    detail: str = ""


def read_docstring(function: Callable[..., object]) -> str:
    """The docstring of a function, without its indentation; empty if it has none.

    Raises UsageError if Python runs with -OO, which removes all docstrings: a card would lose them without a word.
    """
    if sys.flags.optimize > 1:
        raise UsageError(
            "Python's option -OO removes the docstrings that cards are made of",
            found="-OO, or PYTHONOPTIMIZE=2",
            todo="run the same command without it",
        )
    return inspect.getdoc(function) or ""


OWN_DRAW = "rows are drawn by a hash of our own, because the paper's draw is not recorded"  # why 1.0.0 has other rows
NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
OTHER = "other"  # the group of datasets without a benchmark
TRAINING = "training"  # the group of training data, and the folder of their builders
LANGUAGES = MappingProxyType({"rumteb": ("rus-Cyrl",), "ateb": ("eng-Latn",)})  # the default of each folder of builders


@dataclass(frozen=True)
class Decisions:
    """A raw file of a source that a classifier writes: `embedding-datasets decide` runs it once.

    key: of the raw file. inputs: keys of the raw files with the sentences. model, revision: the classifier on the Hub. sentences:
    the distinct sentences to decide on, from the input files. head: the first line of the file, from the classifier's name. line:
    the line of a sentence and whether it is accepted. rejected: the sentences that a file rejects, given its name and
    all sentences; it raises SourceError for a file of another classifier or without some sentence.
    """

    key: str
    inputs: tuple[str, ...]
    model: str
    revision: str
    sentences: Callable[[Iterable[Raw]], list[str]]
    head: Callable[[str], str]
    line: Callable[[str, bool], str]
    rejected: Callable[[Raw, str, list[str]], list[str]]


@dataclass(frozen=True)
class Measurement:
    """A raw file of numbers that a model gives for texts of a source: `embedding-datasets decide` runs it once.

    key: of the raw file. kind: "tokens" (of a text, without special tokens) or "cosine" (of the embeddings of two texts). model:
    on the Hub. revision: its commit; empty where none is fixed, then the file says which one it was. inputs: keys of the raw
    files with the texts, other measurements among them. texts: the texts to measure, from the input files: batches with the
    column `text`, or for a cosine `first` and `second` (String); a repeated text costs time and changes nothing.
    builders.shaping.measurements reads the file.
    """

    key: str
    kind: str
    model: str
    revision: str
    inputs: tuple[str, ...]
    texts: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class Source:
    """One upstream publication: where its raw files are and under which terms.

    license: a licence id of the Hub (`mit`, `cc-by-sa-4.0`, `other`, ...); license_note says what an id cannot.
    citation: keys in cards/citations.bib. annotations: the Hub's annotations_creators. files: raw files by short key. decisions:
    the raw file that a classifier writes, if there is one. measurements: those that a tokenizer or model writes, each after its
    inputs. published_bytes: the size of all files that are downloaded together, where the publisher states it; compared with
    what the server says of each before the first is downloaded.
    """

    name: str
    title: str
    license: str
    homepage: str
    citation: str | tuple[str, ...]
    files: Mapping[str, RawFile]
    annotations: tuple[str, ...] = ("found",)
    license_note: str = ""
    decisions: Decisions | None = None
    measurements: tuple[Measurement, ...] = ()
    published_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse two files that would lie in one place."""
        names = [file.name for file in self.files.values()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source {self.name}: two raw files are named {twice[0]!r}")

    @property
    def moving(self) -> set[str]:
        """The names of the raw files that their publisher may replace at their address."""
        return {file.name for file in self.files.values() if isinstance(file.location, Hub) and file.location.moving}

    @property
    def citations(self) -> tuple[str, ...]:
        """The citation keys, however many were given."""
        return (self.citation,) if isinstance(self.citation, str) else self.citation


@dataclass(frozen=True)
class Dataset:
    """One named dataset: its task, its versions, and the recipe that turns raw files into its tables.

    languages: as mteb writes them (`rus-Cyrl`). needs: for each split, the keys of the raw files it takes. pretty_name: its title
    on the Hub. benchmark: None where it belongs to none. sample: options for the golden sample. checkpoints: the recipe writes
    checkpoints, so a killed build resumes from the last one. subset: the name of this dataset in mteb's multilingual task
    (`ru`); every config then has the name that mteb's task loads, `ru-<config>`. license: where its texts have other terms than
    the source, a licence id as in Source. mining: where versions are built from rankings by a model. own_rows: why the
    rows of 1.0.0 are not those that were published, though its recipe is; empty where they are taken over unchanged. training:
    for keys of raw files, those of the source's training split, where the dataset lacks it: the recipe makes tables of them too.
    by_design: the kinds of findings that its design implies, in all versions, each with the reason. task_ids: what the Hub calls
    its task, beside the ids of the task type: `topic-classification`. published: for AS_PUBLISHED, all records of the raw source
    in its order, with an id (String) and the columns of the task; for retrieval by table (builders.published).
    """

    name: str
    task: Task
    languages: tuple[str, ...]
    needs: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, Version]
    recipe: Callable[..., Tables]
    pretty_name: str = ""
    benchmark: Benchmark | None = None
    prompts: Prompts | None = None
    sample: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    citation: tuple[str, ...] = ()
    checkpoints: bool = False
    subset: str = ""
    license: str = ""
    mining: Mining | None = None
    own_rows: str = ""
    training: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    by_design: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    task_ids: tuple[str, ...] = ()
    published: Callable[[RawFiles], Records] | None = None

    @property
    def group(self) -> str:
        """The group it is listed in: its benchmark's name, `training` for training data, or `other`."""
        if isinstance(self.task, Contrastive):
            return TRAINING
        return self.benchmark.name if self.benchmark else OTHER

    @property
    def first(self) -> str:
        """The first version that its recipe makes."""
        return min(self.versions.keys() - {AS_PUBLISHED}, key=version_key)

    @property
    def newest(self) -> str:
        """The newest version, by number."""
        return max(self.versions, key=version_key)

    @property
    def summary(self) -> str:
        """The first line of the recipe's docstring."""
        return read_docstring(self.recipe).split("\n", 1)[0]

    def options(self, version: str, *, sample: bool = False) -> dict[str, Any]:
        """Every number of the recipe under its name: defaults, then the version's, then the golden sample's."""
        if version == AS_PUBLISHED:
            return {"partial": False}  # the recipe has no part in it; True accepts that rows are lacking
        options = _default_options(self.recipe, self.mining) | dict(self.versions[version].options)
        return options | dict(self.sample) if sample else options


def dataset(
    name: str,
    *,
    task: Task,
    needs: Mapping[str, tuple[str, ...]] | tuple[str, ...],
    versions: Mapping[str, str | Version],
    pretty_name: str = "",
    benchmark: str | None = None,
    languages: tuple[str, ...] | None = None,
    prompts: Prompts | None = None,
    sample: Mapping[str, Any] | None = None,
    citation: tuple[str, ...] = (),
    checkpoints: bool = False,
    subset: str = "",
    license: str = "",  # noqa: A002 - as in Source
    mining: Mining | None = None,
    own_rows: str = "",
    training: Mapping[str, str] | None = None,
    by_design: Mapping[str, str] | None = None,
    task_ids: tuple[str, ...] = (),
    published: Callable[[RawFiles], Records] | None = None,
) -> Callable[[Callable[..., Tables]], Dataset]:
    """Turn a recipe into a Dataset.

    needs: as a plain tuple, all files for every split. benchmark: by name. languages: default: the folder's (LANGUAGES). prompts:
    default: those that the paper prints for a dataset of this name. published: as in Dataset; adds the version AS_PUBLISHED.

    Raises ValueError for a malformed name or version, an unknown benchmark or one whose demands are not met, missing languages,
    splits without files, or options the recipe does not have.
    """

    def declare(recipe: Callable[..., Tables]) -> Dataset:
        if not NAME.fullmatch(name):
            raise ValueError(f"a dataset's name is lower-case words joined by '-', not {name!r}")
        full = {number: note if isinstance(note, Version) else Version(note) for number, note in versions.items()}
        per_split = dict.fromkeys(task.splits, needs) if isinstance(needs, tuple) else dict(needs)
        if not full or not all(VERSION.fullmatch(number) for number in full):
            raise ValueError(f"{name}: versions are numbers like 1.0.0, not {sorted(versions)}")
        if set(per_split) != set(task.splits):
            raise ValueError(f"{name}: `needs` names the splits {sorted(per_split)}, its task {sorted(task.splits)}")
        if published is not None:  # a published row may come from any record, whatever splits the source has
            files = dict.fromkeys(key for keys in per_split.values() for key in keys)
            full = {AS_PUBLISHED: Version(PUBLISHED_NOTES, needs=(*files, published_key(name)))} | full
        asked = {option for version in full.values() for option in version.options} | set(sample or {})
        if unknown := sorted(asked - set(_default_options(recipe, mining))):
            raise ValueError(f"{name}: the recipe has no option {', '.join(unknown)}")
        spoken = languages or LANGUAGES.get(recipe.__module__.removeprefix("builders.").split(".")[0])
        if not spoken:
            raise ValueError(f"{name}: declare its `languages`, as mteb writes them: ('rus-Cyrl',)")
        given = prompts or _printed_prompts(name)
        return Dataset(
            name=name,
            task=task,
            languages=spoken,
            needs=per_split,
            versions=full,
            recipe=recipe,
            pretty_name=pretty_name or name,
            benchmark=_benchmark(name, benchmark, given),
            prompts=given,
            sample=sample or {},
            citation=citation,
            checkpoints=checkpoints,
            subset=subset,
            license=license,
            mining=mining,
            own_rows=own_rows,
            training=training or {},
            by_design=by_design or {},
            task_ids=task_ids,
            published=published,
        )

    return declare


def _default_options(recipe: Callable[..., Tables], mining: Mining | None) -> dict[str, Any]:
    parameters = list(inspect.signature(recipe).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters} | dict(mining.options if mining else {})


def _printed_prompts(dataset: str) -> Prompts | None:
    """The prompts of Table 7 of the ruMTEB paper, or the prefixes of Table 6 for training data; None where it prints none."""
    if printed := papers.prompts().get(dataset):
        return Prompts(printed.instruction, tuple(printed.rosberta.split("/")), tuple(printed.e5.split("/")))
    configs = tuple(ConfigPrompts(config, row.prefixes) for config, row in papers.sets_of(dataset).items())
    return Prompts("", configs=configs) if configs else None


def _benchmark(dataset: str, name: str | None, prompts: Prompts | None) -> Benchmark | None:
    if name is None:
        return None
    if name not in BENCHMARKS:
        raise ValueError(f"{dataset}: no benchmark is named {name!r}; there are {', '.join(BENCHMARKS)}")
    if BENCHMARKS[name].needs_prompts and prompts is None:
        raise ValueError(f"{dataset}: {BENCHMARKS[name].title} has a prompt for every dataset: declare `prompts`")
    return BENCHMARKS[name]


@dataclass(frozen=True)
class Raw:
    """One raw file that is here and verified: what the readers of builders.reading take.

    name: how errors call it (`cedr/main/train.jsonl`). path: the file, or the archive that holds it as `member`.
    limit: read no more than this many records (the command line's --limit). watch: called
    while the file is read, with the offset in bytes. opener: opens a file that is not on this machine; `path` is then its name.
    """

    name: str
    path: Path
    member: str | None = None
    limit: int | None = None
    watch: Callable[[int], object] | None = field(default=None, compare=False)
    opener: Callable[[], io.RawIOBase] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RawFiles:
    """The raw files that the wanted splits need, by key; a recipe may ask for no others.

    scratch: an empty folder for what does not fit in memory, removed once the tables are written. checkpoints: for a dataset
    with checkpoints, a folder that outlives a killed build (see builders.batches): empty, or with what such a build of the
    same rows wrote; removed once the release is complete.
    """

    splits: tuple[str, ...]
    files: Mapping[str, Raw]
    scratch: Path
    checkpoints: Path | None = None

    @property
    def resumable(self) -> Path:
        """The folder of checkpoints, or the scratch folder if the build keeps none."""
        return self.checkpoints or self.scratch

    def __getitem__(self, key: str) -> Raw:
        """The file, or KeyError where the dataset's `needs` does not name it for any wanted split."""
        return self.files[key]

    def whole(self, key: str) -> Raw:
        """The file whatever --limit says: for tables that others point into."""
        return replace(self.files[key], limit=None)


@dataclass(frozen=True)
class Dropped:
    """Rows that a recipe left out: why, from where, how many, and up to five of them by id."""

    reason: str
    count: int
    split: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tables:
    """What a recipe returns: frames by config and split, what it left out, numbers it observed, and findings that it reports."""

    frames: Mapping[str, Mapping[str, pl.DataFrame | pl.LazyFrame]]
    dropped: tuple[Dropped, ...] = ()
    observed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    reported: tuple[Reported, ...] = ()
