"""What keeping the raw files of a source in a Hub repository would do: every rule of it, and nothing is done yet.

A repository holds the files of one source, so that its licence is that of the source: `ORG/raw-<source>`. A file is named
by a digest that the source or the committed lock file has (pipelines.raw.mirrors). The digest of whatever is on this machine
proves nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from builders.errors import PublishError, SourceError, UsageError
from builders.licenses import describe_license, permits_redistribution
from builders.raw_files import Hub, Member, RawFile
from builders.reading.archives import open_raw
from builders.spec import Source
from cards.raw_files_card import MARK, KeptFile, render_raw_card
from pipelines.files import replacing
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.digest_comparison import listed_digests
from pipelines.hub.repository import Snapshot
from pipelines.raw.cache import lock_cached_file
from pipelines.raw.digests import CHUNK
from pipelines.raw.file_request import FileRequest, stored_file
from pipelines.raw.locations import find_stored, locate
from pipelines.raw.mirrors import digest_path, repository_name
from pipelines.raw.pins import Pin, find_pin
from pipelines.raw.settings import RawSettings
from pipelines.raw.urls import file_url
from pipelines.release import folder

NEW, DONE, NOTHING = "to be published", "already published", "nothing here to publish"
OF_THE_HUB = {".gitattributes"}  # what the Hub writes into a new repository
UNKNOWN = "no digest of it is known"
GATED = "its publisher gives it to those who accept terms"
KINDS = ("sha256/", "git-blob/")


@dataclass(frozen=True)
class RawOptions:
    """How to keep raw files, as the command line says.

    private: in a private repository. rights: the user may share what the licence does not permit to share. overwrite_card:
    replace a card that somebody else wrote. message: of the commit.
    """

    org: str
    private: bool = False
    rights: bool = False
    overwrite_card: bool = False
    message: str | None = None


@dataclass(frozen=True)
class RawPlan:
    """What keeping the raw files of a source would do.

    at: the commit to build on; None without a repository. writes: content or path on disk, by path in the repository. names: of
    the files, by path. present: paths that the repository has already. missing: names of files that are neither there nor here.
    left_out: why a file cannot be kept, by name.
    """

    source: Source
    repo: str
    state: str
    private: bool
    at: Snapshot | None = None
    writes: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    names: Mapping[str, str] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file to write."""
        return {
            path: len(content) if isinstance(content, bytes) else content.stat().st_size
            for path, content in self.writes.items()
        }


@dataclass(frozen=True)
class _Keepable:
    """A file to keep: the key of what a build reads, the file or its archive, and what is known of its bytes."""

    key: str
    file: RawFile
    pin: Pin


def make_raw_plan(source: Source, settings: RawSettings, options: RawOptions, hub: HubClient) -> RawPlan:
    """What keeping the raw files of a source would do; nothing is changed on the Hub, and nothing is downloaded.

    Raises PublishError where they may not be shared, SourceError for a file here that is not the pinned one, UsageError for an
    invalid organisation.
    """
    repo = f"{options.org}/{repository_name(source.name)}"
    if not client.REPOSITORY.fullmatch(repo):
        raise UsageError("invalid repository name", found=repo, expected="ORG/NAME", todo="correct --org")
    _require_permission(source, options)
    local = replace(settings, offline=True, mirrors=())
    keepable, left_out = _keepable_files(source, local, options)
    at = repository.snapshot(hub, repo)
    if at is not None and options.private and not at.private:
        raise PublishError(
            "the repository is public, and --private applies only to new ones",
            where=repo, todo="make it private on its settings page, or leave --private out",
        )  # fmt: skip
    listed = {} if at is None else dict(at.digests)
    writes, names, present, missing, notes = dict[str, "bytes | Path"](), dict[str, str](), list[str](), list[str](), []
    for path, one in keepable.items():
        names[path] = one.file.name
        found = _find_local(source, one, local)
        if path in listed and (found is None or _is_listed(listed[path], found, one.pin)):
            present.append(path)
        elif found is None:
            missing.append(one.file.name)
        else:
            notes += [f"{path} has other bytes on the Hub: it is written again"] if path in listed else []
            writes[path] = found
    kept = [path for path in keepable if path in writes or path in present]
    files = [KeptFile(path, names[path], file_url(keepable[path].file.location)) for path in kept]
    card = render_raw_card(source, repo, files)
    if writes or present:
        _require_ours(hub, repo, at, overwrite=options.overwrite_card)
        if listed.get(folder.CARD) not in listed_digests(card):
            writes[folder.CARD] = card
    elif not missing:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        todo = "keep them with --private; or, if you hold the rights or were given them, pass --i-have-the-rights"
        if set(left_out.values()) == {UNKNOWN}:
            todo = "pin their digests in the builder, or commit those that fetch records in pipelines/raw.lock.json"
        raise PublishError(f"{source.name}: no raw file can be kept", found=reasons, todo=todo)
    private = options.private if at is None else at.private
    state = NEW if writes else DONE if present else NOTHING
    return RawPlan(
        source, repo, state, private, at, writes, names, tuple(present), tuple(missing), left_out, tuple(notes)
    )


def _is_listed(listed: str, path: Path, pin: Pin) -> bool:
    """Whether the Hub has the bytes of a verified file, by the digest that it lists."""
    return listed in (pin.sha256, pin.git_blob) or listed in listed_digests(path)


def _require_permission(source: Source, options: RawOptions) -> None:
    """Refuse a source whose licence is not known to permit copies, unless they stay private or the user has the rights."""
    if permits_redistribution(source.license) or options.rights or options.private:
        return
    raise PublishError(
        f"{source.name}: licence {source.license} is not known to permit sharing the raw files",
        where=source.homepage,
        found=source.license_note or describe_license(source.license),
        todo="keep them in a private repository with --private; or, if you hold the rights or were given them, pass "
        "--i-have-the-rights",
    )


def _keepable_files(
    source: Source, settings: RawSettings, options: RawOptions
) -> tuple[dict[str, _Keepable], dict[str, str]]:
    """The files to keep, by path; and why each of the others cannot be kept.

    Of a member of an archive whose digest is not known, the member itself is kept.
    """
    keepable, left_out = dict[str, _Keepable](), dict[str, str]()
    for one in _known_files(source, settings):
        path, location = digest_path(one.pin), stored_file(one.file).location
        if path is None:
            left_out[one.file.name] = UNKNOWN
        elif isinstance(location, Hub) and location.gated and not (options.rights or options.private):
            left_out[one.file.name] = (
                "its publisher gives it to those who accept terms; --private, or --i-have-the-rights"
            )
        else:
            keepable[path] = one
    return keepable, left_out


def _known_files(source: Source, settings: RawSettings) -> Iterator[_Keepable]:
    """The files of a source as a mirror keeps them. The lock file of the cache does not count: it knows what came, once."""
    for key, file in source.files.items():
        stored = stored_file(file)
        pins = {one.name: (one, find_pin(source.name, one, [settings.lock])) for one in (stored, file)}
        known = [(one, pin) for one, pin in pins.values() if pin.has_digest]
        yield _Keepable(key, *(known or list(pins.values()))[0])


def _find_local(source: Source, one: _Keepable, settings: RawSettings) -> Path | None:
    """The path of a file on this machine, verified; None where it is not here. A member is taken out of its archive."""
    request = FileRequest(source, one.file, one.pin, settings)
    try:
        if not isinstance(one.file.location, Member):
            return find_stored(request).path
        located = locate(source, one.key, settings)
    except SourceError as error:
        if error.missing is None:
            raise
        return None
    if located.raw.member is None:
        return located.raw.path
    target = request.cached_path
    with (
        lock_cached_file(target, request.name),
        open_raw(located.raw, as_stored=True) as stream,
        replacing(target) as temporary,
        temporary.open("wb") as copy,
    ):
        while chunk := stream.read(CHUNK):
            copy.write(chunk)
    return target


def _require_ours(hub: HubClient, repo: str, at: Snapshot | None, *, overwrite: bool) -> None:
    """Refuse a repository that somebody uses for something else, or whose card somebody else wrote."""
    if at is None:
        return
    others = sorted(_others(at.digests))
    if others:
        raise PublishError(
            "the repository holds other files", where=repo, found=", ".join(others[:5]), todo="choose another --org"
        )
    card = repository.read_file(hub, repo, at, folder.CARD)
    if card is not None and MARK.encode() not in card and not overwrite:
        todo = "pass --overwrite-card to replace it"
        raise PublishError("the card of the repository is somebody else's", where=repo, found=folder.CARD, todo=todo)


def _others(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if path not in {*OF_THE_HUB, folder.CARD} and not path.startswith(KINDS))
