"""Fixtures of the tests of the Hub: a Hub in memory, two versions of a dataset, options to publish them with."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from builders.catalogue import Definition
from pipelines.hub import client
from pipelines.hub.planning import PublishOptions
from pipelines.make import GOLDEN, BuildResult, BuildSettings, make
from pipelines.release import ledger, parquet
from tests.support import processes
from tests.support.first_contact import publish_golden_files
from tests.support.loopback_hub import WRITER, LoopbackHub
from tests.support.publishing import TERRA, Versions, changed_corpus, changed_pairs, put_online, two_versions
from tests.support.releases import sample_settings
from tests.support.second_hub import second_hub


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Put huggingface_hub online, without Xet, telemetry, login or real sleeps; return the list of its waiting times."""
    return put_online(monkeypatch)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked `both_hubs` on both loopback Hubs, others on the first one alone."""
    if metafunc.definition.get_closest_marker("both_hubs"):
        name, scope = ("organisation_state", "module") if "published" in metafunc.fixturenames else ("hub", "function")
        metafunc.parametrize(name, [LoopbackHub, second_hub], ids=["first", "second"], indirect=True, scope=scope)


@pytest.fixture
def hub(request: pytest.FixtureRequest) -> Iterator[Any]:
    with getattr(request, "param", LoopbackHub)() as server:
        yield server


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    """Where commands run: the golden raw files of two sources below `raw`, and an empty ledger."""
    for source in ("cedr", "terra"):
        shutil.copytree(GOLDEN / source / "raw", tmp_path / "work" / "raw" / source)
    (tmp_path / "work" / "ledger.json").write_text("{}")
    return tmp_path / "work"


@pytest.fixture
def run(hub: LoopbackHub, work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CompletedProcess[str]]:
    """A function that runs a command in `work_dir`, where golden raw files pass for the complete real ones."""
    from huggingface_hub import HfApi, constants

    publish_golden_files(monkeypatch, "http://127.0.0.1:9", work_dir)
    monkeypatch.setattr(ledger, "LEDGER", work_dir / "ledger.json")
    monkeypatch.setattr(client, "HfApi", lambda endpoint, **options: HfApi(endpoint=endpoint or hub.url, **options))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", not isinstance(hub, LoopbackHub))  # the second has no Xet

    def run_command(command: str, *arguments: str, token: str = WRITER) -> CompletedProcess[str]:
        monkeypatch.setenv("HF_TOKEN", token)
        done = processes.run(command, *arguments, cwd=work_dir)
        assert WRITER not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run_command


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


@pytest.fixture
def terra(hub: Any, options: PublishOptions, releases: Any) -> Versions:
    """TERRa in two versions."""
    return Versions(hub, options, *releases())


@pytest.fixture
def first_published(terra: Versions) -> Versions:
    """TERRa in two versions; 1.0.0 is published."""
    terra.publish("1.0.0")
    return terra


@pytest.fixture
def built(terra: Versions, settings: BuildSettings) -> BuildResult:
    """Version 2.0.0 of TERRa, in a folder that a test may change."""
    return make(terra.dataset, "2.0.0", settings)
