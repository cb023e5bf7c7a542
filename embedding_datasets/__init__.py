"""Named, versioned, reproducible builders for text-embedding benchmark datasets.

    import embedding_datasets as ed

    release = ed.load("cedr", sample=True)      # the built release, else a new build
    release.tables["default"]["train"]          # a polars DataFrame; to_pandas() and to_datasets() for others
    release.findings                            # the known problems of the rows
    ed.check(my_frame, task="Classification")   # the problems of your own rows

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
    from pipelines.library.records import Catalogue, CatalogueEntry, Check, Difference, Release

load_own_packages()  # before any import of pipelines, cards or builders

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "Check",
    "DatasetError",
    "Difference",
    "Finding",
    "FindingsError",
    "Manifest",
    "PublishError",
    "RecipeError",
    "Release",
    "ReleaseError",
    "SourceError",
    "UsageError",
    "build",
    "catalogue",
    "check",
    "diff",
    "load",
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

    name: a dataset, a source with one dataset, or an unambiguous beginning; `cedr@1.0.0` for a version, else the newest. sample:
    from the golden sample, a few rows, without network. raw_dir: local raw files, `<raw_dir>/<source>/<file>`. offline: never
    download. output: the folder of releases; without it, outputs/ of the current folder if there is one, and the user's cache.

    A sample never takes the place of a release: it is built in a separate folder below the cache. Intact means that all files
    are there in their sizes; `check` reads their bytes.

    Raises UsageError for an unknown name or version and for a name of several datasets, SourceError, which lists them, where raw
    files are missing, ReleaseError where the release cannot be written.
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

    names: datasets, sources or groups (rumteb, ateb, rarb, all). sample, raw_dir, offline, output: as in `load`. splits: only
    these, as a part of a release. limit: the first raw records only, as a sample. force: build even if up to date, and replace
    other rows unless they were published.

    The first dataset that fails raises its error; those before it are built.
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

    data: a Release; the folder of a release or of any other dataset; a data file; `ORG/NAME@REVISION` on the Hub; `mteb:TASK`, as
    mteb reads it (extra `mteb`); a dataset of the catalogue that has been built; a frame of polars, pandas or PyArrow, a
    `datasets.Dataset`; frames as {split: frame} (a `DatasetDict`) or {config: {split: frame}}. For all but releases and tasks of
    mteb: task: its type, where the columns fit several. language: `rus-Cyrl`, or several; without one, wrong languages are not
    looked for. subset: one of several. scale: the lowest and the highest score. columns: the columns of the data by the name that
    the task has for them: `{"text": "sentence"}`. audit_language: detect the language of a sample of the texts, or of all.
    profile: also train a model on the rows, which finds labels that are shifted or wrong and notes how well it does on each split
    (docs/checking.md; extra `scores`). rules: a file of your own rules (docs/checking.md); without one, `checks.yaml` beside
    files on this machine. output: as in `load`.

    Raises UsageError for what is not a dataset and where there is a choice to make, SourceError for what cannot be read,
    ReleaseError for what has not been built.
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
    """The datasets that can be built, or those that names mean: `ed.catalogue("rumteb")`. It shows itself as a table.

    Raises UsageError for an unknown name.
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

    a, b: as for `check`: a Release, a folder, a data file, `ORG/NAME@REVISION`, a dataset that has been built, frames. task,
    subset, columns: as for `check`, for both. allow: what may differ beside the order of rows and the types of columns:
    `columns`, `ids`, `labels`, `folded` (docs/diff.md). output: as in `load`.

    Raises UsageError for an unknown name, SourceError for what cannot be read, ReleaseError for a release that has not been built
    or is damaged.
    """
    from pipelines.library import checks

    return checks.diff(a, b, task=task, subset=subset, columns=columns or {}, allow=allow, output=output)


if not TYPE_CHECKING:  # a type checker sees the imports above, and no other names
    MODULES = {name: "builders.errors" for name in __all__ if name.endswith("Error")}
    MODULES |= dict.fromkeys(("Finding", "Manifest"), "cards.manifest")

    def __getattr__(name: str) -> Any:
        """The records and errors, imported when they are asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(MODULES.get(name, "pipelines.library.records")), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
