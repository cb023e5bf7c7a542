"""Finds the raw files of a release by their digests: in --raw-dir, in the cache, or where the catalogue says they are."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from builders.errors import DatasetError, SourceError
from pipelines.raw.file_request import make_request, stored_file
from pipelines.raw.inputs import GOLDEN, golden_input, require_golden
from pipelines.raw.locations import locate
from pipelines.raw.missing import placement
from pipelines.raw.settings import RawSettings
from pipelines.reproduction.plan import Rebuild
from pipelines.stages import stage

OTHER_VERSION = "build with the version of the package that made the release"


def gather_raw_files(rebuild: Rebuild, settings: RawSettings, folder: Path) -> list[DatasetError]:
    """Link the raw files of a rebuild into a folder, laid out as for --raw-dir; a golden sample is only compared.

    Returns the errors, one for every file that is missing or has another digest than the release was built from: nothing
    is to be built then.

    Raises UsageError where the --raw-dir of the settings does not exist.
    """
    problems: dict[tuple[str | None, ...], DatasetError] = {}
    with stage("raw files", total=len(rebuild.keys), unit="files") as advance:
        for problem in _compare_golden(rebuild) if rebuild.golden else _link_files(rebuild, settings, folder):
            advance(1)
            if problem is None:
                continue
            key = (problem.what, problem.where, problem.found, problem.todo)
            if (same := problems.get(key)) is not None:  # one archive, and another file in it
                same.expected = "; ".join(filter(None, dict.fromkeys((same.expected, problem.expected))))
            problems.setdefault(key, problem)
    return list(problems.values())


def _compare_golden(rebuild: Rebuild) -> Iterator[DatasetError | None]:
    source = rebuild.definition.source
    require_golden(source, rebuild.keys, GOLDEN)
    for key in rebuild.keys:
        entry = golden_input(source, key, GOLDEN, limit=None).entry
        expected = rebuild.digests.get(entry.name)
        wrong = expected not in (None, entry.sha256)
        where = str(GOLDEN / source.name / "raw" / entry.name)
        yield (
            _other_file(f"{source.name}/{entry.name}", where, entry.sha256, expected, OTHER_VERSION) if wrong else None
        )


def _link_files(rebuild: Rebuild, settings: RawSettings, folder: Path) -> Iterator[DatasetError | None]:
    """For each raw file the error, or None once it is linked."""
    source = rebuild.definition.source
    for key in rebuild.keys:
        file = source.files[key]
        name, expected = f"{source.name}/{file.name}", rebuild.digests.get(file.name)
        try:
            request = make_request(source, file, settings)
            pinned = request.pin.sha256
            if expected and pinned and pinned != expected:
                yield _other_file(name, f"the catalogue ({request.pin.provenance})", pinned, expected, OTHER_VERSION)
                continue
            found = locate(source, key, settings, limit=rebuild.limit)
        except SourceError as error:
            yield _missing_file(error, name, expected)
            continue
        if expected not in (None, found.sha256):
            member = f": {found.raw.member}" if found.raw.member else ""
            todo = f"find the file of this digest and {placement(request)}"
            yield _other_file(name, f"{found.raw.path}{member}", found.sha256, expected, todo)
            continue
        stored = file if found.raw.member is None else stored_file(file)
        _link(found.raw.path, folder / source.name / stored.name)
        yield None


def _link(target: Path, link: Path) -> None:
    """Link a file, or copy it where the system allows no links."""
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):  # an archive that several files are in
        try:
            link.symlink_to(target.resolve())
        except FileExistsError:
            raise
        except OSError:
            shutil.copyfile(target, link)


def _missing_file(error: SourceError, name: str, expected: str | None) -> SourceError:
    """The error for a raw file that was not found, with the digest that the manifest of the release has."""
    if error.missing is None or expected is None:
        return error
    wanted = f"{name} with sha256 {expected} (in the manifest of the release)"
    return SourceError(error.what, where=error.where, found=error.found, expected=wanted, todo=error.todo)


def _other_file(name: str, where: str, found: str, expected: str | None, todo: str) -> SourceError:
    return SourceError(
        f"{name} is not the file that the release was built from",
        where=where,
        found=f"sha256 {found}",
        expected=f"sha256 {expected} (in the manifest of the release)",
        todo=todo,
    )
