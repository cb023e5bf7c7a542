"""A release to the Hub: written in one guarded commit, read back by its sha, tagged, and recorded.

At every moment main and every tag show a whole release, and a tag never moves. Running the command again finishes what an earlier
run left undone.
"""

import logging
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_token

from builders.catalogue import Definition
from builders.errors import PublishError
from pipelines.hub import client, foreign_edits, planning, publishable, repository, revisions
from pipelines.hub.client import HubClient
from pipelines.hub.inspection import verify_snapshot
from pipelines.hub.planning import Plan, PublishOptions
from pipelines.hub.repository import Snapshot, find_differences, listed_digests
from pipelines.process.stages import stage
from pipelines.process.terminal import format_size
from pipelines.raw.download import Patience
from pipelines.raw.requests import HUB
from pipelines.release import folder, ledger
from pipelines.release.comparison import describe_difference
from pipelines.release.staging import dataset_lock


def find_pull_request(hub: HubClient, plan: Plan, title: str) -> tuple[str, str] | None:
    """The commit and the address of an open pull request with this title that holds exactly what a plan writes."""

    def ask() -> list[tuple[int, str]]:
        found = hub.api.get_repo_discussions(
            plan.repo, repo_type="dataset", discussion_type="pull_request", discussion_status="open"
        )
        return [
            (one.num, f"{hub.api.endpoint}/datasets/{plan.repo}/discussions/{one.num}")
            for one in found
            if one.title == title
        ]

    for number, address in client.call(hub, "reading its pull requests", plan.repo, ask):
        at = repository.snapshot(hub, plan.repo, f"refs/pr/{number}")
        if at is not None and _holds(at, plan):
            return at.sha, address
    return None


def _holds(at: Snapshot, plan: Plan) -> bool:
    """Whether a snapshot has every file that a plan writes, and none that it deletes."""
    known = {file.path: (file.sha256,) for file in plan.manifest.files}
    expected = {path: known.get(path) or listed_digests(content) for path, content in plan.writes.items()}
    return all(at.digests.get(path) in digests for path, digests in expected.items()) and not any(
        path in at.digests for path in plan.deletes
    )


logger = logging.getLogger(__name__)


def publication_ledger(hub: HubClient, requested: Path | None) -> Path | None:
    """The ledger that holds the publications on a server; None for another server than the Hub where no file is requested."""
    if requested is not None:
        return requested
    return ledger.LEDGER if hub.api.endpoint.rstrip("/") == HUB else None


def log_missing_record(hub: HubClient, requested: Path | None) -> None:
    """Say, once a command, that what it publishes is not recorded."""
    path, name = publication_ledger(hub, requested), ledger.LEDGER.name
    if path is not None and not ledger.can_record(path):
        logger.info(
            "%s: not recorded what is published: it changes only in a writable checkout (or publish --ledger FILE)",
            name,
        )
    if path is None:
        logger.info(
            "HF_ENDPOINT is not the Hub: %s does not record what is published there (publish --ledger FILE does)", name
        )


def record_publication(hub: HubClient, plan: Plan, commit: str, requested: Path | None) -> None:
    """Record a version that is published, with the commit of its tag; samples and parts are not recorded.

    A commit recorded earlier stays, and a warning says that the tag is on another one.
    """
    path = publication_ledger(hub, requested)
    if path is None or not plan.manifest.complete:
        return
    if ledger.record_publication(plan.manifest, plan.repo, commit, path):
        todo = ": commit it" if path == ledger.LEDGER else ""
        logger.info("%s: recorded as published in %s%s", plan.manifest.name, path.name, todo)
    entry = ledger.find_entry(plan.manifest.dataset, plan.version, path)
    recorded = entry.commits.get(plan.repo, commit) if entry else commit
    if recorded != commit:
        logger.warning(
            "%s: the tag %s of %s is on commit %s, and on %s in %s: find out who moved it",
            plan.manifest.name, plan.tag, plan.repo, commit, recorded, path.name,
        )  # fmt: skip


LARGE = 100_000_000  # bytes to read back that are worth a message
NEW_FILES = {".gitattributes"}  # what the Hub writes into a new repository
MAX_CONFLICTS = 3  # commits of others that one call plans around


@dataclass(frozen=True)
class Publication:
    """The result of publishing. url: where to see it.

    state: `published`, `already published`, `documents updated` or `pull request opened`.
    """

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
        "takes_over": plan.takes_over,
        "card_edits": list(plan.card_edits),
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
        if plan.state not in {planning.NEW, planning.UPDATE}:
            break
        foreign_edits.require_no_card_edits(plan.repo, plan.card_edits, overwrite=options.overwrite_card)
        at = plan.at or _create_repository(hub, plan, options)
        if at is None and conflicts < MAX_CONFLICTS:
            conflicts += 1
            continue  # there is one by now, and what it holds decides
        if at is None:
            trouble = client.Trouble("it exists and cannot be read", 404)
            raise client.call_failed(hub, "reading the repository", plan.repo, trouble)
        existing = find_pull_request(hub, plan, _title(plan, options)) if options.create_pr else None
        if existing is not None:
            commit, request = existing
            logger.info("%s: an open pull request holds this release already", plan.repo)
            break
        try:
            commit, request = _commit(hub, plan, at, options)
            break
        except client.hub_errors() as error:
            # It may be unknown whether the commit was made: the next plan finds out.
            if _is_conflict(plan, client.explain_error(error)) and conflicts < MAX_CONFLICTS:
                conflicts += 1
                logger.info("%s: somebody else committed meanwhile; planning again", plan.repo)
                continue
            failures += 1
            client.wait_or_raise(hub, "committing", plan.repo, error, failures)
    state = planning.DONE
    if plan.state != planning.DONE:
        _read_back(hub, plan, commit, options)
        if request is not None:
            return Publication(plan, "pull request opened", commit, request)
        if plan.state == planning.UPDATE:
            return Publication(plan, "documents updated", commit, url)
        _tag(hub, plan, commit, options)
        state = "published"
    record_publication(hub, plan, commit, options.ledger)
    if plan.branch != repository.MAIN:
        revisions.delete_branch(hub, plan.repo, plan.manifest, commit)
    return Publication(plan, state, commit, url)


def _is_conflict(plan: Plan, trouble: client.Trouble) -> bool:
    """Whether a commit failed because of somebody else's: the branch has another head, or was deleted with its version tagged."""
    return trouble.status == 412 or (trouble.status == 404 and plan.branch != repository.MAIN)


def _create_repository(hub: HubClient, plan: Plan, options: PublishOptions) -> Snapshot | None:
    """Create the repository; main of the new one, or None where somebody else has created it, or published there meanwhile."""
    if not repository.create(hub, plan.repo, private=options.private):
        return None
    at = repository.require_snapshot(hub, plan.repo, repository.MAIN)
    return at if at.digests.keys() <= NEW_FILES else None


def _commit(hub: HubClient, plan: Plan, at: Snapshot, options: PublishOptions) -> tuple[str, str | None]:
    """Write the plan in one commit on top of `at`, the head of its branch; its sha, and the address of the pull request.

    Raises what the Hub's library raises.
    """
    repo = plan.repo
    client.configure_session(hub)
    if plan.takes_over:
        foreign_edits.tag_existing(hub, repo, at)
    if plan.branch != repository.MAIN:  # if it exists with another head than planned, the Hub rejects the commit
        hub.api.create_branch(repo, branch=plan.branch, revision=at.sha, repo_type="dataset", exist_ok=True)
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in plan.deletes]
    # A .gitignore in the repository must not exclude files of a release.
    with stage("uploading"):
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
    what = ": documents" if plan.state == planning.UPDATE else ""
    return options.message or f"{plan.manifest.dataset} {plan.version}{what}"


def _description(plan: Plan) -> str:
    """The description of the commit."""
    lines = [f"content_sha256 {plan.manifest.content_sha256}"]
    for table in plan.changes:
        counts = f"{table.added} rows added, {table.removed} removed, {table.changed} changed"
        lines.append(f"{table.config}/{table.split}: {'the same rows' if table.state == 'same' else counts}")
    return "\n".join(lines)


def _read_back(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> None:
    """Compare a commit with the release: rows and card, or (without download) the Hub's digests of all files.

    Nothing else may load with them. A commit that only lacked its tag was compared by its digests when it was planned. Of a
    commit of documents, whose rows are compared already, the digests are compared.
    """
    at = repository.snapshot(hub, plan.repo, commit)
    if at is None:
        trouble = client.Trouble(f"commit {commit} is missing", 404)
        raise client.call_failed(hub, "reading the commit back", plan.repo, trouble)
    if (
        plan.state == planning.UPDATE and folder.CARD not in plan.writes
    ):  # a statement alone, perhaps of an older version
        faults = find_differences(at, plan.writes, plan.manifest)
    elif plan.state == planning.UPDATE:
        files = dict.fromkeys((file.path for file in plan.manifest.files), b"") | dict(plan.writes)
        faults = publishable.digest_faults(plan.repo, at, files, plan.manifest)
    elif options.download:
        faults = _fetched_faults(hub, plan, at, options)
    else:
        faults = publishable.digest_faults(plan.repo, at, plan.writes, plan.manifest) if plan.writes else []
    if faults:
        todo = "nothing was tagged; run the command again"
        todo += "" if options.download else " without --no-download to compare the rows"
        what = "the commit does not read back as the release"
        raise PublishError(what, where=f"{plan.repo} at {commit}", found="; ".join(faults), todo=todo)


def _fetched_faults(hub: HubClient, plan: Plan, at: Snapshot, options: PublishOptions) -> list[str]:
    """How a commit that is fetched differs from the release."""
    size = sum(file.bytes for file in plan.manifest.files)
    if size >= LARGE:
        logger.info(
            "%s: fetching %s to read it back (--no-download compares the Hub's digests)", plan.repo, format_size(size)
        )
    faults = verify_snapshot(hub, plan.repo, at, options.cache)
    if not faults:
        manifest = folder.require_manifest(repository.fetch_release(hub, plan.repo, at, options.cache))
        if manifest.content_sha256 != plan.manifest.content_sha256:
            faults.append(describe_difference(plan.manifest.tables, manifest.tables))
    return faults or (publishable.different_documents(hub, plan.repo, at, plan.writes) if plan.writes else [])


def _tag(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> None:
    """Tag a commit with its version; an existing tag must hold the same rows."""
    if not repository.create_tag(hub, plan.repo, plan.tag, commit):
        if plan.branch != repository.MAIN:
            revisions.delete_branch(hub, plan.repo, plan.manifest, commit)
        planning.require_same_rows(hub, plan.repo, plan.tag, plan.manifest, options)
