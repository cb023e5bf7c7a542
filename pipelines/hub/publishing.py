"""A release to the Hub: written in one guarded commit, read back by its sha, tagged, and recorded.

At every moment main and every tag show a whole release, and a tag never moves. Running the command again finishes what an earlier
run left undone.
"""

import logging
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from huggingface_hub import get_token

from builders.catalogue import Definition
from builders.errors import PublishError
from pipelines.hub import client, foreign_edits, planning, publishable, repository, revisions
from pipelines.hub.client import HubClient
from pipelines.hub.commits import DONE, PUBLISHED, PULL_REQUEST, Publication, commit_plan
from pipelines.hub.inspection import verify_snapshot
from pipelines.hub.planning import Plan, PublishOptions, publication_ledger
from pipelines.hub.repository import Snapshot, find_differences, listed_digests
from pipelines.process.terminal import format_size
from pipelines.raw.download import Patience
from pipelines.release import folder, ledger
from pipelines.release.comparison import describe_difference
from pipelines.release.staging import dataset_lock

LARGE = 100_000_000  # bytes to read back that are worth a message

logger = logging.getLogger(__name__)


def require_record(hub: HubClient, options: PublishOptions) -> None:
    """Refuse to publish where nothing can record it, unless the user wants it so.

    Raises PublishError.
    """
    path = publication_ledger(hub, options.ledger)
    if options.record and (path is None or not ledger.can_record(path)):
        raise PublishError(
            "nowhere to record what is published",
            found="HF_ENDPOINT is not the Hub" if path is None else f"{path.parent} is not a writable checkout",
            todo="pass --ledger FILE, which is recorded beside; or --no-record",
        )


def record_publication(hub: HubClient, plan: Plan, commit: str, options: PublishOptions, *, found: bool) -> None:
    """Record that the tag of a version is on a commit, unless that is recorded. found: whether it was there already.

    A version from files of unknown digest enters the ledger only now.
    """
    content, recorded = plan.manifest.content_sha256, plan.recorded
    event = ledger.RefEvent(plan.repo, plan.tag, commit, "publish", options.message or plan.title, content)
    if recorded is None and found:
        event = replace(event, event="observed", why="its tag was found, and not recorded")
    elif recorded is not None:
        gone = "" if recorded.commit == commit else f", and commit {recorded.commit} no longer holds the release"
        event = replace(event, event="restore", why=f"the tag was {'found' if found else 'missing'}{gone}")
    if recorded is None or not found or recorded.commit != commit:
        _record(hub, plan, event, options)


def _record(hub: HubClient, plan: Plan, event: ledger.RefEvent, options: PublishOptions) -> None:
    """Append an event to the record of refs, and the version to the ledger; samples and parts are not recorded."""
    path, manifest = publication_ledger(hub, options.ledger), plan.manifest
    if path is None or not options.record or not manifest.complete:
        return
    if ledger.find_entry(manifest.dataset, manifest.version, path) is None:
        ledger.record_entry(manifest.dataset, manifest.version, ledger.release_entry(manifest), path)
    if ledger.append_event(manifest.dataset, event, path):
        name = ledger.record_file(manifest.dataset, path).name
        todo = ": commit it" if path == ledger.LEDGER else ""
        logger.info("%s: %s recorded in %s/%s%s", manifest.name, event.tag, ledger.REFS, name, todo)


def login(*, endpoint: str | None = None, token: str | None = None, patience: Patience | None = None) -> HubClient:
    """A connection with write access: by the given token, HF_TOKEN or the stored login.

    Raises PublishError where there is no token, or one that can only read.
    """
    todo = "set HF_TOKEN to a token with write access (huggingface.co/settings/tokens), or log in: hf auth login"
    token = token or get_token()
    if token is None:
        raise PublishError("no token to publish with", todo=todo)
    hub = client.connect(PublishError, endpoint=endpoint, token=token, patience=patience)

    def ask() -> str | None:
        role: str | None = hub.api.whoami().get("auth", {}).get("accessToken", {}).get("role")
        return role

    if client.call(hub, "identifying the token", hub.api.endpoint, ask) == "read":
        raise PublishError("the token can only read", where=hub.api.endpoint, expected="write access", todo=todo)
    return hub


def publish(definition: Definition, release_dir: Path, options: PublishOptions, hub: HubClient) -> Publication[Plan]:
    """Publish a release, or finish what an earlier call began.

    Raises PublishError (FindingsError for defects in the rows): main and the tags of the repository then show what they showed
    before, or the whole release, and the same call finishes the rest.
    """

    def make_plan() -> Plan:
        plan = planning.make_plan(definition, release_dir, options, hub)
        foreign_edits.require_no_card_edits(plan.repo, plan.card_edits, overwrite=options.overwrite_card)
        return plan

    def tag_existing(plan: Plan, at: Snapshot, _: object) -> None:
        if plan.takes_over:
            foreign_edits.tag_existing(hub, plan.repo, at)
            event = ledger.RefEvent(plan.repo, foreign_edits.TAG, at.sha, "take-over", "data of somebody else")
            _record(hub, plan, event, options)

    # Or a build might exchange the files during the upload.
    locked = dataset_lock(release_dir.parents[1], definition.dataset.name) if release_dir.is_dir() else nullcontext()
    with locked:
        done = commit_plan(hub, make_plan, options, tag_existing)
        plan = done.plan
        if plan.state != DONE:
            _read_back(hub, plan, done.commit, options)
            if done.state == PULL_REQUEST:
                return done
            if plan.state == planning.UPDATE:
                return replace(done, state="documents updated")
            if plan.foreign_tag:
                new = f"{foreign_edits.TAG}-{plan.tag}"
                repository.rename_tag(hub, plan.repo, plan.tag, new, plan.foreign_tag)
                event = ledger.RefEvent(plan.repo, new, plan.foreign_tag, "take-over", f"somebody else's {plan.tag}")
                _record(hub, plan, event, options)
            done = replace(done, state=PUBLISHED, commit=_tag(hub, plan, done.commit, options))
        record_publication(hub, plan, done.commit, options, found=plan.state == DONE)
        if plan.branch != repository.MAIN:
            revisions.delete_branch(hub, plan.repo, plan.manifest, done.commit)
        return done


def to_json(plan: Plan, publication: Publication[Plan] | None = None) -> dict[str, Any]:
    """A plan, and the result of publishing, as JSON takes it."""
    return {
        "dataset": plan.manifest.dataset,
        "version": plan.manifest.version,
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


def _read_back(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> None:
    """Compare a commit with the release: rows and card, or (without download) the Hub's digests of all files.

    Nothing else may load with them. A commit that only lacked its tag was compared by its digests when it was planned. Of a
    commit of documents, whose rows are compared already, the digests are compared.
    """
    at = repository.require_snapshot(hub, plan.repo, commit)
    for name in (*folder.DOCUMENTS, folder.MANIFEST):  # where the Hub lists the same digest, it has these bytes
        if name in plan.writes and at.digests.get(name, "") in listed_digests(plan.writes[name]):
            hub.files[plan.repo, at.digests[name]] = publishable.content_of(plan.writes[name])
    if (
        plan.state == planning.UPDATE and folder.CARD not in plan.writes
    ):  # a statement alone, perhaps of an older version
        faults = find_differences(at, plan.writes, plan.known_digests)
    elif plan.state == planning.UPDATE:
        files = dict.fromkeys((file.path for file in plan.manifest.files), b"") | dict(plan.writes)
        faults = publishable.digest_faults(plan.repo, at, files, plan.manifest)
    elif options.download:
        faults = _fetched_faults(hub, plan, at, options)
    else:
        faults = publishable.digest_faults(plan.repo, at, plan.writes, plan.manifest) if plan.writes else []
    if faults:
        how = "" if options.download else " without --no-download to compare the rows"
        raise PublishError(
            "the commit does not read back as the release", where=f"{plan.repo} at {commit}", found="; ".join(faults),
            todo=f"nothing was tagged; run the command again{how}",
        )  # fmt: skip


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


def _tag(hub: HubClient, plan: Plan, commit: str, options: PublishOptions) -> str:
    """Tag a commit with its version; the commit that has the tag. An existing tag must hold the same rows."""
    if repository.create_tag(hub, plan.repo, plan.tag, commit):
        return commit
    if plan.branch != repository.MAIN:
        revisions.delete_branch(hub, plan.repo, plan.manifest, commit)
    at, _ = planning.require_same_rows(hub, plan.repo, plan.tag, plan.manifest, options)
    return at.sha
