"""Statements about a release: SLSA provenance of a build, a verification summary of a rebuild."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cards.manifest import Manifest
from pipelines.make import BuildResult
from pipelines.release import folder
from pipelines.release.statements import encode, provenance, verification

NOW = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)


@pytest.fixture
def terra(golden_release: Callable[..., BuildResult]) -> tuple[Path, Manifest]:
    release_dir = golden_release("terra-pairclassification").release_dir
    return release_dir, folder.require_manifest(release_dir)


def test_provenance_has_every_file_and_the_rows_as_subjects(terra: tuple[Path, Manifest]) -> None:
    release_dir, manifest = terra
    rows, *files = provenance(release_dir, manifest, "Ann")["subject"]
    assert rows == {
        "name": "terra-pairclassification@1.0.0", "digest": {"content_sha256": manifest.content_sha256},
    }  # fmt: skip
    paths = [path for path in release_dir.rglob("*") if path.is_file()]
    digests = {path.relative_to(release_dir).as_posix(): hashlib.sha256(path.read_bytes()) for path in paths}
    assert {file["name"]: file["digest"]["sha256"] for file in files} == {
        name: digest.hexdigest() for name, digest in digests.items()
    }


def test_provenance_names_raw_files_recipe_and_commit_with_their_digests(terra: tuple[Path, Manifest]) -> None:
    release_dir, manifest = terra
    commit = "0123456789abcdef0123456789abcdef01234567"
    clean = replace(manifest, tools={"embedding-datasets": "0.2.0", "commit": commit})
    predicate = provenance(release_dir, clean, "")["predicate"]
    raw, recipe, _, package = predicate["buildDefinition"]["resolvedDependencies"]
    assert raw == {"name": "terra/val.jsonl", "digest": {"sha256": manifest.raw[0].sha256}}
    assert recipe == {"name": "recipe builders.rumteb.terra", "digest": {"sha256": manifest.recipe.sha256}}
    assert package["digest"] == {"gitCommit": commit}
    assert predicate["runDetails"]["builder"]["id"] == "urn:embedding-datasets:local"


def test_a_commit_with_uncommitted_changes_is_not_a_digest(terra: tuple[Path, Manifest]) -> None:
    release_dir, manifest = terra
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
