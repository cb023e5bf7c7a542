"""Raw files to the Hub: what mirroring a source would do, and doing it in one guarded commit, compared with the Hub's digests.

A repository holds the files of one source, so that its licence is that of the source: `ORG/raw-<source>`. A file is named
by a digest that the source or the committed lock file has (pipelines.raw.mirrors). The digest of whatever is on this machine
proves nothing.
"""

import shutil
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd

from builders.errors import PublishError, SourceError
from builders.licenses import describe_license, permits_redistribution
from builders.raw_files import Hub, Member
from builders.reading.archives import open_raw
from builders.spec import Source
from cards.raw_files_card import MARK, render_raw_card
from pipelines.hub.client import HubClient
from pipelines.hub.commits import (
    DONE,
    NEW,
    CommitOptions,
    CommitPlan,
    Publication,
    commit_plan,
    require_name,
    require_ours,
    require_written,
    snapshot_to_publish_in,
)
from pipelines.hub.repository import Snapshot, listed_digests
from pipelines.process.files import replacing
from pipelines.process.tables import facts
from pipelines.process.terminal import format_size
from pipelines.raw.digests import CHUNK, lock_cached_file
from pipelines.raw.locations import find_stored, locate
from pipelines.raw.mirrors import KINDS, digest_path, repository_name
from pipelines.raw.pins import find_pin
from pipelines.raw.requests import file_url
from pipelines.raw.settings import FileRequest, RawSettings, stored_file
from pipelines.release import folder

NOTHING = "nothing here to publish"
UNKNOWN = "no digest of it is known"
GATED = "its publisher gives it to those who accept terms; --private, or --i-have-the-rights"


@dataclass(frozen=True, kw_only=True)
class RawPlan(CommitPlan):
    """What mirroring the raw files of a source would do.

    names: of the files, by path in the repository. present: paths that the repository has already. missing: names of files that
    are neither there nor on this machine. left_out: why a file cannot be mirrored, by name.
    """

    source: Source
    private: bool
    names: Mapping[str, str] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def make_raw_plan(source: Source, settings: RawSettings, options: CommitOptions, hub: HubClient) -> RawPlan:
    """What mirroring the raw files of a source would do; nothing is changed on the Hub, and nothing is downloaded.

    Raises PublishError where they may not be shared, SourceError for a file here that is not the pinned one, UsageError for an
    invalid organisation.
    """
    repo = require_name(options.org, repository_name(source.name))
    _require_permission(source, options)
    local = replace(settings, offline=True, mirrors=())
    at = snapshot_to_publish_in(hub, repo, options)
    listed = {} if at is None else dict(at.digests)
    mirrorable, left_out = _mirrorable_files(source, local, options, listed)
    writes, names, present, missing, notes = dict[str, "bytes | Path"](), dict[str, str](), list[str](), list[str](), []
    for path, (file, found) in mirrorable.items():
        names[path] = file.file.name
        pinned = (file.pin.sha256, file.pin.git_blob)
        if path in listed and (found is None or listed[path] in pinned or listed[path] in listed_digests(found)):
            present.append(path)
        elif found is None:
            missing.append(file.file.name)
        else:
            notes += [f"{path} has other bytes on the Hub: it is written again"] if path in listed else []
            writes[path] = found
    stored = [path for path in mirrorable if path in writes or path in present]
    files = [(path, names[path], file_url(mirrorable[path][0].file.location)) for path in stored]
    card = render_raw_card(source, repo, files)
    if writes or present:
        require_ours(hub, repo, at, MARK, KINDS, overwrite=options.overwrite_card)
        if listed.get(folder.CARD) not in listed_digests(card):
            writes[folder.CARD] = card
    elif not missing:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        todo = "mirror them with --private; or, if you hold the rights or were given them, pass --i-have-the-rights"
        if set(left_out.values()) == {UNKNOWN}:
            todo = "pin their digests in the builder, or commit those that fetch records in pipelines/raw.lock.json"
        raise PublishError(f"{source.name}: no raw file can be mirrored", found=reasons, todo=todo)
    private = options.private if at is None else at.private
    state = NEW if writes else DONE if present else NOTHING
    return RawPlan(
        repo=repo, state=state, at=at, writes=writes, notes=tuple(notes), source=source, private=private, names=names,
        present=tuple(present), missing=tuple(missing), left_out=left_out, title=f"Raw files of {source.name}",
        description="\n".join(sorted(names[path] for path in writes if path in names)),
    )  # fmt: skip


def _require_permission(source: Source, options: CommitOptions) -> None:
    """Refuse a source whose licence is not known to permit copies, unless they stay private or the user has the rights."""
    if permits_redistribution(source.license) or options.rights or options.private:
        return
    raise PublishError(
        f"{source.name}: licence {source.license} is not known to permit sharing the raw files",
        where=source.homepage,
        found=source.license_note or describe_license(source.license),
        todo="mirror them in a private repository with --private; or, if you hold the rights or were given them, pass "
        "--i-have-the-rights",
    )


def _mirrorable_files(
    source: Source, settings: RawSettings, options: CommitOptions, listed: Container[str]
) -> tuple[dict[str, tuple[FileRequest, Path | None]], dict[str, str]]:
    """The files to mirror, by path, with where they are on this machine; and why each of the others cannot be mirrored.

    A member is mirrored where the digest of its archive is unknown, or where it is here and the archive is not. listed: the paths
    on the mirror, which stay.
    """
    mirrorable, left_out = dict[str, tuple[FileRequest, Path | None]](), dict[str, str]()
    for known in _known_files(source, settings):
        name, location = known[0].file.name, stored_file(known[0].file).location
        paths = {path: file for file in known if (path := digest_path(file.pin))}
        if not paths:
            left_out[name] = UNKNOWN
            continue
        if isinstance(location, Hub) and location.gated and not (options.rights or options.private):
            left_out[name] = GATED
            continue
        kept = list[str]()
        for path, file in paths.items():
            if path in listed or not kept:
                found = mirrorable[path][1] if path in mirrorable else _find_local(file)
                if path in listed or found:
                    mirrorable[path] = file, found
                    kept.append(path)
        if not kept:
            mirrorable[next(iter(paths))] = known[0], None
    return mirrorable, left_out


def _known_files(source: Source, settings: RawSettings) -> Iterator[list[FileRequest]]:
    """Each file of a source as a mirror may store it: its archive first, then itself.

    The lock file of the cache does not count: it records downloads only.
    """
    for file in source.files.values():
        requests = [
            FileRequest(source, candidate, find_pin(source.name, candidate, [settings.lock]), settings)
            for candidate in {each.name: each for each in (stored_file(file), file)}.values()
        ]
        yield [request for request in requests if request.pin.has_digest] or requests[:1]


def _find_local(request: FileRequest) -> Path | None:
    """The path of a file on this machine, verified; None where it is not here. A member is taken out of its archive."""
    try:
        if not isinstance(request.file.location, Member):
            return find_stored(request).path
        key = next(key for key, file in request.source.files.items() if file == request.file)
        located = locate(request.source, key, request.settings)
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
        shutil.copyfileobj(stream, copy, CHUNK)
    return target


def publish_raw(source: Source, settings: RawSettings, options: CommitOptions, hub: HubClient) -> Publication[RawPlan]:
    """Mirror the raw files of a source in its repository, or finish what an earlier call began.

    Raises as `make_raw_plan`, and PublishError where the Hub fails or has other bytes afterwards.
    """
    done = commit_plan(hub, lambda: make_raw_plan(source, settings, options, hub), options, _require_digests)
    require_written(hub, done.plan, done.commit)
    return done


def _require_digests(plan: RawPlan, _: Snapshot, additions: Sequence[CommitOperationAdd]) -> None:
    """Refuse to send a file under a digest that it does not have now."""
    for addition in additions:
        path = addition.path_in_repo
        if path not in plan.names:
            continue
        kind, digest, content = path.partition("/")[0], path.rpartition("/")[2], plan.writes[path]
        found = addition.upload_info.sha256.hex() if kind == "sha256" else listed_digests(content)[1]
        if found != digest:
            raise PublishError(
                "a raw file has changed meanwhile",
                where=str(content),
                found=found,
                expected=digest,
                todo="see what writes to it, and run the command again",
            )


def to_json(plan: RawPlan, publication: Publication[RawPlan] | None = None) -> dict[str, Any]:
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


def page(plan: RawPlan, publication: Publication[RawPlan] | None) -> list[str]:
    """A plan, and the result of publishing, as lines."""
    source = plan.source
    lines = [f"raw files of {source.name}: {publication.state if publication else plan.state}"]
    if publication and publication.commit:
        lines += [f"  at        {publication.url}", f"  commit    {publication.commit}"]
    created = " (to be created)" if plan.at is None else ""
    lines += facts(
        [
            ("as", f"{plan.repo}{created}, {'private' if plan.private else 'public'}"),
            ("licence", f"{source.license}: {describe_license(source.license)}"),
            ("terms", source.license_note),
        ]
    )
    if plan.writes:
        lines.append(f"  files     {len(plan.writes)}, {format_size(sum(plan.sizes.values()))}")
        for path, size in plan.sizes.items():
            lines.append(f"    + {plan.names.get(path, path)}  {format_size(size)}")
            lines += [f"      {path}"] if path in plan.names else []
    for path in plan.present:
        lines += [f"    = {plan.names[path]}", f"      {path}"]
    todo = f"not here; run embedding-datasets fetch {source.name}, or pass --raw-dir"
    rest = [("missing", f"{name}: {todo}") for name in plan.missing]
    rest += [("left out", f"{name}: {reason}") for name, reason in plan.left_out.items()]
    rest += [("note", note) for note in plan.notes]
    return lines + facts(rest)
