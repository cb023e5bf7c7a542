"""Publishing to a Hub: one commit, read back, tagged; whatever fails, main and the tags show whole releases."""

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
from cards.manifest import Finding, decode, encode
from pipelines.hub import client, publishing, repository
from pipelines.hub.planning import OUR_KEYS, Plan, PublishOptions, make_plan
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
# The Hub's library uploads in a way that its HTTP library calls old.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The Hub's library as it is outside these tests, but without Xet, telemetry or a login, and in no hurry; what it waited."""
    from huggingface_hub import constants, file_download
    from huggingface_hub.utils import _http

    waited: list[float] = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    for module in (file_download, _http):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub() as served:
        yield served


def patience(waited: list[float] | None = None, *, retries: int = 3, read: float = 0.2) -> Patience:
    """Little patience, that does not really wait."""
    return Patience(retries=retries, read=read, connect=5, sleep=(waited if waited is not None else []).append)


def editions(name: str, second: Callable[[Frames], Frames]) -> Definition:
    """A dataset of the catalogue in two versions: 2.0.0 has what `second` makes of the tables of 1.0.0."""
    original = definition_of(name).dataset
    parameters = inspect.signature(original.recipe).parameters.values()

    @functools.wraps(original.recipe)
    def recipe(raw: Any, *, edition: int = 1, **options: Any) -> Tables:
        made = original.recipe(raw, **options)
        frames = {
            config: {split: frame.lazy().collect() for split, frame in splits.items()}
            for config, splits in made.frames.items()
        }
        return replace(made, frames=frames if edition == 1 else second(frames))

    parameter = inspect.Parameter("edition", inspect.Parameter.KEYWORD_ONLY, default=1)
    recipe.__signature__ = inspect.Signature([*parameters, parameter])  # type: ignore[attr-defined]
    versions = {"1.0.0": Version("As in the paper."), "2.0.0": Version("One row corrected.", {"edition": 2})}
    return replace(definition_of(name), dataset=replace(original, recipe=recipe, versions=versions))


def changed_pairs(frames: Frames) -> Frames:
    """TERRa without its first row, and with another last hypothesis."""
    dev = frames["default"]["dev"]
    last = pl.int_range(pl.len()) == pl.len() - 1
    text = pl.when(last).then(pl.lit("Совсем другая гипотеза.")).otherwise("sentence2").alias("sentence2")
    return {"default": {"dev": dev.with_columns(text).slice(1)}}


def changed_corpus(frames: Frames) -> Frames:
    """RuBQ with one document changed, one removed and one added."""
    corpus = frames["corpus"]["test"].filter(pl.col("id") != "1503")
    text = pl.when(pl.col("id") == "10").then(pl.lit("Мундштука нет.")).otherwise("text").alias("text")
    more = pl.DataFrame({"id": ["2000"], "title": [""], "text": ["Новый абзац."]})
    return frames | {"corpus": {"test": pl.concat([corpus.with_columns(text), more])}}


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Definition, dict[str, BuildResult]]]:
    """Both versions of a dataset, built once; 1.0.0 in several shards, 2.0.0 in one."""
    folder, kept = tmp_path_factory.mktemp("editions"), dict[str, tuple[Any, dict[str, Any]]]()

    def both(name: str = TERRA) -> tuple[Definition, dict[str, BuildResult]]:
        if name not in kept:
            dataset = editions(name, changed_pairs if name == TERRA else changed_corpus)
            settings = sample_settings(folder)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(parquet, "ROW_GROUP_ROWS", 7)
                patch.setattr(parquet, "SHARD_BYTES", 10)
                first = make(dataset, "1.0.0", settings)
            kept[name] = (dataset, {"1.0.0": first, "2.0.0": make(dataset, "2.0.0", settings)})
        return kept[name]

    return both


@pytest.fixture
def order(tmp_path: Path) -> PublishOptions:
    """Golden samples are published here, and nowhere else."""
    return PublishOptions("org", tmp_path / "cache", ledger=tmp_path / "ledger.json", sample=True)


def publish(
    hub: LoopbackHub,
    dataset: Definition,
    outcome: BuildResult,
    order: PublishOptions,
    *,
    token: str = WRITER,
    **settings: Any,
) -> publishing.Publication:
    connection = publishing.login(endpoint=hub.url, token=token, patience=patience(**settings))
    return publishing.publish(dataset, outcome.release_dir, order, connection)


def plan(hub: LoopbackHub, dataset: Definition, outcome: BuildResult, order: PublishOptions) -> Plan:
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience())
    return make_plan(dataset, outcome.release_dir, order, connection)


def files_of(outcome: BuildResult) -> dict[str, bytes]:
    """The files of a release on disk."""
    paths = [path for path in outcome.release_dir.rglob("*") if path.is_file()]
    return {path.relative_to(outcome.release_dir).as_posix(): path.read_bytes() for path in paths}


def content_of(tree: dict[str, bytes]) -> str | None:
    """The content hash of the release that a tree is, whole and alone; None for a tree that holds none at all."""
    ours = {path for path in tree if path.endswith((".parquet", ".json"))}
    if not ours:
        return None
    manifest = decode(tree["manifest.json"], "the Hub")
    assert ours == {"manifest.json", "statistics.json", *(file.path for file in manifest.files)}
    for file in manifest.files:
        assert hashlib.sha256(tree[file.path]).hexdigest() == file.sha256
    assert f'revision="v{manifest.version}"' in tree["README.md"].decode()
    return manifest.content_sha256


def test_a_release_becomes_one_commit_with_a_tag_and_its_files_byte_for_byte(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    published = publish(hub, dataset, outcomes["1.0.0"], order)
    assert (published.state, published.plan.repo, published.plan.tag) == ("published", REPO, "v1.0.0")
    assert published.url == f"{hub.url}/datasets/{REPO}"
    tree = hub.tree(REPO, "v1.0.0")
    assert tree.pop(".gitattributes")
    assert tree == files_of(outcomes["1.0.0"])
    there = hub.repos[REPO]
    assert there.moves[1:] == [("main", published.commit), ("v1.0.0", published.commit)]
    commit = there.commits[published.commit]
    assert commit.title == f"{TERRA} 1.0.0"
    assert outcomes["1.0.0"].manifest.content_sha256 in commit.description
    assert not there.private
    assert all(blob.lfs == path.endswith(".parquet") for path, blob in commit.tree.items())


def test_publishing_again_changes_nothing_and_says_so(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    first = publish(hub, dataset, outcomes["1.0.0"], order)
    hub.log.clear()
    again = publish(hub, dataset, outcomes["1.0.0"], order)
    assert (again.state, again.commit) == ("already published", first.commit)
    assert {seen.method for seen in hub.log} <= {"GET", "HEAD"}


def test_a_second_version_leaves_the_first_in_its_tag_and_is_explained(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases(RUBQ)
    publish(hub, dataset, outcomes["1.0.0"], order)
    published = publish(hub, dataset, outcomes["2.0.0"], order)
    assert published.plan.against == "1.0.0"
    [corpus] = [change for change in published.plan.changes if change.state != "same"]
    assert (corpus.config, corpus.key, corpus.added, corpus.removed, corpus.changed) == ("corpus", ("id",), 1, 1, 1)
    assert corpus.examples is not None
    assert corpus.examples["changed"] == [{"id": "10", "text": ["—", "Мундштука нет."]}]
    assert [row["id"] for row in corpus.examples["added"]] == ["2000"]
    repo = f"org/{RUBQ}"
    assert content_of(hub.tree(repo, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256
    assert content_of(hub.tree(repo, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(repo) == hub.tree(repo, "v2.0.0")
    history = hub.tree(repo)["README.md"].decode()
    assert "As in the paper." in history
    assert "One row corrected." in history
    described = hub.repos[repo].commits[published.commit].description
    assert "corpus/test: 1 rows added, 1 removed, 1 changed" in described
    assert "qrels/test: the same rows" in described


def test_stale_shards_go_in_the_same_commit_and_what_is_not_ours_stays(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    shards = [path for path in hub.tree(REPO) if path.endswith(".parquet")]
    assert len(shards) == 2
    others: dict[str, bytes | None] = {"figure.png": b"PNG", "data/notes.txt": b"mine", "extra/a.parquet": b"PAR1"}
    hub.commit(REPO, {**others, "data/dev-00000-of-00009.parquet": b"a shard of an older push"})
    planned = plan(hub, dataset, outcomes["2.0.0"], order)
    published = publish(hub, dataset, outcomes["2.0.0"], order)
    assert set(planned.deletes) == {*shards, "data/dev-00000-of-00009.parquet"}
    tree = hub.tree(REPO)
    assert {path for path in tree if path.startswith("data/")} == {"data/dev-00000-of-00001.parquet", "data/notes.txt"}
    assert {path: tree[path] for path in others} == others
    assert hub.repos[REPO].moves[-2:] == [("main", published.commit), ("v2.0.0", published.commit)]


def test_a_config_that_is_gone_goes_in_the_same_commit(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    manifest["tables"][0] |= {"config": "old", "files": [{"path": "old/dev-0.parquet", "bytes": 4, "sha256": "0" * 64}]}
    hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode(), "old/dev-0.parquet": b"PAR1"})
    publish(hub, dataset, outcomes["2.0.0"], order)
    assert "old/dev-0.parquet" not in hub.tree(REPO)


def test_keys_that_somebody_added_to_the_front_matter_survive_and_ours_win(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    card = hub.tree(REPO)["README.md"].decode()
    ours = card.split("---\n")[1]
    theirs = ours.replace("license: mit", "license: gpl") + "viewer: false\nextra_gated_prompt: Будьте добры\nno: 1\n"
    hub.commit(REPO, {"README.md": f"---\r\n{theirs}---\r\nTheir own words.".encode()})
    planned = plan(hub, dataset, outcomes["2.0.0"], order)
    assert "viewer, extra_gated_prompt, False" in planned.notes[-1]
    publish(hub, dataset, outcomes["2.0.0"], order)
    merged = hub.tree(REPO)["README.md"].decode()
    built_card = (outcomes["2.0.0"].release_dir / "README.md").read_text("utf-8")
    head, body = (yaml.safe_load(merged.split("---\n")[1]), merged.split("---\n", 2)[2])
    assert head == yaml.safe_load(built_card.split("---\n")[1]) | {
        "viewer": False, "extra_gated_prompt": "Будьте добры", False: 1
    }  # fmt: skip
    assert body == built_card.split("---\n", 2)[2]


@pytest.mark.parametrize(
    "card", [b"", b"no front matter", b"---\n[broken\n---\n", b"---\n- a list\n---\n", b"\xff\xfe"]
)
def test_a_card_without_front_matter_of_its_own_is_replaced(
    hub: LoopbackHub, order: PublishOptions, releases: Any, card: bytes
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    hub.commit(REPO, {"README.md": card})
    publish(hub, dataset, outcomes["2.0.0"], order)
    assert hub.tree(REPO)["README.md"] == (outcomes["2.0.0"].release_dir / "README.md").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_our_front_matter_is_known_as_ours(
    name: str, golden_release: Callable[[str], BuildResult]
) -> None:
    assert set(metadata(definition_of(name), golden_release(name).manifest)) <= OUR_KEYS


def test_a_tag_never_moves(
    hub: LoopbackHub, order: PublishOptions, releases: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    before = hub.state()[0]
    other = make(dataset, "1.0.0", replace(settings, golden=other_golden(tmp_path / "golden")))
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, order)
    assert caught.value.exit_code == 5
    assert "default/dev: other rows" in str(caught.value)
    assert "new version" in str(caught.value)
    assert hub.state()[0] == before


def test_the_same_rows_in_other_files_are_already_published(
    hub: LoopbackHub, order: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    whole = make(dataset, "1.0.0", settings)
    assert whole.manifest.files != outcomes["1.0.0"].manifest.files
    assert publish(hub, dataset, whole, order).state == "already published"


def test_a_manifest_on_the_hub_is_not_believed(
    hub: LoopbackHub, order: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    whole = make(dataset, "1.0.0", settings)
    there = hub.repos[REPO]
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    assert hub.tree(REPO)[manifest["tables"][0]["files"][0]["path"]]
    manifest["tables"][0]["files"] = manifest["tables"][0]["files"][:1]
    there.tags["v1.0.0"] = hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(PublishError, match="not those of their manifest") as caught:
        publish(hub, dataset, whole, order)
    assert "other rows than the manifest's" in str(caught.value)


def test_an_older_version_does_not_replace_a_newer_one(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], order)
    with pytest.raises(PublishError, match="a newer version is published") as caught:
        publish(hub, dataset, outcomes["1.0.0"], order)
    assert caught.value.found == "2.0.0"


def test_a_repository_of_another_dataset_is_left_alone(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    publish(hub, *_first(releases()), replace(order, repo_name="shared"))
    with pytest.raises(PublishError, match="another dataset"):
        publish(hub, *_first(releases(RUBQ)), replace(order, repo_name="shared"))


def _first(both: Any) -> tuple[Definition, BuildResult]:
    return both[0], both[1]["1.0.0"]


def test_a_repository_with_no_release_of_ours_gets_one(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    publishing.login(endpoint=hub.url, token=WRITER).api.create_repo(REPO, repo_type="dataset")
    hub.commit(REPO, {"data/dev-00000-of-00001.parquet": b"PAR1", "manifest.json": b"[]"})
    publish(hub, *_first(releases()), order)
    assert content_of(hub.tree(REPO)) == content_of(hub.tree(REPO, "v1.0.0"))


def test_private_is_kept_or_refused_but_never_dropped(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    private = replace(order, private=True)
    publish(hub, dataset, outcomes["1.0.0"], private)
    assert hub.repos[REPO].private
    publish(hub, dataset, outcomes["2.0.0"], private)
    hub.repos[REPO].private = False
    with pytest.raises(PublishError, match="the repository is public"):
        publish(hub, dataset, outcomes["2.0.0"], private)


def test_name_and_message_are_those_asked_for(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    published = publish(hub, *_first(releases()), replace(order, org="other", repo_name="terra", message="Hello."))
    assert hub.repos["other/terra"].commits[published.commit].title == "Hello."
    with pytest.raises(UsageError, match="invalid repository name"):
        publish(hub, *_first(releases()), replace(order, org="a/b"))


def test_a_pull_request_leaves_main_alone_and_is_tagged_once_merged(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    asked = publish(hub, dataset, outcomes["2.0.0"], replace(order, create_pr=True))
    assert asked.state == "pull request opened"
    assert asked.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    there = hub.repos[REPO]
    assert content_of(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256
    assert set(there.tags) == {"v1.0.0"}
    there.branches["main"] = there.branches["refs/pr/1"]
    assert publish(hub, dataset, outcomes["2.0.0"], replace(order, create_pr=True)).state == "published"
    assert there.tags["v2.0.0"] == asked.commit


def test_a_gitignore_in_the_repository_leaves_nothing_out(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    hub.commit(REPO, {".gitignore": b"*.parquet\nmanifest.json\n"})
    publish(hub, dataset, outcomes["2.0.0"], order)
    assert content_of(hub.tree(REPO)) == outcomes["2.0.0"].manifest.content_sha256


def test_a_build_waits_until_its_release_is_published(
    hub: LoopbackHub, order: PublishOptions, settings: BuildSettings
) -> None:
    outcome = make(definition_of(TERRA), "1.0.0", settings)

    def interrupt(record: logging.LogRecord) -> bool:
        raise InterruptedError(record.getMessage())

    def build() -> None:
        with pytest.raises(InterruptedError, match="waiting for another command that is writing it"):
            make(definition_of(TERRA), "1.0.0", replace(settings, force=True))

    waiting = logging.getLogger("pipelines.files")
    waiting.addFilter(interrupt)
    try:
        hub.meanwhile["/commit/main"] = build
        publish(hub, definition_of(TERRA), outcome, order)
    finally:
        waiting.removeFilter(interrupt)
    assert "/commit/main" not in hub.meanwhile, "the build ran"


@pytest.mark.parametrize("mark", ["sample", "partial"])
def test_samples_and_parts_are_not_published(
    hub: LoopbackHub, order: PublishOptions, releases: Any, mark: str, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    changed = altered(outcome, tmp_path, **{mark: True})
    with pytest.raises(PublishError, match="is never published"):
        publish(hub, dataset, changed, replace(order, sample=False))
    assert hub.repos == {}


def altered(outcome: BuildResult, tmp_path: Path, **changes: Any) -> BuildResult:
    """A copy of a release, which counts as a whole one, with another manifest."""
    release_dir = tmp_path / "altered" / outcome.version
    shutil.copytree(outcome.release_dir, release_dir)
    manifest = replace(outcome.manifest, **({"sample": False} | changes))
    (release_dir / "manifest.json").write_bytes(encode(manifest))
    return replace(outcome, release_dir=release_dir, manifest=manifest)


def test_a_licence_against_derivatives_asks_for_the_rights(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcome = _first(releases())
    source = replace(dataset.source, license="cc-by-nc-nd-4.0", license_note="News texts belong to their agency.")
    with pytest.raises(
        PublishError, match=r"licence cc-by-nc-nd-4\.0 does not permit publishing derivatives"
    ) as caught:
        publish(hub, replace(dataset, source=source), outcome, order)
    assert "--i-have-the-rights" in str(caught.value)
    assert "belong to their agency" in str(caught.value)
    assert publish(hub, replace(dataset, source=source), outcome, replace(order, rights=True)).state == "published"


def test_a_damaged_release_is_not_published(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    copy = altered(outcome, tmp_path)
    (copy.release_dir / "data" / "dev-00000-of-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(PublishError, match="the release is damaged") as caught:
        publish(hub, dataset, copy, order)
    assert "dev-00000-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos == {}


def test_defects_in_the_rows_forbid_it_with_their_own_exit_code(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    defect = Finding("null_text", "error", "default", "dev", "sentence1", count=1, share=0.1)
    broken = (*outcome.manifest.findings, defect)
    with pytest.raises(FindingsError, match="defects in the rows") as caught:
        publish(hub, dataset, altered(outcome, tmp_path, findings=broken), order)
    assert caught.value.exit_code == 4
    assert caught.value.found == "null_text"


def test_what_is_not_built_says_how_to_build_it(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = _first(releases())
    with pytest.raises(PublishError, match="no release to publish") as caught:
        publish(hub, dataset, replace(outcome, release_dir=tmp_path / "1.0.0"), order)
    assert f"python -m pipelines.build {TERRA}@1.0.0" in str(caught.value)


def test_without_a_token_it_says_so(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PublishError, match="no token to publish with") as caught:
        publishing.login(endpoint=hub.url)
    assert "HF_TOKEN" in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", WRITER)
    assert publishing.login(endpoint=hub.url).api.token == WRITER


@pytest.mark.parametrize(("token", "words"), [(READER, "can only read"), ("hf_unknown", "401"), ("hf_bad", "HF_TOKEN")])
def test_a_token_that_may_not_write_says_so_and_is_not_shown(hub: LoopbackHub, token: str, words: str) -> None:
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


def test_a_namespace_that_is_not_ones_own_says_so(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience())
    hub.fail(1, Fault(status=403))
    with pytest.raises(PublishError, match="committing failed") as caught:
        publishing.publish(*_place(releases()), order, connection)
    assert f"a token that may write to {REPO}" in str(caught.value)


def _place(both: Any) -> tuple[Definition, Path]:
    return both[0], both[1]["1.0.0"].release_dir


def test_the_server_says_how_long_to_wait_within_reason(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    waited: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waited))
    for headers, seconds in (
        ({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({"Retry-After": "86400"}, 300), ({}, 1)
    ):  # fmt: skip
        hub.fail(0, Fault(status=429, headers=headers))
        assert repository.snapshot(connection, "org/nothing") is None
        assert waited.pop() == seconds
    hub.fail(0, Fault(status=503), always=True)
    with pytest.raises(PublishError, match="run the command again later"):
        repository.snapshot(connection, "org/nothing")
    assert waited == [1, 2, 4]


def test_a_commit_in_between_is_planned_on_and_not_overwritten(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)
    card = hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)
    hub.meanwhile["/commit/main"] = lambda: hub.commit(REPO, {"README.md": card, "figure.png": b"PNG"})
    assert publish(hub, dataset, outcomes["2.0.0"], order).state == "published"
    assert yaml.safe_load(hub.tree(REPO)["README.md"].decode().split("---\n")[1])["viewer"] is False
    assert hub.tree(REPO)["figure.png"] == b"PNG"
    assert [seen.status for seen in hub.log if "/commit/" in seen.path][-2:] == [412, 200]


def test_commits_again_and_again_end_in_an_error(hub: LoopbackHub, order: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)

    def meddle() -> None:
        hub.commit(REPO, {"figure.png": str(len(hub.repos[REPO].commits)).encode()})
        hub.meanwhile["/commit/main"] = meddle

    meddle()
    with pytest.raises(PublishError, match="412") as caught:
        publish(hub, dataset, outcomes["2.0.0"], order)
    assert "somebody else commits" in str(caught.value)
    assert content_of(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256


def elsewhere(outcome: BuildResult, tmp_path: Path) -> BuildResult:
    """The same release in another folder, as another machine has it."""
    place = tmp_path / "elsewhere" / outcome.dataset / outcome.version
    shutil.copytree(outcome.release_dir, place)
    return replace(outcome, release_dir=place)


def test_of_two_publishers_with_other_rows_one_wins_and_the_other_says_so(
    hub: LoopbackHub, order: PublishOptions, releases: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    other = make(editions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["1.0.0"], order)
    hub.meanwhile["/commit/main"] = lambda: publish(hub, dataset, outcomes["2.0.0"], order)
    with pytest.raises(PublishError, match="published with other content"):
        publish(hub, dataset, other, replace(order, cache=tmp_path / "another"), read=10.0)
    assert content_of(hub.tree(REPO, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(REPO) == hub.tree(REPO, "v2.0.0")


def test_what_another_publisher_has_committed_but_not_tagged_is_not_overwritten(
    hub: LoopbackHub, order: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    other = make(editions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["2.0.0"], order)
    del hub.repos[REPO].tags["v2.0.0"]
    before = hub.state()[0]
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, order)
    assert caught.value.where == f"{REPO} at main"
    assert hub.state()[0] == before


@pytest.mark.parametrize("when", ["/commit/main", "/tag/"])
def test_two_publishers_of_the_same_rows_both_end_well(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path, when: str
) -> None:
    dataset, outcomes = releases()
    states: list[str] = []
    theirs = elsewhere(outcomes["1.0.0"], tmp_path)
    hub.meanwhile[when] = lambda: states.append(publish(hub, dataset, theirs, order).state)
    states.append(publish(hub, dataset, outcomes["1.0.0"], replace(order, cache=tmp_path / "another"), read=10.0).state)
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    assert [ref for ref, _ in hub.repos[REPO].moves] == ["main", "main", "v1.0.0"]


def test_publishers_at_the_same_time_leave_whole_releases(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    outcomes = outcomes | {"2.0.0": elsewhere(outcomes["2.0.0"], tmp_path)}
    ends: dict[str, object] = {}

    def run(version: str) -> None:
        try:
            mine = replace(order, cache=tmp_path / version)
            ends[version] = publish(hub, dataset, outcomes[version], mine, read=10.0).state
        except PublishError as error:
            ends[version] = error

    threads = [threading.Thread(target=run, args=(version,)) for version in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert ends["2.0.0"] == "published"
    assert ends["1.0.0"] == "published" or "a newer version is published" in str(ends["1.0.0"])
    whole(hub, outcomes)


def test_what_does_not_read_back_is_not_tagged_and_mended_by_the_next_run(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()

    def corrupt() -> None:
        there = hub.repos[REPO]
        sha = there.branches["main"]
        damaged = there.commits[sha].tree | {"data/dev-00001-of-00002.parquet": Blob(b"PAR1", lfs=True)}
        there.commits[sha] = replace(there.commits[sha], tree=damaged)

    hub.meanwhile["/resolve/"] = corrupt
    with pytest.raises(PublishError, match="does not read back") as caught:
        publish(hub, dataset, outcomes["1.0.0"], order)
    assert "data/dev-00001-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos[REPO].tags == {}
    again = publish(hub, dataset, outcomes["1.0.0"], order)
    assert again.plan.notes[-1] == "main holds a damaged copy of this release: it is written again"
    assert content_of(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256


KINDS = {
    "the request is cut": Fault(take=10),
    "the answer is cut": Fault(cut=150),
    "429": Fault(status=429, headers={"Retry-After": "3"}),
    "500, but done": Fault(status=500, done=True),
    "412": Fault(status=412),
    "silence, but done": Fault(stall=True, done=True),
}
CASES = [*(("2.0.0", kind) for kind in KINDS), ("1.0.0", "the answer is cut")]


def whole(hub: LoopbackHub, outcomes: dict[str, BuildResult]) -> None:
    """Main and tags show, and showed at every moment, a whole release or (main, at first) none."""
    there = hub.repos.get(REPO)
    known = {f"v{version}": outcome.manifest.content_sha256 for version, outcome in outcomes.items()}
    for ref, sha in there.moves if there else ():
        content = content_of(hub.tree(REPO, sha))
        assert content == known[ref] if ref in known else content in {None, *known.values()}


def each_request(
    hub: LoopbackHub, order: PublishOptions, both: tuple[Definition, dict[str, BuildResult]], version: str
) -> Iterator[tuple[int, PublishOptions]]:
    """The number of each request that publishing a version makes, and an order to publish by; the Hub is as before each time.

    The older version is in the cache already: enough downloads are left.
    """
    dataset, outcomes = both
    order.cache.mkdir()
    if version == "2.0.0":
        publish(hub, dataset, outcomes["1.0.0"], order)
    before = hub.state()

    def new_repository(name: str) -> PublishOptions:
        hub.restore(before)
        cache = order.cache.with_name(name)
        shutil.copytree(order.cache, cache)
        return replace(order, cache=cache)

    first = new_repository("undisturbed")
    with (
        pytest.MonkeyPatch.context() as patient
    ):  # on a loaded machine too: a request that is made again is not counted
        patient.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
        publish(hub, dataset, outcomes[version], first, read=10.0)
    for number in range(len(hub.log)):
        yield number, new_repository(str(number))


@pytest.mark.parametrize(("version", "kind"), CASES)
def test_whichever_request_fails_the_hub_shows_whole_releases_and_running_again_finishes(
    hub: LoopbackHub, order: PublishOptions, releases: Any, version: str, kind: str
) -> None:
    dataset, outcomes = releases()
    for number, mine in each_request(hub, order, (dataset, outcomes), version):
        hub.fail(number, KINDS[kind])
        with suppress(PublishError) if kind == "412" else nullcontext():  # all others pass, and are got over
            publish(hub, dataset, outcomes[version], mine)
        whole(hub, outcomes)
        hub.heal()
        publish(hub, dataset, outcomes[version], mine)
        finished(hub, outcomes, version)


def finished(hub: LoopbackHub, outcomes: dict[str, BuildResult], version: str) -> None:
    """The version is on main and in its tag, by one commit."""
    whole(hub, outcomes)
    there = hub.repos[REPO]
    assert there.tags[f"v{version}"] == there.branches["main"]
    assert sum(ref == "main" for ref, _ in there.moves) == (2 if version == "1.0.0" else 3)


def test_a_hub_that_goes_away_at_any_request_is_told_of_and_the_next_run_finishes(
    hub: LoopbackHub, order: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
    (dataset, outcomes), version = releases(), "2.0.0"
    for number, mine in each_request(hub, order, (dataset, outcomes), version):
        hub.fail(number, Fault(take=0), always=True)
        with pytest.raises(PublishError) as caught:
            publish(hub, dataset, outcomes[version], mine, retries=1, read=10.0)
        assert caught.value.todo == "run the command again later"
        whole(hub, outcomes)
        hub.heal()
        assert publish(hub, dataset, outcomes[version], mine).state == "published"
        finished(hub, outcomes, version)


def test_whether_a_pull_request_was_opened_is_not_guessed(
    hub: LoopbackHub, order: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], order)

    def answer_lost() -> None:
        hub.fail(0, Fault(cut=0))

    hub.meanwhile["/api/validate-yaml"] = answer_lost
    with pytest.raises(PublishError, match="not known whether the pull request was opened") as caught:
        publish(hub, dataset, outcomes["2.0.0"], replace(order, create_pr=True))
    assert caught.value.where == f"{hub.url}/datasets/{REPO}/discussions"


def as_published(
    hub: LoopbackHub, order: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[BuildSettings, BuildResult]:
    """TERRa as if from complete raw files, built and published."""
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    publish(hub, definition_of(TERRA), outcome, replace(order, sample=False, ledger=settings.ledger))
    return full, outcome


def test_the_ledger_knows_what_is_published_and_then_not_even_force_replaces_it(
    hub: LoopbackHub, order: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, outcome = as_published(hub, order, settings, tmp_path, monkeypatch)
    entry = json.loads(settings.ledger.read_text())[TERRA]["1.0.0"]
    assert entry["published"] == [REPO]
    assert ledger.find_entry(TERRA, "1.0.0", settings.ledger) == replace(
        ledger.ledger_entry(outcome.manifest),
        published=(REPO,),  # type: ignore[type-var]
    )
    again = make(definition_of(TERRA), "1.0.0", replace(full, force=True))
    assert again.manifest.content_sha256 == outcome.manifest.content_sha256
    assert json.loads(settings.ledger.read_text())[TERRA]["1.0.0"] == entry, "a new build does not forget it"
    changed = as_full(replace(full, golden=other_golden(tmp_path / "golden")), tmp_path, monkeypatch)
    for force in (False, True):
        with pytest.raises(ReleaseError, match="would get other rows than before") as caught:
            make(definition_of(TERRA), "1.0.0", replace(changed, force=force))
        assert caught.value.where == f"published as {REPO}"
        assert "--force" not in str(caught.value)
    assert folder.read_manifest(outcome.release_dir) == again.manifest


def test_rows_that_the_ledger_does_not_know_of_a_version_are_not_published(
    hub: LoopbackHub, order: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    known = json.loads(settings.ledger.read_text())
    known[TERRA]["1.0.0"]["content_sha256"] = "0" * 64
    settings.ledger.write_text(json.dumps(known))
    with pytest.raises(PublishError, match="not those in the ledger"):
        publish(hub, definition_of(TERRA), outcome, replace(order, sample=False, ledger=settings.ledger))
    assert hub.repos == {}


def test_a_version_from_files_of_unknown_digest_says_so_and_is_known_once_it_is_published(
    order: PublishOptions, releases: Any, tmp_path: Path, hub: LoopbackHub
) -> None:
    dataset, outcome = _first(releases())
    whole = altered(outcome, tmp_path)
    assert ledger.ledger_entry(whole.manifest) is None
    published = publish(hub, dataset, whole, replace(order, sample=False))
    assert published.plan.notes == ("unverified raw file: val.jsonl",)
    manifest = outcome.manifest
    tables = [LedgerTable(one.config, one.split, one.rows, one.content_sha256) for one in manifest.tables]
    assert ledger.find_entry(TERRA, "1.0.0", order.ledger) == LedgerEntry(
        manifest.content_sha256, tuple(tables), {"val.jsonl": manifest.raw[0].sha256}, (REPO,)
    )


# It leaves without Python's own teardown, in which threads of pyarrow may abort after streaming (huggingface/datasets#7566).
LOADER = """
import json, os, sys
import datasets
repo, *wanted = sys.argv[1:]
for one in wanted:
    config, split, revision = one.split()
    whole = datasets.load_dataset(repo, config, split=split, revision=revision).to_list()
    streamed = list(datasets.load_dataset(repo, config, split=split, revision=revision, streaming=True))
    print(json.dumps([whole, streamed]), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_datasets_loads_each_version_by_its_tag_whole_and_streaming(
    hub: LoopbackHub, order: PublishOptions, releases: Any, tmp_path: Path, name: str
) -> None:
    dataset, outcomes = releases(name)
    for outcome in outcomes.values():
        publish(hub, dataset, outcome, order)
    tables = [(table.config, table.split) for table in outcomes["1.0.0"].manifest.tables]
    wanted = [(config, split, version) for version in outcomes for config, split in tables]
    done = subprocess.run(
        [sys.executable, "-c", LOADER, f"org/{name}", *(f"{config} {split} v{version}" for config, split, version in wanted)],
        env=environment(hub, tmp_path), capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(wanted)
    for line, (config, split, version) in zip(lines, wanted, strict=True):
        frames = folder.scan_tables(outcomes[version].release_dir, outcomes[version].manifest)
        rows = frames[config][split].collect().to_dicts()
        assert json.loads(line) == [rows, rows]


@pytest.fixture(scope="module")
def checkout_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of its own in which the golden TERRa counts as the complete real files; its ledger is empty."""
    folder = checkout(tmp_path_factory.mktemp("repository"))
    builder = folder / "builders" / "rumteb" / "terra.py"
    raw = folder / "tests" / "golden" / "terra" / "raw" / "val.jsonl"
    digest = hashlib.sha256(raw.read_bytes()).hexdigest()
    text, pins = re.subn(r'"[0-9a-f]{64}"', f'"{digest}"', builder.read_text("utf-8"))
    assert pins == 2
    assert "known=(PREMISES,)" in text
    text = text.replace(
        "known=(PREMISES,)", "known=()"
    )  # what is known of the real file is not so of the golden sample
    builder.write_text(re.sub(r"bytes=[\d_]+", f"bytes={raw.stat().st_size}", text), "utf-8")
    (folder / "pipelines" / "ledger.json").write_text("{}")
    (folder / "raw").mkdir()
    shutil.copytree(raw.parent, folder / "raw" / "terra")
    return folder


def test_the_commands_publish_check_and_compare(hub: LoopbackHub, checkout_dir: Path, tmp_path: Path) -> None:
    def run(command: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", f"pipelines.{command}", *arguments], cwd=checkout_dir, stdin=subprocess.DEVNULL,
            env=environment(hub, tmp_path, PYTHONPATH=str(checkout_dir), PYTHONDONTWRITEBYTECODE="1", **more),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert WRITER not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    raw = ["--raw-dir", "raw", "--offline"]
    refused = run("build", "terra", *raw, "--push", "org", HF_TOKEN=READER)
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "the token can only read" in refused.stderr
    assert not (checkout_dir / "outputs" / TERRA).exists(), "the error comes before anything is built"
    assert run("build", "terra", *raw).returncode == 0
    planned = run("publish", "terra", "--org", "org", "--dry-run", HF_TOKEN="")
    assert planned.returncode == 0, planned.stderr
    assert "to be published" in planned.stdout
    assert f"as        {REPO} (to be created), tag v1.0.0" in planned.stdout
    assert "+ data/dev-00000-of-00001.parquet" in planned.stdout
    assert hub.repos == {}

    pushed = run("build", "terra", *raw, "--push", "org", "--json")
    assert pushed.returncode == 0, pushed.stderr
    told = json.loads(pushed.stdout)["published"]
    assert (told["repo"], told["tag"], told["state"]) == (REPO, "v1.0.0", "published")
    assert hub.repos[REPO].tags == {"v1.0.0": told["commit"]}
    assert pushed.stderr == f"{TERRA}@1.0.0: recorded as published in ledger.json: commit it\n", "and no progress bars"
    assert json.loads((checkout_dir / "pipelines" / "ledger.json").read_text())[TERRA]["1.0.0"]["published"] == [REPO]
    again = run("publish", "terra", "--org", "org")
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: already published" in again.stdout

    sound = run("check", f"{REPO}@v1.0.0", HF_TOKEN="")
    assert (sound.returncode, sound.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: sound" in sound.stdout
    same = run("diff", f"{REPO}@v1.0.0", f"outputs/{TERRA}")
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("the same rows\n")
