"""Whether the release at a commit of the Hub is the one that its manifest describes."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from builders.errors import ReleaseError
from cards.manifest import decode
from pipelines.hub import planning, repository
from pipelines.release import folder
from pipelines.release.verification import verify_release

if TYPE_CHECKING:
    from pathlib import Path

    from cards.manifest import Manifest
    from pipelines.hub.client import HubClient
    from pipelines.hub.repository import Snapshot


def verify_snapshot(hub: HubClient, repo: str, at: Snapshot, cache: Path, *, download: bool = True) -> list[str]:
    """The faults of the release at a snapshot, a sentence each.

    download: fetch every data file and hash its rows; else compare the digests that the Hub lists with the manifest's.

    Raises the client's error where the Hub fails.
    """
    data = repository.read_file(hub, repo, at, folder.MANIFEST)
    if data is None:
        return ["no release on the Hub at this revision: no manifest.json"]
    try:
        manifest = decode(data, folder.MANIFEST)
    except ReleaseError as error:
        return [f"{error.what}: {error.found}" if error.found else error.what]
    stale = planning.stale_files(at, [manifest], {file.path for file in manifest.files})
    faults = [f"{path} is of another release" for path in stale]
    faults += _edited_documents(hub, repo, at, manifest)
    lacking = [path for path in (*folder.DOCUMENTS, *(file.path for file in manifest.files)) if path not in at.digests]
    faults += [f"{path} is missing" for path in lacking]
    changed = [file.path for file in manifest.files if at.digests.get(file.path, file.sha256) != file.sha256]
    faults += [f"{path} has other bytes than the manifest's" for path in changed]
    return faults + (_fetched_faults(hub, repo, at, cache) if download and not lacking + changed else [])


def _edited_documents(hub: HubClient, repo: str, at: Snapshot, manifest: Manifest) -> list[str]:
    faults = []
    for document in manifest.documents:
        content = repository.read_file(hub, repo, at, document.path)
        if content is not None and folder.describe_document(document.path, content) != document:
            faults.append(f"{document.path} is not the manifest's")
    return faults


def _fetched_faults(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> list[str]:
    try:
        fetched = repository.fetch_release(hub, repo, at, cache)
        faults = verify_release(fetched, folder.require_manifest(fetched))
    except ReleaseError as error:
        return [f"{error.what}: {error.found}" if error.found else error.what]
    if faults:
        shutil.rmtree(fetched)  # if the copy is at fault, the next run makes a new one
    return faults
