"""Table 6 of the ruMTEB paper, the sets that ru-en-RoSBERTa was trained on, beside our datasets, for `show training`.

training_table.json has a line for each set: its name and rows (thousands) as printed in the table, its part of the corpus, its
prefix, the source that it is from and, where there is a builder, the dataset and the config. The licence and the raw files are
those of the builder.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.report import tables
from pipelines.report.tables import WIDTH
from pipelines.terminal import format_size

SETS: Sequence[Mapping[str, Any]] = json.loads(Path(__file__).with_name("training_table.json").read_text("utf-8"))
NO_BUILDER = "no builder yet"
NOTE = (
    "paper: rows as printed in Table 6, in thousands. prefix: search is short for search_query and search_document."
    " license: where it is other, unknown or non-commercial, publish asks for --i-have-the-rights. raw: the files of the"
    " source that the newest version reads, as far as their sizes are known; sets of one dataset share them. to get: raw"
    " files that no program downloads, or whose publisher asks you to accept terms. ours: the rows of the newest version"
    " in the output folder, else in the ledger; a sample is marked. The authors' sample, their mined negatives and their"
    " random ones cannot be had again: docs/training.md."
)


def training_page(descriptions: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """The table. descriptions: of our training data, by `pipelines.show.describe`. width: as for tables.table."""
    datasets = {row["dataset"]: row for row in descriptions}
    rows = [["set", "part", "paper", "prefix", "source", "license", "raw", "to get", "ours"]]
    for one in SETS:
        paper = [one["set"], one["part"], f"{one['thousands']}K", one["prefix"], one["source"]]
        rows.append([*paper, *_our_cells(datasets.get(one.get("dataset")), one)])
    built = [one for one in SETS if one.get("dataset") in datasets]
    sums = [sum(one["thousands"] for one in some) for some in (SETS, built)]
    summary = (
        f"{len(SETS)} sets with {sums[0]:,}K rows; {len(built)} of them, with {sums[1]:,}K rows, have a builder:"
        f" {', '.join(datasets)}."
    )
    table = tables.table(rows, width=width, optional=("part", "source", "to get", "raw", "license"))
    below = [line for words in (summary, NOTE) for line in textwrap.wrap(words, WIDTH, break_on_hyphens=False)]
    return "\n".join([table, "", *below])


def describe_sets(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sets of a dataset, as the table has them. row: of the dataset, by `pipelines.show.describe`.

    raw_bytes: of its downloads with a known size; raw_unknown: the number of the others. by_hand, gated: keys of raw files.
    """
    ours = [one for one in SETS if one.get("dataset") == row["dataset"]]
    return [{**one, "license": row["license"], **_needs(row, one["config"])} for one in ours]


def _needs(row: Mapping[str, Any], config: str) -> dict[str, Any]:
    """What a set is built from: a dataset has a file of mined negatives for each set, the other files are of all sets."""
    mine, needs = f"mined-{config}", row["needs"]
    keys = [key for key in needs if key == mine or not key.startswith("mined-")]
    by_access = {access: [key for key in keys if needs[key]["access"] == access] for access in ("by hand", "gated")}
    sizes = [needs[key]["bytes"] for key in keys if key not in by_access["by hand"]]
    return {
        "raw_bytes": sum(size or 0 for size in sizes),
        "raw_unknown": sizes.count(None),
        "by_hand": [key.removesuffix(f"-{config}") for key in by_access["by hand"]],
        "gated": by_access["gated"],
    }


def _our_cells(row: Mapping[str, Any] | None, one: Mapping[str, Any]) -> list[str]:
    """Licence, raw files, what to get and our rows of a set."""
    if row is None:
        return ["-", "-", "-", NO_BUILDER]
    needs = _needs(row, one["config"])
    known, unknown = needs["raw_bytes"], needs["raw_unknown"]
    raw = " + ".join(
        filter(None, [format_size(known) if known else "", f"{unknown if known else ''} unknown" if unknown else ""])
    )
    lists = {"by hand": needs["by_hand"], "gated": needs["gated"]}
    to_get = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in lists.items() if keys)
    return [row["license"], raw.strip(), to_get or "-", _our_rows(row, one["config"])]


def _our_rows(row: Mapping[str, Any], config: str) -> str:
    """The rows of a set in our dataset, where they are known."""
    counts = row["rows"] or {}
    if (count := counts.get(f"{config}/train")) is None:
        return "not built"
    return f"{count:,} (sample)" if ", sample" in (row["counted_in"] or "") else f"{count:,}"
