"""Scores of one release: what of them is there already, what is computed, and where it is written.

Call pipelines.scores.packages.require_packages before this module is imported.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from builders import tasks
from builders.catalogue import Definition
from builders.errors import ReleaseError, UsageError
from cards.manifest import Manifest
from cards.score_section import headroom
from cards.scores import Scores
from pipelines.release import folder
from pipelines.scores.baselines import compute_baselines
from pipelines.scores.evaluation import evaluate_model
from pipelines.scores.recording import record_scores, require_unedited
from pipelines.stages import stage


@dataclass(frozen=True)
class ScoreOptions:
    """What to compute, as the command line says.

    cache: where embeddings are kept. models: their names. force: also what scores.json has.
    """

    cache: Path
    baselines: bool = True
    models: tuple[str, ...] = ()
    force: bool = False


@dataclass(frozen=True)
class Scored:
    """The scores of a release, and whether anything was computed."""

    scores: Scores
    state: Literal["scored", "up to date"]


def score_release(definition: Definition, release_dir: Path, options: ScoreOptions) -> Scored:
    """Compute the scores of a release that its scores.json lacks, and write each into it once it is known.

    Raises ReleaseError where there is no release, or a damaged one; UsageError for a package that is not installed, an unknown
    model, a release without the splits that are scored, and training data.
    """
    if not definition.dataset.task.type.mteb_class:
        raise UsageError(
            f"{definition.dataset.name} is training data, which nothing is scored on",
            todo="score the releases of a benchmark: embedding-datasets score rumteb",
        )
    manifest = _require_release(release_dir)
    split = tasks.evaluated_split(definition.dataset.task)
    if split not in manifest.splits:
        raise UsageError(
            f"{manifest.name} has no split to score",
            where=str(release_dir),
            found=", ".join(manifest.splits),
            expected=split,
            todo=f"build it whole: embedding-datasets build {manifest.name}",
        )
    present = scores = _present_scores(definition, release_dir, manifest, split)
    if options.baselines and (options.force or not scores.baselines):
        scores = _with_baselines(definition, release_dir, manifest, scores)
        record_scores(release_dir, scores)
    for model in options.models:
        if options.force or all(one.model != model for one in present.models):
            score = evaluate_model(definition, release_dir, manifest, model, options.cache)
            others = [one for one in scores.models if one.model != model]
            scores = replace(scores, models=tuple(sorted([*others, score], key=lambda one: one.model)))
            record_scores(release_dir, scores)
    return Scored(scores, "up to date" if scores is present else "scored")


def scores_as_json(scored: Scored) -> dict[str, Any]:
    """All scores as plain values, as --json prints them: the keys of scores.json, and what follows from them."""
    scores = scored.scores
    best = scores.best_baseline
    summary = {"state": scored.state, "best_baseline": best and best.name, "headroom": headroom(scores)}
    return summary | asdict(scores)


def _require_release(release_dir: Path) -> Manifest:
    manifest = folder.read_manifest(release_dir)
    if manifest is None:
        name = f"{release_dir.parent.name}@{release_dir.name}"
        todo = f"build it first: embedding-datasets build {name}; or name the folder of the releases with --output"
        raise ReleaseError("no release to score", where=str(release_dir), todo=todo)
    require_unedited(release_dir, manifest)
    return manifest


def _present_scores(definition: Definition, release_dir: Path, manifest: Manifest, split: str) -> Scores:
    """The scores that a release has, if they are those of its rows; else none yet."""
    present = folder.read_scores(release_dir)
    if present is not None and present.content_sha256 == manifest.content_sha256:
        return present
    metric = definition.dataset.task.type.main_score
    return Scores(
        dataset=manifest.dataset,
        version=manifest.version,
        content_sha256=manifest.content_sha256,
        metric=metric,
        split=split,
    )


def _with_baselines(definition: Definition, release_dir: Path, manifest: Manifest, scores: Scores) -> Scores:
    frames = folder.scan_tables(release_dir, manifest.tables)
    with stage("baselines"):
        computed = compute_baselines(definition.dataset.task, frames, scores.split)
    return replace(scores, baselines=computed.baselines, shortcuts=computed.shortcuts, packages=computed.packages)
