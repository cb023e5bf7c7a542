"""Signs statements with a private key, in the envelope that stock tools verify: DSSE, https://github.com/secure-systems-lab/dsse.

What is signed is not the payload alone: `DSSEv1 <length of type> <type> <length of payload> <payload>`. ECDSA on the curve P-256
over SHA-256, and Ed25519, are what openssl and securesystemslib both verify. The key stays in memory: it is not written,
logged or shown.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from builders.errors import UsageError

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


def read_signer(path: Path) -> Signer:
    """A signer with the private key in a PEM file.

    Raises UsageError for a file without such a key, for one with a password, and where the library for it is not installed.
    """
    if not IS_INSTALLED:
        todo = "python -m pip install 'embedding-datasets[sign]'; or sign with openssl (docs/reproducibility.md)"
        raise UsageError("--sign needs the package cryptography", todo=todo)
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
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
