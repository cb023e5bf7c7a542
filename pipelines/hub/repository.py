"""Dataset repositories on the Hub: their files at a revision, releases fetched from it, and the files that we publish.

Two of these are rendered again for that repository: the card, which names it in its snippets and keeps the front-matter keys that
others added there, and the manifest, which holds the digest of that card. All others are the same bytes.

The Hub lists the sha256 of a file in LFS and the git blob id of any other. It has computed both from the bytes that it stores.
"""

import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import yaml
from huggingface_hub import get_session, hf_hub_url, hf_raise_for_status
from huggingface_hub.errors import (
    GatedRepoError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile, RepoSibling

from builders.errors import ReleaseError, SourceError
from builders.spec import version_key
from cards.front_matter import parse_front_matter, split_front_matter
from cards.manifest import Manifest, decode, encode
from cards.mteb_task import name_repository
from pipelines.hub.client import HubClient, TransferError, Trouble, call, call_failed, unless_answered
from pipelines.process.files import locked
from pipelines.process.stages import stage
from pipelines.raw.digests import hash_content
from pipelines.release import folder

VERSION_TAG = re.compile(r"v(\d+\.\d+\.\d+)", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
LOST = (403, 404)  # what the storage of files answers for one that it does not have
GIT_BLOB = 40  # hex digits of the digest of a file outside LFS, which is small; a file in LFS may be of any size
MAX_SIBLINGS = 1000  # files of a repository that the Hub lists with it; of more, it may leave some out
MAIN, REFS = "main", "refs"  # REFS: no revision has this name in HubClient.snapshots


@dataclass(frozen=True)
class Snapshot:
    """A dataset repository at one commit.

    digests: for every file its sha256 where it is kept in LFS, else its git blob id. repo: its name, which is not the one that
    was asked for where it was renamed.
    """

    sha: str
    private: bool
    digests: Mapping[str, str]
    repo: str = ""


@dataclass(frozen=True)
class Refs:
    """The tags and branches of a repository: the sha of the commit of each, by name."""

    tags: Mapping[str, str]
    branches: Mapping[str, str]

    @property
    def versions(self) -> list[str]:
        """The versions that there are tags for, newest first: `2.0.0` for `v2.0.0`."""
        found = [match[1] for name in self.tags if (match := VERSION_TAG.fullmatch(name))]
        return sorted(found, key=version_key, reverse=True)


def snapshot(hub: HubClient, repo: str, revision: str = "main") -> Snapshot | None:
    """A repository at a revision; None where there is no such repository or revision. A commit is asked for once."""
    if (known := hub.snapshots.get((repo, revision))) is not None:
        return cast(Snapshot, known)

    def ask() -> Snapshot | None:
        try:
            info = hub.api.dataset_info(repo, revision=revision, files_metadata=True, timeout=hub.patience.read)
        except GatedRepoError:
            raise
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return None
        files: Sequence[RepoSibling | RepoFile] = info.siblings or []
        if len(files) > MAX_SIBLINGS:
            tree = hub.api.list_repo_tree(repo, repo_type="dataset", revision=info.sha, recursive=True)
            files = [file for file in tree if isinstance(file, RepoFile)]
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id or "" for file in files}
        return Snapshot(info.sha or "", bool(info.private), digests, info.id)

    at = call(hub, "reading the repository", repo, ask)
    if at is not None:
        hub.snapshots[repo, at.sha] = at
    return at


def create(hub: HubClient, repo: str, *, private: bool) -> bool:
    """Create a dataset repository; False where there is one by now, which somebody else or a lost answer may have left.

    Raises the client's error where the token may not create it.
    """
    organisation = repo.partition("/")[0]
    denied = (
        f"use a token that may create datasets of {organisation} (HF_TOKEN, or hf auth login), "
        f"or ask an administrator of {organisation} to create {repo}"
    )
    create = unless_answered(409, lambda: hub.api.create_repo(repo, repo_type="dataset", private=private or None))
    return call(hub, "creating the repository", repo, create, denied=denied)


def create_tag(hub: HubClient, repo: str, tag: str, sha: str) -> bool:
    """Tag a commit; False where there is such a tag already, which may be on another commit."""
    create = unless_answered(409, lambda: hub.api.create_tag(repo, tag=tag, revision=sha, repo_type="dataset"))
    return call(hub, f"tagging {tag}", repo, create)


def require_ref(hub: HubClient, repo: str, refs: Mapping[str, str], name: str, sha: str) -> None:
    """Refuse to go on where a new tag or branch is not on its commit: what it is there for would be lost with the old one."""
    if refs.get(name) != sha:
        raise hub.error(
            f"{name} is not on its commit",
            where=repo,
            found=refs.get(name),
            expected=sha,
            todo=f"give {name} another name if it is somebody's; run the command again",
        )


def rename_tag(hub: HubClient, repo: str, tag: str, new: str, sha: str) -> None:
    """Give the commit of a tag another tag, and delete the old one.

    Raises the client's error where another commit has the new tag.
    """
    create_tag(hub, repo, new, sha)
    require_ref(hub, repo, list_refs(hub, repo).tags, new, sha)
    delete = unless_answered(404, lambda: hub.api.delete_tag(repo, tag=tag, repo_type="dataset"))
    call(hub, f"deleting tag {tag}", repo, delete)


def require_snapshot(hub: HubClient, repo: str, revision: str) -> Snapshot:
    """A repository at a revision.

    Raises the client's error where there is no such repository or revision.
    """
    at = snapshot(hub, repo, revision)
    if at is None:
        raise call_failed(hub, f"finding revision {revision}", repo, Trouble("no such repository or revision", 404))
    return at


def require_release(hub: HubClient, repo: str, revision: str) -> tuple[Snapshot, Manifest | None]:
    """A repository at a revision, and the manifest of the release there; None where it has none of ours.

    Raises the client's error where there is no such repository or revision.
    """
    at = require_snapshot(hub, repo, revision)
    return at, read_manifest_at(hub, repo, at)


def list_refs(hub: HubClient, repo: str) -> Refs:
    """The tags and branches of a repository."""
    if (pretended := hub.snapshots.get((repo, REFS))) is not None:
        return cast(Refs, pretended)
    refs = call(hub, "reading its tags and branches", repo, lambda: hub.api.list_repo_refs(repo, repo_type="dataset"))
    return Refs(*({ref.name: ref.target_commit for ref in kind} for kind in (refs.tags, refs.branches)))


def list_commits(hub: HubClient, repo: str, revision: str = "main") -> list[str]:
    """The shas of the commits of a revision, newest first."""
    ask = partial(hub.api.list_repo_commits, repo, repo_type="dataset", revision=revision)
    commits = call(hub, "reading its history", repo, ask)
    return [commit.commit_id for commit in commits]


def _require_digest(at: Snapshot, path: str, content: bytes | Path) -> None:
    """Refuse a file that is not the one whose digest the Hub lists; another attempt may bring that one."""
    digest = hash_content(content)
    if at.digests[path] not in ("", digest.sha256, digest.git_blob):
        raise TransferError(f"the file that arrived is not the one on the Hub: {digest}")


def download(hub: HubClient, repo: str, at: Snapshot, path: str, folder: Path) -> Path:
    """One file of a snapshot, below a folder, as the Hub has it now: no local cache is asked.

    Raises the client's error where another file arrives, again and again, than the one whose digest the Hub lists.
    """

    def ask() -> Path:
        arrived = hub.api.hf_hub_download(
            repo, path, repo_type="dataset", revision=at.sha, local_dir=folder, force_download=True,
            etag_timeout=hub.patience.read,
        )  # fmt: skip
        _require_digest(at, path, Path(arrived))
        return Path(arrived)

    with stage(f"downloading {path}"):
        return call(hub, f"downloading {path}", repo, ask)


def read_file(hub: HubClient, repo: str, at: Snapshot, path: str) -> bytes | None:
    """The content of a small file at a snapshot; None where it does not have it. The same bytes are fetched once."""
    if path not in at.digests:
        return None
    key = repo, at.digests[path]
    if key in hub.files:
        return hub.files[key]

    def ask() -> bytes:
        url = hf_hub_url(repo, path, repo_type="dataset", revision=at.sha, endpoint=hub.api.endpoint)
        response = get_session().get(url, headers=hub.headers)
        hf_raise_for_status(response)
        _require_digest(at, path, response.content)
        return bytes(response.content)

    if len(key[1]) == GIT_BLOB:
        with stage(f"downloading {path}"):
            content = hub.files[key] = call(hub, f"downloading {path}", repo, ask)
        return content
    with tempfile.TemporaryDirectory() as folder:
        return download(hub, repo, at, path, Path(folder)).read_bytes()


def find_lost_file(hub: HubClient, repo: str, at: Snapshot, path: str, size: int | None = None) -> str | None:
    """Why a file of a snapshot could not be fetched; its first byte is. size: in bytes, where it is known.

    The headers are not enough: the Hub sends to the storage of a file in LFS without looking whether that has it
    (huggingface_hub issue 4430). Raises the client's error where the Hub does not answer.
    """
    url = hf_hub_url(repo, path, repo_type="dataset", revision=at.sha, endpoint=hub.api.endpoint)

    def ask() -> str | None:
        headers = hub.headers | {"Range": "bytes=0-0"}
        with get_session().stream("GET", url, headers=headers, timeout=hub.patience.read) as response:
            if not str(response.url).startswith(hub.api.endpoint) and response.status_code in LOST:
                return f"{path}: the Hub lists it, and its storage answers {response.status_code}"
            try:
                hf_raise_for_status(response)
            except RemoteEntryNotFoundError:
                return f"{path}: the Hub lists it, and has lost its content"
            found = int(response.headers.get("Content-Range", "").rpartition("/")[2] or 0)
        return f"{path}: the Hub has {found:,} bytes of {size:,}" if size and found and found != size else None

    return call(hub, f"asking for {path}", repo, ask)


def read_manifest_at(hub: HubClient, repo: str, at: Snapshot) -> Manifest | None:
    """The manifest of the release at a snapshot; None where it has none of ours."""
    data = read_file(hub, repo, at, folder.MANIFEST)
    try:
        return None if data is None else decode(data, f"{repo} at {at.sha[:12]}: manifest.json")
    except ReleaseError:
        return None


def fetch_release_at(hub: HubClient, repo: str, revision: str, cache: Path) -> Path:
    """The folder of the release at a revision, fetched into the cache unless it is there.

    Raises the client's error where there is no such revision, ReleaseError where it holds no release. The files are not verified:
    see pipelines.release.folder.
    """
    return fetch_release(hub, repo, require_snapshot(hub, repo, revision), cache, revision)


def fetch_release(hub: HubClient, repo: str, at: Snapshot, cache: Path, revision: str = "") -> Path:
    """The folder of the release at a snapshot, in the cache: a commit never changes. revision: the name that led to it.

    Raises ReleaseError where it holds no release, only a part of one, or another version than its tag is called after.
    """
    release_dir = _commit_dir(repo, at, cache)
    with locked(_lock_file(release_dir), repo, activity="fetching", remove=True):
        if folder.read_manifest(release_dir) is None:
            new = release_dir.with_name(f".{at.sha}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            fetch_documents(hub, repo, at, new, data=True)
            new.rename(release_dir)
    tag, manifest = VERSION_TAG.fullmatch(revision), folder.require_manifest(release_dir)
    if tag and tag[1] != manifest.version:
        raise ReleaseError(f"{revision} holds another version than its name says", where=repo, found=manifest.name)
    return release_dir


def fetch_files(hub: HubClient, repo: str, at: Snapshot, paths: Iterable[str], cache: Path) -> Path:
    """The folder in the cache with these files of a snapshot, fetched unless they are there: a commit never changes."""
    commit_dir = _commit_dir(repo, at, cache)
    with (
        locked(_lock_file(commit_dir), repo, activity="fetching", remove=True),
        tempfile.TemporaryDirectory(prefix=".", dir=commit_dir.parent) as temporary,
    ):
        for path in paths:
            if not (commit_dir / path).exists():
                arrived = download(hub, repo, at, path, Path(temporary))
                (commit_dir / path).parent.mkdir(parents=True, exist_ok=True)
                arrived.replace(commit_dir / path)
    return commit_dir


def require_commit(repo: str, at: Snapshot) -> str:
    """The commit of a snapshot. Raises SourceError where the Hub names none."""
    if not COMMIT.fullmatch(at.sha):
        raise SourceError(
            "the Hub names no commit", where=repo, found=repr(at.sha[:60]), expected="40 hexadecimal digits"
        )
    return at.sha


def _commit_dir(repo: str, at: Snapshot, cache: Path) -> Path:
    return cache / "hub" / repo / require_commit(repo, at)


def _lock_file(commit_dir: Path) -> Path:
    return commit_dir.with_name(f".{commit_dir.name}.lock")


def fetch_documents(hub: HubClient, repo: str, at: Snapshot, target: Path, *, data: bool = False) -> Manifest:
    """The manifest of a release; it and the documents that it names are downloaded into a folder. data: the data files too.

    Raises ReleaseError where the snapshot has no release, or only a part of one.
    """
    where = f"{repo} at {at.sha[:12]}"
    if folder.MANIFEST not in at.digests:
        raise ReleaseError("no release on the Hub at this revision", where=where, found="no manifest.json")
    manifest = decode(read_file(hub, repo, at, folder.MANIFEST) or b"", f"{where}: manifest.json")
    documents = [folder.MANIFEST, *folder.document_names(manifest)]
    files = [file.path for file in manifest.files if data]
    missing = [path for path in (*documents, *files) if path not in at.digests]
    if missing:
        raise ReleaseError("the release on the Hub lacks a file", where=where, found=missing[0])
    for path in documents:
        (target / path).write_bytes(read_file(hub, repo, at, path) or b"")
    for path in files:
        download(hub, repo, at, path, target)
    shutil.rmtree(target / ".cache", ignore_errors=True)  # what the Hub's library notes beside its downloads
    return manifest


# The keys that a card of ours may have; any other key in a card on the Hub is somebody else's.
OUR_KEYS = frozenset(
    {
        "annotations_creators", "configs", "dataset_info", "language", "license", "license_link", "license_name",
        "multilinguality", "pretty_name", "size_categories", "source_datasets", "tags", "task_categories", "task_ids",
    }
)  # fmt: skip


def published_files(
    release_dir: Path, manifest: Manifest, repo: str, published_card: bytes | None, newest: str | None = None
) -> tuple[dict[str, bytes | Path], list[str]]:
    """Content or path on disk of every file, by path in the repository; and the front-matter keys that others added.

    published_card: the card in the repository now. newest: the version on main where it is newer than this one: the card says so.
    A manifest without digests of its documents is published as it is.

    Raises ReleaseError where keys are to be kept and our card has no front matter.
    """
    names = [folder.MANIFEST, *folder.document_names(manifest), *(file.path for file in manifest.files)]
    writes: dict[str, bytes | Path] = {name: release_dir / name for name in names}
    card = name_repository((release_dir / folder.CARD).read_text("utf-8"), manifest.dataset, repo)
    card = card if newest is None else _name_newest(card, newest)
    card, added = _merge_card(card, published_card, str(release_dir / folder.CARD))
    content = writes[folder.CARD] = card.encode()
    if manifest.documents:
        published = folder.describe_document(folder.CARD, content)
        documents = tuple(published if document.path == folder.CARD else document for document in manifest.documents)
        writes[folder.MANIFEST] = encode(replace(manifest, documents=documents))
    return writes, added


def _name_newest(card: str, newest: str) -> str:
    """The card with a note below its title that there is a newer version."""
    note = f"> [!NOTE]\n> **Not the newest version.** `main` of this repository holds version {newest}."
    head, title, body = card.partition("\n# ")
    name, line_end, rest = body.partition("\n")
    return f"{head}{title}{name}{line_end}\n{note}\n{rest}" if title else card


def _merge_card(card: str, published: bytes | None, where: str) -> tuple[str, list[str]]:
    """The card with the keys that others added to the front matter of the card on the Hub, and the names of these keys."""
    try:
        metadata = parse_front_matter(published or b"", "the card on the Hub")
    except SourceError:
        metadata = {}  # the Hub shows such a card as one without metadata
    others = {key: value for key, value in metadata.items() if key not in OUR_KEYS}
    if not others:
        return card, []
    front_matter, body = split_front_matter(card)
    if not front_matter:
        raise ReleaseError("the card has no front matter", where=where, todo="build the release again with --force")
    added = yaml.safe_dump(others, sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{front_matter}{added}---\n{body}", [str(key) for key in others]


def file_digests(manifest: Manifest) -> dict[str, str]:
    """The sha256 of every data file of a release, by path."""
    return {file.path: file.sha256 for file in manifest.files}


def find_differences(at: Snapshot, files: Mapping[str, bytes | Path], known: Mapping[str, str]) -> list[str]:
    """How the files at a snapshot differ from ours, a line for each file that does; files of other names are not compared.

    files: content or path on disk, by path in the repository. known: the sha256 of files that were verified already.
    """
    differences = []
    for path, content in files.items():
        listed = at.digests.get(path)
        if listed is None:
            differences.append(f"{path} is missing")
        elif not listed:
            differences.append(f"{path}: the Hub gives no digest of it")
        elif listed != known.get(path) and listed not in listed_digests(content):
            differences.append(f"{path}: the Hub has other bytes ({listed[:16]}...)")
    return differences


def listed_digests(content: bytes | Path) -> tuple[str, str | None]:
    """The two digests by which the Hub may list a file: sha256, git blob id."""
    digest = hash_content(content)
    return digest.sha256, digest.git_blob
