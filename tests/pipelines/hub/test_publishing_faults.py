"""Faults, and other publishers at the same time: main and the tags hold complete releases, and the next run finishes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from benchmarks import hub_faults
from builders.errors import PublishError
from pipelines.make import BuildSettings, make
from tests.support.loopback_hub import Blob, Fault, LoopbackHub
from tests.support.publishing import (
    FAULTS,
    REPO,
    TERRA,
    Versions,
    assert_complete_releases,
    assert_published,
    copy_release,
    each_request,
    two_versions,
    verified_hash,
)


def test_a_commit_that_fails_verification_is_not_tagged_and_the_next_run_repairs_it(
    hub: LoopbackHub, terra: Versions
) -> None:

    def corrupt() -> None:
        repository = hub.repos[REPO]
        sha = repository.branches["main"]
        damaged = repository.commits[sha].tree | {"data/dev-00001-of-00002.parquet": Blob(b"PAR1", lfs=True)}
        repository.commits[sha] = replace(repository.commits[sha], tree=damaged)

    hub.before_answer["/commit/main"] = lambda: hub.before_answer.update({"/revision/": corrupt})
    terra.refuse("1.0.0", "does not read back", "data/dev-00001-of-00002.parquet has changed: 4 bytes")
    assert hub.repos[REPO].tags == {}
    assert terra.publish("1.0.0").plan.notes[-1] == "main holds a damaged copy of this release: it is written again"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256


USUAL_FAULT = "the answer is cut"
# A version, the versions published before it, a fault, and whether it happens at every request. An older version is on a branch
# of its own, which takes many requests.
CASES = [
    ("2.0.0", ("1.0.0",), USUAL_FAULT, False),
    *(
        pytest.param(version, before, fault, True, marks=pytest.mark.slow)
        for version, before in (("2.0.0", ("1.0.0",)), ("1.0.0", ("2.0.0",)), ("1.0.0", ()))
        for fault in (FAULTS if before else [USUAL_FAULT])
    ),
]


@pytest.mark.parametrize(("version", "before", "fault", "every"), CASES)
def test_after_a_fault_at_any_request_the_hub_holds_complete_releases_and_the_next_run_finishes(
    hub: LoopbackHub,
    terra: Versions,
    version: str,
    before: tuple[str, ...],
    fault: str,
    *,
    every: bool,
) -> None:
    for number, run in each_request(terra, version, before, every=every):
        hub.fail(number, FAULTS[fault])
        with suppress(PublishError) if fault == "412" else nullcontext():  # the other faults pass, and retries succeed
            run.publish(version)
        assert_complete_releases(hub, terra.outcomes)
        hub.stop_failing()
        run.publish(version)
        assert_published(hub, terra.outcomes, version, *before)


@pytest.mark.parametrize(
    ("version", "before", "every"),
    [
        ("2.0.0", "1.0.0", False),
        pytest.param("2.0.0", "1.0.0", True, marks=pytest.mark.slow),
        pytest.param("1.0.0", "2.0.0", True, marks=pytest.mark.slow),
    ],
)
def test_a_hub_that_disconnects_at_any_request_is_an_error_and_the_next_run_finishes(
    hub: LoopbackHub,
    terra: Versions,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    before: str,
    *,
    every: bool,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
    states = set()
    for number, run in each_request(terra, version, [before], every=every):
        hub.fail(number, Fault(cut_request=0), always=True)
        assert run.refuse(version, retries=1, read=10.0).todo == "run the same command again later"
        assert_complete_releases(hub, terra.outcomes)
        hub.stop_failing()
        states.add(run.publish(version).state)
        assert_published(hub, terra.outcomes, version, before)
    # What may remain to be done after the tag is the deletion of the older version's branch.
    assert states == ({"published"} if version == "2.0.0" else {"published", "already published"})


@pytest.fixture(scope="module")
def releases_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases")
    hub_faults.build(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "kind", "every"),
    [
        ("first version", "another form", 3),
        ("older version", "kill after a write", 3),
        ("repair all refs", "another form", 7),
        ("take over", "kill at the record", 15),
    ],
)
def test_a_few_of_the_faults_and_kills_of_the_benchmark(
    releases_folder: Path, tmp_path: Path, name: str, kind: str, every: int
) -> None:
    (tmp_path / "outputs").symlink_to(releases_folder / "outputs")
    undisturbed, *disturbed = hub_faults.run_scenario(tmp_path, name, [kind], every)
    assert undisturbed[2:] == (0, [])
    assert len(disturbed) >= 3
    assert [faults for _, _, _, faults in disturbed if faults] == []
    assert {code for _, _, code, _ in disturbed} <= ({0, 5} if kind == "another form" else {-9})


@pytest.mark.usefixtures("first_published")
def test_a_concurrent_commit_is_included_in_a_new_plan_and_not_overwritten(hub: LoopbackHub, terra: Versions) -> None:
    card = hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)
    hub.before_answer["/commit/main"] = lambda: hub.commit(REPO, {"README.md": card, "figure.png": b"PNG"})
    assert terra.publish("2.0.0").state == "published"
    assert yaml.safe_load(hub.tree(REPO)["README.md"].decode().split("---\n")[1])["viewer"] is False
    assert hub.tree(REPO)["figure.png"] == b"PNG"
    assert [request.status for request in hub.log if "/commit/" in request.path][-2:] == [412, 200]


@pytest.mark.usefixtures("first_published")
def test_endless_concurrent_commits_end_in_an_error(hub: LoopbackHub, terra: Versions) -> None:

    def commit_again() -> None:
        hub.commit(REPO, {"figure.png": str(len(hub.repos[REPO].commits)).encode()})
        hub.before_answer["/commit/main"] = commit_again

    commit_again()
    terra.refuse("2.0.0", "412", "somebody else commits")
    assert verified_hash(hub.tree(REPO)) == terra.outcomes["1.0.0"].manifest.content_sha256


def test_of_two_publishers_with_different_rows_one_succeeds_and_the_other_fails(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings, tmp_path: Path
) -> None:
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    terra.publish("1.0.0")
    hub.before_answer["/commit/main"] = lambda: terra.publish("2.0.0")
    terra.refuse(other, "published with other content", cache=tmp_path / "another", read=10.0)
    assert verified_hash(hub.tree(REPO, "v2.0.0")) == terra.outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(REPO) == hub.tree(REPO, "v2.0.0")


def test_an_untagged_commit_of_another_publisher_is_not_overwritten(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    terra.publish("2.0.0")
    del hub.repos[REPO].tags["v2.0.0"]
    before = hub.state()[0]
    assert terra.refuse(other, "published with other content").where == f"{REPO} at main"
    assert hub.state()[0] == before


@pytest.mark.parametrize("path", ["/commit/main", "/tag/"])
def test_two_publishers_of_the_same_rows_both_succeed(
    hub: LoopbackHub, terra: Versions, tmp_path: Path, path: str
) -> None:
    states: list[str] = []
    theirs = copy_release(terra.outcomes["1.0.0"], tmp_path)
    hub.before_answer[path] = lambda: states.append(terra.publish(theirs).state)
    states.append(terra.publish("1.0.0", cache=tmp_path / "another", read=10.0).state)
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    assert [ref for ref, _ in hub.repos[REPO].moves] == ["main", "main", "v1.0.0"]


def test_concurrent_publishers_of_different_versions_leave_complete_releases(
    hub: LoopbackHub, terra: Versions, tmp_path: Path
) -> None:
    releases = [terra.outcomes["1.0.0"], copy_release(terra.outcomes["2.0.0"], tmp_path)]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(terra.publish, one, cache=tmp_path / one.version, read=10.0) for one in releases]
    assert [run.result().state for run in runs] == ["published", "published"]
    assert_published(hub, terra.outcomes, "1.0.0", "2.0.0")
