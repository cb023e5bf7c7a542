"""Where a release is looked for, and whether it is built: load() and build() of `import embedding_datasets`.

A complete release is looked for in outputs/ of the current folder, if there is one, then below the user's cache; it is built in
the first of the two. Samples and parts have separate folders below the cache, so that neither is ever taken for a release:

    <cache>/releases/<dataset>/<version>/    complete
    <cache>/samples/<dataset>/<version>/     from the whole golden sample
    <cache>/parts/<dataset>/<version>/       some splits, or the first raw records; the last build of them

With `output`, everything is in that folder. Errors name the options of the command; the parameters here have the same names.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from builders import catalogue
from builders.errors import ReleaseError, SourceError, UsageError
from pipelines.library.records import Release
from pipelines.raw.digests import default_cache
from pipelines.release import folder

if TYPE_CHECKING:
    from builders.catalogue import Definition
    from pipelines.make import BuildSettings
    from pipelines.raw.missing_files import MissingRawFile
    from pipelines.raw.settings import RawSettings

RELEASES, SAMPLES, PARTS = "releases", "samples", "parts"
Location = str | PathLike[str]

logger = logging.getLogger(__name__)


def load(
    name: str,
    *,
    sample: bool = False,
    raw_dir: Location | None = None,
    offline: bool = False,
    output: Location | None = None,
) -> Release:
    """The release of a dataset: the built one, if it is complete and intact, else a new build.

    Raises UsageError for a name that is not one dataset, SourceError, which lists them, where raw files are missing, and what a
    build raises.
    """
    require_names([name])
    catalogue.require_one(name, catalogue.resolve([name]), lambda resolved: resolved[0].dataset)
    [(definition, version)] = catalogue.load_all([name])
    damage = []
    if not sample:
        for folder_dir in release_folders(output):
            release_dir = folder_dir / definition.dataset.name / version
            manifest = folder.read_manifest(release_dir)
            if manifest is None or not manifest.complete or manifest.name != f"{definition.dataset.name}@{version}":
                continue
            found = folder.find_damage(release_dir, manifest)
            if not found:
                return Release(release_dir, manifest)
            damage.append(f"{release_dir} is damaged: {found[0]}")
    return _build(definition, version, _settings(output, sample=sample, raw_dir=raw_dir, offline=offline), damage)


def build(
    names: Sequence[str],
    *,
    sample: bool,
    splits: Sequence[str] | None,
    limit: int | None,
    force: bool,
    raw_dir: Location | None,
    offline: bool,
    output: Location | None,
) -> list[Release]:
    """Build what names mean, as the command does; the first dataset that fails raises, and those before it stay."""
    require_names(names)
    if limit is not None and limit < 1:
        raise UsageError(f"limit is {limit}", expected="a whole number from 1")
    chosen = (splits,) if isinstance(splits, str) else None if splits is None else tuple(splits)
    settings = _settings(
        output, sample=sample, splits=chosen, limit=limit, force=force, raw_dir=raw_dir, offline=offline
    )
    return [_build(definition, version, settings) for definition, version in catalogue.load_all(names)]


def release_folders(output: Location | None = None) -> tuple[Path, ...]:
    """The folders in which complete releases are looked for; they are built in the first."""
    if output is not None:
        return (Path(output).expanduser().absolute(),)
    outputs, cached = Path("outputs").absolute(), default_cache() / RELEASES
    return (outputs, cached) if outputs.is_dir() else (cached,)


def require_names(names: Sequence[object]) -> None:
    """Raise UsageError for what is not a text, and so not the name of a dataset."""
    for name in names:
        if not isinstance(name, str) or not name:
            todo = 'ed.catalogue() lists them; for the folder of one, ed.check("DIR")'
            found = (
                repr(name) if name is None or isinstance(name, str) else f"a value of the type {type(name).__name__}"
            )
            raise UsageError("not the name of a dataset", found=found, expected="a text, such as 'cedr'", todo=todo)


def _settings(
    output: Location | None,
    *,
    raw_dir: Location | None,
    offline: bool,
    sample: bool = False,
    splits: tuple[str, ...] | None = None,
    limit: int | None = None,
    force: bool = False,
) -> BuildSettings:
    from pipelines.make import BuildSettings
    from pipelines.raw.settings import RawSettings

    cache = default_cache()
    if output is not None or not (sample or splits or limit):
        [target, *_] = release_folders(output)
    else:
        target = cache / (PARTS if splits or limit else SAMPLES)
    raw = RawSettings(Path(raw_dir).expanduser() if raw_dir is not None else None, cache, offline)
    return BuildSettings(target, raw, splits, sample, limit, force)


def _build(definition: Definition, version: str, settings: BuildSettings, damage: Sequence[str] = ()) -> Release:
    """Build a release, or take the one in place where it is up to date. damage: what is wrong with releases that were found."""
    from pipelines.make import make

    name = f"{definition.dataset.name}@{version}"
    for release in damage:
        logger.info("%s: it is built again", release)
    if missing := _missing_files(definition, version, settings):
        raise _missing_files_error(definition, name, missing, settings.raw, damage)
    try:
        result = make(definition, version, settings)
    except OSError as error:
        raise ReleaseError(
            f"{name} cannot be built",
            where=str(error.filename or settings.output),
            found=error.strerror or str(error),
            todo="name a folder that can be written with output=, or set EMBEDDING_DATASETS_CACHE to one",
        ) from error
    except SourceError as error:
        offline = replace(settings, raw=replace(settings.raw, offline=True))
        missing = _missing_files(definition, version, offline)  # also those that are still to be downloaded
        if len(missing) < 2:
            raise
        todo = [error.todo] if error.todo else []
        todo += [
            f"still missing: {file.name}, from {file.url}" for file in missing
        ]  # the error names the first one only
        raise SourceError(
            error.what, where=error.where, found=error.found, expected=error.expected, todo=_lines(todo)
        ) from error
    return Release(result.release_dir.absolute(), result.manifest)


def _missing_files(definition: Definition, version: str, settings: BuildSettings) -> list[MissingRawFile]:
    """The raw files that a build lacks and cannot download; none for a sample."""
    from pipelines.raw.missing_files import find_missing_files, list_needs

    if settings.sample:
        return []
    return find_missing_files(list_needs([(definition, version)], settings.splits), settings.raw)


def _missing_files_error(
    definition: Definition, name: str, missing: Sequence[MissingRawFile], raw: RawSettings, damage: Sequence[str]
) -> SourceError:
    """The error that lists every missing raw file, and how to get each."""
    from pipelines.raw.missing_files import count_missing

    todo = [f"{file.name}: {_how_to_get(file, raw)}" for file in missing]
    if any(file.reason != "by hand" for file in missing):
        todo.append(f"or download: without offline=True, or with: embedding-datasets fetch {definition.source.name}")
    todo.append(f'or look at the sample: load("{name}", sample=True)')
    return SourceError(
        f"{name} cannot be built: {count_missing(len(missing))}", found="; ".join(damage) or None, todo=_lines(todo)
    )


def _how_to_get(file: MissingRawFile, raw: RawSettings) -> str:
    """Where a file is from and where to put it; of an archive, also the files that are read in it."""
    from pipelines.raw.locations import placement
    from pipelines.raw.settings import make_request

    instructions = file.instructions and file.instructions.rstrip(".")
    parts = [instructions or file.url, placement(make_request(file.source, file.file, raw))]
    if file.members:
        members = ", ".join(f"{file.source.name}/{name}" for name in file.members)
        parts.append(f"or, extracted, below raw_dir: {members}")
    return "; ".join(filter(None, parts))


def _lines(texts: Sequence[str]) -> str:
    """Several texts as one part of an error, aligned below each other."""
    return ("\n" + " " * 12).join(texts)
