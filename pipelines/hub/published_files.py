"""The files of a release as its repository gets them.

Two of them are rendered again for that repository: the card, which names it in its snippets and keeps the front-matter keys that
others added there, and the manifest, which holds the digest of that card. All others are the same bytes.
"""

from dataclasses import replace
from pathlib import Path

import yaml

from builders.errors import ReleaseError, SourceError
from cards.front_matter_parser import parse_front_matter, split_front_matter
from cards.manifest import Manifest, encode
from cards.snippets import name_repository
from pipelines.release import folder

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
        documents = tuple(published if one.path == folder.CARD else one for one in manifest.documents)
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
