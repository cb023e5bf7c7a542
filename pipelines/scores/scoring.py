"""Scores of one release: what of them is there already, what is computed, and how they are put into the release.

Call pipelines.scores.results.require_packages before this module is imported.
"""

import logging
import shutil
import tempfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from builders import tasks
from builders.catalogue import Definition
from builders.errors import ReleaseError, SourceError, UsageError
from builders.spec import RawFiles
from cards.manifest import Manifest, encode
from cards.scores import (
    Baseline,
    ModelScore,
    Scores,
    encode_scores,
    list_remarks,
    list_scores,
    metric_name,
    model_lead,
    score_text,
    with_scores,
)
from pipelines.process.files import link_or_copy
from pipelines.process.stages import stage
from pipelines.process.tables import WIDTH, table, wrap
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from pipelines.release import folder
from pipelines.release.staging import dataset_lock, recover_release, staged_folder
from pipelines.scores.baselines import compute_baselines
from pipelines.scores.evaluation import evaluate_model, published_headroom

logger = logging.getLogger(__name__)


def require_unedited(release_dir: Path, manifest: Manifest) -> None:
    """Refuse a release that lacks files, or whose documents were edited: the manifest would get the digests of the edits.

    Raises ReleaseError.
    """
    if damage := folder.find_damage(release_dir, manifest):
        raise ReleaseError(
            "the release is not the one of its manifest",
            where=str(release_dir),
            found="; ".join(damage[:5]),
            todo=f"build it again: embedding-datasets build {manifest.name} --force",
        )


def record_scores(release_dir: Path, scores: Scores) -> Manifest:
    """Write the scores of a release into its folder, which holds the old documents or the new ones at every moment.

    The data files are not written again: the new folder links to them where the file system can. Returns the new manifest.

    Raises ReleaseError for a damaged release, and for one that has other rows than were scored, by another build meanwhile.
    """
    with dataset_lock(release_dir.parent.parent, scores.dataset):
        recover_release(release_dir)
        manifest = folder.require_manifest(release_dir)
        require_unedited(release_dir, manifest)
        if manifest.content_sha256 != scores.content_sha256:
            raise ReleaseError(
                "the release has changed since it was scored",
                where=str(release_dir),
                found=f"content {manifest.content_sha256[:12]}",
                expected=f"content {scores.content_sha256[:12]}",
                todo=f"score it again: embedding-datasets score {manifest.name}",
            )
        with staged_folder(release_dir) as staging_dir:
            others = shutil.ignore_patterns(folder.CARD, folder.SCORES, folder.MANIFEST)
            shutil.copytree(release_dir, staging_dir, ignore=others, copy_function=link_or_copy, dirs_exist_ok=True)
            card = with_scores((release_dir / folder.CARD).read_text("utf-8"), scores)
            (staging_dir / folder.CARD).write_bytes(card.encode())
            (staging_dir / folder.SCORES).write_bytes(encode_scores(scores))
            manifest = replace(manifest, documents=folder.describe_documents(staging_dir))
            (staging_dir / folder.MANIFEST).write_bytes(encode(manifest))
    return manifest


@dataclass(frozen=True)
class ScoreOptions:
    """What to compute, as the command line says.

    cache: where embeddings are kept. raw: where a training split of the source may be. models: their names. force: also what
    scores.json has. trust_code: run code that comes with a model.
    """

    cache: Path
    raw: RawSettings = field(default_factory=RawSettings)
    baselines: bool = True
    models: tuple[str, ...] = ()
    force: bool = False
    trust_code: bool = False


@dataclass(frozen=True)
class Scored:
    """The scores of a release, whether anything was computed, and whether the release has all rows of its version."""

    scores: Scores
    state: Literal["scored", "up to date"]
    complete: bool


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
        scores = _with_baselines(definition, release_dir, manifest, scores, options.raw)
        record_scores(release_dir, scores)
    for model in options.models:
        if options.force or all(other.model != model for other in present.models):
            score = evaluate_model(
                definition, release_dir, manifest, model, options.cache, trust_code=options.trust_code
            )
            others = [other for other in scores.models if other.model != model]
            scores = replace(scores, models=tuple(sorted([*others, score], key=lambda other: other.model)))
            record_scores(release_dir, scores)
    return Scored(scores, "up to date" if scores is present else "scored", manifest.complete)


def scores_to_json(scored: Scored) -> dict[str, Any]:
    """All scores as plain values, as --json prints them: the keys of scores.json, and what follows from them."""
    scores = scored.scores
    best = scores.best_baseline
    summary = {"state": scored.state, "best_baseline": best and best.name, "lead": model_lead(scores)}
    summary["headroom"] = published_headroom(scores, complete=scored.complete).points
    return summary | asdict(scores)


def _require_release(release_dir: Path) -> Manifest:
    manifest = folder.read_manifest(release_dir)
    if manifest is None:
        name = f"{release_dir.parent.name}@{release_dir.name}"
        raise ReleaseError(
            "no release to score",
            where=str(release_dir),
            todo=f"build it first: embedding-datasets build {name}; or name the folder of the releases with --releases",
        )
    require_unedited(release_dir, manifest)
    return manifest


def _present_scores(definition: Definition, release_dir: Path, manifest: Manifest, split: str) -> Scores:
    """The scores that a release has, if they are those of its rows; else none yet."""
    present = folder.read_scores(release_dir)
    if present is not None and present.content_sha256 == manifest.content_sha256:
        return present
    return Scores(
        dataset=manifest.dataset,
        version=manifest.version,
        content_sha256=manifest.content_sha256,
        metric=definition.dataset.task.type.main_score,
        split=split,
    )


def _with_baselines(
    definition: Definition, release_dir: Path, manifest: Manifest, scores: Scores, raw: RawSettings
) -> Scores:
    frames = folder.scan_tables(release_dir, manifest.tables)
    unasked = ""
    with tempfile.TemporaryDirectory() as scratch, stage("baselines"):
        try:
            training = None if manifest.sample else _read_training(definition, manifest, raw, Path(scratch))
        except SourceError as error:
            training, unasked = None, f"the source's training split is not here ({error.what})"
            logger.warning("%s: shortcuts are not looked for: %s; --raw-dir says where it is", manifest.name, unasked)
        computed = compute_baselines(definition.dataset.task, frames, scores.split, training, asks=not unasked)
    return replace(
        scores,
        baselines=computed.baselines,
        shortcuts=computed.shortcuts,
        packages=computed.packages,
        unasked=unasked,
    )


def _read_training(definition: Definition, manifest: Manifest, raw: RawSettings, scratch: Path) -> pl.LazyFrame | None:
    """The rows of the source's training split, where a dataset lacks it; None where it has one, or the source has none.

    Raises SourceError for a raw file that is not to be had.
    """
    dataset = definition.dataset
    if not dataset.training:
        return None
    files = {key: locate(definition.source, training, raw).raw for key, training in dataset.training.items()}
    split = tasks.evaluated_split(dataset.task)
    tables = dataset.recipe(RawFiles((split,), files, scratch), **dataset.options(manifest.version))
    return tables.frames["default"][split].lazy().collect().lazy()


def score_page(scored: Scored, release_dir: Path, *, width: int | None) -> list[str]:
    """All scores of a release, the best first, then what they mean."""
    scores, state = scored.scores, scored.state
    rows = [[*row, _score(score, scores.metric)] for *row, score in list_scores(scores)]
    heading = ["model or baseline", "what it is", "labels seen", metric_name(scores.metric)]
    lines = [f"{scores.dataset} {scores.version}: {state}, {scores.split}, times 100", ""]
    lines += table([heading, *rows], width=width).splitlines()
    remarks = list_remarks(scores)
    for model in scores.models:
        if (published := model.published) is not None:
            ours = model.score if model.same_metric is None else model.same_metric
            remarks.append(
                f"{model.model}: {ours:.1f} {metric_name(published.metric)}; published for {published.model}:"
                f" {published.score:.2f} ({published.source})"
            )
    if (best := scores.best_baseline) is not None:
        if (points := model_lead(scores)) is not None:
            remarks.append(f"the best model here is {points:+.1f} points from the best baseline ({best.name})")
        if (headroom := published_headroom(scores, complete=scored.complete)).model:
            how = "not comparable: other rows" if headroom.points is None else f"{headroom.points:+.1f} points"
            remarks.append(f"headroom: {how} ({headroom.model} in Table 8: {headroom.score:.1f})")
    remarks.append(f"written into {release_dir}" if state == "scored" else f"in {release_dir}")
    return [*lines, "", *(line for remark in remarks for line in wrap(remark, width=width or WIDTH))]


def _score(score: Baseline | ModelScore, metric: str) -> str:
    other = score.metric if isinstance(score, ModelScore) and score.metric != metric else ""
    return f"{score_text(score)} {metric_name(other)}".strip()
