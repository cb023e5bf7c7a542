"""The raw files that several datasets lack: each one once, with who needs it and why it is not here."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from builders.catalogue import Definition, needed_files
from builders.errors import DatasetError, MissingFile, MissingReason, SourceError
from builders.raw_files import ByHand, Hub, RawFile
from builders.spec import Source
from pipelines.raw.file_request import stored_file
from pipelines.raw.locations import plan_file
from pipelines.raw.missing import missing_reason
from pipelines.raw.pins import find_pin
from pipelines.raw.settings import RawSettings
from pipelines.raw.urls import HUB, file_url


@dataclass(frozen=True)
class NeededFiles:
    """The raw files that some splits of a version of a dataset need."""

    definition: Definition
    version: str
    splits: tuple[str, ...]


@dataclass(frozen=True)
class MissingRawFile:
    """A raw file, or a whole archive, that is not on this machine.

    bytes: its size, where it is known. datasets: those that need it. members: where it is an archive, the files that are read in
    it; each of them may lie below --raw-dir instead.
    """

    source: Source
    file: RawFile
    reason: MissingReason
    bytes: int | None
    datasets: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name, `<source>/<name>`."""
        return f"{self.source.name}/{self.file.name}"

    @property
    def url(self) -> str | None:
        """The page with its terms, the address that it is downloaded from, or None where a person fetches it."""
        location = self.file.location
        if self.reason == "gated" and isinstance(location, Hub):
            return f"{HUB}/datasets/{location.repo}"
        return file_url(location)

    @property
    def instructions(self) -> str | None:
        """How a person fetches it; None where a program may."""
        return self.file.location.instructions if isinstance(self.file.location, ByHand) else None


def missing_file_of(error: DatasetError) -> MissingFile | None:
    """The raw file that an error says is missing."""
    return error.missing if isinstance(error, SourceError) else None


def find_missing_files(
    needs: Iterable[NeededFiles], raw: RawSettings, failed: Collection[MissingFile] = ()
) -> list[MissingRawFile]:
    """The raw files that are missing, in the order in which they are needed; opens no connection.

    failed: the files whose downloads failed. Any other file that can be downloaded is missing with --offline only.
    """
    reasons = {file.name: file.reason for file in failed}
    missing: dict[str, MissingRawFile] = {}
    for need in needs:
        source = need.definition.source
        for key in needed_files(need.definition, need.splits, need.version):
            stored = stored_file(source.files[key])
            name = f"{source.name}/{stored.name}"
            reason = _missing_reason(source, key, raw, reasons.get(name))
            if reason is None:
                continue
            before = missing.get(name)
            datasets, members = (before.datasets, before.members) if before else ((), ())
            member = () if source.files[key] is stored else (source.files[key].name,)
            missing[name] = MissingRawFile(
                source,
                stored,
                before.reason if before else reason,
                find_pin(source.name, stored, raw.lock_files).bytes,
                tuple(dict.fromkeys((*datasets, need.definition.dataset.name))),
                tuple(dict.fromkeys((*members, *member))),
            )
    return list(missing.values())


def _missing_reason(source: Source, key: str, raw: RawSettings, download: MissingReason | None) -> MissingReason | None:
    """Why a file is missing; None where it is here or can be downloaded. download: why it could not be.

    A directory in its place is an error of another kind.
    """
    try:
        origin = plan_file(source, key, raw).origin
    except DatasetError:
        return None
    if origin in ("missing", "by-hand"):
        return missing_reason(stored_file(source.files[key]).location)
    return download if origin == "download" else None


def find_buildable(split: str, needs: Iterable[NeededFiles], raw: RawSettings) -> list[str]:
    """The datasets that have all raw files for one split here; none of those that were asked for that split alone."""
    return [
        need.definition.dataset.name
        for need in needs
        if split in need.splits and need.splits != (split,) and _has_all(need, split, raw)
    ]


def _has_all(need: NeededFiles, split: str, raw: RawSettings) -> bool:
    keys = needed_files(need.definition, (split,), need.version)
    try:
        plans = [plan_file(need.definition.source, key, raw) for key in keys]
    except DatasetError:
        return False
    return all(plan.origin in ("raw-dir", "cache", "mirror") for plan in plans)
