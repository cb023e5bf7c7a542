"""What the second loopback Hub answers: its state, and a handler for each endpoint.

`second_hub` serves it, and lists the sources that comments name.
"""

import base64
import copy
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode

import yaml

from tests.support.git_repository import GitRepository, create_repository, lfs_pointer

# Bytes. A larger file goes to LFS (docs), as a binary one does (the words of a push that the Hub refuses).
LARGEST_BLOB = 10 * 2**20
LFS_SUFFIXES = (
    "7z",
    "arrow",
    "bin",
    "bz2",
    "gz",
    "h5",
    "npy",
    "npz",
    "parquet",
    "pickle",
    "pkl",
    "pt",
    "tar",
    "tgz",
    "xz",
    "zip",
    "zst",
)
# Keys of a card whose values are strings or lists of strings, and tags of the repository: docs, datasetcard.md.
TAG_KEYS = (
    "task_categories",
    "task_ids",
    "language",
    "license",
    "size_categories",
    "source_datasets",
    "multilinguality",
)
FRONT_MATTER = re.compile(r"\s*---[\r\n]+(.*?)[\r\n]+---(?:[\r\n]|$)", re.DOTALL)
PARTS = {"repo": "[^/]+/[^/]+?", "path": ".+", "kind": "tag|branch", "change": "status|merge"}
PAGE_SIZE = 3  # the most items of a page
TRUE = {"true", "True", "1"}


class Answer(Exception):  # noqa: N818  successes are returned, errors raised
    """What the Hub answers; a body that is not bytes is sent as JSON."""

    def __init__(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(body)
        self.body, self.status, self.headers = body, status, headers or {}


def error(status: int, message: str, code: str = "", headers: dict[str, str] | None = None, **body: Any) -> Answer:
    """Return an error to raise, with the Hub's X-Error-Code."""
    named = {"X-Error-Message": message, "X-Error-Code": code, **(headers or {})}
    return Answer({"error": message, **body}, status, named)


def require(condition: object, status: int, message: str, code: str = "", **body: Any) -> None:
    """Raise an error unless a condition holds."""
    if not condition:
        raise error(status, message, code, **body)


@dataclass(frozen=True)
class Account:
    """Whom a token belongs to, the role of the token ("read" or "write"), and the organisations of its owner."""

    name: str
    role: str = "write"
    orgs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """One request; `path` is still percent-encoded, `json` is None where the body is something else."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    json: Any = None
    account: Account | None = None

    def get(self, key: str) -> str:
        """Return a value of the query, or an empty string."""
        return self.query.get(key, [""])[0]

    def author(self) -> str:
        """Return the name of the account. Raises Answer without one."""
        require(self.account, 401, "Invalid username or password.")
        return self.account.name

    def require_write(self, namespace: str) -> None:
        """Raise Answer unless the account may write in a namespace."""
        writes = self.author() and self.account.role == "write"
        require(writes, 403, "Forbidden: you must use a write token to upload to a repository.")
        require(self.is_member(namespace), 403, f"Forbidden: you don't have the rights to write under {namespace}")

    def is_member(self, namespace: str) -> bool:
        """Whether the account is a namespace, or belongs to it."""
        return self.account is not None and namespace in {self.account.name, *self.account.orgs}


@dataclass(eq=False)
class Refs(MutableMapping[str, str]):
    """Refs of a repository below one prefix, without it, and below another: the commit of each. Changes are made in git."""

    git: GitRepository
    prefix: str
    other: str = "refs/nothing/"

    def _ref(self, name: str) -> str:
        return name if name.startswith("refs/") else self.prefix + name

    def __getitem__(self, name: str) -> str:
        return dict(self.git.refs())[self._ref(name)]

    def __setitem__(self, name: str, sha: str) -> None:
        self.git.git("update-ref", self._ref(name), sha)

    def __delitem__(self, name: str) -> None:
        self.git.git("update-ref", "-d", self._ref(name), self[name])

    def __iter__(self) -> Iterator[str]:
        return (
            ref.removeprefix(self.prefix) for ref, _ in self.git.refs() if ref.startswith((self.prefix, self.other))
        )

    def __len__(self) -> int:
        return len(list(iter(self)))


class Commit(NamedTuple):
    """A commit: its parent, or an empty string, and its message."""

    parent: str
    title: str
    description: str


@dataclass
class Dataset:
    """A dataset repository.

    uid: stays when it is renamed. lfs: the folder of its LFS files, which are named by sha256. moves: every (ref, commit) that
    was created or moved, in order. seen: what `moves` has of the refs that there are.
    """

    id: str
    uid: str
    git: GitRepository
    lfs: Path
    private: bool
    created_at: str
    gated: str | bool = False
    discussions: list[dict[str, Any]] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    @property
    def namespace(self) -> str:
        """The user or organisation that owns it."""
        return self.id.partition("/")[0]

    @property
    def tags(self) -> Refs:
        """Its tags."""
        return Refs(self.git, "refs/tags/")

    @property
    def branches(self) -> Refs:
        """Its branches, and its pull requests as `refs/pr/1`."""
        return Refs(self.git, "refs/heads/", "refs/pr/")

    @property
    def commits(self) -> dict[str, Commit]:
        """Every commit that git still has, by sha."""
        return {sha: Commit(*rest) for sha, *rest in self.git.all_commits()}

    def note_moves(self) -> None:
        """Append what was created or moved since to `moves`."""
        refs = self.git.refs()
        names = {(ref.removeprefix("refs/heads/").removeprefix("refs/tags/"), sha) for ref, sha in refs}
        self.moves += sorted(names - self.seen)
        self.seen = names

    def sha(self, revision: str) -> str:
        """Return the sha of a revision. Raises Answer."""
        sha = self.git.resolve(revision)
        require(sha, 404, f"Invalid rev id: {re.sub('^refs/(heads|tags)/', '', revision)}", "RevisionNotFound")
        return sha


class LoggedRequest(NamedTuple):
    """A request and the status of its answer."""

    method: str
    path: str
    status: int


@dataclass
class Hub:
    """The state, and what strangers do, under the names that the first Hub has.

    repos: by id in lower case (client tests: the API ignores case). moved: new ids by old ones. log: the requests to `url`.
    before_answer: functions by path fragment; each runs once, before the next request whose path contains the fragment.
    """

    folder: Path
    accounts: dict[str, Account]
    url: str = ""
    storage_url: str = ""
    repos: dict[str, Dataset] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    log: list[LoggedRequest] = field(default_factory=list)
    before_answer: dict[str, Callable[[], object]] = field(default_factory=dict)

    def find(self, repo: str, request: Request) -> Dataset:
        """Return a dataset that an account may see. Raises Answer; a private one is missing for others (docs)."""
        dataset = self.repos.get(repo.lower())
        seen = dataset and (not dataset.private or request.is_member(dataset.namespace))
        require(
            seen or request.account, 401, "Invalid username or password.", "RepoNotFound"
        )  # client: if missing, too
        require(seen, 404, "Repository not found", "RepoNotFound")
        return dataset

    def tree(self, repo: str, revision: str = "main") -> dict[str, bytes]:
        """Return the files of a repository at a revision: content by path."""
        dataset = self.repos[repo]
        entries = dataset.git.entries(dataset.sha(revision))
        return {
            path: (dataset.lfs / lfs["oid"]).read_bytes()
            if (lfs := entry.get("lfs"))
            else dataset.git.blob(entry["oid"])
            for path, entry in entries.items()
            if entry["type"] == "file"
        }

    def commit(self, repo: str, changes: dict[str, bytes | None], title: str = "by hand", branch: str = "main") -> str:
        """Commit to a branch as another user; the value None deletes a file."""
        dataset, ref = self.repos[repo.lower()], branch if branch.startswith("refs/") else f"refs/heads/{branch}"
        head = dataset.sha(ref)
        attributes = attributes_of(dataset, dataset.git.entries(head))
        written = dict(changes)
        for path, content in changes.items():
            if content is not None and is_tracked(attributes, path):
                file = dataset.lfs / hashlib.sha256(content).hexdigest()
                file.write_bytes(content)
                written[path] = lfs_pointer(file)
        sha = dataset.git.commit(ref, head, list(written.items()), title, "stranger")
        dataset.note_moves()
        return sha

    def create(self, repo: str, files: dict[str, bytes | None]) -> str:
        """Create a public repository of somebody else, and return the sha of its files."""
        create_dataset(self, repo, "stranger", private=False)
        return self.commit(repo, files)

    def rename(self, old: str, new: str) -> None:
        """Rename a repository; its old name leads to the new one."""
        self.repos[new.lower()] = self.repos.pop(old.lower())
        self.repos[new.lower()].id = self.moved[old.lower()] = new

    def squash(self, repo: str) -> str:
        """Make the files of main its only commit, and return its sha."""
        dataset = self.repos[repo]
        dataset.branches["main"] = sha = commit_tree(dataset, "main^{tree}", "squashed", "stranger")
        dataset.note_moves()
        return sha

    def forget(self, repo: str, sha: str) -> None:
        """Lose a commit, which no ref leads to, and the LFS files that no other commit has, as in 36 hours (docs: storage)."""
        dataset = self.repos[repo]
        kept = dataset.git.collect_garbage()
        for file in dataset.lfs.iterdir():
            if file.name not in kept:
                file.unlink()
        assert dataset.git.resolve(sha) is None

    def lose(self, repo: str, path: str, revision: str) -> str:
        """Lose the content of a file, and return what happens to whoever asks for it."""
        dataset = self.repos[repo]
        (dataset.lfs / dataset.git.entries(dataset.sha(revision))[path]["lfs"]["oid"]).unlink()
        return "its storage answers 403"

    def state(self) -> Any:
        """Return a copy of all repositories, for `restore`."""
        folder = self.folder.with_name(new_id())
        shutil.copytree(self.folder, folder)
        return folder, copy.deepcopy((self.repos, self.moved))

    def restore(self, state: Any) -> None:
        """Restore what `state` returned, and clear the log."""
        shutil.rmtree(self.folder)
        shutil.copytree(state[0], self.folder)
        self.repos, self.moved = copy.deepcopy(state[1])
        self.log.clear()


ROUTES: list[tuple[str, re.Pattern[str], bool, Callable[..., Any]]] = []


def route(method: str, pattern: str, *, write: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a handler. {repo} reaches it as a Dataset, {path} may have slashes; write: for members with that role alone."""
    groups = re.sub(r"\\{(\w+)\\}", lambda name: f"(?P<{name[1]}>{PARTS.get(name[1], '[^/]+')})", re.escape(pattern))

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        ROUTES.append((method, re.compile(groups), write, handler))
        return handler

    return register


def dispatch(hub: Hub, request: Request) -> Answer:
    """Call the handler of a request. Raises Answer."""
    for method, pattern, write, handler in ROUTES:
        match = pattern.fullmatch(request.path)
        if match is None or method != request.method.replace("HEAD", "GET"):
            continue
        values: dict[str, Any] = {key: unquote(value) for key, value in match.groupdict().items()}
        if repo := values.pop("repo", None):
            if (
                target := hub.moved.get(repo.lower())
            ) and repo.lower() not in hub.repos:  # docs: the old URL redirects; 307 keeps method and body
                start, end = match.span("repo")
                query = f"?{urlencode(request.query, doseq=True)}" * bool(request.query)
                return Answer(b"", 307, {"Location": request.path[:start] + target + request.path[end:] + query})
            values["dataset"] = hub.find(repo, request)
            if write:
                request.require_write(values["dataset"].namespace)
        answer = handler(hub, request, **values)
        if "dataset" in values and request.method != "GET":
            values["dataset"].note_moves()
        return answer if isinstance(answer, Answer) else Answer({} if answer is None else answer)
    raise error(404, "Sorry, we can't find the page you are looking for.")


def paged(hub: Hub, request: Request, items: Sequence[Any], most: int | None = None) -> Answer:
    """Return one page of a listing, with a Link header to the next (client: as GitHub does)."""
    start = int(request.get("cursor") or 0)
    end = start + min(int(request.get("limit") or most or PAGE_SIZE), PAGE_SIZE)
    query = urlencode({**request.query, "cursor": [str(end)]}, doseq=True)
    link = {"Link": f'<{hub.url}{request.path}?{query}>; rel="next"'} if end < len(items) else {}
    return Answer(items[start:end], headers=link | {"X-Total-Count": str(len(items))})


# Accounts and repositories


@route("GET", "/api/whoami-v2")
def whoami(_: Hub, request: Request) -> Any:
    name, account = request.author(), request.account or Account("")
    orgs = [{"type": "org", "name": org, "fullname": org, "roleInOrg": account.role} for org in account.orgs]
    auth = {"type": "access_token", "accessToken": {"displayName": "token", "role": account.role, "createdAt": now()}}
    return {"type": "user", "name": name, "fullname": name, "orgs": orgs, "auth": auth}


@route("POST", "/api/repos/create")
def create_repo(hub: Hub, request: Request) -> Any:
    namespace, name = request.json.get("organization") or request.author(), request.json["name"]
    request.require_write(namespace)  # 403 before 409: client tests
    repo = f"{namespace}/{name}"
    url = f"{hub.url}/datasets/{repo}"
    require(repo.lower() not in hub.repos, 409, "You already created this dataset repo", url=url)
    private = request.json.get("visibility") == "private" or bool(request.json.get("private"))
    create_dataset(hub, repo, request.author(), private=private)
    return {"url": url, "name": repo}


def create_dataset(hub: Hub, repo: str, author: str, *, private: bool) -> None:
    uid = new_id()
    dataset = Dataset(repo, uid, create_repository(hub.folder / f"{uid}.git"), hub.folder / uid, private, now())
    dataset.lfs.mkdir()
    attributes = "".join(tracking(f"*.{suffix}") for suffix in LFS_SUFFIXES).encode()
    dataset.git.commit("refs/heads/main", None, [(".gitattributes", attributes)], "initial commit", author)
    dataset.note_moves()
    hub.repos[repo.lower()] = dataset


@route("DELETE", "/api/repos/delete")
def delete_repo(hub: Hub, request: Request) -> Any:
    namespace = request.json.get("organization") or request.author()
    dataset = hub.find(f"{namespace}/{request.json['name']}", request)
    request.require_write(namespace)
    del hub.repos[dataset.id.lower()]


@route("POST", "/api/repos/move")
def move_repo(hub: Hub, request: Request) -> Any:
    dataset, target = hub.find(request.json["fromRepo"], request), request.json["toRepo"]
    for namespace in (dataset.namespace, target.partition("/")[0]):
        request.require_write(namespace)
    require(target.lower() not in hub.repos, 409, f"A dataset repository called {target} already exists")
    hub.rename(dataset.id, target)


@route("GET", "/api/datasets")
def list_datasets(hub: Hub, request: Request) -> Any:
    author = request.get("author").lower()
    seen = [one for _, one in sorted(hub.repos.items()) if not one.private or request.is_member(one.namespace)]
    chosen = [
        one for one in seen if author in {"", one.namespace.lower()} and request.get("search").lower() in one.id.lower()
    ]
    # No siblings, whatever is asked for: issue 1814, and huggingface.js. The card with `full` alone: client tests.
    left_out = {"siblings"} if request.get("full") in TRUE else {"siblings", "cardData"}
    infos = [describe(one, request, one.sha("main")) for one in chosen]
    return paged(hub, request, [{key: info[key] for key in info.keys() - left_out} for info in infos])


@route("GET", "/api/datasets/{repo}")
@route("GET", "/api/datasets/{repo}/revision/{rev}")
def dataset_info(_: Hub, request: Request, dataset: Dataset, rev: str = "refs/heads/main") -> Any:
    return describe(dataset, request, dataset.sha(rev))


def describe(dataset: Dataset, request: Request, sha: str) -> dict[str, Any]:
    """Return what the Hub says of a dataset at a commit; a gated one is described to everybody (issue 2457)."""
    files = {path: entry for path, entry in dataset.git.entries(sha).items() if entry["type"] == "file"}
    card = (
        read_card(dataset.git.blob(files["README.md"]["oid"]).decode(errors="replace"))[0]
        if "README.md" in files
        else {}
    )
    tags = [f"{key}:{value}" for key in TAG_KEYS for value in as_list(card.get(key))]
    names = [
        {"rfilename": path, **(blob(entry) if request.get("blobs") in TRUE else {})} for path, entry in files.items()
    ]
    info = {
        "author": dataset.namespace, "sha": sha, "lastModified": dataset.git.log(sha, "-1")[0]["date"],
        "createdAt": dataset.created_at,
        "private": dataset.private, "gated": dataset.gated, "disabled": False, "downloads": 0, "likes": 0, "siblings": names,
        "cardData": card, "tags": [*tags, *as_list(card.get("tags")), "region:us"], "description": "",
    }  # fmt: skip
    expand = set(request.query.get("expand", info))
    require(expand <= info.keys(), 400, f"Invalid expand: {', '.join(expand - info.keys())}")  # client tests
    return {"_id": dataset.uid, "id": dataset.id, **{key: info[key] for key in info if key in expand}}


def blob(entry: dict[str, Any]) -> dict[str, Any]:
    lfs = entry.get("lfs")
    return {"blobId": entry["oid"], "size": entry["size"], **({"lfs": {**lfs, "sha256": lfs["oid"]}} if lfs else {})}


# Refs


@route("GET", "/api/datasets/{repo}/refs")
def list_refs(_: Hub, request: Request, dataset: Dataset) -> Any:
    prefixes = {
        "branches": "refs/heads/",
        "tags": "refs/tags/",
        "converts": "refs/convert/",
        "pullRequests": "refs/pr/",
    }
    if request.get("include_prs") not in TRUE:
        del prefixes["pullRequests"]
    refs = [{"name": ref.split("/", 2)[2], "ref": ref, "targetCommit": sha} for ref, sha in dataset.git.refs()]
    return {kind: [one for one in refs if one["ref"].startswith(prefix)] for kind, prefix in prefixes.items()}


@route("POST", "/api/datasets/{repo}/{kind}/{rev}", write=True)
def create_ref(_: Hub, request: Request, dataset: Dataset, kind: str, rev: str) -> Any:
    body, start = request.json or {}, rev if kind == "tag" else "refs/heads/main"
    sha, name = (
        dataset.sha(body.get("startingPoint") or start),
        body.get("tag", rev),
    )  # the revision first: client tests
    ref = f"refs/{'tags' if kind == 'tag' else 'heads'}/{name}"
    require(body.get("overwrite") or not dataset.git.resolve(ref), 409, f"Reference {ref} already exists")
    annotated = ["-a", "-m", body["message"]] if body.get("message") else []
    command = ["tag", *annotated, "--", name] if kind == "tag" else ["update-ref", ref]
    dataset.git.git(*command, sha, author=request.author())


@route("DELETE", "/api/datasets/{repo}/{kind}/{rev}", write=True)
def delete_ref(_: Hub, __: Request, dataset: Dataset, kind: str, rev: str) -> Any:
    ref = f"refs/{'tags' if kind == 'tag' else 'heads'}/{rev}"
    require(ref != "refs/heads/main", 403, f"Cannot delete {ref}")
    dataset.sha(ref)
    dataset.git.git("update-ref", "-d", ref)


@route("POST", "/api/datasets/{repo}/super-squash/{rev}", write=True)
def super_squash(_: Hub, request: Request, dataset: Dataset, rev: str) -> Any:
    ref = rev if rev.startswith("refs/") else f"refs/heads/{rev}"
    message = request.json.get("message") or f"Super-squash branch '{rev}'"
    sha = commit_tree(dataset, f"{dataset.sha(ref)}^{{tree}}", message, request.author())
    dataset.git.git("update-ref", ref, sha)
    return {"commitId": sha}


def commit_tree(dataset: Dataset, tree: str, message: str, author: str, *parents: str) -> str:
    arguments = [f"-p{parent}" for parent in parents]
    return dataset.git.git("commit-tree", tree, *arguments, stdin=message.encode(), author=author).decode().strip()


@route("GET", "/api/datasets/{repo}/commits/{rev}")
def list_commits(hub: Hub, request: Request, dataset: Dataset, rev: str) -> Any:
    return paged(hub, request, dataset.git.log(dataset.sha(rev)))


# Files


@route("GET", "/api/datasets/{repo}/tree/{rev}")
@route("GET", "/api/datasets/{repo}/tree/{rev}/{path}")
def list_tree(hub: Hub, request: Request, dataset: Dataset, rev: str, path: str = "") -> Any:
    sha, expand, path = dataset.sha(rev), request.get("expand") in TRUE, path.strip("/")
    entries = dataset.git.entries(sha)
    known = not path or entries.get(path, {}).get("type") == "directory"
    require(known, 404, f"{path} does not exist on {rev}", "EntryNotFound")
    deep = request.get("recursive") in TRUE
    below = [one for name, one in entries.items() if name.startswith(f"{path}/" if path else "")]
    chosen = [one for one in below if deep or one["path"].rpartition("/")[0] == path]
    answer = paged(hub, request, chosen, 100 if expand else None)  # openapi: 1,000 a page, 100 if expanded
    return Answer(expanded(dataset, sha, answer.body) if expand else answer.body, headers=answer.headers)


def expanded(dataset: Dataset, sha: str, entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**entry, "lastCommit": dataset.git.log(sha, "-1", entry["path"])[0]} for entry in entries]


@route("POST", "/api/datasets/{repo}/paths-info/{rev}")
def paths_info(_: Hub, request: Request, dataset: Dataset, rev: str) -> Any:
    form, sha = parse_qs(request.body.decode()), dataset.sha(rev)
    entries = dataset.git.entries(sha)
    known = [
        entries[path.strip("/")] for path in form.get("paths", []) if path.strip("/") in entries
    ]  # no others: client tests
    return expanded(dataset, sha, known) if form.get("expand", [""])[0] in TRUE else known


@route("GET", "/datasets/{repo}/resolve/{rev}/{path}")
def resolve(hub: Hub, request: Request, dataset: Dataset, rev: str, path: str) -> Any:
    entry, headers = find_file(dataset, request, rev, path)
    if lfs := entry.get("lfs"):
        headers |= {"X-Linked-Etag": f'"{lfs["oid"]}"', "X-Linked-Size": str(lfs["size"])}
        return Answer(b"", 302, headers | {"Location": f"{hub.storage_url}/{dataset.uid}/{lfs['oid']}"})
    target = f"/api/resolve-cache/datasets/{dataset.id}/{headers['X-Repo-Commit']}/{quote(path)}"  # openapi
    return Answer(b"", 307, headers | {"Location": target})


@route("GET", "/api/resolve-cache/datasets/{repo}/{rev}/{path}")
def resolve_cached(_: Hub, request: Request, dataset: Dataset, rev: str, path: str) -> Any:
    entry, headers = find_file(dataset, request, rev, path)
    return content(dataset.git.blob(entry["oid"]), request, headers | {"ETag": f'"{entry["oid"]}"'})


def find_file(dataset: Dataset, request: Request, rev: str, path: str) -> tuple[dict[str, Any], dict[str, str]]:
    words = f"Access to dataset {dataset.id} is restricted and you are not in the authorized list."  # client tests
    role = request.account.role if request.account and request.is_member(dataset.namespace) else ""
    # docs: gated datasets. Members who may not write have to ask too: openapi, orgMembersGated.
    require(not dataset.gated or role == "write", 403 if request.account else 401, words, "GatedRepo")
    headers = {"X-Repo-Commit": dataset.sha(rev)}
    entry = dataset.git.entries(headers["X-Repo-Commit"]).get(path)
    require(entry and entry["type"] == "file", 404, "Entry not found", "EntryNotFound", headers=headers)
    return entry, headers


def content(body: bytes, request: Request, headers: dict[str, str]) -> Answer:
    """Return a file, or the range of it that is asked for."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
    if match is None:
        return Answer(body, headers=headers | {"Accept-Ranges": "bytes"})
    start = int(match[1]) if match[1] else max(len(body) - int(match[2]), 0)
    end = min(int(match[2]), len(body) - 1) if match[1] and match[2] else len(body) - 1
    if start > end:
        return Answer(b"", 416, headers | {"Content-Range": f"bytes */{len(body)}"})
    return Answer(body[start : end + 1], 206, headers | {"Content-Range": f"bytes {start}-{end}/{len(body)}"})


# Commits


@route("POST", "/api/validate-yaml")
def validate_yaml(_: Hub, request: Request) -> Any:
    _, errors, warnings = read_card(request.json["content"])
    return Answer({"errors": errors, "warnings": warnings}, 400 if errors else 200)


def read_card(text: str) -> tuple[dict[str, Any], list[dict[str, str]], list[dict[str, str]]]:
    """Return the metadata of a card, errors and warnings: of its YAML, and of values that have to be strings."""
    match = FRONT_MATTER.match(text)
    try:
        card = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError as refusal:
        return {}, [{"message": f"Invalid YAML: {refusal}"}], []
    if card is None:
        return {}, [], [{"message": "empty or missing yaml metadata in repo card"}]
    if not isinstance(card, dict):
        return {}, [{"message": "The metadata should be a mapping"}], []
    wrong = [key for key in (*TAG_KEYS, "tags") if not all(isinstance(value, str) for value in as_list(card.get(key)))]
    return card, [{"message": f'"{key}" must only contain strings'} for key in wrong], []


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def tracking(pattern: str) -> str:
    return f"{pattern} filter=lfs diff=lfs merge=lfs -text\n"


def attributes_of(dataset: Dataset, entries: dict[str, dict[str, Any]]) -> str:
    known = entries.get(".gitattributes")
    return dataset.git.blob(known["oid"]).decode() if known else ""


def is_tracked(attributes: str, path: str) -> bool:
    patterns = [line.split()[0] for line in attributes.splitlines() if "filter=lfs" in line]
    return any(fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern) for pattern in patterns)


@route("POST", "/api/datasets/{repo}/preupload/{rev}")
def preupload(_: Hub, request: Request, dataset: Dataset, rev: str) -> Any:
    request.author()
    entries = dataset.git.entries(dataset.sha(rev))
    attributes, files = attributes_of(dataset, entries), []
    for one in request.json["files"]:
        binary = one["size"] > LARGEST_BLOB or b"\0" in base64.b64decode(one["sample"])
        mode = "lfs" if binary or is_tracked(attributes, one["path"]) else "regular"
        known = entries.get(one["path"], {})
        files.append(
            {"path": one["path"], "uploadMode": mode, "shouldIgnore": False, "oid": known.get("lfs", known).get("oid")}
        )
    return {"files": files}


@route("POST", "/datasets/{repo}.git/info/lfs/objects/batch")
def lfs_batch(hub: Hub, request: Request, dataset: Dataset) -> Any:
    request.author()
    objects = []
    for one in request.json["objects"]:
        actions = {"upload": {"href": f"{hub.storage_url}/{dataset.uid}/{one['oid']}"}}
        present = (dataset.lfs / one["oid"]).exists()
        objects.append(one if present else {**one, "actions": actions})  # client: present without
    return {"objects": objects}


@route("GET", "/api/datasets/{repo}/lfs-files")
def list_lfs_files(hub: Hub, request: Request, dataset: Dataset) -> Any:
    # client: by sha256, with one of the paths that lead to it
    entries = [entry for sha in dataset.commits for entry in dataset.git.entries(sha).values() if "lfs" in entry]
    files = {entry["lfs"]["oid"]: {"filename": entry["path"], "size": entry["size"]} for entry in entries}
    return paged(hub, request, [{"fileOid": oid, "oid": oid, "pushedAt": now(), **file} for oid, file in files.items()])


@route("POST", "/api/datasets/{repo}/lfs-files/batch", write=True)
def delete_lfs_files(_: Hub, request: Request, dataset: Dataset) -> Any:
    require(not request.json["deletions"]["rewriteHistory"], 501, "this server does not rewrite history")
    for oid in request.json["deletions"]["sha"]:
        (dataset.lfs / oid).unlink()


@route("POST", "/api/datasets/{repo}/commit/{rev}")
def commit(hub: Hub, request: Request, dataset: Dataset, rev: str) -> Any:
    header, operations = read_commit(request)
    author, opens = request.author(), request.get("create_pr") in TRUE
    pull = next((one for one in dataset.discussions if f"refs/pr/{one['num']}" == rev), None)
    if not opens and (
        pull is None or pull["author"]["name"] != author
    ):  # everybody may open a pull request: client tests
        request.require_write(dataset.namespace)
    ref, parent = rev if pull else f"refs/heads/{rev}", header.get("parentCommit")
    head = dict(dataset.git.refs()).get(ref)
    require(head, 404, f"Invalid rev id: {rev}", "RevisionNotFound")
    if opens:  # huggingface.js: parentCommit is where a pull request begins
        head = dataset.sha(parent or head)
        pull = open_discussion(dataset, header["summary"], author, "open", rev)
        ref = f"refs/pr/{pull['num']}"
    elif parent and parent != head:
        raise error(412, "The branch was updated since you opened this page. Please refresh and try again.")
    message = "\n\n".join(filter(None, [header["summary"], header.get("description")]))
    sha = dataset.git.commit(ref, head, read_changes(dataset, head, operations), message, author)
    page = f"{hub.url}/datasets/{dataset.id}"
    if pull:
        add_event(pull, author, "commit", subject=header["summary"], oid=sha)
    opened = {"pullRequestUrl": f"{page}/discussions/{pull['num']}"} if pull and opens else {}
    return {"success": True, "commitOid": sha, "commitUrl": f"{page}/commit/{sha}", "hookOutput": "", **opened}


def read_commit(request: Request) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the operations of the JSON lines of a commit. Raises Answer."""
    lines = [json.loads(line) for line in request.body.splitlines()]
    require(lines and lines[0]["key"] == "header", 400, "Add a line with the key `header`")
    # The words for a body that was cut after its first line: client tests.
    require(lines[1:], 400, "Add a line with the key `lfsFile`, `file` or `deletedFile`")
    for path in (line["value"]["path"].rstrip("/") for line in lines[1:]):
        wrong = "\\" in path or {"", ".", "..", ".git"} & set(path.split("/"))
        require(not wrong, 422, f"Invalid path: {path}")  # client tests
    return lines[0]["value"], lines[1:]


def read_changes(dataset: Dataset, head: str, operations: Iterable[dict[str, Any]]) -> list[tuple[str, bytes | None]]:
    """Return contents by path, None to delete, for git to commit. Raises Answer."""
    changes: dict[str, bytes | None] = {}
    entries = dataset.git.entries(head)
    attributes, untracked = attributes_of(dataset, entries), ""
    for operation in operations:
        value, path = operation["value"], operation["value"]["path"].rstrip("/")
        if operation["key"] == "file":
            changes[path] = (
                base64.b64decode(value["content"]) if value.get("encoding") == "base64" else value["content"].encode()
            )
        elif operation["key"] == "lfsFile":
            file = dataset.lfs / value["oid"]
            # issue 3829; LFS files are not shared between repositories: issue 2876.
            words = f"Your push was rejected because an LFS pointer pointed to a file that does not exist: {path}"
            require(file.exists(), 400, words)
            changes[path] = lfs_pointer(file)
            untracked += "" if is_tracked(attributes, path) else tracking(path.replace(" ", "[[:space:]]"))
        else:
            require(path in entries, 404, f"A file with this name doesn't exist: {path}", "EntryNotFound")  # client
            changes[path] = None
    small = all(len(content or b"") <= LARGEST_BLOB for content in changes.values())
    require(small, 400, "Your push was rejected because it contains files larger than 10 MiB.")
    errors = read_card((changes.get("README.md") or b"").decode(errors="replace"))[1]
    require(not errors, 400, "Invalid metadata in README.md", errors=errors)
    if untracked and ".gitattributes" not in changes:  # openapi: preupload
        changes[".gitattributes"] = (attributes + untracked).encode()
    return list(changes.items())


# Discussions


def open_discussion(dataset: Dataset, title: str, author: str, status: str, base: str | None) -> dict[str, Any]:
    dataset.discussions.append({
        "num": len(dataset.discussions) + 1, "title": title, "author": {"name": author}, "status": status, "createdAt": now(),
        "isPullRequest": base is not None, "changes": {"base": f"refs/heads/{base}"}, "filesWithConflicts": False, "events": [],
    })  # fmt: skip
    return dataset.discussions[-1]


def add_event(discussion: dict[str, Any], author: str, kind: str, **data: Any) -> dict[str, Any]:
    discussion["events"].append(
        {"id": new_id(), "type": kind, "createdAt": now(), "author": {"name": author}, "data": data}
    )
    return {"newStatus": discussion["events"][-1]}


@route("GET", "/api/datasets/{repo}/discussions")
def list_discussions(hub: Hub, request: Request, dataset: Dataset) -> Any:
    # A draft is listed as open: client tests.
    states = {"open": {"open", "draft"}, "closed": {"closed", "merged"}}.get(
        request.get("status"), {"open", "draft", "closed", "merged"}
    )
    kinds = {"pull_request": {True}, "discussion": {False}}.get(request.get("type"), {True, False})
    repo, author = {"repo": {"name": dataset.id, "type": "dataset"}}, request.get("author")
    chosen = [
        one | repo for one in reversed(dataset.discussions) if one["status"] in states and one["isPullRequest"] in kinds
    ]
    mine = [one for one in chosen if author in {"", one["author"]["name"]}]
    start = int(request.get("p") or 0) * PAGE_SIZE
    return {"discussions": mine[start : start + PAGE_SIZE], "count": len(mine), "start": start}


@route("POST", "/api/datasets/{repo}/discussions")
def create_discussion(_: Hub, request: Request, dataset: Dataset) -> Any:
    pull, title, author = request.json.get("pullRequest"), request.json["title"], request.author()
    # docs: a pull request that a program opens without changes is a draft.
    opened = open_discussion(dataset, title, author, "draft" if pull else "open", "main" if pull else None)
    if pull:
        dataset.git.git("update-ref", f"refs/pr/{opened['num']}", "refs/heads/main")
    add_event(
        opened, author, "comment", edited=False, hidden=False, latest={"raw": request.json["description"]}, history=[]
    )
    return {"num": opened["num"]}


def find_discussion(dataset: Dataset, num: str) -> dict[str, Any]:
    found = [one for one in dataset.discussions if str(one["num"]) == num]
    require(found, 404, "Discussion not found")
    return found[0]


@route("GET", "/api/datasets/{repo}/discussions/{num}")
def discussion_details(_: Hub, __: Request, dataset: Dataset, num: str) -> Any:
    return find_discussion(dataset, num) | {"repo": {"name": dataset.id, "type": "dataset"}}


@route("POST", "/api/datasets/{repo}/discussions/{num}/{change}", write=True)
def change_discussion(_: Hub, request: Request, dataset: Dataset, num: str, change: str) -> Any:
    """Close or open a discussion, or merge a pull request: one commit with one parent, as the log in docs (storage) shows."""
    one, author = find_discussion(dataset, num), request.author()
    if change == "merge":
        require(
            one["status"] == "open", 400, f"This pull request is not open, but {one['status']}"
        )  # docs: a draft cannot
        base, head = dataset.sha(one["changes"]["base"]), dataset.sha(f"refs/pr/{num}")
        tree = dataset.git.git("merge-tree", "--write-tree", base, head).decode().split()[0]
        merged = commit_tree(dataset, tree, f"{one['title']} (#{num})\n\n- {one['title']} ({head})\n", author, base)
        dataset.git.git("update-ref", one["changes"]["base"], merged)
        one["changes"]["mergeCommitId"] = merged
    one["status"] = "merged" if change == "merge" else request.json["status"]
    return add_event(one, author, "status-change", status=one["status"])


def new_id() -> str:
    """Return 24 hexadecimal digits, as the Hub's database names things."""
    return uuid.uuid4().hex[:24]


def now() -> str:
    """Return the time in the form of the Hub's answers."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
