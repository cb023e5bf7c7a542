"""A release to the Hub: written in one guarded commit, read back by its sha, tagged.

At every moment main and every tag show a whole release, and a tag never moves. Running the command again finishes what an earlier
run left undone.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_token
from huggingface_hub.errors import HfHubHTTPError

from builders.errors import PublishError
from pipelines.hub import branches, client, planning, pull_requests, repository
from pipelines.release import folder, ledger
from pipelines.release.comparison import describe_difference
from pipelines.release.staging import dataset_lock

if TYPE_CHECKING:
    from pathlib import Path

    from builders.catalogue import Definition
    from pipelines.hub.client import HubClient
    from pipelines.hub.planning import Plan, PublishOptions
    from pipelines.hub.repository import Snapshot
    from pipelines.raw.download import Patience

MAX_CONFLICTS = 3  # commits of others that one call plans around

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Publication:
    """The result of publishing. state: `published`, `already published` or `pull request opened`. url: where to see it."""

    plan: Plan
    state: str
    commit: str
    url: str


def login(*, endpoint: str | None = None, token: str | None = None, patience: Patience | None = None) -> HubClient:
    """A connection with write access: by the given token, HF_TOKEN or the stored login.

    Raises PublishError where there is no token, or one that can only read.
    """
    todo = "set HF_TOKEN to a token with write access (huggingface.co/settings/tokens), or log in: hf auth login"
    token = token or get_token()
    if token is None:
        raise PublishError("no token to publish with", todo=todo)
    hub = client.connect(PublishError, endpoint=endpoint, token=token, patience=patience)
    who = client.call(hub, "identifying the token", hub.api.endpoint, hub.api.whoami)
    role = who.get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise PublishError("the token can only read", where=hub.api.endpoint, expected="write access", todo=todo)
    return hub


def publish(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Publication:
    """Publish a release, or finish what an earlier call began.

    Raises PublishError (FindingsError for defects in the rows): main and the tags of the repository then show what they showed
    before, or the whole release, and the same call finishes the rest.
    """
    if not release_dir.is_dir():
        return _publish(definition, release_dir, options, hub)
    with dataset_lock(
        release_dir.parents[1], definition.dataset.name
    ):  # or a build might exchange the files during the upload
        return _publish(definition, release_dir, options, hub)


def to_json(plan: Plan, publication: Publication | None = None) -> dict[str, Any]:
    """A plan, and the result of publishing, as JSON takes it."""
    return {
        "dataset": plan.manifest.dataset,
        "version": plan.version,
        "repo": plan.repo,
        "tag": plan.tag,
        "state": publication.state if publication else plan.state,
        **({"commit": publication.commit, "url": publication.url} if publication else {}),
        "content_sha256": plan.manifest.content_sha256,
        "rows": plan.manifest.rows,
        "files": plan.sizes,
        "deletes": list(plan.deletes),
        "branch": plan.branch,
        "newest": plan.newest,
        "absent": list(plan.absent),
        "against": plan.against,
        "changes": [asdict(change) for change in plan.changes],
        "notes": list(plan.notes),
    }


def _publish(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Publication:
    failures = conflicts = 0
    while True:
        plan = planning.make_plan(definition, release_dir, options, hub)
        url = f"{hub.api.endpoint}/datasets/{plan.repo}"
        commit, request = plan.at.sha if plan.at else "", None
        if plan.state != planning.NEW:
            break
        at = plan.at
        if at is None:
            if not repository.create(hub, plan.repo, private=options.private):
                continue  # there is one by now, and what it holds decides
            at = repository.require_snapshot(hub, plan.repo, branches.MAIN)
        existing = pull_requests.find_pull_request(hub, plan, _title(plan, options)) if options.create_pr else None
        if existing is not None:
            commit, request = existing
            logger.info("%s: an open pull request holds this release already", plan.repo)
            break
        try:
            commit, request = _commit(hub, plan, at, options)
            break
        except client.hub_errors() as error:
            # It may be unknown whether the commit was made: the next plan finds out.
            trouble = client.explain_error(error)
            if _is_conflict(plan, trouble) and conflicts < MAX_CONFLICTS:
                conflicts += 1
                logger.info("%s: somebody else committed meanwhile; planning again", plan.repo)
                continue
            failures += 1
            if client.gives_up(hub, trouble, failures):
                raise client.call_failed(hub, "committing", plan.repo, trouble) from error
            client.wait_before_retry(hub, f"{plan.repo}: committing", trouble, failures)
    state = planning.DONE
    if plan.state != planning.DONE:
        _read_back(hub, plan, commit, options)
        if request is not None:
            return Publication(plan, "pull request opened", commit, request)
        _tag(hub, plan, commit, options)
        state = "published"
    _record(plan, options)
    if plan.branch != branches.MAIN:
        branches.delete_branch(hub, plan.repo, plan.manifest, commit)
    return Publication(plan, state, commit, url)


def _is_conflict(plan: Plan, trouble: client.Trouble) -> bool:
    """Whether a commit failed because of somebody else's: the branch has another head, or was deleted with its version tagged."""
    return trouble.status == 412 or (trouble.status == 404 and plan.branch != branches.MAIN)


def _commit(hub: HubClient, plan: Plan, at: Snapshot, options: PublishOptions) -> tuple[str, str | None]:
    """Write the plan in one commit on top of `at`, the head of its branch; its sha, and the address of the pull request.

    Raises what the Hub's library raises.
    """
    repo = plan.repo
    client.configure_session(hub)
    if plan.branch != branches.MAIN:  # if it exists with another head than planned, the Hub rejects the commit
        hub.api.create_branch(repo, branch=plan.branch, revision=at.sha, repo_type="dataset", exist_ok=True)
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in plan.deletes]
    # A .gitignore in the repository must not exclude files of a release.
    hub.api.preupload_lfs_files(
        plan.repo, additions, repo_type="dataset", revision=plan.branch, create_pr=options.create_pr, free_memory=False,
        gitignore_content="# a release is published whole\n",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = hub.api.create_commit(
            repo,
            repo_type="dataset",
            operations=[*additions, *deletions],
            commit_message=_title(plan, options),
            commit_description=_description(plan),
            parent_commit=at.sha,
            revision=plan.branch,
            create_pr=options.create_pr,
        )
    for warning in caught:
        logger.info("%s: %s", plan.repo, warning.message)
    return made.oid, made.pr_url


def _title(plan: Plan, options: PublishOptions) -> str:
    return options.message or f"{plan.manifest.dataset} {plan.version}"


def _description(plan: Plan) -> str:
    """The description of the commit."""
    lines = [f"content_sha256 {plan.manifest.content_sha256}"]
    for table in plan.changes:
        counts = f"{table.added} rows added, {table.removed} removed, {table.changed} changed"
        lines.append(f"{table.config}/{table.split}: {'the same rows' if table.state == 'same' else counts}")
    return "\n".join(lines)


def _read_back(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> None:
    """Fetch the commit and compare its rows and its card with the release's; nothing else may load with them."""
    at = repository.snapshot(hub, plan.repo, commit)
    if at is None:
        trouble = client.Trouble(f"commit {commit} is missing", 404)
        raise client.call_failed(hub, "reading the commit back", plan.repo, trouble)
    faults = planning.find_faults(hub, plan.repo, at, options.cache)
    if not faults:
        fetched, card = repository.fetch_release(hub, plan.repo, at, options.cache), plan.writes.get(folder.CARD)
        manifest = folder.require_manifest(fetched)
        if manifest.content_sha256 != plan.manifest.content_sha256:
            faults.append(describe_difference(plan.manifest.tables, manifest.tables))
        if card is not None and (fetched / folder.CARD).read_bytes() != _content(card):
            faults.append("another card")
        faults += folder.edited_documents(fetched, manifest)
    if faults:
        todo = "nothing was tagged; run the command again"
        what = "the commit does not read back as the release"
        raise PublishError(what, where=f"{plan.repo} at {commit}", found="; ".join(faults), todo=todo)


def _content(file: bytes | Path) -> bytes:
    return file if isinstance(file, bytes) else file.read_bytes()


def _tag(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> None:
    """Tag a commit with its version; an existing tag must hold the same rows."""

    def create() -> bool:
        try:
            hub.api.create_tag(plan.repo, tag=plan.tag, revision=commit, repo_type="dataset")
        except HfHubHTTPError as error:
            if error.response.status_code != 409:
                raise
            return False
        return True

    if not client.call(hub, f"tagging {plan.tag}", plan.repo, create):
        if plan.branch != branches.MAIN:
            branches.delete_branch(hub, plan.repo, plan.manifest, commit)
        planning.require_same_rows(hub, plan.repo, plan.tag, plan.manifest, options)


def _record(plan: Plan, options: PublishOptions) -> None:
    """Record the publication in the ledger."""
    if plan.manifest.complete and ledger.record_publication(plan.manifest, plan.repo, options.ledger):
        name = options.ledger.name
        logger.info("%s: recorded as published in %s: commit it", plan.manifest.name, name)
