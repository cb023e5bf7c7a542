"""Card and manifest as their repository gets them."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.errors import PublishError, SourceError
from cards.front_matter import metadata
from cards.manifest import decode, encode
from pipelines.hub import client
from pipelines.hub.planning import PublishOptions
from pipelines.hub.repository import OUR_KEYS, Snapshot, fetch_files, require_snapshot
from pipelines.make import BuildResult, BuildSettings, make
from tests.support.loopback_hub import WRITER, Blob, Commit, LoopbackHub, Repo
from tests.support.publishing import (
    REPO,
    patience,
    plan,
    publish,
    published_card,
)
from tests.support.releases import NAMES, definition_of


@pytest.mark.parametrize("count", [1, 1001, 1200])
def test_the_files_of_a_large_repository_are_listed_whole(hub: LoopbackHub, count: int) -> None:
    """The Hub may cut the list that it sends with a repository; its tree is complete."""
    files = {f"many/{number:04}.txt": Blob(b"%d" % number, lfs=False) for number in range(count)}
    hub.repos[REPO] = Repo(private=False)
    hub.repos[REPO].add("main", Commit(files | {"z/last.parquet": Blob(b"PAR1", lfs=True)}, None, "mine", ""))
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience())
    at = require_snapshot(connection, REPO, "main")
    assert len(at.digests) == count + 1
    assert at.digests["many/0000.txt"] == files["many/0000.txt"].git
    assert at.digests["z/last.parquet"] == hashlib.sha256(b"PAR1").hexdigest()


def test_front_matter_keys_added_by_others_survive_and_our_keys_win(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    card = hub.tree(REPO)["README.md"].decode()
    ours = card.split("---\n")[1]
    theirs = ours.replace("license: mit", "license: gpl") + "viewer: false\nextra_gated_prompt: Будьте добры\nno: 1\n"
    hub.commit(REPO, {"README.md": f"---\r\n{theirs}---\r\nA hand-written card.".encode()})
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    assert "viewer, extra_gated_prompt, False" in planned.notes[-1]
    publish(hub, dataset, outcomes["2.0.0"], replace(options, overwrite_card=True))
    merged = hub.tree(REPO)["README.md"].decode()
    built_card = published_card(outcomes["2.0.0"]).decode()
    head, body = (yaml.safe_load(merged.split("---\n")[1]), merged.split("---\n", 2)[2])
    assert head == yaml.safe_load(built_card.split("---\n")[1]) | {
        "viewer": False, "extra_gated_prompt": "Будьте добры", False: 1
    }  # fmt: skip
    assert body == built_card.split("---\n", 2)[2]
    [card, *_] = decode(hub.tree(REPO)["manifest.json"], "the Hub").documents
    assert card.sha256 == hashlib.sha256(merged.encode()).hexdigest(), "the digest is that of the published card"


@pytest.mark.parametrize(
    "card", [b"", b"no front matter", b"---\n[broken\n---\n", b"---\n- a list\n---\n", b"\xff\xfe"]
)
def test_a_card_without_valid_front_matter_is_replaced(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, card: bytes
) -> None:
    dataset, outcomes = first_published
    hub.commit(REPO, {"README.md": card})
    publish(hub, dataset, outcomes["2.0.0"], replace(options, overwrite_card=True))
    assert hub.tree(REPO)["README.md"] == published_card(outcomes["2.0.0"])


@pytest.mark.parametrize("name", NAMES)
def test_our_keys_include_every_front_matter_key_we_write(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert set(metadata(definition_of(name), golden_release(name).manifest)) <= OUR_KEYS


def test_a_release_from_before_digests_of_documents_is_published_with_its_manifest_unchanged(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, _ = releases()
    outcome = make(dataset, "1.0.0", settings)
    old = encode(replace(outcome.manifest, format=1, documents=()))
    (outcome.release_dir / "manifest.json").write_bytes(old)
    publish(hub, dataset, outcome, options)
    assert hub.tree(REPO, "v1.0.0")["manifest.json"] == old
    assert hub.tree(REPO, "v1.0.0")["README.md"] == published_card(outcome)


def test_a_version_without_croissant_does_not_keep_that_of_the_version_before(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = first_published
    assert hub.tree(REPO)["croissant.json"] == (outcomes["1.0.0"].release_dir / "croissant.json").read_bytes()
    old = make(dataset, "2.0.0", settings)
    documents = tuple(document for document in old.manifest.documents if document.path != "croissant.json")
    (old.release_dir / "manifest.json").write_bytes(encode(replace(old.manifest, documents=documents)))
    (old.release_dir / "croissant.json").unlink()
    assert publish(hub, dataset, old, options).state == "published"
    assert "croissant.json" not in hub.tree(REPO)
    assert publish(hub, dataset, old, options).state == "already published"


def test_a_croissant_of_somebody_else_is_replaced_and_the_plan_says_so(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    old = make(dataset, "1.0.0", settings)
    documents = tuple(document for document in old.manifest.documents if document.path != "croissant.json")
    (old.release_dir / "manifest.json").write_bytes(encode(replace(old.manifest, documents=documents)))
    publish(hub, dataset, old, options)
    assert "croissant.json" not in hub.tree(REPO)
    hub.commit(REPO, {"croissant.json": b"{}"})
    notes = plan(hub, dataset, outcomes["2.0.0"], options).notes
    assert "croissant.json on main is somebody else's: it is replaced" in notes


def test_an_edited_croissant_is_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    outcome = make(releases()[0], "1.0.0", settings)
    (outcome.release_dir / "croissant.json").write_text("{}")
    with pytest.raises(PublishError, match="damaged") as caught:
        publish(hub, releases()[0], outcome, options)
    assert "croissant.json was edited after the build" in str(caught.value)
    assert not hub.repos


def test_a_card_edited_on_the_hub_does_not_keep_the_next_version_from_being_compared(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    edited = hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"] + b"thanks\n"})
    hub.repos[REPO].tags["v1.0.0"] = edited
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    assert [change.state for change in planned.changes] == ["changed"]
    assert publish(hub, dataset, outcomes["1.0.0"], options).state == "already published"


@pytest.mark.parametrize("commit", ["../../outside", "main", "0" * 39, "0" * 40 + "/.."])
def test_what_the_hub_calls_a_commit_names_no_folder(hub: LoopbackHub, tmp_path: Path, commit: str) -> None:
    connection = client.connect(endpoint=hub.url)
    with pytest.raises(SourceError, match="the Hub names no commit"):
        fetch_files(connection, REPO, Snapshot(commit, False, {}), ["train.jsonl"], tmp_path / "cache")
    assert not list(tmp_path.rglob("*")), "nothing is written, in the cache or beside it"
