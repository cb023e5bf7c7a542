"""Statements about a release, verified by `check`: envelopes are made here by hand, with keys of this test."""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines import check
from pipelines.make import BuildResult
from pipelines.release import folder, statements
from pipelines.release.statements import encode, provenance, read_signer, sign_statement
from tests.support.altered_releases import copy_release

KIND = "application/vnd.in-toto+json"


def new_key(folder: Path, name: str, kind: str = "ed25519") -> tuple[Path, Path]:
    """A private and a public key in PEM files."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    key = ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    private.chmod(0o600)
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture
def terra(golden_release: Callable[..., BuildResult], tmp_path: Path) -> Path:
    return copy_release(golden_release("terra-pairclassification").release_dir, tmp_path / "release")


@pytest.fixture
def statement(terra: Path) -> dict[str, Any]:
    """How the release was built, by the code of this package."""
    return provenance(terra, folder.require_manifest(terra), "somebody")


def signed(statement: dict[str, Any], private: Path, path: Path) -> Path:
    path.write_bytes(sign_statement(encode(statement), read_signer(private)))
    return path


def envelope(payload: bytes, private: Path, path: Path) -> Path:
    """A DSSE envelope by another program: the protocol written out once more."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = serialization.load_pem_private_key(private.read_bytes(), None)
    assert isinstance(key, ed25519.Ed25519PrivateKey)
    encoded = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    signature = {"keyid": "anything", "sig": base64.b64encode(key.sign(encoded)).decode()}
    content = {"payload": base64.b64encode(payload).decode(), "payloadType": KIND, "signatures": [signature]}
    path.write_text(json.dumps(content), "utf-8")
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], release: Path, file: Path, *keys: Path
) -> tuple[int, str]:
    """The exit code of `check RELEASE --statement FILE --key ...`, and what it prints; that of an error with its text."""
    options = [option for key in keys for option in ("--key", str(key))]
    monkeypatch.setattr(sys, "argv", ["check", str(release), "--statement", str(file), *options])
    try:
        return check.main(), capsys.readouterr().out
    except DatasetError as error:
        return error.exit_code, str(error)


@pytest.mark.parametrize("kind", ["ed25519", "p256"])
def test_a_statement_of_this_package_is_verified_with_its_release(
    kind: str, terra: Path, statement: dict[str, Any], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    private, public = new_key(tmp_path, "own", kind)
    file = signed(statement, private, tmp_path / "built.json")
    _, other = new_key(tmp_path, "other")
    code, page = run(monkeypatch, capsys, terra, file, other, public)
    assert code == 0, page
    said = "".join(page.split())  # the page folds long paths
    assert f"statementsignedwith{public}:howthereleasewasbuilt" in said
    assert str(other) not in said


def test_a_statement_of_another_program_is_verified_too(
    terra: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    private, public = new_key(tmp_path, "own")
    digest = next(iter(folder.require_manifest(terra).files)).sha256
    subject = {"name": "data/dev-00000-of-00001.parquet", "digest": {"sha256": digest, "sha512": "not compared"}}
    theirs = {
        "_type": "https://in-toto.io/Statement/v1", "subject": [subject], "predicateType": "https://example.org/x",
        "predicate": {},
    }  # fmt: skip
    file = envelope(json.dumps(theirs).encode(), private, tmp_path / "theirs.json")
    code, page = run(monkeypatch, capsys, terra, file, public)
    assert code == 0, page
    assert "a predicate of the type https://example.org/x" in " ".join(page.split())


FORGED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another release": (lambda s: s["subject"][0].update(name="cedr-classification@1.0.0"), "is about cedr-classification"),
    "other rows": (lambda s: s["subject"][0].update(digest={"content_sha256": "0" * 64}), "with content 000"),
    "other bytes": (lambda s: s["subject"][1].update(digest={"sha256": "0" * 64}), "names other bytes of"),
    "a file more": (lambda s: s["subject"].append({"name": "x", "digest": {"sha256": "0"}}), "does not have: x"),
    "a path upward": (
        lambda s: s["subject"].append({"name": "../../etc/passwd", "digest": {"sha256": "0"}}), "does not have: ../../etc/passwd",
    ),
    "no digest": (lambda s: s["subject"].append({"name": "x"}), "a subject without name or digest"),
    "nothing": (lambda s: s.update(subject=[]), "names neither the rows nor a data file"),
    "a failure": (lambda s: s["predicate"].update(verificationResult="FAILED"), "the statement says FAILED"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_signed_statement_that_contradicts_the_release_is_a_problem(
    what: str, terra: Path, statement: dict[str, Any], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    change, words = FORGED[what]
    change(statement)
    private, public = new_key(tmp_path, "own")
    code, page = run(monkeypatch, capsys, terra, signed(statement, private, tmp_path / "s.json"), public)
    assert (code, words in " ".join(page.split())) == (1, True), page


def test_what_was_not_signed_as_it_is_is_refused(
    terra: Path, statement: dict[str, Any], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    private, public = new_key(tmp_path, "own")
    stranger, _ = new_key(tmp_path, "stranger")
    own = json.loads(signed(statement, private, tmp_path / "own.json").read_bytes())
    changed = encode(statement | {"subject": statement["subject"][:1]})
    replaced = own | {"payload": base64.b64encode(changed).decode()}
    renamed = own | {"payloadType": "text/plain"}
    stolen = json.loads(signed(statement, stranger, tmp_path / "s.json").read_bytes()) | {
        "signatures": [json.loads(signed({"_type": "x"}, private, tmp_path / "x.json").read_bytes())["signatures"][0]]
    }
    for forged in (replaced, renamed, stolen, own | {"signatures": []}):
        (tmp_path / "forged.json").write_text(json.dumps(forged), "utf-8")
        code, said = run(monkeypatch, capsys, terra, tmp_path / "forged.json", public)
        assert (code, "none of the keys signed the statement" in said) == (1, True), said
    for content in (
        encode(statement),
        b"",
        b"[]",
        b"{",
        b'{"payload": "!", "payloadType": 1, "signatures": 1}',
        b"\xff",
    ):
        (tmp_path / "no.json").write_bytes(content)
        code, said = run(monkeypatch, capsys, terra, tmp_path / "no.json", public)
        assert (code, "not a signed statement" in said) == (1, True), said
    with pytest.raises(ReleaseError, match="not a signed statement"):
        statements.verify_statement(envelope(b'{"_type": "x"}', private, tmp_path / "y.json"), [public])


def test_without_a_key_or_with_a_private_one_nothing_is_verified(
    terra: Path, statement: dict[str, Any], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    private, public = new_key(tmp_path, "own")
    file = signed(statement, private, tmp_path / "s.json")
    monkeypatch.setattr(statements, "KEYS", tmp_path / "keys")
    code, said = run(monkeypatch, capsys, terra, file)
    assert (code, "no key to verify the statement with" in said) == (2, True)
    for key in (private, tmp_path / "nowhere", tmp_path, Path("/dev/zero")):
        code, said = run(monkeypatch, capsys, terra, file, key)
        assert code == 2, said
    (tmp_path / "keys").mkdir()
    public.rename(tmp_path / "keys" / "maintainer.pub")
    assert run(monkeypatch, capsys, terra, file)[0] == 0, "the keys of the checkout"


def test_a_statement_is_about_a_release(statement: dict[str, Any], tmp_path: Path) -> None:
    from pipelines.checking.checks import check_target
    from pipelines.checking.datasets import ForeignOptions
    from pipelines.checking.targets import Target

    private, public = new_key(tmp_path, "own")
    verified = statements.verify_statement(signed(statement, private, tmp_path / "s.json"), [public])
    (tmp_path / "data.csv").write_text("text,label\na,0\nb,1\n", "utf-8")
    target = Target(str(tmp_path / "data.csv"), file=tmp_path / "data.csv")
    with pytest.raises(UsageError, match="a statement is about a release"):
        check_target(target, ForeignOptions("Classification"), language_sample=None, statement=verified)
