"""Signed statements: openssl verifies them with the commands of the documentation, and a key is never shown."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from builders.errors import UsageError
from pipelines.release import statements
from pipelines.release.statements import read_signer, sign_statement
from tests.support.paths import ROOT

STATEMENT = '{"_type": "https://in-toto.io/Statement/v1", "note": "ä"}\n'.encode()
DOCUMENT = ROOT / "docs" / "reproducibility.md"
ECDSA = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


def make_key(folder: Path, *kind: str) -> Path:
    """Make a private key with openssl, and its public key beside it."""
    if shutil.which("openssl") is None or shutil.which("jq") is None:
        pytest.skip("openssl or jq not found")
    key = folder / "key.pem"
    for command in (["genpkey", *kind, "-out", str(key)], ["pkey", "-in", str(key), "-pubout", "-out", "key.pub"]):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return key


def verifies(folder: Path, *, ecdsa: bool = False) -> bool:
    """Whether the commands of the documentation accept reproduced.json in a folder."""
    [block] = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    *lines, last = block.splitlines()
    if ecdsa:
        last = "openssl dgst -sha256 -verify key.pub -signature signature signed"
        assert last in DOCUMENT.read_text("utf-8")
    script = "\n".join(["set -e", *lines, last])
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("kind", "ecdsa"), [(("-algorithm", "ed25519"), False), (ECDSA, True)], ids=["ed25519", "ecdsa"]
)
def test_openssl_verifies_a_signed_statement_and_refuses_one_with_a_byte_changed(
    kind: tuple[str, ...], ecdsa: bool, tmp_path: Path
) -> None:
    envelope = sign_statement(STATEMENT, read_signer(make_key(tmp_path, *kind)))
    file = tmp_path / "reproduced.json"
    file.write_bytes(envelope)
    assert verifies(tmp_path, ecdsa=ecdsa)
    assert (tmp_path / "payload.json").read_bytes() == STATEMENT
    changed = json.loads(envelope) | {"payload": base64.b64encode(STATEMENT.replace(b"note", b"nope")).decode()}
    file.write_text(json.dumps(changed), "utf-8")
    assert not verifies(tmp_path, ecdsa=ecdsa)


def test_another_key_does_not_verify(tmp_path: Path) -> None:
    (tmp_path / "reproduced.json").write_bytes(
        sign_statement(STATEMENT, read_signer(make_key(tmp_path, "-algorithm", "ed25519")))
    )
    make_key(tmp_path, "-algorithm", "ed25519")
    assert not verifies(tmp_path)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (("-algorithm", "RSA"), "a key of another kind"),
        (("-algorithm", "ed25519", "-aes256", "-pass", "pass:x"), "password"),
    ],
    ids=["RSA", "a password"],
)
def test_a_key_of_another_kind_or_with_a_password_is_refused(kind: tuple[str, ...], what: str, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl not found")
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", *kind, "-out", str(key)], check=True, capture_output=True)
    with pytest.raises(UsageError, match=what) as caught:
        read_signer(key)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "content", [b"", b"secret words", b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"]
)
def test_a_file_that_is_no_key_is_refused_without_being_quoted(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(UsageError, match="not a private key") as caught:
        read_signer(tmp_path / "key.pem")
    assert "secret" not in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_missing_key_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the key cannot be read") as caught:
        read_signer(tmp_path / "key.pem")
    assert "openssl genpkey" in str(caught.value)


def test_a_missing_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "IS_INSTALLED", False)
    with pytest.raises(UsageError, match="needs the package cryptography") as caught:
        read_signer(tmp_path / "key.pem")
    assert "embedding-datasets[sign]" in str(caught.value)


def test_a_signer_shows_nothing_of_its_key(tmp_path: Path) -> None:
    signer = read_signer(make_key(tmp_path, "-algorithm", "ed25519"))
    assert repr(signer) == f"Signer(key_id='{signer.key_id}')"
