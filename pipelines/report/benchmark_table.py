"""The tables of the benchmarks' papers beside our datasets: tasks in the order of the paper, with their sizes, for `show`.

benchmark_table.json holds, for each dataset of a benchmark, `paper`: its size as printed in the paper's table; `expected` or
`size`: the size that version 1.0.0 should have, as train / validation / test where there are several splits (`raw` marks a count
of raw records, before the recipe drops any); `wrong`: the error in the paper's table; `real_test`: true where the complete raw
files of the evaluated split were available when the file was written. What was built is in the ledger.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builders.spec import version_key
from pipelines.release import ledger
from pipelines.report import tables
from pipelines.report.tables import WIDTH

TASKS: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("benchmark_table.json").read_text("utf-8")
)
# For a dataset that names the benchmark but has no entry above.
UNLISTED = {"paper": "not in the paper", "expected": "-", "group": "not in the paper", "size": "-"}
# A dataset of ruMTEB is a block: its name and its sizes are too long for one line.
INDENT, COLUMN = "    ", 25
NOTES = {
    "rumteb": "Sizes are rows of train / validation / test, without the splits that a task does not have. paper: as printed in"
    " Table 1; `not recorded`: the table has a size that nobody has written down here yet. expected: what the recipe of version"
    " 1.0.0 should give. built: what it gave on complete, verified raw files, from the ledger; - if there is none.",
    "ateb": "Sizes are rows (reasoning: queries; document-level: documents) of train / validation / test, without the splits that"
    " a task does not have. raw: records of the raw files, before any are dropped. -: unknown without the raw files.",
}


def benchmark_page(benchmark: str, descriptions: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """The table of a benchmark. descriptions: of its datasets, by `pipelines.show.describe`. width: as for tables.table."""
    datasets, facts = {row["dataset"]: row for row in descriptions}, dict(TASKS[benchmark])
    facts |= {name: UNLISTED for name in datasets if name not in facts}
    if benchmark == "rumteb":
        entries = [_rumteb_entry(datasets[name], fact) for name, fact in facts.items()]
        heading = ["dataset  task", *_columns("paper", "expected", "built"), "-" * WIDTH]
        return "\n".join(
            [*heading, *(line for entry in entries for line in entry), "", *textwrap.wrap(NOTES[benchmark], WIDTH)]
        )
    heading = ["dataset", "group", "source", "size", "license", "state", "built"]
    rows = [heading, *(_ateb_row(datasets[name], fact) for name, fact in facts.items())]
    return "\n".join(
        [tables.table(rows, width=width, optional=("license", "source")), "", *textwrap.wrap(NOTES[benchmark], WIDTH)]
    )


def _rumteb_entry(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    """A dataset with its sizes, the error in the paper's table, and the versions in the output folder: lines of at most WIDTH."""
    lines = [f"{dataset['dataset']}  {dataset['task']}"]
    lines += _columns(fact["paper"], fact["expected"], built_size(dataset["dataset"]))
    if "wrong" in fact:
        lines += _wrap(f"wrong in the paper: {fact['wrong']}")
    if dataset["built"] != "-":
        lines += _wrap(f"in the output folder: {dataset['built']}")
    return lines


def built_size(dataset: str) -> str:
    """The size of version 1.0.0 in the ledger: rows by split, or documents and queries; - if it is not there."""
    entry = ledger.find_entry(dataset, "1.0.0")
    if entry is None:
        return "-"
    counts = {table.config: table.rows for table in entry.tables}
    if "queries" in counts:
        return f"{counts['corpus']:,} documents, {counts['queries']:,} queries"
    return " / ".join(f"{table.rows:,}" for table in entry.tables)


def _columns(*cells: str) -> list[str]:
    """Cells side by side, each wrapped to the width of its column."""
    wrapped = [textwrap.wrap(cell, COLUMN - 1) for cell in cells]
    lines = zip_longest(*wrapped, fillvalue="")
    return [(INDENT + "".join(part.ljust(COLUMN) for part in line)).rstrip() for line in lines]


def _wrap(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT * 2)


def _ateb_row(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    cells = [dataset["dataset"], fact["group"], dataset["source"], fact["size"], dataset["license"]]
    return [*cells, _state(dataset, fact), dataset["built"]]


def _state(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> str:
    """What was built from real raw files: a whole version (the newest in the ledger), the evaluated split, or nothing."""
    versions = [version for version in dataset["versions"] if ledger.find_entry(dataset["dataset"], version)]
    if versions:
        return f"built version {max(versions, key=version_key)}"
    return "complete real test set" if fact.get("real_test") else "golden sample only"
