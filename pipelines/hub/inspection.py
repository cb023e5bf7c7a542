"""Reads what a repository holds at every version's tag and at main, and verifies that it is what its manifest says.

What counts is what a reader gets: the files that `load_dataset` reads there, their rows, the card and the other documents.
"""

import logging
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from builders.errors import DatasetError, ReleaseError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Snapshot
from pipelines.hub.revisions import (
    Content,
    Expectations,
    Repository,
    Revision,
    State,
    judge_main,
    judge_tag,
    missing_tag,
)
from pipelines.process.terminal import format_size
from pipelines.release import folder
from pipelines.release.folder import verify_release
from pipelines.release.loading import find_loading_faults


def verify_snapshot(hub: HubClient, repo: str, at: Snapshot, cache: Path, *, download: bool = True) -> list[str]:
    """The faults of the release at a snapshot, a sentence for each: its files, rows and documents, and what else would be loaded.

    download: fetch the data files and hash their rows; else compare the digests that the Hub lists with those of the manifest,
    and fetch manifest and documents alone.

    Raises the client's error where the Hub cannot be read.
    """
    try:
        if download:
            fetched = fetch_verified(hub, repo, at, cache)
            return _compare_documents(repo, at, fetched, folder.require_manifest(fetched))
        with tempfile.TemporaryDirectory() as temporary:
            manifest = repository.fetch_documents(hub, repo, at, Path(temporary))
            return _compare_digests(at, manifest) + _compare_documents(repo, at, Path(temporary), manifest)
    except ReleaseError as error:
        return [f"{error.what}: {error.found}" if error.found else error.what]


def fetch_verified(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> Path:
    """The folder of a release on the Hub, fetched, with the files and rows of its manifest.

    Raises ReleaseError where they differ.
    """
    fetched = repository.fetch_release(hub, repo, at, cache)
    problems = verify_release(fetched, folder.require_manifest(fetched))
    if problems:
        shutil.rmtree(fetched)  # if the copy is at fault, the next run makes a new one
        raise ReleaseError("the release on the Hub differs from its manifest", where=repo, found=problems[0])
    return fetched


def loading_faults_at(hub: HubClient, repo: str, at: Snapshot, manifest: Manifest) -> list[str]:
    """How what `load_dataset` reads at a snapshot differs from a release, a sentence for each; only the card is fetched."""
    return find_loading_faults(at.digests, repository.read_file(hub, repo, at, folder.CARD) or b"", manifest, repo)


def edited_documents_at(hub: HubClient, repo: str, at: Snapshot, manifest: Manifest) -> list[str]:
    """The names of the documents at a snapshot that are not those of a manifest."""
    return [
        document.path
        for document in manifest.documents
        if (content := repository.read_file(hub, repo, at, document.path)) is None
        or folder.describe_document(document.path, content) != document
    ]


def _compare_documents(repo: str, at: Snapshot, fetched: Path, manifest: Manifest) -> list[str]:
    """What else than the release would be loaded, and how its documents differ from the manifest's."""
    card = (fetched / folder.CARD).read_bytes()
    return find_loading_faults(at.digests, card, manifest, repo) + folder.edited_documents(fetched, manifest)


def _compare_digests(at: Snapshot, manifest: Manifest) -> list[str]:
    """The data files of a manifest that have another digest on the Hub, or one that cannot be compared."""
    faults = []
    for file in manifest.files:
        listed = at.digests.get(file.path)
        if listed is None:
            faults.append(f"{file.path} is missing")
        elif len(listed) != len(file.sha256):
            faults.append(f"{file.path} is not in LFS: compare its rows by downloading it")
        elif listed != file.sha256:
            faults.append(f"{file.path} has changed: sha256 {listed[:16]}...")
    return faults


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
    if client.explain_error(error).transient:
        raise error
    if isinstance(error.__cause__, GatedRepoError):
        return "gated: only a token (HF_TOKEN) of somebody who was given access can read it"
    if isinstance(error.__cause__, RepositoryNotFoundError):
        return "not found: deleted, renamed, or private and not open to this token (HF_TOKEN)"
    return f"{error.what}: {error.found}" if error.found else error.what


def _read(hub: HubClient, repo: str, name: str, commit: str, expected: Expectations) -> Content:
    try:
        at = repository.require_snapshot(hub, repo, commit)
        if at.sha != commit or not repository.COMMIT.fullmatch(commit):  # it becomes the name of a folder
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
