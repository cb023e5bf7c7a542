"""Every block of Python code in a published card runs when it is pasted alone, without an edit."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.tasks import EVALUATED
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.consumer_process import ORG, publish_releases
from tests.support.loopback_hub import LoopbackHub
from tests.support.paths import ROOT
from tests.support.releases import definition_of

DATASETS = (
    "rubq-retrieval",
    "rubq-reranking",
    "hhrlhf-harmlessness-classification",
    "cedr-classification",
    "terra-pairclassification",
    "ru-paraphraser-sts",
    "georeview-clustering-p2p",
    "europarl-bitext",
    "miracl-retrieval-ru",  # its configs have other names than its tables
)


@pytest.fixture(scope="module")
def hub(
    golden_release: Callable[[str], BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoopbackHub]:
    """A Hub that holds the golden release of a dataset of each task type."""
    with LoopbackHub() as server:
        publish_releases(server, map(golden_release, DATASETS), tmp_path_factory.mktemp("published"), sample=True)
        yield server


def blocks(hub: LoopbackHub, name: str, version: str) -> list[str]:
    card = hub.tree(f"{ORG}/{name}", f"v{version}")[folder.CARD].decode()
    return re.findall(r"(?ms)^```python\n(.*?)^```$", card)


def run_blocks(
    hub: LoopbackHub, golden_release: Callable[[str], BuildResult], tmp_path: Path, *, mteb: bool
) -> list[tuple[str, dict[str, Any]]]:
    """The name of the dataset and the variables of each block of the cards with mteb, or without; caches are empty at first."""
    found = [
        (name, block)
        for name in DATASETS
        for block in blocks(hub, name, golden_release(name).version)
        if ("import mteb" in block) is mteb
    ]
    files = [tmp_path / f"block_{number}.py" for number in range(len(found))]
    for file, (_, block) in zip(files, found, strict=True):
        file.write_text(block, "utf-8")
    settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
    process = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "support" / "run_snippet.py"), *map(str, files)],
        cwd=tmp_path, env=os.environ | settings | {"MTEB_CACHE": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-4000:]
    variables = [json.loads(file.with_suffix(".json").read_text("utf-8")) for file in files]
    return list(zip([name for name, _ in found], variables, strict=True))


def test_the_datasets_cover_every_task_type() -> None:
    assert {definition_of(name).dataset.task.type.name for name in DATASETS} == set(EVALUATED)


def test_every_block_of_code_names_the_repository_and_the_tag(
    hub: LoopbackHub, golden_release: Callable[[str], BuildResult]
) -> None:
    for name in DATASETS:
        version = golden_release(name).version
        found = blocks(hub, name, version)
        assert len(found) >= 2
        for block in found:
            assert f'repo = "{ORG}/{name}"\n' in block
            assert f'"v{version}"' in block
            assert "<organisation>" not in block


def test_the_loading_code_of_a_published_card_gives_every_table_when_pasted_alone(
    hub: LoopbackHub, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    loaded = run_blocks(hub, golden_release, tmp_path, mteb=False)
    assert {name for name, _ in loaded} == set(DATASETS)
    for name, variables in loaded:
        outcome = golden_release(name)
        tables = folder.scan_tables(outcome.release_dir, outcome.manifest.tables)
        rows = [{split: frame.collect().to_dicts() for split, frame in splits.items()} for splits in tables.values()]
        assert list(variables.values()) == rows


@pytest.mark.slow
@pytest.mark.extra("mteb")
def test_the_mteb_code_of_a_published_card_scores_when_pasted_alone(
    hub: LoopbackHub, golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    scores = [(name, found["results"]) for name, found in run_blocks(hub, golden_release, tmp_path, mteb=True)]
    assert {name for name, _ in scores} == set(DATASETS)
    assert all(math.isfinite(score) for _, of_tasks in scores for score in of_tasks), scores
    assert dict(scores)["rubq-retrieval"][0] > 0.3, "shared words should retrieve the paragraph that answers a question"
