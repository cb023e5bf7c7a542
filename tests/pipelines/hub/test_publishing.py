"""Publishing to a Hub: commit, verify and tag. After any failure, main and the tags still hold complete releases."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import logging
import re
import shutil
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import yaml

from builders.errors import FindingsError, PublishError, ReleaseError, SourceError, UsageError
from builders.spec import Tables, Version
from cards.front_matter import metadata
from cards.manifest import Document, Finding, decode, encode
from pipelines.hub import client, publishing, repository
from pipelines.hub.planning import Plan, PublishOptions, make_plan
from pipelines.hub.published_files import OUR_KEYS
from pipelines.make import make
from pipelines.raw.download import Patience
from pipelines.release import folder, ledger, parquet
from pipelines.release.ledger import LedgerEntry, LedgerTable
from tests.support.loopback_hub import READER, WRITER, Blob, Fault, LoopbackHub
from tests.support.processes import checkout, environment
from tests.support.releases import NAMES, as_full, definition_of, other_golden, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from builders.catalogue import Definition
    from pipelines.make import BuildResult, BuildSettings

    Frames = dict[str, dict[str, pl.DataFrame]]

TERRA, RUBQ = "terra-pairclassification", "rubq-retrieval"
REPO = f"org/{TERRA}"
# huggingface_hub uploads with an argument that httpx has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Put huggingface_hub online, without Xet, telemetry, login or real sleeps; return the list of its waiting times."""
    from huggingface_hub import constants, file_download
    from huggingface_hub.utils import _http

    waits: list[float] = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    for module in (file_download, _http):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=waits.append))
    return waits


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub() as server:
        yield server


def patience(waits: list[float] | None = None, *, retries: int = 3, read: float = 0.2) -> Patience:
    """Short timeouts and few retries, without real sleeps."""
    return Patience(retries=retries, read=read, connect=5, sleep=(waits if waits is not None else []).append)


def two_versions(name: str, second: Callable[[Frames], Frames]) -> Definition:
    """Return a catalogue dataset with two versions: `second` turns the tables of 1.0.0 into those of 2.0.0."""
    original = definition_of(name).dataset
    parameters = inspect.signature(original.recipe).parameters.values()

    @functools.wraps(original.recipe)
    def recipe(raw: Any, *, edition: int = 1, **options: Any) -> Tables:
        tables = original.recipe(raw, **options)
        frames = {
            config: {split: frame.lazy().collect() for split, frame in splits.items()}
            for config, splits in tables.frames.items()
        }
        return replace(tables, frames=frames if edition == 1 else second(frames))

    parameter = inspect.Parameter("edition", inspect.Parameter.KEYWORD_ONLY, default=1)
    recipe.__signature__ = inspect.Signature([*parameters, parameter])  # type: ignore[attr-defined]
    versions = {"1.0.0": Version("As in the paper."), "2.0.0": Version("One row corrected.", {"edition": 2})}
    return replace(definition_of(name), dataset=replace(original, recipe=recipe, versions=versions))


def changed_pairs(frames: Frames) -> Frames:
    """Drop the first row of TERRa and change the last hypothesis."""
    dev = frames["default"]["dev"]
    last = pl.int_range(pl.len()) == pl.len() - 1
    text = pl.when(last).then(pl.lit("Совсем другая гипотеза.")).otherwise("sentence2").alias("sentence2")
    return {"default": {"dev": dev.with_columns(text).slice(1)}}


def changed_corpus(frames: Frames) -> Frames:
    """Change one document of RuBQ, remove one and add one."""
    corpus = frames["corpus"]["test"].filter(pl.col("id") != "1503")
    text = pl.when(pl.col("id") == "10").then(pl.lit("Мундштука нет.")).otherwise("text").alias("text")
    added = pl.DataFrame({"id": ["2000"], "title": [""], "text": ["Новый абзац."]})
    return frames | {"corpus": {"test": pl.concat([corpus.with_columns(text), added])}}


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Definition, dict[str, BuildResult]]]:
    """A function that returns both versions of a dataset, built once: 1.0.0 in several shards, 2.0.0 in one."""
    folder, releases = tmp_path_factory.mktemp("versions"), dict[str, tuple[Any, dict[str, Any]]]()

    def build(name: str = TERRA) -> tuple[Definition, dict[str, BuildResult]]:
        if name not in releases:
            dataset = two_versions(name, changed_pairs if name == TERRA else changed_corpus)
            settings = sample_settings(folder)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(parquet, "ROW_GROUP_ROWS", 7)
                patch.setattr(parquet, "SHARD_BYTES", 10)
                first = make(dataset, "1.0.0", settings)
            releases[name] = (dataset, {"1.0.0": first, "2.0.0": make(dataset, "2.0.0", settings)})
        return releases[name]

    return build


@pytest.fixture
def options(tmp_path: Path) -> PublishOptions:
    """Publishing options that allow golden samples, which only these tests publish."""
    return PublishOptions("org", tmp_path / "cache", ledger=tmp_path / "ledger.json", sample=True)


def publish(
    hub: LoopbackHub,
    dataset: Definition,
    outcome: BuildResult,
    options: PublishOptions,
    *,
    token: str = WRITER,
    **timeouts: Any,
) -> publishing.Publication:
    connection = publishing.login(endpoint=hub.url, token=token, patience=patience(**timeouts))
    return publishing.publish(dataset, outcome.release_dir, options, connection)


def plan(hub: LoopbackHub, dataset: Definition, outcome: BuildResult, options: PublishOptions) -> Plan:
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience())
    return make_plan(dataset, outcome.release_dir, options, connection)


def files_of(outcome: BuildResult) -> dict[str, bytes]:
    """Return the files of a release on disk: content by path."""
    paths = [path for path in outcome.release_dir.rglob("*") if path.is_file()]
    return {path.relative_to(outcome.release_dir).as_posix(): path.read_bytes() for path in paths}


def verified_hash(tree: dict[str, bytes]) -> str | None:
    """Assert that a tree holds exactly one complete release and return its content hash, or None for a tree without one."""
    release_files = {path for path in tree if path.endswith((".parquet", ".json"))}
    if not release_files:
        return None
    manifest = decode(tree["manifest.json"], "the Hub")
    assert release_files == {"manifest.json", "statistics.json", *(file.path for file in manifest.files)}
    for file in manifest.files:
        assert hashlib.sha256(tree[file.path]).hexdigest() == file.sha256
    assert f'revision="v{manifest.version}"' in tree["README.md"].decode()
    return manifest.content_sha256


def published_card(outcome: BuildResult, repo: str = REPO) -> bytes:
    """The card of a release as its repository gets it: with the name of the repository in the snippets."""
    card = (outcome.release_dir / "README.md").read_text("utf-8")
    placeholder = f'repo = "<organisation>/{outcome.dataset}"  # or the path of this folder\n'
    assert card.count(placeholder) == 2
    return card.replace(placeholder, f'repo = "{repo}"\n').encode()


def test_a_release_is_published_as_one_tagged_commit_with_card_and_manifest_for_its_repository(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (published.state, published.plan.repo, published.plan.tag) == ("published", REPO, "v1.0.0")
    assert published.url == f"{hub.url}/datasets/{REPO}"
    tree = hub.tree(REPO, "v1.0.0")
    assert tree.pop(".gitattributes")
    built, card = files_of(outcomes["1.0.0"]), published_card(outcomes["1.0.0"])
    manifest = outcomes["1.0.0"].manifest
    of_the_card = Document("README.md", len(card), hashlib.sha256(card).hexdigest())
    documents = (of_the_card, *manifest.documents[1:])
    assert tree == built | {"README.md": card, "manifest.json": encode(replace(manifest, documents=documents))}
    repository = hub.repos[REPO]
    assert repository.moves[1:] == [("main", published.commit), ("v1.0.0", published.commit)]
    commit = repository.commits[published.commit]
    assert commit.title == f"{TERRA} 1.0.0"
    assert outcomes["1.0.0"].manifest.content_sha256 in commit.description
    assert not repository.private
    assert all(blob.lfs == path.endswith(".parquet") for path, blob in commit.tree.items())


def test_publishing_again_changes_nothing_and_reports_it(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    first = publish(hub, dataset, outcomes["1.0.0"], options)
    hub.log.clear()
    again = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (again.state, again.commit) == ("already published", first.commit)
    assert {request.method for request in hub.log} <= {"GET", "HEAD"}


def test_a_second_version_keeps_the_first_in_its_tag_and_describes_the_changes(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases(RUBQ)
    publish(hub, dataset, outcomes["1.0.0"], options)
    published = publish(hub, dataset, outcomes["2.0.0"], options)
    assert published.plan.against == "1.0.0"
    [corpus] = [change for change in published.plan.changes if change.state != "same"]
    assert (corpus.config, corpus.key, corpus.added, corpus.removed, corpus.changed) == ("corpus", ("id",), 1, 1, 1)
    assert corpus.examples is not None
    assert corpus.examples["changed"] == [{"id": "10", "text": ["—", "Мундштука нет."]}]
    assert [row["id"] for row in corpus.examples["added"]] == ["2000"]
    repo = f"org/{RUBQ}"
    assert verified_hash(hub.tree(repo, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256
    assert verified_hash(hub.tree(repo, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(repo) == hub.tree(repo, "v2.0.0")
    card = hub.tree(repo)["README.md"].decode()
    assert "As in the paper." in card
    assert "One row corrected." in card
    description = hub.repos[repo].commits[published.commit].description
    assert "corpus/test: 1 rows added, 1 removed, 1 changed" in description
    assert "qrels/test: the same rows" in description


def test_the_commit_deletes_stale_shards_and_keeps_files_of_others(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    shards = [path for path in hub.tree(REPO) if path.endswith(".parquet")]
    assert len(shards) == 2
    foreign: dict[str, bytes | None] = {
        "figure.png": b"PNG",
        "data/notes.txt": b"mine",
        "extra/a.parquet": b"PAR1",
    }
    hub.commit(REPO, {**foreign, "data/dev-00000-of-00009.parquet": b"a shard of an older push"})
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    published = publish(hub, dataset, outcomes["2.0.0"], options)
    assert set(planned.deletes) == {*shards, "data/dev-00000-of-00009.parquet"}
    tree = hub.tree(REPO)
    assert {path for path in tree if path.startswith("data/")} == {"data/dev-00000-of-00001.parquet", "data/notes.txt"}
    assert {path: tree[path] for path in foreign} == foreign
    assert hub.repos[REPO].moves[-2:] == [("main", published.commit), ("v2.0.0", published.commit)]


def test_the_commit_deletes_the_files_of_a_removed_config(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    manifest["tables"][0] |= {"config": "old", "files": [{"path": "old/dev-0.parquet", "bytes": 4, "sha256": "0" * 64}]}
    hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode(), "old/dev-0.parquet": b"PAR1"})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert "old/dev-0.parquet" not in hub.tree(REPO)


def test_front_matter_keys_added_by_others_survive_and_our_keys_win(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    card = hub.tree(REPO)["README.md"].decode()
    ours = card.split("---\n")[1]
    theirs = ours.replace("license: mit", "license: gpl") + "viewer: false\nextra_gated_prompt: Будьте добры\nno: 1\n"
    hub.commit(REPO, {"README.md": f"---\r\n{theirs}---\r\nA hand-written card.".encode()})
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    assert "viewer, extra_gated_prompt, False" in planned.notes[-1]
    publish(hub, dataset, outcomes["2.0.0"], options)
    merged = hub.tree(REPO)["README.md"].decode()
    built_card = published_card(outcomes["2.0.0"]).decode()
    head, body = (yaml.safe_load(merged.split("---\n")[1]), merged.split("---\n", 2)[2])
    assert head == yaml.safe_load(built_card.split("---\n")[1]) | {
        "viewer": False, "extra_gated_prompt": "Будьте добры", False: 1
    }  # fmt: skip
    assert body == built_card.split("---\n", 2)[2]
    [card, _] = decode(hub.tree(REPO)["manifest.json"], "the Hub").documents
    assert card.sha256 == hashlib.sha256(merged.encode()).hexdigest(), "the digest is that of the published card"


@pytest.mark.parametrize(
    "card", [b"", b"no front matter", b"---\n[broken\n---\n", b"---\n- a list\n---\n", b"\xff\xfe"]
)
def test_a_card_without_valid_front_matter_is_replaced(
    hub: LoopbackHub, options: PublishOptions, releases: Any, card: bytes
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.commit(REPO, {"README.md": card})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert hub.tree(REPO)["README.md"] == published_card(outcomes["2.0.0"])


@pytest.mark.parametrize("name", NAMES)
def test_our_keys_include_every_front_matter_key_we_write(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert set(metadata(definition_of(name), golden_release(name).manifest)) <= OUR_KEYS


def test_a_tag_never_moves(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    before = hub.state()[0]
    other = make(dataset, "1.0.0", replace(settings, golden=other_golden(tmp_path / "golden")))
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.exit_code == 5
    assert "default/dev: other rows" in str(caught.value)
    assert "new version" in str(caught.value)
    assert hub.state()[0] == before


def test_the_same_rows_in_different_files_count_as_already_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    unsharded = make(dataset, "1.0.0", settings)
    assert unsharded.manifest.files != outcomes["1.0.0"].manifest.files
    assert publish(hub, dataset, unsharded, options).state == "already published"


def test_a_manifest_on_the_hub_is_verified_against_its_rows(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    unsharded = make(dataset, "1.0.0", settings)
    repository = hub.repos[REPO]
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    assert hub.tree(REPO)[manifest["tables"][0]["files"][0]["path"]]
    manifest["tables"][0]["files"] = manifest["tables"][0]["files"][:1]
    repository.tags["v1.0.0"] = hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(PublishError, match="not those of their manifest") as caught:
        publish(hub, dataset, unsharded, options)
    assert "other rows than the manifest's" in str(caught.value)


def test_an_edited_card_is_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, _ = releases()
    outcome = make(dataset, "1.0.0", settings)
    card = outcome.release_dir / "README.md"
    card.write_text(card.read_text("utf-8") + "one more sentence\n", "utf-8")
    with pytest.raises(PublishError, match="the release is damaged") as caught:
        publish(hub, dataset, outcome, options)
    assert "README.md was edited after the build" in str(caught.value)
    assert "--force" in str(caught.value)
    assert hub.repos == {}


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


def test_a_card_edited_on_the_hub_does_not_keep_the_next_version_from_being_compared(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    edited = hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"] + b"thanks\n"})
    hub.repos[REPO].tags["v1.0.0"] = edited
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    assert [change.state for change in planned.changes] == ["changed"]
    assert publish(hub, dataset, outcomes["1.0.0"], options).state == "already published"


def test_an_older_version_does_not_replace_a_newer_one(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    with pytest.raises(PublishError, match="a newer version is published") as caught:
        publish(hub, dataset, outcomes["1.0.0"], options)
    assert caught.value.found == "2.0.0"


def test_a_repository_of_another_dataset_is_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    publish(hub, *_first(releases()), replace(options, repo_name="shared"))
    with pytest.raises(PublishError, match="another dataset"):
        publish(hub, *_first(releases(RUBQ)), replace(options, repo_name="shared"))


def _first(release: Any) -> tuple[Definition, BuildResult]:
    return release[0], release[1]["1.0.0"]


def test_a_repository_without_a_release_of_ours_can_be_published_to(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    publishing.login(endpoint=hub.url, token=WRITER).api.create_repo(REPO, repo_type="dataset")
    hub.commit(REPO, {"data/dev-00000-of-00001.parquet": b"PAR1", "manifest.json": b"[]"})
    publish(hub, *_first(releases()), options)
    assert verified_hash(hub.tree(REPO)) == verified_hash(hub.tree(REPO, "v1.0.0"))


def test_a_private_publication_never_becomes_public(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    private = replace(options, private=True)
    publish(hub, dataset, outcomes["1.0.0"], private)
    assert hub.repos[REPO].private
    publish(hub, dataset, outcomes["2.0.0"], private)
    hub.repos[REPO].private = False
    with pytest.raises(PublishError, match="the repository is public"):
        publish(hub, dataset, outcomes["2.0.0"], private)


def test_repository_name_and_commit_message_can_be_set(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    published = publish(hub, *_first(releases()), replace(options, org="other", repo_name="terra", message="Hello."))
    assert hub.repos["other/terra"].commits[published.commit].title == "Hello."
    with pytest.raises(UsageError, match="invalid repository name"):
        publish(hub, *_first(releases()), replace(options, org="a/b"))


def test_a_pull_request_does_not_change_main_and_is_tagged_after_its_merge(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    opened = publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True))
    assert opened.state == "pull request opened"
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    repository = hub.repos[REPO]
    assert verified_hash(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256
    assert set(repository.tags) == {"v1.0.0"}
    repository.branches["main"] = repository.branches["refs/pr/1"]
    assert publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True)).state == "published"
    assert repository.tags["v2.0.0"] == opened.commit


def test_a_gitignore_in_the_repository_excludes_no_file(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.commit(REPO, {".gitignore": b"*.parquet\nmanifest.json\n"})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert verified_hash(hub.tree(REPO)) == outcomes["2.0.0"].manifest.content_sha256


def test_a_build_waits_while_its_release_is_being_published(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings
) -> None:
    outcome = make(definition_of(TERRA), "1.0.0", settings)

    def interrupt(record: logging.LogRecord) -> bool:
        raise InterruptedError(record.getMessage())

    def build() -> None:
        with pytest.raises(InterruptedError, match="waiting for another command that is writing it"):
            make(definition_of(TERRA), "1.0.0", replace(settings, force=True))

    logger = logging.getLogger("pipelines.files")
    logger.addFilter(interrupt)
    try:
        hub.before_answer["/commit/main"] = build
        publish(hub, definition_of(TERRA), outcome, options)
    finally:
        logger.removeFilter(interrupt)
    assert "/commit/main" not in hub.before_answer, "the build did not run"


@pytest.mark.parametrize("mark", ["sample", "partial"])
def test_samples_and_partial_releases_are_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, mark: str, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    marked = with_manifest(outcome, tmp_path, **{mark: True})
    with pytest.raises(PublishError, match="is never published"):
        publish(hub, dataset, marked, replace(options, sample=False))
    assert hub.repos == {}


def with_manifest(outcome: BuildResult, tmp_path: Path, **changes: Any) -> BuildResult:
    """Copy a release, changing its manifest; the copy is not marked as a sample."""
    release_dir = tmp_path / "changed" / outcome.version
    shutil.copytree(outcome.release_dir, release_dir)
    manifest = replace(outcome.manifest, **({"sample": False} | changes))
    (release_dir / "manifest.json").write_bytes(encode(manifest))
    return replace(outcome, release_dir=release_dir, manifest=manifest)


def test_a_no_derivatives_licence_requires_a_confirmation_of_the_rights(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcome = _first(releases())
    source = replace(dataset.source, license="cc-by-nc-nd-4.0", license_note="News texts belong to their agency.")
    with pytest.raises(
        PublishError, match=r"licence cc-by-nc-nd-4\.0 does not permit publishing derivatives"
    ) as caught:
        publish(hub, replace(dataset, source=source), outcome, options)
    assert "--i-have-the-rights" in str(caught.value)
    assert "belong to their agency" in str(caught.value)
    assert publish(hub, replace(dataset, source=source), outcome, replace(options, rights=True)).state == "published"


def test_a_damaged_release_is_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    copy = with_manifest(outcome, tmp_path)
    (copy.release_dir / "data" / "dev-00000-of-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(PublishError, match="the release is damaged") as caught:
        publish(hub, dataset, copy, options)
    assert "dev-00000-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos == {}


def test_blocking_defects_prevent_publishing_with_their_own_exit_code(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    defect = Finding("null_text", "error", "default", "dev", "sentence1", count=1, share=0.1)
    findings = (*outcome.manifest.findings, defect)
    with pytest.raises(FindingsError, match="defects in the rows") as caught:
        publish(hub, dataset, with_manifest(outcome, tmp_path, findings=findings), options)
    assert caught.value.exit_code == 4
    assert caught.value.found == "null_text"


def test_the_error_for_a_missing_release_shows_the_build_command(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    with pytest.raises(PublishError, match="no release to publish") as caught:
        publish(hub, dataset, replace(outcome, release_dir=tmp_path / "1.0.0"), options)
    assert f"python -m pipelines.build {TERRA}@1.0.0" in str(caught.value)


def test_a_missing_token_is_an_error_that_names_hf_token(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PublishError, match="no token to publish with") as caught:
        publishing.login(endpoint=hub.url)
    assert "HF_TOKEN" in str(caught.value)
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
    with pytest.raises(PublishError, match="connections to the Hub are disabled"):
        publishing.login(token=WRITER)
    with pytest.raises(SourceError, match="connections to the Hub are disabled"):
        client.connect()


def test_the_error_for_a_foreign_namespace_names_the_repository(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience())
    hub.fail(1, Fault(status=403))
    with pytest.raises(PublishError, match="committing failed") as caught:
        publishing.publish(*_first_dir(releases()), options, connection)
    assert f"a token that may write to {REPO}" in str(caught.value)


def _first_dir(release: Any) -> tuple[Definition, Path]:
    return release[0], release[1]["1.0.0"].release_dir


def test_waiting_times_follow_the_server_up_to_a_limit(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waits))
    for headers, seconds in (
        ({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({"Retry-After": "86400"}, 300), ({}, 1)
    ):  # fmt: skip
        hub.fail(0, Fault(status=429, headers=headers))
        assert repository.snapshot(connection, "org/nothing") is None
        assert waits.pop() == seconds
    hub.fail(0, Fault(status=503), always=True)
    with pytest.raises(PublishError, match="run the command again later"):
        repository.snapshot(connection, "org/nothing")
    assert waits == [1, 2, 4]


def test_a_concurrent_commit_is_included_in_a_new_plan_and_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    card = hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)
    hub.before_answer["/commit/main"] = lambda: hub.commit(REPO, {"README.md": card, "figure.png": b"PNG"})
    assert publish(hub, dataset, outcomes["2.0.0"], options).state == "published"
    assert yaml.safe_load(hub.tree(REPO)["README.md"].decode().split("---\n")[1])["viewer"] is False
    assert hub.tree(REPO)["figure.png"] == b"PNG"
    assert [request.status for request in hub.log if "/commit/" in request.path][-2:] == [412, 200]


def test_endless_concurrent_commits_end_in_an_error(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)

    def commit_again() -> None:
        hub.commit(REPO, {"figure.png": str(len(hub.repos[REPO].commits)).encode()})
        hub.before_answer["/commit/main"] = commit_again

    commit_again()
    with pytest.raises(PublishError, match="412") as caught:
        publish(hub, dataset, outcomes["2.0.0"], options)
    assert "somebody else commits" in str(caught.value)
    assert verified_hash(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256


def copy_release(outcome: BuildResult, tmp_path: Path) -> BuildResult:
    """Copy a release to another folder, as on another machine."""
    release_dir = tmp_path / "copy" / outcome.dataset / outcome.version
    shutil.copytree(outcome.release_dir, release_dir)
    return replace(outcome, release_dir=release_dir)


def test_of_two_publishers_with_different_rows_one_succeeds_and_the_other_fails(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.before_answer["/commit/main"] = lambda: publish(hub, dataset, outcomes["2.0.0"], options)
    with pytest.raises(PublishError, match="published with other content"):
        publish(hub, dataset, other, replace(options, cache=tmp_path / "another"), read=10.0)
    assert verified_hash(hub.tree(REPO, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(REPO) == hub.tree(REPO, "v2.0.0")


def test_an_untagged_commit_of_another_publisher_is_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["2.0.0"], options)
    del hub.repos[REPO].tags["v2.0.0"]
    before = hub.state()[0]
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.where == f"{REPO} at main"
    assert hub.state()[0] == before


@pytest.mark.parametrize("path", ["/commit/main", "/tag/"])
def test_two_publishers_of_the_same_rows_both_succeed(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, path: str
) -> None:
    dataset, outcomes = releases()
    states: list[str] = []
    theirs = copy_release(outcomes["1.0.0"], tmp_path)
    hub.before_answer[path] = lambda: states.append(publish(hub, dataset, theirs, options).state)
    states.append(
        publish(hub, dataset, outcomes["1.0.0"], replace(options, cache=tmp_path / "another"), read=10.0).state
    )
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    assert [ref for ref, _ in hub.repos[REPO].moves] == ["main", "main", "v1.0.0"]


def test_concurrent_publishers_of_different_versions_leave_complete_releases(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    outcomes = outcomes | {"2.0.0": copy_release(outcomes["2.0.0"], tmp_path)}
    results: dict[str, object] = {}

    def run(version: str) -> None:
        try:
            run_options = replace(options, cache=tmp_path / version)
            results[version] = publish(hub, dataset, outcomes[version], run_options, read=10.0).state
        except PublishError as error:
            results[version] = error

    threads = [threading.Thread(target=run, args=(version,)) for version in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results["2.0.0"] == "published"
    assert results["1.0.0"] == "published" or "a newer version is published" in str(results["1.0.0"])
    assert_complete_releases(hub, outcomes)


def test_a_commit_that_fails_verification_is_not_tagged_and_the_next_run_repairs_it(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()

    def corrupt() -> None:
        repository = hub.repos[REPO]
        sha = repository.branches["main"]
        damaged = repository.commits[sha].tree | {"data/dev-00001-of-00002.parquet": Blob(b"PAR1", lfs=True)}
        repository.commits[sha] = replace(repository.commits[sha], tree=damaged)

    hub.before_answer["/resolve/"] = corrupt
    with pytest.raises(PublishError, match="does not read back") as caught:
        publish(hub, dataset, outcomes["1.0.0"], options)
    assert "data/dev-00001-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos[REPO].tags == {}
    again = publish(hub, dataset, outcomes["1.0.0"], options)
    assert again.plan.notes[-1] == "main holds a damaged copy of this release: it is written again"
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256


FAULTS = {
    "the request is cut": Fault(cut_request=10),
    "the answer is cut": Fault(cut_answer=150),
    "429": Fault(status=429, headers={"Retry-After": "3"}),
    "500 after execution": Fault(status=500, executed=True),
    "412": Fault(status=412),
    "a stall after execution": Fault(stall=True, executed=True),
}
CASES = [*(("2.0.0", fault) for fault in FAULTS), ("1.0.0", "the answer is cut")]


def assert_complete_releases(hub: LoopbackHub, outcomes: dict[str, BuildResult]) -> None:
    """Assert that every commit of main and of each tag held a complete release, or none (main, at first)."""
    repository = hub.repos.get(REPO)
    hashes = {f"v{version}": outcome.manifest.content_sha256 for version, outcome in outcomes.items()}
    for ref, sha in repository.moves if repository else ():
        content = verified_hash(hub.tree(REPO, sha))
        assert content == hashes[ref] if ref in hashes else content in {None, *hashes.values()}


def each_request(
    hub: LoopbackHub, options: PublishOptions, release: tuple[Definition, dict[str, BuildResult]], version: str
) -> Iterator[tuple[int, PublishOptions]]:
    """Yield the number of each request that publishing a version sends, and options to publish with, on a restored Hub.

    The cache already holds the older version; the remaining downloads are enough for these tests.
    """
    dataset, outcomes = release
    options.cache.mkdir()
    if version == "2.0.0":
        publish(hub, dataset, outcomes["1.0.0"], options)
    before = hub.state()

    def restore(name: str) -> PublishOptions:
        hub.restore(before)
        cache = options.cache.with_name(name)
        shutil.copytree(options.cache, cache)
        return replace(options, cache=cache)

    first = restore("undisturbed")
    with pytest.MonkeyPatch.context() as patch:  # long timeouts: on a loaded machine, a retry would add a request
        patch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
        publish(hub, dataset, outcomes[version], first, read=10.0)
    for number in range(len(hub.log)):
        yield number, restore(str(number))


@pytest.mark.parametrize(("version", "fault"), CASES)
def test_after_a_fault_at_any_request_the_hub_holds_complete_releases_and_the_next_run_finishes(
    hub: LoopbackHub, options: PublishOptions, releases: Any, version: str, fault: str
) -> None:
    dataset, outcomes = releases()
    for number, run_options in each_request(hub, options, (dataset, outcomes), version):
        hub.fail(number, FAULTS[fault])
        with suppress(PublishError) if fault == "412" else nullcontext():  # the other faults pass, and retries succeed
            publish(hub, dataset, outcomes[version], run_options)
        assert_complete_releases(hub, outcomes)
        hub.stop_failing()
        publish(hub, dataset, outcomes[version], run_options)
        assert_published(hub, outcomes, version)


def assert_published(hub: LoopbackHub, outcomes: dict[str, BuildResult], version: str) -> None:
    """Assert that main and the tag hold the version, by a single commit."""
    assert_complete_releases(hub, outcomes)
    repository = hub.repos[REPO]
    assert repository.tags[f"v{version}"] == repository.branches["main"]
    assert sum(ref == "main" for ref, _ in repository.moves) == (2 if version == "1.0.0" else 3)


def test_a_hub_that_disconnects_at_any_request_is_an_error_and_the_next_run_finishes(
    hub: LoopbackHub, options: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
    (dataset, outcomes), version = releases(), "2.0.0"
    for number, run_options in each_request(hub, options, (dataset, outcomes), version):
        hub.fail(number, Fault(cut_request=0), always=True)
        with pytest.raises(PublishError) as caught:
            publish(hub, dataset, outcomes[version], run_options, retries=1, read=10.0)
        assert caught.value.todo == "run the command again later"
        assert_complete_releases(hub, outcomes)
        hub.stop_failing()
        assert publish(hub, dataset, outcomes[version], run_options).state == "published"
        assert_published(hub, outcomes, version)


def test_a_lost_answer_leaves_it_unknown_whether_the_pull_request_was_opened(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)

    def lose_answer() -> None:
        hub.fail(0, Fault(cut_answer=0))

    hub.before_answer["/api/validate-yaml"] = lose_answer
    with pytest.raises(PublishError, match="not known whether the pull request was opened") as caught:
        publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True))
    assert caught.value.where == f"{hub.url}/datasets/{REPO}/discussions"


def publish_complete(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[BuildSettings, BuildResult]:
    """Build TERRa as if from complete raw files, and publish it."""
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    return full, outcome


def test_a_version_recorded_as_published_is_not_replaced_even_with_force(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, outcome = publish_complete(hub, options, settings, tmp_path, monkeypatch)
    entry = json.loads(settings.ledger.read_text())[TERRA]["1.0.0"]
    assert entry["published"] == [REPO]
    assert ledger.find_entry(TERRA, "1.0.0", settings.ledger) == replace(
        ledger.ledger_entry(outcome.manifest),
        published=(REPO,),  # type: ignore[type-var]
    )
    again = make(definition_of(TERRA), "1.0.0", replace(full, force=True))
    assert again.manifest.content_sha256 == outcome.manifest.content_sha256
    assert json.loads(settings.ledger.read_text())[TERRA]["1.0.0"] == entry, "a new build must not change the entry"
    changed = as_full(replace(full, golden=other_golden(tmp_path / "golden")), tmp_path, monkeypatch)
    for force in (False, True):
        with pytest.raises(ReleaseError, match="would get other rows than before") as caught:
            make(definition_of(TERRA), "1.0.0", replace(changed, force=force))
        assert caught.value.where == f"published as {REPO}"
        assert "--force" not in str(caught.value)
    assert folder.read_manifest(outcome.release_dir) == again.manifest


def test_rows_that_differ_from_the_ledger_are_not_published(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    entries = json.loads(settings.ledger.read_text())
    entries[TERRA]["1.0.0"]["content_sha256"] = "0" * 64
    settings.ledger.write_text(json.dumps(entries))
    with pytest.raises(PublishError, match="not those in the ledger"):
        publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    assert hub.repos == {}


def test_a_version_from_unverified_files_carries_a_note_and_enters_the_ledger_when_published(
    options: PublishOptions, releases: Any, tmp_path: Path, hub: LoopbackHub
) -> None:
    dataset, outcome = _first(releases())
    complete = with_manifest(outcome, tmp_path)
    assert ledger.ledger_entry(complete.manifest) is None
    published = publish(hub, dataset, complete, replace(options, sample=False))
    assert published.plan.notes == ("unverified raw file: val.jsonl",)
    manifest = outcome.manifest
    tables = [LedgerTable(table.config, table.split, table.rows, table.content_sha256) for table in manifest.tables]
    assert ledger.find_entry(TERRA, "1.0.0", options.ledger) == LedgerEntry(
        manifest.content_sha256, tuple(tables), {"val.jsonl": manifest.raw[0].sha256}, (REPO,)
    )


# os._exit skips the interpreter teardown, in which pyarrow threads may abort after streaming (huggingface/datasets#7566).
LOADER = """
import json, os, sys
import datasets
repo, *arguments = sys.argv[1:]
for argument in arguments:
    config, split, revision = argument.split()
    whole = datasets.load_dataset(repo, config, split=split, revision=revision).to_list()
    streamed = list(datasets.load_dataset(repo, config, split=split, revision=revision, streaming=True))
    print(json.dumps([whole, streamed]), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_datasets_loads_each_version_by_tag_as_a_whole_and_streaming(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, name: str
) -> None:
    dataset, outcomes = releases(name)
    for outcome in outcomes.values():
        publish(hub, dataset, outcome, options)
    tables = [(table.config, table.split) for table in outcomes["1.0.0"].manifest.tables]
    loads = [(config, split, version) for version in outcomes for config, split in tables]
    process = subprocess.run(
        [sys.executable, "-c", LOADER, f"org/{name}", *(f"{config} {split} v{version}" for config, split, version in loads)],
        env=environment(hub, tmp_path), capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert len(lines) == len(loads)
    for line, (config, split, version) in zip(lines, loads, strict=True):
        frames = folder.scan_tables(outcomes[version].release_dir, outcomes[version].manifest.tables)
        rows = frames[config][split].collect().to_dicts()
        assert json.loads(line) == [rows, rows]


@pytest.fixture(scope="module")
def checkout_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate checkout with an empty ledger, in which the golden sample of TERRa passes for the complete real files."""
    folder = checkout(tmp_path_factory.mktemp("repository"))
    builder = folder / "builders" / "rumteb" / "terra.py"
    raw = folder / "tests" / "golden" / "terra" / "raw" / "val.jsonl"
    digest = hashlib.sha256(raw.read_bytes()).hexdigest()
    text, pins = re.subn(r'"[0-9a-f]{64}"', f'"{digest}"', builder.read_text("utf-8"))
    assert pins == 2
    assert "known=(PREMISES,)" in text
    # The known findings of the real file do not apply to the golden sample.
    text = text.replace("known=(PREMISES,)", "known=()")
    builder.write_text(re.sub(r"bytes=[\d_]+", f"bytes={raw.stat().st_size}", text), "utf-8")
    (folder / "pipelines" / "ledger.json").write_text("{}")
    (folder / "raw").mkdir()
    shutil.copytree(raw.parent, folder / "raw" / "terra")
    return folder


def test_publish_check_and_diff_work_as_commands(hub: LoopbackHub, checkout_dir: Path, tmp_path: Path) -> None:
    def run(command: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        process = subprocess.run(
            [sys.executable, "-m", f"pipelines.{command}", *arguments], cwd=checkout_dir, stdin=subprocess.DEVNULL,
            env=environment(hub, tmp_path, PYTHONPATH=str(checkout_dir), PYTHONDONTWRITEBYTECODE="1", **variables),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert WRITER not in process.stdout + process.stderr
        assert "Traceback" not in process.stderr
        return process

    raw = ["--raw-dir", "raw", "--offline"]
    refused = run("build", "terra", *raw, "--push", "org", HF_TOKEN=READER)
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "the token can only read" in refused.stderr
    assert not (checkout_dir / "outputs" / TERRA).exists(), "the token must be checked before the build"
    assert run("build", "terra", *raw).returncode == 0
    planned = run("publish", "terra", "--org", "org", "--dry-run", HF_TOKEN="")
    assert planned.returncode == 0, planned.stderr
    assert "to be published" in planned.stdout
    assert f"as        {REPO} (to be created), tag v1.0.0" in planned.stdout
    assert "+ data/dev-00000-of-00001.parquet" in planned.stdout
    assert hub.repos == {}

    pushed = run("build", "terra", *raw, "--push", "org", "--json")
    assert pushed.returncode == 0, pushed.stderr
    report = json.loads(pushed.stdout)["published"]
    assert (report["repo"], report["tag"], report["state"]) == (REPO, "v1.0.0", "published")
    assert hub.repos[REPO].tags == {"v1.0.0": report["commit"]}
    assert pushed.stderr == f"{TERRA}@1.0.0: recorded as published in ledger.json: commit it\n", (
        "stderr should hold no progress bars"
    )
    assert json.loads((checkout_dir / "pipelines" / "ledger.json").read_text())[TERRA]["1.0.0"]["published"] == [REPO]
    again = run("publish", "terra", "--org", "org")
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: already published" in again.stdout

    sound = run("check", f"{REPO}@v1.0.0", HF_TOKEN="")
    assert (sound.returncode, sound.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: no problems\n" in sound.stdout
    same = run("diff", f"{REPO}@v1.0.0", f"outputs/{TERRA}")
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("the same rows\n")
