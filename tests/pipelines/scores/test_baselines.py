"""pipelines.scores.baselines: pinned numbers, the same with every number of threads and version of scikit-learn."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cards.scores import BASELINES
from pipelines.make import BuildResult
from pipelines.release import folder
from pipelines.scores.baselines import compute_baselines
from tests.support.paths import ROOT
from tests.support.releases import definition_of

# The scores of a dataset of each task type. They change if its rows do, or the definition of a baseline.
GOLDEN = {
    ("headline-classification", "2.0.0"): {
        "chance": 16.7,
        "majority": 16.7,
        "length": 0.0,
        "tfidf": 16.7,
        "tfidf_few": 16.7,
        "centroid": 0.0,
    },
    ("cedr-classification", "4.0.0"): {
        "chance": 12.9,
        "majority": 25.0,
        "length": 37.5,
        "tfidf": 25.0,
        "tfidf_few": 38.1,
        "centroid": 31.2,
    },
    ("terra-pairclassification", "1.0.0"): {
        "chance": 50.0,
        "length": 77.9,
        "sentence1": 39.6,
        "sentence2": 36.6,
        "words": 85.2,
        "letters": 68.0,
    },
    ("ru-paraphraser-sts", "3.0.0"): {
        "chance": 0.0,
        "length": -60.2,
        "sentence1": 44.5,
        "sentence2": 9.3,
        "words": 52.2,
        "letters": 53.0,
    },
    ("rubq-retrieval", "2.0.0"): {"chance": 23.1, "words": 84.1, "named": 0.0, "bm25": 91.4},
    ("lmsys-reranking", "2.0.0"): {
        "chance": 75.0,
        "first": 87.5,
        "longer": 100.0,
        "shorter": 50.0,
        "candidate": 87.5,
        "words": 62.5,
        "letters": 62.5,
        "bm25": 75.0,
    },
    ("georeview-clustering-p2p", "2.0.0"): {"chance": 49.5, "majority": 0.0, "length": 32.4, "kmeans": 39.0},
    ("europarl-bitext", "1.0.0"): {"chance": 15.4, "length": 73.3, "words": 73.3, "letters": 73.3},
}


@pytest.mark.parametrize(("name", "version"), GOLDEN, ids=str)
def test_the_baselines_of_a_golden_sample_are_these(
    name: str, version: str, golden_release: Callable[..., BuildResult]
) -> None:
    release = golden_release(name, version)
    frames = folder.scan_tables(release.release_dir, release.manifest.tables)
    found = compute_baselines(definition_of(name).dataset.task, frames)
    assert {baseline.name: baseline.score for baseline in found.baselines} == GOLDEN[name, version]
    assert set(found.packages) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
    assert [baseline.name for baseline in found.baselines] == [
        baseline for baseline in BASELINES if baseline in GOLDEN[name, version]
    ]


def run_process(rows: int, **variables: str) -> list[str]:
    """The version of scikit-learn and the baselines, as another process computes them."""
    command = [sys.executable, "-m", "tests.support.baselines_process", str(rows)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def threads(count: int) -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
    return dict.fromkeys(names, str(count))


@pytest.mark.slow
def test_one_thread_and_two_compute_the_same() -> None:
    assert run_process(1_500, **threads(1)) == run_process(1_500, **threads(2))


@pytest.mark.slow
def test_an_older_scikit_learn_computes_the_same(tmp_path: Path) -> None:
    versions = ("scikit-learn==1.6.1", "scipy==1.14.1", "numpy==2.1.3")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path), *versions]
    environment = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}  # set by .ci/setup
    subprocess.run(command, check=True, capture_output=True, env=environment)
    newer, expected = run_process(1_500)
    older, found = run_process(1_500, PYTHONPATH=str(tmp_path))
    assert (older, newer != older) == ("1.6.1", True)
    assert found == expected
