"""Raw files to the Hub: what is not there yet, in one guarded commit, compared with the Hub's digests afterwards."""

import logging
from dataclasses import dataclass
from typing import Any

from huggingface_hub import CommitOperationAdd

from builders.errors import PublishError
from builders.spec import Source
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.digest_comparison import listed_digests
from pipelines.hub.raw_plans import DONE, RawOptions, RawPlan, make_raw_plan
from pipelines.raw.settings import RawSettings
from pipelines.stages import stage

MAX_REPLANS = 3  # repositories created, and commits of others, that one call plans again for

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RawPublication:
    """The result. state: `published` or `already published`. url: where to see it."""

    plan: RawPlan
    state: str
    commit: str
    url: str


def publish_raw(source: Source, settings: RawSettings, options: RawOptions, hub: HubClient) -> RawPublication:
    """Keep the raw files of a source in its repository, or finish what an earlier call began.

    Raises as `make_raw_plan`, and PublishError where the Hub fails or holds other bytes afterwards.
    """
    failures = replans = 0
    while True:
        plan = make_raw_plan(source, settings, options, hub)
        url = f"{hub.api.endpoint}/datasets/{plan.repo}"
        if not plan.writes:
            return RawPublication(plan, DONE, plan.at.sha if plan.at else "", url)
        if plan.at is None:
            _replan(plan, replans)
            replans += 1
            repository.create(hub, plan.repo, private=options.private)
            continue  # what the new repository is, private or not, decides
        try:
            commit = _commit(hub, plan, plan.at.sha, options)
            break
        except client.hub_errors() as error:
            # It may be unknown whether the commit was made: the next plan finds out.
            if client.explain_error(error).status == 412:
                _replan(plan, replans)
                replans += 1
                logger.info("%s: somebody else committed meanwhile; planning again", plan.repo)
                continue
            failures += 1
            client.wait_or_raise(hub, "committing", plan.repo, error, failures)
    _compare(hub, plan, commit)
    return RawPublication(plan, "published", commit, url)


def raw_plan_as_json(plan: RawPlan, publication: RawPublication | None = None) -> dict[str, Any]:
    """A plan, and the result of publishing, as JSON takes it."""
    return {
        "source": plan.source.name,
        "repo": plan.repo,
        "state": publication.state if publication else plan.state,
        **({"commit": publication.commit, "url": publication.url} if publication else {}),
        "private": plan.private,
        "license": plan.source.license,
        "files": plan.sizes,
        "names": dict(plan.names),
        "present": list(plan.present),
        "missing": list(plan.missing),
        "left_out": dict(plan.left_out),
        "notes": list(plan.notes),
    }


def _replan(plan: RawPlan, replans: int) -> None:
    if replans >= MAX_REPLANS:
        raise PublishError("the repository keeps changing", where=plan.repo, todo="run the command again later")


def _commit(hub: HubClient, plan: RawPlan, parent: str, options: RawOptions) -> str:
    """Write the plan in one commit on top of `parent`; its sha.

    Raises what the Hub's library raises, PublishError for a file that has changed since it was planned.
    """
    client.configure_session(hub)
    additions = [CommitOperationAdd(path, content) for path, content in plan.writes.items()]
    for addition in additions:
        _require_digest(addition, plan)
    with stage(f"uploading {plan.source.name}"):
        hub.api.preupload_lfs_files(
            plan.repo, additions, repo_type="dataset", revision=repository.MAIN, free_memory=False,
            gitignore_content="# every file is kept\n",
        )  # fmt: skip
    names = sorted(plan.names[path] for path in plan.writes if path in plan.names)
    made = hub.api.create_commit(
        plan.repo,
        repo_type="dataset",
        operations=additions,
        commit_message=options.message or f"Raw files of {plan.source.name}",
        commit_description="\n".join(names),
        parent_commit=parent,
        revision=repository.MAIN,
    )
    return str(made.oid)


def _require_digest(addition: CommitOperationAdd, plan: RawPlan) -> None:
    """Refuse to send a file under a digest that it does not have now."""
    kind, digest = addition.path_in_repo.partition("/")[0], addition.path_in_repo.rpartition("/")[2]
    content = plan.writes[addition.path_in_repo]
    found = addition.upload_info.sha256.hex() if kind == "sha256" else listed_digests(content)[1]
    if addition.path_in_repo in plan.names and found != digest:
        todo = "see what writes to it, and run the command again"
        raise PublishError(
            "a raw file has changed meanwhile", where=str(content), found=found, expected=digest, todo=todo
        )


def _compare(hub: HubClient, plan: RawPlan, commit: str) -> None:
    """Compare the commit with what was written, by the digests that the Hub computed."""
    at = repository.require_snapshot(hub, plan.repo, commit)
    faults = [path for path, content in plan.writes.items() if at.digests.get(path) not in listed_digests(content)]
    if faults:
        raise PublishError(
            "the commit does not hold the files that were sent",
            where=f"{plan.repo} at {commit}", found=", ".join(faults), todo="run the command again",
        )  # fmt: skip
