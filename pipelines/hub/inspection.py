"""Reads what a repository holds at every version's tag and at main, verifies it, and has it judged."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass

from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from builders.errors import DatasetError
from builders.spec import version_key
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.published_revisions import (
    Content,
    Expectations,
    Repository,
    Revision,
    State,
    judge_main,
    judge_tag,
    missing_tag,
)
from pipelines.hub.verification import verify_snapshot
from pipelines.release import folder
from pipelines.terminal import format_size

COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PublishedDataset:
    """A repository with a dataset of this package.

    revisions: the tags of versions from old to new, then main. other_tags: all others.
    """

    repo: str
    dataset: str
    revisions: tuple[Revision, ...]
    other_tags: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The worst state of a revision."""
        states = {revision.state for revision in self.revisions}
        return "wrong" if "wrong" in states else "not checked" if "not checked" in states else "sound"


def inspect_dataset(hub: HubClient, repo: Repository, expected: Expectations) -> PublishedDataset:
    """What a repository holds; a commit that several tags are on is read once.

    Raises the client's error where the Hub is out of reach, and only then.
    """
    entries = expected.entries.get(repo.dataset, {}) if expected.recorded else {}
    recorded = {f"v{version}": entry for version, entry in entries.items() if repo.name in entry.published}
    try:
        refs = repository.list_refs(hub, repo.name)
    except hub.error as error:
        failure = explain_failure(error)
        names = _in_order(recorded) or [repository.MAIN]
        return PublishedDataset(repo.name, repo.dataset, tuple(Revision(name, not_checked=failure) for name in names))
    versions = {f"v{version}": refs.tags[f"v{version}"] for version in refs.versions}
    main = refs.branches.get(repository.MAIN)
    contents = dict[str, Content]()
    commits = {name: versions[name] for name in _in_order(versions)} | ({repository.MAIN: main} if main else {})
    for name, commit in commits.items():
        if commit not in contents:
            contents[commit] = _read(hub, repo.name, name, commit, expected)
    tagged = {name: judge_tag(repo, name, commit, contents[commit], expected) for name, commit in versions.items()}
    missing = {name: missing_tag(repo, name, entry) for name, entry in recorded.items() if name not in versions}
    revisions = [(tagged | missing)[name] for name in _in_order(tagged | missing)]
    revisions.append(judge_main(repo, main, tagged, contents, expected))
    return PublishedDataset(
        repo.name, repo.dataset, tuple(revisions), tuple(sorted(refs.tags.keys() - versions.keys()))
    )


def explain_failure(error: DatasetError) -> str:
    """Why a repository or a commit cannot be read, in a sentence.

    Raises the error itself where the Hub is out of reach: nothing can be checked then.
    """
    cause = error.__cause__
    if client.explain_error(error).passing:
        raise error
    if isinstance(cause, GatedRepoError):
        return "gated: only a token (HF_TOKEN) of somebody who was given access can read it"
    if isinstance(cause, RepositoryNotFoundError):
        return "not found: deleted, renamed, or private and not open to this token (HF_TOKEN)"
    return f"{error.what}: {error.found}" if error.found else error.what


def _read(hub: HubClient, repo: str, name: str, commit: str, expected: Expectations) -> Content:
    try:
        at = repository.require_snapshot(hub, repo, commit)
        if at.sha != commit or not COMMIT.fullmatch(commit):  # it becomes the name of a folder
            return Content(failure="the Hub answers with another commit than its tag names")
        if folder.MANIFEST not in at.digests:
            return Content(faults=(f"not a release of this package: no {folder.MANIFEST}",))
        manifest = repository.read_manifest_at(hub, repo, at)
        if manifest is not None and expected.download:
            size = format_size(sum(file.bytes for file in manifest.files))
            logger.info("%s: verifying %s, %s", repo, name, size)
        faults = verify_snapshot(hub, repo, at, expected.cache, download=expected.download)
    except hub.error as error:
        return Content(failure=explain_failure(error))
    return Content(manifest, tuple(faults), verified=expected.download)


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: version_key(name[1:]))
