"""Publish releases to a loopback Hub and run tests/support/consumers.py against it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.hub import publishing
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.loopback_hub import WRITER, LoopbackHub
from tests.support.paths import ROOT
from tests.support.releases import definition_of

ORG = "bench"
MTEB = pytest.mark.extra("mteb")


@dataclass(frozen=True)
class Published:
    """A Hub and the releases in it, each tagged with its version, by repository."""

    server: LoopbackHub
    releases: dict[str, BuildResult]

    def cards(self) -> dict[str, str]:
        """The cards as they are on the Hub, by repository."""
        return {repo: self.server.tree(repo, "main")[folder.CARD].decode() for repo in self.releases}


def publish_releases(server: LoopbackHub, releases: Iterable[BuildResult], work: Path, *, sample: bool) -> Published:
    """Publish releases to a Hub. work: a folder for the cache and the ledger. sample: they are golden samples."""
    options = PublishOptions(ORG, work / "cache", ledger=work / "ledger.json", sample=sample, rights=True)
    connection = publishing.login(endpoint=server.url, token=WRITER)
    by_repo = {f"{ORG}/{release.dataset}": release for release in releases}
    for release in by_repo.values():
        publishing.publish(definition_of(release.dataset), release.release_dir, options, connection)
    return Published(server, by_repo)


def run_consumer(server: LoopbackHub, command: str, job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run consumers.py in a separate process that uses `server` as its Hub."""
    file = folder / f"{command}.json"
    file.write_text(json.dumps(job, ensure_ascii=False), "utf-8")
    environment = os.environ | {
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "MTEB_CACHE": str(folder),
        "OMP_NUM_THREADS": "1",  # for these few rows, more threads only wait for each other
        "TOKENIZERS_PARALLELISM": "false",
    }
    process = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "support" / "consumers.py"), command, str(file)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-4000:]
    answer: dict[str, Any] = json.loads(file.with_suffix(".answer.json").read_text("utf-8"))
    return answer
