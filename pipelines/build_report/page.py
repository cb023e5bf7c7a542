"""The result of a build, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from builders.shaping.sampling import scarcest_class
from pipelines.checking.text import by_severity, findings_table
from pipelines.process.tables import facts, wrap
from pipelines.process.terminal import format_duration
from pipelines.release.figures import agreeing_figures, expected_and_found

if TYPE_CHECKING:
    from pipelines.hub.commits import Publication
    from pipelines.hub.planning import Plan
    from pipelines.make import BuildPlan, BuildResult

SHOWN_FINDINGS = 6  # the card has all of them, with their examples


def page(result: BuildResult, publication: Publication[Plan] | None, *, timed: bool, brief: bool = False) -> list[str]:
    """A result as lines. timed: with the seconds that it took; without, the same build always prints the same text.

    brief: one line, with the number of rows, of warnings, and of figures that are as published; and where it was published.
    """
    manifest = result.manifest
    unverified = not manifest.sample and not all(file.verified for file in manifest.raw)
    flags = {"sample": manifest.sample, "partial": manifest.partial, "unverified raw files": unverified}
    marks = [mark for mark, applies in flags.items() if applies]
    state = (
        f"{result.state} in {format_duration(result.seconds)}" if timed and result.state == "built" else result.state
    )
    published = [f"  on Hub    {publication.state}: {publication.url}, {publication.plan.tag}"] if publication else []
    if brief:
        marks.append(f"{sum(manifest.rows.values()):,} rows")
        warnings = sum(finding.severity == "warning" and not finding.by_design for finding in manifest.findings)
        marks += [f"{warnings} warning{'s' * (warnings > 1)}"] if warnings else []
        marks += agreeing_figures(result.release_dir, manifest)
        return [*wrap(f"{result.dataset} {result.version}: {', '.join([result.state, *marks])}"), *published]
    lines = [f"{result.dataset} {result.version}: {', '.join([state, *marks])}"]
    drops = enumerate(manifest.dropped)
    lines += facts(
        [
            ("rows", ", ".join(f"{location} {count:,}" for location, count in manifest.rows.items())),
            ("content", manifest.content_sha256),
            *(("" if number else "dropped", f"{drop.count:,} {drop.split}: {drop.reason}") for number, drop in drops),
            ("left over", scarcest_class(manifest.observed)),
        ]
    )
    lines += expected_and_found(result.release_dir, manifest)
    lines.append(f"  in        {result.release_dir}")
    lines += published
    if manifest.findings:
        listed = by_severity(manifest.findings)
        lines += ["", *findings_table(listed[:SHOWN_FINDINGS], brief=True)]
        if (more := len(listed) - SHOWN_FINDINGS) > 0:
            lines.append(f"  and {more} more: see {result.release_dir / 'README.md'}")
        lines.append("")
    return lines


def to_json(result: BuildResult, publication: Publication[Plan] | None) -> dict[str, Any]:
    """What `--json` prints for a result."""
    manifest = result.manifest
    published = {
        "repo": publication.plan.repo,
        "tag": publication.plan.tag,
        "state": publication.state,
        "commit": publication.commit,
        "url": publication.url,
    } if publication else None  # fmt: skip
    return {
        "dataset": result.dataset,
        "version": result.version,
        "state": result.state,
        "seconds": round(result.seconds, 1),
        "path": str(result.release_dir),
        "rows": manifest.rows,
        "content_sha256": manifest.content_sha256,
        "sample": manifest.sample,
        "partial": manifest.partial,
        "dropped": [asdict(drop) for drop in manifest.dropped],
        "findings": [asdict(finding) for finding in manifest.findings],
        **({"published": published} if published else {}),
    }


def plan_to_json(plan: BuildPlan) -> dict[str, Any]:
    """What `--dry-run --json` prints for a plan."""
    return {
        "dataset": plan.dataset,
        "version": plan.version,
        "state": plan.state,
        "path": str(plan.release_dir),
        "raw": [{"name": name, "origin": file.origin, "where": file.where} for name, file in plan.raw.items()],
    }
