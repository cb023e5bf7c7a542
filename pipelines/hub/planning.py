"""What publishing a release would do: every rule of it, and nothing is done yet.

Main shows them, the tag keeps what it was published with. Only the newest version has its documents on main.

A release may be published when its rows are sound, complete and licensed (pipelines.hub.publishable), in a repository that holds
nothing but versions of the same dataset. Main is the newest of them; an older one is committed on a separate branch
(pipelines.hub.revisions). A published version never changes.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from builders.catalogue import Definition
from builders.errors import PublishError, ReleaseError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import client, foreign_edits, repository, revisions
from pipelines.hub.attestations import read_statement
from pipelines.hub.client import HubClient
from pipelines.hub.commits import DONE, NEW, CommitOptions, CommitPlan, require_name, snapshot_to_publish_in
from pipelines.hub.inspection import (
    edited_documents_at,
    explain_failure,
    fetch_verified,
    loading_faults_at,
    verify_snapshot,
)
from pipelines.hub.publishable import (
    content_of,
    different_documents,
    digest_faults,
    refuse_another_dataset,
    refuse_other_content,
    refuse_other_files,
    require_publishable,
    stale_files,
    unclear_licence,
)
from pipelines.hub.repository import Refs, Snapshot, file_digests, find_differences, listed_digests, published_files
from pipelines.hub.revisions import Repository, Target, choose_target, is_version
from pipelines.raw.pins import is_waiting
from pipelines.raw.requests import HUB
from pipelines.release import comparison, folder, ledger

MAX_COMMITS = 100  # that are looked at
LOST = (403, 404, 410)  # what is answered for a file that is listed and whose content is gone


def publication_ledger(hub: HubClient, requested: Path | None) -> Path | None:
    """The ledger beside the record of a server; None for another server than the Hub where no file is requested."""
    if requested is not None:
        return requested
    return ledger.LEDGER if hub.api.endpoint.rstrip("/") == HUB else None


def find_release(
    hub: HubClient, repo: str, release_dir: Path, manifest: Manifest, *, cache: Path | None, recorded: str | None
) -> Snapshot | None:
    """The commit that holds a release as it was published: the recorded one, wherever it lives, else the newest of main.

    cache: where it is fetched to; None to compare by the Hub's digests alone. recorded: the commit that had the tag; its card may
    be that of an older version of this package.

    Raises PublishError where a newer commit holds the same version with other content.
    """
    for sha in _candidates(hub, repo, recorded):
        at = repository.snapshot(hub, repo, sha)
        published = repository.read_manifest_at(hub, repo, at) if at else None
        if at is None or not is_version(published, manifest):
            continue
        refuse_other_content(f"{repo} at {sha[:12]}", published, manifest)
        writes, _ = published_files(release_dir, manifest, repo, repository.read_file(hub, repo, at, folder.CARD))
        try:
            faults = verify_snapshot(hub, repo, at, cache or Path(), download=cache is not None)
        except hub.error as error:
            if client.explain_error(error).status not in LOST:
                raise  # or the version would be committed again beside a commit that holds it
            faults = [explain_failure(error)]
        if not faults and sha != recorded:
            faults = different_documents(hub, repo, at, writes) if cache else digest_faults(repo, at, writes, manifest)
        if not faults:
            return at
    return None


def _candidates(hub: HubClient, repo: str, recorded: str | None) -> Iterator[str]:
    """The recorded commit, then the newest MAX_COMMITS of main."""
    if recorded is not None:
        yield recorded
    yield from repository.list_commits(hub, repo)[:MAX_COMMITS]


def find_document_update(
    hub: HubClient, repo: str, manifest: Manifest, release_dir: Path, *, tagged: Snapshot, main: Snapshot,
    on_main: Manifest | None,
) -> tuple[Mapping[str, bytes | Path], list[str]]:  # fmt: skip
    """The documents on main that this release would improve, by path, and notes for the user.

    None where main has those that the version was published with. on_main: the manifest on main. Nothing is changed where main
    holds another version, other data files (its manifest would name ours), or a document that this release lacks, such as scores
    that somebody else computed: a note says so.
    """
    if on_main is None or on_main.version != manifest.version or not manifest.documents:
        return {}, []
    # The manifest has the digests of all documents. At the tag it says what was published, even if a card there was edited.
    published = _documents_for(hub, repo, tagged, release_dir, manifest)
    if not different_documents(hub, repo, tagged, {folder.MANIFEST: published[folder.MANIFEST]}):
        return {}, []
    writes = _documents_for(hub, repo, main, release_dir, manifest)
    if not different_documents(hub, repo, main, writes):
        return {}, []
    if any(main.digests.get(file.path) != file.sha256 for file in manifest.files):
        return {}, ["documents not updated: main has the same rows in other files"]
    if lacking := [name for name in folder.document_names(on_main) if name not in folder.document_names(manifest)]:
        return {}, [f"documents not updated: main has {', '.join(lacking)}, which this release lacks"]
    return writes, []


def refuse_other_main(
    hub: HubClient, repo: str, main: Snapshot, published: Manifest | None, manifest: Manifest
) -> None:
    """Refuse to call a version published whose tag is sound, while main shows other rows under its name.

    published: the release on main.
    """
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


UNTAGGED, UPDATE = "to be tagged", "already published, documents to be updated"


@dataclass(frozen=True)
class PublishOptions(CommitOptions):
    """How to publish releases, as the command line says.

    cache: of releases of the Hub. repo_name: instead of the dataset's name. ledger: the file beside the record of refs; None: see
    `publication_ledger`. record: False to record nothing. download: False to compare by the Hub's digests alone. sample: publish
    samples and parts too; for tests, on no command line. take_over: publish into a repository with somebody else's data.
    attestation: a file with a statement about the release. planned: the releases that a dry run has planned, by NAME@VERSION.
    """

    cache: Path
    _: KW_ONLY
    repo_name: str | None = None
    ledger: Path | None = None
    record: bool = True
    download: bool = True
    sample: bool = False
    take_over: bool = False
    attestation: Path | None = None
    planned: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Plan(CommitPlan):
    """What publishing a release would do.

    at: the commit to build on, or the one that holds the version. unchanged: files of `writes` that it has already. deletes:
    stale files. against: the version before this one. changes: how the tables differ from that one. newest: the version that main
    stays at, where it is newer than this one. absent: other versions that are offered, and not on the Hub. takes_over:
    whether somebody else's data get the tag `foreign_edits.TAG` first. card_edits: hand edits that the commit would undo.
    recorded: the last event of the version's tag. foreign_tag: the commit of a tag of its name that is somebody else's.
    """

    manifest: Manifest = field(repr=False)
    unchanged: tuple[str, ...] = ()
    against: str | None = None
    changes: tuple[comparison.Change, ...] = ()
    newest: str | None = None
    absent: tuple[str, ...] = ()
    takes_over: bool = False
    card_edits: tuple[str, ...] = ()
    recorded: ledger.RefEvent | None = None
    foreign_tag: str | None = None

    @property
    def tag(self) -> str:
        """The tag of the version on the Hub."""
        return f"v{self.manifest.version}"


def make_plan(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Plan:
    """What publishing a release would do; nothing is changed on the Hub.

    Raises PublishError where the release may not be published, FindingsError for defects in its rows.
    """
    plan = _plan_release(definition, release_dir, options, hub)
    if options.attestation is None:
        return plan
    main = repository.snapshot(hub, plan.repo)
    statement = read_statement(options.attestation, release_dir, plan.manifest, main)
    if plan.state == UNTAGGED:
        return replace(plan, notes=(*plan.notes, "the statement is not published yet: run the command again"))
    if plan.state == DONE and statement:
        plan = replace(plan, state=UPDATE, at=main, branch=repository.MAIN, title=f"{plan.title}: documents")
    return replace(plan, writes={**plan.writes, **statement})


def pretend(hub: HubClient, plan: Plan) -> None:
    """Let a connection see the repository as if a plan were carried out, so that the next version can be planned on top of it."""
    if plan.state == DONE:
        return
    refs = repository.list_refs(hub, plan.repo) if plan.at else Refs({}, {})
    before, after = plan.at or Snapshot("", False, {}), plan.at
    if plan.writes or after is None:
        digests = {path: digest for path, digest in before.digests.items() if path not in plan.deletes}
        for path, content in plan.writes.items():
            digests[path] = plan.known_digests.get(path) or listed_digests(content)[1] or ""
            if path not in plan.known_digests:
                hub.files[plan.repo, digests[path]] = content_of(content)
        sha = hashlib.sha1(f"{before.sha} {plan.title}".encode(), usedforsecurity=False).hexdigest()
        after = hub.snapshots[plan.repo, sha] = Snapshot(sha, before.private, digests, plan.repo)
        if plan.branch == repository.MAIN:
            hub.snapshots[plan.repo, repository.MAIN] = after
    tags = refs.tags if plan.state == UPDATE else {**refs.tags, plan.tag: after.sha}
    hub.snapshots[plan.repo, repository.REFS] = Refs(tags, refs.branches)


def _plan_release(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Plan:
    """The plan without a statement."""
    manifest = require_publishable(
        definition,
        release_dir,
        rights=options.rights,
        sample=options.sample,
        ledger_file=options.ledger or ledger.LEDGER,
    )
    repo, version = require_name(options.org, options.repo_name or definition.dataset.name), manifest.version
    notes = [f"unverified raw file: {file.name}" for file in manifest.raw if not file.verified]
    if reason := unclear_licence(definition):
        notes.append(f"licence {definition.license} {reason}: published because of --i-have-the-rights")
    at = snapshot_to_publish_in(hub, repo, options)
    refs = repository.list_refs(hub, repo) if at else Refs({}, {})
    record = publication_ledger(hub, options.ledger)
    recorded = ledger.expected_refs(manifest.dataset, record).get(repo, {}) if record else {}
    plan = Plan(
        repo=repo, state=NEW, at=at, known_digests=file_digests(manifest), manifest=manifest, notes=tuple(notes),
        recorded=recorded.get(f"v{version}"),
        absent=tuple(
            other
            for other in definition.dataset.versions
            if other not in {version, *refs.versions} and not is_waiting(definition, other)
        ),
        title=f"{manifest.dataset} {version}", description=f"content_sha256 {manifest.content_sha256}",
    )  # fmt: skip
    if at is None:
        return replace(plan, writes=published_files(release_dir, manifest, repo, None)[0])
    if plan.tag in refs.branches:
        raise PublishError(
            f"a branch is called {plan.tag}, like the tag of the version",
            where=repo,
            todo=f"set the branch aside: {Repository(repo, manifest.dataset, options.ledger).repair_command}",
        )
    foreign = refs.tags.get(plan.tag) if plan.recorded is None else None
    if foreign and repository.read_manifest_at(hub, repo, repository.require_snapshot(hub, repo, foreign)) is None:
        new = f"{foreign_edits.TAG}-{plan.tag}"
        if not options.take_over:
            raise PublishError(
                f"the tag {plan.tag} holds no release of this package",
                where=repo,
                found=foreign,
                todo=f"pass --take-over: it becomes {new}",
            )
        plan = replace(plan, foreign_tag=foreign, notes=(*plan.notes, f"the tag {plan.tag} is renamed to {new}"))
    elif version in refs.versions:
        return _plan_published(hub, plan, refs, at, release_dir=release_dir, options=options)
    published = repository.read_manifest_at(hub, repo, at)
    refuse_another_dataset(repo, published, manifest)
    takes_over = foreign_edits.may_take_over(repo, at, published, refs, permitted=options.take_over)
    newest = revisions.find_newer(hub, repo, published, refs, manifest)
    target = choose_target(hub, repo, refs, manifest) if newest else Target(repository.MAIN, at, published)
    takes_over = takes_over and newest is None  # data of others are on main
    plan = replace(plan, at=target.at, branch=target.branch, newest=newest, takes_over=takes_over)
    return _plan_commit(hub, plan, target, refs, release_dir=release_dir, options=options)


def _plan_published(
    hub: HubClient, plan: Plan, refs: Refs, main: Snapshot, *, release_dir: Path, options: PublishOptions
) -> Plan:
    """The plan for a version that has its tag: nothing, or better documents for main."""
    repo, manifest, version = plan.repo, plan.manifest, plan.manifest.version
    branch = revisions.branch_name(version)
    repair = f"bring it back: {Repository(repo, manifest.dataset, options.ledger).repair_command}"
    recorded = plan.recorded.commit if plan.recorded else None
    # Where the recorded commit is gone, the version was published again: an earlier run may have ended before its record.
    if recorded and refs.tags[plan.tag] != recorded and repository.snapshot(hub, repo, recorded) is not None:
        raise PublishError(
            f"the tag {plan.tag} is on another commit than the one that was published: find out who moved it",
            where=repo, found=refs.tags[plan.tag], expected=recorded, todo=repair,
        )  # fmt: skip
    at, published = require_same_rows(hub, repo, refs.tags[plan.tag], manifest, options, name=plan.tag)
    on_main = repository.read_manifest_at(hub, repo, main)
    if on_main and version == refs.versions[0] and version_key(on_main.version) < version_key(version):
        raise PublishError(f"main holds {on_main.version}, and {plan.tag} is newer", where=repo, todo=repair)
    if main.sha != at.sha:
        refuse_other_main(hub, repo, main, on_main, manifest)
    edited = edited_documents_at(hub, repo, at, published)
    writes, notes = find_document_update(hub, repo, manifest, release_dir, tagged=at, main=main, on_main=on_main)
    notes = [*plan.notes, *(f"{plan.tag} shows another {name} than its manifest says" for name in edited), *notes]
    if not writes:
        branch = branch if branch in refs.branches else repository.MAIN
        return replace(plan, state=DONE, at=at, branch=branch, notes=tuple(notes))
    card = repository.read_file(hub, repo, main, folder.CARD)
    return replace(
        plan, state=UPDATE, at=main, writes=writes, notes=tuple(notes), title=f"{plan.title}: documents",
        card_edits=foreign_edits.find_card_edits(hub, repo, card, on_main, refs, planned=None),
    )  # fmt: skip


def _plan_commit(
    hub: HubClient, plan: Plan, target: Target, refs: Refs, *, release_dir: Path, options: PublishOptions
) -> Plan:
    """The plan with the files to write and to delete, and the changes against the version before; or with the commit to tag."""
    repo, manifest, at, notes = plan.repo, plan.manifest, target.at, list(plan.notes)
    if plan.newest is not None and options.create_pr:
        raise PublishError(
            f"{manifest.name}: a pull request changes main, and main holds a newer version",
            where=repo, found=plan.newest, todo="leave --create-pr out: the version gets a separate branch",
        )  # fmt: skip
    card = repository.read_file(hub, repo, at, folder.CARD)
    writes, added = published_files(release_dir, manifest, repo, card, plan.newest)
    begun = target.published is not None and target.published.version == manifest.version
    recorded = plan.recorded.commit if plan.recorded else None
    if begun:
        refuse_other_content(f"{repo} at {target.branch}", target.published, manifest)
        faults = (
            verify_snapshot(hub, repo, at, options.cache) or different_documents(hub, repo, at, writes)
            if options.download
            else digest_faults(repo, at, writes, manifest)
        )
        if not faults and recorded in (None, at.sha):
            return replace(plan, state=UNTAGGED, at=at)
        notes += [f"{target.branch}: {fault}" for fault in faults]
    if begun or plan.newest is not None or recorded:
        found = find_release(
            hub,
            repo,
            release_dir,
            manifest,
            cache=options.cache if options.download else None,
            recorded=recorded,
        )
        if found is not None:
            notes.append(f"commit {found.sha[:12]} holds this release: it gets the tag")
            return replace(plan, state=UNTAGGED, at=found, notes=tuple(notes))
    if begun:
        notes.append(f"{target.branch} holds a damaged copy of this release: it is written again")
    notes += [f"keys kept from the card on the Hub: {', '.join(added)}"] if added else []
    notes += [
        f"{path} on {target.branch} is somebody else's: it is replaced" for path in _foreign_documents(target, writes)
    ]
    planned = content_of(writes[folder.CARD]) if begun else None
    edits = (
        () if plan.newest else foreign_edits.find_card_edits(hub, repo, card, target.published, refs, planned=planned)
    )
    against = next((version for version in refs.versions if version_key(version) < version_key(manifest.version)), None)
    changes = list[comparison.Change]()
    previous = repository.snapshot(hub, repo, refs.tags[f"v{against}"]) if against else None
    local = options.planned.get(f"{manifest.dataset}@{against}")
    if previous is not None and not options.download and local is None:
        notes.append(f"not compared with v{against}: --no-download")
    elif previous is not None:
        try:
            before = local or fetch_verified(hub, repo, previous, options.cache)
            changes = comparison.compare_tables(before, release_dir)
        except ReleaseError as error:
            notes.append(f"v{against} cannot be compared with: {error.what}")
    unchanged = tuple(file.path for file in manifest.files if at.digests.get(file.path) == file.sha256)
    deletes = stale_files(at, [manifest, *([target.published] if target.published else [])], writes)
    deletes += foreign_edits.files_loaded_with(repo, at, manifest, {*writes, *deletes}) if plan.takes_over else []
    refuse_other_files(repo, [*(path for path in at.digests if path not in deletes), *writes], writes, manifest)
    return replace(
        plan, writes=writes, unchanged=unchanged, deletes=tuple(deletes), against=against, changes=tuple(changes),
        notes=tuple(notes), card_edits=edits, description="\n".join([plan.description, *map(_describe_change, changes)]),
    )  # fmt: skip


def _describe_change(change: comparison.Change) -> str:
    counts = f"{change.added} rows added, {change.removed} removed, {change.changed} changed"
    return f"{change.config}/{change.split}: {'the same rows' if change.state == 'same' else counts}"


def _foreign_documents(target: Target, writes: Container[str]) -> list[str]:
    """The files that the documents of a release replace and that are not those of the release before."""
    theirs = folder.DOCUMENTS if target.published is None else folder.document_names(target.published)
    return [name for name in folder.DOCUMENTS if name in writes and name in target.at.digests and name not in theirs]


def require_same_rows(
    hub: HubClient, repo: str, revision: str, manifest: Manifest, options: PublishOptions, *, name: str = ""
) -> tuple[Snapshot, Manifest]:
    """The repository at a revision that holds exactly the rows of a manifest, and the manifest there.

    name: what messages call the revision, where it is not its own name.

    The Hub's digests of the data files decide where they equal ours; else the files are fetched and their rows hashed.

    Raises PublishError where it holds anything else.
    """
    at, where = repository.snapshot(hub, repo, revision), f"{repo} at {name or revision}"
    if at is None:
        raise PublishError("the revision has disappeared", where=where, todo="run the command again")
    published = repository.read_manifest_at(hub, repo, at)
    published = refuse_other_content(where, published, manifest)
    same_files = all(at.digests.get(file.path) == file.sha256 for file in manifest.files)
    if not same_files and not options.download:
        files = {file.path: b"" for file in manifest.files}
        raise PublishError(
            "the Hub's digests do not tell whether the published files hold the same rows",
            where=where, found="; ".join(find_differences(at, files, file_digests(manifest))), todo="leave out --no-download",
        )  # fmt: skip
    try:
        if not same_files:
            fetch_verified(hub, repo, at, options.cache)
        faults = loading_faults_at(hub, repo, at, published)
    except ReleaseError as error:
        faults = [f"{error.what}: {error.found}"]
    if faults:
        raise PublishError("the published files are not those of their manifest", where=where, found="; ".join(faults))
    return at, published
