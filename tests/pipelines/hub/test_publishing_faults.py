"""Faults while a release is published: main and the tags hold complete releases, and the next run finishes."""

from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import hub_faults
from builders.errors import PublishError
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import Blob, Fault, LoopbackHub
from tests.support.publishing import (
    FAULTS,
    REPO,
    assert_complete_releases,
    assert_published,
    each_request,
    publish,
    verified_hash,
)


def test_a_commit_that_fails_verification_is_not_tagged_and_the_next_run_repairs_it(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()

    def corrupt() -> None:
        repository = hub.repos[REPO]
        sha = repository.branches["main"]
        damaged = repository.commits[sha].tree | {"data/dev-00001-of-00002.parquet": Blob(b"PAR1", lfs=True)}
        repository.commits[sha] = replace(repository.commits[sha], tree=damaged)

    hub.before_answer["/commit/main"] = lambda: hub.before_answer.update({"/revision/": corrupt})
    with pytest.raises(PublishError, match="does not read back") as caught:
        publish(hub, dataset, outcomes["1.0.0"], options)
    assert "data/dev-00001-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos[REPO].tags == {}
    again = publish(hub, dataset, outcomes["1.0.0"], options)
    assert again.plan.notes[-1] == "main holds a damaged copy of this release: it is written again"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256


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
    options: PublishOptions,
    releases: Any,
    version: str,
    before: tuple[str, ...],
    fault: str,
    *,
    every: bool,
) -> None:
    dataset, outcomes = releases()
    for number, run_options in each_request(hub, options, (dataset, outcomes), version, before, every=every):
        hub.fail(number, FAULTS[fault])
        with suppress(PublishError) if fault == "412" else nullcontext():  # the other faults pass, and retries succeed
            publish(hub, dataset, outcomes[version], run_options)
        assert_complete_releases(hub, outcomes)
        hub.stop_failing()
        publish(hub, dataset, outcomes[version], run_options)
        assert_published(hub, outcomes, version, *before)


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
    options: PublishOptions,
    releases: Any,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    before: str,
    *,
    every: bool,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
    dataset, outcomes = releases()
    states = set()
    for number, run_options in each_request(hub, options, (dataset, outcomes), version, [before], every=every):
        hub.fail(number, Fault(cut_request=0), always=True)
        with pytest.raises(PublishError) as caught:
            publish(hub, dataset, outcomes[version], run_options, retries=1, read=10.0)
        assert caught.value.todo == "run the same command again later"
        assert_complete_releases(hub, outcomes)
        hub.stop_failing()
        states.add(publish(hub, dataset, outcomes[version], run_options).state)
        assert_published(hub, outcomes, version, before)
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
