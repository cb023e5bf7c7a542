"""A statement about a release goes beside it on the Hub: only about exactly this release, and outside of everything else."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release.statements import encode, provenance
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, Versions

PLACE = "attestations/v2.0.0-built.json"


def state(outcome: BuildResult, path: Path, **changes: Any) -> Path:
    """Write the provenance of a release, with these keys changed."""
    path.write_bytes(encode(provenance(outcome.release_dir, outcome.manifest, "Ann") | changes))
    return path


def test_a_statement_is_published_with_a_release(
    hub: LoopbackHub, built: BuildResult, tmp_path: Path, terra: Versions
) -> None:
    path = state(built, tmp_path / "built.json")
    assert PLACE in terra.plan(built, attestation=path).writes
    assert terra.publish(built, attestation=path).state == "published"
    assert hub.tree(REPO)[PLACE] == path.read_bytes()
    assert terra.publish(built, attestation=path).state == "already published"


def test_every_subject_with_a_digest_of_bytes_is_a_file_of_the_tagged_commit(
    hub: LoopbackHub, built: BuildResult, terra: Versions
) -> None:
    """Card, manifest and croissant.json name the repository there: they are byproducts, and not subjects."""
    terra.publish(built)
    subjects = provenance(built.release_dir, built.manifest, "Ann")["subject"]
    named = {one["name"]: one["digest"]["sha256"] for one in subjects if "sha256" in one["digest"]}
    tree = hub.tree(REPO, "v2.0.0")
    assert named == {name: hashlib.sha256(tree[name]).hexdigest() for name in named}
    assert {"statistics.json", *(file.path for file in built.manifest.files)} == named.keys()


def test_a_statement_can_follow_a_published_release_and_its_tag_stays(
    hub: LoopbackHub, built: BuildResult, tmp_path: Path, terra: Versions
) -> None:
    first = terra.publish(built)
    before = hub.tree(REPO)
    assert terra.publish(built, attestation=state(built, tmp_path / "built.json")).state == "documents updated"
    assert hub.repos[REPO].tags == {"v2.0.0": first.commit}
    assert hub.tree(REPO).keys() - before.keys() == {PLACE}
    assert {path: content for path, content in hub.tree(REPO).items() if path in before} == before
    assert terra.publish(built).state == "already published"


def test_a_statement_about_an_older_version_goes_to_main_which_stays_at_the_newer(
    hub: LoopbackHub,
    built: BuildResult,
    settings: BuildSettings,
    tmp_path: Path,
    terra: Versions,
) -> None:
    older = make(terra.dataset, "1.0.0", settings)
    for one in (older, built):
        terra.publish(one)
    assert terra.publish(older, attestation=state(older, tmp_path / "built.json")).state == "documents updated"
    assert "attestations/v1.0.0-built.json" in hub.tree(REPO)
    assert json.loads(hub.tree(REPO)["manifest.json"])["version"] == "2.0.0"


def other_digest(number: int, kind: str) -> Callable[[BuildResult], dict[str, Any]]:
    """A statement with zeros for a digest of one of its subjects."""

    def change(outcome: BuildResult) -> dict[str, Any]:
        subject = provenance(outcome.release_dir, outcome.manifest, "Ann")["subject"]
        subject[number]["digest"][kind] = "0" * 64
        return {"subject": subject}

    return change


def file_elsewhere(outcome: BuildResult) -> dict[str, Any]:
    subject = provenance(outcome.release_dir, outcome.manifest, "Ann")["subject"]
    return {"subject": [*subject, {"name": "../../etc/passwd", "digest": {"sha256": "0" * 64}}]}


@pytest.mark.parametrize(
    ("change", "what", "found"),
    [
        (other_digest(0, "content_sha256"), "the statement is not about this release", "with content 0000"),
        (other_digest(1, "sha256"), "the statement is not about this release", "names other bytes of data/"),
        (
            file_elsewhere,
            "the statement is not about this release",
            "a file that the release does not have: ../../etc/passwd",
        ),
        (lambda _: {"_type": "something else"}, "not a statement", "something else"),
        (lambda _: {"subject": "everything"}, "not a statement", "Expected"),
    ],
    ids=["rows", "file", "path", "type", "subject"],
)
def test_anything_but_a_statement_about_exactly_this_release_is_refused(
    change: Callable[[BuildResult], dict[str, Any]],
    what: str,
    found: str,
    hub: LoopbackHub,
    built: BuildResult,
    tmp_path: Path,
    terra: Versions,
) -> None:
    error = terra.refuse(built, what, attestation=state(built, tmp_path / "built.json", **change(built)))
    assert found in str(error.found)
    assert hub.repos == {}, "nothing was published"


def test_another_statement_of_the_same_name_is_never_replaced(
    hub: LoopbackHub, built: BuildResult, tmp_path: Path, terra: Versions
) -> None:
    terra.publish(built)
    hub.commit(REPO, {PLACE: b"somebody else's"})
    terra.refuse(built, "there is another statement of this name", attestation=state(built, tmp_path / "built.json"))
    assert hub.tree(REPO)[PLACE] == b"somebody else's"
