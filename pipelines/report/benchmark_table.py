"""The two benchmarks as their papers list them: which tasks, in which order, of what size; `pipelines.show` prints it.

The facts stand in benchmarks.json. `ours`, `size`: what version 1.0.0 comes to from complete raw files, train / validation /
test where there are several splits; `raw` marks a count of raw records, of which a recipe drops some. `wrong`: what the paper's
table has wrong. `real_test`: that the complete raw files of the evaluated split were at hand when this was written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders.spec import version_key
from pipelines.release import ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TASKS: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("benchmark_table.json").read_text("utf-8")
)
UNLISTED = {"paper": "not in the paper", "ours": "-", "group": "not in the paper", "size": "-"}
NOTES = {
    "rumteb": "Rows of train / validation / test, as far as a task has them. paper: Table 1 of the paper; -: not recorded here."
    " ours: version 1.0.0 from complete raw files; built: what lies in the output folder.",
    "ateb": "Rows (in reasoning queries, in document-level sets documents) of train / validation / test, as far as a task has"
    " them; raw: records of the raw files, before any is dropped. -: not known before the raw files are here.",
}


def table_rows(benchmark: str, described: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table of a benchmark, a heading first; described: its datasets, as `pipelines.show.describe` tells of each."""
    datasets, facts = {row["dataset"]: row for row in described}, dict(TASKS[benchmark])
    facts |= {name: UNLISTED for name in datasets if name not in facts}
    if benchmark == "rumteb":
        heading = ["dataset", "task", "paper", "ours", "built", "where the paper is wrong"]
        return [heading, *(_of_rumteb(datasets[name], fact) for name, fact in facts.items())]
    heading = ["dataset", "group", "source", "size", "license", "state", "built"]
    return [heading, *(_of_ateb(datasets[name], fact) for name, fact in facts.items())]


def _of_rumteb(row: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    return [row["dataset"], row["task"], fact["paper"], fact["ours"], row["built"], fact.get("wrong", "")]


def _of_ateb(row: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    head = [row["dataset"], fact["group"], row["source"], fact["size"], row["license"]]
    return [*head, _state(row, fact), row["built"]]


def _state(row: Mapping[str, Any], fact: Mapping[str, Any]) -> str:
    """How much of a dataset was built from real raw files: a whole version (the newest such), its evaluated split, or nothing."""
    versions = [version for version in row["versions"] if ledger.find_entry(row["dataset"], version)]
    if versions:
        return f"built version {max(versions, key=version_key)}"
    return "complete real test set" if fact.get("real_test") else "golden sample only"
