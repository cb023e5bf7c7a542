"""Scores of a release, for tests of where they are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cards.scores import Baseline, Scores

if TYPE_CHECKING:
    from cards.manifest import Manifest


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
