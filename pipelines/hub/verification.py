"""Whether a repository shows, at a snapshot, the release that its manifest says.

What counts is what a reader gets: the files that `load_dataset` reads there, their rows, the card and the other documents.
"""

import shutil
import tempfile
from pathlib import Path

from builders.errors import ReleaseError
from cards.manifest import Manifest, decode
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Snapshot
from pipelines.release import folder
from pipelines.release.loading import find_loading_faults
from pipelines.release.verification import verify_release


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
            manifest = _fetch_documents(hub, repo, at, Path(temporary))
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
    card = repository.read_file(hub, repo, at, folder.CARD)
    return find_loading_faults(at.digests, card or b"", manifest, repo)


def edited_documents_at(hub: HubClient, repo: str, at: Snapshot, manifest: Manifest) -> list[str]:
    """The names of the documents at a snapshot that are not those of a manifest."""
    contents = {document: repository.read_file(hub, repo, at, document.path) for document in manifest.documents}
    return [
        document.path
        for document, content in contents.items()
        if content is None or folder.describe_document(document.path, content) != document
    ]


def _fetch_documents(hub: HubClient, repo: str, at: Snapshot, target: Path) -> Manifest:
    """The manifest of a release; its documents are downloaded into a folder."""
    manifest = decode(_require_file(hub, repo, at, folder.MANIFEST), f"{repo}: {folder.MANIFEST}")
    for path in folder.document_names(manifest):
        (target / path).write_bytes(_require_file(hub, repo, at, path))
    return manifest


def _require_file(hub: HubClient, repo: str, at: Snapshot, path: str) -> bytes:
    content = repository.read_file(hub, repo, at, path)
    if content is None:
        raise ReleaseError("the release on the Hub lacks a file", where=repo, found=path)
    return content


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
