"""Indexes on the Hub: published once, under a tag that never moves; found by name, from anywhere, with the digest that the Hub
lists; and taken by training sets by that digest.
"""

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import HfApi

from builders import catalogue
from builders.errors import PublishError, SourceError
from builders.raw_files import by_hand
from builders.spec import Source
from pipelines.decontamination.index_file import Record, Unread, read_index
from pipelines.decontamination.indexing import index_tables
from pipelines.decontamination.pages import index_to_publish
from pipelines.hub import client, published_indexes, publishing
from pipelines.hub.commits import DONE, NEW, CommitOptions
from pipelines.hub.published_indexes import find_index, make_index_plan, publish_index
from pipelines.process.files import file_sha256
from pipelines.raw.locations import locate
from pipelines.raw.mirrors import parse_mirrors
from pipelines.raw.settings import RawSettings
from tests.support import processes
from tests.support.benchmark_tables import classification
from tests.support.loopback_hub import WRITER, Fault, LoopbackHub
from tests.support.publishing import patience, refused, try_with_faults
from tests.support.raw_files import error_of, source_of

REPO = "org/index-mteb-2.26"
OPTIONS = CommitOptions("org")
CONNECT = client.connect
RECORD = Record("all tasks of mteb 2.26.0", {"reviews": "cc-by-nc-4.0"}, (Unread("org/gated", "no | access"),))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "mteb-2.26.index"
    index_tables([classification("reviews", ["a text of a review", "another text"], [0, 1])], path, record=RECORD)
    return path


@pytest.fixture
def connect(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Connections of a reader without a token, for find_index too; returns one that may write."""
    original = client.connect
    reader = original(endpoint=hub.url, token=False, patience=patience())  # type: ignore[arg-type]
    monkeypatch.setattr(published_indexes.client, "connect", lambda: reader)
    writer = original(PublishError, endpoint=hub.url, token=WRITER, patience=patience(retries=0))
    return lambda: writer


@pytest.fixture
def published(index: Path, connect: Callable[[], Any]) -> None:
    publish_index(index_to_publish(index, "1.0.0"), OPTIONS, connect())


def test_an_index_is_published_with_a_card_and_a_tag_and_only_once(
    hub: LoopbackHub, index: Path, connect: Callable[[], Any]
) -> None:
    planned = make_index_plan(index_to_publish(index, "1.0.0"), OPTIONS, connect())
    assert (planned.state, planned.repo, planned.tag, planned.index.texts) == (NEW, REPO, "v1.0.0", 2)
    assert hub.repos == {}
    first = publish_index(index_to_publish(index, "1.0.0"), OPTIONS, connect())
    digest = file_sha256(index)
    tree = hub.tree(REPO, "v1.0.0")
    assert sorted(tree) == [".gitattributes", "README.md", "index.parquet", f"sha256/{digest[:2]}/{digest}"]
    assert tree["index.parquet"] == tree[f"sha256/{digest[:2]}/{digest}"] == index.read_bytes()
    card = tree["README.md"].decode()
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert (metadata["license"], metadata["configs"][0]["data_files"]) == ("other", "index.parquet")
    assert f"| sha256 | `{digest}` |" in card
    assert "| made of | `all tasks of mteb 2.26.0` |" in card
    assert "| `reviews` | `1.0.0` | 2 | cc-by-nc-4.0 |" in card
    assert r"| `org/gated` | no &#124; access |" in card
    assert f"--index {REPO}@v1.0.0" in card
    again = publish_index(index_to_publish(index, "1.0.0"), OPTIONS, connect())
    assert (first.state, again.state, again.commit) == ("published", DONE, first.commit)
    assert len(hub.repos[REPO].commits) == 2


@pytest.mark.usefixtures("published")
def test_a_tag_is_never_of_another_index_and_the_newest_version_is_on_main(
    hub: LoopbackHub, index: Path, connect: Callable[[], Any], tmp_path: Path
) -> None:
    before = index.read_bytes()
    index_tables([classification("reviews", ["a corrected text"], [0])], index, record=RECORD)
    refused("v1.0.0 is another index", publish_index, index_to_publish(index, "1.0.0"), OPTIONS, connect())
    publish_index(index_to_publish(index, "1.1.0"), OPTIONS, connect())
    assert hub.tree(REPO)["index.parquet"] == index.read_bytes() != before
    assert hub.tree(REPO, "v1.0.0")["index.parquet"] == before
    refused("a newer version is published", publish_index, index_to_publish(index, "1.0.1"), OPTIONS, connect())
    (tmp_path / "no.index").write_bytes(b"PAR1")
    assert "cannot be read" in str(error_of(index_to_publish, tmp_path / "no.index", "1.0.0"))


@pytest.mark.usefixtures("published")
def test_a_repository_of_others_is_refused(hub: LoopbackHub, index: Path, connect: Callable[[], Any]) -> None:
    hub.commit(REPO, {"data/train.csv": b"of somebody else"})
    index_tables([classification("reviews", ["a corrected text"], [0])], index)
    refused("the repository holds other files", publish_index, index_to_publish(index, "1.1.0"), OPTIONS, connect())


@pytest.mark.parametrize("fault", [Fault(status=500, executed=True), Fault(status=503), Fault(cut_answer=10)])
def test_an_interrupted_call_is_finished_by_the_next(
    hub: LoopbackHub, index: Path, connect: Callable[[], Any], fault: Fault
) -> None:
    try_with_faults(hub, fault, 12, lambda: publish_index(index_to_publish(index, "1.0.0"), OPTIONS, connect()))
    publish_index(index_to_publish(index, "1.0.0"), OPTIONS, connect())
    assert hub.tree(REPO, "v1.0.0")["index.parquet"] == index.read_bytes()
    assert len(hub.repos[REPO].commits) == 2


@pytest.mark.usefixtures("published")
def test_an_index_is_found_by_repository_and_by_the_name_in_an_organisation_and_downloaded_once(
    hub: LoopbackHub, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    found = find_index(f"{REPO}@v1.0.0", cache)
    assert found.is_relative_to(cache)
    assert read_index(found).tables == read_index(index).tables
    assert "index not found" in str(error_of(find_index, "mteb-2.26", cache))
    monkeypatch.setenv("EMBEDDING_DATASETS_MIRRORS", "hf://datasets/elsewhere, hf://datasets/org")
    hub.log.clear()
    assert find_index("mteb-2.26", cache) == find_index("mteb-2.26@v1.0.0", cache) == find_index(REPO, cache) == found
    assert [request for request in hub.log if "/resolve/" in request.path] == []
    with pytest.raises(SourceError, match=r"(?s)index not found.*no index\.parquet in org/index-mteb-2\.26 at v7"):
        find_index("mteb-2.26@v7", cache)
    assert find_index(str(index), cache) == index
    found.write_bytes(b"damaged")
    assert "the copy of the index is damaged" in str(error_of(find_index, f"{REPO}@v1.0.0", cache))


def unreachable_hub() -> Any:
    """A client of a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return client.HubClient(HfApi(endpoint=f"http://127.0.0.1:{port}"), patience(retries=1), SourceError)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("reason", ["HF_HUB_OFFLINE is set", "Connection refused"])
def test_without_network_the_last_copy_of_an_index_is_used_or_the_error_says_what_to_copy(
    hub: LoopbackHub,
    index: Path,
    connect: Callable[[], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    reason: str,
) -> None:
    cache, offline = tmp_path / "cache", reason.startswith("HF_HUB_OFFLINE")
    monkeypatch.setenv("EMBEDDING_DATASETS_MIRRORS", "hf://datasets/elsewhere, hf://datasets/org")
    copy = find_index("mteb-2.26@v1.0.0", cache)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(client, "connect", CONNECT if offline else unreachable_hub)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "https://hub.example")
    hub.log.clear()
    assert find_index("mteb-2.26@v1.0.0", cache) == find_index(f"{REPO}@v1.0.0", cache) == copy
    assert f"{reason}); the copy of the last time is used: {copy}" in caplog.text
    with pytest.raises(SourceError) as caught:
        find_index(f"{REPO}@v2.0.0", cache)
    assert f"{reason}, and no copy in {cache}" in str(caught.value)
    assert f"download https://hub.example/datasets/{REPO}/resolve/v2.0.0/index.parquet" in str(caught.value)
    copy.write_bytes(b"damaged")
    assert "the copy of the index is damaged" in str(error_of(find_index, "mteb-2.26@v1.0.0", cache))
    copy.unlink()
    with pytest.raises(SourceError, match=f"(?s){reason}.*org/index-mteb-2.26/resolve/v1.0.0/index.parquet"):
        find_index("mteb-2.26@v1.0.0", cache)
    assert hub.log == []


@pytest.mark.usefixtures("published")
def test_one_entry_of_the_lock_file_is_the_digest_of_the_index_for_all_training_sets(
    hub: LoopbackHub, index: Path, tmp_path: Path
) -> None:
    entry = {"sha256": file_sha256(index), "bytes": index.stat().st_size}
    (tmp_path / "lock.json").write_text(json.dumps({"benchmark-index.parquet": entry}))
    mirrors = parse_mirrors(f"hf://datasets/{REPO}")
    settings = RawSettings(None, tmp_path / "new", hub=hub.url, mirrors=mirrors, lock=tmp_path / "lock.json")
    for name, origin in (("ru-hnp", "mirror"), ("query2doc", "cache")):
        found = locate(training_source(name), "index", settings)
        assert (found.origin, found.sha256, found.verified) == (origin, entry["sha256"], True)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "benchmark-index.parquet").write_bytes(b"another index")
    assert "is not the pinned file" in str(
        error_of(locate, training_source("ru-hnp"), "index", replace(settings, raw_dir=tmp_path / "raw"))
    )


def test_the_command_shows_a_plan_then_publishes(
    hub: LoopbackHub, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = client.connect
    monkeypatch.setattr(client, "connect", lambda *a, **k: original(*a, endpoint=hub.url, token=WRITER))
    login = publishing.login
    monkeypatch.setattr(publishing, "login", lambda: login(endpoint=hub.url, token=WRITER, patience=patience()))
    command = ("publish", "--index", index.name, "--org", "org")
    planned = processes.run(*command, "--dry-run", cwd=index.parent)
    assert (planned.returncode, hub.repos) == (0, {})
    assert f"{REPO} (to be created), tag v1.0.0, public" in planned.stdout
    done = json.loads(processes.run(*command, "--json", cwd=index.parent).stdout)
    assert (done["state"], done["texts"], done["sha256"]) == ("published", 2, file_sha256(index))
    assert hub.repos[REPO].tags["v1.0.0"] == done["commit"]


def training_source(name: str) -> Source:
    return catalogue.load(catalogue.entries()[f"{name}-contrastive"]).source


def test_one_copy_of_an_index_by_hand_is_enough_for_all_training_sets(tmp_path: Path) -> None:
    settings = RawSettings(tmp_path / "raw", tmp_path / "cache", offline=True, mirrors=(), lock=tmp_path / "lock.json")
    (tmp_path / "raw").mkdir()
    with pytest.raises(SourceError) as caught:
        locate(training_source("ru-hnp"), "index", settings)
    shared = tmp_path / "raw" / "benchmark-index.parquet"
    assert f"put it at {tmp_path}/raw/ru_hnp/benchmark-index.parquet, or for all sources at {shared}" in str(
        caught.value
    )
    shared.write_bytes(b"the index")
    for source in ("ru-hnp", "query2doc"):
        found = locate(training_source(source), "index", settings)
        assert (found.origin, found.raw.path) == ("raw-dir", shared)
    with pytest.raises(SourceError):
        locate(source_of(by_hand("benchmark-index.parquet", "Of this source alone.")), "file", settings)
