"""Where a raw file is: below `--raw-dir`, in the cache, at its URL or on a mirror; and whether it is the pinned one."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlsplit

from huggingface_hub import constants

from builders.errors import MissingReason, SourceError, UsageError
from builders.raw_files import ByHand, GitHub, Hub, Location, Member
from builders.reading.archives import open_raw
from builders.spec import Raw, Source
from cards.manifest import RawEntry
from cards.texts import Gap, gaps_error
from pipelines.process import installation
from pipelines.process.files import file_sha256
from pipelines.process.terminal import format_size
from pipelines.raw.digests import Digest, cache_digest, hash_file, lock_cached_file
from pipelines.raw.download import DownloadRequest, copy_file, download_file
from pipelines.raw.heads import MEGABYTE, write_heads
from pipelines.raw.listings import compare_listing, list_repository
from pipelines.raw.mirror_downloads import explain_failure, fetch_from_mirrors, may_ask_mirrors, patience_before_mirrors
from pipelines.raw.mirrors import find_in_folders
from pipelines.raw.pins import HEAD, LockEntry, record_entry, require_content
from pipelines.raw.requests import HUB, file_url, hub_token
from pipelines.raw.settings import FileRequest, RawSettings, copy_requests, make_request, stored_file


def missing_reason(location: Location) -> Literal["offline", "gated", "by hand"]:
    """Why a file with this location is missing where nothing may be downloaded."""
    match location:
        case ByHand():
            return "by hand"
        case Hub(gated=True):
            return "gated"
        case _:
            return "offline"


def placement(request: FileRequest) -> str:
    """How to provide a file: "put it at PATH", and for a member of an archive the path of the member by itself."""
    if request.settings.raw_dir is None:
        path = Path("DIR", request.source.name, request.file.name)
        return f"put it at {request.cached_path}, or pass --raw-dir DIR and put it at {path}"
    path, *members = request.local_paths
    shared = f", or for all sources at {request.shared_path}" if request.shared_path else ""
    return f"put it at {path}{shared}" + "".join(f" (or the extracted member at {member})" for member in members)


def by_hand_instructions(location: ByHand, request: FileRequest) -> str:
    """How a person gets a file that no program may download, and where to put it."""
    return f"{location.instructions.rstrip('.')}; {placement(request)}"


def missing_file_error(request: FileRequest) -> SourceError:
    """The error for a file that is neither below --raw-dir nor in the cache, and that cannot be downloaded."""
    paths = [*request.local_paths, request.cached_path]
    found, expected = f"nothing at {', nor at '.join(map(str, paths))}", str(request.pin)
    location = request.file.location
    if isinstance(location, ByHand):
        todo = by_hand_instructions(location, request)
        error = SourceError(f"{request.name} must be fetched by hand", found=found, expected=expected, todo=todo)
        return error.lacking(request.name, "by hand")
    what, todo = f"{request.name} not found, and --offline is set", f"{placement(request)}, or run without --offline"
    error = SourceError(what, where=file_url(location), found=found, expected=expected, todo=todo)
    return error.lacking(request.name, missing_reason(location))


def publisher_request(request: FileRequest) -> DownloadRequest:
    """The request for a file at the address of its publisher."""
    settings = request.settings
    alternative = f"fetch it by hand and {placement(request)}"
    hub, token, version, access_hint = "", None, "the file at its URL", alternative
    match request.location:
        case Hub(repo, revision):
            hub, token, version = settings.hub or constants.ENDPOINT, hub_token(), f"revision {revision} of {repo}"
            reason = "the token has no access" if token else "no token was found"
            access_hint = (
                f"{reason}: accept the terms at {HUB}/datasets/{repo}, then use a token of that account "
                "(set HF_TOKEN, or run `hf auth login`)"
            )
        case GitHub(repo, commit):
            version = f"commit {commit} of {repo}"
    url = file_url(request.location, github_raw=settings.github_raw, github_media=settings.github_media, hub=hub)
    assert url is not None, "files that are fetched by hand are never downloaded"
    denied: MissingReason = "gated" if isinstance(request.file.location, Hub) else "unavailable"
    return DownloadRequest(request.name, url, request.pin, version, access_hint, alternative, token, denied)


Origin = Literal["raw-dir", "cache", "download", "mirror", "golden"]

LARGE = 100_000_000  # bytes of an archive

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

    @property
    def entry(self) -> RawEntry:
        """The entry of a manifest."""
        return RawEntry(self.name, self.url, self.sha256, self.bytes, self.verified)


@dataclass(frozen=True)
class PlannedFile:
    """Where a raw file would come from, or the archive that contains it; with `by-hand` and `missing`, locate() would fail.

    name: of what is read or downloaded, `<source>/<name>`. where: the path to read, the URL to download, or what to do. bytes:
    its size, if the source or the lock file gives it. gated: whether its terms must be accepted first. made_by: the command of
    this package that makes it, where it is not here.
    """

    source: str
    name: str
    origin: Origin | Literal["by-hand", "missing"]
    where: str
    bytes: int | None
    gated: bool
    made_by: str


@dataclass(frozen=True)
class StoredFile:
    """A whole file on disk: a raw file, or the archive that contains it. copy: the request for a copy in another format."""

    path: Path
    origin: Origin
    digest: Digest
    verified: bool
    copy: FileRequest | None = None


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
    if request.name in settings.unpinned and _find_in_raw_dir(request) is None:
        raise SourceError(
            f"{request.name}: --unpinned takes a file below --raw-dir",
            where=", ".join(map(str, request.local_paths)) or None,
            todo="put it there, or leave the option out",
        )
    if isinstance(file.location, Member) and _find_in_raw_dir(request) is None:
        stored_request = make_request(source, file.location.archive, settings, member=file)
        stored, member, digest = _find_member(request, stored_request, file.location.path)
        verified = request.pin.has_digest or stored.verified
    else:
        stored_request, stored, member = request, find_stored(request), None
        digest, verified = stored.digest, stored.verified
    stored_request = stored.copy or stored_request
    verified = verified and stored.copy is None and not stored_request.awaits_commit
    raw = Raw(request.name if stored.copy is None else stored.copy.name, stored.path, member, limit)
    # Also for a file of the cache: the command that downloaded it may have been killed before it recorded the digest.
    if stored.origin != "raw-dir" and not stored.verified and not isinstance(stored_request.file.location, ByHand):
        _record(stored_request, stored.digest)
    known = "verified" if verified else "unverified"
    logger.debug("%s: %s from %s, %s: %s", request.name, known, stored.origin, format_size(digest.bytes), stored.path)
    url = file_url(file.location if member else stored_request.location)
    return LocatedFile(raw, file.name, url, digest.sha256, digest.bytes, verified, stored.origin)


def plan_file(source: Source, key: str, settings: RawSettings) -> PlannedFile:
    """Where locate() would take a raw file from; reads no raw file and opens no connection.

    Raises SourceError for a directory in place of a file and for an invalid lock file, UsageError where `raw_dir` does not exist.
    """
    _check_raw_dir(settings)
    file = source.files[key]
    request = make_request(source, file, settings)
    requests = [request]  # any of them serves
    if isinstance(file.location, Member):
        request = make_request(source, file.location.archive, settings, member=file)
        requests.append(request)
    for origin, present, path in _local_paths(requests):
        if path is not None:
            return _planned(present, origin, str(path))
    location = request.file.location
    if isinstance(location, ByHand):
        return _planned(request, "by-hand", by_hand_instructions(location, request), location.made_by)
    if settings.offline:
        return _planned(request, "missing", placement(request))
    return _planned(request, "download", file_url(location) or "")


def _planned(
    request: FileRequest, origin: Origin | Literal["by-hand", "missing"], where: str, made_by: str = ""
) -> PlannedFile:
    gated = missing_reason(stored_file(request.file).location) == "gated"
    return PlannedFile(request.source.name, request.name, origin, where, request.size, gated, made_by)


def _local_paths(requests: Sequence[FileRequest]) -> Iterator[tuple[Origin, FileRequest, Path | None]]:
    """The paths on this machine that are tried for a raw file, and for its archive, in this order; None where nothing is.

    Folders that are mirrors are tried only where nothing may be downloaded.
    """
    for request in requests:
        yield "raw-dir", request, _find_in_raw_dir(request)
    for request in reversed(requests):
        yield "cache", request, _existing_file(request.cached_path)
    settings = requests[-1].settings
    if settings.offline or isinstance(requests[-1].file.location, ByHand):
        for request in reversed(requests):
            yield "mirror", request, find_in_folders(settings.mirrors, request.pin)


def _check_raw_dir(settings: RawSettings) -> None:
    if settings.raw_dir is not None and not settings.raw_dir.is_dir():
        raise UsageError(
            "the directory of raw files does not exist",
            where=str(settings.raw_dir),
            todo="correct --raw-dir, or leave it out",
        )


def _find_in_raw_dir(request: FileRequest) -> Path | None:
    """The path of the file below --raw-dir, if it exists."""
    own = _existing_file(request.local_paths[0]) if request.local_paths else None
    return _existing_file(request.shared_path) if own is None and request.shared_path is not None else own


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
    """Find a whole file below --raw-dir or in the cache, or download it, or a copy of it, and verify it.

    An archive, and a source that is incomplete, is asked for once a command.

    Raises SourceError for a file that is missing, cannot be downloaded or is not the pinned one.
    """
    failed = request.settings.failed
    if request.member is not None and (before := failed.get(request.name)) is not None:
        before.repeated = True
        raise before
    try:
        return _find_published(request)
    except SourceError as error:
        in_raw_dir = _find_in_raw_dir(request) is not None
        if not error.local and not in_raw_dir and (copy := _find_copy(request, error)) is not None:
            return copy
        if request.member is not None and error.missing is not None:
            failed[request.name] = error
        raise


def _find_copy(request: FileRequest, failure: SourceError) -> StoredFile | None:
    """The first copy of a file that is to be had: one of the same bytes needs a known digest.

    failure: why the file cannot be obtained otherwise.
    """
    level = logging.DEBUG if request.settings.offline else logging.INFO
    for wanted, same in copy_requests(request):
        if same and not wanted.pin.has_digest:
            continue
        url = file_url(wanted.file.location)
        logger.log(level, "%s: %s; trying %s", request.name, failure.found or failure.what, url)
        try:
            return replace(_find_published(wanted), copy=None if same else wanted)
        except SourceError as error:
            if error.local:
                raise
            logger.log(level, "%s: %s", wanted.name, error.found or error.what)
    return None


def _find_published(request: FileRequest) -> StoredFile:
    """Find a file below --raw-dir, in the cache, where it is published, or on a mirror; see find_stored."""
    if (local := _find_in_raw_dir(request)) is not None:
        digest = _verify(Raw(request.name, local), request, todo="remove or replace it, or pass another --raw-dir")
        return StoredFile(local, "raw-dir", digest, request.pin.has_digest)
    if isinstance(request.file.location, Member):
        place = request.local_paths[0] if request.local_paths else Path("DIR", request.source.name, request.file.name)
        raise SourceError(
            f"{request.name} is an archive inside another archive, which cannot be read in place",
            todo=f"extract it and put it at {place}" + ("" if request.local_paths else ", and pass --raw-dir DIR"),
        )
    path = request.cached_path
    if request.settings.offline or isinstance(request.file.location, ByHand):
        if _existing_file(path) is None:
            return _find_mirrored(request, missing_file_error(request))
        digest = _verify(Raw(request.name, path), request, todo="remove or replace it")
        return StoredFile(path, "cache", digest, request.pin.has_digest)
    if (cached := _find_cached(request)) is not None:
        return cached
    with lock_cached_file(path, request.name):
        # Another command may have recorded a pin meanwhile.
        request = make_request(request.source, request.file, request.settings, request.member)
        if (cached := _find_cached(request)) is not None:
            return cached
        if path.exists():
            logger.info("%s: the cached copy is not the pinned file; downloading it again", request.name)
        origin: Origin = "download"
        try:
            digest = _download(request, path)
        except SourceError as error:
            if error.local:
                raise
            digest, origin = fetch_from_mirrors(request, path, error), "mirror"
        cache_digest(Raw(request.name, path), request.settings.digest_cache, digest)
    return StoredFile(path, origin, digest, request.pin.has_digest)


def _download(request: FileRequest, path: Path) -> Digest:
    """Download a file from its publisher, unless its host was not found before or its source is incomplete."""
    download, failed = publisher_request(request), request.settings.failed
    host = urlsplit(download.url).hostname or ""
    _require_published_bytes(request)
    if host in failed:
        error = SourceError(
            f"{request.name} could not be downloaded", where=download.url, found=f"{host} was not found"
        )
        error.repeated = True
        raise error.lacking(request.name, "unavailable")
    try:
        return download_file(download, path, patience_before_mirrors(request))
    except SourceError as error:
        if error.unresolved:
            failed[error.unresolved] = error
        raise


def _require_published_bytes(request: FileRequest) -> None:
    """Compare the size of all files of a source on the Hub with what its publisher states, once a command, if they are listed.

    Raises SourceError where they differ: the source has other files than this builder knows, which a download would not tell.
    """
    source, settings = request.source, request.settings
    if source.published_bytes is not None and source.name not in settings.failed:
        locations = [file.location for file in source.files.values() if isinstance(file.location, Hub)]
        listing = list_repository(locations[0], settings)
        total = sum(listing.files.get(each.path, (0, None, None))[0] or 0 for each in locations)
        settings.failed[source.name] = None
        if listing.files and total != source.published_bytes:
            settings.failed[source.name] = SourceError(
                f"{source.name}: its files are not all that is published",
                where=source.homepage,
                found="; ".join([f"{total:,} bytes", *compare_listing(source, locations[0], listing)]),
                expected=f"{source.published_bytes:,} bytes",
                todo="list the files of the repository: embedding-datasets fetch --probe --records 100 " + source.name,
            )
    if (failure := settings.failed.get(source.name)) is not None:
        raise failure


def _find_member(
    request: FileRequest, archive_request: FileRequest, path: str
) -> tuple[StoredFile, str | None, Digest]:
    """Find a member in its archive, or by itself: what is on disk, the member's path in it, and the member's digests.

    By itself it comes from a mirror, where the archive is not to be had or has another member. path: of the member in it.
    """
    in_raw_dir = _find_in_raw_dir(archive_request) is not None
    if not in_raw_dir and request.pin.has_digest and _existing_file(archive_request.cached_path) is None:
        found = _find_cached(request) or _take_out(request, archive_request)
        if found is not None:
            return found, None, found.digest
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
        if (copy := _find_copy(request, error)) is not None:
            return copy, None, copy.digest
        if archive_request.pin.has_digest and not may_ask_mirrors(request):
            raise
        member = _find_mirrored(request, error)
        return member, None, member.digest
    return stored, path, digest


def _take_out(request: FileRequest, archive_request: FileRequest) -> StoredFile | None:
    """A small pinned member of a large zip archive, by range requests: half a megabyte of ARC, not 681; None where that fails."""
    size, path = archive_request.size or 0, request.cached_path
    if size < LARGE or (request.pin.bytes or size) > MEGABYTE or request.settings.offline:
        return None
    with TemporaryDirectory() as scratch, suppress(SourceError), lock_cached_file(path, request.name):
        download = publisher_request(archive_request)
        write_heads(download, [request.file], Path(scratch), 1, request.settings.patience)
        member, taken = Path(scratch, request.file.name), replace(download, name=request.name, pin=request.pin)
        digest = copy_file(taken, member, member.stat().st_size if member.is_file() else 0, path)
        return StoredFile(path, "download", digest, verified=True)
    return None


def _find_mirrored(request: FileRequest, failure: SourceError) -> StoredFile:
    """Get a file from a mirror into the cache. Raises `failure` where none has it."""
    if not may_ask_mirrors(request):
        raise explain_failure(request, failure)
    path = request.cached_path
    with lock_cached_file(path, request.name):
        if (cached := _find_cached(request)) is not None:
            return cached
        digest = fetch_from_mirrors(request, path, failure)
        cache_digest(Raw(request.name, path), request.settings.digest_cache, digest)
    return StoredFile(path, "mirror", digest, verified=True)


def _find_cached(request: FileRequest) -> StoredFile | None:
    """The file in the cache, if it exists and matches its pin."""
    path, pin = request.cached_path, request.pin
    if _existing_file(path) is None:
        return None
    digest = hash_file(Raw(request.name, path), request.settings.digest_cache, git_blob=pin.git_blob is not None)
    return StoredFile(path, "cache", digest, pin.has_digest) if pin.matches(digest) else None


def _verify(raw: Raw, request: FileRequest, *, todo: str) -> Digest:
    """The digests of a file, or of a member of an archive. Raises SourceError where it does not match the request's pin."""
    pin = request.pin
    digest = hash_file(raw, request.settings.digest_cache, git_blob=pin.git_blob is not None)
    where = str(raw.path) if raw.member is None else f"{raw.path}: {raw.member}"
    if not pin.matches(digest) or (raw.member is None and not pin.has_digest):
        with open_raw(raw, as_stored=True) as stream:
            require_content(raw.name, where, stream.read(HEAD), digest, pin, todo=todo)
    return digest


def _record(request: FileRequest, digest: Digest) -> None:
    if doubt := request.doubt_size(digest.bytes):
        logger.warning("%s: %s: look at it before you keep its digest", request.name, doubt)
    with lock_cached_file(request.settings.cache / "raw.lock.json", "raw.lock.json", activity="writing"):
        lock_files = request.settings.lock_files[
            request.awaits_commit :
        ]  # only `accept` brings the commit of a moving file
        record_entry(request.name, LockEntry(digest.sha256, digest.bytes, digest.commit), lock_files)


# The folder of the golden samples, `<source>/raw/<file>`.
GOLDEN = installation.ROOT / ("tests/golden" if installation.is_checkout() else "pipelines/golden")


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


def golden_input(source: Source, key: str, golden: Path, *, limit: int | None) -> LocatedFile:
    """A raw file of the source's golden sample. limit: the number of records to read, None for all.

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
    raw = Raw(f"{source.name}/raw/{name}", path, limit=limit)
    return LocatedFile(raw, name, None, file_sha256(path), path.stat().st_size, verified=False, origin="golden")
