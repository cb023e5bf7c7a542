"""What the command contamination prints: an index, and a scan, as text and as JSON."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cards.markdown import number, share_text
from pipelines.corpus_scan.clean import CleanCorpus
from pipelines.corpus_scan.index_file import IndexTable
from pipelines.corpus_scan.matching import KINDS, THRESHOLD
from pipelines.corpus_scan.scans import Scan
from pipelines.corpus_scan.summaries import TableSummary
from pipelines.corpus_scan.verification import candidate_recall
from pipelines.report.tables import WIDTH, table, wrap

MAX_NAMES = 8  # of datasets without matches


def index_page(tables: Sequence[IndexTable], output: Path, size: int, *, width: int | None) -> list[str]:
    """What an index is of, and how large it is. size: in bytes."""
    rows = [["dataset", "table", "texts"]]
    rows += [[dataset_name(one), location(one), number(one.rows)] for one in tables]
    texts, datasets = sum(one.rows for one in tables), count(len({one.dataset for one in tables}), "dataset")
    versions = len({one.identity for one in tables})
    datasets += f" in {versions} versions" if versions > len({one.dataset for one in tables}) else ""
    per_text = f", {size / texts:.0f} bytes a text" if texts else ""
    line = f"{output}: {datasets}, {count(texts, 'text')}, {number(size)} bytes{per_text}"
    lines = table(rows, width=width, numbers=("texts",)).splitlines()
    return [*lines, "", *wrap(line, width=width or WIDTH, break_words=False)]


def index_json(tables: Sequence[IndexTable], output: Path, size: int) -> dict[str, Any]:
    """The same for programs."""
    keys = ("dataset", "version", "content_sha256", "config", "split", "column", "rows")
    listed = [{key: getattr(one, key) for key in keys} for one in tables]
    texts = sum(one.rows for one in tables)
    return {"output": str(output), "texts": texts, "bytes": size, "tables": listed}


def scan_page(scan: Scan, summaries: Sequence[TableSummary], *, width: int | None) -> list[str]:
    """What a scan found: a table of the datasets with matches, then what else there is to know."""
    sums, space = scan.sums, width or WIDTH
    lines = wrap(read_text(scan), "corpus: ", width=space)
    lines += wrap(
        f"{count(sums.rows_found, 'row')} of the corpus ({share_text(sums.share_found)}) with texts of the index",
        "found: ",
        width=space,
    )
    found = [one for one in summaries if one.found]
    if found:
        lines += ["", *_found_lines(found, width)]
    said = [f"whole in one row of the corpus: {one}" for one in _whole_units(summaries)] + remarks(scan, summaries)
    return [*lines, "", *(line for one in said for line in wrap(one, "- ", width=space))]


def _found_lines(found: Sequence[TableSummary], width: int | None) -> list[str]:
    """A table of what was found. On a terminal a dataset has a line, and its tables have theirs below it."""
    figures = [["rows", *KINDS, "share"]]
    figures += [
        [number(one.table.rows), *(number(one.kinds[kind]) for kind in KINDS), share_text(one.share)] for one in found
    ]
    names = [["dataset", "table"], *([dataset_name(one.table), location(one.table)] for one in found)]
    if width is None:
        rows = [[*name, *row] for name, row in zip(names, figures, strict=True)]
        return table(rows, numbers=figures[0]).splitlines()
    heading, _, *aligned = table(figures, numbers=figures[0]).splitlines()
    space = max(width - len(heading) - 2, 8)
    column = min(max(len(name[1]) + 2 for name in names), space)
    lines, before = [f"{'dataset':<{column}}  {heading}"], ""
    for (dataset, place), row in zip(names[1:], aligned, strict=True):
        lines += [dataset] if dataset != before else []
        before, indented = dataset, f"  {place}"
        lines += [f"{indented:<{column}}  {row}"] if len(indented) <= column else [indented, " " * (column + 2) + row]
    return lines


def read_text(scan: Scan) -> str:
    """What was read of the corpus."""
    files = count(len(scan.corpus.files), "file")
    return f"{files}, {count(scan.sums.rows, 'row')}, {count(scan.sums.texts, 'text')}"


def remarks(scan: Scan, summaries: Sequence[TableSummary]) -> list[str]:
    """What the numbers of a scan do not say, as sentences."""
    said = []
    with_matches = {dataset_name(one.table) for one in summaries if one.found}
    without = [name for name in dict.fromkeys(dataset_name(one.table) for one in summaries) if name not in with_matches]
    if without:
        shown = ", ".join(without[:MAX_NAMES]) + (", ..." if len(without) > MAX_NAMES else "")
        said.append(f"nothing found of {count(len(without), 'dataset')}: {shown}")
    if short := sum(one.short for one in summaries):
        said.append(f"not counted: {count(short, 'row')} whose texts of 1 to 4 words are in the corpus by themselves")
    if estimated := sum(one.estimated for one in summaries):
        todo = "put their releases below --releases, or name the datasets with --benchmark"
        said.append(f"estimated: {count(estimated, 'near row')}, as their texts are not at hand: {todo}")
    elif absent := len({one.table.identity for one in summaries if not one.at_hand}):
        said.append(f"the texts of {count(absent, 'dataset')} are not at hand: near-duplicates of them are estimated")
    if scan.threshold < THRESHOLD:
        recall = candidate_recall(scan.threshold) * 100
        said.append(f"of texts with a similarity of {scan.threshold:g}, {recall:.1f} % are compared at all")
    return said


def _whole_units(summaries: Sequence[TableSummary]) -> list[str]:
    """The units that rows of the corpus have, once for all columns of a dataset that have the same."""
    places: dict[tuple[str, str], list[str]] = {}
    for one in summaries:
        units = ", ".join(f"{number(rows)} as {unit}" for unit, rows in one.units.items() if rows)
        if units:
            places.setdefault((dataset_name(one.table), units), []).append(location(one.table))
    return [f"{dataset}, {units} ({' and '.join(columns)})" for (dataset, units), columns in places.items()]


def scan_json(summaries: Iterable[TableSummary]) -> list[dict[str, Any]]:
    """One object a dataset, version, config, split and column.

    rows: of the table. exact, folded, near, contained: how many of these were found, each once, by its strictest kind; share: of
    all that were found. short: rows with a text of 1 to 4 words that is in the corpus by itself, not counted. estimated: rows
    with estimated matches only. units: rows that are in one row of the corpus with the rest of a unit.
    """
    keys = ("dataset", "version", "config", "split", "column", "rows")
    return [
        {key: getattr(one.table, key) for key in keys}
        | dict(one.kinds)
        | {"share": one.share, "short": one.short, "estimated": one.estimated, "at_hand": one.at_hand}
        | {"units": dict(one.units)}
        for one in summaries
    ]


def clean_page(clean: CleanCorpus, target: Path) -> list[str]:
    """What was left out of a clean copy."""
    counts = ", ".join(f"{kind} {number(clean.dropped[kind])}" for kind in KINDS if kind in clean.dropped)
    reasons = f" ({counts}; a row may have several)" if counts else ""
    text = f"{target}: {count(clean.kept, 'row')} kept, {number(clean.rows - clean.kept)} dropped{reasons}"
    return wrap(text, break_words=False)


def dataset_name(one: IndexTable) -> str:
    """The dataset of a table with its version; of a commit, the beginning."""
    return f"{one.dataset} {one.version if len(one.version) < 40 else one.version[:7]}".rstrip()


def location(one: IndexTable) -> str:
    """A table of a dataset and its column."""
    config = "" if one.config == "default" else f"{one.config}/"
    return f"{config}{one.split} {one.column}"


def count(amount: int, what: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number(amount)} {what}{'' if amount == 1 else 's'}"
