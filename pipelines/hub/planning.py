"""What publishing a release would do: every rule of it, and nothing is done yet.

A release may be published when its rows are sound, complete and licensed (pipelines.hub.publishable), and when its repository
holds no newer version of the same dataset. A published version never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from builders.errors import PublishError, ReleaseError, UsageError
from builders.spec import version_key
from builders.tasks import config_folder
from cards.manifest import decode, encode
from pipelines.hub import client, repository
from pipelines.hub.digest_comparison import find_differences
from pipelines.hub.publishable import require_publishable
from pipelines.hub.published_files import published_files
from pipelines.hub.verification import edited_documents_at, fetch_verified, loading_faults_at, verify_snapshot
from pipelines.release import comparison, folder, ledger
from pipelines.release.loading import find_loading_faults

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from builders.catalogue import Definition
    from cards.manifest import Manifest
    from pipelines.hub.client import HubClient
    from pipelines.hub.repository import Snapshot

NEW, UNTAGGED, DONE = "to be published", "to be tagged", "already published"


@dataclass(frozen=True)
class PublishOptions:
    """How to publish, as the command line says.

    repo_name: instead of the dataset's name. private: create the repository as a private one. create_pr: open a pull request
    instead of committing. message: of the commit. rights: the user may publish although the licence forbids derivatives. cache:
    where releases of the Hub are kept. ledger: the file with what is published; None: see pipelines.hub.publication_record.
    download: False to compare by the Hub's digests alone. sample: publish samples and parts too; for tests, on no command line.
    """

    org: str
    cache: Path
    repo_name: str | None = None
    private: bool = False
    create_pr: bool = False
    message: str | None = None
    rights: bool = False
    ledger: Path | None = None
    download: bool = True
    sample: bool = False


@dataclass(frozen=True)
class Plan:
    """What publishing a release would do.

    at: the repository at main, or at the tag; None without a repository. writes: content or path on disk, by path in the
    repository. unchanged: those it has already. deletes: stale files. against: the newest tagged version. changes: how the tables
    differ from that one. notes: what else the user should know.
    """

    repo: str
    version: str
    state: str
    manifest: Manifest = field(repr=False)
    at: Snapshot | None = None
    writes: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    unchanged: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    against: str | None = None
    changes: tuple[comparison.Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """The tag of the version on the Hub."""
        return f"v{self.version}"

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file to write."""
        return {
            path: len(content) if isinstance(content, bytes) else content.stat().st_size
            for path, content in self.writes.items()
        }


def repository_name(definition: Definition, options: PublishOptions) -> str:
    """The repository of a dataset: `ORG/<dataset name>` unless the options name another.

    Raises UsageError for a name that the Hub does not accept.
    """
    repo = f"{options.org}/{options.repo_name or definition.dataset.name}"
    if not client.REPOSITORY.fullmatch(repo):
        raise UsageError("invalid repository name", found=repo, expected="ORG/NAME", todo="correct --org")
    return repo


def make_plan(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Plan:
    """What publishing a release would do; nothing is changed on the Hub.

    Raises PublishError where the release may not be published, FindingsError for defects in its rows.
    """
    manifest = require_publishable(
        definition,
        release_dir,
        rights=options.rights,
        sample=options.sample,
        ledger_file=options.ledger or ledger.LEDGER,
    )
    repo, version = repository_name(definition, options), manifest.version
    notes = [f"unverified raw file: {file.name}" for file in manifest.raw if not file.verified]
    at = repository.snapshot(hub, repo)
    if at is None:
        writes, _ = published_files(release_dir, manifest, repo, None)
        return Plan(repo, version, NEW, manifest, None, writes, notes=tuple(notes))
    if options.private and not at.private:
        raise PublishError(
            "the repository is public, and --private applies only to new ones",
            where=repo, todo="make it private on its settings page, or leave --private out",
        )  # fmt: skip
    tagged = repository.list_versions(hub, repo)
    if version in tagged:
        main, at = at, require_same_rows(hub, repo, f"v{version}", manifest, options)
        if main.sha != at.sha:
            _refuse_other_main(hub, repo, main, manifest)
        published = repository.read_manifest_at(hub, repo, at)
        edited = edited_documents_at(hub, repo, at, published) if published else []
        notes += [f"v{version} shows another {name} than its manifest says" for name in edited]
        return Plan(repo, version, DONE, manifest, at, notes=tuple(notes))
    published = repository.read_manifest_at(hub, repo, at)
    _refuse_older(repo, published, manifest, tagged)
    writes, added = published_files(release_dir, manifest, repo, repository.read_file(hub, repo, at, folder.CARD))
    if published is not None and published.version == version:
        _refuse_other_content(f"{repo} at main", published, manifest)
        faults = (
            verify_snapshot(hub, repo, at, options.cache) or different_documents(hub, repo, at, writes)
            if options.download
            else digest_faults(repo, at, writes, manifest)
        )
        if not faults:
            return Plan(repo, version, UNTAGGED, manifest, at, notes=tuple(notes))
        notes += [f"main: {fault}" for fault in faults]
        notes.append("main holds a damaged copy of this release: it is written again")
    notes += [f"keys kept from the card on the Hub: {', '.join(added)}"] if added else []
    against, changes = tagged[0] if tagged else None, list[comparison.Change]()
    newest = repository.snapshot(hub, repo, f"v{against}") if against else None
    if newest is not None and not options.download:
        notes.append(f"not compared with v{against}: --no-download")
    elif newest is not None:
        try:
            changes = comparison.compare_tables(fetch_verified(hub, repo, newest, options.cache), release_dir)
        except ReleaseError as error:
            notes.append(f"v{against} cannot be compared with: {error.what}")
    unchanged = tuple(file.path for file in manifest.files if at.digests.get(file.path) == file.sha256)
    deletes = tuple(stale_files(at, [manifest, *([published] if published else [])], writes))
    _refuse_other_files(repo, [*(at.digests.keys() - set(deletes)), *writes], writes, manifest)
    return Plan(repo, version, NEW, manifest, at, writes, unchanged, deletes, against, tuple(changes), tuple(notes))


def require_same_rows(
    hub: HubClient, repo: str, revision: str, manifest: Manifest, options: PublishOptions
) -> Snapshot:
    """The repository at a revision that holds exactly the rows of a manifest.

    The Hub's digests of the data files decide where they equal ours; else the files are fetched and their rows hashed.

    Raises PublishError where it holds anything else.
    """
    at, where = repository.snapshot(hub, repo, revision), f"{repo} at {revision}"
    if at is None:
        raise PublishError("the revision has disappeared", where=where, todo="run the command again")
    published = repository.read_manifest_at(hub, repo, at)
    _refuse_other_content(where, published, manifest)
    same_files = all(at.digests.get(file.path) == file.sha256 for file in manifest.files)
    if not same_files and not options.download:
        files = {file.path: b"" for file in manifest.files}
        raise PublishError(
            "the Hub's digests do not tell whether the published files hold the same rows",
            where=where, found="; ".join(find_differences(at, files, manifest)), todo="leave out --no-download",
        )  # fmt: skip
    try:
        if not same_files:
            fetch_verified(hub, repo, at, options.cache)
        faults = loading_faults_at(hub, repo, at, published or manifest)
    except ReleaseError as error:
        faults = [f"{error.what}: {error.found}"]
    if faults:
        what = "the published files are not those of their manifest"
        raise PublishError(what, where=where, found="; ".join(faults))
    return at


def digest_faults(repo: str, at: Snapshot, writes: Mapping[str, bytes | Path], manifest: Manifest) -> list[str]:
    """The faults of a snapshot that should hold the files of a release and load as it, by the Hub's digests."""
    return find_differences(at, writes, manifest) + _loading_faults(repo, at.digests, writes, manifest)


def different_documents(hub: HubClient, repo: str, at: Snapshot, writes: Mapping[str, bytes | Path]) -> list[str]:
    """The documents of a snapshot that are not the planned ones; of the manifest, time and tools may differ.

    A card may be edited together with its digest in the manifest.
    """
    faults = []
    for path in (folder.CARD, folder.STATISTICS, folder.MANIFEST):
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
    """The files of an older release: Parquet in the folders of the manifests' configs. Everything else is somebody else's."""
    folders = {config_folder(table.config) for manifest in manifests for table in manifest.tables}
    paths = [PurePosixPath(path) for path in at.digests if path not in wanted]
    return [str(path) for path in paths if path.suffix == ".parquet" and str(path.parent) in folders]


def _refuse_other_files(
    repo: str, paths: Iterable[str], writes: Mapping[str, bytes | Path], manifest: Manifest
) -> None:
    """Refuse to commit beside files of others that would be loaded with the release, or instead of it."""
    if faults := _loading_faults(repo, paths, writes, manifest):
        raise PublishError(
            "load_dataset would not give the rows of the release",
            where=repo,
            found="; ".join(faults),
            todo="remove these files on the Hub, then run the command again",
        )


def _refuse_other_main(hub: HubClient, repo: str, main: Snapshot, manifest: Manifest) -> None:
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


def _refuse_another_dataset(where: str, published: Manifest | None, ours: Manifest) -> None:
    if published is not None and published.dataset != ours.dataset:
        raise PublishError(
            "the repository holds another dataset", where=where, found=published.dataset, expected=ours.dataset,
            todo="choose another --org or --repo-name",
        )  # fmt: skip


def _refuse_other_content(where: str, published: Manifest | None, ours: Manifest) -> None:
    _refuse_another_dataset(where, published, ours)
    if published is None or published.content_sha256 != ours.content_sha256:
        found = comparison.describe_difference(ours.tables, published.tables) if published else "no manifest of ours"
        what = f"{ours.name} is published with other content, and a published version never changes"
        raise PublishError(what, where=where, found=found, todo="give the change a new version")


def _refuse_older(repo: str, published: Manifest | None, ours: Manifest, tagged: list[str]) -> None:
    """Refuse a version older than the newest of the repository, which main holds."""
    _refuse_another_dataset(repo, published, ours)
    newest = max([ours.version, *tagged, *([published.version] if published else [])], key=version_key)
    if newest != ours.version:
        raise PublishError(
            f"{ours.name}: a newer version is published, and this one would replace it",
            where=repo, found=newest, todo="publish versions from the oldest to the newest",
        )  # fmt: skip
