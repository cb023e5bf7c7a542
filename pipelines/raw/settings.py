"""Where raw files are looked for, as the command line and the environment say; a raw file that a build needs."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from builders.errors import SourceError
from builders.raw_files import Hub, Location, Member, RawFile
from builders.spec import Source
from pipelines.process.terminal import format_size
from pipelines.raw.digests import default_cache
from pipelines.raw.download import Patience
from pipelines.raw.mirrors import Mirror, configured_mirrors
from pipelines.raw.pins import LOCK_FILE, Pin, find_pin, is_pinned, is_shared, read_lock_file
from pipelines.raw.requests import GITHUB_API, GITHUB_MEDIA, GITHUB_RAW, file_url

SHARED = "all-sources"  # in the cache: the folder of files that are the same for all sources


@dataclass(frozen=True)
class RawSettings:
    """Where raw files are looked for.

    raw_dir: a directory with `<source>/<name>` in it, and `<name>` for a file that is the same for all sources, never written to.
    cache: the directory of downloads, of cached digests, and of a second lock file for an installed package, whose own is never
    written. offline: never download. lock: the lock file.
    github_raw, github_media, github_api, hub: base URLs; without `hub`, that of huggingface_hub, which HF_ENDPOINT sets. mirrors:
    where else files may be, in the order in which they are asked. unpinned: files, `<source>/<name>`, below raw_dir that need not
    be the pinned ones; what is built of them is a sample. failed: hosts that were not found, and archives and sources that a
    command could not get, with the reason, None for a source whose sizes add up: it asks for none of them twice.
    """

    raw_dir: Path | None = None
    cache: Path = field(default_factory=default_cache)
    offline: bool = False
    lock: Path = LOCK_FILE
    github_raw: str = GITHUB_RAW
    github_media: str = GITHUB_MEDIA
    github_api: str = GITHUB_API
    hub: str | None = None
    patience: Patience = field(default_factory=Patience)
    mirrors: tuple[Mirror, ...] = field(default_factory=configured_mirrors)
    unpinned: tuple[str, ...] = ()
    failed: dict[str, SourceError | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def lock_files(self) -> tuple[Path, Path]:
        """The lock files, in the order in which they are read."""
        return self.lock, self.cache / "raw.lock.json"

    @property
    def digest_cache(self) -> Path:
        """The directory with the digests of unchanged files."""
        return self.cache / "digests"


@dataclass(frozen=True)
class FileRequest:
    """One raw file to find, created by `make_request`.

    file: what to find; where only a member of an archive is needed, the whole archive. pin: what the bytes of `file` must be.
    member: the member that is needed, for messages; None where `file` itself is.
    """

    source: Source
    file: RawFile
    pin: Pin
    settings: RawSettings
    member: RawFile | None = None

    @property
    def name(self) -> str:
        """What messages and the lock file call it: `<source>/<name>`."""
        return f"{self.source.name}/{self.file.name}"

    @property
    def size(self) -> int | None:
        """Its size in bytes, else about how large it is; None where neither is known."""
        return self.file.about if self.pin.bytes is None else self.pin.bytes

    def doubt_size(self, size: int) -> str:
        """What is odd about a size: less than half of what it is about, or more than twice; else nothing."""
        about = self.file.about
        is_odd = about is not None and not about / 2 <= size <= 2 * about
        return f"found {format_size(size)}, expected about {format_size(about or 0)}" * is_odd

    @property
    def location(self) -> Location:
        """Where it is: a moving file at its recorded commit, once there is one."""
        location = self.file.location
        if isinstance(location, Hub) and location.moving and self.pin.commit:
            return replace(location, revision=self.pin.commit, moving=False)
        return location

    @property
    def awaits_commit(self) -> bool:
        """Whether it is a moving file whose commit the lock file of the checkout does not have."""
        accepted = read_lock_file(self.settings.lock).get(self.name)
        moving = isinstance(self.file.location, Hub) and self.file.location.moving
        return moving and (accepted is None or accepted.commit is None)

    @property
    def cached_path(self) -> Path:
        """Its path in the cache; other versions of the same name have other paths."""
        url = file_url(self.file.location) or ""
        version = self.file.sha256 or self.file.git_blob or hashlib.sha256(url.encode()).hexdigest()
        owner = SHARED if is_shared(self.file) else self.source.name
        return self.settings.cache / "raw" / owner / version[:12] / self.file.name

    @property
    def local_paths(self) -> list[Path]:
        """The paths below --raw-dir that satisfy the request: of the file, and of its member; empty without --raw-dir."""
        files = [self.file] if self.member is None else [self.file, self.member]
        directory = self.settings.raw_dir
        return [] if directory is None else [directory / self.source.name / file.name for file in files]

    @property
    def shared_path(self) -> Path | None:
        """The path directly below --raw-dir of a file that is the same for all sources; None for any other file."""
        directory = self.settings.raw_dir
        return directory / self.file.name if directory is not None and is_shared(self.file) else None


def make_request(source: Source, file: RawFile, settings: RawSettings, member: RawFile | None = None) -> FileRequest:
    """The request for a raw file, with the pin of the source or of a lock file, or of no pin where the settings say so.

    Raises SourceError for an invalid lock file.
    """
    is_pinned = f"{source.name}/{file.name}" not in settings.unpinned
    pin = find_pin(source.name, file, settings.lock_files) if is_pinned else Pin()
    return FileRequest(source, file, pin, settings, member)


def stored_file(file: RawFile) -> RawFile:
    """The file that is downloaded: the archive of a member, else the file itself."""
    return file.location.archive if isinstance(file.location, Member) else file


def unpinned_files(source: Source) -> set[str]:
    """The names, `<source>/<name>`, of the files that are downloaded and that the source pins by no digest."""
    return {f"{source.name}/{file.name}" for file in map(stored_file, source.files.values()) if not is_pinned(file)}


def copy_requests(request: FileRequest) -> Iterator[tuple[FileRequest, bool]]:
    """The requests for the copies of a file, and whether each has the same bytes; else the same records in another format."""
    for location in request.file.copies:
        same = PurePosixPath(location.path).suffix == PurePosixPath(request.file.name).suffix
        other = RawFile(PurePosixPath(location.path).name, location)
        file = replace(request.file, location=location, copies=()) if same else other
        yield make_request(request.source, file, request.settings), same
