"""Logging in; transfers that stall, break off or bring another file: retried, or an error that says what happened; the name that
each request bears, and how many are sent.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from huggingface_hub.errors import HfHubHTTPError

from builders.errors import PublishError, SourceError
from pipelines import check
from pipelines.hub import client, publishing, repository
from pipelines.hub.client import explain_error
from pipelines.hub.inspection import inspect_mirror
from pipelines.hub.planning import PublishOptions
from pipelines.process import installation
from pipelines.release import folder
from tests.support.loopback_hub import EXPIRED, READER, WRITER, Answer, Blob, Commit, Fault, LoopbackHub, Repo
from tests.support.publishing import REPO, TERRA, Recovery, Versions, patience, refused, verified_hash, with_manifest
from tests.support.raw_files import error_of


def test_a_missing_token_is_an_error_that_names_hf_token(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "HF_TOKEN" in str(refused("no token to publish with", publishing.login, endpoint=hub.url))
    monkeypatch.setenv("HF_TOKEN", WRITER)
    assert publishing.login(endpoint=hub.url).api.token == WRITER


@pytest.mark.parametrize(("token", "words"), [(READER, "can only read"), ("hf_unknown", "401"), ("hf_bad", "HF_TOKEN")])
def test_the_error_for_a_read_only_or_invalid_token_does_not_show_the_token(
    hub: LoopbackHub, token: str, words: str
) -> None:
    with pytest.raises(PublishError) as caught:
        publishing.login(endpoint=hub.url, token=token, patience=patience())
    assert words in str(caught.value)
    assert token not in str(caught.value)


def test_nothing_is_published_or_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused("connections to the Hub are disabled", publishing.login, token=WRITER)
    assert "connections to the Hub are disabled" in str(error_of(client.connect))


def test_an_expired_token_is_reported_in_the_words_of_the_hub_without_the_token(hub: LoopbackHub) -> None:
    error = refused(
        "identifying the token failed", publishing.login, endpoint=hub.url, token=EXPIRED, patience=patience()
    )
    assert error.found == "the Hub answered 401 Unauthorized: User access token [token] has expired"
    assert "log in again" in str(error)


def test_the_error_for_a_commit_that_the_token_may_not_make_names_the_repository(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.fail_at["/commit/"] = Fault(status=403)
    terra.refuse("1.0.0", "committing failed", f"a token that may write to {REPO}")


def test_waiting_times_follow_the_server_for_up_to_an_hour(hub: LoopbackHub) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waits))
    for headers, seconds in (
        ({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({"Retry-After": "3600"}, 3600), ({}, 1)
    ):  # fmt: skip
        hub.fail(0, Fault(status=429, headers=headers))
        assert repository.snapshot(connection, "org/nothing") is None
        assert waits.pop() == seconds
    hub.fail(0, Fault(status=503), always=True)
    refused("run the same command again later", repository.snapshot, connection, "org/nothing")
    assert waits == [1, 2, 4]


def test_a_token_that_the_hub_echoes_is_masked_before_its_words_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    response = httpx.Response(403, request=httpx.Request("GET", "https://hub.example/api"))
    for words in ("invalid token my-own-secret", "x" * 292 + "my-own-secret"):
        trouble = explain_error(HfHubHTTPError("denied", response=response, server_message=words))
        assert "my-own" not in trouble.words
        assert "[tok" in trouble.words


NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


def test_a_hub_that_asks_for_more_than_an_hour_is_an_error_that_says_when_to_come_back(
    hub: LoopbackHub, terra: Versions, online: list[float]
) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=replace(patience(waits), now=lambda: NOON))
    busy = Fault(status=503, headers={"Retry-After": "86400"})
    for path in (
        "/revision/main",
        "/repos/create",
        "/preupload/",
        "/objects/batch",
        "/uploads/",
        "/commit/",
        "/resolve/",
        "/tag/",
    ):
        hub.fail_at = {path: busy}
        error = refused(
            "answered 503",
            publishing.publish,
            terra.dataset,
            terra.outcomes["1.0.0"].release_dir,
            terra.options,
            connection,
        )
        assert error.todo == "run the same command again after 2026-03-05 12:00 UTC"
    assert waits + online == []


def test_a_long_wait_that_the_hub_asks_for_is_announced_with_its_end(
    hub: LoopbackHub, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = client.connect(endpoint=hub.url, patience=replace(patience(), now=lambda: NOON))
    hub.fail(0, Fault(status=429, headers={"RateLimit": '"api";r=0;t=1800'}))
    repository.snapshot(connection, REPO)
    assert "trying again in 30 min, until 12:30 UTC (1 of 3)" in capsys.readouterr().err


OURS = f"embedding-datasets/{installation.version()}"


@pytest.mark.parametrize("disable_xet", [True, False], ids=["LFS", "Xet"])
def test_each_request_of_publishing_and_fetching_has_our_name_and_version(
    hub: LoopbackHub, terra: Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disable_xet: bool
) -> None:
    from huggingface_hub.utils._xet import abort_xet_session

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", disable_xet)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    abort_xet_session()
    published = terra.publish("1.0.0")
    connection = client.connect(endpoint=hub.url, patience=patience())
    repository.fetch_release_at(connection, published.plan.repo, "v1.0.0", tmp_path / "another cache")
    assert {path for path in hub.user_agents if path.startswith("/uploads/" if disable_xet else "/xet/")}
    assert {path: agent for path, agent in hub.user_agents.items() if OURS not in agent} == {}


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
    hub: LoopbackHub, terra: Versions, path: str
) -> None:
    hub.fail_at[path] = Fault(stall=True)
    error = terra.refuse("1.0.0", f"{PATHS[path]} failed", retries=1, read=0.1)
    assert error.found == STOPPED
    assert error.todo == "run the same command again later"
    assert error.exit_code == 5
    hub.stop_failing()
    assert terra.publish("1.0.0").state == "published"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256


@pytest.mark.parametrize("path", [path for path in PATHS if path not in ("/uploads/", "/tag/")])
def test_an_answer_of_another_form_is_an_error_and_the_same_command_finishes(
    hub: LoopbackHub, terra: Versions, path: str
) -> None:
    """As that of a proxy: JSON, but not what the Hub says there."""
    hub.otherwise = lambda request, usual: (
        Answer(200, b"[0]", {}) if path in request.path and request.method != "HEAD" else usual()
    )
    error = terra.refuse(
        "1.0.0",
        PATHS[path].removesuffix("0-of-00002.parquet"),
        "its answer has another form (",
        retries=1,
        read=5.0,
    )
    assert (error.todo, error.exit_code) == ("run the same command again later", 5)
    hub.otherwise = lambda _, usual: usual()
    assert terra.publish("1.0.0", read=5.0).state == "published"


def test_files_that_a_proxy_takes_for_the_hub_are_missed_in_the_commit_and_sent_by_the_next_run(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.fail_at["/uploads/"] = Fault(status=200)
    error = terra.refuse("1.0.0", "committing failed", read=5.0)
    assert "the content was not uploaded" in (error.found or "")
    assert error.todo == "run the command again; if the Hub refuses it again, its words say why"
    hub.stop_failing()
    assert terra.publish("1.0.0", read=5.0).state == "published"


def test_a_listing_that_stalls_ends_too(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("1.0.0")
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience(retries=0, read=0.1))
    hub.fail_at["/commits/"] = Fault(stall=True)
    assert refused("reading its history failed", repository.list_commits, connection, REPO).found == STOPPED


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
    hub: LoopbackHub, terra: Versions, tmp_path: Path, fault: str, path: str
) -> None:
    outcome = terra.outcomes["1.0.0"]
    terra.publish("1.0.0")
    hub.fail_at[f"/{path}"] = WRONG_SIZES[fault]
    waits = Recovery(hub)
    release_dir = fetch(hub, tmp_path / "another cache", waits)
    assert waits == [1]
    assert folder.require_manifest(release_dir).content_sha256 == outcome.manifest.content_sha256
    for file in outcome.manifest.files:
        assert (release_dir / file.path).read_bytes() == (outcome.release_dir / file.path).read_bytes()


@pytest.mark.parametrize("fault", WRONG_SIZES)
def test_a_download_that_stays_of_the_wrong_size_is_an_error_and_leaves_no_release(
    hub: LoopbackHub, terra: Versions, tmp_path: Path, fault: str
) -> None:
    terra.publish("1.0.0")
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
    hub: LoopbackHub, terra: Versions, tmp_path: Path, path: str, words: str
) -> None:
    terra.publish("1.0.0")
    hub.fail_at[path], waits = Fault(status=200, headers={"Content-Type": "text/html"}), list[float]()
    with pytest.raises(SourceError, match="failed") as caught:
        fetch(hub, tmp_path / "another cache", waits, retries=1)
    assert len(waits) == 1
    assert (caught.value.found or "").startswith(words)
    assert caught.value.todo == "run the same command again later"


def test_a_file_that_arrives_cut_off_is_named_with_its_digest(
    hub: LoopbackHub, terra: Versions, tmp_path: Path
) -> None:
    terra.publish("1.0.0")
    hub.fail_at["/manifest.json"] = Fault(headers={"Content-Length": "100"})
    with pytest.raises(SourceError, match=r"downloading manifest\.json failed") as caught:
        fetch(hub, tmp_path / "another cache", [], retries=1)
    assert "the file that arrived is not the one on the Hub: sha256" in str(caught.value)
    assert "100 bytes" in str(caught.value)


def test_the_requests_of_a_publication(hub: LoopbackHub, terra: Versions) -> None:
    """Two shards in 1.0.0, one in 2.0.0. Before: 24, 25, 18, 16 and 33 requests."""

    def count(version: str) -> dict[str, int]:
        hub.log.clear()
        terra.publish(version, read=10.0)
        return dict(Counter("resolve" if "/resolve/" in request.path else "api" for request in hub.log))

    assert count("1.0.0") == {"api": 12, "resolve": 4}, "into an empty organisation"
    assert count("2.0.0") == {"api": 10, "resolve": 4}, "on top of an older version"
    assert count("2.0.0") == {"api": 3, "resolve": 4}, "again"
    assert count("1.0.0") == {"api": 4, "resolve": 5}, "again, an older version"
    hub.repos.clear()
    terra.publish("2.0.0")
    assert count("1.0.0") == {"api": 15, "resolve": 5}, "an older version below a newer one"


@pytest.mark.parametrize(
    "fault", [Fault(status=503), Fault(cut_answer=0), Fault(status=429)], ids=["503", "cut", "429"]
)
def test_what_keeps_failing_is_repeated_and_reported_by_one_layer_alone(
    hub: LoopbackHub, fault: Fault, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("huggingface_hub"), "propagate", True)  # its warnings go to caplog
    hub.create(REPO, {"a.parquet": b"PAR1"})
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience(retries=2))
    at = repository.require_snapshot(connection, REPO, "main")
    hub.fail(0, fault, always=True)
    for ask in (
        lambda: repository.snapshot(connection, REPO, "v1.0.0"),
        lambda: repository.list_commits(connection, REPO),
        lambda: repository.find_lost_file(connection, REPO, at, "a.parquet"),
    ):
        hub.log.clear()
        with pytest.raises(PublishError):
            ask()
        assert len(hub.log) == 3
    assert {record.name for record in caplog.records if record.levelno >= logging.INFO} == {"pipelines.hub.client"}


def test_the_last_requests_of_a_window_are_not_spent(hub: LoopbackHub) -> None:
    hub.create(REPO, {})
    waits: list[float] = []
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience(waits))
    for remaining, expected in ((400, []), (2, [17.0])):
        hub.fail(0, Fault(headers={"RateLimit": f'"api";r={remaining};t=17'}))
        assert repository.snapshot(connection, REPO) is not None
        assert waits == expected


@pytest.fixture
def check_org(
    hub: LoopbackHub,
    options: PublishOptions,
    terra: Versions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, list[dict[str, Any]], str]]:
    """Two versions of TERRa, published; a function that runs `check --org org --json` and returns code, objects and stderr."""
    for version, outcome in terra.outcomes.items():
        terra.publish(with_manifest(outcome, tmp_path / version), sample=False)
    monkeypatch.setattr(client, "HfApi", lambda endpoint, real=client.HfApi, **more: real(endpoint=hub.url, **more))
    monkeypatch.setattr(client, "Patience", lambda **_: patience(read=5))
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "another"))
    monkeypatch.setenv("HF_TOKEN", WRITER)

    def run(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        line = ["check", "--org", "org", "--json", "--ledger", str(options.ledger), "--output", str(tmp_path / "none")]
        monkeypatch.setattr(sys, "argv", [*line, *arguments])
        hub.log.clear()
        capsys.readouterr()
        code, printed = check.main(), capsys.readouterr()
        return code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    return run


def test_a_check_asks_once_for_each_commit_and_each_different_data_file(
    hub: LoopbackHub, check_org: Callable[..., Any]
) -> None:
    code, [dataset], err = check_org("--no-download")
    assert (code, dataset["state"]) == (0, "sound")
    listing = [request for request in hub.log if request.path == "/api/datasets"]
    api = [request.path for request in hub.log if request.path.startswith(f"/api/datasets/{REPO}")]
    commits = set(hub.repos[REPO].tags.values())
    expected = {f"/api/datasets/{REPO}/refs", *(f"/api/datasets/{REPO}/revision/{sha}" for sha in commits)}
    assert (len(listing), len(api), set(api)) == (1, 3, expected), "main and v2.0.0 are one commit"
    files = [request.path for request in hub.log if request.method == "GET" and "/resolve/" in request.path]
    data = [path for path in files if path.endswith(".parquet")]
    assert len(data) == len(set(data)) == 3, "the first byte of two shards of 1.0.0 and of one of 2.0.0"
    assert len(files) == len(set(files)) <= 11
    assert not [request for request in hub.log if request.method == "HEAD"]
    assert {request.status for request in hub.log if request.path.endswith(".parquet")} == {206}
    assert f"{len(api) + 1} requests of the API and {len(files)} of files" in err
    check_org()
    data = [request for request in hub.log if request.method == "GET" and request.path.endswith(".parquet")]
    whole = [request.path for request in data if request.status == 200]
    assert len(whole) == len(set(whole)) == 3


@pytest.mark.both_hubs
def test_data_that_the_hub_has_lost_are_seen_without_a_download(
    hub: LoopbackHub, check_org: Callable[..., Any]
) -> None:
    path = "data/dev-00001-of-00002.parquet"
    words = hub.lose(REPO, path, "v1.0.0")
    code, [dataset], _ = check_org("--no-download")
    states = {revision["name"]: revision["state"] for revision in dataset["revisions"]}
    assert (code, states) == (1, {"v1.0.0": "wrong", "v2.0.0": "sound", "main": "sound"})
    [problem] = dataset["revisions"][0]["problems"]
    assert problem["what"] == f"{path}: the Hub lists it, and {words}"


@pytest.mark.parametrize("arguments", [[], ["--no-download"]], ids=["downloaded", "listed"])
def test_a_file_that_keeps_failing_fails_its_repository_alone(
    hub: LoopbackHub, check_org: Callable[..., Any], arguments: list[str], terra: Versions
) -> None:
    hub.create("org/raw-terra", {})
    hub.fail_at["dev-00001-of-00002.parquet"] = Fault(status=503)
    code, datasets, _ = check_org(*arguments)
    assert code == 1
    assert {dataset["repository"]: dataset["state"] for dataset in datasets} == {
        "org/raw-terra": "sound", REPO: "not checked",
    }  # fmt: skip
    [terra] = [dataset for dataset in datasets if dataset["repository"] == REPO]
    assert "503" in terra["revisions"][0]["not_checked"]
    assert terra["revisions"][1]["state"] == "sound"


def test_statements_on_main_are_compared_with_their_release(hub: LoopbackHub, check_org: Callable[..., Any]) -> None:
    manifest = json.loads(hub.tree(REPO, "v1.0.0")["manifest.json"])

    def statement(content: str, name: str = f"{TERRA}@1.0.0") -> bytes:
        subject = [{"name": name, "digest": {"content_sha256": content}}]
        return json.dumps({"_type": "https://in-toto.io/Statement/v1", "subject": subject}).encode()

    hub.commit(REPO, {"attestations/v1.0.0-built.json": statement(manifest["content_sha256"])})
    code, [dataset], _ = check_org("--no-download")
    assert (code, dataset["state"]) == (0, "sound")
    bad = {
        "attestations/v1.0.0-other.json": statement("0" * 64), "attestations/v1.0.0-files.json": statement("0", "x.parquet"),
        "attestations/v7.0.0-built.json": statement("0" * 64), "attestations/v2.0.0-built.json": b"[]",
    }  # fmt: skip
    hub.commit(REPO, dict(bad))
    code, [dataset], _ = check_org("--no-download")
    assert code == 1
    assert sorted(problem["what"].partition(" at ")[0] for problem in dataset["revisions"][-1]["problems"]) == [
        "attestations/v1.0.0-files.json: about other files",
        f"attestations/v1.0.0-other.json: names other content of {TERRA}@1.0.0",
        "attestations/v2.0.0-built.json: not a statement: Expected `object`, got `array`",
        "attestations/v7.0.0-built.json: about no version with a tag",
    ]


def test_the_files_of_a_mirror_must_have_the_digests_in_their_names(hub: LoopbackHub) -> None:
    small, large = Blob(b"a,b\n", lfs=False), Blob(b"PK\x03\x04", lfs=True)
    tree = {
        f"sha256/{small.sha256[:2]}/{small.sha256}": small, f"git-blob/{small.git[:2]}/{small.git}": small,
        f"sha256/{large.sha256[:2]}/{large.sha256}": large, "README.md": Blob(b"card", lfs=False),
    }  # fmt: skip
    name = "org/raw-terra"
    hub.repos[name] = Repo(private=False)
    hub.repos[name].add("main", Commit(tree, None, "first", ""))
    connection = client.connect(endpoint=hub.url, token=WRITER, patience=patience())
    assert inspect_mirror(connection, name).state == "sound"
    wrong = {f"sha256/00/{'0' * 64}": small, f"git-blob/11/{'1' * 40}": large}
    hub.repos[name].add("main", Commit(tree | wrong, None, "second", ""))
    connection.snapshots.clear()
    checked = inspect_mirror(connection, name)
    assert [problem.what for problem in checked.revisions[0].problems] == [
        f"git-blob/11/{'1' * 40} has other content: {large.sha256}", f"sha256/00/{'0' * 64} has other content: {small.git}",
    ]  # fmt: skip
    assert checked.revisions[0].problems[0].commands == ("embedding-datasets publish --raw terra --org org",)
    hub.fail_at[large.sha256] = Fault(status=404, headers={"X-Error-Code": "EntryNotFound"})
    lost = [problem.what for problem in inspect_mirror(connection, name).revisions[0].problems]
    assert lost[-1].endswith("the Hub lists it, and has lost its content")
