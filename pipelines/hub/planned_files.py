"""How a snapshot of a repository compares with the files that a plan writes, and with what else would be loaded beside them."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from builders.errors import PublishError
from builders.tasks import config_folder
from cards.manifest import Manifest, decode, encode
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.digest_comparison import find_differences, listed_digests
from pipelines.hub.repository import Snapshot
from pipelines.release import folder
from pipelines.release.loading import find_loading_faults


def digest_faults(repo: str, at: Snapshot, writes: Mapping[str, bytes | Path], manifest: Manifest) -> list[str]:
    """The faults of a snapshot that should hold the files of a release and load as it, by the Hub's digests."""
    return find_differences(at, writes, manifest) + _loading_faults(repo, at.digests, writes, manifest)


def different_documents(hub: HubClient, repo: str, at: Snapshot, writes: Mapping[str, bytes | Path]) -> list[str]:
    """The documents of a snapshot that are not the planned ones; of the manifest, time and tools may differ.

    A card may be edited together with its digest in the manifest. Only what has another digest is fetched.
    """
    faults = []
    for path in filter(writes.__contains__, (*folder.DOCUMENTS, folder.MANIFEST)):
        if at.digests.get(path, "") in listed_digests(writes[path]):
            continue
        published, ours = repository.read_file(hub, repo, at, path), content_of(writes[path])
        if path == folder.MANIFEST and published is not None:
            published, ours = (encode(replace(decode(one, path), built_at="", tools={})) for one in (published, ours))
        if published != ours:
            faults.append(f"{path} is not the one of the release")
    return faults


def content_of(file: bytes | Path) -> bytes:
    """The content of a planned file."""
    return file if isinstance(file, bytes) else file.read_bytes()


def _loading_faults(
    repo: str, paths: Iterable[str], writes: Mapping[str, bytes | Path], manifest: Manifest
) -> list[str]:
    """How what `load_dataset` reads of a repository with our card differs from the release."""
    return find_loading_faults(paths, content_of(writes[folder.CARD]), manifest, repo)


def stale_files(at: Snapshot, manifests: Iterable[Manifest], wanted: Container[str]) -> list[str]:
    """The files of an older release: Parquet in the folders of the manifests' configs, and documents that this one lacks.

    Everything else is somebody else's.
    """
    manifests = list(manifests)
    folders = {config_folder(table.config) for manifest in manifests for table in manifest.tables}
    documents = {name for manifest in manifests for name in folder.document_names(manifest)}
    paths = [PurePosixPath(path) for path in at.digests if path not in wanted]
    return [
        str(path)
        for path in paths
        if str(path) in documents or (path.suffix == ".parquet" and str(path.parent) in folders)
    ]


def refuse_other_files(repo: str, paths: Iterable[str], writes: Mapping[str, bytes | Path], manifest: Manifest) -> None:
    """Refuse to commit beside files of others that would be loaded with the release, or instead of it."""
    if faults := _loading_faults(repo, paths, writes, manifest):
        raise PublishError(
            "load_dataset would not give the rows of the release",
            where=repo,
            found="; ".join(faults),
            todo="remove these files on the Hub, then run the command again",
        )
