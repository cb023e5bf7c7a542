"""Brings the tags and main of a repository back to what the record of refs says; no commit of anybody is lost by it.

A ref that is in the way is set aside: it gets another name. Data are never sent: a version that the Hub has lost needs its
release, and `publish NAME@VERSION`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete

from builders.errors import PublishError
from builders.spec import version_key
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient, call, unless_answered
from pipelines.hub.commits import CommitPlan
from pipelines.hub.inspection import verify_snapshot
from pipelines.hub.planning import publication_ledger
from pipelines.hub.publishable import stale_files
from pipelines.hub.repository import GIT_BLOB, MAIN, VERSION_TAG, Refs, Snapshot
from pipelines.hub.revisions import Repository
from pipelines.release import ledger

ASIDE = "set-aside"  # how the new name of a ref begins that was in the way


@dataclass(frozen=True, kw_only=True)
class Repair(CommitPlan):
    """What was done, or would be, a sentence for each step. missing: recorded tags whose release the Hub no longer has."""

    steps: tuple[str, ...]
    todo: tuple[str, ...]


def repair(repo: Repository, cache: Path, hub: HubClient, *, dry_run: bool) -> Repair:
    """Bring a repository back to its record. dry_run: change nothing.

    Raises PublishError where nothing is recorded, and where the Hub fails: the same call then does the rest.
    """
    record = publication_ledger(hub, repo.ledger)
    recorded = ledger.expected_refs(repo.dataset, record).get(repo.name, {}) if record else {}
    if record is None or not recorded:
        raise PublishError(
            "no tag of this repository is recorded",
            where=repo.name,
            todo=f"record what is there: {repo.record_command}",
        )
    main, on_main = repository.require_release(hub, repo.name, MAIN)
    name, steps, lost = main.repo, list[str](), list[str]()

    def step(words: str, *actions: Callable[[], object]) -> None:
        steps.append(words)
        for action in () if dry_run else actions:
            action()

    def log(event: ledger.RefEvent, commit: str | None, why: str, *, of: str = name) -> Callable[[], object]:
        done = replace(event, repo=of, commit=commit, event="repair", why=why)
        return partial(ledger.append_event, repo.dataset, done, record)

    for event in recorded.values() if name != repo.name else ():
        why = f"{repo.name} was renamed to {name}"
        step(
            f"{why}: {event.tag} is recorded there", log(event, event.commit, why), log(event, None, why, of=repo.name)
        )
    refs = repository.list_refs(hub, name)
    versions = {f"v{version}" for version in refs.versions}
    for branch in sorted(refs.branches.keys() & (versions | recorded.keys())):
        words = f"the branch {branch} is called like a tag: it is set aside"
        step(words, partial(_set_aside, hub, name, branch, refs.branches[branch], is_branch=True))
    commits = {tag: commit for tag, commit in refs.tags.items() if tag in versions}
    for tag in sorted(versions - recorded.keys()):
        held, manifest = repository.require_release(hub, name, refs.tags[tag])
        if manifest is None or f"v{manifest.version}" != tag:
            content = manifest.name if manifest else "no release of this package"
            step(f"the tag {tag} holds {content}: it is set aside", partial(_set_aside, hub, name, tag, held.sha))
            del commits[tag]
    for tag, event in recorded.items():
        if event.commit is None or refs.tags.get(tag) == event.commit:
            continue
        at, there = _held(hub, name, refs, tag), repository.snapshot(hub, name, event.commit)
        if there is not None:
            why = f"the tag was {f'on {refs.tags[tag]}' if at else 'missing'}"
            aside = [partial(_set_aside, hub, name, tag, at.sha)] if at else []
            create = partial(repository.create_tag, hub, name, tag, event.commit)
            step(f"{tag}: {why}, it is put on {event.commit}", *aside, create, log(event, event.commit, why))
            commits[tag] = event.commit
        elif at is not None and _holds(hub, name, at, event, cache):
            why = f"commit {event.commit} is gone; {at.sha} holds the same rows"
            step(f"{tag}: {why}", log(event, at.sha, why))
        elif not VERSION_TAG.fullmatch(tag):  # data of others, which nothing can be compared with or publish again
            why = f"commit {event.commit} is gone, and {f'the tag is on {at.sha}' if at else 'so is the tag'}"
            step(f"{tag}: {why}", log(event, at.sha if at else None, why))
        else:
            lost.append(tag)
    releases = [tag for tag in commits if VERSION_TAG.fullmatch(tag)]
    newest = max(releases, key=lambda tag: version_key(tag[1:]), default="")
    if newest and on_main is not None and version_key(on_main.version) < version_key(newest[1:]):
        why = f"main was behind {newest}, at {on_main.version}"
        restore = partial(_restore_main, hub, main, on_main, commits[newest], newest)
        logs = [log(recorded[newest], commits[newest], why)] if newest in recorded else []
        step(f"{why}: it gets the files of {newest}", restore, *logs)
    commands = tuple(repo.publish_command(tag[1:]) for tag in lost)
    return Repair(
        repo=repo.name,
        state="to be repaired" if dry_run else "repaired",
        steps=tuple(steps),
        missing=tuple(lost),
        todo=commands,
    )


def to_json(done: Repair, _: object = None) -> dict[str, Any]:
    """A repair as JSON takes it."""
    steps = {"steps": done.steps, "missing": done.missing, "todo": done.todo}
    return {"repo": done.repo, "state": done.state if done.steps else "as recorded", **steps}


def page(done: Repair, _: object = None) -> list[str]:
    """A repair, as lines."""
    lines = [f"{done.repo}: {done.state if done.steps else 'as recorded'}", *(f"  {step}" for step in done.steps)]
    lines += [f"  {tag}: the Hub has lost what it was on" for tag in done.missing]
    return lines + [f"  to do: {command}" for command in done.todo]


def _held(hub: HubClient, repo: str, refs: Refs, tag: str) -> Snapshot | None:
    """What a tag holds; an annotated one is read by its name."""
    if tag not in refs.tags:
        return None
    return repository.snapshot(hub, repo, refs.tags[tag]) or repository.require_snapshot(hub, repo, tag)


def _holds(hub: HubClient, repo: str, at: Snapshot, event: ledger.RefEvent, cache: Path) -> bool:
    """Whether a snapshot has the recorded rows, by the Hub's digests."""
    manifest = repository.read_manifest_at(hub, repo, at)
    same = manifest is not None and manifest.content_sha256 == event.content_sha256
    return same and not verify_snapshot(hub, repo, at, cache, download=False)


def _set_aside(hub: HubClient, repo: str, name: str, sha: str, *, is_branch: bool = False) -> None:
    """Give a branch or a tag another name."""
    new = f"{ASIDE}-{name}-{sha[:12]}"
    if is_branch:
        create = partial(hub.api.create_branch, repo, branch=new, revision=sha, repo_type="dataset", exist_ok=True)
        call(hub, f"setting branch {name} aside", repo, create)
        repository.require_ref(hub, repo, repository.list_refs(hub, repo).branches, new, sha)
        delete = partial(hub.api.delete_branch, repo, branch=name, repo_type="dataset")
        call(hub, f"setting branch {name} aside", repo, unless_answered(404, delete))
    else:
        repository.rename_tag(hub, repo, name, new, sha)


def _restore_main(hub: HubClient, main: Snapshot, on_main: Manifest, commit: str, tag: str) -> None:
    """Commit the files of a tag to main; files of others stay.

    Raises PublishError where main holds other files afterwards.
    """
    at, manifest = repository.require_release(hub, main.repo, commit)
    stale = stale_files(main, [on_main, *([manifest] if manifest else [])], at.digests)
    changed = {path: digest for path, digest in at.digests.items() if main.digests.get(path) != digest}
    # The Hub copies a file in LFS. Of any other, its library would send what it downloads, whatever arrives.
    copies = [
        CommitOperationAdd(path, repository.read_file(hub, main.repo, at, path) or b"")
        if len(digest) == GIT_BLOB
        else CommitOperationCopy(path, path, src_revision=at.sha)
        for path, digest in changed.items()
    ]
    deletions = [CommitOperationDelete(path, is_folder=False) for path in stale]
    commit_files = partial(
        hub.api.create_commit, main.repo, [*copies, *deletions], commit_message=f"Restore {tag}", repo_type="dataset",
        parent_commit=main.sha,
    )  # fmt: skip
    made = call(hub, "restoring main", main.repo, commit_files)
    after = repository.require_snapshot(hub, main.repo, made.oid)
    if faults := [path for path, digest in at.digests.items() if after.digests.get(path) != digest]:
        raise PublishError("main does not hold the files of the tag", where=main.repo, found=", ".join(faults))
