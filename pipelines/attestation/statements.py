"""Statements about releases in the format of in-toto, which other programs read: how one was built, and that one was built again.

A build is SLSA provenance (https://slsa.dev/provenance/v1). A rebuild is a verification summary
(https://slsa.dev/verification_summary/v1): somebody checked a release against a policy, passed or failed. What that format has
no field for is in one extension field. The identity of rows is a subject of its own, with a digest named `content_sha256`: it is
not the digest of any file.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cards.manifest import Manifest
from pipelines import installation
from pipelines.files import file_sha256
from pipelines.release import fingerprint, folder

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
VERIFICATION = "https://slsa.dev/verification_summary/v1"
NAMESPACE = "urn:embedding-datasets"
EXTENSION = "embedding_datasets_reproduction"
CONTENT = "content_sha256"  # pipelines.release.content_hash says how it is computed
ROWS_EQUAL, BYTES_EQUAL = "EMBEDDING_DATASETS_ROWS_EQUAL", "EMBEDDING_DATASETS_BYTES_EQUAL"

Statement = dict[str, Any]


def provenance(release_dir: Path, manifest: Manifest, by: str) -> Statement:
    """How a release was built. Subjects: its rows and all of its files. by: who built it; empty for nobody in particular."""
    sources = [
        _without_none({"name": f"{manifest.source}/{raw.name}", "uri": raw.url, "digest": {"sha256": raw.sha256}})
        for raw in manifest.raw
    ]
    code = [
        {"name": f"recipe {manifest.recipe.module}", "digest": {"sha256": manifest.recipe.sha256}},
        {"name": "code and texts of the card", "digest": {"sha256": manifest.report_sha256}},
    ]
    names = [file.path for file in manifest.files] + [folder.MANIFEST, *folder.document_names(manifest)]
    predicate = {
        "buildDefinition": {
            "buildType": f"{NAMESPACE}:build:1",
            "externalParameters": {
                "dataset": manifest.dataset,
                "version": manifest.version,
                "splits": list(manifest.splits),
                "sample": manifest.sample,
                "limit": manifest.limit,
            },
            "internalParameters": {"options": manifest.recipe.options},
            "resolvedDependencies": [*sources, *code, _package(manifest.tools)],
        },
        "runDetails": {
            "builder": {"id": _identity(by), "version": dict(manifest.tools)},
            "metadata": {"finishedOn": _in_utc(manifest.built_at)} if manifest.built_at else {},
        },
    }
    return _statement([_rows(manifest), *_files(release_dir, names)], PROVENANCE, predicate)


def verification(
    release_dir: Path, manifest: Manifest, rebuild: tuple[Manifest, str], by: str, now: datetime
) -> Statement:
    """That a release was built again. Subjects: its rows and its data files.

    rebuild: the manifest of the rebuilt release, and the verdict. by: who rebuilt it; empty for nobody in particular.
    """
    rebuilt, verdict = rebuild
    equal = manifest.content_sha256 == rebuilt.content_sha256
    levels = [ROWS_EQUAL, *([BYTES_EQUAL] if manifest.files == rebuilt.files else [])] if equal else ["FAILED"]
    own = fingerprint.tools_and_commit()
    predicate = {
        "verifier": {"id": _identity(by), "version": own},
        "timeVerified": _in_utc(now.isoformat(timespec="seconds")),
        "resourceUri": f"pkg:generic/{manifest.dataset}@{manifest.version}",
        "policy": {"uri": f"{NAMESPACE}:reproduce:1"},
        "inputAttestations": _files(release_dir, [folder.MANIFEST]),
        "verificationResult": "PASSED" if equal else "FAILED",
        "verifiedLevels": levels,
        "slsaVersion": "1.0",
        EXTENSION: {
            "dataset": manifest.dataset,
            "version": manifest.version,
            "content_sha256": manifest.content_sha256,
            "rebuilt_content_sha256": rebuilt.content_sha256,
            "verdict": verdict,
            "by": by,
            "date": now.astimezone(UTC).date().isoformat(),
            "recipe_sha256": rebuilt.recipe.sha256,
            "raw": {f"{rebuilt.source}/{raw.name}": raw.sha256 for raw in rebuilt.raw},
            "tools": own,
        },
    }
    return _statement(
        [_rows(manifest), *_files(release_dir, [file.path for file in manifest.files])], VERIFICATION, predicate
    )


def encode(statement: Statement) -> bytes:
    """The bytes of a statement: indented JSON in UTF-8, with a final newline."""
    return (json.dumps(statement, ensure_ascii=False, indent=2) + "\n").encode()


def _statement(subject: list[dict[str, Any]], kind: str, predicate: dict[str, Any]) -> Statement:
    return {"_type": STATEMENT, "subject": subject, "predicateType": kind, "predicate": predicate}


def _rows(manifest: Manifest) -> dict[str, Any]:
    return {"name": manifest.name, "digest": {CONTENT: manifest.content_sha256}}


def _files(release_dir: Path, names: Iterable[str]) -> list[dict[str, Any]]:
    """Files of a release with the digests of their bytes."""
    return [{"name": name, "digest": {"sha256": file_sha256(release_dir / name)}} for name in names]


def _package(tools: Mapping[str, str]) -> dict[str, Any]:
    """This package as a dependency. Its commit is a digest only where the code was exactly that of the commit."""
    commit = tools.get("commit", "")
    package: dict[str, Any] = {
        "name": installation.NAME, "uri": f"pkg:generic/{installation.NAME}@{tools.get(installation.NAME, 'unknown')}",
    }  # fmt: skip
    if commit and not commit.endswith("-dirty"):
        package["digest"] = {"gitCommit": commit}
    elif commit:
        package["annotations"] = {"commit": commit}
    return package


def _identity(by: str) -> str:
    """Who built, as a URI."""
    return f"{NAMESPACE}:by:{quote(by, safe='')}" if by else f"{NAMESPACE}:local"


def _in_utc(time: str) -> str:
    """A time in ISO 8601 as in-toto wants it: in UTC, with Z."""
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
