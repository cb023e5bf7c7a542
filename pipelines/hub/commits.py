"""One guarded commit, for releases and for raw files: on the commit that was planned for, planned again where that has moved.

The Hub refuses a commit whose parent is no longer the head of the branch (status 412). Where an answer was lost, it is unknown
whether the commit was made. In both cases a new plan decides what is left to do, so nothing is written twice or overwritten.
"""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationDelete

from builders.errors import PublishError, UsageError
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Snapshot, find_differences
from pipelines.process.stages import stage
from pipelines.release import folder

NEW, DONE = "to be published", "already published"
PUBLISHED, PULL_REQUEST = "published", "pull request opened"
NEW_FILES = frozenset({".gitattributes"})  # what the Hub writes into a new repository
MAX_CONFLICTS = 3  # commits of others that one call plans around

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CommitOptions:
    """How to publish, as the command line says.

    private: create the repository as a private one. create_pr: open a pull request instead of committing. message: of the commit.
    rights: the user may publish although the licence does not permit it. overwrite_card: replace a card that somebody else wrote
    or edited.
    """

    org: str
    _: KW_ONLY
    private: bool = False
    create_pr: bool = False
    message: str | None = None
    rights: bool = False
    overwrite_card: bool = False


@dataclass(frozen=True, kw_only=True)
class CommitPlan:
    """What a commit would do.

    at: the commit to build on, or the existing one where none is needed; None without a repository. writes: content or path on
    disk, by path in the repository; empty where no commit is needed. known_digests: the sha256 of files to write, where it is
    known without reading them. deletes: paths. branch: where the commit is made. title: the first line of its message, unless the
    user gives another. description: the rest. notes: what else the user should know. missing: names of files that it should write
    and that are nowhere.
    """

    repo: str
    state: str
    at: Snapshot | None = None
    writes: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    known_digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    deletes: tuple[str, ...] = ()
    branch: str = repository.MAIN
    title: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file to write."""
        return {
            path: len(content) if isinstance(content, bytes) else content.stat().st_size
            for path, content in self.writes.items()
        }


AnyPlan = TypeVar("AnyPlan", bound=CommitPlan)


@dataclass(frozen=True)
class Publication(Generic[AnyPlan]):
    """The result of publishing. url: where to see it.

    state: that of the plan where no commit was needed, else PUBLISHED, PULL_REQUEST or `documents updated`.
    """

    plan: AnyPlan
    state: str
    commit: str = ""
    url: str = ""


def require_name(org: str, name: str) -> str:
    """The repository `ORG/NAME`.

    Raises UsageError for a name that the Hub does not accept.
    """
    repo = f"{org}/{name}"
    if not client.REPOSITORY.fullmatch(repo):
        raise UsageError("invalid repository name", found=repo, expected="ORG/NAME", todo="correct --org")
    return repo


def snapshot_to_publish_in(hub: HubClient, repo: str, options: CommitOptions) -> Snapshot | None:
    """Main of a repository; None where it does not exist.

    Raises PublishError for a public repository where a private one is requested, and for one that was renamed.
    """
    at = repository.snapshot(hub, repo)
    if at is not None and at.repo != repo:
        org, _, name = at.repo.partition("/")
        raise PublishError(
            "the repository has another name by now",
            where=repo,
            found=at.repo,
            todo=f"publish as --org {org} --repo-name {name}; publish --repair records the new name",
        )
    if at is not None and options.private and not at.private:
        raise PublishError(
            "the repository is public, and --private applies only to new ones",
            where=repo, todo="make it private on its settings page, or leave --private out",
        )  # fmt: skip
    return at


def require_ours(
    hub: HubClient, repo: str, at: Snapshot | None, mark: str, paths: tuple[str, ...], *, overwrite: bool
) -> None:
    """Refuse a repository that somebody uses for something else, or whose card somebody else wrote.

    mark: what our card has. paths: how the paths of our files begin. overwrite: replace the card of somebody else.
    """
    if at is None:
        return
    ours = {*NEW_FILES, folder.CARD}
    others = sorted(path for path in at.digests if path not in ours and not path.startswith(paths))
    if others:
        raise PublishError(
            "the repository holds other files", where=repo, found=", ".join(others[:5]), todo="choose another --org"
        )
    card = repository.read_file(hub, repo, at, folder.CARD)
    if card is not None and mark.encode() not in card and not overwrite:
        raise PublishError(
            "the card of the repository is somebody else's",
            where=repo,
            found=folder.CARD,
            todo="pass --overwrite-card to replace it",
        )


def require_written(hub: HubClient, plan: CommitPlan, sha: str) -> None:
    """Refuse a commit that does not hold what the plan writes, by the digests that the Hub lists."""
    if not plan.writes:
        return
    at = repository.require_snapshot(hub, plan.repo, sha)
    if faults := find_differences(at, plan.writes, plan.known_digests):
        raise PublishError(
            "the commit does not hold the files that were sent",
            where=f"{plan.repo} at {sha}", found="; ".join(faults), todo="run the command again",
        )  # fmt: skip


def commit_plan(
    hub: HubClient,
    make_plan: Callable[[], AnyPlan],
    options: CommitOptions,
    prepare: Callable[[AnyPlan, Snapshot, Sequence[CommitOperationAdd]], None],
) -> Publication[AnyPlan]:
    """Carry out a plan in one commit, or in a pull request, and create the repository before where it is missing.

    make_plan: called again after a failure and after commits of others. prepare: called with the plan, the commit to build on and
    the files to send, before anything is sent.

    Raises what the two functions raise, PublishError where the Hub fails for good.
    """
    failures = conflicts = 0
    while True:
        plan = make_plan()
        if not plan.writes:
            sha, url = (plan.at.sha, _url(hub, plan)) if plan.at else ("", "")
            return Publication(plan, plan.state, sha, url)
        at = plan.at or _create_repository(hub, plan.repo, options)
        if at is None and conflicts < MAX_CONFLICTS:
            conflicts += 1
            continue  # there is one by now, and what it holds decides
        if at is None:
            trouble = client.Trouble("it exists and cannot be read", 404)
            raise client.call_failed(hub, "reading the repository", plan.repo, trouble)
        title = options.message or plan.title
        if options.create_pr and (existing := _find_pull_request(hub, plan, title)):
            logger.info("%s: an open pull request holds this release already", plan.repo)
            return existing
        try:
            return _commit(hub, plan, at, title, create_pr=options.create_pr, prepare=prepare)
        except client.HUB_ERRORS as error:
            # It may be unknown whether the commit was made: the next plan finds out.
            if _is_conflict(plan, client.explain_error(error)) and conflicts < MAX_CONFLICTS:
                conflicts += 1
                logger.info("%s: somebody else committed meanwhile; planning again", plan.repo)
                continue
            failures += 1
            client.wait_or_raise(hub, "committing", plan.repo, error, failures)


def _is_conflict(plan: CommitPlan, trouble: client.Trouble) -> bool:
    """Whether a commit failed because of somebody else's: the branch has another head, or was deleted with its version tagged."""
    return trouble.status == 412 or (trouble.status == 404 and plan.branch != repository.MAIN)


def _create_repository(hub: HubClient, repo: str, options: CommitOptions) -> Snapshot | None:
    """Create a repository; main of the new one.

    None where a new plan must decide: somebody else created it or published there meanwhile, or it is public and should not be.
    """
    if not repository.create(hub, repo, private=options.private):
        return None
    at = repository.require_snapshot(hub, repo, repository.MAIN)
    return at if at.digests.keys() <= NEW_FILES and (at.private or not options.private) else None


def _url(hub: HubClient, plan: CommitPlan) -> str:
    return f"{hub.api.endpoint}/datasets/{plan.repo}"


def _find_pull_request(hub: HubClient, plan: AnyPlan, title: str) -> Publication[AnyPlan] | None:
    """An open pull request with this title that holds exactly what a plan writes."""

    def ask() -> list[int]:
        found = hub.api.get_repo_discussions(
            plan.repo, repo_type="dataset", discussion_type="pull_request", discussion_status="open"
        )
        return [request.num for request in found if request.title == title]

    for number in client.call(hub, "reading its pull requests", plan.repo, ask):
        at = repository.snapshot(hub, plan.repo, f"refs/pr/{number}")
        if (
            at is not None
            and not find_differences(at, plan.writes, plan.known_digests)
            and at.digests.keys().isdisjoint(plan.deletes)
        ):
            return Publication(plan, PULL_REQUEST, at.sha, f"{_url(hub, plan)}/discussions/{number}")
    return None


def _commit(
    hub: HubClient,
    plan: AnyPlan,
    at: Snapshot,
    title: str,
    *,
    create_pr: bool,
    prepare: Callable[[AnyPlan, Snapshot, Sequence[CommitOperationAdd]], None],
) -> Publication[AnyPlan]:
    """Write the plan in one commit on top of `at`, the head of its branch.

    Raises what `prepare` and the Hub's library raise.
    """
    client.configure_session(hub)
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in plan.deletes]
    prepare(plan, at, additions)
    if plan.branch != repository.MAIN:  # if it exists with another head than planned, the Hub rejects the commit
        hub.api.create_branch(plan.repo, branch=plan.branch, revision=at.sha, repo_type="dataset", exist_ok=True)
    # A .gitignore in the repository must not exclude files.
    with stage("uploading"):
        hub.api.preupload_lfs_files(
            plan.repo, additions, repo_type="dataset", revision=plan.branch, create_pr=create_pr, free_memory=False,
            gitignore_content="# every file is published\n",
        )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = hub.api.create_commit(
            plan.repo,
            repo_type="dataset",
            operations=[*additions, *deletions],
            commit_message=title,
            commit_description=plan.description,
            parent_commit=at.sha,
            revision=plan.branch,
            create_pr=create_pr,
        )
    for warning in caught:
        logger.info("%s: %s", plan.repo, warning.message)
    return Publication(plan, PULL_REQUEST if made.pr_url else PUBLISHED, made.oid, made.pr_url or _url(hub, plan))
