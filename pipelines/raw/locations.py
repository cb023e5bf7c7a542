"""Where a raw file is: below `--raw-dir`, in the cache, at its URL or on a mirror; and whether it is the pinned one."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders.errors import SourceError, UsageError
from builders.raw_files import ByHand, Member
from builders.reading.archives import open_raw
from builders.spec import Raw, Source
from pipelines.raw.cache import lock_cached_file
from pipelines.raw.content_types import HEAD, read_head
from pipelines.raw.digests import Digest, cache_digest, hash_file
from pipelines.raw.download import download_file
from pipelines.raw.file_request import FileRequest, make_request, reread_pin
from pipelines.raw.lock_file import record_digest
from pipelines.raw.mirror_downloads import explain_failure, fetch_from_mirrors, may_ask_mirrors, patience_before_mirrors
from pipelines.raw.mirrors import find_in_folders
from pipelines.raw.missing import by_hand_instructions, missing_file_error, nested_archive_error, placement
from pipelines.raw.pins import placeholder_error, wrong_file_error
from pipelines.raw.publisher_request import publisher_request
from pipelines.raw.settings import RawSettings
from pipelines.raw.urls import file_url
from pipelines.terminal import format_size

Origin = Literal["raw-dir", "cache", "download", "mirror"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocatedFile:
    """A raw file on this machine.

    raw: for the readers. name: as in its source. url: its public URL, with `#member` for a member of an archive; None for a file
    fetched by hand. sha256, bytes: of the file itself, also where it is in an archive. verified: whether a digest was known in
    advance. origin: where it was found.
    """

    raw: Raw
    name: str
    url: str | None
    sha256: str
    bytes: int
    verified: bool
    origin: Origin


@dataclass(frozen=True)
class PlannedFile:
    """Where a raw file would come from; with `by-hand` and `missing`, locate() would fail.

    where: the path to read, the URL to download, or what to do. bytes: the size of the download, if known.
    """

    name: str
    origin: Origin | Literal["by-hand", "missing"]
    where: str
    bytes: int | None


@dataclass(frozen=True)
class StoredFile:
    """A whole file on disk: a raw file, or the archive that contains it."""

    path: Path
    origin: Origin
    digest: Digest
    verified: bool


def locate(source: Source, key: str, settings: RawSettings, *, limit: int | None = None) -> LocatedFile:
    """Find a raw file of a source and verify it; download it where it is not on this machine.

    A member of an archive may lie in `raw_dir` under its own name; otherwise it is read in the archive, which is verified too.
    A file without any known digest is used unverified; if it was downloaded, its digest is recorded in the lock file. Mirrors are
    asked for what is not to be had otherwise: for an archive, and then for its member.

    Raises SourceError for a file that is missing, cannot be downloaded or is not the pinned one, UsageError where `raw_dir` does
    not exist.
    """
    _check_raw_dir(settings)
    file = source.files[key]
    request = make_request(source, file, settings)
    if isinstance(file.location, Member) and _find_in_raw_dir(request) is None:
        stored_request = make_request(source, file.location.archive, settings, member=file)
        stored, member, digest = _find_member(request, stored_request, file.location.path)
        verified = request.pin.has_digest or stored.verified
    else:
        stored_request, stored, member = request, find_stored(request), None
        digest, verified = stored.digest, stored.verified
    raw = Raw(request.name, stored.path, member, limit)
    # Also for a file of the cache: the command that downloaded it may have been killed before it recorded the digest.
    if stored.origin != "raw-dir" and not stored.verified and not isinstance(stored_request.file.location, ByHand):
        _record(stored_request, stored.digest)
    known = "verified" if verified else "unverified"
    logger.debug("%s: %s from %s, %s: %s", request.name, known, stored.origin, format_size(digest.bytes), stored.path)
    return LocatedFile(raw, file.name, file_url(file.location), digest.sha256, digest.bytes, verified, stored.origin)


def plan_file(source: Source, key: str, settings: RawSettings) -> PlannedFile:
    """Where locate() would take a raw file from; reads no raw file and opens no connection.

    Raises SourceError for a directory in place of a file and for an invalid lock file, UsageError where `raw_dir` does not exist.
    """
    _check_raw_dir(settings)
    file = source.files[key]
    request = make_request(source, file, settings)
    requests = [request]  # any of them serves
    local = _find_in_raw_dir(request)
    if isinstance(file.location, Member):
        request = make_request(source, file.location.archive, settings, member=file)
        requests.insert(0, request)
        local = local or _find_in_raw_dir(request)
    if local is not None:
        return PlannedFile(file.name, "raw-dir", str(local), None)
    for one in requests:
        if _existing_file(one.cached_path) is not None:
            return PlannedFile(file.name, "cache", str(one.cached_path), None)
    location = request.file.location
    if settings.offline or isinstance(location, ByHand):
        mirrored = [path for one in requests if (path := find_in_folders(settings.mirrors, one.pin)) is not None]
        if mirrored:
            return PlannedFile(file.name, "mirror", str(mirrored[0]), None)
    if isinstance(location, ByHand):
        return PlannedFile(file.name, "by-hand", by_hand_instructions(location, request), None)
    if settings.offline:
        return PlannedFile(file.name, "missing", placement(request), None)
    return PlannedFile(file.name, "download", file_url(location) or "", request.pin.bytes)


def _check_raw_dir(settings: RawSettings) -> None:
    if settings.raw_dir is not None and not settings.raw_dir.is_dir():
        todo = "correct --raw-dir, or leave it out"
        raise UsageError("the directory of raw files does not exist", where=str(settings.raw_dir), todo=todo)


def _find_in_raw_dir(request: FileRequest) -> Path | None:
    """The path of the file below --raw-dir, if it exists."""
    return _existing_file(request.local_paths[0]) if request.local_paths else None


def _existing_file(path: Path) -> Path | None:
    """The path, if it is a file. Raises SourceError where it is something else."""
    try:
        if path.is_file():
            return path
        if path.is_symlink() and not path.exists():
            found = f"a broken link to {path.readlink()}"
        elif path.is_dir():
            found = "a directory"
        elif path.exists():
            found = "a special file"
        else:
            return None
    except OSError as error:
        found = error.strerror or str(error)
    raise SourceError(
        "expected a raw file at this path",
        where=str(path),
        found=found,
        expected="a file",
        todo="remove or replace it",
    )


def find_stored(request: FileRequest) -> StoredFile:
    """Find a whole file below --raw-dir or in the cache, or download it, and verify it.

    Raises SourceError for a file that is missing, cannot be downloaded or is not the pinned one.
    """
    local = _find_in_raw_dir(request)
    if local is not None:
        digest = _verify(Raw(request.name, local), request, todo="remove or replace it, or pass another --raw-dir")
        return StoredFile(local, "raw-dir", digest, request.pin.has_digest)
    if isinstance(request.file.location, Member):
        raise nested_archive_error(request)
    cached = Raw(request.name, request.cached_path)
    if request.settings.offline or isinstance(request.file.location, ByHand):
        if _existing_file(cached.path) is None:
            return _find_mirrored(request, missing_file_error(request))
        digest = _verify(cached, request, todo="remove or replace it")
        return StoredFile(cached.path, "cache", digest, request.pin.has_digest)
    match = _match_cached(cached, request)
    if match is not None:
        return StoredFile(cached.path, "cache", match, request.pin.has_digest)
    with lock_cached_file(cached.path, request.name):
        request = reread_pin(request)
        match = _match_cached(cached, request)
        if match is not None:
            return StoredFile(cached.path, "cache", match, request.pin.has_digest)
        if cached.path.exists():
            logger.info("%s: the cached copy is not the pinned file; downloading it again", request.name)
        origin: Origin = "download"
        try:
            digest = download_file(publisher_request(request), cached.path, patience_before_mirrors(request))
        except SourceError as error:
            if error.local:
                raise
            digest, origin = fetch_from_mirrors(request, cached.path, error), "mirror"
        cache_digest(cached, request.settings.digest_cache, digest)
    return StoredFile(cached.path, origin, digest, request.pin.has_digest)


def _find_member(
    request: FileRequest, archive_request: FileRequest, path: str
) -> tuple[StoredFile, str | None, Digest]:
    """Find a member in its archive, or by itself: what is on disk, the member's path in it, and the member's digests.

    By itself it comes from a mirror, where the archive is not to be had or has another member. path: of the member in it.
    """
    in_raw_dir = _find_in_raw_dir(archive_request) is not None
    if not in_raw_dir and request.pin.has_digest and _existing_file(archive_request.cached_path) is None:
        cached = Raw(request.name, request.cached_path)
        match = _match_cached(cached, request)
        if match is not None:
            return StoredFile(cached.path, "cache", match, verified=True), None, match
    try:
        stored = find_stored(archive_request)
        try:
            digest = _verify(Raw(request.name, stored.path, path), request, todo="remove or replace the archive")
        except SourceError:
            if stored.origin == "download" and not stored.verified:
                stored.path.unlink(missing_ok=True)
            raise
    except SourceError as error:
        if in_raw_dir or error.local:
            raise
        if archive_request.pin.has_digest and not may_ask_mirrors(request):
            raise
        member = _find_mirrored(request, error)
        return member, None, member.digest
    return stored, path, digest


def _find_mirrored(request: FileRequest, failure: SourceError) -> StoredFile:
    """Get a file from a mirror into the cache. Raises `failure` where none has it."""
    cached = Raw(request.name, request.cached_path)
    if not may_ask_mirrors(request):
        raise explain_failure(request, failure)
    with lock_cached_file(cached.path, request.name):
        match = _match_cached(cached, request)
        if match is not None:
            return StoredFile(cached.path, "cache", match, verified=True)
        digest = fetch_from_mirrors(request, cached.path, failure)
        cache_digest(cached, request.settings.digest_cache, digest)
    return StoredFile(cached.path, "mirror", digest, verified=True)


def _match_cached(raw: Raw, request: FileRequest) -> Digest | None:
    """The digests of a file in the cache, if it exists and matches its pin."""
    if _existing_file(raw.path) is None:
        return None
    digest = hash_file(raw, request.settings.digest_cache, git_blob=request.pin.git_blob is not None)
    return digest if request.pin.matches(digest) else None


def _verify(raw: Raw, request: FileRequest, *, todo: str) -> Digest:
    """The digests of a file, or of a member of an archive. Raises SourceError where it does not match the request's pin."""
    pin = request.pin
    digest = hash_file(raw, request.settings.digest_cache, git_blob=pin.git_blob is not None)
    where = str(raw.path) if raw.member is None else f"{raw.path}: {raw.member}"
    if not pin.matches(digest):
        with open_raw(raw, as_stored=True) as stream:
            raise wrong_file_error(raw.name, where, stream.read(HEAD), digest, pin, todo=todo)
    if raw.member is None and not pin.has_digest:
        error = placeholder_error(raw.name, where, read_head(raw.path), digest.bytes, todo=todo)
        if error is not None:
            raise error
    return digest


def _record(request: FileRequest, digest: Digest) -> None:
    with lock_cached_file(request.settings.cache / "raw.lock.json", "raw.lock.json", activity="writing"):
        record_digest(request.name, digest, request.settings.lock_files)
