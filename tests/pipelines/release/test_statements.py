"""Statements about a release: SLSA provenance of a build, a verification summary of a rebuild. Signed statements: openssl
verifies them with the commands of the documentation, and a key is never shown.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.errors import UsageError
from cards.manifest import Manifest
from pipelines.make import BuildResult
from pipelines.release import folder, statements
from pipelines.release.statements import encode, provenance, read_signer, sign_statement, verification
from tests.support.paths import ROOT

NOW = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)


@pytest.fixture
def terra(golden_release: Callable[..., BuildResult]) -> tuple[Path, Manifest]:
    release_dir = golden_release("terra-pairclassification").release_dir
    return release_dir, folder.require_manifest(release_dir)


def test_provenance_has_every_file_and_the_rows_as_subjects_or_byproducts(terra: tuple[Path, Manifest]) -> None:
    release_dir, manifest = terra
    statement = provenance(release_dir, manifest, "Ann")
    rows, *files = statement["subject"]
    assert [file["name"] for file in files] == ["data/dev-00000-of-00001.parquet", "statistics.json"]
    files += statement["predicate"]["runDetails"]["byproducts"]  # which a publication rewrites
    assert rows == {
        "name": "terra-pairclassification@1.0.0", "digest": {"content_sha256": manifest.content_sha256},
    }  # fmt: skip
    paths = [path for path in release_dir.rglob("*") if path.is_file()]
    digests = {path.relative_to(release_dir).as_posix(): hashlib.sha256(path.read_bytes()) for path in paths}
    assert {file["name"]: file["digest"]["sha256"] for file in files} == {
        name: digest.hexdigest() for name, digest in digests.items()
    }


def test_provenance_has_the_digests_of_raw_files_recipe_and_commit_if_the_code_was_that_of_the_commit(
    terra: tuple[Path, Manifest],
) -> None:
    release_dir, manifest = terra
    commit = "0123456789abcdef0123456789abcdef01234567"
    clean = replace(manifest, tools={"embedding-datasets": "0.2.0", "commit": commit})
    predicate = provenance(release_dir, clean, "")["predicate"]
    raw, recipe, _, package = predicate["buildDefinition"]["resolvedDependencies"]
    assert raw == {"name": "terra/val.jsonl", "digest": {"sha256": manifest.raw[0].sha256}}
    assert recipe == {"name": "recipe builders.rumteb.terra", "digest": {"sha256": manifest.recipe.sha256}}
    assert package["digest"] == {"gitCommit": commit}
    assert predicate["runDetails"]["builder"]["id"] == "urn:embedding-datasets:local"
    dirty = replace(manifest, tools={"commit": f"{'a' * 40}-dirty"})
    package = provenance(release_dir, dirty, "")["predicate"]["buildDefinition"]["resolvedDependencies"][-1]
    assert "digest" not in package
    assert package["annotations"] == {"commit": f"{'a' * 40}-dirty"}


def test_a_rebuild_with_equal_rows_has_passed_and_one_with_others_has_failed(terra: tuple[Path, Manifest]) -> None:
    release_dir, manifest = terra
    recompressed = replace(manifest, tables=(replace(manifest.tables[0], files=()),))
    other = replace(manifest, content_sha256="0" * 64)
    results = []
    for rebuilt, verdict in ((manifest, "both"), (recompressed, "rows"), (other, "differ")):
        predicate = verification(release_dir, manifest, (rebuilt, verdict), "Ann Ä", NOW)["predicate"]
        results.append((predicate["verificationResult"], len(predicate["verifiedLevels"])))
    assert results == [("PASSED", 2), ("PASSED", 1), ("FAILED", 1)]
    assert predicate["verifier"]["id"] == "urn:embedding-datasets:by:Ann%20%C3%84"
    assert predicate["timeVerified"] == "2026-01-31T12:30:00Z"
    summary = predicate["embedding_datasets_reproduction"]
    assert (summary["verdict"], summary["by"], summary["date"]) == ("differ", "Ann Ä", "2026-01-31")
    assert summary["rebuilt_content_sha256"] == "0" * 64


def test_the_same_statement_has_the_same_bytes(terra: tuple[Path, Manifest]) -> None:
    one, other = (encode(provenance(*terra, "Ann")) for _ in range(2))
    assert one == other
    assert json.loads(one)["_type"] == "https://in-toto.io/Statement/v1"


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


def test_a_signer_shows_nothing_of_its_key_and_another_key_does_not_verify(tmp_path: Path) -> None:
    signer = read_signer(make_key(tmp_path, "-algorithm", "ed25519"))
    assert repr(signer) == f"Signer(key_id='{signer.key_id}')"
    (tmp_path / "reproduced.json").write_bytes(sign_statement(STATEMENT, signer))
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
    (tmp_path / "key.pem").chmod(0o600)
    with pytest.raises(UsageError, match="not a private key") as caught:
        read_signer(tmp_path / "key.pem")
    assert "secret" not in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_missing_key_says_how_to_make_one_and_a_missing_package_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="the key cannot be read") as caught:
        read_signer(tmp_path / "key.pem")
    assert "openssl genpkey" in str(caught.value)
    monkeypatch.setattr(statements, "IS_INSTALLED", False)
    with pytest.raises(UsageError, match="needs the package cryptography") as caught:
        read_signer(tmp_path / "key.pem")
    assert "embedding-datasets[sign]" in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_key_that_others_may_use_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("not looked at", "utf-8")
    for mode in (0o666, 0o644, 0o620, 0o601):
        key.chmod(mode)
        with pytest.raises(UsageError, match=rf"(?s)others may use the key.*mode {mode:o}.*chmod 600"):
            read_signer(key)
    key.chmod(0o600)
    with pytest.raises(UsageError, match="not a private key"):
        read_signer(key)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="an endless device")
def test_an_endless_device_is_no_key() -> None:
    with pytest.raises(UsageError, match="the key is not a file"):
        read_signer(Path("/dev/zero"))
