"""Two versions of a dataset, published to a Hub in memory: what the tests of pipelines/hub/ share."""

import functools
import hashlib
import inspect
import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any, Self

import polars as pl
import pytest
from huggingface_hub import HfApi, constants, file_download
from huggingface_hub.utils import _http

from builders.catalogue import Definition
from builders.errors import PublishError
from builders.spec import Tables, Version
from cards.manifest import decode, encode
from pipelines.hub import client, publishing
from pipelines.hub.commits import Publication
from pipelines.hub.planning import Plan, PublishOptions, make_plan
from pipelines.make import BuildResult
from pipelines.raw.download import Patience
from tests.support import processes
from tests.support.loopback_hub import WRITER, Answer, Fault, HubError, LoopbackHub, Request
from tests.support.paths import ROOT
from tests.support.releases import definition_of

Frames = dict[str, dict[str, pl.DataFrame]]

TERRA, RUBQ = "terra-pairclassification", "rubq-retrieval"
REPO = f"org/{TERRA}"

FAULTS = {
    "the request is cut": Fault(cut_request=10),
    "the answer is cut": Fault(cut_answer=150),
    "429": Fault(status=429, headers={"Retry-After": "3"}),
    "500 after execution": Fault(status=500, executed=True),
    "412": Fault(status=412),
    "a stall after execution": Fault(stall=True, executed=True),
}


XET_SETTINGS = {  # instead of those that connecting to a Hub sets, for good, in the environment
    "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1",
    "HF_XET_CLIENT_RETRY_BASE_DELAY": "10ms",
    "HF_XET_CLIENT_CONNECT_TIMEOUT": "5s",
    "HF_XET_CLIENT_READ_TIMEOUT": "300ms",
}


def put_online(patch: pytest.MonkeyPatch, read: float = 0.2) -> list[float]:
    """Put huggingface_hub online, without Xet, telemetry, login or real sleeps; return the list of its waiting times."""
    waits: list[float] = []
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    patch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", read)
    patch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
    patch.delenv("HF_TOKEN", raising=False)
    for name, value in XET_SETTINGS.items():
        patch.setenv(name, value)
    for module in (file_download, _http):
        patch.setattr(module, "time", SimpleNamespace(sleep=waits.append))
    return waits


def run_command(
    hub: LoopbackHub, folder: Path, *words: str, retries: int = 3, read: float = 30
) -> CompletedProcess[str]:
    """Run `publish` or `check` for the organisation `org` in this process, with few retries and short timeouts.

    folder: beside `outputs`, with the ledger in `record`, and the cache. The code is 70 where a user would see a traceback.
    """
    with pytest.MonkeyPatch.context() as patch:
        put_online(patch, read)
        patch.setattr(client, "HfApi", lambda endpoint, **more: HfApi(endpoint=endpoint or hub.url, **more))
        patch.setattr(client, "Patience", lambda **_: patience(retries=retries, read=read))
        patch.setenv("HF_TOKEN", WRITER)
        patch.setenv("EMBEDDING_DATASETS_CACHE", str(folder / "cache"))
        try:
            return processes.run(*words, *_options(folder))
        except Exception as error:  # noqa: BLE001 - whatever it is
            return CompletedProcess(words, 70, "", f"Traceback: {type(error).__name__}: {error}")


def _options(folder: Path) -> list[str]:
    return ["--org", "org", "--output", f"{folder.parent}/outputs", "--ledger", f"{folder}/record/ledger.json"]


NEVER = 1_000_000  # the number of what does not happen
CHILD = """
import sys
from pathlib import Path
from pipelines import command, publish
from tests.support.killed_builds import kill_before
kill_before(int(sys.argv[1]), Path(sys.argv[2]))
sys.argv = sys.argv[2:]
command.run(publish.main)
"""


def kill_command(
    hub: LoopbackHub, folder: Path, *words: str, request: int = NEVER, write: int = NEVER, step: int = NEVER
) -> CompletedProcess[str]:
    """Run `publish` in a process that is killed (SIGKILL), if it comes so far: as the Hub receives a request, or has executed
    a request that writes, or before a step on the files in `record`. folder: see `run_command`.
    """
    requests, writes = itertools.count(), itertools.count()

    def answer(received: Request, usual: Callable[[], Answer]) -> Answer:
        if next(requests) == request:
            process.kill()
            raise HubError(503, "killed")
        answered = usual()
        if received.method not in ("GET", "HEAD") and next(writes) == write:
            process.kill()
        return answered

    hub.otherwise = answer
    line = [sys.executable, "-c", CHILD, str(step), str(folder / "record"), *words[1:], *_options(folder)]
    environment = processes.environment(hub, folder)
    with subprocess.Popen(line, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True) as process:
        out, err = process.communicate()
    hub.otherwise = lambda _, usual: usual()
    return CompletedProcess(line, process.returncode, out, err)


def patience(waits: list[float] | None = None, *, retries: int = 3, read: float = 0.2) -> Patience:
    """Short timeouts and few retries, without real sleeps."""
    return Patience(retries=retries, read=read, connect=5, sleep=(waits if waits is not None else []).append)


class Recovery(list[float]):
    """Waiting times; the faults of the Hub end with the first."""

    def __init__(self, hub: LoopbackHub) -> None:
        super().__init__()
        self.hub = hub

    def append(self, seconds: float) -> None:
        """Note a waiting time, in seconds."""
        super().append(seconds)
        self.hub.stop_failing()


def two_versions(
    name: str, second: Callable[[Frames], Frames], first: Callable[[Frames], Frames] = lambda frames: frames
) -> Definition:
    """Return a catalogue dataset in versions 1.0.0 and 2.0.0: `first` and `second` turn the tables of the recipe into theirs."""
    original = definition_of(name).dataset
    parameters = inspect.signature(original.recipe).parameters.values()

    @functools.wraps(original.recipe)
    def recipe(raw: Any, *, edition: int = 1, **options: Any) -> Tables:
        tables = original.recipe(raw, **options)
        frames = {
            config: {split: frame.lazy().collect() for split, frame in splits.items()}
            for config, splits in tables.frames.items()
        }
        return replace(tables, frames=(first if edition == 1 else second)(frames))

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


def refused(words: str, call: Callable[..., object], *arguments: Any, **options: Any) -> PublishError:
    """Assert that a call fails with these words, and return the error."""
    with pytest.raises(PublishError) as caught:
        call(*arguments, **options)
    assert words in str(caught.value)
    return caught.value


@dataclass(frozen=True)
class Versions:
    """Versions of a dataset, built once, that a test publishes to a Hub with these options.

    What follows a version or a release changes the options; `retries`, `read` and `waits` are those of `patience`.
    """

    hub: Any
    options: PublishOptions
    dataset: Definition
    outcomes: dict[str, BuildResult]

    def publish(self, version: str | BuildResult, **changes: Any) -> Publication[Plan]:
        """Publish a version, or another release of the dataset."""
        timeouts = {name: changes.pop(name) for name in ("retries", "read", "waits") if name in changes}
        connection = publishing.login(endpoint=self.hub.url, token=WRITER, patience=patience(**timeouts))
        return publishing.publish(*self._release(version), replace(self.options, **changes), connection)

    def plan(self, version: str | BuildResult, **changes: Any) -> Plan:
        """Plan to publish it."""
        connection = client.connect(PublishError, endpoint=self.hub.url, token=WRITER, patience=patience())
        return make_plan(*self._release(version), replace(self.options, **changes), connection)

    def refuse(self, version: str | BuildResult, *words: str, **changes: Any) -> PublishError:
        """Assert that publishing it fails with all of these words, and return the error."""
        with pytest.raises(PublishError) as caught:
            self.publish(version, **changes)
        assert [text for text in words if text not in str(caught.value)] == []
        return caught.value

    def licensed(self, licence: str, note: str = "") -> Self:
        """The same versions under another licence."""
        source = replace(self.dataset.source, license=licence, license_note=note)
        return replace(self, dataset=replace(self.dataset, source=source))

    def _release(self, version: str | BuildResult) -> tuple[Definition, Path]:
        release = self.outcomes[version] if isinstance(version, str) else version
        return self.dataset, release.release_dir


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
    documents = {document.path for document in manifest.documents} - {"README.md"}
    assert release_files == {"manifest.json", *documents, *(file.path for file in manifest.files)}
    for file in manifest.files:
        assert hashlib.sha256(tree[file.path]).hexdigest() == file.sha256
    assert f'revision="v{manifest.version}"' in tree["README.md"].decode()
    return manifest.content_sha256


def published_card(outcome: BuildResult, repo: str = REPO) -> bytes:
    """The card of a release as its repository gets it: with the name of the repository in the snippets."""
    card = (outcome.release_dir / "README.md").read_text("utf-8")
    placeholder = f'repo = "<organisation>/{outcome.dataset}"  # or the path of this folder\n'
    assert card.count(placeholder) == 3, "with datasets, with mteb, and with mteb's built-in task"
    return card.replace(placeholder, f'repo = "{repo}"\n').encode()


def with_manifest(outcome: BuildResult, tmp_path: Path, **changes: Any) -> BuildResult:
    """Copy a release, changing its manifest; the copy is not marked as a sample."""
    release_dir = tmp_path / "changed" / outcome.version
    shutil.copytree(outcome.release_dir, release_dir)
    manifest = replace(outcome.manifest, **({"sample": False} | changes))
    (release_dir / "manifest.json").write_bytes(encode(manifest))
    return replace(outcome, release_dir=release_dir, manifest=manifest)


def copy_release(outcome: BuildResult, tmp_path: Path) -> BuildResult:
    """Copy a release to another folder, as on another machine."""
    release_dir = tmp_path / "copy" / outcome.dataset / outcome.version
    shutil.copytree(outcome.release_dir, release_dir)
    return replace(outcome, release_dir=release_dir)


def assert_complete_releases(hub: LoopbackHub, outcomes: dict[str, BuildResult]) -> None:
    """Assert that every commit of main and of each tag held a complete release, or none (main, at first)."""
    repository = hub.repos.get(REPO)
    hashes = {f"v{version}": outcome.manifest.content_sha256 for version, outcome in outcomes.items()}
    for ref, sha in repository.moves if repository else ():
        content = verified_hash(hub.tree(REPO, sha))
        assert content == hashes[ref] if ref in hashes else content in {None, *hashes.values()}


def each_request(
    versions: Versions, version: str, before: Iterable[str], *, every: bool
) -> Iterator[tuple[int, Versions]]:
    """Yield the number of each request that publishing a version sends, and what to publish with, on a restored Hub.

    before: versions that are published already. The cache already holds them; the remaining downloads are enough for these tests.
    every: every request, or only the last of each kind: requests that differ in a file, a commit or a number are of one kind.
    """
    hub, options = versions.hub, versions.options
    options.cache.mkdir()
    for earlier in before:
        versions.publish(earlier)
    state = hub.state()

    def restore(name: str) -> Versions:
        hub.restore(state)
        cache = options.cache.with_name(name)
        shutil.copytree(options.cache, cache)
        return replace(versions, options=replace(options, cache=cache))

    first = restore("undisturbed")
    with pytest.MonkeyPatch.context() as patch:  # long timeouts: on a loaded machine, a retry would add a request
        patch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 10)
        first.publish(version, read=10.0)
    kinds = {
        re.sub(r"[0-9a-f]{40,}|[\w.-]+\.\w+|\d+", "*", str(request)): number for number, request in enumerate(hub.log)
    }
    for number in range(len(hub.log)) if every else sorted(kinds.values()):
        yield number, restore(str(number))


def try_with_faults(hub: LoopbackHub, fault: Fault, requests: int, action: Callable[[], object]) -> None:
    """Do something as often as it has requests, while one request after the other fails; it may fail with it."""
    for number in range(requests):
        hub.fail(number, fault)
        with suppress(PublishError):
            action()
    hub.stop_failing()


def assert_published(hub: LoopbackHub, outcomes: dict[str, BuildResult], *versions: str) -> None:
    """Assert that main is the newest of the versions, that each has a tag, and that each was written by a single commit."""
    assert_complete_releases(hub, outcomes)
    repository = hub.repos[REPO]
    assert repository.tags.keys() == {f"v{version}" for version in versions}
    assert repository.branches == {"main": repository.tags[f"v{max(versions)}"]}
    assert len(repository.commits) == 1 + len(versions)
