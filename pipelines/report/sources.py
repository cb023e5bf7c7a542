"""What each source needs: its raw files with their sizes, who may have them, and what a build of its datasets costs.

measured_builds.json holds, for each dataset that was built from its complete real files, the version, the seconds of the build,
the bytes of its raw files and of its release, on the machine that it names.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from builders.catalogue import Definition, needed_files
from builders.raw_files import RawFile
from builders.spec import Source
from pipelines.raw.file_request import stored_file
from pipelines.raw.missing import missing_reason
from pipelines.raw.pins import find_pin
from pipelines.raw.urls import file_url

MEASURED = Path(__file__).with_name("measured_builds.json")
GROUPS = ("rumteb", "ateb")  # whose totals are shown

Access = Literal["open", "gated", "by hand"]


@dataclass(frozen=True)
class FileNeed:
    """A raw file, or a whole archive, as it is published.

    name: without the source. bytes: None where neither the source nor the lock file knows it. digest: whether its bytes are
    verified against a known digest; in an archive without one, each file that is read has its own. url: None for a file fetched
    by hand.
    """

    name: str
    bytes: int | None
    access: Access
    digest: bool
    url: str | None


@dataclass(frozen=True)
class MeasuredBuild:
    """What the build of a dataset from its complete real files took: seconds, bytes of each raw file and of its release."""

    version: str
    seconds: float
    raw: dict[str, int]
    release_bytes: int


@dataclass(frozen=True)
class SourceNeed:
    """A source with the files that some of its datasets need. measured: the builds that were measured, by dataset."""

    name: str
    title: str
    license: str
    homepage: str
    groups: tuple[str, ...]
    datasets: tuple[str, ...]
    files: tuple[FileNeed, ...]
    measured: dict[str, MeasuredBuild]

    @property
    def measured_raw_bytes(self) -> int:
        """The bytes of the raw files of the measured builds, each file once."""
        return sum({name: size for build in self.measured.values() for name, size in build.raw.items()}.values())


@dataclass(frozen=True)
class Total:
    """The files of several sources together. bytes: of those with a known size; unknown: how many have none."""

    sources: int
    datasets: int
    files: int
    bytes: int
    unknown: int
    gated: int
    by_hand: int
    without_digest: int


def describe_sources(definitions: Iterable[Definition], lock_files: Sequence[Path]) -> list[SourceNeed]:
    """The sources of some datasets, in their order. lock_files: where digests are looked up that a source does not pin."""
    by_source: dict[str, list[Definition]] = {}
    for definition in definitions:
        by_source.setdefault(definition.source.name, []).append(definition)
    return [_describe(several, lock_files) for several in by_source.values()]


def file_needs(source: Source, keys: Collection[str], lock_files: Sequence[Path]) -> dict[str, FileNeed]:
    """The published files that have some raw files of a source, in its order, each by the key of the first that is read in it."""
    stored: dict[str, list[str]] = {}
    for key, file in source.files.items():
        if key in keys:
            stored.setdefault(stored_file(file).name, []).append(key)
    return {read[0]: _file_need(source, [source.files[key] for key in read], lock_files) for read in stored.values()}


def total(sources: Iterable[SourceNeed]) -> Total:
    """The sum of some sources."""
    listed = list(sources)
    files = [file for source in listed for file in source.files]
    return Total(
        sources=len(listed),
        datasets=sum(len(source.datasets) for source in listed),
        files=len(files),
        bytes=sum(file.bytes or 0 for file in files),
        unknown=sum(file.bytes is None for file in files),
        gated=sum(file.access == "gated" for file in files),
        by_hand=sum(file.access == "by hand" for file in files),
        without_digest=sum(not file.digest for file in files),
    )


def group_totals(sources: Sequence[SourceNeed]) -> dict[str, Total]:
    """The totals of the benchmarks that have a source here, and of all sources.

    A source of two groups is counted in both, with all of its files.
    """
    groups = {name: [source for source in sources if name in source.groups] for name in GROUPS} | {"all": list(sources)}
    return {name: total(listed) for name, listed in groups.items() if listed}


def as_json(source: SourceNeed) -> dict[str, Any]:
    """A source for programs."""
    return asdict(source)


@cache
def measured_builds() -> dict[str, MeasuredBuild]:
    """The measured builds, by dataset."""
    builds = json.loads(MEASURED.read_text("utf-8"))["builds"]
    return {name: MeasuredBuild(**build) for name, build in builds.items()}


def machine() -> str:
    """The machine that the builds were measured on."""
    name: str = json.loads(MEASURED.read_text("utf-8"))["machine"]
    return name


def _describe(definitions: Sequence[Definition], lock_files: Sequence[Path]) -> SourceNeed:
    source = definitions[0].source
    keys = {
        key
        for one in definitions
        for version in one.dataset.versions
        for key in needed_files(one, one.dataset.task.splits, version)
    }
    names = [definition.dataset.name for definition in definitions]
    return SourceNeed(
        name=source.name,
        title=source.title,
        license=source.license,
        homepage=source.homepage,
        groups=tuple(dict.fromkeys(definition.dataset.group for definition in definitions)),
        datasets=tuple(names),
        files=tuple(file_needs(source, keys, lock_files).values()),
        measured={name: measured_builds()[name] for name in names if name in measured_builds()},
    )


def _file_need(source: Source, files: Sequence[RawFile], lock_files: Sequence[Path]) -> FileNeed:
    """One published file. files: itself, or those that are read in it."""
    stored = stored_file(files[0])
    pin = find_pin(source.name, stored, lock_files)
    reason = missing_reason(stored.location)
    access: Access = "open" if reason == "offline" else reason
    members_pinned = all(find_pin(source.name, file, lock_files).has_digest for file in files)
    return FileNeed(stored.name, pin.bytes, access, pin.has_digest or members_pinned, file_url(stored.location))
