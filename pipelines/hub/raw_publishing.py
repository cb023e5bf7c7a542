"""Raw files to the Hub: what mirroring a source would do, and doing it in one guarded commit, compared with the Hub's digests.

A repository holds the files of one source, so that its licence is that of the source: `ORG/raw-<source>`. A file is named
by a digest that the source or the committed lock file has (pipelines.raw.mirrors). The digest of whatever is on this machine
proves nothing.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd

from builders.errors import PublishError, SourceError, UsageError
from builders.licenses import describe_license, permits_redistribution
from builders.raw_files import Hub, Member, RawFile
from builders.reading.archives import open_raw
from builders.spec import Source
from cards.raw_files_card import MARK, KeptFile, render_raw_card
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Snapshot, listed_digests
from pipelines.process.files import replacing
from pipelines.process.stages import stage
from pipelines.process.tables import fact, wrap
from pipelines.process.terminal import format_size
from pipelines.raw.digests import CHUNK, lock_cached_file
from pipelines.raw.locations import find_stored, locate
from pipelines.raw.mirrors import digest_path, repository_name
from pipelines.raw.pins import Pin, find_pin
from pipelines.raw.requests import file_url
from pipelines.raw.settings import FileRequest, RawSettings, stored_file
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


MAX_REPLANS = 3  # repositories created, and commits of others, that one call plans again for

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RawPublication:
    """The result. state: `published` or `already published`. url: where to see it."""

    plan: RawPlan
    state: str
    commit: str
    url: str


def publish_raw(source: Source, settings: RawSettings, options: RawOptions, hub: HubClient) -> RawPublication:
    """Keep the raw files of a source in its repository, or finish what an earlier call began.

    Raises as `make_raw_plan`, and PublishError where the Hub fails or holds other bytes afterwards.
    """
    failures = replans = 0
    while True:
        plan = make_raw_plan(source, settings, options, hub)
        url = f"{hub.api.endpoint}/datasets/{plan.repo}"
        if not plan.writes:
            return RawPublication(plan, DONE, plan.at.sha if plan.at else "", url)
        if plan.at is None:
            _replan(plan, replans)
            replans += 1
            repository.create(hub, plan.repo, private=options.private)
            continue  # what the new repository is, private or not, decides
        try:
            commit = _commit(hub, plan, plan.at.sha, options)
            break
        except client.hub_errors() as error:
            # It may be unknown whether the commit was made: the next plan finds out.
            if client.explain_error(error).status == 412:
                _replan(plan, replans)
                replans += 1
                logger.info("%s: somebody else committed meanwhile; planning again", plan.repo)
                continue
            failures += 1
            client.wait_or_raise(hub, "committing", plan.repo, error, failures)
    _compare(hub, plan, commit)
    return RawPublication(plan, "published", commit, url)


def raw_plan_to_json(plan: RawPlan, publication: RawPublication | None = None) -> dict[str, Any]:
    """A plan, and the result of publishing, as JSON takes it."""
    return {
        "source": plan.source.name,
        "repo": plan.repo,
        "state": publication.state if publication else plan.state,
        **({"commit": publication.commit, "url": publication.url} if publication else {}),
        "private": plan.private,
        "license": plan.source.license,
        "files": plan.sizes,
        "names": dict(plan.names),
        "present": list(plan.present),
        "missing": list(plan.missing),
        "left_out": dict(plan.left_out),
        "notes": list(plan.notes),
    }


def _replan(plan: RawPlan, replans: int) -> None:
    if replans >= MAX_REPLANS:
        raise PublishError("the repository keeps changing", where=plan.repo, todo="run the command again later")


def _commit(hub: HubClient, plan: RawPlan, parent: str, options: RawOptions) -> str:
    """Write the plan in one commit on top of `parent`; its sha.

    Raises what the Hub's library raises, PublishError for a file that has changed since it was planned.
    """
    client.configure_session(hub)
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    for addition in additions:
        _require_digest(addition, plan)
    with stage(f"uploading {plan.source.name}"):
        hub.api.preupload_lfs_files(
            plan.repo, additions, repo_type="dataset", revision=repository.MAIN, free_memory=False,
            gitignore_content="# every file is kept\n",
        )  # fmt: skip
    names = sorted(plan.names[path] for path in plan.writes if path in plan.names)
    made = hub.api.create_commit(
        plan.repo,
        repo_type="dataset",
        operations=additions,
        commit_message=options.message or f"Raw files of {plan.source.name}",
        commit_description="\n".join(names),
        parent_commit=parent,
        revision=repository.MAIN,
    )
    return str(made.oid)


def _require_digest(addition: CommitOperationAdd, plan: RawPlan) -> None:
    """Refuse to send a file under a digest that it does not have now."""
    kind, digest = addition.path_in_repo.partition("/")[0], addition.path_in_repo.rpartition("/")[2]
    content = plan.writes[addition.path_in_repo]
    found = addition.upload_info.sha256.hex() if kind == "sha256" else listed_digests(content)[1]
    if addition.path_in_repo in plan.names and found != digest:
        todo = "see what writes to it, and run the command again"
        raise PublishError(
            "a raw file has changed meanwhile", where=str(content), found=found, expected=digest, todo=todo
        )


def _compare(hub: HubClient, plan: RawPlan, commit: str) -> None:
    """Compare the commit with what was written, by the digests that the Hub computed."""
    at = repository.require_snapshot(hub, plan.repo, commit)
    faults = [path for path, content in plan.writes.items() if at.digests.get(path) not in listed_digests(content)]
    if faults:
        raise PublishError(
            "the commit does not hold the files that were sent",
            where=f"{plan.repo} at {commit}", found=", ".join(faults), todo="run the command again",
        )  # fmt: skip


def raw_publication_page(plan: RawPlan, publication: RawPublication | None) -> list[str]:
    """A plan, and the result of publishing, as lines."""
    source = plan.source
    lines = [f"raw files of {source.name}: {publication.state if publication else plan.state}"]
    if publication:
        lines += [f"  at        {publication.url}", f"  commit    {publication.commit}"]
    created = " (to be created)" if plan.at is None else ""
    lines += fact("as", f"{plan.repo}{created}, {'private' if plan.private else 'public'}")
    lines += fact("licence", f"{source.license}: {describe_license(source.license)}")
    if source.license_note:
        lines += fact("terms", source.license_note)
    if plan.writes:
        lines.append(f"  files     {len(plan.writes)}, {format_size(sum(plan.sizes.values()))}")
        for path, size in plan.sizes.items():
            lines.append(f"    + {plan.names.get(path, path)}  {format_size(size)}")
            lines += [f"      {path}"] if path in plan.names else []
    for path in plan.present:
        lines += [f"    = {plan.names[path]}", f"      {path}"]
    for name in plan.missing:
        todo = f"not here; run embedding-datasets fetch {source.name}, or pass --raw-dir"
        lines += wrap(f"{name}: {todo}", "  missing   ")
    for name, reason in plan.left_out.items():
        lines += wrap(f"{name}: {reason}", "  left out  ")
    for note in plan.notes:
        lines += fact("note", note)
    return lines
