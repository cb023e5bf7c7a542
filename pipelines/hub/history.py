"""A version without a tag, looked for in the history of main: its tag was deleted, or never made."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.branches import is_version
from pipelines.hub.client import HubClient
from pipelines.hub.planned_files import different_documents, digest_faults
from pipelines.hub.publishable import refuse_other_content
from pipelines.hub.published_files import published_files
from pipelines.hub.repository import Snapshot
from pipelines.hub.verification import verify_snapshot
from pipelines.release import folder

MAX_COMMITS = 100  # that are looked at


def find_release(
    hub: HubClient, repo: str, release_dir: Path, manifest: Manifest, *, cache: Path | None, recorded: str | None
) -> Snapshot | None:
    """The newest commit of main that holds a release as it was published.

    cache: where it is fetched to; None to compare by the Hub's digests alone. recorded: the commit that the ledger knows to have
    had the tag; its card may be that of an older version of this package.

    Raises PublishError where a newer commit holds the same version with other content.
    """
    for at, published in _find_commits(hub, repo, repository.list_commits(hub, repo), manifest):
        refuse_other_content(f"{repo} at {at.sha[:12]}", published, manifest)
        card = repository.read_file(hub, repo, at, folder.CARD)
        writes, _ = published_files(release_dir, manifest, repo, card)
        if cache is None:
            faults = digest_faults(repo, at, writes, manifest)
        else:
            faults = verify_snapshot(hub, repo, at, cache)
            if at.sha != recorded:
                faults = faults or different_documents(hub, repo, at, writes)
        if not faults:
            return at
    return None


def _find_commits(
    hub: HubClient, repo: str, commits: Sequence[str], ours: Manifest
) -> Iterator[tuple[Snapshot, Manifest]]:
    """Those of the first MAX_COMMITS commits that hold a release of our version, each with its manifest."""
    manifests: dict[str, Manifest | None] = {}  # by the Hub's digest of the file: many commits hold the same one
    for sha in commits[:MAX_COMMITS]:
        at = repository.require_snapshot(hub, repo, sha)
        digest = at.digests.get(folder.MANIFEST, "")
        if digest not in manifests:
            manifests[digest] = repository.read_manifest_at(hub, repo, at)
        manifest = manifests[digest]
        if manifest is not None and is_version(manifest, ours):
            yield at, manifest
