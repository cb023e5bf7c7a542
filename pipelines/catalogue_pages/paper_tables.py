"""The tables of the papers beside our datasets: the tasks of the benchmarks, and the sets that ru-en-RoSBERTa was trained on.

benchmark_table.json holds, for each dataset of a benchmark, `paper`: its size as printed in the paper's table; `expected` or
`size`: the size that version 1.0.0 should have, as train / validation / test where there are several splits (`raw` marks a count
of raw records, before the recipe drops any); `wrong`: the error in the paper's table; `real_test`: true where the complete raw
files of the evaluated split were available when the file was written. What was built is in the ledger.

training_table.json has a line for each set: its name and rows (thousands) as printed in the table, its part of the corpus, its
prefix, the source that it is from and, where there is a builder, the dataset and the config. The licence and the raw files are
those of the builder.

python -m pipelines.catalogue_pages.paper_tables
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builders import catalogue
from builders.spec import version_key
from pipelines.catalogue_pages.sources import file_needs
from pipelines.process import tables
from pipelines.process.tables import WIDTH
from pipelines.process.terminal import format_size
from pipelines.raw.settings import RawSettings
from pipelines.release import ledger

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
    for paper_set in SETS:
        paper = [
            paper_set["set"],
            paper_set["part"],
            f"{paper_set['thousands']}K",
            paper_set["prefix"],
            paper_set["source"],
        ]
        rows.append([*paper, *_our_cells(datasets.get(paper_set.get("dataset")), paper_set)])
    built = [paper_set for paper_set in SETS if paper_set.get("dataset") in datasets]
    sums = [sum(paper_set["thousands"] for paper_set in some) for some in (SETS, built)]
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
    ours = [paper_set for paper_set in SETS if paper_set.get("dataset") == row["dataset"]]
    return [{**our, "license": row["license"], **_needs(row, our["config"])} for our in ours]


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


def _our_cells(row: Mapping[str, Any] | None, paper_set: Mapping[str, Any]) -> list[str]:
    """Licence, raw files, what to get and our rows of a set."""
    if row is None:
        return ["-", "-", "-", NO_BUILDER]
    needs = _needs(row, paper_set["config"])
    known, unknown = needs["raw_bytes"], needs["raw_unknown"]
    raw = " + ".join(
        filter(None, [format_size(known) if known else "", f"{unknown if known else ''} unknown" if unknown else ""])
    )
    lists = {"by hand": needs["by_hand"], "gated": needs["gated"]}
    to_get = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in lists.items() if keys)
    return [row["license"], raw.strip(), to_get or "-", _our_rows(row, paper_set["config"])]


def _our_rows(row: Mapping[str, Any], config: str) -> str:
    """The rows of a set in our dataset, where they are known."""
    counts = row["rows"] or {}
    if (count := counts.get(f"{config}/train")) is None:
        return "not built"
    return f"{count:,} (sample)" if ", sample" in (row["counted_in"] or "") else f"{count:,}"


def training_markdown() -> str:
    """The table, as Markdown."""
    definitions = {entry.dataset: catalogue.load(entry) for entry in catalogue.entries().values()}
    lines = [
        "| set | rows in Table 6 | dataset, config | licence | digests known | by hand |",
        "| --- | ---: | --- | --- | --- | --- |",
    ]
    for paper_set in SETS:
        name, config = paper_set.get("dataset"), paper_set.get("config")
        ours = ["no builder yet", "", "", ""]
        if name:
            definition = definitions[name]
            keys = catalogue.needed_files(definition, definition.dataset.task.splits, definition.dataset.newest)
            mine = [key for key in keys if not key.startswith("mined-") or key == f"mined-{config}"]
            needs = file_needs(definition.source, mine, RawSettings().lock_files)
            fetched = [need for need in needs.values() if need.access != "by hand"]
            by_hand = [key.removesuffix(f"-{config}") for key, need in needs.items() if need.access == "by hand"]
            known = sum(need.digest for need in fetched)
            ours = [f"`{name}`, `{config}`", definition.license, f"{known} of {len(fetched)}", ", ".join(by_hand)]
        cells = [paper_set["set"], f"{paper_set['thousands']}K", *ours]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(training_markdown(), end="")
