"""A small Hub on 127.0.0.1: dataset repositories, commits, LFS, tags and downloads, in memory, failing on request.

    with LoopbackHub() as hub:
        HfApi(endpoint=hub.url, token=WRITER)            # or HF_ENDPOINT=hub.url in the environment of a new process
        hub.fail(3, Fault(status=429, headers={"Retry-After": "7"}))  # the fourth request from now
    hub.tree("org/name", "v1.0.0")                       # what it was sent: content by path, at any commit, branch or tag

`python tests/loopback_hub.py` serves until its standard input ends, and prints its address. Uploads are plain LFS: a client that
has hf_xet needs HF_HUB_DISABLE_XET=1. The calls are those that huggingface_hub 2.4 and datasets 5.2 make.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import json
import re
import select
import string
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

WRITER, READER = "hf_writer_token", "hf_reader_token"
ROLES = {WRITER: "write", READER: "read"}
SINCE = "A commit has happened since. Please refresh and try again."
WHEN = "2024-01-01T00:00:00.000Z"
SAFE = string.punctuation + " "  # in a header; all else is written as %XX
REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"


@dataclass(frozen=True)
class Fault:
    """How one answer differs from a good one.

    status, headers: sent instead of the good ones. stall: say nothing until the client goes away. done: the request is carried
    out all the same. cut: after so many bytes of the answer, its head included, the connection is closed; the request is
    carried out. take: the connection is closed after so many bytes of the request's body were read; it is not.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False
    cut: int | None = None
    take: int | None = None
    stall: bool = False


@dataclass(frozen=True)
class Blob:
    """A file's content, and whether it is kept in LFS."""

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
    """A whole tree by path, and where it comes from."""

    tree: dict[str, Blob]
    parent: str | None
    title: str
    description: str


@dataclass
class Repo:
    """A repository; branches hold pull requests too, as `refs/pr/1`. moves: every ref and what it was set to, in order."""

    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)

    def add(self, branch: str, commit: Commit) -> str:
        """A new commit at the end of a branch."""
        digests = sorted((path, blob.git) for path, blob in commit.tree.items())
        told = json.dumps([commit.parent, commit.title, commit.description, len(self.commits), digests])
        sha = hashlib.sha1(told.encode()).hexdigest()
        self.commits[sha] = commit
        self.branches[branch] = sha
        self.moves.append((branch, sha))
        return sha


class Seen(NamedTuple):
    """One request, and the status it got: 0 where the connection was cut before."""

    method: str
    path: str
    status: int


class RefusalError(Exception):
    """An answer that says no."""

    def __init__(self, status: int, words: str, code: str | None = None, **more: Any) -> None:
        super().__init__(words)
        self.status, self.words, self.code, self.more = status, words, code, more


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
        try:
            return json.loads(self.body)
        except ValueError:
            raise RefusalError(400, "the body is not valid JSON") from None


class LoopbackHub:
    """The Hub.

    repos, objects: what it holds. log: what it was asked. meanwhile: by a part of a path, what happens, once, when a request for
    such a path has come, before it is answered.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.log: list[Seen] = []
        self.meanwhile: dict[str, Callable[[], object]] = {}
        self.always: Fault | None = None
        self._faults: dict[int, Fault] = {}
        self._count = 0
        self._lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Its address: the endpoint."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def fail(self, after: int, fault: Fault, *, always: bool = False) -> None:
        """Have the request that comes after so many others fail; `always`: and all that follow."""
        with self._lock:
            self._faults = {self._count + after: fault}
            self.always = fault if always else None

    def heal(self) -> None:
        """No more failures."""
        with self._lock:
            self._faults, self.always = {}, None

    def state(self) -> Any:
        """All that it holds, for `restore`."""
        with self._lock:
            return copy.deepcopy(self.repos), dict(self.objects)

    def restore(self, state: Any) -> None:
        """Hold what it held."""
        with self._lock:
            self.repos, self.objects = copy.deepcopy(state[0]), dict(state[1])
            self.log = []

    def tree(self, repo: str, revision: str = "main") -> dict[str, bytes]:
        """The files of a repository at a branch, a tag or a commit."""
        with self._lock:
            there = self.repos[repo]
            return {path: blob.content for path, blob in there.commits[self.sha(there, revision)].tree.items()}

    def commit(self, repo: str, changes: dict[str, bytes | None], title: str = "by hand") -> str:
        """A commit on main as somebody else makes it, by hand; None removes a file."""
        with self._lock:
            there = self.repos[repo]
            parent = there.branches["main"]
            tree = dict(there.commits[parent].tree)
            for path, content in changes.items():
                tree.pop(path, None)
                if content is not None:
                    tree[path] = Blob(content, _is_lfs(path, len(content)))
            return there.add("main", Commit(tree, parent, title, ""))

    def sha(self, repo: Repo, revision: str) -> str:
        """The commit that a name means."""
        sha = repo.tags.get(revision) or repo.branches.get(revision) or revision
        if sha not in repo.commits:
            raise RefusalError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
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

    def _next_fault(self) -> Fault:
        with self._lock:
            number, self._count = self._count, self._count + 1
            if number in self._faults:
                return self._faults.pop(number)
            return Fault() if self.always is None or self._faults else self.always

    def answer(self, request: Request) -> Answer:
        """Carry a request out, alone: whole or not at all."""
        with self._lock:
            try:
                return self._act(request)
            except RefusalError as no:
                headers = {"X-Error-Message": no.words} | ({"X-Error-Code": no.code} if no.code else {})
                return Answer(no.status, json.dumps({"error": no.words, **no.more}).encode(), headers)

    def _act(self, request: Request) -> Answer:
        for methods, pattern, act in ROUTES:
            found = re.fullmatch(pattern, request.path)
            if found and request.method in methods:
                return act(self, request, **{name: unquote(part) for name, part in found.groupdict().items() if part})
        raise RefusalError(404, f"no such call: {request.method} {request.path}")

    def repo(self, request: Request, name: str, *, write: bool = False) -> Repo:
        """A repository, if whoever asks may see it (and write to it)."""
        role = _role(request)
        there = self.repos.get(name)
        if there is None or (there.private and role is None):
            raise RefusalError(404 if role else 401, "Repository not found", "RepoNotFound")
        if write and role != "write":
            raise RefusalError(403 if role else 401, f"You have no write access to {name}")
        return there


def _role(request: Request) -> str | None:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if given and given not in ROLES:
        raise RefusalError(401, "Invalid credentials in Authorization header")
    return ROLES.get(given)


def _is_lfs(path: str, size: int) -> bool:
    return path.endswith(".parquet") or size > 10_000_000


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _whoami(hub: LoopbackHub, request: Request) -> Answer:
    role = _role(request)
    if role is None:
        raise RefusalError(401, "Invalid username or password.")
    token = {"displayName": "test", "role": role}
    return _json({"type": "user", "name": "tester", "orgs": [{"name": "org"}], "auth": {"accessToken": token}})


def _create(hub: LoopbackHub, request: Request) -> Answer:
    asked = request.json
    if _role(request) != "write":
        raise RefusalError(403, "You don't have the rights to create a dataset under this namespace")
    name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
    url = f"{hub.url}/datasets/{name}"
    if name in hub.repos:
        raise RefusalError(409, "You already created this dataset repo", url=url)
    hub.repos[name] = Repo(asked.get("visibility") == "private" or bool(asked.get("private")))
    attributes = Blob(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", lfs=False)
    hub.repos[name].add("main", Commit({".gitattributes": attributes}, None, "initial commit", ""))
    return _json({"url": url, "name": name})


def _yaml_errors(card: str) -> list[str]:
    head = re.match(r"---\r?\n(.*?)\r?\n---", card, re.DOTALL)
    try:
        return [] if isinstance(yaml.safe_load(head[1]) if head else {}, dict) else ["metadata is not a mapping"]
    except yaml.YAMLError as error:
        return [str(error)]


def _validate_yaml(hub: LoopbackHub, request: Request) -> Answer:
    errors = [{"message": words} for words in _yaml_errors(request.json["content"])]
    return _json({"errors": errors, "warnings": []}, 400 if errors else 200)


def _info(hub: LoopbackHub, request: Request, repo: str, revision: str = "main") -> Answer:
    there = hub.repo(request, repo)
    sha = hub.sha(there, revision)
    return _json(
        {
            "id": repo, "sha": sha, "private": there.private, "gated": False, "disabled": False, "downloads": 0, "likes": 0,
            "tags": [], "lastModified": WHEN, "createdAt": WHEN,
            "siblings": [{"rfilename": path, **_digests(blob)} for path, blob in sorted(there.commits[sha].tree.items())],
        }
    )  # fmt: skip


def _digests(blob: Blob) -> dict[str, Any]:
    lfs = {"lfs": {"sha256": blob.sha256, "size": len(blob.content), "pointerSize": 134}} if blob.lfs else {}
    return {"size": len(blob.content), "blobId": blob.git, **lfs}


def _entry(path: str, tree: dict[str, Blob]) -> dict[str, Any] | None:
    """A file or a folder, as listings have it."""
    if path in tree:
        blob = tree[path]
        lfs = {"lfs": {"oid": blob.sha256, "size": len(blob.content), "pointerSize": 134}} if blob.lfs else {}
        return {"type": "file", "path": path, "size": len(blob.content), "oid": blob.git, **lfs}
    if any(other.startswith(f"{path}/") for other in tree):
        return {"type": "directory", "path": path, "size": 0, "oid": hashlib.sha1(path.encode()).hexdigest()}
    return None


def _tree(hub: LoopbackHub, request: Request, repo: str, revision: str, folder: str = "") -> Answer:
    there = hub.repo(request, repo)
    tree = there.commits[hub.sha(there, revision)].tree
    if folder and not any(path.startswith(f"{folder}/") for path in tree):
        raise RefusalError(404, f"{folder} does not exist", "EntryNotFound")
    deep = request.query.get("recursive", [""])[0].lower() == "true"
    below = f"{folder}/" if folder else ""
    listed: dict[str, None] = {}
    for path in sorted(path for path in tree if path.startswith(below)):
        parts = path.removeprefix(below).split("/")
        for depth in range(1, (len(parts) if deep else 1) + 1):
            listed[below + "/".join(parts[:depth])] = None
    return _json([_entry(path, tree) for path in listed])


def _paths_info(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    there = hub.repo(request, repo)
    tree = there.commits[hub.sha(there, revision)].tree
    form = request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
    paths = parse_qs(request.body.decode()).get("paths", []) if form else request.json["paths"]
    return _json([entry for entry in (_entry(path.strip("/"), tree) for path in paths) if entry])


def _refs(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    there = hub.repo(request, repo)
    pulls = {name: sha for name, sha in there.branches.items() if name.startswith("refs/pr/")}
    return _json(
        {
            "branches": [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha}
                for name, sha in there.branches.items()
                if name not in pulls
            ],
            "tags": [
                {"name": name, "ref": f"refs/tags/{name}", "targetCommit": sha} for name, sha in there.tags.items()
            ],
            "converts": [],
            "pullRequests": [{"name": name, "ref": name, "targetCommit": sha} for name, sha in pulls.items()],
        }
    )


def _commits(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    there, listed = hub.repo(request, repo), []
    sha: str | None = hub.sha(there, revision)
    while sha is not None:
        commit = there.commits[sha]
        listed.append(
            {"id": sha, "title": commit.title, "message": commit.description, "authors": [{"user": "tester"}], "date": WHEN}
        )  # fmt: skip
        sha = commit.parent
    return _json(listed)


def _tag(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    there = hub.repo(request, repo, write=True)
    if request.method == "DELETE":
        if there.tags.pop(revision, None) is None:
            raise RefusalError(404, f"no tag {revision}", "RevisionNotFound")
        return _json({})
    name = request.json["tag"]
    if name in there.tags:
        raise RefusalError(409, f"Tag reference exists already: {name}")
    there.tags[name] = hub.sha(there, revision)
    there.moves.append((name, there.tags[name]))
    return _json({})


def _preupload(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    there = hub.repo(request, repo, write=True)
    tree = there.commits[hub.sha(there, revision)].tree
    asked = request.json
    own = tree[".gitignore"].content.decode() if ".gitignore" in tree else ""
    rules = [rule for rule in asked.get("gitIgnore", own).splitlines() if rule and not rule.startswith("#")]
    files = []
    for file in asked["files"]:
        path, blob = file["path"], tree.get(file["path"])
        ignored = any(re.fullmatch(re.escape(rule).replace(r"\*", ".*"), path) for rule in rules)
        oid = blob and (blob.sha256 if blob.lfs else blob.git)
        mode = "lfs" if _is_lfs(path, file["size"]) else "regular"
        files.append({"path": path, "uploadMode": mode, "shouldIgnore": ignored, **({"oid": oid} if oid else {})})
    return _json({"files": files})


def _lfs_batch(hub: LoopbackHub, request: Request, repo: str) -> Answer:
    hub.repo(request, repo, write=True)
    objects = []
    for one in request.json["objects"]:
        upload = {"actions": {"upload": {"href": f"{hub.url}/objects/{one['oid']}"}}}
        objects.append({"oid": one["oid"], "size": one["size"], **({} if one["oid"] in hub.objects else upload)})
    return _json({"transfer": "basic", "objects": objects})


def _lfs_put(hub: LoopbackHub, request: Request, oid: str) -> Answer:
    if hashlib.sha256(request.body).hexdigest() != oid:
        raise RefusalError(400, "the content is not that of its oid")
    hub.objects[oid] = request.body
    return Answer(200, b"", {})


def _commit(hub: LoopbackHub, request: Request, repo: str, revision: str) -> Answer:
    there = hub.repo(request, repo, write=True)
    head, *operations = (json.loads(line) for line in request.body.splitlines())
    if head["key"] != "header" or revision not in there.branches:
        raise RefusalError(400, "a commit begins with a header, and goes to a branch")
    asked = head["value"]
    parent = asked.get("parentCommit", there.branches[revision])
    pull = "create_pr" in request.query
    if parent != there.branches[revision] and not pull:
        raise RefusalError(412, SINCE)
    tree = dict(there.commits[hub.sha(there, parent)].tree)
    for operation in operations:
        _change(hub, tree, operation["key"], operation["value"])
    if "README.md" in tree and (errors := _yaml_errors(tree["README.md"].content.decode())):
        raise RefusalError(400, errors[0])
    number = sum(name.startswith("refs/pr/") for name in there.branches) + 1
    branch = f"refs/pr/{number}" if pull else revision
    sha = there.add(branch, Commit(tree, parent, asked["summary"], asked.get("description", "")))
    told = {"success": True, "commitOid": sha, "commitUrl": f"{hub.url}/datasets/{repo}/commit/{sha}"}
    return _json(told | ({"pullRequestUrl": f"{hub.url}/datasets/{repo}/discussions/{number}"} if pull else {}))


def _change(hub: LoopbackHub, tree: dict[str, Blob], kind: str, value: dict[str, Any]) -> None:
    """One operation of a commit, on its tree."""
    path = value["path"]
    if kind == "file":
        try:
            tree[path] = Blob(base64.b64decode(value["content"], validate=True), lfs=False)
        except binascii.Error:
            raise RefusalError(400, f"{path} is not in base64") from None
    elif kind == "lfsFile":
        if value["oid"] not in hub.objects:
            raise RefusalError(400, f"{path}: its content was never uploaded")
        tree[path] = Blob(hub.objects[value["oid"]], lfs=True)
    elif kind == "deletedFile":
        if tree.pop(path, None) is None:
            raise RefusalError(404, "A file with this name doesn't exist", "EntryNotFound")
    else:
        raise RefusalError(400, f"no such operation: {kind}")


def _resolve(hub: LoopbackHub, request: Request, repo: str, revision: str, path: str) -> Answer:
    there = hub.repo(request, repo)
    sha = hub.sha(there, revision)
    blob = there.commits[sha].tree.get(path)
    if blob is None:
        raise RefusalError(404, "Entry not found", "EntryNotFound")
    etag = f'"{blob.sha256 if blob.lfs else blob.git}"'
    headers = {"X-Repo-Commit": sha, "ETag": etag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range", ""))
    if asked is None or not (asked[1] or asked[2]):
        return Answer(200, blob.content, headers)
    size = len(blob.content)
    start = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
    stop = min(size, int(asked[2]) + 1) if asked[1] and asked[2] else size
    if start >= stop:
        return Answer(416, b"", headers | {"Content-Range": f"bytes */{size}"})
    return Answer(206, blob.content[start:stop], headers | {"Content-Range": f"bytes {start}-{stop - 1}/{size}"})


API, REV = f"/api/datasets/{REPO}", r"(?P<revision>[^/]+)"
ROUTES: tuple[tuple[set[str], str, Callable[..., Answer]], ...] = (
    ({"GET"}, "/api/whoami-v2", _whoami),
    ({"POST"}, "/api/repos/create", _create),
    ({"POST"}, "/api/validate-yaml", _validate_yaml),
    ({"GET"}, API, _info),
    ({"GET"}, f"{API}/revision/{REV}", _info),
    ({"GET"}, f"{API}/tree/{REV}(?:/(?P<folder>.+))?", _tree),
    ({"POST"}, f"{API}/paths-info/{REV}", _paths_info),
    ({"GET"}, f"{API}/refs", _refs),
    ({"GET"}, f"{API}/commits/{REV}", _commits),
    ({"POST", "DELETE"}, f"{API}/tag/{REV}", _tag),
    ({"POST"}, f"{API}/preupload/{REV}", _preupload),
    ({"POST"}, f"{API}/commit/{REV}", _commit),
    ({"POST"}, f"/datasets/{REPO}\\.git/info/lfs/objects/batch", _lfs_batch),
    ({"PUT"}, r"/objects/(?P<oid>[0-9a-f]{64})", _lfs_put),
    ({"GET", "HEAD"}, f"/datasets/{REPO}/resolve/{REV}/(?P<path>.+)", _resolve),
)


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do(self) -> None:
            fault, status = hub._next_fault(), 0
            url = urlsplit(self.path)
            with suppress(OSError):  # the client may go away
                status = self._reply(fault, url)
            hub.log.append(Seen(self.command, unquote(url.path), status))

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do  # noqa: N815  the names are the base class's

        def _reply(self, fault: Fault, url: Any) -> int:
            body = self._body(fault.take)
            if fault.take is not None:
                return self._cut()
            request = Request(self.command, url.path, parse_qs(url.query), self.headers, body)
            for part in [part for part in hub.meanwhile if part in request.path]:
                hub.meanwhile.pop(part)()
            if fault.stall:
                if fault.done:
                    hub.answer(request)
                select.select([self.connection], [], [], 60)
                return self._cut()
            answer = Answer(fault.status or 0, b'{"error": "a fault"}', {})
            if fault.status is None or fault.done:
                good = hub.answer(request)
                answer = good if fault.status is None else answer
            head = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('-',))[0]}"]
            fields = {"Content-Length": str(len(answer.body)), **answer.headers, **fault.headers}
            head += [f"{name}: {quote(value, safe=SAFE)}" for name, value in fields.items()]
            sent = "\r\n".join([*head, "", ""]).encode("ascii") + (b"" if self.command == "HEAD" else answer.body)
            self.wfile.write(sent[: fault.cut])
            self.wfile.flush()
            return self._cut() if fault.cut is not None and fault.cut < len(sent) else answer.status

        def _body(self, most: int | None) -> bytes:
            if self.headers.get("Transfer-Encoding", "") == "chunked":
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            length = int(self.headers.get("Content-Length", 0))
            return self.rfile.read(length if most is None else min(most, length))

        def _cut(self) -> int:
            self.close_connection = True
            return 0

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name is the base class's
            pass

    return Handler


if __name__ == "__main__":
    with LoopbackHub() as served:
        print(served.url, flush=True)
        with suppress(KeyboardInterrupt):
            sys.stdin.read()
