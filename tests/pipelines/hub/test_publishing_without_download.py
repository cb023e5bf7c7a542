"""`publish --no-download`: the Hub's digests decide whether it holds our files, and no data file is fetched."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub import publishing, repository
from pipelines.hub.commits import Commit
from pipelines.hub.planning import Plan, PublishOptions
from pipelines.hub.repository import Snapshot, find_differences
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, TERRA, first, plan, publish, published_card


@pytest.fixture
def by_digest(options: PublishOptions) -> PublishOptions:
    return replace(options, download=False)


def data_downloads(hub: LoopbackHub) -> list[str]:
    """The data files that were requested."""
    return [request.path for request in hub.log if "/resolve/" in request.path and request.path.endswith(".parquet")]


def test_a_release_is_published_and_tagged_without_fetching_its_data(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())
    published = publish(hub, dataset, outcome, by_digest)
    assert published.state == "published"
    assert hub.repos[REPO].tags == {"v1.0.0": published.commit}
    assert data_downloads(hub) == []
    again = publish(hub, dataset, outcome, by_digest)
    assert (again.state, again.commit) == ("already published", published.commit)
    assert data_downloads(hub) == []


def test_the_next_version_is_published_without_fetching_the_one_before(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], by_digest)
    assert "not compared with v1.0.0: --no-download" in plan(hub, dataset, outcomes["2.0.0"], by_digest).notes
    assert publish(hub, dataset, outcomes["2.0.0"], by_digest).state == "published"
    assert data_downloads(hub) == []


def test_a_commit_that_was_never_tagged_is_tagged_where_all_digests_are_ours(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())
    commit = publish(hub, dataset, outcome, by_digest).commit
    del hub.repos[REPO].tags["v1.0.0"]
    hub.log.clear()
    again = publish(hub, dataset, outcome, by_digest)
    assert (again.state, again.commit, hub.repos[REPO].tags) == ("published", commit, {"v1.0.0": commit})
    assert data_downloads(hub) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"data/dev-00000-of-00002.parquet": b"PAR1 other rows"},
            "data/dev-00000-of-00002.parquet: the Hub has other bytes",
        ),
        ({"data/dev-00000-of-00002.parquet": None}, "data/dev-00000-of-00002.parquet is missing"),
        ({"README.md": b"another card"}, "README.md: the Hub has other bytes"),
        ({"manifest.json": b"{}"}, "manifest.json: the Hub has other bytes"),
        ({"statistics.json": b"{}"}, "statistics.json: the Hub has other bytes"),
        ({"croissant.json": b"{}"}, "croissant.json: the Hub has other bytes"),
        (
            {"data/dev-00000-of-00009.parquet": b"PAR1"},
            "data/dev-00000-of-00009.parquet would be loaded as default/dev",
        ),
    ],
    ids=[
        "other data",
        "no data",
        "another card",
        "another manifest",
        "other statistics",
        "another croissant.json",
        "a stray file",
    ],
)
def test_a_commit_with_other_bytes_than_ours_is_not_tagged(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch,
    change: dict[str, bytes | None], words: str,
) -> None:  # fmt: skip
    dataset, outcome = first(releases())
    commit_plan = publishing.commit_plan

    def commit_then_change(*arguments: Any) -> Commit[Plan]:
        return replace(commit_plan(*arguments), sha=hub.commit(REPO, change))

    monkeypatch.setattr(publishing, "commit_plan", commit_then_change)
    with pytest.raises(PublishError, match="does not read back as the release") as caught:
        publish(hub, dataset, outcome, by_digest)
    assert words in str(caught.value.found)
    assert "without --no-download" in str(caught.value.todo)
    assert hub.repos[REPO].tags == {}


def test_a_hub_without_digests_never_gets_a_tag(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, outcome = first(releases())
    snapshot = repository.snapshot

    def without_digests(*arguments: Any) -> Snapshot | None:
        at = snapshot(*arguments)
        return at and replace(at, digests=dict.fromkeys(at.digests, ""))

    monkeypatch.setattr(repository, "snapshot", without_digests)
    with pytest.raises(PublishError) as caught:
        publish(hub, dataset, outcome, by_digest)
    assert "README.md: the Hub gives no digest of it" in str(caught.value.found)
    assert hub.repos[REPO].tags == {}


def test_a_tag_with_other_bytes_of_the_same_rows_cannot_be_confirmed_by_digests(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())
    publish(hub, dataset, outcome, options)
    other = {path: content + b" " for path, content in hub.tree(REPO).items() if path.endswith(".parquet")}
    hub.repos[REPO].tags["v1.0.0"] = hub.commit(REPO, dict(other))
    with pytest.raises(PublishError, match="digests do not tell") as caught:
        publish(hub, dataset, outcome, replace(options, download=False))
    assert caught.value.todo == "leave out --no-download"
    assert all(path in str(caught.value.found) for path in other)


def test_files_are_compared_by_sha256_in_lfs_and_by_git_blob_id_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "statistics.json"
    file.write_bytes(b"{}\n")
    sha256 = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    git_blob = "0967ef424bce6791893e9a57bb952f80fd536e93"
    for digest in (sha256, git_blob):
        at = Snapshot("a" * 40, private=False, digests={"a.json": digest, "b.json": digest})
        assert find_differences(at, {"a.json": b"{}\n", "b.json": file}, {}) == []
        assert len(find_differences(at, {"a.json": b"{} \n", "b.json": Path(__file__)}, {})) == 2


@pytest.mark.parametrize("download", [True, False])
def test_the_size_of_a_large_read_back_is_shown_before_it_begins(
    hub: LoopbackHub, options: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, download: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(publishing, "LARGE", 1000)
    dataset, outcome = first(releases())
    with caplog.at_level(logging.INFO):
        publish(hub, dataset, outcome, replace(options, download=download))
    size = sum(file.bytes for file in outcome.manifest.files)
    assert size >= 1000
    assert (f"{REPO}: fetching {size / 1000:.1f}".removesuffix(".0") in caplog.text) == download


def test_the_card_with_keys_of_others_is_compared_as_it_was_written(
    hub: LoopbackHub, by_digest: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], by_digest)
    card = hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)
    hub.commit(REPO, {"README.md": card})
    assert publish(hub, dataset, outcomes["2.0.0"], by_digest).state == "published"
    assert b"viewer: false" in hub.tree(REPO, "v2.0.0")["README.md"]
    assert hub.tree(REPO, "v2.0.0")["README.md"] != published_card(outcomes["2.0.0"])
    assert dataset.dataset.name == TERRA
