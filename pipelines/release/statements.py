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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from builders.errors import ReleaseError, UsageError
from builders.limits import MAX_MANIFEST, read_at_most
from cards.manifest import Manifest
from pipelines.process import installation
from pipelines.process.files import file_sha256
from pipelines.process.safe_text import MAX_QUOTED, safe_text
from pipelines.release import fingerprint, folder

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
VERIFICATION = "https://slsa.dev/verification_summary/v1"
NAMESPACE = "urn:embedding-datasets"
CONTENT = "content_sha256"  # pipelines.release.content_hash says how it is computed
ROWS_EQUAL, BYTES_EQUAL = "EMBEDDING_DATASETS_ROWS_EQUAL", "EMBEDDING_DATASETS_BYTES_EQUAL"

# What a publication replaces by its own.
REWRITTEN = {folder.MANIFEST, folder.CARD, folder.CROISSANT}

Statement = dict[str, Any]


def provenance(release_dir: Path, manifest: Manifest, by: str) -> Statement:
    """How a release was built. by: who built it; empty for nobody in particular.

    Subjects: its rows, and its files as they are published too. Card, manifest and croissant.json name the repository there: they
    are byproducts of the build.
    """
    sources = [
        {
            "name": f"{manifest.source}/{raw.name}",
            **({} if raw.url is None else {"uri": raw.url}),
            "digest": {"sha256": raw.sha256},
        }
        for raw in manifest.raw
    ]
    code = [
        {"name": f"recipe {manifest.recipe.module}", "digest": {"sha256": manifest.recipe.sha256}},
        {"name": "code and texts of the card", "digest": {"sha256": manifest.report_sha256}},
    ]
    described = (folder.MANIFEST, *folder.document_names(manifest))
    names = [*(file.path for file in manifest.files), *(name for name in described if name not in REWRITTEN)]
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
            "byproducts": _files(release_dir, [name for name in described if name in REWRITTEN]),
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
        "embedding_datasets_reproduction": {
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
    commit, uri = tools.get("commit", ""), f"pkg:generic/{installation.NAME}@{tools.get(installation.NAME, 'unknown')}"
    exactly = {"annotations": {"commit": commit}} if commit.endswith("-dirty") else {"digest": {"gitCommit": commit}}
    return {"name": installation.NAME, "uri": uri, **(exactly if commit else {})}


def _identity(by: str) -> str:
    """Who built, as a URI."""
    return f"{NAMESPACE}:by:{quote(by, safe='')}" if by else f"{NAMESPACE}:local"


def _in_utc(time: str) -> str:
    """A time in ISO 8601 as in-toto wants it: in UTC, with Z."""
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
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
MAX_SIGNATURES = 20  # of an envelope that are looked at
MAX_SUBJECTS = 10_000  # of a statement


def _read_key(path: Path) -> bytes:
    """The bytes of a PEM file. Raises UsageError for anything but a file, and for a key that others may use; OSError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError("the key is not a file", where=str(path), expected=KINDS, todo=NEW_KEY)
    if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            "others may use the key",
            where=str(path),
            found=f"mode {stat.S_IMODE(status.st_mode):o}",
            expected="mode 600",
            todo=f"chmod 600 {shlex.quote(str(path))}; if others could read it, use another key",
        )
    return read_at_most(path, MAX_KEY)


def read_signer(path: Path) -> Signer:
    """A signer with the private key in a PEM file.

    Raises UsageError for a key that others may read or write, for a file without a private key, for one with a password, and
    where the library for it is not installed.
    """
    if not IS_INSTALLED:
        raise UsageError(
            "--sign needs the package cryptography",
            todo=f"python -m pip install '{installation.DISTRIBUTION}[sign]'; or sign with openssl (docs/reproducibility.md)",
        )
    try:
        key = serialization.load_pem_private_key(_read_key(path), password=None)
    except OSError as error:
        raise UsageError(
            "the key cannot be read", where=str(path), found=error.strerror or str(error), expected=KINDS, todo=NEW_KEY
        ) from None
    except TypeError:  # what the library raises for a key with a password; its text would say so too
        raise UsageError(
            "the key has a password",
            where=str(path),
            expected=KINDS,
            todo="write a copy without one where only you can read it: openssl pkey -in KEY -out COPY",
        ) from None
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
    return encode(
        {
            "payload": base64.b64encode(statement).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": signer.key_id, "sig": base64.b64encode(signature).decode()}],
        }
    )


def pre_authentication_encoding(payload: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
    """What is signed of a payload. kind: its type, as the envelope names it."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


PUBLIC_KINDS = "a PEM file with a public key: ECDSA on the curve P-256, or Ed25519"
KEYS = installation.ROOT / "keys"  # of a checkout: the public keys of those whom its maintainers trust
Verify = Callable[[bytes, bytes], bool]  # of a signature and what was signed


@dataclass(frozen=True)
class Verified:
    """A statement with a valid signature. signers: the files of the keys that signed it."""

    statement: Statement
    signers: tuple[str, ...]


def verify_statement(path: Path, keys: Sequence[Path]) -> Verified:
    """The statement in a DSSE envelope, of this package or of any other, if one of these public keys signed it.

    keys: PEM files; empty for those in `keys/` of a checkout.

    Raises UsageError for a key that cannot be used and where there is none, ReleaseError for a file that holds no signed
    statement of in-toto, and for a signature of none of the keys.
    """
    paths = list(keys) or sorted(path for path in KEYS.glob("*") if path.suffix in (".pub", ".pem"))
    if not paths:
        raise UsageError(
            "no key to verify the statement with",
            where=str(KEYS),
            expected=PUBLIC_KINDS,
            todo="name the public key of whoever signed it, from a place that you trust: --key FILE",
        )
    known = {str(key): _read_public_key(key) for key in paths}
    try:
        envelope = json.loads(read_at_most(path, MAX_MANIFEST))
        payload, kind = base64.b64decode(envelope["payload"], validate=True), str(envelope["payloadType"])
        signatures = [
            base64.b64decode(entry["sig"], validate=True) for entry in envelope["signatures"][:MAX_SIGNATURES]
        ]
        signed, statement = pre_authentication_encoding(payload, kind), json.loads(payload)
        is_statement = statement["_type"] == STATEMENT and isinstance(statement["subject"], list)
    except OSError as error:
        raise UsageError("the statement cannot be read", where=str(path), found=error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_statement = False
    if not is_statement:
        raise ReleaseError(
            "not a signed statement",
            where=str(path),
            expected="a DSSE envelope with a statement of in-toto, version 1",
            todo="sign it: --attest FILE --sign KEY",
        )
    signers = [key for key, verify in known.items() if any(verify(signature, signed) for signature in signatures)]
    if not signers:
        raise ReleaseError(
            "none of the keys signed the statement",
            where=str(path),
            found=f"{len(signatures)} signature{'s' if len(signatures) != 1 else ''}",
            expected=", ".join(known),
            todo="see that the key is that of the signer; if it is, the statement was changed",
        )
    return Verified(statement, tuple(signers))


def _read_public_key(path: Path) -> Verify:
    if not IS_INSTALLED:
        raise UsageError(
            "--statement needs the package cryptography",
            todo=f"python -m pip install '{installation.DISTRIBUTION}[sign]'; or verify with openssl (docs/reproducibility.md)",
        )
    try:
        if not path.is_file():
            raise UsageError("the key is not a file", where=str(path), expected=PUBLIC_KINDS)
        key = serialization.load_pem_public_key(read_at_most(path, MAX_KEY))
    except (OSError, ValueError, UnsupportedAlgorithm):
        raise UsageError(
            "not a public key", where=str(path), expected=PUBLIC_KINDS, todo="openssl pkey -in KEY -pubout"
        ) from None

    def verify(signature: bytes, signed: bytes) -> bool:
        try:
            match key:
                case ed25519.Ed25519PublicKey():
                    key.verify(signature, signed)
                case ec.EllipticCurvePublicKey(curve=ec.SECP256R1()):
                    key.verify(signature, signed, ec.ECDSA(hashes.SHA256()))
                case _:
                    raise UsageError("a key of another kind", where=str(path), expected=PUBLIC_KINDS)
        except InvalidSignature:
            return False
        return True

    return verify


def contradictions(statement: Statement, release_dir: Path, manifest: Manifest) -> list[str]:
    """What a statement says otherwise than a release: its subjects, and the result of a rebuild."""
    predicate = statement.get("predicate")
    result = predicate.get("verificationResult", "PASSED") if isinstance(predicate, dict) else None
    failed = [] if result == "PASSED" else [f"the statement says {_quoted(result)}"]
    return compare_subjects(statement, release_dir, manifest) + failed


def compare_subjects(statement: Statement, release_dir: Path, manifest: Manifest) -> list[str]:
    """How what a statement is about differs from the rows and the files of a release."""
    files = {file.path for file in manifest.files} | {folder.MANIFEST, *folder.document_names(manifest)}
    problems, named = [], set[str]()
    for subject in statement["subject"][:MAX_SUBJECTS]:
        name, digest = (subject.get(key) for key in ("name", "digest")) if isinstance(subject, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(digest, dict):
            problems.append("the statement has a subject without name or digest")
        elif CONTENT in digest:
            named.add(CONTENT)
            if (name, digest[CONTENT]) != (manifest.name, manifest.content_sha256):
                problems.append(f"the statement is about {_quoted(name)} with content {_quoted(digest[CONTENT])}")
        elif name not in files or not (release_dir / name).is_file():
            problems.append(f"the statement names a file that the release does not have: {_quoted(name)}")
        elif digest.get("sha256") != file_sha256(release_dir / name):
            problems.append(f"the statement names other bytes of {name}: {_quoted(digest.get('sha256'))}")
        else:
            named.add(name)
    if not named & {CONTENT, *(file.path for file in manifest.files)}:
        problems.append("the statement names neither the rows nor a data file of the release")
    return problems


def describe_statement(verified: Verified) -> str:
    """Who signed a statement, and what kind it is, in a line."""
    kinds = {PROVENANCE: "how the release was built", VERIFICATION: "that the release was built again"}
    kind = verified.statement.get("predicateType")
    says = kinds.get(str(kind)) or f"a predicate of the type {_quoted(kind)}"
    return f"statement signed with {', '.join(verified.signers)}: {says}"


def _quoted(value: Any) -> str:
    return safe_text(str(value))[:MAX_QUOTED]
