"""The tables of the benchmarks' papers beside our datasets: tasks in the order of the paper, with their sizes, for `show`.

benchmark_table.json holds, for each dataset of a benchmark, `paper`: its size in the paper; `ours` or `size`: the size of version
1.0.0 built from complete raw files, as train / validation / test where there are several splits (`raw` marks a count of raw
records, before the recipe drops any); `wrong`: the error in the paper's table; `real_test`: true where the complete raw files of
the evaluated split were available when the file was written.
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
# For a dataset that names the benchmark but has no entry above.
UNLISTED = {"paper": "not in the paper", "ours": "-", "group": "not in the paper", "size": "-"}
NOTES = {
    "rumteb": "Sizes are rows of train / validation / test, without the splits that a task does not have. paper: Table 1 of the"
    " paper, - if not recorded here. ours: version 1.0.0 from complete raw files. built: the versions in the output folder.",
    "ateb": "Sizes are rows (reasoning: queries; document-level: documents) of train / validation / test, without the splits that"
    " a task does not have. raw: records of the raw files, before any are dropped. -: unknown without the raw files.",
}


def table_rows(benchmark: str, descriptions: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table of a benchmark, with its heading. descriptions: of its datasets, by `pipelines.show.describe`."""
    datasets, facts = {row["dataset"]: row for row in descriptions}, dict(TASKS[benchmark])
    facts |= {name: UNLISTED for name in datasets if name not in facts}
    if benchmark == "rumteb":
        heading = ["dataset", "task", "paper", "ours", "built", "error in the paper"]
        return [heading, *(_rumteb_row(datasets[name], fact) for name, fact in facts.items())]
    heading = ["dataset", "group", "source", "size", "license", "state", "built"]
    return [heading, *(_ateb_row(datasets[name], fact) for name, fact in facts.items())]


def _rumteb_row(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    return [dataset["dataset"], dataset["task"], fact["paper"], fact["ours"], dataset["built"], fact.get("wrong", "")]


def _ateb_row(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> list[str]:
    cells = [dataset["dataset"], fact["group"], dataset["source"], fact["size"], dataset["license"]]
    return [*cells, _state(dataset, fact), dataset["built"]]


def _state(dataset: Mapping[str, Any], fact: Mapping[str, Any]) -> str:
    """What was built from real raw files: a whole version (the newest in the ledger), the evaluated split, or nothing."""
    versions = [version for version in dataset["versions"] if ledger.find_entry(dataset["dataset"], version)]
    if versions:
        return f"built version {max(versions, key=version_key)}"
    return "complete real test set" if fact.get("real_test") else "golden sample only"
