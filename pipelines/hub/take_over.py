"""Repositories with data of somebody else: refused, or taken over after their commit got a tag."""

from collections.abc import Container
from pathlib import PurePosixPath

from builders.errors import PublishError
from builders.tasks import config_folder
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Refs, Snapshot

TAG = "before-embedding-datasets"
# What a repository may hold without holding data: texts about it, pictures of a card, files of git.
NO_DATA = frozenset({".md", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".cff", ".bib"})
NO_DATA_NAMES = frozenset({".gitattributes", ".gitignore", "LICENSE", "LICENSE.txt", "NOTICE"})
STANDALONE_CARD = ".huggingface.yaml"  # `datasets` reads it, and prefers it to the front matter of the card


def may_take_over(repo: str, at: Snapshot, published: Manifest | None, refs: Refs, *, permitted: bool) -> bool:
    """Whether main holds data and no release of this package, so that publishing takes the repository over.

    published: the release on main.

    Raises PublishError where that is not permitted, and where TAG is the tag of another commit than main's.
    """
    data = [] if published else [path for path in sorted(at.digests) if _is_data(path)]
    if not data:
        return False
    if not permitted:
        names = ", ".join(data[:5]) + (", ..." if len(data) > 5 else "")
        raise PublishError(
            "the repository holds data, and no release of this package",
            where=f"{repo} at main",
            found=f"{len(data)} {'file' if len(data) == 1 else 'files'}: {names}",
            todo="choose another --org or --repo-name, or pass --take-over: it tags what is there as "
            f"{TAG}, and then publishes on top of it",
        )
    tagged = refs.tags.get(TAG, at.sha)
    if tagged != at.sha:
        raise _tagged_elsewhere(repo, tagged, at)
    return True


def tag_existing(hub: HubClient, repo: str, at: Snapshot) -> None:
    """Tag the commit that is about to be built on; it may have the tag already.

    Raises PublishError where another commit has it.
    """
    if not repository.create_tag(hub, repo, TAG, at.sha):
        tagged = repository.list_refs(hub, repo).tags.get(TAG, "")
        if tagged != at.sha:
            raise _tagged_elsewhere(repo, tagged, at)


def files_loaded_with(repo: str, at: Snapshot, manifest: Manifest, ours: Container[str]) -> list[str]:
    """The files at a snapshot that `datasets` would load with a release, or instead of it, and that are not its own.

    These are the files that the patterns of our card match (`data/test-*`), a script with the name of the repository, at
    which `datasets` stops, and STANDALONE_CARD.
    """
    others = {f"{PurePosixPath(repo).name}.py", STANDALONE_CARD}
    patterns = {(config_folder(table.config), f"{table.split}-") for table in manifest.tables}

    def is_loaded(path: str) -> bool:
        file = PurePosixPath(path)
        return any(str(file.parent) == folder and file.name.startswith(split) for folder, split in patterns)

    return [path for path in at.digests if path not in ours and (path in others or is_loaded(path))]


def _is_data(path: str) -> bool:
    file = PurePosixPath(path)
    return file.suffix.lower() not in NO_DATA and file.name not in NO_DATA_NAMES


def _tagged_elsewhere(repo: str, tagged: str, at: Snapshot) -> PublishError:
    return PublishError(
        f"the tag {TAG} is that of another commit than main's",
        where=repo, found=tagged, expected=at.sha, todo="rename that tag, or delete it if nobody needs it",
    )  # fmt: skip
