"""The raw files of a build: of a golden sample, or wherever they are found."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from builders.errors import SourceError
from builders.spec import Raw, Source
from cards.gaps import Gap, gaps_error
from cards.manifest import RawEntry
from pipelines import installation
from pipelines.files import file_sha256
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings

GOLDEN = installation.golden_samples()


@dataclass(frozen=True)
class Input:
    """A raw file as a build takes it: the handle for the recipe, and the manifest's entry."""

    raw: Raw
    entry: RawEntry


def find_input(source: Source, key: str, settings: RawSettings, *, limit: int | None) -> Input:
    """A raw file from wherever `locate` finds it, verified. limit: the number of records to read, None for all.

    Raises SourceError for a file that is missing or is not the pinned one.
    """
    file = locate(source, key, settings, limit=limit)
    return Input(file.raw, RawEntry(file.name, file.url, file.sha256, file.bytes, file.verified))


def missing_golden_files(source: Source, keys: Iterable[str], golden: Path) -> list[Gap]:
    """The raw files that a golden sample lacks. golden: the folder of all golden samples."""
    paths = [golden / source.name / "raw" / source.files[key].name for key in keys]
    what, expected = f"the golden sample of {source.name} lacks a file", "a small hand-made file in the raw format"
    todo = "write it (docs/adding-a-dataset.md), or build from real raw files: leave out --sample"
    return [Gap(what, str(path), todo, expected) for path in paths if not path.is_file()]


def require_golden(source: Source, keys: Iterable[str], golden: Path) -> None:
    """Raise SourceError where there are golden samples but not these files; it lists all of them."""
    if golden.is_dir() and (gaps := missing_golden_files(source, keys, golden)):
        raise gaps_error(SourceError, source.name, source.name, gaps)


def golden_input(source: Source, key: str, golden: Path, *, limit: int | None) -> Input:
    """A raw file of the source's golden sample.

    Raises SourceError where the sample lacks it.
    """
    name = source.files[key].name
    path = golden / source.name / "raw" / name
    if not path.is_file():
        raise SourceError(
            "the golden samples of this package are missing",
            where=str(golden),
            todo="install the package again, or run this in a checkout of the repository",
        )
    entry = RawEntry(name, None, file_sha256(path), path.stat().st_size, verified=False)
    return Input(Raw(f"{source.name}/raw/{name}", path, limit=limit), entry)
