"""Where a version is committed: on main, or on a branch of its own where the repository holds a newer version.

Such a branch begins at the version before, and is deleted once its commit is tagged: the tag keeps the commit, and nobody can
commit to a tag.
"""

from dataclasses import dataclass

from builders.errors import PublishError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient, call, unless_answered
from pipelines.hub.repository import Refs, Snapshot


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

    published: the release on main. Without one, a tag counts only where it holds a release of our dataset.
    """
    if published is not None and published.version == ours.version:
        return None
    newer = [version for version in refs.versions if version_key(version) > version_key(ours.version)]
    if published is None:
        return next((version for version in newer if _release_at_tag(hub, repo, refs, version, ours)), None)
    newest = max([ours.version, published.version, *newer], key=version_key)
    return newest if newest != ours.version else None


def choose_target(hub: HubClient, repo: str, refs: Refs, ours: Manifest) -> Target:
    """The branch of an older version: it begins at the newest version before ours, or at the first commit of main.

    Raises PublishError where the branch exists and holds what somebody else committed.
    """
    name = branch_name(ours.version)
    if head := refs.branches.get(name):
        target = Target(name, *repository.require_release(hub, repo, head))
        if not _is_ours(hub, repo, target, refs, ours):
            raise PublishError(
                f"{ours.name} would be committed on a branch that holds other commits",
                where=f"{repo}, branch {name}", found=head, todo="rename that branch, or delete it if nobody needs it",
            )  # fmt: skip
        return target
    older = [version for version in refs.versions if version_key(version) < version_key(ours.version)]
    for version in older:
        if release := _release_at_tag(hub, repo, refs, version, ours):
            return Target(name, *release)
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
    if head != tagged:
        target = Target(name, *repository.require_release(hub, repo, head))
        if not _is_ours(hub, repo, target, refs, ours):
            return
    delete = unless_answered(404, lambda: hub.api.delete_branch(repo, branch=name, repo_type="dataset"))
    call(hub, f"deleting branch {name}", repo, delete)


def _is_ours(hub: HubClient, repo: str, target: Target, refs: Refs, ours: Manifest) -> bool:
    """Whether the head of a version's branch is where the branch began, or holds that very version."""
    if is_version(target.published, ours):
        return True
    return target.at.sha in refs.tags.values() or target.at.sha in repository.list_commits(hub, repo)


def is_version(published: Manifest | None, ours: Manifest) -> bool:
    """Whether a manifest is of our version of our dataset, whatever its rows."""
    return published is not None and (published.dataset, published.version) == (ours.dataset, ours.version)


def _release_at_tag(
    hub: HubClient, repo: str, refs: Refs, version: str, ours: Manifest
) -> tuple[Snapshot, Manifest] | None:
    """What a version's tag holds, if that is a release of our dataset."""
    at, published = repository.require_release(hub, repo, refs.tags[f"v{version}"])
    return (at, published) if published is not None and published.dataset == ours.dataset else None
