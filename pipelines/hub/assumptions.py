"""What this package assumes about the Hub, asked of a Hub in a private repository that is deleted afterwards.

Every assumption is asked for alone. What needs a day, a second account or a real dataset is asked as far as a small repository
can show it, and the answer says what to run for the rest.
"""

import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from huggingface_hub import CommitInfo, CommitOperationAdd, HfApi, get_session, hf_raise_for_status

from builders.errors import PublishError
from builders.raw_files import Hub
from pipelines.hub import commits, inspection, organisation, repository
from pipelines.hub.client import OTHER_FORM, REMAINING, HubClient, call, explain_error
from pipelines.process.tables import wrap
from pipelines.raw.diagnosis import ROLES, file_access, gated_files
from pipelines.raw.digests import hash_content
from pipelines.release import folder

State = Literal["held", "did not hold", "could not be asked"]
Result = TypeVar("Result")

DATA = "data/test-00000-of-00001.parquet"
FILES = {folder.MANIFEST: b'{"doctor": "soon deleted"}\n', DATA: b"PAR1, and no more"}
QUOTA = re.compile(r'"(\w+)"\s*;\s*q=(\d+)\s*;\s*w=(\d+)', re.ASCII)  # of a RateLimit-Policy header
LIMITS = {"api": 1_000, "resolvers": 5_000}  # requests in five minutes: docs/checking.md

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Throwaway:
    """A private repository that is deleted afterwards.

    names: those that it may have. first, second: the shas of its first commits on main; the second has FILES. output: where
    local releases are. seen: what a question learned beside its answer.
    """

    hub: HubClient
    repo: str
    names: list[str]
    first: str
    second: str
    output: Path
    seen: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Assumption:
    """Something that the code relies on.

    number: it stays that of this assumption. matters: for what. ask: how the Hub behaves otherwise, a sentence each. later: what
    a small repository cannot show at once, and what to run.
    """

    number: int
    name: str
    matters: str
    ask: Callable[[Throwaway], list[str]] = lambda _: []
    _: KW_ONLY
    later: str = ""


@dataclass(frozen=True)
class Answer:
    """What a Hub answered. finding: what was seen, or why it could not be asked."""

    number: int
    assumption: str
    matters: str
    state: State
    finding: str


@contextmanager
def throwaway_repository(hub: HubClient, org: str, output: Path) -> Iterator[Throwaway]:
    """A new private repository `ORG/doctor-<random>` with two commits, deleted at the end whatever happens.

    Raises UsageError for an invalid organisation, PublishError where the token may not create it, or it cannot be deleted.
    """
    repo = commits.require_name(org, f"doctor-{secrets.token_hex(8)}")
    names = [repo]
    logger.info("%s: a private dataset repository, deleted at the end", repo)
    try:
        try:
            repository.create(hub, repo, private=True)
        except hub.error as error:
            if not explain_error(error).transient:  # else perhaps only the answer was lost
                names.clear()
            raise
        first = repository.require_snapshot(hub, repo, repository.MAIN).sha
        made = Throwaway(hub, repo, names, first, "", output)
        yield replace(made, second=_commit(made, FILES).oid)
    finally:
        _delete(hub, names)


def _delete(hub: HubClient, names: Sequence[str]) -> None:
    """Delete a repository under every name that it may have; where one fails, the others are tried."""
    left = dict[str, str]()
    for name in names:
        try:
            call(hub, "deleting it", name, partial(hub.api.delete_repo, name, repo_type="dataset", missing_ok=True))
        except hub.error as error:
            left[name] = explain_error(error).words
    if left:
        raise PublishError(
            "doctor's repository is not deleted",
            where=", ".join(left),
            found="; ".join(left.values()),
            todo=" && ".join(f"hf repos delete {name} --repo-type dataset" for name in left),
        )


def ask_all(made: Throwaway, numbers: Collection[int] = ()) -> list[Answer]:
    """What the Hub answers to every assumption, or to those with these numbers."""
    chosen = [assumption for assumption in ASSUMPTIONS if not numbers or assumption.number in numbers]
    return sorted((_ask(assumption, made) for assumption in chosen), key=lambda answer: answer.number)


def _ask(assumption: Assumption, made: Throwaway) -> Answer:
    for known in (made.seen, made.hub.snapshots, made.hub.files):
        known.clear()
    state: State = "could not be asked"
    try:
        faults = assumption.ask(made)
        state = "did not hold" if faults else state if assumption.later else "held"
        finding = "; ".join(faults or filter(None, [*made.seen, assumption.later]))
    except made.hub.error as error:
        state = "did not hold" if isinstance(error.__cause__, OTHER_FORM) else state
        finding = inspection.explain_failure(error, fatal=False)
    except OTHER_FORM as error:
        state, finding = "did not hold", f"an answer has another form ({type(error).__name__}: {error})"
    logger.info("%d, %s: %s", assumption.number, assumption.name, state)
    return Answer(assumption.number, assumption.name, assumption.matters, state, finding)


def page(where: str, answers: Sequence[Answer]) -> str:
    """The answers for reading, in 80 columns, and how many of each kind. where: the organisation and the server."""
    lines = [
        " #  answer              assumption",
        "--  ------------------  --------------------------------------------------------",
    ]
    for answer in answers:
        lines += wrap(answer.assumption, f"{answer.number:>2}  {answer.state:<20}")
        wrong = f"matters for {answer.matters}" if answer.state == "did not hold" else ""
        lines += [line for text in filter(None, [answer.finding, wrong]) for line in wrap(text, " " * 26)]
    states = [answer.state for answer in answers]
    counts = ", ".join(f"{states.count(state)} {state}" for state in get_args(State) if state in states)
    return "\n".join([*lines, "", *wrap(f"{where}: {counts}")])


def _on(made: Throwaway, method: Callable[..., Result], **options: Any) -> Callable[[], Result]:
    return partial(method, made.repo, repo_type="dataset", **options)


def _do(made: Throwaway, method: Callable[..., Result], **options: Any) -> Result:
    return call(made.hub, method.__name__.replace("_", " "), made.repo, _on(made, method, **options))


def _commit(made: Throwaway, files: Mapping[str, bytes], branch: str = repository.MAIN, **options: Any) -> CommitInfo:
    options |= {
        "operations": [CommitOperationAdd(path, content) for path, content in files.items()],
        "revision": branch,
    }
    return _do(made, made.hub.api.create_commit, commit_message="doctor", **options)


def _commit_aside(made: Throwaway, number: int) -> tuple[str, str, dict[str, bytes]]:
    """A new branch with one commit: its name, the sha, and the file."""
    branch, files = f"doctor-{number}", {f"aside/{number}.parquet": secrets.token_bytes(2000)}
    _do(made, made.hub.api.create_branch, branch=branch, revision=made.second)
    return branch, _commit(made, files, branch).oid, files


def _request(made: Throwaway, method: str, path: str, **options: Any) -> Any:
    """A request of our own; what the Hub answers, which is not an error."""
    options["headers"] = made.hub.headers | options.get("headers", {})

    def ask() -> Any:
        response = get_session().request(method, f"{made.hub.api.endpoint}{path}", **options)
        hf_raise_for_status(response)
        return response

    return call(made.hub, f"{method} {path}", made.repo, ask)


def _unless(made: Throwaway, what: str, action: Callable[[], object], status: int | None = None) -> list[str]:
    """What the Hub answers to an action instead of this status, or instead of doing it. A Hub that is busy says nothing."""
    try:
        call(made.hub, what, made.repo, action)
    except made.hub.error as error:
        trouble = explain_error(error)
        if trouble.status is None or trouble.transient:
            raise
        return [] if trouble.status == status else [f"{what}: {trouble.words}"]
    return [f"{what}: done, and not answered with {status}"] if status else []


def _differ(what: str, found: object, expected: object) -> list[str]:
    return [] if found == expected else [f"{what} {found}, and not {expected}"]


def _find_lost(made: Throwaway, revision: str, files: Mapping[str, bytes]) -> list[str]:
    """What the Hub lacks of these files at a revision, by its digests and by reading them."""
    at = repository.snapshot(made.hub, made.repo, revision)
    if at is None:
        return [f"{revision} is not found"]
    reads = {path: partial(repository.read_file, made.hub, made.repo, at, path) for path in files}
    return repository.find_differences(at, files, {}) + [
        fault for path, read in reads.items() for fault in _unless(made, f"reading {path}", read)
    ]


def _head(made: Throwaway) -> str:
    return repository.require_snapshot(made.hub, made.repo, repository.MAIN).sha


def _listing(made: Throwaway) -> list[str]:
    listed = organisation.list_repositories(made.hub, made.repo.partition("/")[0])
    return _differ("whether its manifest is listed:", listed.get(made.repo, "not even the repository"), expected=True)


def _next_page(made: Throwaway) -> list[str]:
    start = f"{made.hub.api.endpoint}/api/datasets"
    reads = [
        partial(organisation.read_page, made.hub, start, {"limit": limit}, organisation.Listed) for limit in ("1", "2")
    ]
    (_, link), (two, _) = [call(made.hub, "listing datasets", made.repo, read) for read in reads]
    if len(two) < 2:
        raise PublishError("this Hub has no other repository, so nothing continues")
    return [] if link and link.startswith(f"{start}?") else [f"the link is {link}"]


def _squash(made: Throwaway) -> list[str]:
    branch, sha, files = _commit_aside(made, 3)
    repository.create_tag(made.hub, made.repo, "v3.0.0", sha)
    _commit(made, dict.fromkeys(files, secrets.token_bytes(2000)), branch)
    _do(made, made.hub.api.super_squash_history, branch=branch)
    return _find_lost(made, "v3.0.0", files)


def _deleted_branch(made: Throwaway) -> list[str]:
    branch, sha, files = _commit_aside(made, 4)
    repository.create_tag(made.hub, made.repo, "v4.0.0", sha)
    _do(made, made.hub.api.delete_branch, branch=branch)
    return _find_lost(made, "v4.0.0", files)


def _same_name(made: Throwaway) -> list[str]:
    name = "v5.0.0"
    repository.create_tag(made.hub, made.repo, name, made.first)
    _do(made, made.hub.api.create_branch, branch=name, revision=made.second)
    both, reader = repository.list_refs(made.hub, made.repo), repository.snapshot(made.hub, made.repo, name)
    made.seen.append(f"a reader gets the {'tag' if reader and reader.sha == made.first else 'branch'}")
    _do(made, made.hub.api.delete_branch, branch=name)
    left = repository.list_refs(made.hub, made.repo)
    return _differ("listed are", [both.tags.get(name), both.branches.get(name)], [made.first, made.second]) + _differ(
        "and without the branch", [left.tags.get(name), left.branches.get(name)], [made.first, None]
    )


def _tags(made: Throwaway) -> list[str]:
    repository.create_tag(made.hub, made.repo, "v6.0.0", made.second)
    _do(made, made.hub.api.create_tag, tag="v6.1.0", tag_message="doctor", revision=made.second)
    plain, noted = repository.list_refs(made.hub, made.repo).tags, repository.snapshot(made.hub, made.repo, "v6.1.0")
    itself = plain.get("v6.1.0") == made.second
    made.seen.append(f"one with a message is listed on {'it' if itself else 'an object of its own'}")
    return _differ("a new tag is on", plain.get("v6.0.0"), made.second) + _differ(
        "one with a message is read as", noted and noted.sha, made.second
    )


def _tag_again(made: Throwaway) -> list[str]:
    branch, sha, files = _commit_aside(made, 7)
    _do(made, made.hub.api.delete_branch, branch=branch)
    tag = _on(made, made.hub.api.create_tag, tag="v7.0.0", revision=sha)
    return _unless(made, "tagging a commit without a ref", tag) or _find_lost(made, "v7.0.0", files)


def _cards(made: Throwaway) -> list[str]:
    cards = sorted(made.output.glob(f"*/*/{folder.CARD}"))
    if not cards:
        raise PublishError(f"no release in {made.output}: build some, with --sample perhaps, or pass --output DIR")
    made.seen.append(f"cards in {made.output}: {len(cards)}")
    check = partial(_request, made, "POST", "/api/validate-yaml")
    bodies = {path.parent: {"repoType": "dataset", "content": path.read_text("utf-8")} for path in cards}
    return [fault for path, body in bodies.items() for fault in _unless(made, str(path), partial(check, json=body))]


def _statuses(made: Throwaway) -> list[str]:
    api, (branch, *_) = made.hub.api, _commit_aside(made, 9)
    _do(made, api.delete_branch, branch=branch)
    repository.create_tag(made.hub, made.repo, "v9.0.0", made.first)
    commit = partial(_commit, made, {"aside/9.json": b"{}"})
    refused: tuple[tuple[int, str, Callable[[], object]], ...] = (
        (412, "a commit on an old parent", partial(commit, parent_commit=made.first)),
        (404, "a commit to a deleted branch", partial(commit, branch)),
        (404, "deleting a deleted branch", _on(made, api.delete_branch, branch=branch)),
        (404, "deleting a missing tag", _on(made, api.delete_tag, tag="v9.1.0")),
        (409, "a tag that exists", _on(made, api.create_tag, tag="v9.0.0", revision=made.second)),
        (409, "a repository that exists", _on(made, api.create_repo, private=True)),
    )
    return [fault for status, what, action in refused for fault in _unless(made, what, action, status)]


def _old_start(made: Throwaway) -> list[str]:
    branch = _on(made, made.hub.api.create_branch, branch="doctor-10", revision=made.first)
    return _unless(made, "a branch that begins at an old commit", branch) or _differ(
        "the branch begins at", repository.list_refs(made.hub, made.repo).branches.get("doctor-10"), made.first
    )


def _renamed(made: Throwaway) -> list[str]:
    hub, old, new = made.hub, made.repo, f"{made.repo}-renamed"
    made.names.append(new)
    call(hub, "renaming it", old, partial(hub.api.move_repo, old, new, repo_type="dataset"))
    made.names.remove(old)
    at = repository.snapshot(hub, old)
    if at is None or at.repo != new:
        return _differ("the old name leads to", at and at.repo, new)
    refs, file = partial(repository.list_refs, hub, old), partial(repository.read_file, hub, old, at, folder.MANIFEST)
    return _unless(made, "refs by the old name", refs) + _unless(made, "a file by the old name", file)


def _read_back(made: Throwaway) -> list[str]:
    files = {"aside/12.parquet": secrets.token_bytes(2000)}
    sha = _commit(made, files).oid
    return _differ("main is on", _head(made), sha) + _find_lost(made, sha, files)


def _listed_digests(made: Throwaway) -> list[str]:
    at = repository.require_snapshot(made.hub, made.repo, repository.MAIN)
    digests = {DATA: hash_content(FILES[DATA]).sha256, folder.MANIFEST: hash_content(FILES[folder.MANIFEST]).git_blob}
    return [fault for path in digests for fault in _differ(f"{path} is listed as", at.digests.get(path), digests[path])]


def _no_ending(made: Throwaway) -> list[str]:
    contents = {"text": secrets.token_hex(32).encode(), "NUL bytes": b"\0" + secrets.token_bytes(32)}
    files = {f"git-blob/{hash_content(content).git_blob}": content for content in contents.values()}
    sha = _commit(made, files).oid
    at = repository.require_snapshot(made.hub, made.repo, sha)
    for kind, path in zip(contents, files, strict=True):
        digest = at.digests.get(path, "")
        made.seen.append(f"{kind} by {'git blob id' if len(digest) == repository.GIT_BLOB else 'sha256'}")
    return repository.find_differences(at, files, {})


def _pull_request(made: Throwaway) -> list[str]:
    files = {"aside/16.json": secrets.token_hex(16).encode()}
    number, body = _commit(made, files, create_pr=True).pr_num, {"title": "doctor", "description": "doctor"}
    path = f"/api/datasets/{made.repo}/discussions"
    empty = _request(made, "POST", path, json={**body, "pullRequest": True}).json()["num"]
    read = _on(made, made.hub.api.get_repo_discussions, discussion_type="pull_request", discussion_status="open")
    states = call(made.hub, "reading its pull requests", made.repo, lambda: {one.num: one.status for one in read()})
    made.seen.append(f"it is listed as {states.get(number or 0)}, an empty one as {states.get(empty)}")
    return _differ("whether it is listed:", number in states, expected=True) + _find_lost(
        made, f"refs/pr/{number}", files
    )


def _whoami(made: Throwaway) -> list[str]:
    who = call(made.hub, "identifying the token", made.hub.api.endpoint, made.hub.api.whoami)
    role = who.get("auth", {}).get("accessToken", {}).get("role")
    if role in ROLES and role != "fineGrained":
        raise PublishError(
            f"this token has the role {role}: run doctor with a fine-grained one, and the workflow publish"
        )
    return [] if role in ROLES else [f"the role of the token is {role}"]


def _gated(made: Throwaway) -> list[str]:
    name, file = next(iter(gated_files().items()))
    line = file_access(name, file, None, made.hub.api.endpoint)
    assert isinstance(file.location, Hub), "only files of the Hub are gated"
    outsider = replace(made.hub, api=HfApi(made.hub.api.endpoint, token=False))
    try:
        repository.require_snapshot(outsider, file.location.repo, repository.MAIN)
        digests = "listed"
    except made.hub.error as error:
        digests = inspection.explain_failure(error)
    gated = digests.startswith("gated: ")
    made.seen.append(f"asked without a token; with that of a second account: check --org. {line.text}")
    made.seen.append(f"its digests are {'gated too' if gated else 'listed'}")
    return ([] if "no token" in line.text else [line.text]) + ([] if gated or digests == "listed" else [digests])


def _rate_limit(made: Throwaway) -> list[str]:
    limit = _request(made, "GET", f"/api/datasets/{made.repo}/refs").headers.get("RateLimit")
    made.seen.append(f"{limit}; a 429 was not provoked")
    return [] if REMAINING.search(limit or "") else [f"it is {limit}"]


def _quota(made: Throwaway) -> list[str]:
    paths = (f"/api/datasets/{made.repo}/refs", f"/datasets/{made.repo}/resolve/main/{folder.MANIFEST}")
    policies = [_request(made, "GET", path).headers.get("RateLimit-Policy", "") for path in paths]
    found = {policy[1]: (int(policy[2]), int(policy[3])) for policy in map(QUOTA.search, policies) if policy}
    made.seen.append("; ".join(policies))
    if found.keys() != LIMITS.keys():
        raise PublishError(
            f"RateLimit-Policy is {policies}: embedding-datasets check --org ORG --no-download -v counts requests"
        )
    enough = all(limit >= LIMITS[kind] and seconds == 300 for kind, (limit, seconds) in found.items())
    return [] if enough else policies


def _cut_body(made: Throwaway) -> list[str]:
    before = _head(made)
    for body in (b"", b'{"key": "header", "value": {"summary": "cut"}}\n{"key": "file", "value": {"pa'):
        path, headers = f"/api/datasets/{made.repo}/commit/main", {"Content-Type": "application/x-ndjson"}
        send = partial(_request, made, "POST", path, content=body, headers=headers)
        made.seen.extend(_unless(made, f"{len(body)} bytes", send))
    return _differ("main is on", _head(made), before)


def _history(made: Throwaway) -> list[str]:
    listed = repository.list_commits(made.hub, made.repo)
    return _differ("the newest is", listed[0], _head(made)) + _differ(
        "the last", listed[-2:], [made.second, made.first]
    )


def _lost_object(made: Throwaway) -> list[str]:
    _, sha, files = _commit_aside(made, 24)
    [path], at, api = files, repository.require_snapshot(made.hub, made.repo, sha), made.hub.api
    lfs = _on(made, api.list_lfs_files)
    known = call(made.hub, "listing its files in LFS", made.repo, lambda: list(lfs()))
    deleted = [file for file in known if at.digests[path] in (file.oid, file.file_oid)]
    _do(made, api.permanently_delete_lfs_files, lfs_files=deleted, rewrite_history=False)
    if (reason := repository.find_lost_file(made.hub, made.repo, at, path)) is None:
        return [f"{path}: {len(deleted)} deleted of {len(known)} files in LFS, and its first byte is sent"]
    made.seen.append(reason)
    return []


def _merged(made: Throwaway) -> list[str]:
    files = {"aside/25.json": secrets.token_hex(16).encode()}
    request = _commit(made, files, create_pr=True)
    _do(made, made.hub.api.merge_pull_request, discussion_num=request.pr_num)
    made.seen.append(f"main is on {'its' if _head(made) == request.oid else 'another'} commit")
    return _find_lost(made, repository.MAIN, files)


def _attributes(made: Throwaway) -> list[str]:
    files, before = {"aside/26": bytes(2000)}, repository.require_snapshot(made.hub, made.repo, repository.MAIN)
    sha = _commit(made, files).oid
    digests = repository.require_snapshot(made.hub, made.repo, sha).digests
    changed = {path for path, _ in before.digests.items() ^ digests.items()} - files.keys()
    if digests.get("aside/26") == hash_content(files["aside/26"]).git_blob and not changed:
        raise PublishError("a file with NUL bytes and no ending is not kept in LFS, so nothing was to be added")
    made.seen.append(f"for a file in LFS it {'changes' if changed else 'does not change'}")
    return _differ("changed has", sorted(changed - commits.NEW_FILES), [])


def _small_file(made: Throwaway) -> list[str]:
    if faults := _find_lost(made, made.second, {folder.MANIFEST: FILES[folder.MANIFEST]}):
        return faults
    response = _request(made, "GET", f"/datasets/{made.repo}/resolve/{made.second}/{folder.MANIFEST}")
    statuses = ", then ".join(str(answer.status_code) for answer in (*response.history, response))
    ours = str(response.url).startswith(made.hub.api.endpoint)
    made.seen.append(f"status {statuses}, of {'the same' if ours else 'another'} server")
    return []


ASSUMPTIONS = (
    Assumption(1, "a private repository is listed, with all files or none", "check --org", _listing),
    Assumption(2, "a listing continues on the same server", "check --org: many repositories", _next_page),
    Assumption(
        3, "a squash leaves an older tag its files", "check --org, publish --repair", _squash,
        later="at once it does. A day after a squash: embedding-datasets check ORG/NAME@v1.0.0",
    ),
    Assumption(
        4, "a commit lives by its tag, without its branch", "publish: older versions", _deleted_branch,
        later="at once it does. 36 hours after publishing an older version: embedding-datasets check ORG/NAME@v1.0.0",
    ),
    Assumption(5, "a branch is listed and deleted apart from a tag of its name", "publish --repair", _same_name),
    Assumption(6, "a new tag is listed on its commit, one with a message read as it", "publish, check --org", _tags),
    Assumption(7, "a commit that no ref is on can be tagged again", "publish --repair", _tag_again),
    Assumption(8, "the cards of releases pass the check of their metadata", "publish", _cards),
    Assumption(9, "412 for an old parent, 404 for what is gone, 409 for what exists", "publish: reruns, races", _statuses),
    Assumption(10, "a branch may begin at an older commit", "publish: older versions", _old_start),
    Assumption(
        12, "a commit can be read at once", "publish: reading back", _read_back,
        later="two kilobytes can. With 500 MB: embedding-datasets publish NAME --org ORG --private -v",
    ),
    Assumption(13, "data are listed by sha256, documents by git blob id", "publish and check without download", _listed_digests),
    Assumption(14, "a small file without an ending is listed by a digest of its bytes", "check --org: mirrors", _no_ending),
    Assumption(
        15, "a commit of many large files ends in time", "publish: MIRACL",
        later="embedding-datasets publish miracl-retrieval-ru --org ORG --private",
    ),
    Assumption(16, "a new pull request is among the open ones, and has its files", "publish --create-pr: reruns", _pull_request),
    Assumption(17, "whoami names the role of any token", "publish: its first request", _whoami),
    Assumption(18, "a gated file is refused as gated", "check --org, fetch, doctor", _gated),
    Assumption(19, "RateLimit says how many requests are left", "waits before the limit is reached", _rate_limit),
    Assumption(20, "1,000 requests of the API and 5,000 of files in 300 s", "the size of an organisation to check", _quota),
    Assumption(
        21, "the viewer takes class labels from the card", "the pages of datasets",
        later="the viewer is another server: look at the page of a published dataset",
    ),
    Assumption(22, "an incomplete commit is not made", "publish: interruptions", _cut_body),
    Assumption(23, "commits are listed newest first, and all of them", "publish: older versions", _history),
    Assumption(24, "a file that LFS has lost is refused", "check --org", _lost_object),
    Assumption(25, "main has the files of a merged pull request", "publish --create-pr: after a merge", _merged),
    Assumption(26, "beside what is committed, .gitattributes alone may change", "publish: others' files", _attributes),
    Assumption(27, "a small file is sent, or redirected to", "publish, check", _small_file),
    Assumption(11, "the old name of a renamed repository leads to the new one", "publish, check --org, --repair", _renamed),
)  # fmt: skip  # the last one renames it
