"""Writes what a scan found as one HTML file: a verdict, a table of the datasets, and matches side by side.

The file has no scripts and no external resources. All values from data are escaped, and long ones are cut.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from cards.markdown import share_text
from cards.render import CARDS
from pipelines import installation
from pipelines.corpus_scan.matching import KINDS
from pipelines.corpus_scan.scans import Scan
from pipelines.corpus_scan.summaries import TableSummary
from pipelines.files import write_atomically
from pipelines.report.contamination_examples import find_examples
from pipelines.report.contamination_page import count, dataset_name, location, read_text, remarks
from pipelines.report.html_templates import html_environment

SERIOUS_SHARE = 0.01  # of the rows of a table, from which its score says little
MEANINGS = {
    "exact": "the corpus has the same text",
    "folded": "the same text, ignoring case, punctuation, spacing and form of characters",
    "near": "a text that shares most of its runs of words or letters",
    "contained": "a longer text with all of its words, one after another",
}


def write(path: Path, scan: Scan, summaries: Sequence[TableSummary]) -> None:
    """Write the page atomically: an error leaves the old file as it was."""
    found = [one for one in summaries if one.found]
    examples = find_examples(scan) if found else {}
    color, verdict = _verdict(found)
    text = _template().render(
        color=color,
        verdict=verdict,
        corpus=read_text(scan),
        corpus_rows=f"{count(scan.sums.rows_found, 'row')} ({share_text(scan.sums.share_found)})",
        kinds=KINDS,
        meanings=MEANINGS,
        tables=[_row(one, number, examples) for number, one in enumerate(found)],
        remarks=remarks(scan, summaries),
        threshold=f"{scan.threshold:g}",
        date=datetime.now(UTC).date().isoformat(),
        program=installation.describe(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)


def _verdict(found: Sequence[TableSummary]) -> tuple[str, str]:
    """The class and the sentence of the verdict."""
    if not found:
        return "good", "No text of the index was found in the corpus."
    datasets = {one.table.dataset for one in found}
    rows = sum(one.found for one in found)
    whole = sum(rows for one in found for rows in one.units.values())
    worst = max(found, key=lambda one: one.share)
    serious = whole or worst.share >= SERIOUS_SHARE
    texts = f"{count(rows, 'text')} of {count(len(datasets), 'dataset')} {'is' if rows == 1 else 'are'} in the corpus."
    share = share_text(worst.share)
    most = f" The largest share: {share} of {dataset_name(worst.table)}, {location(worst.table)}."
    answers = f" Of {count(whole, 'text')} the corpus has the other side or the label in the same row." if whole else ""
    return "error" if serious else "warning", texts + most + answers


def _row(one: TableSummary, number: int, examples: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    return {
        "anchor": f"t{number}",
        "dataset": dataset_name(one.table),
        "location": location(one.table),
        "rows": one.table.rows,
        "kinds": one.kinds,
        "share": share_text(one.share),
        "units": [f"{rows:,} as {unit}" for unit, rows in one.units.items() if rows],
        "examples": examples.get(one.table.key, []),
    }


@cache
def _template() -> jinja2.Template:
    return html_environment(CARDS).get_template("contamination.html.jinja")
