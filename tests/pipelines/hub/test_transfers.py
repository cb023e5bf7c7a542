"""Transfers that stall, break off, or bring another file than announced: retried, or an error that says what happened."""

from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError, SourceError
from pipelines.hub import client, repository
from pipelines.hub.planning import PublishOptions
from pipelines.release import folder
from tests.support.loopback_hub import WRITER, Answer, Fault, LoopbackHub
from tests.support.publishing import REPO, Recovery, first, patience, publish, verified_hash

# What publishing does first, in the middle and last; uploads go through LFS.
PATHS = {
    "/whoami-v2": "identifying the token",
    "/repos/create": "creating the repository",
    "/preupload/": "committing",
    "/objects/batch": "committing",
    "/uploads/": "committing",
    "/commit/": "committing",
    "/resolve/": "downloading data/dev-00000-of-00002.parquet",
    "/tag/": "tagging v1.0.0",
}
STOPPED = "the Hub stopped sending data"


@pytest.mark.parametrize("path", PATHS)
def test_a_hub_that_stops_answering_is_an_error_and_the_same_command_finishes(
    hub: LoopbackHub, options: PublishOptions, releases: Any, path: str
) -> None:
    dataset, outcome = first(releases())
    hub.fail_at[path] = Fault(stall=True)
    with pytest.raises(PublishError, match=f"{PATHS[path]} failed") as caught:
        publish(hub, dataset, outcome, options, retries=1, read=0.1)
    assert caught.value.found == STOPPED
    assert caught.value.todo == "run the same command again later"
    assert caught.value.exit_code == 5
    hub.stop_failing()
    assert publish(hub, dataset, outcome, options).state == "published"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcome.manifest.content_sha256


@pytest.mark.parametrize("path", [path for path in PATHS if path not in ("/uploads/", "/tag/")])
def test_an_answer_of_another_form_is_an_error_and_the_same_command_finishes(
    hub: LoopbackHub, options: PublishOptions, releases: Any, path: str
) -> None:
    """As that of a proxy: JSON, but not what the Hub says there."""
    dataset, outcome = first(releases())
    hub.otherwise = lambda request, usual: (
        Answer(200, b"[0]", {}) if path in request.path and request.method != "HEAD" else usual()
    )
    with pytest.raises(PublishError, match=f"{PATHS[path].replace('00000', '0000[01]')} failed") as caught:
        publish(hub, dataset, outcome, options, retries=1, read=5.0)
    assert "its answer has another form (" in str(caught.value)
    assert (caught.value.todo, caught.value.exit_code) == ("run the same command again later", 5)
    hub.otherwise = lambda _, usual: usual()
    assert publish(hub, dataset, outcome, options, read=5.0).state == "published"


def test_files_that_a_proxy_takes_for_the_hub_are_missed_in_the_commit_and_sent_by_the_next_run(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())
    hub.fail_at["/uploads/"] = Fault(status=200)
    with pytest.raises(PublishError, match="committing failed") as caught:
        publish(hub, dataset, outcome, options, read=5.0)
    assert "the content was not uploaded" in (caught.value.found or "")
    assert caught.value.todo == "run the command again; if the Hub refuses it again, its words say why"
    hub.stop_failing()
    assert publish(hub, dataset, outcome, options, read=5.0).state == "published"


def test_a_listing_that_stalls_ends_too(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    publish(hub, *first(releases()), options)
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience(retries=0, read=0.1))
    hub.fail_at["/commits/"] = Fault(stall=True)
    with pytest.raises(PublishError, match="reading its history failed") as caught:
        repository.list_commits(connection, REPO)
    assert caught.value.found == STOPPED


@pytest.mark.parametrize("path", ["/repos/create", "/commit/", "/tag/"])
def test_a_busy_hub_is_waited_for_as_long_as_it_asks(
    hub: LoopbackHub, options: PublishOptions, releases: Any, path: str
) -> None:
    waits = Recovery(hub)
    hub.fail_at[path] = Fault(status=503, headers={"Retry-After": "400"})
    assert publish(hub, *first(releases()), options, waits=waits).state == "published"
    assert waits == [400]


def fetch(hub: LoopbackHub, cache: Path, waits: list[float], *, retries: int = 3) -> Path:
    connection = client.connect(endpoint=hub.url, patience=patience(waits, retries=retries, read=5))
    return repository.fetch_release_at(connection, REPO, "v1.0.0", cache)


WRONG_SIZES = {
    "shorter than announced": Fault(cut_answer=400),
    "announced as longer": Fault(headers={"Content-Length": "999999"}),
    "announced as shorter": Fault(headers={"Content-Length": "100"}),
}


@pytest.mark.parametrize("fault", WRONG_SIZES)
@pytest.mark.parametrize("path", ["manifest.json", "data/dev-00000-of-00002.parquet"])
def test_a_download_of_the_wrong_size_is_retried(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, fault: str, path: str
) -> None:
    dataset, outcome = first(releases())
    publish(hub, dataset, outcome, options)
    hub.fail_at[f"/{path}"] = WRONG_SIZES[fault]
    waits = Recovery(hub)
    release_dir = fetch(hub, tmp_path / "another cache", waits)
    assert waits == [1]
    assert folder.require_manifest(release_dir).content_sha256 == outcome.manifest.content_sha256
    for file in outcome.manifest.files:
        assert (release_dir / file.path).read_bytes() == (outcome.release_dir / file.path).read_bytes()


@pytest.mark.parametrize("fault", WRONG_SIZES)
def test_a_download_that_stays_of_the_wrong_size_is_an_error_and_leaves_no_release(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, fault: str
) -> None:
    publish(hub, *first(releases()), options)
    hub.fail_at["/data/"] = WRONG_SIZES[fault]
    cache = tmp_path / "another cache"
    with pytest.raises(SourceError, match=r"downloading data/dev-0000\d-of-00002.parquet failed") as caught:
        fetch(hub, cache, [], retries=1)
    assert "run the same command again later" in str(caught.value)
    assert not [found for found in cache.rglob("*") if found.is_dir() and len(found.name) == 40]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/data/", "another server than the Hub answers, perhaps a page to log in to a network"),
        ("/manifest.json", "the file that arrived is not the one on the Hub: sha256"),
    ],
)
def test_an_answer_of_somebody_else_in_place_of_a_file_is_called_so(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, path: str, words: str
) -> None:
    publish(hub, *first(releases()), options)
    hub.fail_at[path], waits = Fault(status=200, headers={"Content-Type": "text/html"}), list[float]()
    with pytest.raises(SourceError, match="failed") as caught:
        fetch(hub, tmp_path / "another cache", waits, retries=1)
    assert len(waits) == 1
    assert (caught.value.found or "").startswith(words)
    assert caught.value.todo == "run the same command again later"


def test_a_file_that_arrives_cut_off_is_named_with_its_digest(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    publish(hub, *first(releases()), options)
    hub.fail_at["/manifest.json"] = Fault(headers={"Content-Length": "100"})
    with pytest.raises(SourceError, match=r"downloading manifest\.json failed") as caught:
        fetch(hub, tmp_path / "another cache", [], retries=1)
    assert "the file that arrived is not the one on the Hub: sha256" in str(caught.value)
    assert "100 bytes" in str(caught.value)
