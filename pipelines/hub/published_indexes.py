"""Indexes on the Hub: publishing one in a guarded commit with a tag, as releases are, and finding one by its name.

    ORG/index-<name>    index.parquet, the card, and the index under its digest too, where raw files are looked for on mirrors

Nothing is overwritten: a tag with other bytes is an error, and so is a repository with the files of others.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from huggingface_hub import CommitOperationAdd, constants

from builders.errors import PublishError, SourceError
from builders.spec import version_key
from pipelines.hub import client, repository
from pipelines.hub.commits import (
    DONE,
    NEW,
    PUBLISHED,
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
from pipelines.process.files import write_atomically
from pipelines.process.tables import facts
from pipelines.process.terminal import format_size
from pipelines.raw.mirrors import VARIABLE, HubMirror, configured_mirrors, digest_path
from pipelines.raw.pins import Pin
from pipelines.release import folder

logger = logging.getLogger(__name__)

FILE = "index.parquet"
PREFIX = "index-"
MARK = "<!-- Written by embedding-datasets publish --index, which replaces all of this page. -->"


@dataclass(frozen=True)
class IndexFile:
    """An index to publish.

    version: `1.0.0` for the tag `v1.0.0`. texts: how many it has. card: writes the card for a repository and a tag. name: of the
    repository, by default that of the file.
    """

    path: Path
    version: str
    texts: int
    card: Callable[[str, str], bytes]
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class IndexPlan(CommitPlan):
    """What publishing an index would do. sha256: of its file."""

    index: IndexFile
    tag: str
    private: bool
    sha256: str


def make_index_plan(index: IndexFile, options: CommitOptions, hub: client.HubClient) -> IndexPlan:
    """What publishing an index would do; nothing is changed on the Hub.

    Raises PublishError where a tag has another index or the repository is used for something else, UsageError for an invalid
    name.
    """
    path, version, (sha256, blob) = index.path, index.version, listed_digests(index.path)
    repo, tag = require_name(options.org, index.name or f"{PREFIX}{path.stem}"), f"v{version}"
    at = snapshot_to_publish_in(hub, repo, options)
    refs = repository.list_refs(hub, repo) if at is not None else repository.Refs({}, {})
    tagged = repository.require_snapshot(hub, repo, tag) if tag in refs.tags else None
    newer = [known for known in refs.versions if version_key(known) > version_key(version)]
    if tagged is not None and tagged.digests.get(FILE) not in (sha256, blob):
        raise PublishError(
            f"{tag} is another index",
            where=repo,
            found=tagged.digests.get(FILE),
            expected=sha256,
            todo="publish it as a higher --version",
        )
    if tagged is None and newer:
        raise PublishError(
            "a newer version is published", where=repo, found=f"v{newer[0]}", todo="pass a higher --version"
        )
    writes: dict[str, bytes | Path] = {}
    if tagged is None:
        require_ours(hub, repo, at, MARK, (FILE, "sha256/"), overwrite=options.overwrite_card)
        files: dict[str, bytes | Path] = {name: path for name in (FILE, digest_path(Pin(sha256=sha256))) if name}
        files[folder.CARD] = index.card(repo, tag)
        listed = {} if at is None else at.digests
        digests = {
            own: (sha256, blob) if content is path else listed_digests(content) for own, content in files.items()
        }
        writes = {own: content for own, content in files.items() if listed.get(own) not in digests[own]}
    return IndexPlan(
        repo=repo, state=NEW if tagged is None else DONE, at=tagged or at, writes=writes, index=index, tag=tag, sha256=sha256,
        known_digests={name: sha256 for name, content in writes.items() if content is path},
        private=options.private if at is None else at.private, title=f"Index {path.stem} {version}",
    )  # fmt: skip


def publish_index(index: IndexFile, options: CommitOptions, hub: client.HubClient) -> Publication[IndexPlan]:
    """Publish an index and tag it, or finish what an earlier call began.

    Raises as `make_index_plan`, and PublishError where the Hub fails or has other bytes afterwards.
    """
    done = commit_plan(hub, lambda: make_index_plan(index, options, hub), options, _require_unchanged)
    plan = done.plan
    require_written(hub, plan, done.commit)
    if plan.state == NEW and not repository.create_tag(hub, plan.repo, plan.tag, done.commit):
        make_index_plan(index, options, hub)  # somebody else's tag must be of the same index
    return replace(done, state=PUBLISHED if plan.state == NEW else DONE, url=f"{done.url}/tree/{plan.tag}")


def _require_unchanged(plan: IndexPlan, _: Snapshot, additions: Sequence[CommitOperationAdd]) -> None:
    """Refuse to send another file than was planned."""
    for addition in additions:
        if plan.writes[addition.path_in_repo] is plan.index.path and addition.upload_info.sha256.hex() != plan.sha256:
            raise PublishError(
                "the index has changed meanwhile", where=str(plan.index.path), todo="run the command again"
            )


def to_json(plan: IndexPlan, publication: Publication[IndexPlan] | None = None) -> dict[str, Any]:
    """A plan, and the result of publishing, as JSON takes it."""
    return {
        "index": str(plan.index.path),
        "repo": plan.repo,
        "tag": plan.tag,
        "state": publication.state if publication else plan.state,
        **({"commit": publication.commit, "url": publication.url} if publication else {}),
        "private": plan.private,
        "sha256": plan.sha256,
        "texts": plan.index.texts,
        "files": plan.sizes,
    }


def page(plan: IndexPlan, publication: Publication[IndexPlan] | None) -> list[str]:
    """A plan, and the result of publishing, as lines."""
    lines = [f"index {plan.index.path}: {publication.state if publication else plan.state}"]
    lines += [f"  at        {publication.url}", f"  commit    {publication.commit}"] if publication else []
    created = " (to be created)" if plan.at is None else ""
    lines += facts(
        [
            ("as", f"{plan.repo}{created}, tag {plan.tag}, {'private' if plan.private else 'public'}"),
            ("texts", f"{plan.index.texts:,}"),
            ("sha256", plan.sha256),
        ]
    )
    return lines + [f"    + {path}  {format_size(size)}" for path, size in plan.sizes.items()]


def find_index(name: str, cache: Path) -> Path:
    """The file of an index: a path; or its copy in the cache, from `ORG/NAME[@TAG]` on the Hub, or `NAME[@TAG]` in one of the
    organisations of EMBEDDING_DATASETS_MIRRORS. Without a tag it is the newest version. Where the Hub does not answer, it is the
    copy that this revision had the last time.

    Raises SourceError where it is nowhere, and for a copy that does not have the digest that the Hub lists.
    """
    if Path(name).is_file() or name != name.strip("/."):
        return Path(name)
    references = _references(name)
    if not references:
        raise SourceError(
            "index not found",
            where=name,
            todo=f"name a file, ORG/NAME@TAG on the Hub, or set {VARIABLE}=hf://datasets/ORG to find {PREFIX}NAME of ORG",
        )
    try:
        copy = _ask_hub(references, cache)
    except SourceError as error:
        copy = _last_copy(references, cache)
        if copy is None:
            urls = " or ".join(
                f"{constants.ENDPOINT}/datasets/{repo}/resolve/{revision}/{FILE}" for repo, revision in references
            )
            raise SourceError(
                error.what,
                where=name,
                found=f"{error.found}, and no copy in {cache}",
                todo=f"download {urls} where the Hub can be reached, copy the file to this machine, and pass its path as --index",
            ) from error
        logger.warning("%s: %s (%s); the copy of the last time is used: %s", name, error.what, error.found, copy[0])
    if copy is None:
        raise SourceError(
            "index not found",
            where=name,
            found=", ".join(f"no {FILE} in {repo} at {revision}" for repo, revision in references),
            todo="see that the name and the tag are right",
        )
    path, digest = copy
    if digest not in listed_digests(path):
        raise SourceError(
            "the copy of the index is damaged",
            where=str(path),
            expected=digest,
            todo="remove it, and run the command again",
        )
    return path


def _references(name: str) -> list[tuple[str, str]]:
    """The repositories and revisions where an index with this name may be."""
    if reference := client.parse_reference(name, repository.MAIN):
        return [reference]
    own, _, tag = name.partition("@")
    if not client.REPOSITORY.fullmatch(f"org/{own}"):
        return []
    organisations = [mirror.name for mirror in configured_mirrors() if isinstance(mirror, HubMirror)]
    return [(f"{org}/{PREFIX}{own}", tag or repository.MAIN) for org in organisations if "/" not in org]


def _ask_hub(references: Sequence[tuple[str, str]], cache: Path) -> tuple[Path, str] | None:
    """The copy of the first index that the Hub has, fetched unless it is there, and the digest that the Hub lists.

    Both are noted for `_last_copy`.
    """
    hub = client.connect()
    for repo, revision in references:
        at = repository.snapshot(hub, repo, revision)
        if at is not None and FILE in at.digests:
            path = repository.fetch_files(hub, repo, at, [FILE], cache) / FILE
            write_atomically(_note(repo, revision, cache), json.dumps({"commit": at.sha, "digest": at.digests[FILE]}))
            return path, at.digests[FILE]
    return None


def _last_copy(references: Sequence[tuple[str, str]], cache: Path) -> tuple[Path, str] | None:
    """The copy of the first index that the Hub had the last time, and its digest."""
    for repo, revision in references:
        note = _note(repo, revision, cache)
        if note.exists():
            noted = json.loads(note.read_bytes())
            path = note.parent / noted["commit"] / FILE
            if path.exists():
                return path, noted["digest"]
    return None


def _note(repo: str, revision: str, cache: Path) -> Path:
    """The file that says which commit a revision was."""
    return cache / "hub" / repo / f"{quote(revision, safe='')}.json"
