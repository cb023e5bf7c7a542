"""How many requests are sent: a publication, `check --org`, and a Hub that keeps failing; nothing is asked for twice."""

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines import check
from pipelines.hub import client, repository
from pipelines.hub.inspection import inspect_mirror
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import WRITER, Blob, Commit, Fault, LoopbackHub, Repo
from tests.support.publishing import REPO, TERRA, patience, publish, with_manifest


def requests_of(hub: LoopbackHub) -> dict[str, int]:
    """The requests since the last call: of the API, and of files."""
    counts = Counter("resolve" if "/resolve/" in request.path else "api" for request in hub.log)
    hub.log.clear()
    return dict(counts)


def test_the_requests_of_a_publication(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    """Two shards in 1.0.0, one in 2.0.0. Before: 24, 25, 18, 16 and 33 requests."""
    dataset, outcomes = releases()

    def count(version: str) -> dict[str, int]:
        publish(hub, dataset, outcomes[version], options, read=10.0)
        return requests_of(hub)

    assert count("1.0.0") == {"api": 12, "resolve": 4}, "into an empty organisation"
    assert count("2.0.0") == {"api": 10, "resolve": 4}, "on top of an older version"
    assert count("2.0.0") == {"api": 3, "resolve": 4}, "again"
    assert count("1.0.0") == {"api": 4, "resolve": 5}, "again, an older version"
    hub.repos.clear()
    count("2.0.0")
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
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, list[dict[str, Any]], str]]:  # fmt: skip
    """Two versions of TERRa, published; a function that runs `check --org org --json` and returns code, objects and stderr."""
    dataset, outcomes = releases()
    for version, outcome in outcomes.items():
        publish(hub, dataset, with_manifest(outcome, tmp_path / version), replace(options, sample=False))
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
    assert f"{len(api) + 1} requests of the API and {len(files)} of files" in err


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
    hub: LoopbackHub, check_org: Callable[..., Any], arguments: list[str]
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

    good = {"attestations/v1.0.0-built.json": statement(manifest["content_sha256"])}
    hub.commit(REPO, dict(good))
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
