"""Card and manifest as their repository gets them."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from builders.errors import PublishError
from cards.front_matter import metadata
from cards.manifest import decode, encode
from pipelines.hub import client
from pipelines.hub.repository import OUR_KEYS, Snapshot, fetch_files, require_snapshot
from pipelines.make import BuildResult, BuildSettings, make
from tests.support.loopback_hub import WRITER, Blob, Commit, LoopbackHub, Repo
from tests.support.publishing import (
    REPO,
    Versions,
    patience,
    published_card,
)
from tests.support.raw_files import error_of
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


@pytest.mark.usefixtures("first_published")
def test_front_matter_keys_added_by_others_survive_and_our_keys_win(hub: LoopbackHub, terra: Versions) -> None:
    card = hub.tree(REPO)["README.md"].decode()
    ours = card.split("---\n")[1]
    theirs = ours.replace("license: mit", "license: gpl") + "viewer: false\nextra_gated_prompt: Будьте добры\nno: 1\n"
    hub.commit(REPO, {"README.md": f"---\r\n{theirs}---\r\nA hand-written card.".encode()})
    assert "viewer, extra_gated_prompt, False" in terra.plan("2.0.0").notes[-1]
    terra.publish("2.0.0", overwrite_card=True)
    merged = hub.tree(REPO)["README.md"].decode()
    built_card = published_card(terra.outcomes["2.0.0"]).decode()
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
@pytest.mark.usefixtures("first_published")
def test_a_card_without_valid_front_matter_is_replaced(hub: LoopbackHub, terra: Versions, card: bytes) -> None:
    hub.commit(REPO, {"README.md": card})
    terra.publish("2.0.0", overwrite_card=True)
    assert hub.tree(REPO)["README.md"] == published_card(terra.outcomes["2.0.0"])


@pytest.mark.parametrize("name", NAMES)
def test_our_keys_include_every_front_matter_key_we_write(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert set(metadata(definition_of(name), golden_release(name).manifest)) <= OUR_KEYS


def test_a_release_from_before_digests_of_documents_is_published_with_its_manifest_unchanged(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    outcome = make(terra.dataset, "1.0.0", settings)
    old = encode(replace(outcome.manifest, format=1, documents=()))
    (outcome.release_dir / "manifest.json").write_bytes(old)
    terra.publish(outcome)
    assert hub.tree(REPO, "v1.0.0")["manifest.json"] == old
    assert hub.tree(REPO, "v1.0.0")["README.md"] == published_card(outcome)


def make_without_croissant(terra: Versions, version: str, settings: BuildSettings) -> BuildResult:
    """A release as those from before croissant.json."""
    old = make(terra.dataset, version, settings)
    documents = tuple(document for document in old.manifest.documents if document.path != "croissant.json")
    (old.release_dir / "manifest.json").write_bytes(encode(replace(old.manifest, documents=documents)))
    (old.release_dir / "croissant.json").unlink()
    return old


@pytest.mark.usefixtures("first_published")
def test_a_version_without_croissant_does_not_keep_that_of_the_version_before(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    assert hub.tree(REPO)["croissant.json"] == (terra.outcomes["1.0.0"].release_dir / "croissant.json").read_bytes()
    old = make_without_croissant(terra, "2.0.0", settings)
    assert terra.publish(old).state == "published"
    assert "croissant.json" not in hub.tree(REPO)
    assert terra.publish(old).state == "already published"


def test_a_croissant_of_somebody_else_is_replaced_and_the_plan_says_so(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    terra.publish(make_without_croissant(terra, "1.0.0", settings))
    assert "croissant.json" not in hub.tree(REPO)
    hub.commit(REPO, {"croissant.json": b"{}"})
    assert "croissant.json on main is somebody else's: it is replaced" in terra.plan("2.0.0").notes


@pytest.mark.usefixtures("first_published")
def test_a_card_edited_on_the_hub_does_not_keep_the_next_version_from_being_compared(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.repos[REPO].tags["v1.0.0"] = hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"] + b"thanks\n"})
    planned = terra.plan("2.0.0")
    assert [change.state for change in planned.changes] == ["changed"]
    assert terra.publish("1.0.0").state == "already published"


@pytest.mark.parametrize("commit", ["../../outside", "main", "0" * 39, "0" * 40 + "/.."])
def test_what_the_hub_calls_a_commit_names_no_folder(hub: LoopbackHub, tmp_path: Path, commit: str) -> None:
    connection = client.connect(endpoint=hub.url)
    assert "the Hub names no commit" in str(
        error_of(fetch_files, connection, REPO, Snapshot(commit, False, {}), ["train.jsonl"], tmp_path / "cache")
    )
    assert not list(tmp_path.rglob("*")), "nothing is written, in the cache or beside it"
