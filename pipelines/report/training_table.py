"""Table 6 of the ruMTEB paper, the sets that ru-en-RoSBERTa was trained on, beside our datasets, for `show training`.

training_table.json has a line for each set: its name and rows (thousands) as printed in the table, its part of the corpus, its
prefix, the source that it is from and, where there is a builder, the dataset and the config.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.report import text
from pipelines.report.text import WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SETS: Sequence[Mapping[str, Any]] = json.loads(Path(__file__).with_name("training_table.json").read_text("utf-8"))
NO_BUILDER = "no builder yet"
NOTE = (
    "paper: rows as printed in Table 6, in thousands. prefix: search is short for search_query and search_document. ours: the"
    " rows of the newest version in the output folder, else in the ledger; a sample is marked. The authors' sample, their mined"
    " negatives and their random ones cannot be had again:"
    " docs/training.md."
)


def training_page(descriptions: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """The table. descriptions: of our training data, by `pipelines.show.describe`. width: as for text.table."""
    datasets = {row["dataset"]: row for row in descriptions}
    rows = [["set", "part", "paper", "prefix", "source", "ours"]]
    for one in SETS:
        ours = _our_rows(datasets.get(one.get("dataset")), one.get("config"))
        rows.append([one["set"], one["part"], f"{one['thousands']}K", one["prefix"], one["source"], ours])
    built = [one for one in SETS if one.get("dataset") in datasets]
    sums = [sum(one["thousands"] for one in some) for some in (SETS, built)]
    summary = (
        f"{len(SETS)} sets with {sums[0]:,}K rows; {len(built)} of them, with {sums[1]:,}K rows, have a builder:"
        f" {', '.join(datasets)}."
    )
    table = text.table(rows, width=width, optional=("part", "source"))
    below = [line for words in (summary, NOTE) for line in textwrap.wrap(words, WIDTH, break_on_hyphens=False)]
    return "\n".join([table, "", *below])


def _our_rows(row: Mapping[str, Any] | None, config: str | None) -> str:
    """The rows of a set in our dataset, where they are known."""
    if row is None:
        return NO_BUILDER
    counts = row["rows"] or {}
    if (count := counts.get(f"{config}/train")) is None:
        return "not built"
    return f"{count:,} (sample)" if ", sample" in (row["counted_in"] or "") else f"{count:,}"
