"""An in-memory Hub on 127.0.0.1 with dataset repositories, commits, LFS, tags, branches, downloads and injected faults.

    with LoopbackHub() as hub:
        HfApi(endpoint=hub.url, token=WRITER)            # or HF_ENDPOINT=hub.url in the environment of a new process
        hub.fail(3, Fault(status=429, headers={"Retry-After": "7"}))  # fail the fourth request from now
    hub.tree("org/name", "v1.0.0")                       # content by path at a commit, branch or tag

`python -m tests.support.loopback_hub` prints its address and serves until its standard input is closed, or without any
(`</dev/null`) until it is interrupted. Large files go through LFS or Xet, as the client likes. The Hub supports the calls that
huggingface_hub 2.4, hf_xet 1.8 and datasets 5.2 make.
"""

import base64
import copy
import hashlib
import json
import os
import re
import select
import string
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import yaml

from tests.support.loopback_xet import XetError, XetStore

WRITER, READER, EXPIRED = "hf_writer_token", "hf_reader_token", "hf_expiredToken"
FINE_GRAINED = "hf_fineGrained_token"
ROLES = {WRITER: "write", READER: "read", FINE_GRAINED: "fineGrained"}
STALE_PARENT = "The branch was updated since you opened this page. Please refresh and try again."
TIMESTAMP = "2024-01-01T00:00:00.000Z"
SAFE = string.punctuation + " "  # allowed in a header; other characters are written as %XX
XET_TOKENS = {"read": "xet-read-token", "write": "xet-write-token"}
NEVER = 4_102_444_800  # when Xet tokens expire: the year 2100
MAX_SIBLINGS = 1100  # of a repository; where the real Hub cuts this list is not documented
PAGE = 3  # repositories in one answer of the listing; the real Hub sends more
REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"
SLUG = r"(?P<slug>[\w.-]+/[\w.-]+)"


@dataclass(frozen=True)
class Fault:
    """A fault injected into the answer to one request.

    status: replaces the real status and body. headers: added to the answer. stall: send nothing until the client disconnects.
    executed: execute the request even if `status` or `stall` is set. cut_answer: execute the request, and close the connection
    after this many bytes of the answer, headers included. cut_request: close the connection after reading this many bytes of the
    request body, without executing the request.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    executed: bool = False
    cut_answer: int | None = None
    cut_request: int | None = None
    stall: bool = False


@dataclass(frozen=True)
class Blob:
    """The content of a file, and whether it is stored in LFS."""

    content: bytes
    lfs: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def git(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()


@dataclass(frozen=True)
class Commit:
    """A complete tree by path, its parent commit and its message."""

    tree: dict[str, Blob]
    parent: str | None
    title: str
    description: str


@dataclass
class Repo:
    """A repository.

    branches: includes pull requests, as `refs/pr/1`. moves: every (ref, commit) update, in order. gated: only a writer may read
    its files, while anybody may read its name and its tags. annotated: the tag objects that the listing names, by tag. lost: the
    sha256 of files whose content is deleted. merged: the names of pull requests.
    """

    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)
    gated: bool = False
    annotated: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    merged: set[str] = field(default_factory=set)

    def add(self, branch: str, commit: Commit) -> str:
        """Append a commit to a branch and return its hash."""
        digests = sorted((path, blob.git) for path, blob in commit.tree.items())
        content = json.dumps([commit.parent, commit.title, commit.description, len(self.moves), digests])
        sha = hashlib.sha1(content.encode()).hexdigest()
        self.commits[sha] = commit
        self.branches[branch] = sha
        self.moves.append((branch, sha))
        return sha


class LoggedRequest(NamedTuple):
    """A request and the status of its answer, or 0 if the connection was cut."""

    method: str
    path: str
    status: int


class HubError(Exception):
    """An error answer: status, message, the Hub's error code, and additional JSON keys."""

    def __init__(self, status: int, message: str, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.details = status, message, code, details


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class LoopbackHub:
    """The Hub: serves on a free port while its context is open.

    repos: by name. objects: uploaded content of large files by SHA-256. xet: the Xet store, where they may come from. log:
    requests so far. collections: by slug. renamed: new names of repositories. user_agents: of each request, by its path. ranges:
    of bytes, that were asked for so far. before_answer: functions by path fragment; each runs once, before the next request whose
    path contains the fragment is answered. fail_at: faults by path fragment, for every such request. otherwise: answers every
    request instead of this Hub, whose own answer it may ask for.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.collections: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, bytes] = {}
        self.xet = XetStore()
        # Xet's client remembers for an address what was uploaded there, and another Hub may get the port again.
        self.xet_path = f"/xet/{uuid.uuid4().hex}"
        self.log: list[LoggedRequest] = []
        self.before_answer: dict[str, Callable[[], object]] = {}
        self.user_agents: dict[str, str] = {}
        self.ranges: list[str] = []
        self.fail_at: dict[str, Fault] = {}
        self.always: Fault | None = None
        self.otherwise: Callable[[Request, Callable[[], Answer]], Answer] = lambda _, usual: usual()
        self.renamed: dict[str, str] = {}
        self._faults: dict[int, Fault] = {}
        self._count = 0
        self._lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The endpoint of this Hub."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def fail(self, after: int, fault: Fault, *, always: bool = False) -> None:
        """Inject a fault after `after` more requests: into one request, or (always) into every request from then on."""
        with self._lock:
            self._faults = {self._count + after: fault}
            self.always = fault if always else None

    def stop_failing(self) -> None:
        """Remove all injected faults."""
        with self._lock:
            self._faults, self.always, self.fail_at = {}, None, {}

    def state(self) -> Any:
        """Return a copy of all content, for `restore`."""
        with self._lock:
            return copy.deepcopy(self.repos), dict(self.objects)

    def restore(self, state: Any) -> None:
        """Restore content returned by `state`, clear the log, and remove all injected faults."""
        with self._lock:
            self.stop_failing()
            self.repos, self.objects = copy.deepcopy(state[0]), dict(state[1])
            self.log = []

    def tree(self, repo: str, revision: str = "main") -> dict[str, bytes]:
        """Return the files of a repository at a branch, tag or commit: content by path."""
        with self._lock:
            repository = self.repos[repo]
            return {
                path: blob.content for path, blob in repository.commits[self.sha(repository, revision)].tree.items()
            }

    def commit(self, repo: str, changes: dict[str, bytes | None], title: str = "by hand", branch: str = "main") -> str:
        """Commit to a branch as another user; the value None deletes a file."""
        with self._lock:
            repository = self.repos[repo]
            parent = repository.branches[branch]
            tree = dict(repository.commits[parent].tree)
            for path, content in changes.items():
                tree.pop(path, None)
                if content is not None:
                    tree[path] = Blob(content, _is_lfs(path, len(content)))
            return repository.add(branch, Commit(tree, parent, title, ""))

    def create(self, repo: str, files: dict[str, bytes | None]) -> str:
        """Create a public repository of somebody else, and return the sha of its files."""
        with self._lock:
            self.repos[repo] = Repo(private=False)
            self.repos[repo].add("main", Commit({}, None, "initial commit", ""))
            return self.commit(repo, files)

    def rename(self, old: str, new: str) -> None:
        """Rename a repository; its old name leads to the new one."""
        self.repos[new] = self.repos.pop(old)
        self.renamed[old] = new

    def squash(self, repo: str) -> str:
        """Make the files of main its only commit, and return its sha."""
        repository = self.repos[repo]
        tree = repository.commits[repository.branches["main"]].tree
        return repository.add("main", Commit(tree, None, "squashed", ""))

    def forget(self, repo: str, sha: str) -> None:
        """Lose a commit, which no ref leads to."""
        del self.repos[repo].commits[sha]

    def lose(self, repo: str, path: str, revision: str) -> str:
        """Lose the content of a file, and return what happens to whoever asks for it."""
        sha = self.sha(self.repos[repo], revision)
        self.fail_at[f"/{sha}/{path}"] = Fault(status=404, headers={"X-Error-Code": "EntryNotFound"})
        return "has lost its content"

    def sha(self, repo: Repo, revision: str) -> str:
        """Resolve a tag, branch or commit to a commit hash."""
        sha = repo.tags.get(revision) or repo.branches.get(revision) or revision
        if sha not in repo.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return sha

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _next_fault(self, path: str) -> Fault:
        with self._lock:
            number, self._count = self._count, self._count + 1
            for part, fault in self.fail_at.items():
                if part in path:
                    return fault
            if number in self._faults:
                return self._faults.pop(number)
            return Fault() if self.always is None or self._faults else self.always

    def answer(self, request: Request) -> Answer:
        """Execute a request atomically and return its answer."""
        with self._lock:
            try:
                answer = self.otherwise(request, lambda: self._dispatch(request))
            except HubError as error:
                headers = {"X-Error-Message": error.message} | ({"X-Error-Code": error.code} if error.code else {})
                answer = Answer(error.status, json.dumps({"error": error.message, **error.details}).encode(), headers)
            kind, quota = ("resolvers", 5000) if "/resolve/" in request.path else ("api", 1000)
            limits = {
                "RateLimit": f'"{kind}";r={quota - 1};t=300', "RateLimit-Policy": f'"fixed window";"{kind}";q={quota};w=300',
            }  # fmt: skip
            return answer._replace(headers=limits | answer.headers)

    def _dispatch(self, request: Request) -> Answer:
        for old, new in self.renamed.items():
            if re.match(rf"(/api)?/datasets/{re.escape(old)}(/|\.git|$)", request.path):
                query = urlencode(request.query, doseq=True)
                return Answer(
                    307, b"", {"Location": f"{request.path.replace(old, new, 1)}{'?' if query else ''}{query}"}
                )
        for methods, pattern, handle in ROUTES:
            match = re.fullmatch(pattern, request.path)
            if match and request.method in methods:
                parts = {name: unquote(part) for name, part in match.groupdict().items() if part}
                return handle(self, request, **parts)
        raise HubError(404, f"unknown call: {request.method} {request.path}")

    def readable(self, request: Request, name: str) -> Repo:
        """Return a repository whose files the token permits reading."""
        repository = self.repo(request, name)
        if repository.gated and _role(request) != "write":
            words = f"Access to dataset {name} is restricted and you are not in the authorized list."
            raise HubError(403 if _role(request) else 401, words, "GatedRepo")
        return repository

    def repo(self, request: Request, name: str, *, write: bool = False) -> Repo:
        """Return a repository, or raise HubError if the token does not permit reading (or writing)."""
        role = _role(request)
        repository = self.repos.get(name)
        if repository is None or (repository.private and role is None):
            raise HubError(404 if role else 401, "Repository not found", "RepoNotFound")
        if write and role != "write":
            raise HubError(403 if role else 401, f"You do not have write access to {name}")
        return repository


def _role(request: Request) -> str | None:
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token == EXPIRED:
        raise HubError(401, f"User access token {token} has expired")
    if token and token not in ROLES:
        raise HubError(401, "Invalid credentials in Authorization header")
    return ROLES.get(token)


def _is_lfs(path: str, size: int) -> bool:
    return path.endswith(".parquet") or size > 10_000_000


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _whoami(hub: LoopbackHub, request: Request) -> Answer:
    role = _role(request)
    if role is None:
        raise HubError(401, "Invalid username or password.")
    token: dict[str, Any] = {"displayName": "test", "role": role, "createdAt": TIMESTAMP}
    if role == "fineGrained":
        scoped = [{"entity": {"type": "user", "name": "tester"}, "permissions": ["repo.content.read"]}]
        token["fineGrained"] = {"canReadGatedRepos": False, "global": [], "scoped": scoped}
    orgs = [{"type": "org", "name": "org", "roleInOrg": "admin"}]
    auth = {"type": "access_token", "accessToken": token}
    return _json({"type": "user", "name": "tester", "orgs": orgs, "auth": auth})


def _create(hub: LoopbackHub, request: Request) -> Answer:
    payload = request.json
    if _role(request) != "write" or payload.get("organization") == "foreign":
        raise HubError(403, "You don't have the rights to create a dataset under this namespace")
    name = f"{payload.get('organization') or 'tester'}/{payload['name']}"
    url = f"{hub.url}/datasets/{name}"
    if name in hub.repos:
        raise HubError(409, "You already created this dataset repo", url=url)
    hub.repos[name] = Repo(payload.get("visibility") == "private" or bool(payload.get("private")))
    attributes = Blob(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", lfs=False)
    hub.repos[name].add("main", Commit({".gitattributes": attributes}, None, "initial commit", ""))
    return _json({"url": url, "name": name})


def _named(hub: LoopbackHub, request: Request, name: str) -> str:
    """The repository that a call changes as a whole, if the token may."""
    hub.repo(request, name, write=True)
    return name


def _delete(hub: LoopbackHub, request: Request) -> Answer:
    payload = request.json
    del hub.repos[_named(hub, request, f"{payload['organization']}/{payload['name']}")]
    return _json({})


def _move(hub: LoopbackHub, request: Request) -> Answer:
    old, new = _named(hub, request, request.json["fromRepo"]), request.json["toRepo"]
    hub.repos[new], hub.renamed[old] = hub.repos.pop(old), new
    return _json({})


def _yaml_errors(card: str) -> list[str]:
    head = re.match(r"---\r?\n(.*?)\r?\n---", card, re.DOTALL)
    try:
        return [] if isinstance(yaml.safe_load(head[1]) if head else {}, dict) else ["metadata is not a mapping"]
    except yaml.YAMLError as error:
        return [str(error)]


def _validate_yaml(hub: LoopbackHub, request: Request) -> Answer:
    errors = [{"message": message} for message in _yaml_errors(request.json["content"])]
    return _json({"errors": errors, "warnings": []}, 400 if errors else 200)


def _list(hub: LoopbackHub, request: Request) -> Answer:
    """The repositories that the token may see, of an author or of all; their files by name where `full` is set."""
    given = {name: values[0] for name, values in request.query.items()}
    start, limit = int(given.get("cursor", 0)), int(given.get("limit", PAGE))
    role, beginning = _role(request), f"{given['author']}/" if "author" in given else ""
    names = sorted(
        name for name, repo in hub.repos.items() if name.startswith(beginning) and (role or not repo.private)
    )
    items = []
    for name in names[start : start + limit]:
        repository = hub.repos[name]
        tree = repository.commits[repository.branches["main"]].tree
        files = {"sha": repository.branches["main"], "siblings": [{"rfilename": path} for path in sorted(tree)]}
        common = {
            "id": name,
            "author": name.partition("/")[0],
            "private": repository.private,
            "createdAt": TIMESTAMP,
            "tags": [],
        }
        items.append(common | {"gated": "manual" if repository.gated else False} | (files if "full" in given else {}))
    answer = _json(items)
    if start + limit < len(names):
        query = urlencode(given | {"cursor": start + limit})
        answer.headers["Link"] = f'<{hub.url}/api/datasets?{query}>; rel="next"'
    return answer


def _info(hub: LoopbackHub, request: Request, repo: str, revision: str = "main") -> Answer:
    repository = hub.readable(request, repo) if "blobs" in request.query else hub.repo(request, repo)
    sha = hub.sha(repository, revision)
    files = sorted(repository.commits[sha].tree.items())
    return _json(
        {
            "id": repo, "sha": sha, "private": repository.private, "gated": repository.gated and "manual",
            "disabled": False, "downloads": 0, "likes": 0,
            "tags": [], "lastModified": TIMESTAMP, "createdAt": TIMESTAMP,
            "siblings": [{"rfilename": path, **_digests(blob)} for path, blob in files[:MAX_SIBLINGS]],
        }
    )  # fmt: skip


def _digests(blob: Blob) -> dict[str, Any]:
    lfs = {"lfs": {"sha256": blob.sha256, "size": len(blob.content), "pointerSize": 134}} if blob.lfs else {}
    return {"size": len(blob.content), "blobId": blob.git, **lfs}


def _entry(path: str, tree: dict[str, Blob]) -> dict[str, Any] | None:
    """Return the listing entry of a file or folder, or None if the path does not exist."""
    if path in tree:
        blob = tree[path]
        lfs = {"lfs": {"oid": blob.sha256, "size": len(blob.content), "pointerSize": 134}} if blob.lfs else {}
        return {"type": "file", "path": path, "size": len(blob.content), "oid": blob.git, **lfs}
    if any(other.startswith(f"{path}/") for other in tree):
        return {"type": "directory", "path": path, "size": 0, "oid": hashlib.sha1(path.encode()).hexdigest()}
    return None


def _tree(hub: LoopbackHub, request: Request, repo: str, revision: str, folder: str = "") -> Answer:
    repository = hub.repo(request, repo)
    tree = repository.commits[hub.sha(repository, revision)].tree
    if folder and not any(path.startswith(f"{folder}/") for path in tree):
        raise HubError(404, f"{folder} does not exist", "EntryNotFound")
    recursive = request.query.get("recursive", [""])[0].lower() == "true"
    prefix = f"{folder}/" if folder else ""
    entries: dict[str, None] = {}
    for path in sorted(path for path in tree if path.startswith(prefix)):
        parts = path.removeprefix(prefix).split("/")
        for depth in range(1, (len(parts) if recursive else 1) + 1):
            entries[prefix + "/".join(parts[:depth])] = None
    return _json([_entry(path, tree) for path in entries])


def _paths_info(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo)
    tree = repository.commits[hub.sha(repository, revision)].tree
    form = request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
    paths = parse_qs(request.body.decode()).get("paths", []) if form else request.json["paths"]
    return _json([entry for entry in (_entry(path.strip("/"), tree) for path in paths) if entry])


def _refs(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    repository = hub.repo(request, repo)
    pulls = {name: sha for name, sha in repository.branches.items() if name.startswith("refs/pr/")}
    return _json(
        {
            "branches": [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha}
                for name, sha in repository.branches.items()
                if name not in pulls
            ],
            "tags": [
                {"name": name, "ref": f"refs/tags/{name}", "targetCommit": repository.annotated.get(name, sha)}
                for name, sha in repository.tags.items()
            ],
            "converts": [],
            "pullRequests": [{"name": name, "ref": name, "targetCommit": sha} for name, sha in pulls.items()],
        }
    )


def _discussions(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    """The pull requests, the newest first, or a new one; none is a draft, and there are no other discussions."""
    repository, listed = hub.repo(request, repo, write=request.method == "POST"), []
    if request.method == "POST":
        number = sum(name.startswith("refs/pr/") for name in repository.branches) + 1
        repository.branches[f"refs/pr/{number}"] = repository.branches["main"]
        return _json({"num": number})
    for name, sha in reversed(repository.branches.items()):
        if name.startswith("refs/pr/"):
            listed.append(
                {"num": int(name.rpartition("/")[2]), "title": repository.commits[sha].title, "author": {"name": "tester"},
                 "createdAt": TIMESTAMP, "status": "merged" if name in repository.merged else "open",
                 "isPullRequest": True, "repo": {"name": repo, "type": "dataset"}}
            )  # fmt: skip
    if request.query.get("status") == ["open"]:
        listed = [one for one in listed if one["status"] == "open"]
    return _json({"discussions": listed, "count": len(listed), "start": 0})


def _merge(hub: LoopbackHub, request: Request, repo: str, number: str) -> Answer:
    """Merge a pull request: main moves to its commit, which must be on top of main."""
    repository, name = hub.repo(request, repo, write=True), f"refs/pr/{number}"
    sha = hub.sha(repository, name)
    if repository.commits[sha].parent != repository.branches["main"]:
        raise HubError(400, "This pull request is not on top of main")
    repository.branches["main"] = sha
    repository.moves.append(("main", sha))
    repository.merged.add(name)
    return _json({})


def _lfs_files(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    """List the files in LFS, or delete the content of some."""
    repository = hub.repo(request, repo, write=True)
    if request.method == "POST":
        repository.lost |= set(request.json["deletions"]["sha"])
        return _json({})
    files = {
        blob.sha256: {
            "fileOid": blob.sha256,
            "oid": blob.sha256,
            "filename": path,
            "size": len(blob.content),
            "pushedAt": TIMESTAMP,
        }
        for commit in repository.commits.values()
        for path, blob in commit.tree.items()
        if blob.lfs
    }
    return _json(list(files.values()))


def _commits(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository, entries = hub.repo(request, repo), []
    sha: str | None = hub.sha(repository, revision)
    while sha is not None:
        commit = repository.commits[sha]
        entries.append(
            {"id": sha, "title": commit.title, "message": commit.description, "authors": [{"user": "tester"}], "date": TIMESTAMP}
        )  # fmt: skip
        sha = commit.parent
    return _json(entries)


def _tag(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo, write=True)
    if request.method == "DELETE":
        repository.annotated.pop(revision, None)
        if repository.tags.pop(revision, None) is None:
            raise HubError(404, f"tag {revision} does not exist", "RevisionNotFound")
        return _json({})
    name = request.json["tag"]
    if name in repository.tags:
        raise HubError(409, f"Tag reference exists already: {name}")
    repository.tags[name] = hub.sha(repository, revision)
    repository.moves.append((name, repository.tags[name]))
    return _json({})


def _branch(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo, write=True)
    if request.method == "DELETE":
        if revision == "main":
            raise HubError(403, "The main branch cannot be deleted")
        if repository.branches.pop(revision, None) is None:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return _json({})
    if revision.startswith("refs/"):
        raise HubError(400, f"Invalid reference for a branch: {revision}")
    if revision in repository.branches:
        raise HubError(409, f"Reference refs/heads/{revision} already exists")
    repository.branches[revision] = hub.sha(repository, request.json.get("startingPoint", "main"))
    repository.moves.append((revision, repository.branches[revision]))
    return _json({})


def _squash(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo, write=True)
    tree = repository.commits[repository.branches[revision]].tree
    repository.add(revision, Commit(tree, None, request.json["message"], ""))
    return _json({})


def _preupload(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo, write=True)
    tree = repository.commits[hub.sha(repository, revision)].tree
    payload = request.json
    gitignore = tree[".gitignore"].content.decode() if ".gitignore" in tree else ""
    rules = [rule for rule in payload.get("gitIgnore", gitignore).splitlines() if rule and not rule.startswith("#")]
    files = []
    for file in payload["files"]:
        path, blob = file["path"], tree.get(file["path"])
        ignored = any(re.fullmatch(re.escape(rule).replace(r"\*", ".*"), path) for rule in rules)
        oid = blob and (blob.sha256 if blob.lfs else blob.git)
        mode = "lfs" if _is_lfs(path, file["size"]) else "regular"
        files.append({"path": path, "uploadMode": mode, "shouldIgnore": ignored, **({"oid": oid} if oid else {})})
    return _json({"files": files})


def _lfs_batch(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    hub.repo(request, repo, write=True)
    objects = []
    for item in request.json["objects"]:
        upload = {"actions": {"upload": {"href": f"{hub.url}/uploads/{item['oid']}"}}}
        objects.append({"oid": item["oid"], "size": item["size"], **({} if item["oid"] in hub.objects else upload)})
    return _json({"transfer": "basic", "objects": objects})


def _lfs_put(hub: LoopbackHub, request: Request, oid: str) -> Answer:
    if hashlib.sha256(request.body).hexdigest() != oid:
        raise HubError(400, "the content does not match its oid")
    hub.objects[oid] = request.body
    return Answer(200, b"", {})


def _commit(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.repo(request, repo, write=True)
    try:
        head, *operations = (json.loads(line) for line in request.body.splitlines())
    except ValueError:
        raise HubError(400, "the body is not lines of JSON, or empty") from None
    hub.sha(repository, revision)
    if head["key"] != "header" or revision not in repository.branches:
        raise HubError(400, "a commit must begin with a header, and its target must be a branch")
    if not operations:  # as where a body was cut after its first line
        raise HubError(400, "Add a line with the key `lfsFile`, `file` or `deletedFile`")
    payload = head["value"]
    parent = payload.get("parentCommit", repository.branches[revision])
    is_pull_request = "create_pr" in request.query
    if parent != repository.branches[revision] and not is_pull_request:
        raise HubError(412, STALE_PARENT)
    tree = dict(repository.commits[hub.sha(repository, parent)].tree)
    for operation in operations:
        _apply(hub, tree, operation["key"], operation["value"])
    if "README.md" in tree and (errors := _yaml_errors(tree["README.md"].content.decode())):
        raise HubError(400, errors[0])
    number = sum(name.startswith("refs/pr/") for name in repository.branches) + 1
    branch = f"refs/pr/{number}" if is_pull_request else revision
    sha = repository.add(branch, Commit(tree, parent, payload["summary"], payload.get("description", "")))
    body = {"success": True, "commitOid": sha, "commitUrl": f"{hub.url}/datasets/{repo}/commit/{sha}"}
    return _json(
        body | ({"pullRequestUrl": f"{hub.url}/datasets/{repo}/discussions/{number}"} if is_pull_request else {})
    )


def _apply(hub: LoopbackHub, tree: dict[str, Blob], kind: str, value: dict[str, Any]) -> None:
    """Apply one operation of a commit to its tree."""
    path = value["path"]
    if kind == "file":
        tree[path] = Blob(base64.b64decode(value["content"], validate=True), lfs=False)
    elif kind == "lfsFile":
        if value["oid"] not in hub.objects:
            raise HubError(400, f"{path}: the content was not uploaded")
        tree[path] = Blob(hub.objects[value["oid"]], lfs=True)
    elif kind == "deletedFile":
        if tree.pop(path, None) is None:
            raise HubError(404, "A file with this name doesn't exist", "EntryNotFound")
    else:
        raise HubError(400, f"unknown operation: {kind}")


def _resolve(hub: LoopbackHub, request: Request, repo: str, revision: str, path: str) -> Answer:
    repository = hub.readable(request, repo)
    sha = hub.sha(repository, revision)
    blob = repository.commits[sha].tree.get(path)
    if blob is None or blob.sha256 in repository.lost:
        raise HubError(404, "Entry not found", "EntryNotFound")
    etag = f'"{blob.sha256 if blob.lfs else blob.git}"'
    headers = {"X-Repo-Commit": sha, "ETag": etag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    if blob.sha256 in hub.xet.hashes:
        token = f"{hub.url}/api/datasets/{repo}/xet-read-token/{sha}"
        headers |= {"X-Xet-Hash": hub.xet.hashes[blob.sha256], "Link": f'<{token}>; rel="xet-auth"'}
    return _part(request, blob.content, headers)


def _part(request: Request, content: bytes, headers: dict[str, str]) -> Answer:
    """The content, or the range of it that the request asks for."""
    byte_range = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range", ""))
    if byte_range is None or not (byte_range[1] or byte_range[2]):
        return Answer(200, content, headers)
    size = len(content)
    start = int(byte_range[1]) if byte_range[1] else max(0, size - int(byte_range[2]))
    stop = min(size, int(byte_range[2]) + 1) if byte_range[1] and byte_range[2] else size
    if start >= stop:
        return Answer(416, b"", headers | {"Content-Range": f"bytes */{size}"})
    return Answer(206, content[start:stop], headers | {"Content-Range": f"bytes {start}-{stop - 1}/{size}"})


def _xet_token(hub: LoopbackHub, request: Request, repo: str, kind: str, revision: str) -> Answer:
    """A token for the Xet store; the revision is `None` for a commit that becomes a pull request."""
    hub.repo(request, repo, write=kind == "write")
    store, token = f"{hub.url}{hub.xet_path}", XET_TOKENS[kind]
    headers = {"X-Xet-Cas-Url": store, "X-Xet-Access-Token": token, "X-Xet-Token-Expiration": str(NEVER)}
    answer = _json({"casUrl": store, "accessToken": token, "exp": NEVER})
    return answer._replace(headers=answer.headers | headers)


def _require_xet_token(request: Request, *kinds: str) -> None:
    if request.headers.get("Authorization", "") not in {f"Bearer {XET_TOKENS[kind]}" for kind in kinds}:
        raise HubError(401, "Invalid Xet token")


def _xet_chunk(hub: LoopbackHub, request: Request) -> Answer:
    raise HubError(404, "no file of anybody else has this chunk")


def _xet_xorb(hub: LoopbackHub, request: Request, xorb: str) -> Answer:
    if request.method == "GET":  # the address is signed, and needs no token
        return _part(request, hub.xet.xorbs[xorb], {"Content-Type": "application/octet-stream"})
    _require_xet_token(request, "write")
    inserted = xorb not in hub.xet.xorbs
    hub.xet.xorbs[xorb] = request.body
    return _json({"was_inserted": inserted})


def _xet_shard(hub: LoopbackHub, request: Request) -> Answer:
    _require_xet_token(request, "write")
    try:
        hub.objects |= hub.xet.add_shard(request.body)
    except XetError as error:
        raise HubError(400, str(error)) from None
    return Answer(200, b'{"type": "result"}\n', {"Content-Type": "application/x-ndjson"})


def _xet_reconstruction(hub: LoopbackHub, request: Request, file: str) -> Answer:
    _require_xet_token(request, "read", "write")
    if file not in hub.xet.files:
        raise HubError(404, "File not found")
    byte_range = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
    start, stop = (int(byte_range[1]), int(byte_range[2]) + 1) if byte_range else (0, sys.maxsize)
    located = hub.xet.reconstruction(file, start, stop, f"{hub.url}/xet/xorbs")
    if located is None:
        raise HubError(416, "Range not satisfiable")
    return _json(located)


def _xet_telemetry(hub: LoopbackHub, request: Request) -> Answer:
    return _json({})


def _collections(hub: LoopbackHub, request: Request) -> Answer:
    """Create a collection, or list those of an owner in pages of PAGE, each with its first four items."""
    if request.method == "GET":
        owner, start = request.query["owner"][0], int(request.query.get("cursor", ["0"])[0])
        slugs = [slug for slug in hub.collections if slug.startswith(f"{owner}/")]
        page = [hub.collections[slug] for slug in slugs[start : start + PAGE]]
        answer = _json([collection | {"items": collection["items"][:4]} for collection in page])
        if start + PAGE < len(slugs):
            answer.headers["Link"] = f'<{hub.url}/api/collections?owner={owner}&cursor={start + PAGE}>; rel="next"'
        return answer
    payload, title = request.json, request.json["title"]
    if _role(request) != "write" or payload["namespace"] == "foreign":
        raise HubError(403, "You don't have the rights to create a collection under this namespace")
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    existing = [slug for slug in hub.collections if slug.startswith(f"{payload['namespace']}/{words}-")]
    if existing:
        raise HubError(409, "This collection already exists", slug=existing[0])
    slug = f"{payload['namespace']}/{words}-{len(hub.collections):024x}"
    hub.collections[slug] = {
        "slug": slug, "title": title, "owner": {"name": payload["namespace"], "type": "org"}, "items": [],
        "lastUpdated": TIMESTAMP, "private": payload["private"], "theme": "orange", "upvotes": 0,
        "description": payload.get("description"),
    }  # fmt: skip
    return _json(hub.collections[slug] | {"position": 0})


def _collection(hub: LoopbackHub, request: Request, slug: str) -> Answer:
    """Show a collection, or add an item to it."""
    if slug not in hub.collections:
        raise HubError(404, "Collection not found")
    collection = hub.collections[slug]
    if request.method == "POST":
        item = request.json["item"]
        if _role(request) != "write":
            raise HubError(403, "You don't have the rights to write to this collection")
        if item["type"] == "dataset" and item["id"] not in hub.repos:
            raise HubError(404, "Item not found")
        if any((known["id"], known["type"]) == (item["id"], item["type"]) for known in collection["items"]):
            raise HubError(409, "This item is already in the collection")
        position = len(collection["items"])
        collection["items"].append({"_id": f"{position:024x}", "position": position, **item})
    return _json(collection | {"position": 0})


HASH = "[0-9a-f]{64}"
XET = "/xet/[0-9a-f]{32}"
API, REV = f"/api/datasets/{REPO}", r"(?P<revision>[^/]+)"
ROUTES: tuple[tuple[set[str], str, Callable[..., Answer]], ...] = (
    ({"GET"}, "/api/whoami-v2", _whoami),
    ({"POST"}, "/api/repos/create", _create),
    ({"DELETE"}, "/api/repos/delete", _delete),
    ({"POST"}, "/api/repos/move", _move),
    ({"POST"}, "/api/validate-yaml", _validate_yaml),
    ({"GET"}, "/api/datasets", _list),
    ({"GET", "POST"}, "/api/collections", _collections),
    ({"GET"}, f"/api/collections/{SLUG}", _collection),
    ({"POST"}, f"/api/collections/{SLUG}/items", _collection),
    ({"GET"}, API, _info),
    ({"GET"}, f"{API}/revision/{REV}", _info),
    ({"GET"}, f"{API}/tree/{REV}(?:/(?P<folder>.+))?", _tree),
    ({"POST"}, f"{API}/paths-info/{REV}", _paths_info),
    ({"GET"}, f"{API}/refs", _refs),
    ({"GET", "POST"}, f"{API}/discussions", _discussions),
    ({"POST"}, f"{API}/discussions/(?P<number>\\d+)/merge", _merge),
    ({"GET"}, f"{API}/lfs-files", _lfs_files),
    ({"POST"}, f"{API}/lfs-files/batch", _lfs_files),
    ({"GET"}, f"{API}/commits/{REV}", _commits),
    ({"POST", "DELETE"}, f"{API}/tag/{REV}", _tag),
    ({"POST", "DELETE"}, f"{API}/branch/{REV}", _branch),
    ({"POST"}, f"{API}/super-squash/{REV}", _squash),
    ({"POST"}, f"{API}/preupload/{REV}", _preupload),
    ({"POST"}, f"{API}/commit/{REV}", _commit),
    ({"POST"}, f"/datasets/{REPO}\\.git/info/lfs/objects/batch", _lfs_batch),
    ({"PUT"}, r"/uploads/(?P<oid>[0-9a-f]{64})", _lfs_put),
    ({"GET", "HEAD"}, f"/datasets/{REPO}/resolve/{REV}/(?P<path>.+)", _resolve),
    ({"GET"}, f"{API}/xet-(?P<kind>read|write)-token/{REV}", _xet_token),
    ({"GET"}, f"{XET}/v1/chunks/.+", _xet_chunk),
    ({"POST"}, f"{XET}/v1/xorbs/default/(?P<xorb>{HASH})", _xet_xorb),
    ({"GET"}, f"/xet/xorbs/(?P<xorb>{HASH})", _xet_xorb),
    ({"POST"}, f"{XET}/v2/shards", _xet_shard),
    ({"GET"}, f"{XET}/v2/reconstructions/(?P<file>{HASH})", _xet_reconstruction),
    ({"POST"}, "/v1/telemetry", _xet_telemetry),
)


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with suppress(ConnectionResetError):  # by a client that was killed
                super().handle()

        def handle_request(self) -> None:
            with suppress(OSError):  # the client may disconnect
                url = urlsplit(self.path)
                hub.user_agents[url.path] = self.headers.get("User-Agent", "")
                hub.ranges += self.headers.get_all("Range", [])
                self._reply(hub._next_fault(url.path), url)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_request  # noqa: N815  names set by the base class

        def _reply(self, fault: Fault, url: Any) -> None:
            body = self._body(fault.cut_request)
            if fault.cut_request is not None:
                self._cut()
                return
            request = Request(self.command, url.path, parse_qs(url.query), self.headers, body)
            for part in [part for part in hub.before_answer if part in request.path]:
                hub.before_answer.pop(part)()
            answer = hub.answer(request) if fault.executed or not (fault.stall or fault.status) else None
            if fault.stall:
                select.select([self.connection], [], [], 60)
                self._cut()
                return
            if fault.status is not None or answer is None:
                answer = Answer(fault.status or 0, b'{"error": "a fault"}', {})
            head = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('-',))[0]}"]
            fields = {"Content-Length": str(len(answer.body)), **answer.headers, **fault.headers}
            if "Content-Length" in fault.headers:  # nobody could find the next answer in the connection
                fields["Connection"], self.close_connection = "close", True
            head += [f"{name}: {quote(value, safe=SAFE)}" for name, value in fields.items()]
            message = "\r\n".join([*head, "", ""]).encode("ascii") + (b"" if self.command == "HEAD" else answer.body)
            if fault.cut_answer is not None and fault.cut_answer < len(message):
                self._cut()
            else:
                self._log(answer.status)
            self.wfile.write(message[: fault.cut_answer])
            self.wfile.flush()

        def _body(self, max_bytes: int | None) -> bytes:
            if self.headers.get("Transfer-Encoding", "") == "chunked":
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            length = int(self.headers.get("Content-Length", 0))
            return self.rfile.read(length if max_bytes is None else min(max_bytes, length))

        def _cut(self) -> None:
            self.close_connection = True
            self._log(0)

        def _log(self, status: int) -> None:
            """Log the request, before its answer is sent: a client that has the answer finds the request in the log."""
            hub.log.append(LoggedRequest(self.command, unquote(urlsplit(self.path).path), status))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  name set by the base class
            pass

    return Handler


if __name__ == "__main__":
    with suppress(KeyboardInterrupt), LoopbackHub() as hub:
        print(hub.url, flush=True)
        if sys.stdin is None or os.path.samestat(os.fstat(sys.stdin.fileno()), Path(os.devnull).stat()):
            threading.Event().wait()
        sys.stdin.read()
