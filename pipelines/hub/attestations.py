"""Statements about a release, kept beside it in its repository as `attestations/v<version>-<name>.json`.

They are outside every content hash and every manifest, and `datasets` does not read them. They are on main, also those about an
older version: a tag never moves.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from builders import limits
from builders.errors import PublishError
from cards.evidence import INVALID_STATEMENT, unwrap_statement
from cards.manifest import Manifest
from pipelines.hub.repository import Snapshot, listed_digests
from pipelines.release.statements import CONTENT, STATEMENT, Statement, compare_subjects

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
FOLDER = "attestations/"
PUBLISHED = re.compile(rf"{FOLDER}(v\d+\.\d+\.\d+)-.+\.json", re.ASCII)


@dataclass(frozen=True)
class _Subject:
    name: str
    digest: dict[str, str]


def read_statement(path: Path, release_dir: Path, manifest: Manifest, main: Snapshot | None) -> dict[str, bytes]:
    """The statement to write, by its path in the repository; nothing where main has it already.

    Raises PublishError for a file that is not a statement about exactly this release, and where main has another one of its name.
    """
    try:
        content = limits.read_at_most(path, limits.MAX_MANIFEST)
    except OSError as error:
        raise PublishError(
            "the statement cannot be read", where=str(path), found=error.strerror or str(error)
        ) from None
    statement = _decode(content, str(path))
    faults = compare_subjects(statement, release_dir, manifest)
    if not any(CONTENT in subject["digest"] for subject in statement["subject"]):
        faults.append("its rows are not named")
    if faults:
        raise PublishError(
            "the statement is not about this release", where=str(path), found=faults[0], expected=manifest.name
        )
    if not NAME.fullmatch(path.stem):
        raise PublishError(
            "the statement cannot keep its name", where=str(path), todo="rename it: letters, digits, `_`, `-` and `.`"
        )
    target = f"{FOLDER}v{manifest.version}-{path.stem}.json"
    listed = main.digests.get(target) if main else None
    if listed is None:
        return {target: content}
    if listed not in listed_digests(content):
        raise PublishError("there is another statement of this name", where=target, todo=f"rename {path.name}")
    return {}


def statement_faults(path: str, content: bytes, manifests: Mapping[str, Manifest]) -> list[str]:
    """How a published statement differs from the rows and data files of its release, a sentence for each. manifests: by tag.

    Its documents are not compared: main may have better ones.
    """
    match = PUBLISHED.fullmatch(path)
    manifest = manifests.get(match[1]) if match else None
    if manifest is None:
        return [f"{path}: about no version with a tag"]
    try:
        subjects = msgspec.convert(_decode(content, path)["subject"], tuple[_Subject, ...])
    except PublishError as error:
        return [f"{path}: {error.what}: {error.found}"]
    known = {file.path: file.sha256 for file in manifest.files} | {manifest.name: manifest.content_sha256}
    named = [subject for subject in subjects if subject.name in known]
    others = [subject.name for subject in named if known[subject.name] not in subject.digest.values()]
    return [f"{path}: names other content of {name}" for name in others] if named else [f"{path}: about other files"]


def _decode(content: bytes, where: str) -> Statement:
    """The statement in a file, signed or not. Raises PublishError for anything else."""
    try:
        statement = msgspec.json.decode(unwrap_statement(content), type=dict[str, Any])
        msgspec.convert(statement.get("subject"), tuple[_Subject, ...])
        found = str(statement.get("_type"))
    except INVALID_STATEMENT as error:
        found = str(error)
    if found != STATEMENT:
        raise PublishError("not a statement", where=where, found=found[:200], expected=STATEMENT)
    return statement
