"""What a scan found, for people and programs: text, JSON, HTML with matches side by side, and the conditions of `--fail-on`.

The file has no scripts and no external resources. All values from data are escaped, and long ones are cut.

KIND          a row was found as this kind: exact, folded, near, contained; any: as any of them
KIND:SHARE    this share of the rows of a column of a split, or more: `exact:0.1%`, `any:0.001`
unread        bytes of the corpus that may be text were not read; unread:SHARE: this share of all bytes, or more
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from msgspec import to_builtins

from builders import catalogue
from builders.licenses import permits_derivatives
from cards.front_matter import license_keys
from cards.markdown import number, share_text, shorten, visible
from cards.render import CARDS, card_template
from pipelines.checking.corpora import read_partition
from pipelines.checking.verdict import Condition, Grammar
from pipelines.decontamination.index_file import (
    IndexTable,
    Record,
    read_index,
    read_index_header,
    read_record,
)
from pipelines.decontamination.indexing import NOT_BUILT, available_texts
from pipelines.decontamination.matching import FOUND_SCHEMA, JOINED, KINDS, THRESHOLD, candidate_recall
from pipelines.decontamination.scans import TABLE, Scan, Sums, TableSummary, load_scan
from pipelines.hub.published_indexes import FILE, MARK, IndexFile
from pipelines.process.files import file_sha256
from pipelines.process.html import write_page
from pipelines.process.stages import format_amount
from pipelines.process.tables import WIDTH, table, wrap
from pipelines.raw.requests import HUB

MAX_NAMES = 8  # of datasets without matches


def index_page(tables: Sequence[IndexTable], output: Path, record: Record, *, width: int | None) -> list[str]:
    """The tables of an index, its size, and what it lacks."""
    rows = [[dataset_name(indexed), location(indexed), number(indexed.rows)] for indexed in tables]
    texts, size = sum(indexed.rows for indexed in tables), output.stat().st_size
    names, versions = {indexed.dataset for indexed in tables}, {indexed.identity for indexed in tables}
    several = f" in {len(versions)} versions" if len(versions) > len(names) else ""
    per_text = f", {size / texts:.0f} bytes a text" if texts else ""
    datasets = f"{output}: {format_amount(len(names), 'datasets')}{several}"
    sentences = [f"{datasets}, {format_amount(texts, 'texts')}, {number(size)} bytes{per_text}"]
    sentences += lacking(record, len(record.unread))
    lines = table([["dataset", "table", "texts"], *rows], width=width, numbers=("texts",)).splitlines()
    return [*lines, "", *(part for text in sentences for part in wrap(text, width=width or WIDTH, break_words=False))]


def lacking(record: Record, shown: int) -> list[str]:
    """What an index lacks, a sentence for each reason. shown: how many datasets a sentence names."""
    names: dict[str, dict[str, None]] = {}
    for unread in record.unread:
        names.setdefault(unread.reason, {})[unread.dataset] = None
    return [
        f"{reason}, so not in the index: {format_amount(len(several), 'datasets')}: {', '.join([*several][:shown])}"
        + (", ..." if len(several) > shown else "")
        for reason, several in names.items()
    ]


def index_to_json(tables: Sequence[IndexTable], output: Path, record: Record) -> dict[str, Any]:
    """The same for programs. missing: datasets that have not been built; unread: all that is lacking, with the reasons."""
    keys = ("dataset", "version", "content_sha256", "config", "split", "column", "rows")
    listed = [{key: getattr(indexed, key) for key in keys} for indexed in tables]
    return {
        "output": str(output),
        "texts": sum(indexed.rows for indexed in tables),
        "bytes": output.stat().st_size,
        "tables": listed,
        "missing": [unread.dataset for unread in record.unread if unread.reason == NOT_BUILT],
        "unread": to_builtins(record.unread),
    }


def index_to_publish(path: Path, version: str, name: str | None = None) -> IndexFile:
    """An index as `publish_index` takes it. Raises SourceError for a file that is damaged, or not an index."""
    return IndexFile(path, version, len(read_index(path).columns["table"]), partial(index_card, path), name)


def index_card(path: Path, repo: str, tag: str) -> bytes:
    """The card of an index on the Hub: what is in it and what is not, what it is made of, whose the texts are."""
    header, record = read_index_header(path), read_record(path)
    counts = Counter[tuple[str, str]]()
    for indexed in header.tables:
        counts[indexed.dataset, indexed.version] += indexed.rows
    entries = catalogue.entries()
    known = {name: catalogue.load(entries[name]).license for name, _ in counts if name in entries} | record.licenses
    datasets = [
        {"name": name, "version": version, "texts": texts, "licence": known.get(name, "not known")}
        for (name, version), texts in sorted(counts.items())
    ]
    title = repo.partition("/")[2]
    metadata = {
        "pretty_name": f"Contamination index {title}",
        **license_keys("index", "other", f"{HUB}/datasets/{repo}#licences"),
        "tags": ["embedding-datasets", "contamination-index"],
        "configs": [{"config_name": "default", "data_files": FILE}],
    }
    card = card_template("index.md.jinja").render(
        front_matter=yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=120),
        title=title,
        repo=repo,
        tag=tag,
        mark=MARK,
        header=header,
        record=record,
        sha256=file_sha256(path),
        bytes=path.stat().st_size,
        datasets=datasets,
    )
    return card.encode()


def scan_page(scan: Scan, summaries: Sequence[TableSummary], *, width: int | None) -> list[str]:
    """The result of a scan: a table of the datasets with matches, then remarks."""
    sums, space = scan.sums, width or WIDTH
    lines = wrap(read_text(scan), "corpus: ", width=space)
    lines += wrap(
        f"{format_amount(sums.rows_found, 'rows')} of the corpus ({share_text(sums.share_found)}) with texts of the index",
        "found: ",
        width=space,
    )
    if found := [summary for summary in summaries if summary.found]:
        lines += ["", *_found_lines(found, width)]
    units = (f"whole in one row of the corpus: {unit}" for unit in _whole_units(summaries))
    sentences = [*units, *remarks(scan, summaries)]
    return [*lines, "", *(line for sentence in sentences for line in wrap(sentence, "- ", width=space))]


def _found_lines(found: Sequence[TableSummary], width: int | None) -> list[str]:
    """The tables with matches. On a terminal, each dataset is a line, with its tables below it."""
    figures = [["rows", *KINDS, "share"]]
    figures += [
        [number(summary.table.rows), *(number(summary.kinds[kind]) for kind in KINDS), share_text(summary.share)]
        for summary in found
    ]
    names = [["dataset", "table"], *([dataset_name(summary.table), location(summary.table)] for summary in found)]
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
    files = format_amount(len(scan.corpus.files), "files")
    return f"{files}, {format_amount(scan.sums.rows, 'rows')}, {format_amount(scan.sums.texts, 'texts')}"


MAX_UNREAD = 12  # columns that a page names
REASONS = {"format": "a file in another format", "name": "by its name", "request": "not named with --text"}
NOT_TEXT = (
    "number",
    "null",
    "name",
)  # a name leaves out strings of fewer than five words, which are never listed alone


def unread_text(sums: Sums) -> str:
    """What was not read of the corpus, with its share of the bytes."""
    total = sums.read + int(sums.unread["bytes"].sum())
    listed = [
        f"{column} ({REASONS.get(reason, reason)}, {share_text(size / max(total, 1))})"
        for column, reason, size in sums.unread.head(MAX_UNREAD).iter_rows()
    ]
    more = len(sums.unread) - MAX_UNREAD
    others = [f"{number(more)} more" if more > 0 else ""]
    share = share_text((total - sums.read) / max(total, 1))
    return f"not read, {share} of the bytes: {', '.join(filter(None, listed + others))}" if listed else ""


def remarks(scan: Scan, summaries: Sequence[TableSummary]) -> list[str]:
    """Remarks on the numbers of a scan, as sentences."""
    names = dict.fromkeys(dataset_name(summary.table) for summary in summaries)
    with_matches = {dataset_name(summary.table) for summary in summaries if summary.found}
    without = [name for name in names if name not in with_matches]
    shown = ", ".join(without[:MAX_NAMES]) + (", ..." if len(without) > MAX_NAMES else "")
    short, estimated = (sum(getattr(summary, name) for summary in summaries) for name in ("short", "estimated"))
    absent = len({summary.table.identity for summary in summaries if not summary.is_available})
    recall = candidate_recall(scan.threshold) * 100
    todo = "put their releases below --releases, or name the datasets with --benchmark"
    said = {
        unread_text(scan.sums): len(scan.sums.unread),
        **dict.fromkeys(lacking(read_record(scan.index), MAX_NAMES), 1),
        f"nothing found of {format_amount(len(without), 'datasets')}: {shown}": len(without),
        f"not counted: {format_amount(short, 'rows')} whose texts of 1 to 4 words are in the corpus by themselves": short,
        f"estimated: {format_amount(estimated, 'near rows')}, as their texts are not available: {todo}": estimated,
        f"the texts of {format_amount(absent, 'datasets')} are not available: near-duplicates of them are estimated": absent
        and not estimated,
        f"of texts with a similarity of {scan.threshold:g}, {recall:.1f} % are compared at all": scan.threshold
        < THRESHOLD,
    }
    return [sentence for sentence, is_so in said.items() if is_so]


def _whole_units(summaries: Sequence[TableSummary]) -> list[str]:
    """The units that rows of the corpus have, once for all columns of a dataset that have the same."""
    places: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        if units := ", ".join(f"{number(rows)} as {unit}" for unit, rows in summary.units.items() if rows):
            places.setdefault((dataset_name(summary.table), units), []).append(location(summary.table))
    return [f"{dataset}, {units} ({' and '.join(columns)})" for (dataset, units), columns in places.items()]


def scan_to_json(scan: Scan, summaries: Iterable[TableSummary]) -> list[dict[str, Any]]:
    """One object a dataset, version, config, split and column; then one with `read`, the bytes of all texts, `unread`: the
    column or file, the reason and the bytes of what was not read, and `not_indexed`: what the index lacks, with the reasons.

    rows: of the table. exact, folded, near, contained: how many of these were found, each once, by its strictest kind; share: of
    all that were found. short: rows with a text of 1 to 4 words that is in the corpus by itself, not counted. estimated: rows
    with estimated matches only. units: rows that are in one row of the corpus with the rest of a unit.
    """
    keys = ("dataset", "version", "config", "split", "column", "rows")
    return [
        {key: getattr(summary.table, key) for key in keys}
        | dict(summary.kinds)
        | {
            "share": summary.share,
            "short": summary.short,
            "estimated": summary.estimated,
            "at_hand": summary.is_available,
            "units": dict(summary.units),
        }
        for summary in summaries
    ] + [
        {
            "read": scan.sums.read,
            "unread": scan.sums.unread.to_dicts(),
            "not_indexed": to_builtins(read_record(scan.index).unread),
        }
    ]


def clean_page(clean: Mapping[str, Any], target: Path | str) -> list[str]:
    """What was left out of a clean copy. clean: what its removed.json has."""
    dropped = clean["dropped"]
    counts = ", ".join(f"{kind} {number(dropped[kind])}" for kind in KINDS if kind in dropped)
    reasons = f" ({counts}; a row may have several)" if counts else ""
    text = f"{target}: {format_amount(clean['kept'], 'rows')} kept, {number(clean['rows'] - clean['kept'])} dropped{reasons}"
    return wrap(text, break_words=False)


def dataset_name(indexed: IndexTable) -> str:
    """The dataset of a table with its version; of a commit, the beginning."""
    return f"{indexed.dataset} {indexed.version if len(indexed.version) < 40 else indexed.version[:7]}".rstrip()


def location(indexed: IndexTable) -> str:
    """A table of a dataset and its column."""
    config = "" if indexed.config == "default" else f"{indexed.config}/"
    return f"{config}{indexed.split} {indexed.column}"


EXAMPLES = 3  # of each kind, for each column of a table
MAX_EXAMPLES = 200  # on a page
MAX_PARTITIONS = 20  # of the corpus that are read again for them
MAX_CHARACTERS = 400  # of a text
CONTEXT = 120  # characters before a contained text
MAX_MARKED_WORDS = 200
NO_DERIVATIVES = "its licence permits no derivatives: the text is not shown"
NOT_AVAILABLE = "not available"
NOT_READ = "not read again for this page"


# A text: what comes before what both texts have, that, which may be empty, and what comes after it; or why there is no text.
Excerpt = tuple[str, str, str] | str


def find_examples(scan: Scan) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Examples for each table of the index, by the values of TABLE: some of each kind, whole units first.

    An example is a match, with both texts as an Excerpt: corpus, benchmark.
    """
    chosen, entries = _choose(scan), catalogue.entries()
    known = [name for name in chosen["dataset"].unique() if name in entries]
    hidden = [name for name in known if not permits_derivatives(catalogue.load(entries[name]).license)]
    corpus = _corpus_texts(scan, chosen.filter(~pl.col("dataset").is_in(hidden)))
    benchmark = available_texts(load_scan(scan.index, scan.texts)[1], chosen["entry"].to_numpy())
    examples: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for match, other in zip(chosen.iter_rows(named=True), benchmark, strict=True):
        key, column = tuple(match[name] for name in TABLE), match["corpus_column"]
        texts = corpus.get((match["corpus_file"], match["corpus_row"]), {})
        # A run of words that two fields share has the names of both.
        fields = [column] if column in texts else column.rpartition(JOINED)[::2]
        text = " ".join(texts[field] for field in fields if field in texts) or None
        sides = _excerpt(text, other if match["kind"] == "contained" else None, NOT_READ), _excerpt(other)
        if match["dataset"] in hidden:
            sides = NO_DERIVATIVES, NO_DERIVATIVES
        examples.setdefault(key, []).append(match | {"corpus": sides[0], "benchmark": sides[1]})
    return examples


def _choose(scan: Scan) -> pl.DataFrame:
    """The matches to show, in the order of TABLE, of KINDS, and of the corpus; each text of the index once."""
    kept = pl.DataFrame(schema=FOUND_SCHEMA)
    whole_first = pl.col("unit").is_in(["text", "labelled text"])
    for result in scan.results():
        if len(result.matches):
            several = pl.concat([kept, result.matches]).sort(whole_first, maintain_order=True)
            several = several.unique([*TABLE, "row"], keep="first", maintain_order=True)
            kept = several.group_by(*TABLE, "kind", maintain_order=True).head(EXAMPLES).select(*FOUND_SCHEMA)
    kind = pl.col("kind").cast(pl.Enum(KINDS))
    return kept.sort(*TABLE, kind, "corpus_file", "corpus_row", "corpus_column", "row").head(MAX_EXAMPLES)


def _corpus_texts(scan: Scan, chosen: pl.DataFrame) -> Mapping[tuple[str, int], dict[str, str]]:
    """The texts of the rows of these matches by column, by file and row; from at most MAX_PARTITIONS partitions."""
    starts = [(part.file.name, part.first_row, at) for at, part in enumerate(scan.partitions)]
    schema = {"corpus_file": pl.String, "corpus_row": pl.Int64, "partition": pl.Int64}
    parts = pl.DataFrame(starts, schema, orient="row").sort("corpus_row", maintain_order=True)
    wanted = chosen.sort("corpus_row").join_asof(parts, on="corpus_row", by="corpus_file", check_sortedness=False)
    texts: dict[tuple[str, int], dict[str, str]] = {}
    for rows in wanted.sort("partition", "corpus_row").partition_by("partition", maintain_order=True)[:MAX_PARTITIONS]:
        partition = scan.partitions[rows["partition"][0]]
        for batch in read_partition(partition):
            for row, column, text in batch.texts.filter(pl.col("row").is_in(rows["corpus_row"].implode())).iter_rows():
                texts.setdefault((partition.file.name, row), {})[column] = text
            if len(batch.texts) and batch.texts["row"][-1] >= rows["corpus_row"][-1]:
                break
    return texts


def _excerpt(text: str | None, contained: str | None = None, absent: str = NOT_AVAILABLE) -> Excerpt:
    """A text, cut. contained: what it contains, in other case and punctuation perhaps."""
    if text is None:
        return absent
    words = re.findall(r"\w+", contained or "")
    pattern = r"[\W_]+".join(map(re.escape, words))
    if 0 < len(words) <= MAX_MARKED_WORDS and (found := re.search(pattern, text, re.IGNORECASE)):
        before, after = text[: found.start()], text[found.end() :]
        cut = f"... {before[-CONTEXT:].partition(' ')[2]}" if len(before) > CONTEXT else before
        return _readable(cut), _readable(found[0]), _readable(after, CONTEXT)
    return _readable(text), "", ""


def _readable(text: str, limit: int = MAX_CHARACTERS) -> str:
    return visible(str(shorten(text.replace("\u00a0", " "), limit)))


SERIOUS_SHARE = 0.01  # of the rows of a table, from which its score says little


def write(path: Path, scan: Scan, summaries: Sequence[TableSummary]) -> None:
    """Write the page atomically: an error leaves the old file as it was."""
    found = [summary for summary in summaries if summary.found]
    write_page(
        path,
        CARDS / "contamination.html.jinja",
        corpus=read_text(scan),
        sums=scan.sums,
        found=found,
        worst=max(found, key=lambda summary: summary.share, default=None),
        serious_share=SERIOUS_SHARE,
        datasets=len({summary.table.dataset for summary in found}),
        whole=sum(rows for summary in found for rows in summary.units.values()),
        examples=find_examples(scan) if found else {},
        kinds=KINDS,
        remarks=remarks(scan, summaries),
        threshold=f"{scan.threshold:g}",
        format_amount=format_amount,
        dataset_name=dataset_name,
        location=location,
    )


ANY, UNREAD = "any", "unread"
GRAMMAR = Grammar(
    "match",
    (),
    (*KINDS, ANY, UNREAD),
    f"{', '.join(KINDS)}, any, unread, or one of them with a share: exact:0.1%, any:0.001",
    "docs/contamination.md",
)


def met_conditions(conditions: Iterable[Condition], sums: Sums, summaries: Sequence[TableSummary]) -> list[str]:
    """The conditions that what was found meets, as the user wrote them."""
    unread = int(sums.unread.filter(~pl.col("reason").is_in(NOT_TEXT))["bytes"].sum())
    counts = {kind: [(one.kinds.get(kind, 0), one.table.rows) for one in summaries] for kind in KINDS}
    counts |= {ANY: [(one.found, one.table.rows) for one in summaries], UNREAD: [(unread, sums.read + unread)]}
    return [
        condition.text
        for condition in conditions
        if any(count > 0 and count >= condition.share * total for count, total in counts[condition.what])
    ]
