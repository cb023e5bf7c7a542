"""The open pull request that holds a release already: a commit whose answer was lost, or the same command run twice."""

from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.digest_comparison import listed_digests
from pipelines.hub.planning import Plan
from pipelines.hub.repository import Snapshot


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
