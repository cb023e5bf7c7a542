"""The tables of the papers beside our datasets: the tasks of the benchmarks, and the sets that ru-en-RoSBERTa was trained on.

What the papers print is in builders/papers. expected_sizes.json holds the size that version 1.0.0 of a dataset should have, as
train / validation / test where there are several splits (`raw` marks a count of raw records, before the recipe drops any). What
was built is in the ledger.

python -m pipelines.catalogue_pages.paper_tables
"""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from builders import catalogue, papers
from builders.benchmarks import BENCHMARKS, BUILT_IN, BuiltInTask
from builders.spec import AS_PUBLISHED, TRAINING, version_key
from cards import markdown
from pipelines.catalogue_pages.sources import file_needs
from pipelines.process import tables
from pipelines.process.tables import WIDTH
from pipelines.process.terminal import format_size
from pipelines.raw.settings import RawSettings
from pipelines.release import ledger

EXPECTED: Mapping[str, str] = json.loads(Path(__file__).with_name("expected_sizes.json").read_text("utf-8"))
# A dataset of ruMTEB is a block: its name and its sizes are too long for one line.
INDENT, COLUMN = "    ", 25
NOTES = {
    "rumteb": "Sizes are of train / validation / test, without the splits that a task does not have. paper: as printed in"
    " Table 1, rows if nothing else is said. size: what version 1.0.0 has, or should have. real: verified on complete real"
    " files. here: in the output folder.",
    "ateb": "The paper prints no sizes. Sizes are rows (reasoning: queries; document-level: documents) of train / validation"
    " / test, without the splits that a task does not have. raw: records of the raw files, before any are dropped. -:"
    " unknown without the raw files. here: in the output folder.",
    "mteb-rus-v1.1": "For each task of mteb: our dataset that it reads once path and revision are changed, in the version to"
    " use: 0.1.0, the published rows, where there is one, else 1.0.0; and the size of that version, from the ledger, or as"
    " expected; - if neither is known.",
}
HAND = ("by hand", "made here")  # files that no program downloads


@dataclass(frozen=True)
class PaperTask:
    """A dataset of a benchmark as its paper has it. size: as printed, empty where it prints none. group: ours of ATEB's tasks."""

    size: str
    expected: str
    group: str = ""
    note: str = ""


UNLISTED = PaperTask("not in the paper", "-", "not in the paper")  # names the benchmark, but is not in its table


def paper_tasks(benchmark: str) -> dict[str, PaperTask]:
    """The datasets of a benchmark, in the order of its paper; none for a group without a table."""
    if benchmark == "rumteb":
        return {
            row.dataset: PaperTask(_printed(row), EXPECTED[row.dataset], note=row.note)
            for row in papers.sizes().values()
        }
    tasks = papers.ateb_tasks().values() if benchmark == "ateb" else ()
    return {task.dataset: PaperTask("", EXPECTED[task.dataset], task.group) for task in tasks}


def _printed(row: papers.Size) -> str:
    cells = " / ".join(markdown.number(int(cell)) for cell in (row.train, row.validation, row.test) if cell)
    return f"{cells} {row.counts}" if row.counts in ("queries", "judgements") else cells


def benchmark_page(
    benchmark: str, descriptions: Sequence[Mapping[str, Any]], width: int | None = None, *, verbose: bool = False
) -> str:
    """The table of a benchmark. descriptions: of its datasets, by `pipelines.show.describe`. width: as for tables.table.

    verbose: ruMTEB with what is said of the sizes in its paper, several lines a dataset.
    """
    datasets, tasks = {row["dataset"]: row for row in descriptions}, paper_tasks(benchmark)
    tasks |= {name: UNLISTED for name in datasets if name not in tasks}
    note = textwrap.wrap(f"{status_line(descriptions)} {NOTES[benchmark]}", WIDTH)
    if of_mteb := BENCHMARKS[benchmark].tasks:
        entries = [_mteb_entry(task, datasets[task.dataset]) for task in BUILT_IN if task.name in of_mteb]
        return "\n".join([*(line for entry in entries for line in entry), "", *note])
    if benchmark == "rumteb" and verbose:
        entries = [_rumteb_entry(datasets[name], task) for name, task in tasks.items()]
        heading = ["dataset  task", *_columns("paper", "size", "real"), "-" * WIDTH]
        return "\n".join([*heading, *(line for entry in entries for line in entry), "", *note])
    if benchmark == "rumteb":
        rows = [["dataset", "task", "paper", "size", "real", "here"]]
        rows += [_rumteb_row(datasets[name], task) for name, task in tasks.items()]
        more = f"-v says why {sum(bool(task.note) for task in tasks.values())} sizes are not those of the paper."
        return "\n".join([tables.table(rows, width=width, optional=("task", "paper")), "", *note, more])
    rows = [["dataset", "group", "source", "size", "licence", "verified on", "here"]]
    rows += [_ateb_row(datasets[name], task) for name, task in tasks.items()]
    return "\n".join([tables.table(rows, width=width, optional=("licence", "source", "group")), "", *note])


def status_line(descriptions: Sequence[Mapping[str, Any]]) -> str:
    """How many datasets met real files: all of a version, or a part. descriptions: by `pipelines.show.describe`."""
    counts = [sum(row["status"] == state for row in descriptions) for state in (ledger.VERIFIED, ledger.PART)]
    part = f", {counts[1]} on a part" if counts[1] else ""
    return f"{counts[0]} of {len(descriptions)} datasets {ledger.VERIFIED}{part}."


def status_summary() -> str:
    """How many datasets of each group have been built from complete real files, by the ledger: a sentence."""
    parts = []
    for group, title in (
        *((name, record.title) for name, record in BENCHMARKS.items()),
        (TRAINING, "the training datasets"),
    ):
        states = [ledger.status(entry.dataset) for entry, _ in catalogue.resolve([group])]
        more = f" ({states.count(ledger.PART)} more in part)" if ledger.PART in states else ""
        sets = f" with {len(papers.training_sets())} sets" if group == TRAINING else ""
        parts.append(f"{states.count(ledger.VERIFIED)} of {len(states)} of {title}{sets}{more}")
    return f"Built from complete real files so far: {', '.join(parts)}."


def _rumteb_row(dataset: Mapping[str, Any], task: PaperTask) -> list[str]:
    verified = {ledger.VERIFIED: "yes", ledger.PART: "part"}.get(dataset["status"], "-")
    paper, size = (text.replace(" / ", "/") for text in (task.size, task.expected))
    return [dataset["dataset"], dataset["task"], paper, size, verified, dataset["built"]]


def _rumteb_entry(dataset: Mapping[str, Any], task: PaperTask) -> list[str]:
    """A dataset with its sizes, a note on the paper's, and the versions in the output folder: lines of at most WIDTH."""
    lines = [f"{dataset['dataset']}  {dataset['task']}"]
    lines += _columns(task.size, task.expected, built_size(dataset["dataset"]))
    if task.note:
        lines += _wrap(f"Table 1: {task.note}")
    lines += _wrap(dataset["status"])
    if dataset["built"] != "-":
        lines += _wrap(f"in the output folder: {dataset['built']}")
    return lines


def _mteb_entry(task: BuiltInTask, dataset: Mapping[str, Any]) -> list[str]:
    """A task of mteb with our dataset, the version to use, its size and its status."""
    version = AS_PUBLISHED if AS_PUBLISHED in dataset["versions"] else "1.0.0"
    size = built_size(task.dataset, version)
    if size == "-" and task.dataset in EXPECTED:
        size = f"{EXPECTED[task.dataset]} expected"
    waiting = " (waits for decide)" if version in dataset["waiting"] else ""
    return [task.name, *_wrap(f"{task.dataset}@{version}{waiting}: {size}; {dataset['status']}")]


def built_size(dataset: str, version: str = "1.0.0") -> str:
    """The size of a version in the ledger: rows by split, or documents and queries; of a part of it; - if it has neither."""
    entry = ledger.find_entry(dataset, version) or ledger.read_parts().get(dataset, {}).get(version)
    if entry is None:
        return "-"
    counts = {table.config: table.rows for table in entry.tables}
    if "queries" in counts:
        return f"{counts['corpus']:,} documents, {counts['queries']:,} queries"
    if isinstance(entry, ledger.LedgerPart):
        return ", ".join(f"{table.split} {table.rows:,}" for table in entry.tables)
    return " / ".join(f"{table.rows:,}" for table in entry.tables)


def _columns(*cells: str) -> list[str]:
    """Cells side by side, each wrapped to the width of its column."""
    lines = zip_longest(*(textwrap.wrap(cell, COLUMN - 1) for cell in cells), fillvalue="")
    return [(INDENT + "".join(part.ljust(COLUMN) for part in line)).rstrip() for line in lines]


def _wrap(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT * 2)


def _ateb_row(dataset: Mapping[str, Any], task: PaperTask) -> list[str]:
    """A dataset with its status, and the newest version that the ledger has."""
    cells = [dataset["dataset"], task.group, dataset["source"], task.expected, dataset["license"]]
    versions = [version for version in dataset["versions"] if ledger.find_entry(dataset["dataset"], version)]
    newest = f", {max(versions, key=version_key)}" if versions else ""
    return [*cells, dataset["status"].removeprefix("verified on ") + newest, dataset["built"]]


PARTS = {
    "Basic English Datasets": "basic English",
    "Basic Russian Datasets": "basic Russian",
    "Additional Synthetic Datasets": "synthetic",
    "Additional Retrieval Datasets": "retrieval",
}
NOTE = (
    "paper: pairs as printed in Table 6, in thousands. prefix: search is short for search_query and search_document."
    " licence: where it is other, unknown or non-commercial, publish asks for --i-have-the-rights. raw: the files of the"
    " source that the newest version reads, as far as their sizes are known; sets of one dataset share them. to get: raw"
    " files that no program downloads, or whose publisher asks you to accept terms. ours: the rows of the newest version"
    " in the output folder, else in the ledger; a sample is marked. The authors' sample, their mined negatives and their"
    " random ones cannot be recovered: docs/training.md."
)


def training_page(descriptions: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """The table. descriptions: of our training data, by `pipelines.show.describe`. width: as for tables.table."""
    datasets = {row["dataset"]: row for row in descriptions}
    sets = [row for row in papers.training_sets() if row.dataset in datasets]
    rows = [["set", "part", "paper", "prefix", "source", "licence", "raw", "to get", "ours"]]
    for row in sets:
        dataset = datasets[row.dataset]
        paper = [row.set, PARTS[row.part], f"{float(row.thousands):g}K", row.prefix.split("_")[0], dataset["source"]]
        rows.append([*paper, *_our_cells(dataset, row)])
    table = tables.table(rows, width=width, optional=("part", "source", "to get", "raw", "licence"))
    words = f"{len(sets)} sets with about {sum(row.pairs for row in sets):,} pairs, in {len(datasets)} datasets."
    below = [
        line
        for text in (words, status_line(descriptions), NOTE)
        for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)
    ]
    return "\n".join([table, "", *below])


def describe_sets(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sets of a dataset, as the table has them. row: of the dataset, by `pipelines.show.describe`.

    raw_bytes: of its downloads with a known size; raw_unknown: the number of the others. by_hand, gated: keys of raw files.
    """
    return [
        {**asdict(printed), "license": row["license"], **_needs(row, config)}
        for config, printed in papers.sets_of(row["dataset"]).items()
    ]


def _needs(row: Mapping[str, Any], config: str) -> dict[str, Any]:
    """What a set is built from."""
    needs = row["needs"]
    keys = _keys_of(needs, config)
    by_hand = [key for key in keys if needs[key]["access"] in HAND]
    sizes = [needs[key]["bytes"] for key in keys if key not in by_hand]
    return {
        "raw_bytes": sum(size or 0 for size in sizes),
        "raw_unknown": sizes.count(None),
        "by_hand": [key.removesuffix(f"-{config}") for key in by_hand],
        "gated": [key for key in keys if needs[key]["access"] == "gated"],
    }


def _keys_of(keys: Iterable[str], config: str) -> list[str]:
    """Those of a set: a dataset has a file of mined negatives for each set, the other files are of all sets."""
    return [key for key in keys if key == f"mined-{config}" or not key.startswith("mined-")]


def _our_cells(row: Mapping[str, Any], printed: papers.TrainingSet) -> list[str]:
    """Licence, raw files, what to get and our rows of a set."""
    needs = _needs(row, printed.config)
    known, unknown = needs["raw_bytes"], needs["raw_unknown"]
    raw = " + ".join(
        filter(None, [format_size(known) if known else "", f"{unknown if known else ''} unknown" if unknown else ""])
    )
    lists = {"by hand": needs["by_hand"], "gated": needs["gated"]}
    to_get = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in lists.items() if keys)
    return [row["license"], raw.strip(), to_get or "-", _our_rows(row, printed.config)]


def _our_rows(row: Mapping[str, Any], config: str) -> str:
    """The rows of a set in our dataset, where they are known."""
    if (count := (row["rows"] or {}).get(f"{config}/train")) is None:
        return "not built"
    return f"{count:,} (sample)" if ", sample" in (row["counted_in"] or "") else f"{count:,}"


def training_markdown() -> str:
    """The table, as Markdown."""
    definitions = {entry.dataset: catalogue.load(entry) for entry in catalogue.entries().values()}
    columns = ("set", "pairs in Table 6", "dataset, config", "licence", "digests known", "by hand")
    rows = []
    for row in papers.training_sets():
        definition = definitions[row.dataset]
        keys = catalogue.needed_files(definition, definition.dataset.task.splits, definition.dataset.newest)
        needs = file_needs(definition.source, _keys_of(keys, row.config), RawSettings().lock_files)
        fetched = [need for need in needs.values() if need.access not in HAND]
        by_hand = [key.removesuffix(f"-{row.config}") for key, need in needs.items() if need.access in HAND]
        known = f"{sum(need.digest for need in fetched)} of {len(fetched)}" if fetched else "none to download"
        ours = [f"`{row.dataset}`, `{row.config}`", definition.license, known, ", ".join(by_hand)]
        rows.append([row.set, f"{float(row.thousands):g}K", *ours])
    table = markdown.table(dict.fromkeys(columns, "---") | {"pairs in Table 6": "---:"}, rows)
    return "\n".join([*table, ""])


if __name__ == "__main__":
    print(training_markdown(), end="")
