"""Scores of a release, for tests of where they are shown."""

from dataclasses import replace
from typing import Any

from cards.manifest import Manifest
from cards.scores import Baseline, Scores


def scores_of(manifest: Manifest, **changes: Any) -> Scores:
    """Scores of the rows of a release: 50.0 by chance. changes: other fields of Scores."""
    scores = Scores(
        dataset=manifest.dataset,
        version=manifest.version,
        content_sha256=manifest.content_sha256,
        metric="max_ap",
        split="dev",
        baselines=(baseline(50.0),),
    )
    return replace(scores, **changes)


def baseline(score: float, name: str = "chance") -> Baseline:
    return Baseline(name, score, "nothing", "none")
