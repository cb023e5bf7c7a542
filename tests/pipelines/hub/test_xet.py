"""Xet, where large files go by default: the same rows come back, and its failures are explained and retried."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from pipelines.hub import client, repository
from pipelines.hub.planning import PublishOptions
from pipelines.release import folder
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.loopback_xet import plain_chunk, read_xorb
from tests.support.processes import environment
from tests.support.publishing import REPO, RUBQ, TERRA, Recovery, Versions, patience, verified_hash
from tests.support.raw_files import error_of


@pytest.fixture(autouse=True)
def xet_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Switch Xet on, with a new client that keeps its files in the test's folder."""
    from huggingface_hub import constants
    from huggingface_hub.utils._xet import abort_xet_session

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    abort_xet_session()
    yield
    abort_xet_session()


def paths(hub: LoopbackHub, part: str) -> list[str]:
    """The requests so far whose path contains a text."""
    return [request.path for request in hub.log if part in request.path]


@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_data_that_goes_up_through_xet_comes_down_through_it_as_the_same_rows(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, name: str
) -> None:
    data_of = Versions(hub, options, *releases(name))
    outcomes = data_of.outcomes
    for version, outcome in outcomes.items():
        assert data_of.publish(version).state == "published"
        assert verified_hash(hub.tree(f"org/{name}", f"v{version}")) == outcome.manifest.content_sha256
    assert paths(hub, "/uploads/") == [], "nothing went through LFS"
    data = {file.sha256 for outcome in outcomes.values() for file in outcome.manifest.files}
    assert set(hub.xet.hashes) == data
    hub.log.clear()
    connection = client.connect(endpoint=hub.url, patience=patience())
    for version, outcome in outcomes.items():
        fetched = repository.fetch_release_at(connection, f"org/{name}", f"v{version}", tmp_path / "another cache")
        for file in outcome.manifest.files:
            assert (fetched / file.path).read_bytes() == (outcome.release_dir / file.path).read_bytes()
    assert len(paths(hub, "/reconstructions/")) >= len(data)


# os._exit skips the interpreter teardown, in which pyarrow threads may abort.
LOADER = """
import json, os, sys
import datasets
rows = datasets.load_dataset(sys.argv[1], "default", split="dev", revision=sys.argv[2]).to_list()
print(json.dumps(rows), flush=True)
os._exit(0)
"""


def test_datasets_loads_through_xet(hub: LoopbackHub, terra: Versions, tmp_path: Path) -> None:
    outcome = terra.outcomes["1.0.0"]
    terra.publish("1.0.0")
    hub.log.clear()
    variables = environment(hub, tmp_path)
    process = subprocess.run(
        [sys.executable, "-c", LOADER, REPO, "v1.0.0"],
        env=variables, capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert paths(hub, "/reconstructions/")
    frames = folder.scan_tables(outcome.release_dir, outcome.manifest.tables)
    assert json.loads(process.stdout) == frames["default"]["dev"].collect().to_dicts()


@pytest.mark.parametrize("part", ["/xet-write-token/", "/v1/xorbs/", "/v2/shards"])
def test_a_store_that_denies_access_is_a_question_of_the_token_and_is_not_asked_again(
    hub: LoopbackHub, terra: Versions, part: str
) -> None:
    waits: list[float] = []
    hub.fail_at[part] = Fault(status=403)
    error = terra.refuse("1.0.0", waits=waits)
    assert error.found == "the Hub's Xet storage answered 403 Forbidden"
    assert error.todo == f"use a token that may write to {REPO} (HF_TOKEN, or hf auth login)"
    assert error.exit_code == 5
    assert waits == []
    assert hub.repos[REPO].tags == {}


PASSING = {
    "503": (Fault(status=503), "answered 503 Service Unavailable"),
    "429": (Fault(status=429), "answered 429 Too Many Requests"),
    "the request is cut": (Fault(cut_request=10), "does not answer, or the connection broke"),
    "a stall": (Fault(stall=True), "does not answer, or the connection broke"),
}


@pytest.mark.parametrize("part", ["/v1/xorbs/", "/v2/shards"])
@pytest.mark.parametrize("fault", PASSING)
def test_an_upload_that_fails_is_retried_with_patience_and_the_same_command_finishes_it(
    hub: LoopbackHub, terra: Versions, part: str, fault: str
) -> None:
    waits: list[float] = []
    hub.fail_at[part], words = PASSING[fault]
    error = terra.refuse("1.0.0", waits=waits, retries=2, read=5)
    assert error.found == f"the Hub's Xet storage {words}"
    assert (error.todo, error.exit_code) == ("run the same command again later", 5)
    assert waits == [1, 2]
    hub.stop_failing()
    assert terra.publish("1.0.0").state == "published"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256


def fetch(hub: LoopbackHub, cache: Path, waits: list[float]) -> Path:
    connection = client.connect(endpoint=hub.url, patience=patience(waits, retries=2, read=5))
    return repository.fetch_release_at(connection, REPO, "v1.0.0", cache)


@pytest.mark.parametrize("part", ["/reconstructions/", "/xet/xorbs/"])
@pytest.mark.parametrize("fault", PASSING)
def test_a_download_that_fails_is_retried_with_patience_and_leaves_no_part_of_a_release(
    hub: LoopbackHub, terra: Versions, tmp_path: Path, part: str, fault: str
) -> None:
    waits, cache = list[float](), tmp_path / "another cache"
    terra.publish("1.0.0")
    hub.fail_at[part], words = PASSING[fault]
    with pytest.raises(SourceError, match=r"downloading data/dev-0000\d-of-00002.parquet failed") as caught:
        fetch(hub, cache, waits)
    assert caught.value.found == f"the Hub's Xet storage {words}"
    assert "signature" not in str(caught.value)
    assert "run the same command again" in str(caught.value)
    assert waits == [1, 2]
    assert not [path for path in cache.rglob("*") if path.is_dir() and len(path.name) == 40]
    hub.stop_failing()
    assert (
        folder.require_manifest(fetch(hub, cache, waits)).content_sha256
        == terra.outcomes["1.0.0"].manifest.content_sha256
    )


def test_an_answer_that_is_cut_off_is_retried(hub: LoopbackHub, terra: Versions, tmp_path: Path) -> None:
    terra.publish("1.0.0")
    hub.fail_at["/xet/xorbs/"] = Fault(cut_answer=400)

    waits = Recovery(hub)
    assert folder.read_manifest(fetch(hub, tmp_path / "another cache", waits)) is not None
    assert waits == [1]


def test_a_store_that_denies_reading_is_a_question_of_the_token(
    hub: LoopbackHub, terra: Versions, tmp_path: Path
) -> None:
    terra.publish("1.0.0")
    hub.fail_at["/reconstructions/"] = Fault(status=403)
    with pytest.raises(SourceError, match="403 Forbidden") as caught:
        fetch(hub, tmp_path / "another cache", [])
    assert caught.value.todo == f"use a token that may read {REPO} (HF_TOKEN, or hf auth login)"


def test_a_file_that_the_store_gives_back_too_short_is_an_error(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    Versions(hub, options, *releases(RUBQ)).publish("1.0.0")
    for name, (term,) in hub.xet.files.items():
        *kept, _ = read_xorb(hub.xet.xorbs[term.xorb])
        hub.xet.files[name] = (term._replace(length=sum(len(chunk.content) for chunk in kept), stop=len(kept)),)
    with pytest.raises(SourceError):
        fetch(hub, tmp_path / "another cache", [])


def test_a_file_that_the_store_gives_back_changed_is_noticed(hub: LoopbackHub, terra: Versions, tmp_path: Path) -> None:
    terra.publish("1.0.0")
    for name, xorb in hub.xet.xorbs.items():
        chunks = [bytes([chunk.content[0] ^ 1]) + chunk.content[1:] for chunk in read_xorb(xorb)]
        hub.xet.xorbs[name] = b"".join(plain_chunk(content) for content in chunks)
    connection = client.connect(endpoint=hub.url, patience=patience(retries=1))
    at = repository.require_snapshot(connection, REPO, "v1.0.0")
    data = [path for path in at.digests if path.endswith(".parquet")]
    assert "the file that arrived is not the one on the Hub" in str(
        error_of(repository.fetch_files, connection, REPO, at, data, tmp_path / "another cache")
    )


@pytest.mark.parametrize(
    ("error", "words", "transient"),
    [
        (RuntimeError("Task error: File reconstruction error: IO Error: No space left on device (os error 28)"),
         "No space left on device (os error 28)", False),
        (RuntimeError("Data integrity error: the file from https://cas.example/x?X-Amz-Signature=secret is damaged"),
         "the Hub's Xet storage: Data integrity error: the file from is damaged", True),
        (PermissionError("Authentication error: credentials expired"),
         "the Hub's Xet storage: Authentication error: credentials expired", False),
    ],
)  # fmt: skip
def test_other_errors_of_xet_are_shown_without_addresses(error: Exception, words: str, transient: bool) -> None:
    assert client.explain_error(error) == client.Trouble(words, transient=transient)


def test_an_error_of_anything_else_is_not_taken_for_one_of_xet() -> None:
    assert client.explain_xet_error(ValueError("Network error: in a dataset")) is None
    assert client.explain_xet_error(OSError("No space left on device")) is None


def test_connecting_limits_the_silence_of_xet_and_keeps_what_the_user_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "9")
    for name in ("RETRY_BASE_DELAY", "CONNECT_TIMEOUT", "READ_TIMEOUT"):
        monkeypatch.delenv(f"HF_XET_CLIENT_{name}")
    client.connect(patience=patience(read=0.25))
    settings = {name: value for name, value in os.environ.items() if name.startswith("HF_XET_CLIENT_")}
    assert settings == {
        "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "9",
        "HF_XET_CLIENT_RETRY_BASE_DELAY": "1s",
        "HF_XET_CLIENT_CONNECT_TIMEOUT": "5000ms",
        "HF_XET_CLIENT_READ_TIMEOUT": "250ms",
    }
