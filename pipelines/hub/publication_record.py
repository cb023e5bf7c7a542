"""Where publications are recorded: the ledger of this package for the real Hub, else only in a file that the user names."""

import logging
from pathlib import Path

from pipelines.hub.client import HubClient
from pipelines.hub.planning import Plan
from pipelines.raw.urls import HUB
from pipelines.release import ledger

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
