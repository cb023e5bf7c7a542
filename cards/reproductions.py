"""Who built a release again with the same rows, by the statements of rebuilders.

They are kept as `reproductions/<source>/<dataset>-<version>-<name>.json`, as `embedding-datasets reproduce --attest` writes them,
signed or not. No signature is verified here: whoever has the public key of a rebuilder can (docs/reproducibility.md).
"""

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from builders import limits
from builders.errors import ReleaseError
from cards.manifest import INVALID_JSON, Sha256, VersionNumber

FOLDER = Path(__file__).parent / "reproductions"
INVALID_STATEMENT = (*INVALID_JSON, binascii.Error)
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$(?!\n)")]


@dataclass(frozen=True)
class Rebuild:
    """What a statement says of a release that was built again.

    by: who did it. date: in UTC. raw: sha256 of the raw files by `<source>/<name>`. tools: versions of package and libraries.
    """

    dataset: str
    version: VersionNumber
    content_sha256: Sha256
    rebuilt_content_sha256: Sha256
    verdict: str
    by: Name
    date: Date
    raw: dict[str, Sha256]
    tools: dict[str, str]

    @property
    def has_equal_rows(self) -> bool:
        """Whether the rebuilt release has the rows of the release."""
        return self.content_sha256 == self.rebuilt_content_sha256


@dataclass(frozen=True)
class _Predicate:
    embedding_datasets_reproduction: Rebuild


@dataclass(frozen=True)
class _Statement:
    predicate: _Predicate


def unwrap_statement(data: bytes) -> bytes:
    """The statement in the envelope of a signed one; the same bytes where there is no envelope.

    Raises one of INVALID_STATEMENT for anything but JSON, and for an envelope without a payload.
    """
    content: Any = msgspec.json.decode(data)
    if isinstance(content, dict) and "payload" in content:
        return base64.b64decode(str(content["payload"]), validate=True)
    return data


def decode_rebuild(data: bytes, where: str) -> Rebuild:
    """What a statement says, from its JSON or from that of the envelope of a signed one. where: the file, for the error.

    Raises ReleaseError for anything else.
    """
    try:
        return msgspec.json.decode(unwrap_statement(data), type=_Statement).predicate.embedding_datasets_reproduction
    except INVALID_STATEMENT as error:
        todo = "write it with: embedding-datasets reproduce NAME --attest FILE --by NAME"
        raise ReleaseError("not the statement of a rebuild", where=where, found=str(error)[:500], todo=todo) from None


def read_rebuilds(source: str, dataset: str, version: str, content_sha256: str, folder: Path = FOLDER) -> list[Rebuild]:
    """The rebuilds of a release with its rows, the first first; of each rebuilder the latest.

    Raises ReleaseError for a file that is not the statement of a rebuild.
    """
    paths = sorted((folder / source).glob(f"{dataset}-{version}-*.json"))
    known = [decode_rebuild(limits.read_at_most(path, limits.MAX_MANIFEST), str(path)) for path in paths]
    found = {
        one.by: one
        for one in sorted(known, key=lambda one: one.date)
        if (one.dataset, one.version, one.content_sha256) == (dataset, version, content_sha256) and one.has_equal_rows
    }
    return sorted(found.values(), key=lambda one: one.date)
