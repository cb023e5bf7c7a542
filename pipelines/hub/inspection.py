"""Reads what a repository holds at every version's tag and at main, and verifies that it is what its manifest says.

What counts is what a reader gets: the files that `load_dataset` reads there, their rows, the card and the other documents.
"""

import logging
import math
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from builders.errors import DatasetError, ReleaseError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import attestations, client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import VERSION_TAG, Snapshot, listed_digests
from pipelines.hub.revisions import (
    Content,
    Expectations,
    Problem,
    Repository,
    Revision,
    State,
    judge_main,
    judge_tag,
)
from pipelines.process.terminal import format_size
from pipelines.raw.mirrors import KINDS, repository_name
from pipelines.release import folder, ledger
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
    problems = folder.verify_release(fetched, folder.require_manifest(fetched))
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
    """A repository with a dataset of this package, or with raw files.

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
    recorded = expected.refs.get(repo.dataset, {}).get(repo.name, {})
    try:
        refs = repository.list_refs(hub, repo.name)
    except hub.error as error:
        failure = explain_failure(error)
        names = _in_order(recorded) or [repository.MAIN]
        return PublishedDataset(repo.name, repo.dataset, tuple(Revision(name, not_checked=failure) for name in names))
    versions = [f"v{version}" for version in reversed(refs.versions)]
    main = refs.branches.get(repository.MAIN)
    contents, lost = dict[str, Content](), dict[str, str | None]()
    commits = {name: refs.tags[name] for name in versions} | ({repository.MAIN: main} if main else {})
    for name, commit in commits.items():
        if commit not in contents:
            contents[commit] = _read(hub, repo.name, name, commit, expected, lost=lost)
    renamed = {content.at.repo for content in contents.values() if content.at} - {repo.name}
    if renamed:
        problem = Problem(f"renamed: the Hub answers with {min(renamed)}", "record its name:", (repo.repair_command,))
        return PublishedDataset(repo.name, repo.dataset, (Revision(repository.MAIN, main, problems=(problem,)),))
    if expected.observe and expected.record:
        for name in versions:
            if name not in recorded and (manifest := contents[refs.tags[name]].manifest):
                _observe(repo, name, refs.tags[name], manifest, expected.record)
        refs_by_repo = ledger.expected_refs(repo.dataset, expected.record)
        entries = ledger.read_ledger(expected.record)
        expected = replace(expected, entries=entries, refs={**expected.refs, repo.dataset: refs_by_repo})
        recorded = refs_by_repo.get(repo.name, {})
    if main and contents[main].at:
        contents[main] = _with_statements(
            hub, repo.name, contents[main], [contents[refs.tags[name]] for name in versions]
        )
    judged = {
        name: judge_tag(
            repo, name, refs, contents.get(refs.tags[name] if name in versions else "", Content()), expected
        )
        for name in _in_order({*versions, *recorded})
    }
    tags = {name: judged[name] for name in versions}
    shown = [tag for name, tag in judged.items() if name in versions or VERSION_TAG.fullmatch(name) or tag.problems]
    revisions = (*shown, judge_main(repo, main, tags, contents, expected))
    return PublishedDataset(repo.name, repo.dataset, revisions, tuple(sorted(refs.tags.keys() - set(versions))))


def _with_statements(hub: HubClient, repo: str, main: Content, tagged: Iterable[Content]) -> Content:
    """What main holds, with the faults of the statements there."""
    manifests = {f"v{content.manifest.version}": content.manifest for content in tagged if content.manifest}
    faults, at = list(main.faults), main.at
    try:
        for path in sorted(at.digests) if at else ():
            if path.startswith(attestations.FOLDER) and at and (content := repository.read_file(hub, repo, at, path)):
                faults += attestations.statement_faults(path, content, manifests)
    except hub.error as error:
        return replace(main, failure=explain_failure(error, fatal=False))
    return replace(main, faults=tuple(faults))


def inspect_mirror(hub: HubClient, repo: str) -> PublishedDataset:
    """What a mirror of raw files holds: the content of every file must have the digest in its name.

    The Hub alone decides whether it lists a sha256 or a git blob id. A file that it lists by the other kind than the name has is
    fetched and hashed.
    """
    name, faults, at = repo.partition("/")[2], list[str](), None
    try:
        at = repository.require_snapshot(hub, repo, repository.MAIN)
        for path, listed in at.digests.items():
            if not path.startswith(KINDS):
                continue
            digest = path.rpartition("/")[2]
            if lost := repository.find_lost_file(hub, repo, at, path):
                faults.append(lost)
            elif digest != listed and (len(digest) == len(listed) or not _has_digest(hub, repo, at, path, digest)):
                faults.append(f"{path} has other content: {listed}")
        failure = None
    except hub.error as error:
        failure = explain_failure(error)
    command = (
        f"embedding-datasets publish --raw {name.removeprefix(repository_name(''))} --org {repo.partition('/')[0]}"
    )
    problems = tuple(Problem(fault, "write it again:", (command,)) for fault in faults)
    main = Revision(repository.MAIN, at.sha if at else None, problems=problems, not_checked=failure)
    return PublishedDataset(repo, name, (main,))


def _has_digest(hub: HubClient, repo: str, at: Snapshot, path: str, digest: str) -> bool:
    """Whether the content of a file has a digest of either kind; it is downloaded, and may be large."""
    with tempfile.TemporaryDirectory() as temporary:
        return digest in listed_digests(repository.download(hub, repo, at, path, Path(temporary)))


def _observe(repo: Repository, name: str, commit: str, manifest: Manifest, record: Path) -> None:
    """Record a tag that holds its version, as it was found."""
    if (manifest.dataset, f"v{manifest.version}") != (repo.dataset, name) or not manifest.complete:
        return
    if ledger.find_entry(manifest.dataset, manifest.version, record) is None:
        ledger.record_entry(manifest.dataset, manifest.version, ledger.release_entry(manifest), record)
    event = ledger.RefEvent(
        repo.name, name, commit, "observed", "found by check --org --record", manifest.content_sha256
    )
    ledger.append_event(repo.dataset, event, record)


def explain_failure(error: DatasetError, *, fatal: bool = True) -> str:
    """Why a repository or a commit cannot be read, in a sentence.

    Raises the error itself where the Hub is out of reach and nothing can be checked (`fatal`).
    """
    if fatal and client.explain_error(error).transient:
        raise error
    if isinstance(error.__cause__, GatedRepoError):
        return "gated: only a token (HF_TOKEN) of somebody who was given access can read it"
    if isinstance(error.__cause__, RepositoryNotFoundError):
        return "not found: deleted, renamed, or private and not open to this token (HF_TOKEN)"
    return f"{error.what}: {error.found}" if error.found else error.what


def _read(
    hub: HubClient, repo: str, name: str, commit: str, expected: Expectations, *, lost: dict[str, str | None]
) -> Content:
    """What a commit holds. lost: what is known of data files, by sha256: each is asked for once, whatever commits have it."""
    try:
        at = repository.snapshot(hub, repo, commit) or repository.require_snapshot(hub, repo, name)
    except hub.error as error:
        return Content(failure=explain_failure(error))
    try:
        if at.repo != repo:
            return Content(at)
        if folder.MANIFEST not in at.digests:
            return Content(at, faults=(f"not a release of this package: no {folder.MANIFEST}",))
        manifest = repository.read_manifest_at(hub, repo, at)
        if manifest is not None and expected.download:
            size = format_size(sum(file.bytes for file in manifest.files))
            logger.info("%s: verifying %s, %s", repo, name, size)
        faults = verify_snapshot(hub, repo, at, expected.cache, download=expected.download)
        for file in manifest.files if manifest else ():
            if file.path in at.digests and file.sha256 not in lost:
                lost[file.sha256] = repository.find_lost_file(hub, repo, at, file.path, file.bytes)
        faults += [fault for file in manifest.files if (fault := lost.get(file.sha256))] if manifest else []
    except hub.error as error:  # of one file: other repositories may be sound
        return Content(at, failure=explain_failure(error, fatal=False))
    return Content(at, manifest, tuple(faults), verified=expected.download)


def _in_order(names: Iterable[str]) -> list[str]:
    """Versions from old to new, then other tags."""
    return sorted(names, key=lambda name: (version_key(name[1:]) if VERSION_TAG.fullmatch(name) else (math.inf,), name))
