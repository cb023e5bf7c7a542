"""Examples of matches: the text of the corpus beside that of the benchmark."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from builders import catalogue
from builders.licenses import permits_derivatives
from cards import markdown
from pipelines.corpus_scan.matching import JOINED, KINDS, MATCH_SCHEMA
from pipelines.corpus_scan.partitions import read_partition
from pipelines.corpus_scan.scans import TABLE, Scan

EXAMPLES = 3  # of each kind, for each column of a table
MAX_EXAMPLES = 200  # on a page
MAX_PARTITIONS = 20  # of the corpus that are read again for them
MAX_CHARACTERS = 400  # of a text
CONTEXT = 120  # characters before a contained text
MAX_MARKED_WORDS = 200
NO_DERIVATIVES = "its licence permits no derivatives: the text is not shown"
NOT_AT_HAND = "not at hand"
NOT_READ = "not read again for this page"


@dataclass(frozen=True)
class Excerpt:
    """A text, cut where it is long: what comes before and after what both texts have, which is empty where that is all of it.

    absent: why there is no text.
    """

    before: str = ""
    shared: str = ""
    after: str = ""
    absent: str = ""


@dataclass(frozen=True)
class Example:
    """A match with both of its texts. where: in the corpus. row: of the benchmark."""

    kind: str
    unit: str
    similarity: str
    where: str
    row: str
    corpus: Excerpt
    benchmark: Excerpt


def find_examples(scan: Scan) -> dict[tuple[str, ...], list[Example]]:
    """Examples for each table of the index, by the values of TABLE: some of each kind, whole units first."""
    chosen = _choose(scan)
    if not len(chosen):
        return {}
    hidden = {name for name in chosen["dataset"].unique() if not _may_show(name)}
    corpus = _corpus_texts(scan, chosen.filter(~pl.col("dataset").is_in(sorted(hidden))))
    benchmark = _benchmark_texts(scan, chosen)
    examples: dict[tuple[str, ...], list[Example]] = {}
    for match in chosen.iter_rows(named=True):
        key = tuple(match[name] for name in TABLE)
        text = corpus.get((match["corpus_file"], match["corpus_row"], match["corpus_column"]))
        other = benchmark.get((*key, match["row"]))
        if match["dataset"] in hidden:
            sides = (Excerpt(absent=NO_DERIVATIVES), Excerpt(absent=NO_DERIVATIVES))
        else:
            sides = (_excerpt(text, other if match["kind"] == "contained" else None, NOT_READ), _excerpt(other))
        where = f"{match['corpus_file']}, row {match['corpus_row']}, {match['corpus_column']}"
        similarity = f"{'about ' if match['is_estimated'] else ''}{match['similarity']:.2f}"
        shown = similarity if match["kind"] == "near" else ""
        examples.setdefault(key, []).append(Example(match["kind"], match["unit"], shown, where, match["row"], *sides))
    return examples


def _choose(scan: Scan) -> pl.DataFrame:
    """The matches to show, in the order of TABLE, of KINDS, and of the corpus; each text of the index once."""
    kept = pl.DataFrame(schema=MATCH_SCHEMA)
    whole_first = pl.col("unit").is_in(["text", "labelled text"])
    for result in scan.results():
        if len(result.matches):
            several = pl.concat([kept, result.matches]).sort(whole_first, maintain_order=True)
            several = several.unique([*TABLE, "row"], keep="first", maintain_order=True)
            kept = several.group_by(*TABLE, "kind", maintain_order=True).head(EXAMPLES).select(*MATCH_SCHEMA)
    rank = pl.col("kind").replace_strict({kind: rank for rank, kind in enumerate(KINDS)}, return_dtype=pl.Int64)
    return kept.sort(*TABLE, rank, "corpus_file", "corpus_row", "corpus_column", "row").head(MAX_EXAMPLES)


def _may_show(dataset: str) -> bool:
    entry = catalogue.entries().get(dataset)
    return entry is None or permits_derivatives(catalogue.load(entry).license)


def _corpus_texts(scan: Scan, chosen: pl.DataFrame) -> Mapping[tuple[str, int, str], str]:
    """The texts of these matches, by file, row and column; from at most MAX_PARTITIONS partitions."""
    wanted: dict[str, set[int]] = {}
    for file, row in chosen.select("corpus_file", "corpus_row").iter_rows():
        wanted.setdefault(file, set()).add(row)
    texts: dict[tuple[str, int, str], str] = {}
    partitions, read = scan.partitions, 0
    for number, partition in enumerate(partitions):
        name, following = partition.file.name, partitions[number + 1 : number + 2]
        end = following[0].first_row if following and following[0].file.name == name else None
        rows = {row for row in wanted.get(name, ()) if row >= partition.first_row and (end is None or row < end)}
        if not rows or read == MAX_PARTITIONS:
            continue
        read += 1
        for batch in read_partition(partition):
            found = batch.texts.filter(pl.col("row").is_in(sorted(rows)))
            texts |= {(name, row, column): text for row, column, text in found.iter_rows()}
            if len(batch.texts) and batch.texts["row"][-1] >= max(rows):
                break
    for file, row, column in chosen.select("corpus_file", "corpus_row", "corpus_column").iter_rows():
        first, joined, last = column.rpartition(JOINED)
        if joined and (file, row, column) not in texts:  # a run of words that two fields share
            parts = [texts.get((file, row, one)) for one in (first, last)]
            texts |= {(file, row, column): " ".join(one for one in parts if one)} if any(parts) else {}
    return texts


def _benchmark_texts(scan: Scan, chosen: pl.DataFrame) -> Mapping[tuple[str, ...], str]:
    """The texts at hand of the rows of the index in these matches, by the values of TABLE and the row."""
    lookup, source = scan.load()
    if source is None:
        return {}
    wanted: dict[tuple[str, ...], set[str]] = {}
    for *values, row in chosen.select(*TABLE, "row").iter_rows():
        wanted.setdefault(tuple(values), set()).add(row)
    texts: dict[tuple[str, ...], str] = {}
    for number, (table, at_hand) in enumerate(zip(scan.tables, scan.at_hand, strict=True)):
        if table.key not in wanted or not at_hand:
            continue
        entries = np.flatnonzero(lookup.index.table == number)
        names = pl.Series(lookup.index.rows.take(pa.array(entries)), dtype=pl.String)
        is_wanted = names.is_in(sorted(wanted[table.key]))
        found = zip(names.filter(is_wanted), source.texts(entries[is_wanted.to_numpy()]), strict=True)
        texts |= {(*table.key, name): text for name, text in found if text is not None}
    return texts


def _excerpt(text: str | None, contained: str | None = None, absent: str = NOT_AT_HAND) -> Excerpt:
    """A text, cut. contained: what it contains, in other case and punctuation perhaps."""
    if text is None:
        return Excerpt(absent=absent)
    words = re.findall(r"\w+", contained or "")
    if 0 < len(words) <= MAX_MARKED_WORDS:
        found = re.search(r"[\W_]+".join(map(re.escape, words)), text, re.IGNORECASE)
        if found:
            before, after = text[: found.start()], text[found.end() :]
            cut = f"... {before[-CONTEXT:].partition(' ')[2]}" if len(before) > CONTEXT else before
            return Excerpt(_readable(cut), _readable(found[0]), _readable(after, CONTEXT))
    return Excerpt(_readable(text))


def _readable(text: str, limit: int = MAX_CHARACTERS) -> str:
    return markdown.visible(str(markdown.shorten(text.replace("\u00a0", " "), limit)))
