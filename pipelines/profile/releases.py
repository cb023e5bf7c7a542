"""The profile of a release, in its scores.json.

Call pipelines.scores.results.require_packages before this module is imported.
"""

from dataclasses import replace
from pathlib import Path

from builders.catalogue import Definition
from cards.scores import Profile
from pipelines.profile.searches import LISTED, profile_tables
from pipelines.release import folder
from pipelines.scores.scoring import Scored, ScoreOptions, record_scores


def profile_release(definition: Definition, release_dir: Path, scored: Scored, options: ScoreOptions) -> Scored:
    """Compute the profile of a release that its scores lack, and write it into scores.json; not for models alone."""
    if not options.baselines or not (options.force or scored.scores.profile is None):
        return scored
    manifest = folder.require_manifest(release_dir)
    frames = folder.scan_tables(release_dir, manifest.tables)
    found, notes = profile_tables(definition.dataset.task, frames, listed=LISTED)
    profile = Profile(tuple(notes), tuple(found_rows.finding for found_rows in found))
    scores = replace(scored.scores, profile=profile)
    record_scores(release_dir, scores)
    return replace(scored, scores=scores, state="scored")
