"""What somebody else put into a repository: data, refused or taken over after they got a tag; edits of a card, which are kept.

Keys that others added do not count: publishing keeps them (pipelines.hub.repository).
"""

from collections.abc import Container, Sequence
from difflib import unified_diff
from pathlib import PurePosixPath

import yaml

from builders.errors import PublishError, SourceError
from builders.tasks import config_folder
from cards.front_matter import parse_front_matter, split_front_matter
from cards.manifest import Manifest
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import OUR_KEYS, Refs, Snapshot
from pipelines.release import folder
from pipelines.release.loading import OTHER_METADATA

TAG = "before-embedding-datasets"
# What a repository may hold without holding data: texts about it, pictures of a card, files of git.
NO_DATA = frozenset({".md", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".cff", ".bib"})
NO_DATA_NAMES = frozenset({".gitattributes", ".gitignore", "LICENSE", "LICENSE.txt", "NOTICE"})


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
    repository.create_tag(hub, repo, TAG, at.sha)
    tagged = repository.list_refs(hub, repo).tags.get(TAG, "")  # before anything is sent
    if tagged != at.sha:
        raise _tagged_elsewhere(repo, tagged, at)


def files_loaded_with(repo: str, at: Snapshot, manifest: Manifest, ours: Container[str]) -> list[str]:
    """The files at a snapshot that `datasets` would load with a release, or instead of it, and that are not its own.

    These are the files that the patterns of our card match (`data/test-*`), a script with the name of the repository, at
    which `datasets` stops, and OTHER_METADATA.
    """
    others = {f"{PurePosixPath(repo).name}.py", *OTHER_METADATA}
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


MAX_DIFF = 40  # lines that are shown
MAX_COMPARED = 2_000  # lines of each card: comparing takes time in the square of their number
MAX_WIDTH = 160  # characters of a line that is shown


def find_card_edits(
    hub: HubClient, repo: str, card: bytes | None, published: Manifest | None, refs: Refs, *, planned: bytes | None
) -> tuple[str, ...]:
    """The hand edits of the card on main, as the lines of a unified diff; none where nobody edited it.

    card: the card on main. published: the release there. planned: our card of that release, where it is about to be published
    again. Without the card as it was published, at the version's tag, one line says so.
    """
    if card is None or published is None:
        return ()
    recorded = next((document for document in published.documents if document.path == folder.CARD), None)
    if recorded == folder.describe_document(folder.CARD, card):
        return ()
    tag, ours = f"v{published.version}", None
    if tag in refs.tags:
        at = repository.require_snapshot(hub, repo, refs.tags[tag])
        ours = repository.read_file(hub, repo, at, folder.CARD)
    if ours is None and planned is not None:
        return _diff(_our_part(planned), _our_part(card), f"{folder.CARD} of the release", f"{folder.CARD} on main")
    if ours is None or (recorded and recorded != folder.describe_document(folder.CARD, ours)):
        return ("the card was edited; there is no tag with its text as it was published",) if recorded else ()
    return _diff(_our_part(ours), _our_part(card), f"{folder.CARD} of {tag}", f"{folder.CARD} on main")


def require_no_card_edits(repo: str, edits: Sequence[str], *, overwrite: bool) -> None:
    """Refuse to publish over a card that was edited by hand.

    edits: what `find_card_edits` returns.

    Raises PublishError unless it may be overwritten.
    """
    if edits and not overwrite:
        raise PublishError(
            "the card on the Hub was edited by hand since our last release, and publishing would undo it",
            where=f"{repo} at main",
            found=("\n" + " " * 12).join(edits),
            todo="bring the edit into the builder or its prose (cards/prose), build again, and pass --overwrite-card",
        )


def _our_part(card: bytes) -> list[str]:
    """The lines of a card without the front-matter keys of others. Our keys are in one order, no matter who wrote them."""
    text = card.decode("utf-8", "replace")
    try:
        metadata = parse_front_matter(card, folder.CARD)
    except SourceError:
        return text.splitlines()
    ours = {key: metadata[key] for key in sorted(OUR_KEYS) if key in metadata}
    front_matter = yaml.safe_dump(ours, sort_keys=False, allow_unicode=True, width=MAX_WIDTH)
    return ["---", *front_matter.splitlines(), "---", *split_front_matter(text)[1].splitlines()]


def _diff(ours: list[str], theirs: list[str], our_name: str, their_name: str) -> tuple[str, ...]:
    if ours == theirs:
        return ()
    same = 0  # lines at the end; without them, the limit would show them as removed below a long insertion
    while same < min(len(ours), len(theirs)) and ours[-1 - same] == theirs[-1 - same]:
        same += 1
    old, new = (card[: len(card) - same][:MAX_COMPARED] for card in (ours, theirs))
    lines = list(unified_diff(old, new, our_name, their_name, lineterm="", n=1))
    lines = lines or [f"the cards differ after line {MAX_COMPARED:,}"]
    shown = [line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]}..." for line in lines[:MAX_DIFF]]
    return (*shown, *([f"... and {len(lines) - MAX_DIFF} more lines"] if len(lines) > MAX_DIFF else []))
