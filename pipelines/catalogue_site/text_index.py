"""The index by which the site finds a text in the rows of all releases: classic scripts that a browser loads one by one.

What is stored of a text are numbers, never the text:

- its hash: BLAKE2b of the text after fold_text_1, with every `ς` as `σ`. The same text in other case or punctuation has it too;
- up to MAX_RUNS of its runs of five words, by their numbers in the contamination index (pipelines.decontamination.fingerprints).
  Of every WINDOW_RUNS runs that follow each other the smallest is selected, and the smallest of these are stored. A browser
  selects in the same way, so a longer text shares all that is stored of a text inside it, and an edited text shares most of it.

A script is one call with numbers, little-endian, as base64. The first bits of a hash, and of a run with its halves exchanged, say
which script has it:

    site_push("texts-0a3f","...")    20 bytes a row: hash, row, rows of the column with this text, words, end of the exact hash
    site_push("runs-0a3f","...")     8 bytes: 28 other bits of the run, how many the text has, the first 33 bits of its hash

Rows are numbered through the columns of all tables. Of a text in more than MAX_ROWS rows of a column, the first are stored; a run
of more than MAX_TEXTS texts is left out. All numbers go through scratch files, so memory does not grow with the releases.
"""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builders.batches import map_in_order
from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.shingles import Array, expand_ranges, offsets_from_lengths
from pipelines.audit.tables import text_layouts
from pipelines.catalogue_site.lists import read_batches
from pipelines.catalogue_site.release_data import ReleaseData
from pipelines.decontamination.fingerprints import SEED_WORDS, SHORT_WORDS, chunk_offsets, read_runs
from pipelines.decontamination.indexing import table_texts
from pipelines.process.stages import stage
from pipelines.release.folder import open_tables

WINDOW_RUNS, MAX_RUNS = 4, 6
MAX_ROWS, MAX_TEXTS = 10, 64
MAX_EXAMPLES = 20  # of the texts that two releases share
PART_BITS, MAX_BITS = 4, 16  # the first bits of a number name its scratch file; at most so many name its script
TEXT = np.dtype([("folded", "<u8"), ("row", "<u4"), ("rows", "<u4"), ("words", "<u2"), ("exact", "<u2")])
RUN = np.dtype("<u8")
Folders = Sequence[tuple[Path, int]]  # with the scratch files of each release, and the number of its first row
ENTRIES = {TEXT: 512, RUN: 1024}  # of a script, on average at most


@dataclass(frozen=True)
class TextColumn:
    """A column of texts of a release. release, table: their numbers, from 0. first: the number of its first row."""

    release: int
    table: int
    config: str
    split: str
    column: str
    first: int
    rows: int


@dataclass
class SharedTexts:
    """What two releases share. texts: how many texts. long: of SHORT_WORDS words or more. examples: whether a text is shorter,
    and a row of each release with it.
    """

    texts: int = 0
    long: int = 0
    examples: tuple[tuple[bool, int, int], ...] = ()


@dataclass(frozen=True)
class TextIndex:
    """What was written. bits: the first bits of a number that name its script. shared: by the numbers of two releases."""

    columns: tuple[TextColumn, ...]
    bits: dict[str, int]
    shared: dict[tuple[int, int], SharedTexts]


def spill_texts(data: ReleaseData, scratch: Path) -> tuple[TextColumn, ...]:
    """Write the numbers of all texts of a release without damage into files in a new folder below `scratch`.

    Returns its columns of texts. They have the number 0 as release, and their rows begin at 0.
    """
    manifest, columns, first = data.release.manifest, list[TextColumn](), 0
    folder = scratch / data.release.path
    folder.mkdir(parents=True)
    frames = open_tables(data.release.release_dir, [] if data.problems else manifest.tables)
    layouts = {layout.config: layout for layout in text_layouts(data.release.definition.dataset.task)}
    for place, table in enumerate(manifest.tables if frames else ()):
        if table.config not in layouts:
            continue
        layout, frame = layouts[table.config], frames[table.config][table.split]
        texts = {name: text for pair in table_texts(layout, frame) for name, text in pair.items()}
        if table.config == "corpus":  # as its row shows it: without the title
            texts = {"text": pl.col("text")}
        for column, text in texts.items():
            columns.append(TextColumn(0, place, table.config, table.split, column, first, table.rows))
            batches = read_batches(frame.select(text=text.cast(pl.String).fill_null("")))
            for entries, runs, run_parts in map_in_order(partial(_describe_texts, first=first), batches):
                _spill(folder, entries, entries["folded"] >> np.uint64(64 - PART_BITS))
                _spill(folder, runs, run_parts)
            first += table.rows
    return tuple(columns)


def write_text_index(
    search_dir: Path, scratch: Path, releases: Sequence[tuple[ReleaseData, Sequence[TextColumn]]]
) -> TextIndex:
    """Write the scripts of the index into a new folder. releases: each with its columns of texts, spilled below `scratch`."""
    search_dir.mkdir()
    columns, folders, first = list[TextColumn](), list[tuple[Path, int]](), 0
    for number, (data, own) in enumerate(releases):
        columns += [replace(column, release=number, first=column.first + first) for column in own]
        folders.append((scratch / data.release.path, first))
        first += sum(column.rows for column in own)
    with stage("search: writing the index"):
        text_bits, run_bits = (_script_bits(folders, kind) for kind in ENTRIES)
        shared: dict[tuple[int, int], SharedTexts] = {}
        for part in range(1 << PART_BITS):
            texts = _read_texts(folders, part, columns)
            _add_shared(texts, shared)
            _write_texts(search_dir, texts, part, text_bits)
            _write_runs(search_dir, _read_part(folders, RUN, part), part, run_bits)
    return TextIndex(tuple(columns), {"texts": text_bits, "runs": run_bits}, shared)


def _describe_texts(batch: pl.DataFrame, first: int) -> tuple[Array, Array, Array]:
    """The entries of texts, those of their runs, and the part that each run is in. batch: text, and its row in `__position`."""
    batch = batch.filter(pl.col("text") != "")
    folded = fold_for_search(batch["text"])
    entries = np.zeros(len(batch), TEXT)
    entries["folded"] = hashes = hash_texts(folded)
    entries["row"] = batch["__position"].to_numpy() + first
    entries["words"] = folded.str.count_matches(" ", literal=True).clip(upper_bound=(1 << 16) - 2).to_numpy() + 1
    entries["exact"] = hash_texts(batch["text"]) & np.uint64(0xFFFF)
    texts, runs = select_runs(folded)
    # Selected runs are mostly small numbers, so scripts are named by their last bits: all are about as large.
    runs = (runs << np.uint64(16) | runs >> np.uint64(16)) & np.uint64((1 << 32) - 1)
    stored = np.bincount(texts, minlength=len(batch)).astype(np.uint64)[texts]
    values = runs << np.uint64(36) | stored << np.uint64(33) | hashes[texts] >> np.uint64(31)
    return entries, values, runs >> np.uint64(32 - PART_BITS)


def fold_for_search(texts: pl.Series) -> pl.Series:
    """Texts after fold_text_1, with every `ς` as `σ`: versions of Unicode disagree about which sigma is the last of a word."""
    return fold_texts(texts).str.replace_all("ς", "σ", literal=True)


def select_runs(folded: pl.Series) -> tuple[Array, Array]:
    """The runs that are stored of folded texts: the positions of texts, ascending, and the numbers of their runs (uint64)."""
    keys = [np.empty(0, np.uint64)]
    for start, stop in chunk_offsets(folded, np.arange(len(folded))):
        runs = read_runs(folded[start:stop])
        numbers = runs.all_runs(SEED_WORDS)
        firsts, windows = runs.words.first_words, runs.words.counts - (SEED_WORDS + WINDOW_RUNS - 2)
        size = max(len(numbers) - WINDOW_RUNS + 1, 0)
        is_window = np.zeros(size, np.bool_)
        is_window[expand_ranges(firsts[:-1], firsts[:-1] + windows.clip(min=0)).values] = True
        smallest, selected = numbers[:size].copy(), np.zeros(len(numbers), np.bool_)
        for offset in range(1, WINDOW_RUNS):
            np.minimum(smallest, numbers[offset : offset + size], out=smallest)
        for offset in range(WINDOW_RUNS):
            selected[offset : offset + size] |= is_window & (numbers[offset : offset + size] == smallest)
        positions = np.flatnonzero(selected)
        texts = np.searchsorted(firsts, positions, "right") - 1 + start
        found = np.sort(texts.astype(np.uint64) << np.uint64(32) | numbers[positions])  # np.unique is slower
        found = found[np.append(True, found[1:] != found[:-1])[: len(found)]]
        owners = (found >> np.uint64(32)).astype(np.int64) - start
        offsets = offsets_from_lengths(np.bincount(owners, minlength=stop - start))
        keys.append(found[np.arange(len(found)) - offsets[owners] < MAX_RUNS])
    joined = np.concatenate(keys)
    return (joined >> np.uint64(32)).astype(np.int64), joined & np.uint64(0xFFFFFFFF)


def _spill(folder: Path, values: Array, parts: Array) -> None:
    """Append values to the scratch files of their parts."""
    order = np.argsort(parts.astype(np.uint8), kind="stable")
    borders = np.searchsorted(parts[order], np.arange((1 << PART_BITS) + 1)).tolist()
    for part, (start, stop) in enumerate(pairwise(borders)):
        with _part_path(folder, values.dtype, part).open("ab") as file:
            file.write(values[order[start:stop]].tobytes())


def _part_path(folder: Path, kind: np.dtype[Any], part: int) -> Path:
    return folder / f"{kind.itemsize}-{part}"


def _read_part(folders: Folders, kind: np.dtype[Any], part: int) -> Array:
    values = [np.empty(0, kind)]
    for folder, first in folders:
        if (path := _part_path(folder, kind, part)).exists():
            values.append(np.fromfile(path, kind))
            if kind == TEXT:
                values[-1]["row"] += first
    return np.concatenate(values)


def _script_bits(folders: Folders, kind: np.dtype[Any]) -> int:
    """How many first bits name a script, so that a script has as few entries as it should."""
    paths = (_part_path(folder, kind, part) for folder, _ in folders for part in range(1 << PART_BITS))
    entries = sum(path.stat().st_size for path in paths if path.exists()) // kind.itemsize
    return min(max(PART_BITS, (entries // ENTRIES[kind]).bit_length()), MAX_BITS)


def _read_texts(folders: Folders, part: int, columns: Sequence[TextColumn]) -> pl.DataFrame:
    """The entries of a part as a frame with the columns of TEXT, `column` and `release`, by hash, then by row."""
    frame = pl.DataFrame(_read_part(folders, TEXT, part))
    places = np.searchsorted([column.first for column in columns], frame["row"].to_numpy(), "right") - 1
    releases = np.array([column.release for column in columns], np.uint32)
    return frame.with_columns(column=places, release=releases[places]).sort("folded", "row")


def _add_shared(texts: pl.DataFrame, shared: dict[tuple[int, int], SharedTexts]) -> None:
    """Add the texts of a part that releases share; examples are of five words or more where there are such."""
    firsts = texts.group_by("folded", "release").agg(pl.col("row", "words").first())
    common = firsts.filter(pl.len().over("folded") > 1).with_columns(is_short=pl.col("words") < SHORT_WORDS)
    pairs = common.join(common, on="folded", suffix="_other").filter(pl.col("release") < pl.col("release_other"))
    counts = (
        pairs.sort("is_short", "row")
        .group_by("release", "release_other")
        .agg(
            pl.len(),
            pl.col("is_short").sum(),
            pl.col("is_short", "row", "row_other").head(MAX_EXAMPLES).name.prefix("first_"),
        )
    )
    for one, other, count, short, *examples in counts.iter_rows():
        known = shared.setdefault((one, other), SharedTexts())
        known.texts, known.long = known.texts + count, known.long + count - short
        merged = sorted([*known.examples, *zip(*examples, strict=True)])
        known.examples = tuple(merged[:MAX_EXAMPLES])


def _write_texts(search_dir: Path, texts: pl.DataFrame, part: int, bits: int) -> None:
    of_column = ["folded", "column"]
    texts = texts.with_columns(rows=pl.len().over(of_column), place=pl.int_range(pl.len()).over(of_column))
    texts = texts.filter(pl.col("place") < MAX_ROWS)
    entries = np.empty(len(texts), TEXT)
    for name in TEXT.names or ():
        entries[name] = texts[name].to_numpy()
    _write_scripts(search_dir, "texts", entries["folded"], entries, part=part, bits=bits)


def _write_runs(search_dir: Path, runs: Array, part: int, bits: int) -> None:
    runs = np.unique(runs)
    _, counts = np.unique(runs >> np.uint64(36), return_counts=True)
    runs = runs[np.repeat(counts <= MAX_TEXTS, counts)]
    whole = np.uint64(part << (64 - PART_BITS)) | runs >> np.uint64(PART_BITS)
    _write_scripts(search_dir, "runs", whole, runs, part=part, bits=bits)


def _write_scripts(search_dir: Path, name: str, numbers: Array, values: Array, *, part: int, bits: int) -> None:
    """Write the scripts of a part. numbers: those whose first `bits` bits name the script of each value, ascending."""
    scripts = range(part << (bits - PART_BITS), (part + 1) << (bits - PART_BITS))
    borders = np.searchsorted(numbers >> np.uint64(64 - bits), np.arange(scripts.start, scripts.stop + 1)).tolist()
    for number, (start, stop) in zip(scripts, pairwise(borders), strict=True):
        key, encoded = f"{name}-{number:04x}", base64.b64encode(values[start:stop].tobytes())
        (search_dir / f"{key}.js").write_bytes(b'site_push("%b","%b");\n' % (key.encode(), encoded))


def search_values(index: TextIndex, releases: Sequence[ReleaseData]) -> dict[str, Any]:
    """The values of the page that finds texts: what it looks up, and what not."""
    listed = [data.release.manifest.name for data in releases if not data.problems]
    return {
        "releases": len(listed),
        "withheld": [data.release.manifest.name for data in releases if data.withheld and not data.problems],
        "damaged": [data.release.manifest.name for data in releases if data.problems],
        "limits": {"rows": MAX_ROWS, "runs": MAX_RUNS, "texts": MAX_TEXTS, "words": SEED_WORDS + WINDOW_RUNS - 1},
        "viewer": {
            "bits": index.bits,
            "columns": [asdict(column) for column in index.columns],
            "words": SEED_WORDS + WINDOW_RUNS - 1,
            "releases": [
                {
                    "name": data.release.manifest.dataset,
                    "version": data.release.manifest.version,
                    "path": data.release.path,
                    "withheld": bool(data.withheld),
                    "damaged": bool(data.problems),
                }
                for data in releases
            ],
        },
    }
