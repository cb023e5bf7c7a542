"""Better documents for a version that is published: a card, scores. Its rows, its data files and its tag stay.

Main shows them, the tag keeps what it was published with. Only the newest version has its documents on main.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builders.errors import PublishError
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.planned_files import different_documents
from pipelines.hub.published_files import published_files
from pipelines.hub.repository import Snapshot
from pipelines.hub.verification import loading_faults_at
from pipelines.release import folder


@dataclass(frozen=True)
class DocumentUpdate:
    """The documents to commit to main. writes: content or path, by path. notes: what the user should know."""

    writes: Mapping[str, bytes | Path]
    notes: tuple[str, ...] = ()


def find_document_update(
    hub: HubClient, repo: str, manifest: Manifest, release_dir: Path, *, tagged: Snapshot, main: Snapshot
) -> DocumentUpdate:
    """What of the documents on main this release would improve; nothing where it has those that the version was published with.

    Nothing is changed where main holds another version, other data files (its manifest would name ours), or a document that this
    release lacks, such as scores that somebody else computed: a note says so.
    """
    on_main = repository.read_manifest_at(hub, repo, main)
    if on_main is None or on_main.version != manifest.version or not manifest.documents:
        return DocumentUpdate({})
    # The manifest has the digests of all documents. At the tag it says what was published, even if a card there was edited.
    published = _documents_for(hub, repo, tagged, release_dir, manifest)
    if not different_documents(hub, repo, tagged, {folder.MANIFEST: published[folder.MANIFEST]}):
        return DocumentUpdate({})
    writes = _documents_for(hub, repo, main, release_dir, manifest)
    if not different_documents(hub, repo, main, writes):
        return DocumentUpdate({})
    if any(main.digests.get(file.path) != file.sha256 for file in manifest.files):
        return DocumentUpdate({}, ("documents not updated: main has the same rows in other files",))
    if lacking := [name for name in folder.document_names(on_main) if name not in folder.document_names(manifest)]:
        what = f"documents not updated: main has {', '.join(lacking)}, which this release lacks"
        return DocumentUpdate({}, (what,))
    return DocumentUpdate(writes)


def refuse_other_main(hub: HubClient, repo: str, main: Snapshot, manifest: Manifest) -> None:
    """Refuse to call a version published whose tag is sound, while main shows other rows under its name."""
    published = repository.read_manifest_at(hub, repo, main)
    if published is None or published.version != manifest.version:
        return
    if faults := loading_faults_at(hub, repo, main, published):
        raise PublishError(
            f"main differs from the tag v{manifest.version}",
            where=repo,
            found="; ".join(faults),
            todo=f"revert on the Hub what came after v{manifest.version}",
        )


def _documents_for(
    hub: HubClient, repo: str, at: Snapshot, release_dir: Path, manifest: Manifest
) -> Mapping[str, bytes | Path]:
    """The documents and the manifest of a release as a commit on top of a snapshot would have them."""
    writes, _ = published_files(release_dir, manifest, repo, repository.read_file(hub, repo, at, folder.CARD))
    return {name: writes[name] for name in (*folder.document_names(manifest), folder.MANIFEST)}
