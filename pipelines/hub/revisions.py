"""What a version's tag, its branch or main of a repository holds, judged against the record, local releases and its manifest.

Such a branch begins at the version before, and is deleted once its commit is tagged: the tag keeps the commit, and nobody can
commit to a tag.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Literal

from builders.errors import PublishError, ReleaseError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient, call, unless_answered
from pipelines.hub.repository import MAIN, Refs, Snapshot
from pipelines.release import folder
from pipelines.release.comparison import describe_difference
from pipelines.release.ledger import LedgerEntry, RecordedRefs

Rows = Literal["same", "other", "none"]  # what the ledger or a local release has, against what the Hub has
State = Literal["sound", "wrong", "not checked"]


@dataclass(frozen=True)
class Expectations:
    """What the datasets of an organisation are compared with.

    entries: of the ledger, by dataset and version. refs: the recorded ones by dataset. record: the ledger that is beside the
    record; None where nothing is recorded for this server. requested: the same, where the user named it. output: where local
    releases are. cache: where data are downloaded. download: False to compare by the Hub's digests alone. observe: record the
    tags that hold their version and are not recorded.
    """

    entries: Mapping[str, Mapping[str, LedgerEntry]]
    refs: Mapping[str, RecordedRefs]
    record: Path | None
    output: Path
    cache: Path
    _: KW_ONLY
    requested: Path | None = None
    download: bool = True
    observe: bool = False


@dataclass(frozen=True)
class Content:
    """What a commit holds.

    at: the commit that the Hub answers with, which is another one for an annotated tag. manifest: None where it is missing or
    invalid. failure: why the commit could not be read. verified: whether rows were hashed.
    """

    at: Snapshot | None = None
    manifest: Manifest | None = None
    faults: tuple[str, ...] = ()
    failure: str | None = None
    verified: bool = False


@dataclass(frozen=True)
class Problem:
    """What is wrong, what to do, and the commands that do it."""

    what: str
    todo: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Revision:
    """A version's tag, or main, and what it holds.

    commit: None where it is missing. version, content_sha256: of the manifest. ledger, local: the rows of this version there.
    verified: whether the rows were hashed. notes: what is not a problem. not_checked: why it could not be read.
    """

    name: str
    commit: str | None = None
    version: str | None = None
    content_sha256: str | None = None
    ledger: Rows = "none"
    local: Rows = "none"
    verified: bool = False
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    not_checked: str | None = None

    @property
    def state(self) -> State:
        """A problem weighs more than a failure to read."""
        return "wrong" if self.problems else "not checked" if self.not_checked else "sound"


@dataclass(frozen=True)
class Repository:
    """A repository, and the dataset of this package that it should hold."""

    name: str
    dataset: str
    ledger: Path | None = None

    def publish_command(self, version: str) -> str:
        """The command that publishes or restores a version here."""
        return f"embedding-datasets publish {self.dataset}@{version} {self._options}"

    @property
    def repair_command(self) -> str:
        """The command that brings the refs back to the recorded ones."""
        return f"embedding-datasets publish --repair {self.dataset} {self._options}"

    @property
    def record_command(self) -> str:
        """The command that records the tags here."""
        ledger = f" --ledger {self.ledger}" if self.ledger else ""
        return f"embedding-datasets check --org {self.name.partition('/')[0]} {self.dataset} --record{ledger}"

    @property
    def _options(self) -> str:
        org, _, name = self.name.partition("/")
        repo_name = "" if name == self.dataset else f" --repo-name {name}"
        return f"--org {org}{repo_name}" + (f" --ledger {self.ledger}" if self.ledger else "")


def judge_tag(repo: Repository, name: str, refs: Refs, content: Content, expected: Expectations) -> Revision:
    """What a tag holds: that of a version, or any other that the record has."""
    version, manifest, commit = name[1:], content.manifest, refs.tags.get(name)
    entry = expected.entries.get(repo.dataset, {}).get(version)
    event = expected.refs.get(repo.dataset, {}).get(repo.name, {}).get(name)
    at = content.at.sha if content.at else commit
    recorded = event.commit if event else None
    is_unrecorded = expected.record is not None and event is None
    repair = (repo.repair_command,)
    checks = [
        (commit is None, Problem("the record has this tag, and it is missing", "create it again:", repair)),
        (
            commit not in (None, at),
            Problem(
                f"an annotated tag: the Hub names the tag object {commit}, and not the commit {at}",
                "put a plain tag in its place:",
                repair,
            ),
        ),
        (
            event is not None and at not in (None, recorded),
            Problem(
                f"moved: it is on commit {at}, and the version was published on {recorded}",
                "find out who moved it, and put it back:",
                repair,
            ),
        ),
        (
            name in refs.branches,
            Problem(
                "a branch has the same name: which of the two a reader gets is not certain",
                "set the branch aside:",
                repair,
            ),
        ),
        (
            is_unrecorded and entry is None,
            Problem(
                "the record has no such version",
                "record it if it is yours, else delete the tag:",
                (repo.record_command,),
            ),
        ),
    ]
    problems = [problem for holds, problem in checks if holds]
    note = f"{name} is not recorded, a moved tag is not noticed: {repo.record_command}"
    notes = (note,) if is_unrecorded and entry is not None else ()
    described = _describe(repo, name, commit, content, expected)
    if manifest and (manifest.dataset, manifest.version) != (repo.dataset, version):
        problems.append(Problem(f"holds {manifest.name}", "put the tag aside:", repair))
    elif manifest:
        problems += _drift(repo, described, manifest, entry, expected)
    todo = "a published version never changes: see who moved the tag, and publish corrected data as a new version"
    problems += [Problem(fault, todo) for fault in content.faults]
    return replace(described, problems=tuple(problems), notes=notes)


def judge_main(
    repo: Repository,
    commit: str | None,
    tags: Mapping[str, Revision],
    contents: Mapping[str, Content],
    expected: Expectations,
) -> Revision:
    """What main holds. tags: those of versions that exist. contents: by commit."""
    if commit is None:
        return Revision(MAIN, problems=(Problem("the repository has no branch main", "create it from the newest tag"),))
    content, problems = contents[commit], list[Problem]()
    manifest = content.manifest
    newest = max(tags, key=lambda name: version_key(name[1:]), default=None)
    same = newest is not None and tags[newest].commit == commit
    revert = f"revert what was committed to main after {newest}"
    if same and newest and content.faults:
        problems.append(Problem(f"the same commit as {newest}, with its problems", f"see {newest}"))
    if manifest and manifest.dataset != repo.dataset:
        problems.append(
            Problem(
                f"holds another dataset: {manifest.dataset}",
                "find out who committed it, or publish under another --repo-name",
            )
        )
    elif manifest and f"v{manifest.version}" not in tags:
        command = repo.publish_command(manifest.version)
        problems.append(Problem(f"holds {manifest.version}, which has no tag", "publish it again:", (command,)))
    elif manifest and newest and newest != f"v{manifest.version}":
        problems.append(
            Problem(f"holds {manifest.version}, and {newest} is newer", "bring it back:", (repo.repair_command,))
        )
    elif manifest and newest and (tagged := contents[tags[newest].commit or ""].manifest):
        if manifest.content_sha256 != tagged.content_sha256:
            problems.append(Problem(f"its manifest names other rows than that of {newest}", revert))
        elif manifest.tables != tagged.tables:
            problems.append(Problem(f"its manifest names other files than that of {newest}", revert))
    if not same:
        foreign = "if the repository is not of this package, publish under another --repo-name"
        problems += [Problem(fault, revert if newest else foreign) for fault in content.faults]
    return replace(_describe(repo, MAIN, commit, content, expected), problems=tuple(problems))


def _describe(repo: Repository, name: str, commit: str | None, content: Content, expected: Expectations) -> Revision:
    """A revision without problems."""
    manifest = content.manifest
    if manifest is None:
        return Revision(name, commit, not_checked=content.failure)
    return Revision(
        name,
        commit,
        manifest.version,
        manifest.content_sha256,
        ledger=_rows(manifest, expected.entries.get(repo.dataset, {}).get(manifest.version)),
        local=_rows(manifest, _local_release(expected.output, manifest)),
        verified=content.verified,
    )


def _drift(
    repo: Repository, described: Revision, manifest: Manifest, entry: LedgerEntry | None, expected: Expectations
) -> list[Problem]:
    """Where the rows of a version are not those of the ledger, or of the release on disk, as its description says."""
    problems = []
    if not manifest.complete:
        problems.append(
            Problem(
                "holds a sample or a part of the dataset", "delete the tag, build the complete dataset and publish it"
            )
        )
    if entry is not None and described.ledger == "other":
        problems.append(
            Problem(
                f"other rows than in the ledger: {describe_difference(entry.tables, manifest.tables)}",
                "find out who published them; put the tag back, or publish a new version",
            )
        )
    if described.local == "other":
        path = expected.output / manifest.dataset / manifest.version
        problems.append(
            Problem(
                f"other rows than the local release {path}",
                "see what differs:",
                (f"embedding-datasets diff {repo.name}@{described.name} {path}",),
            )
        )
    return problems


def _rows(manifest: Manifest, other: Manifest | LedgerEntry | None) -> Rows:
    if other is None:
        return "none"
    return "same" if other.content_sha256 == manifest.content_sha256 else "other"


def _local_release(output: Path, manifest: Manifest) -> Manifest | None:
    """The complete release of the same version on disk; None where there is none that can be read."""
    try:
        local = folder.read_manifest(output / manifest.dataset / manifest.version)
    except ReleaseError:
        return None
    return local if local and local.complete and local.name == manifest.name else None


@dataclass(frozen=True)
class Target:
    """Where a version is committed. branch: its name. at: its head, or where it will begin. published: the release there."""

    branch: str
    at: Snapshot
    published: Manifest | None


def branch_name(version: str) -> str:
    """The branch that an older version is committed on."""
    return f"release-v{version}"


def find_newer(hub: HubClient, repo: str, published: Manifest | None, refs: Refs, ours: Manifest) -> str | None:
    """The newest version of the repository where it is newer than ours; None where ours goes to main.

    published: the release on main. A tag counts only where it holds a release of our dataset.
    """
    if published is not None and published.version == ours.version:
        return None
    newer = [version for version in refs.versions if version_key(version) > version_key(ours.version)]
    tagged = next((version for version in newer if _release_at_tag(hub, repo, refs, version, ours)), ours.version)
    newest = max(ours.version, tagged, published.version if published else ours.version, key=version_key)
    return newest if newest != ours.version else None


def choose_target(hub: HubClient, repo: str, refs: Refs, ours: Manifest) -> Target:
    """The branch of an older version: it begins at the newest version before ours, or at the first commit of main.

    Raises PublishError where the branch exists and holds what somebody else committed.
    """
    name = branch_name(ours.version)
    if head := refs.branches.get(name):
        release = repository.require_release(hub, repo, head)
        if not _is_ours(hub, repo, refs, ours, release):
            raise PublishError(
                f"{ours.name} would be committed on a branch that holds other commits",
                where=f"{repo}, branch {name}", found=head, todo="rename that branch, or delete it if nobody needs it",
            )  # fmt: skip
        return Target(name, *release)
    for version in [version for version in refs.versions if version_key(version) < version_key(ours.version)]:
        if tagged := _release_at_tag(hub, repo, refs, version, ours):
            return Target(name, *tagged)
    first = repository.list_commits(hub, repo)[-1]
    return Target(name, *repository.require_release(hub, repo, first))


def delete_branch(hub: HubClient, repo: str, ours: Manifest, tagged: str) -> None:
    """Delete the branch of a tagged version, if it exists and holds nothing that somebody else committed.

    tagged: the sha of the commit with the tag.
    """
    name, refs = branch_name(ours.version), repository.list_refs(hub, repo)
    head = refs.branches.get(name)
    if head is None:
        return
    if head != tagged and not _is_ours(hub, repo, refs, ours, repository.require_release(hub, repo, head)):
        return
    delete = unless_answered(404, lambda: hub.api.delete_branch(repo, branch=name, repo_type="dataset"))
    call(hub, f"deleting branch {name}", repo, delete)


def _is_ours(hub: HubClient, repo: str, refs: Refs, ours: Manifest, release: tuple[Snapshot, Manifest | None]) -> bool:
    """Whether the head of a version's branch holds that version, or what is where the branch began.

    A commit request that was cut off may have left an empty commit there.
    """
    at, published = release
    if is_version(published, ours):
        return True
    known = {*refs.tags.values(), *repository.list_commits(hub, repo)}
    began = next((sha for sha in repository.list_commits(hub, repo, at.sha) if sha in known), None)
    return began is not None and repository.require_snapshot(hub, repo, began).digests == at.digests


def is_version(published: Manifest | None, ours: Manifest) -> bool:
    """Whether a manifest is of our version of our dataset, whatever its rows."""
    return published is not None and (published.dataset, published.version) == (ours.dataset, ours.version)


def _release_at_tag(
    hub: HubClient, repo: str, refs: Refs, version: str, ours: Manifest
) -> tuple[Snapshot, Manifest] | None:
    """What a version's tag holds, if that is a release of our dataset."""
    at, published = repository.require_release(hub, repo, refs.tags[f"v{version}"])
    return (at, published) if published is not None and published.dataset == ours.dataset else None
