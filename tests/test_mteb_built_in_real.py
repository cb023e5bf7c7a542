"""mteb's built-in tasks run on releases that are built from complete real raw files, by the code on their cards."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.benchmarks import BUILT_IN, built_in_tasks
from pipelines.make import make
from tests.support.consumer_process import MTEB, ORG, publish_releases, run_consumer
from tests.support.loopback_hub import LoopbackHub
from tests.support.real_releases import COMPLETE
from tests.support.releases import definition_of, sample_settings

pytestmark = [pytest.mark.slow, MTEB]
DATASETS = sorted(COMPLETE.keys() & {task.dataset for task in BUILT_IN})
# A bag of character trigrams: above chance, below any embedding model.
SCORES = {
    "CEDRClassification": (0.2, 0.6),
    "TERRa": (0.5, 0.75),
    "TERRa.V2": (0.5, 0.75),
    "RUParaPhraserSTS": (0.3, 0.8),
}


@pytest.mark.parametrize("newest", [False, True], ids=["1.0.0", "newest"])
def test_built_in_tasks_evaluate_real_releases_by_the_code_on_their_cards(
    real_sources: Path, tmp_path: Path, *, newest: bool
) -> None:
    settings = sample_settings(tmp_path)
    settings = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=real_sources))
    definitions = [definition_of(name) for name in DATASETS]
    releases = [
        make(definition, definition.dataset.newest if newest else "1.0.0", settings) for definition in definitions
    ]
    with LoopbackHub() as server:
        published = publish_releases(server, releases, tmp_path, sample=False)
        ran = run_consumer(server, "drop_in", {"cards": published.cards()}, tmp_path)
    assert set(ran) == set(SCORES) == {task.name for name in DATASETS for task in built_in_tasks(name)}
    for name in DATASETS:
        version = published.releases[f"{ORG}/{name}"].version
        for task in built_in_tasks(name):
            assert ran[task.name]["dataset"] == {"path": f"{ORG}/{name}", "revision": f"v{version}"}
    for name, (low, high) in SCORES.items():
        scores = [score for subsets in ran[name]["scores"].values() for score in subsets.values()]
        assert all(low < score < high for score in scores), (name, scores)
