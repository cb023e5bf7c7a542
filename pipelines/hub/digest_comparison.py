"""Whether a repository holds exactly our files, decided by the digests that the Hub lists: nothing is downloaded.

The Hub lists the sha256 of a file in LFS and the git blob id of any other. It has computed both from the bytes that it stores.
"""

from collections.abc import Mapping
from pathlib import Path

from cards.manifest import Manifest
from pipelines.hub.repository import Snapshot
from pipelines.raw.digests import hash_content


def find_differences(at: Snapshot, files: Mapping[str, bytes | Path], manifest: Manifest) -> list[str]:
    """How the files at a snapshot differ from ours, a line for each file that does; files of other names are not looked at.

    files: content or path on disk, by path in the repository. manifest: the one that our data files were verified against.
    """
    known = {file.path: file.sha256 for file in manifest.files}
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
