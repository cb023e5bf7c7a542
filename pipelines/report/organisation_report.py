"""The datasets of an organisation as `check --org` prints them: a table, what is wrong with what to do, JSON."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipelines.hub.inspection import PublishedDataset
from pipelines.hub.published_revisions import Expectations, Revision
from pipelines.report.tables import cut_middle, fact, wrap

HEADING = ("repository", "at", "version", "ledger", "local", "state")
WIDTHS = (34, 7, 7, 6, 5, 11)  # 80 characters with two spaces between; the longest name of a dataset has 34
OTHERS = 10  # repositories that are listed by name


def to_json(dataset: PublishedDataset) -> dict[str, Any]:
    """What `--json` prints for a dataset."""
    return {
        "repository": dataset.repo,
        "dataset": dataset.dataset,
        "state": dataset.state,
        "revisions": [asdict(revision) | {"state": revision.state} for revision in dataset.revisions],
        "other_tags": list(dataset.other_tags),
    }


def page(org: str, datasets: Sequence[PublishedDataset], others: Sequence[str], expected: Expectations) -> str:
    """A table with a line for each tag and main, then a paragraph for each dataset that is not sound."""
    counts = Counter(dataset.state for dataset in datasets)
    total = f"{len(datasets):,} dataset{'s' if len(datasets) != 1 else ''}"
    states = ", ".join(f"{counts[state]:,} {state}" for state in ("sound", "wrong", "not checked") if counts[state])
    how = "rows verified" if expected.download else "digests compared, rows not verified"
    lines = [*wrap(f"{org}: {total}: {states} ({how})" if datasets else f"{org}: no dataset of this package")]
    if datasets:
        lines += ["", _line(HEADING), _line(["-" * width for width in WIDTHS])]
        lines += [line for dataset in datasets for line in _rows(dataset)]
    for dataset in datasets:
        lines += _paragraph(dataset)
    if not expected.recorded:
        ledger = "HF_ENDPOINT is not the Hub: tags are not compared with recorded commits (--ledger FILE has them)"
        lines += ["", *wrap(ledger)]
    if others:
        more = f" and {len(others) - OTHERS:,} more" if len(others) > OTHERS else ""
        names = ", ".join(name.partition("/")[2] for name in others[:OTHERS])
        lines += ["", *wrap(f"without a release of this package, not checked: {names}{more}")]
    return "\n".join(lines)


def _rows(dataset: PublishedDataset) -> list[str]:
    name = cut_middle(dataset.repo.partition("/")[2], WIDTHS[0])
    lines = []
    for number, one in enumerate(dataset.revisions):
        ledger, local = (value.replace("none", "-") for value in (one.ledger, one.local))
        lines.append(_line(["" if number else name, one.name, one.version or "-", ledger, local, one.state]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _paragraph(dataset: PublishedDataset) -> list[str]:
    """What is wrong at each revision, what to do about it, and notes; nothing for a sound dataset without notes."""
    lines = [line for one in dataset.revisions for line in _sentences(one)]
    if dataset.other_tags:
        lines += fact("tags", f"{', '.join(dataset.other_tags)}: not of a version")
    return ["", dataset.repo, *lines] if lines else []


def _sentences(revision: Revision) -> list[str]:
    lines = []
    for problem in revision.problems:
        lines += [*fact(revision.name, problem.what), *fact("  to do", problem.todo)]
        lines += [f"{'':<14}{command}" for command in problem.commands]  # in one line each, to be copied
    if revision.not_checked:
        lines += fact(revision.name, f"not checked: {revision.not_checked}")
    for note in revision.notes:
        lines += fact("note", note)
    return lines
