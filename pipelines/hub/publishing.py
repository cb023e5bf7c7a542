"""A release to the Hub: written in one guarded commit, read back by its sha, tagged.

At every moment main and every tag show a whole release. A tag never moves. Whatever stops a publication half-way, running it
again looks at what is there and does the rest.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_token
from huggingface_hub.errors import HfHubHTTPError

from builders.errors import PublishError
from pipelines.hub import client, planning
from pipelines.release import comparison, ledger, staging

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders.catalogue import Definition
    from pipelines.hub.client import HubClient
    from pipelines.hub.planning import Plan, PublishOptions
    from pipelines.raw.download import Patience


@dataclass(frozen=True)
class Publication:
    """What became of a release: `published`, `already published` or `pull request opened`; the commit, and where to look."""

    plan: Plan
    state: str
    commit: str
    url: str


def login(*, endpoint: str | None = None, token: str | None = None, patience: Patience | None = None) -> HubClient:
    """A connection that may write: by the given token, HF_TOKEN or the stored login.

    Raises PublishError where there is no token, or one that may only read.
    """

    todo = "set HF_TOKEN to a token with write access (huggingface.co/settings/tokens), or log in: hf auth login"
    token = token or get_token()
    if token is None:
        raise PublishError("there is no token to publish with", todo=todo)
    hub = client.connect(PublishError, endpoint=endpoint, token=token, patience=patience)
    who = client.call(hub, "asking whose token this is", hub.api.endpoint, hub.api.whoami)
    role = who.get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise PublishError("the token may only read", where=hub.api.endpoint, expected="write access", todo=todo)
    return hub


def publish(
    built: Definition, place: Path, order: PublishOptions, hub: HubClient, say: Callable[[str], None]
) -> Publication:
    """Publish the release at a place, or finish what an earlier call began.

    Raises PublishError (FindingsError for defects in the rows): main and the tags of the repository then show what they
    showed before, or the whole release; and the same call does the rest.
    """
    if not place.is_dir():
        return _publish(built, place, order, hub, say)
    with staging.locked(place.parents[1], built.dataset.name, say):  # or a build might exchange the files on their way
        return _publish(built, place, order, hub, say)


def _publish(
    built: Definition, place: Path, order: PublishOptions, hub: HubClient, say: Callable[[str], None]
) -> Publication:
    failures = overtaken = 0
    while True:
        plan = planning.make_plan(built, place, order, hub)
        url = f"{hub.api.endpoint}/datasets/{plan.repo}"
        commit, request = plan.at.sha if plan.at else "", None
        if plan.state != planning.NEW:
            break
        try:
            commit, request = _commit(hub, plan, order, say)
            break
        except client.hub_errors() as error:
            # Whether the commit was made may not be known: the next plan looks.
            trouble = client.explain_error(error)
            if trouble.status == 412 and not overtaken:
                overtaken += 1
                say(f"{plan.repo}: somebody committed meanwhile; planning anew")
                continue
            failures += 1
            if not trouble.passing or failures > hub.patience.retries or order.create_pr:
                raise _stopped(hub, plan, order, trouble) from error
            client.wait_before_retry(hub, f"{plan.repo}: committing", trouble, failures)
    state = planning.DONE
    if plan.state != planning.DONE:
        _read_back(hub, plan, commit, order)
        if request is not None:
            return Publication(plan, "pull request opened", commit, request)
        _tag(hub, plan, commit, order)
        state = "published"
    _note(order, plan, say)
    return Publication(plan, state, commit, url)


def to_json(plan: Plan, published: Publication | None = None) -> dict[str, Any]:
    """A plan, and what became of it, as JSON takes it."""
    return {
        "dataset": plan.manifest["dataset"],
        "version": plan.version,
        "repo": plan.repo,
        "tag": plan.tag,
        "state": published.state if published else plan.state,
        **({"commit": published.commit, "url": published.url} if published else {}),
        "content_sha256": plan.manifest["content_sha256"],
        "rows": {f"{table['config']}/{table['split']}": table["rows"] for table in plan.manifest["tables"]},
        "files": plan.sizes,
        "deletes": list(plan.deletes),
        "against": plan.against,
        "changes": [asdict(change) for change in plan.changes],
        "notes": list(plan.notes),
    }


def _commit(hub: HubClient, plan: Plan, order: PublishOptions, say: Callable[[str], None]) -> tuple[str, str | None]:
    """Write the plan in one commit on top of main as it was planned on; its sha, and the address of the pull request.

    Raises what the Hub's library raises.
    """

    at, repo = plan.at, plan.repo
    client.set_timeouts(hub)
    if at is None:
        hub.api.create_repo(repo, repo_type="dataset", private=order.private or None, exist_ok=True)
        at = client.snapshot(hub, plan.repo)
        if at is None:
            raise client.call_failed(hub, "finding the new repository", repo, client.Trouble("it is not there", 404))
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in plan.deletes]
    # A .gitignore in the repository must not leave out files of a release.
    hub.api.preupload_lfs_files(
        plan.repo, additions, repo_type="dataset", create_pr=order.create_pr, free_memory=False,
        gitignore_content="# a release is published whole\n",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made = hub.api.create_commit(
            repo,
            repo_type="dataset",
            operations=[*additions, *deletions],
            commit_message=order.message or f"{plan.manifest['dataset']} {plan.version}",
            commit_description=_description(plan),
            parent_commit=at.sha,
            create_pr=order.create_pr,
        )
    for warning in warned:
        say(f"{plan.repo}: {warning.message}")
    return made.oid, made.pr_url


def _description(plan: Plan) -> str:
    """What the history of the repository says of a release."""
    lines = [f"content_sha256 {plan.manifest['content_sha256']}"]
    for table in plan.changes:
        counts = f"{table.added} rows added, {table.removed} removed, {table.changed} changed"
        lines.append(f"{table.config}/{table.split}: {'the same rows' if table.state == 'same' else counts}")
    return "\n".join(lines)


def _read_back(hub: HubClient, plan: Plan, commit: str, order: PublishOptions) -> None:
    """Fetch what was committed, and see that its rows and its card are those of the release, and that nothing else loads."""
    at = client.snapshot(hub, plan.repo, commit)
    if at is None:
        raise client.call_failed(
            hub, "reading the commit back", plan.repo, client.Trouble(f"there is no {commit}", 404)
        )
    wrong = planning.find_faults(hub, plan.repo, at, order.cache)
    if not wrong:
        place, card = client.fetch_release(hub, plan.repo, at, order.cache), plan.writes.get(staging.CARD)
        theirs = comparison.manifest_of(place)
        if theirs["content_sha256"] != plan.manifest["content_sha256"]:
            wrong.append(staging.difference(plan.manifest, theirs))
        if card is not None and (place / staging.CARD).read_bytes() != _content(card):
            wrong.append("another card")
    if wrong:
        todo = "nothing was tagged; run the command again"
        what = "what was committed does not read back as the release"
        raise PublishError(what, where=f"{plan.repo} at {commit}", found="; ".join(wrong), todo=todo)


def _content(file: bytes | Path) -> bytes:
    return file if isinstance(file, bytes) else file.read_bytes()


def _tag(hub: HubClient, plan: Plan, commit: str, order: PublishOptions) -> None:
    """Tag a commit with its version; where the tag is there already, it must hold the same rows."""

    def ask() -> bool:
        try:
            hub.api.create_tag(plan.repo, tag=plan.tag, revision=commit, repo_type="dataset")
        except HfHubHTTPError as error:
            if error.response.status_code != 409:
                raise
            return False
        return True

    if not client.call(hub, f"tagging {plan.tag}", plan.repo, ask):
        planning.require_same_rows(hub, plan.repo, plan.tag, plan.manifest, order)


def _stopped(hub: HubClient, plan: Plan, order: PublishOptions, trouble: client.Trouble) -> PublishError:
    if order.create_pr and trouble.passing:
        where = f"{hub.api.endpoint}/datasets/{plan.repo}/discussions"
        todo = "see whether the pull request was opened; if not, run the command again"
        return PublishError(
            "whether a pull request was opened is not known", where=where, found=trouble.words, todo=todo
        )
    error = client.call_failed(hub, "committing", plan.repo, trouble)
    return PublishError(error.what, where=error.where, found=error.found, todo=error.todo)


def _note(order: PublishOptions, plan: Plan, say: Callable[[str], None]) -> None:
    """Have the ledger know that this version is published."""
    if plan.manifest["sample"] or plan.manifest["partial"]:
        return
    if ledger.record_publication(plan.manifest, plan.repo, order.ledger):
        say(f"{plan.manifest['dataset']}@{plan.version}: noted as published in {order.ledger.name}: commit it")
