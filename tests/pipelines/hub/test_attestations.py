"""A statement about a release goes beside it on the Hub: only about exactly this release, and outside of everything else."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release.statements import encode, provenance
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, plan, publish

PLACE = "attestations/v2.0.0-built.json"


@pytest.fixture
def built(releases: Any, settings: BuildSettings) -> tuple[Any, BuildResult]:
    dataset, _ = releases()
    return dataset, make(dataset, "2.0.0", settings)


def state(outcome: BuildResult, path: Path, **changes: Any) -> Path:
    """Write the provenance of a release, with these keys changed."""
    path.write_bytes(encode(provenance(outcome.release_dir, outcome.manifest, "Ann") | changes))
    return path


def test_a_statement_is_published_with_a_release(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], tmp_path: Path
) -> None:
    dataset, outcome = built
    path = state(outcome, tmp_path / "built.json")
    with_statement = replace(options, attestation=path)
    assert PLACE in plan(hub, dataset, outcome, with_statement).writes
    assert publish(hub, dataset, outcome, with_statement).state == "published"
    assert hub.tree(REPO)[PLACE] == path.read_bytes()
    assert publish(hub, dataset, outcome, with_statement).state == "already published"


def test_every_subject_with_a_digest_of_bytes_is_a_file_of_the_tagged_commit(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult]
) -> None:
    """Card, manifest and croissant.json name the repository there: they are byproducts, and not subjects."""
    dataset, outcome = built
    publish(hub, dataset, outcome, options)
    subjects = provenance(outcome.release_dir, outcome.manifest, "Ann")["subject"]
    named = {one["name"]: one["digest"]["sha256"] for one in subjects if "sha256" in one["digest"]}
    tree = hub.tree(REPO, "v2.0.0")
    assert named == {name: hashlib.sha256(tree[name]).hexdigest() for name in named}
    assert {"statistics.json", *(file.path for file in outcome.manifest.files)} == named.keys()


def test_a_statement_can_follow_a_published_release_and_its_tag_stays(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], tmp_path: Path
) -> None:
    dataset, outcome = built
    first = publish(hub, dataset, outcome, options)
    before = hub.tree(REPO)
    with_statement = replace(options, attestation=state(outcome, tmp_path / "built.json"))
    assert publish(hub, dataset, outcome, with_statement).state == "documents updated"
    assert hub.repos[REPO].tags == {"v2.0.0": first.commit}
    assert hub.tree(REPO).keys() - before.keys() == {PLACE}
    assert {path: content for path, content in hub.tree(REPO).items() if path in before} == before
    assert publish(hub, dataset, outcome, options).state == "already published"


def test_a_statement_about_an_older_version_goes_to_main_which_stays_at_the_newer(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcome = built
    older = make(dataset, "1.0.0", settings)
    for one in (older, outcome):
        publish(hub, dataset, one, options)
    with_statement = replace(options, attestation=state(older, tmp_path / "built.json"))
    assert publish(hub, dataset, older, with_statement).state == "documents updated"
    assert "attestations/v1.0.0-built.json" in hub.tree(REPO)
    assert json.loads(hub.tree(REPO)["manifest.json"])["version"] == "2.0.0"


def other_rows(outcome: BuildResult) -> dict[str, Any]:
    statement = provenance(outcome.release_dir, outcome.manifest, "Ann")
    statement["subject"][0]["digest"]["content_sha256"] = "0" * 64
    return {"subject": statement["subject"]}


def other_file(outcome: BuildResult) -> dict[str, Any]:
    statement = provenance(outcome.release_dir, outcome.manifest, "Ann")
    statement["subject"][1]["digest"]["sha256"] = "0" * 64
    return {"subject": statement["subject"]}


def file_elsewhere(outcome: BuildResult) -> dict[str, Any]:
    statement = provenance(outcome.release_dir, outcome.manifest, "Ann")
    return {"subject": [*statement["subject"], {"name": "../../etc/passwd", "digest": {"sha256": "0" * 64}}]}


@pytest.mark.parametrize(
    ("change", "what", "found"),
    [
        (other_rows, "the statement is not about this release", "with content 0000"),
        (other_file, "the statement is not about this release", "names other bytes of data/"),
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
    change: Callable[[BuildResult], dict[str, Any]], what: str, found: str,
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], tmp_path: Path,
) -> None:  # fmt: skip
    dataset, outcome = built
    path = state(outcome, tmp_path / "built.json", **change(outcome))
    with pytest.raises(PublishError, match=what) as caught:
        publish(hub, dataset, outcome, replace(options, attestation=path))
    assert found in str(caught.value.found)
    assert hub.repos == {}, "nothing was published"


def test_another_statement_of_the_same_name_is_never_replaced(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], tmp_path: Path
) -> None:
    dataset, outcome = built
    publish(hub, dataset, outcome, options)
    hub.commit(REPO, {PLACE: b"somebody else's"})
    with pytest.raises(PublishError, match="there is another statement of this name"):
        publish(hub, dataset, outcome, replace(options, attestation=state(outcome, tmp_path / "built.json")))
    assert hub.tree(REPO)[PLACE] == b"somebody else's"
