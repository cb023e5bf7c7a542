"""What publishing a release would do: every rule of it, and nothing is done yet.

A release may be published when its rows are sound, complete and licensed (pipelines.hub.publishable), in a repository that holds
nothing but versions of the same dataset. Main is the newest of them; an older one is committed on a branch of its own
(pipelines.hub.branches). A published version never changes.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from builders.errors import PublishError, ReleaseError, UsageError
from builders.spec import version_key
from builders.tasks import config_folder
from pipelines.hub import branches, client, repository
from pipelines.hub.publishable import require_publishable
from pipelines.hub.published_files import published_files
from pipelines.release import comparison, folder, ledger
from pipelines.release.verification import verify_release

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from builders.catalogue import Definition
    from cards.manifest import Manifest
    from pipelines.hub.branches import Target
    from pipelines.hub.client import HubClient
    from pipelines.hub.repository import Refs, Snapshot

NEW, UNTAGGED, DONE = "to be published", "to be tagged", "already published"


@dataclass(frozen=True)
class PublishOptions:
    """How to publish, as the command line says.

    repo_name: instead of the dataset's name. private: create the repository as a private one. create_pr: open a pull request
    instead of committing. message: of the commit. rights: the user may publish although the licence forbids derivatives. cache:
    where releases of the Hub are kept. sample: publish samples and parts too; for tests, on no command line.
    """

    org: str
    cache: Path
    repo_name: str | None = None
    private: bool = False
    create_pr: bool = False
    message: str | None = None
    rights: bool = False
    ledger: Path = ledger.LEDGER
    sample: bool = False


@dataclass(frozen=True)
class Plan:
    """What publishing a release would do.

    at: the commit to build on, or the one that holds the version; None without a repository. writes: content or path on disk, by
    path in the repository. unchanged: those it has already. deletes: stale files. against: the version before this one. changes:
    how the tables differ from that one. notes: what else the user should know. branch: where the commit is made. newest: the
    version that main stays at, where it is newer than this one. absent: other versions in the catalogue that are not on the Hub.
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
    branch: str = branches.MAIN
    newest: str | None = None
    absent: tuple[str, ...] = ()

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
        definition, release_dir, rights=options.rights, sample=options.sample, ledger_file=options.ledger
    )
    repo, version = repository_name(definition, options), manifest.version
    notes = [f"unverified raw file: {file.name}" for file in manifest.raw if not file.verified]
    at, others = repository.snapshot(hub, repo), [one for one in definition.dataset.versions if one != version]
    if at is None:
        writes, _ = published_files(release_dir, manifest, repo, None)
        return Plan(repo, version, NEW, manifest, None, writes, notes=tuple(notes), absent=tuple(others))
    if options.private and not at.private:
        raise PublishError(
            "the repository is public, and --private applies only to new ones",
            where=repo, todo="make it private on its settings page, or leave --private out",
        )  # fmt: skip
    refs = repository.list_refs(hub, repo)
    absent = tuple(one for one in others if one not in refs.versions)
    plan = Plan(repo, version, NEW, manifest, at, notes=tuple(notes), absent=absent)
    if version in refs.versions:
        at, branch = require_same_rows(hub, repo, f"v{version}", manifest, options), branches.branch_name(version)
        return replace(plan, state=DONE, at=at, branch=branch if branch in refs.branches else branches.MAIN)
    published = repository.read_manifest_at(hub, repo, at)
    _refuse_another_dataset(repo, published, manifest)
    newest = branches.find_newer(hub, repo, published, refs, manifest)
    if newest is None:
        target = branches.Target(branches.MAIN, at, published)
    else:
        target = branches.choose_target(hub, repo, refs, manifest)
        plan = replace(plan, at=target.at, branch=target.branch, newest=newest)
    begun = target.published is not None and target.published.version == version
    if begun or newest is not None:
        if begun:
            _refuse_other_content(f"{repo} at {target.branch}", target.published, manifest)
        found = _find_release(hub, repo, target.at, manifest, options)
        if found is not None:
            if found.sha != target.at.sha:
                notes.append(f"commit {found.sha[:12]} of main's history holds this release: it gets the tag")
            return replace(plan, state=UNTAGGED, at=found, notes=tuple(notes))
    if begun:
        notes.append(f"{target.branch} holds a damaged copy of this release: it is written again")
    plan = replace(plan, notes=tuple(notes))
    return _plan_commit(hub, plan, target, refs, release_dir=release_dir, options=options)


def _plan_commit(
    hub: HubClient, plan: Plan, target: Target, refs: Refs, *, release_dir: Path, options: PublishOptions
) -> Plan:
    """The plan with the files to write and to delete, and the changes against the version before."""
    repo, manifest, at, notes = plan.repo, plan.manifest, target.at, list(plan.notes)
    if plan.newest is not None and options.create_pr:
        raise PublishError(
            f"{manifest.name}: a pull request changes main, and main holds a newer version",
            where=repo, found=plan.newest, todo="leave --create-pr out: the version gets a branch of its own",
        )  # fmt: skip
    card = repository.read_file(hub, repo, at, folder.CARD)
    writes, added = published_files(release_dir, manifest, repo, card, plan.newest)
    notes += [f"keys kept from the card on the Hub: {', '.join(added)}"] if added else []
    against = next((one for one in refs.versions if version_key(one) < version_key(plan.version)), None)
    changes = list[comparison.Change]()
    previous = repository.snapshot(hub, repo, f"v{against}") if against else None
    if previous is not None:
        try:
            changes = comparison.compare_tables(fetch_verified(hub, repo, previous, options.cache), release_dir)
        except ReleaseError as error:
            notes.append(f"v{against} cannot be compared with: {error.what}")
    unchanged = tuple(file.path for file in manifest.files if at.digests.get(file.path) == file.sha256)
    deletes = stale_files(at, [manifest, *([target.published] if target.published else [])], writes)
    return replace(
        plan, writes=writes, unchanged=unchanged, deletes=tuple(deletes), against=against, changes=tuple(changes),
        notes=tuple(notes),
    )  # fmt: skip


def _find_release(
    hub: HubClient, repo: str, head: Snapshot, manifest: Manifest, options: PublishOptions
) -> Snapshot | None:
    """A commit that holds a release as it was published: the head of its branch, or the newest such commit of main.

    Raises PublishError where a newer one holds the same version with other content.
    """
    commits = [head.sha, *(sha for sha in repository.list_commits(hub, repo) if sha != head.sha)]
    for at, published in branches.find_commits(hub, repo, commits, manifest):
        _refuse_other_content(f"{repo} at {at.sha[:12]}", published, manifest)
        if not find_faults(hub, repo, at, options.cache):
            fetched = repository.fetch_release(hub, repo, at, options.cache)
            if not folder.edited_documents(fetched, published):
                return at
    return None


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
    _refuse_other_content(where, repository.read_manifest_at(hub, repo, at), manifest)
    if any(at.digests.get(file.path) != file.sha256 for file in manifest.files):
        faults = find_faults(hub, repo, at, options.cache)
        if faults:
            what = "the published files are not those of their manifest"
            raise PublishError(what, where=where, found="; ".join(faults))
    return at


def find_faults(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> list[str]:
    """The faults of the release at a snapshot: its files, its rows, or files of another release that load with it."""
    try:
        manifest = folder.require_manifest(fetch_verified(hub, repo, at, cache))
    except ReleaseError as error:
        return [f"{error.what}: {error.found}" if error.found else error.what]
    named = {file.path for file in manifest.files}
    return [f"{path} is of another release" for path in stale_files(at, [manifest], named)]


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


def stale_files(at: Snapshot, manifests: Iterable[Manifest], wanted: Container[str]) -> list[str]:
    """The files of an older release: Parquet in the folders of the manifests' configs. Everything else is somebody else's."""
    folders = {config_folder(table.config) for manifest in manifests for table in manifest.tables}
    paths = [PurePosixPath(path) for path in at.digests if path not in wanted]
    return [str(path) for path in paths if path.suffix == ".parquet" and str(path.parent) in folders]


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
