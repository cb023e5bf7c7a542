"""Where a raw file is found, in `--raw-dir`, in the cache or at its address, and whether it is the pinned one."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import huggingface_hub
import platformdirs
from huggingface_hub import constants, hf_hub_url

from builders.errors import SourceError, UsageError
from builders.reading.archives import open_raw
from builders.spec import ByHand, GitHub, Https, Hub, Member, Raw
from pipelines.raw.digests import HEAD, Digest, file_digest, read_head, remember
from pipelines.raw.download import DownloadRequest, Patience, fetch, locked
from pipelines.raw.pins import LOCK, pin_of, placeholder_error, record_digest, wrong_file_error
from pipelines.terminal import say

if TYPE_CHECKING:
    from builders.spec import Location, RawFile, Source
    from pipelines.raw.pins import Pin

GITHUB_RAW = "https://raw.githubusercontent.com"
GITHUB_MEDIA = "https://media.githubusercontent.com/media"
HUB = "https://huggingface.co"

Origin = Literal["raw-dir", "cache", "download"]


def default_cache() -> Path:
    """EMBEDDING_DATASETS_CACHE, or else the place where this system keeps a user's caches."""

    chosen = os.environ.get("EMBEDDING_DATASETS_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("embedding-datasets"))


@dataclass(frozen=True)
class RawSettings:
    """Where raw files are looked for.

    raw_dir: a folder with `<source>/<name>` in it, never written to. cache: the folder of what was downloaded, of remembered
    digests, and of a second lock file for when `lock` cannot be written. offline: never download. lock: the lock file.
    github_raw, github_media, hub: base addresses; without `hub` the one of huggingface_hub, which heeds HF_ENDPOINT.
    """

    raw_dir: Path | None = None
    cache: Path = field(default_factory=default_cache)
    offline: bool = False
    lock: Path = LOCK
    github_raw: str = GITHUB_RAW
    github_media: str = GITHUB_MEDIA
    hub: str | None = None
    patience: Patience = field(default_factory=Patience)

    @property
    def locks(self) -> tuple[Path, Path]:
        """The lock files, in the order in which they are asked."""
        return self.lock, self.cache / "raw.lock.json"

    @property
    def memo(self) -> Path:
        """Where digests of unchanged files are remembered."""
        return self.cache / "digests"


@dataclass(frozen=True)
class LocatedFile:
    """A raw file that is here.

    raw: for the readers. name: as in its source. url: its public address, with `#member` for a file of an archive, None for
    a file fetched by hand. sha256, bytes: of the file itself, also where it lies in an archive. verified: whether a digest was
    known beforehand. origin: where it was found.
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
    """Where a raw file would come from; `by-hand` and `missing` mean that locate() would fail.

    where: the file that would be read, the address that would be asked, or what to do. bytes: the download's size, if known.
    """

    name: str
    origin: Origin | Literal["by-hand", "missing"]
    where: str
    bytes: int | None


@dataclass(frozen=True)
class _Stored:
    """A whole file on disk: the raw file itself, or the archive that holds it."""

    path: Path
    origin: Origin
    digest: Digest
    verified: bool


def locate(source: Source, key: str, places: RawSettings, *, limit: int | None = None) -> LocatedFile:
    """Find a raw file of a source and verify it; download it where it is not here yet.

    A member of an archive may lie in `raw_dir` under its own name; else it is read in the archive, which is verified too.
    What no digest is known of is used unverified, and recorded in the lock file if it was downloaded.

    Raises SourceError for a file that is missing, cannot be had, or is not the pinned one, UsageError where `raw_dir` is no
    folder.
    """
    file = source.files[key]
    _check(places)
    name = f"{source.name}/{file.name}"
    if isinstance(file.location, Member) and _local(source, file, places) is None:
        stored = _stored(source, file.location.archive, places, file)
        raw = Raw(name, stored.path, file.location.path, limit)
        pin = pin_of(source.name, file, places.locks)
        try:
            digest = _verified(raw, pin, places, "remove or replace the archive")
        except SourceError:
            if stored.origin == "download" and not stored.verified:
                stored.path.unlink(missing_ok=True)
            raise
        verified, whole = pin.exact or stored.verified, file.location.archive
    else:
        stored = _stored(source, file, places, file)
        raw, digest, verified, whole = Raw(name, stored.path, None, limit), stored.digest, stored.verified, file
    # A cached file too: the command that downloaded it may have been killed before it could record.
    if stored.origin != "raw-dir" and not stored.verified and not isinstance(whole.location, ByHand):
        _record(source, whole, stored.digest, places)
    return LocatedFile(raw, file.name, address(file.location), digest.sha256, digest.bytes, verified, stored.origin)


def plan_file(source: Source, key: str, places: RawSettings) -> PlannedFile:
    """Where locate() would take a raw file from; reads no file's content and opens no connection.

    Raises SourceError for a folder in a file's place, UsageError where `raw_dir` is no folder.
    """
    file = source.files[key]
    _check(places)
    whole = file.location.archive if isinstance(file.location, Member) else file
    local = _local(source, file, places) or _local(source, whole, places)
    if local is not None:
        return PlannedFile(file.name, "raw-dir", str(local), None)
    cached = _cached(source, whole, places)
    if _present(cached) is not None:
        return PlannedFile(file.name, "cache", str(cached), None)
    if isinstance(whole.location, ByHand):
        return PlannedFile(file.name, "by-hand", _by_hand(whole.location, _put(source, file, places)), None)
    if places.offline:
        return PlannedFile(file.name, "missing", _put(source, file, places), None)
    return PlannedFile(
        file.name, "download", address(whole.location) or "", pin_of(source.name, whole, places.locks).bytes
    )


def address(
    location: Location, *, github_raw: str = GITHUB_RAW, github_media: str = GITHUB_MEDIA, hub: str = HUB
) -> str | None:
    """The https address of a location, None for a file fetched by hand; `#path` names the member of an archive."""
    match location:
        case Https(url):
            return url
        case GitHub(repo, commit, path, lfs):
            return f"{github_media if lfs else github_raw}/{repo}/{commit}/{quote(path)}"
        case Hub(repo, revision, path):
            return hf_hub_url(repo, path, repo_type="dataset", revision=revision, endpoint=hub)
        case Member(archive, path):
            base = address(archive.location, github_raw=github_raw, github_media=github_media, hub=hub)
            return None if base is None else f"{base}#{quote(path)}"
        case ByHand():
            return None


def _check(places: RawSettings) -> None:
    if places.raw_dir is not None and not places.raw_dir.is_dir():
        raise UsageError(
            "the folder of raw files is not there", where=str(places.raw_dir), todo="correct --raw-dir, or leave it out"
        )


def _local(source: Source, file: RawFile, places: RawSettings) -> Path | None:
    """The file below --raw-dir, if it is there."""
    return None if places.raw_dir is None else _present(places.raw_dir / source.name / file.name)


def _present(path: Path) -> Path | None:
    """The path, if a file is there. Raises SourceError where something else is."""
    try:
        if path.is_file():
            return path
        if path.is_symlink() and not path.exists():
            found = f"a link to {path.readlink()}, which is not there"
        elif path.is_dir():
            found = "a folder"
        elif path.exists():
            found = "no regular file"
        else:
            return None
    except OSError as error:
        found = error.strerror or str(error)
    raise SourceError(
        "no file where a raw file should be",
        where=str(path),
        found=found,
        expected="a file",
        todo="remove or replace it",
    )


def _cached(source: Source, file: RawFile, places: RawSettings) -> Path:
    """The file's place in the cache, apart from other versions of the same name."""
    pin = file.sha256 or file.git_blob or hashlib.sha256((address(file.location) or "").encode()).hexdigest()
    return places.cache / "raw" / source.name / pin[:12] / file.name


def _stored(source: Source, file: RawFile, places: RawSettings, wanted: RawFile) -> _Stored:
    """A whole file, from wherever it is. wanted: the file itself or its member that is asked for, for messages."""
    name, pin = f"{source.name}/{file.name}", pin_of(source.name, file, places.locks)
    local = _local(source, file, places)
    if local is not None:
        todo = "remove or replace it, or give another --raw-dir"
        return _Stored(local, "raw-dir", _verified(Raw(name, local), pin, places, todo), pin.exact)
    if isinstance(file.location, Member):
        what = f"{name} lies in an archive that lies in an archive: that is read only where it is unpacked"
        raise SourceError(what, todo=_put(source, file, places))
    cached = _cached(source, file, places)
    if places.offline or isinstance(file.location, ByHand):
        if _present(cached) is None:
            raise _missing(source, file, places, wanted, pin)
        return _Stored(cached, "cache", _verified(Raw(name, cached), pin, places, "remove or replace it"), pin.exact)
    digest = _fitting(Raw(name, cached), pin, places)
    if digest is not None:
        return _Stored(cached, "cache", digest, pin.exact)
    with locked(cached, name):
        pin = pin_of(source.name, file, places.locks)
        digest = _fitting(Raw(name, cached), pin, places)
        if digest is not None:
            return _Stored(cached, "cache", digest, pin.exact)
        if cached.exists():
            say(f"{name}: the copy in the cache is not the pinned file; fetching it anew")
        digest = fetch(_order(source, file, places, wanted, pin), cached, places.patience)
        remember(Raw(name, cached), places.memo, digest)
    return _Stored(cached, "download", digest, pin.exact)


def _fitting(raw: Raw, pin: Pin, places: RawSettings) -> Digest | None:
    """The digests of a file in the cache, if it is there and may be the pinned one."""
    if _present(raw.path) is None:
        return None
    digest = file_digest(raw, places.memo, blob=pin.git_blob is not None)
    return digest if pin.fits(digest) else None


def _verified(raw: Raw, pin: Pin, places: RawSettings, todo: str) -> Digest:
    """The digests of a file that somebody put where it is. Raises SourceError where it is not what it should be."""
    digest = file_digest(raw, places.memo, blob=pin.git_blob is not None)
    where = str(raw.path) if raw.member is None else f"{raw.path}: {raw.member}"
    if not pin.fits(digest):
        with open_raw(raw, as_stored=True) as stream:
            raise wrong_file_error(raw.name, where, stream.read(HEAD), digest, pin, todo=todo)
    if raw.member is None and not pin.exact:
        wrong = placeholder_error(raw.name, where, read_head(raw.path), digest.bytes, todo=todo)
        if wrong is not None:
            raise wrong
    return digest


def _record(source: Source, file: RawFile, digest: Digest, places: RawSettings) -> None:
    with locked(places.cache / "raw.lock.json", "the lock file"):
        record_digest(f"{source.name}/{file.name}", digest, places.locks)


def _put(source: Source, file: RawFile, places: RawSettings) -> str:
    """Where a person should put a file, and the archive that may stand for it."""
    files = [file.location.archive, file] if isinstance(file.location, Member) else [file]
    if places.raw_dir is not None:
        spots = [str(places.raw_dir / source.name / each.name) for each in files]
        return f"put it at {spots[0]}" + (f" (or what it holds at {spots[1]})" if len(spots) > 1 else "")
    return (
        f"put it at {_cached(source, files[0], places)}, "
        f"or give --raw-dir DIR and put it at {Path('DIR', source.name, files[0].name)}"
    )


def _by_hand(location: ByHand, put: str) -> str:
    return f"{location.instructions.rstrip('.')}; {put}"


def _missing(source: Source, file: RawFile, places: RawSettings, wanted: RawFile, pin: Pin) -> SourceError:
    spots = [] if places.raw_dir is None else [places.raw_dir / source.name / each.name for each in (wanted, file)]
    looked = list(dict.fromkeys(str(spot) for spot in [*spots, _cached(source, file, places)]))
    found, put = f"nothing at {', nor at '.join(looked)}", _put(source, wanted, places)
    name, expected = f"{source.name}/{file.name}", str(pin)
    if isinstance(file.location, ByHand):
        todo = _by_hand(file.location, put)
        return SourceError(f"{name} must be fetched by hand", found=found, expected=expected, todo=todo)
    what, todo = f"{name} is not here, and --offline forbids to fetch it", f"{put}, or run without --offline"
    return SourceError(what, where=address(file.location), found=found, expected=expected, todo=todo)


def _order(source: Source, file: RawFile, places: RawSettings, wanted: RawFile, pin: Pin) -> DownloadRequest:
    name, by_hand = f"{source.name}/{file.name}", f"fetch it by hand and {_put(source, wanted, places)}"
    hub, token, version, refusal = "", None, "the file at its address", by_hand
    match file.location:
        case Hub(repo, revision):
            hub, token, version = places.hub or constants.ENDPOINT, _token(), f"revision {revision} of {repo}"
            state = "the token that was sent has no access" if token else "no token was found"
            refusal = (
                f"{state}: accept the terms at {HUB}/datasets/{repo}, then give a token of that account "
                "(set HF_TOKEN, or run `hf auth login`)"
            )
        case GitHub(repo, commit):
            version = f"commit {commit} of {repo}"
    url = address(file.location, github_raw=places.github_raw, github_media=places.github_media, hub=hub)
    assert url is not None, "files fetched by hand are never ordered"
    return DownloadRequest(name, url, pin, version, refusal, by_hand, token)


def _token() -> str | None:
    """The Hub's token. Raises SourceError for one that no header can carry, before a library prints it."""

    token = huggingface_hub.get_token()
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise SourceError(
            "the Hub token holds a character that no token has", todo="set HF_TOKEN anew, or run `hf auth login`"
        )
    return token
