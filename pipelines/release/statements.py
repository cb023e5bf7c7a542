"""Statements about releases in the format of in-toto, which other programs read, and their signatures (DSSE).

A build is SLSA provenance (https://slsa.dev/provenance/v1). A rebuild is a verification summary
(https://slsa.dev/verification_summary/v1): somebody checked a release against a policy, passed or failed. What that format has
no field for is in one extension field. The identity of rows is a separate subject, with a digest named `content_sha256`: it is
not the digest of any file.

What is signed is not the payload alone: `DSSEv1 <length of type> <type> <length of payload> <payload>`. ECDSA on the curve P-256
over SHA-256, and Ed25519, are what openssl and securesystemslib both verify. The key stays in memory: it is not written,
logged or shown.
"""

import base64
import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from builders.errors import UsageError
from builders.limits import read_at_most
from cards.manifest import Manifest
from pipelines.process import installation
from pipelines.process.files import file_sha256
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
    equal = manifest.content_sha256 == rebuilt.content_sha256 and verdict != "manifest differs"
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


try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

PAYLOAD_TYPE = "application/vnd.in-toto+json"
KINDS = "a PEM file with a private key: ECDSA on the curve P-256, or Ed25519"
NEW_KEY = "make one: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out key.pub"


@dataclass(frozen=True)
class Signer:
    """Signs bytes. key_id: the SHA-256 of the public key, in DER."""

    key_id: str
    sign: Callable[[bytes], bytes] = field(repr=False)


MAX_KEY = 100_000  # bytes of a PEM file


def _read_key(path: Path) -> bytes:
    """The bytes of a PEM file. Raises UsageError for anything but a file, and for a key that others may use; OSError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError("the key is not a file", where=str(path), expected=KINDS, todo=NEW_KEY)
    if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        found = f"mode {stat.S_IMODE(status.st_mode):o}"
        todo = f"chmod 600 {shlex.quote(str(path))}; if others could read it, use another key"
        raise UsageError("others may use the key", where=str(path), found=found, expected="mode 600", todo=todo)
    return read_at_most(path, MAX_KEY)


def read_signer(path: Path) -> Signer:
    """A signer with the private key in a PEM file.

    Raises UsageError for a key that others may read or write, for a file without a private key, for one with a password, and
    where the library for it is not installed.
    """
    if not IS_INSTALLED:
        todo = "python -m pip install 'embedding-datasets[sign]'; or sign with openssl (docs/reproducibility.md)"
        raise UsageError("--sign needs the package cryptography", todo=todo)
    try:
        key = serialization.load_pem_private_key(_read_key(path), password=None)
    except OSError as error:
        found = error.strerror or str(error)
        raise UsageError("the key cannot be read", where=str(path), found=found, expected=KINDS, todo=NEW_KEY) from None
    except TypeError:  # what the library raises for a key with a password; its text would say so too
        todo = "write a copy without one where only you can read it: openssl pkey -in KEY -out COPY"
        raise UsageError("the key has a password", where=str(path), expected=KINDS, todo=todo) from None
    except (ValueError, UnsupportedAlgorithm):  # whose messages may quote the file
        raise UsageError("not a private key", where=str(path), expected=KINDS, todo=NEW_KEY) from None
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    key_id = hashlib.sha256(public).hexdigest()
    match key:
        case ed25519.Ed25519PrivateKey():
            return Signer(key_id, key.sign)
        case ec.EllipticCurvePrivateKey(curve=ec.SECP256R1()):
            return Signer(key_id, lambda data: key.sign(data, ec.ECDSA(hashes.SHA256())))
    raise UsageError("a key of another kind", where=str(path), expected=KINDS, todo=NEW_KEY)


def sign_statement(statement: bytes, signer: Signer) -> bytes:
    """The signed envelope of a statement, as JSON."""
    signature = signer.sign(pre_authentication_encoding(statement))
    envelope = {
        "payload": base64.b64encode(statement).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": signer.key_id, "sig": base64.b64encode(signature).decode()}],
    }
    return (json.dumps(envelope, indent=2) + "\n").encode()


def pre_authentication_encoding(payload: bytes) -> bytes:
    """What is signed of a payload."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
