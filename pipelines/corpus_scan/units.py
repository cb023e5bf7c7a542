"""Units: matched texts that belong together and are in one row of a corpus.

A unit is a pair of texts, a query with one of its relevant documents, or a text with its label. A corpus row that holds a whole
unit gives away more than one of its texts: the answer is in it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.corpus_scan.indexing import hash_labels
from pipelines.corpus_scan.lookup import PAIR, POSITIVE, Lookup, expand_ranges

Array = npt.NDArray[Any]

TEXT = 0
# The name of a unit, by its kind and whether the row has the label too.
NAMES = {(TEXT, False): "text", (PAIR, False): "pair", (POSITIVE, False): "query with positive"}
NAMES |= {(TEXT, True): "labelled text", (PAIR, True): "labelled pair", (POSITIVE, True): "query with positive"}


def find_units(lookup: Lookup, rows: Array, groups: Array, texts: Array) -> pl.DataFrame:
    """The entries that are part of a whole unit in a row of the corpus.

    rows, groups, texts: for each hit the row of the corpus, the group of equal texts of the index, and the text of the corpus. A
    unit of two equal texts needs two texts of the corpus. Returns the columns row, entry and unit (PAIR or POSITIVE), sorted,
    without repeats of row and entry.
    """
    links, width = lookup.links, max(len(lookup.exact), 1)
    hits, copies = np.unique(np.unique(np.stack([rows * width + groups, texts]), axis=1)[0], return_counts=True)
    hit_rows, hit_groups = hits // width, hits % width
    starts, stops = links.offsets[hit_groups], links.offsets[hit_groups + 1]
    owners, pairs = np.repeat(np.arange(len(hits)), stops - starts), expand_ranges(starts, stops)
    others = hit_rows[owners] * width + links.second[pairs]
    places = np.searchsorted(hits, others).clip(max=max(len(hits) - 1, 0))
    is_whole = (hits[places] == others) & ((links.second[pairs] != hit_groups[owners]) | (copies[owners] > 1))
    owners, pairs = owners[is_whole], pairs[is_whole]
    counts = links.entry_offsets[pairs + 1] - links.entry_offsets[pairs]
    entries = links.entries[expand_ranges(links.entry_offsets[pairs], links.entry_offsets[pairs + 1])]
    unit_rows = np.repeat(hit_rows[owners], counts)
    frame = pl.DataFrame(
        {
            "row": np.concatenate([unit_rows, unit_rows]),
            "entry": np.concatenate([entries[:, 0], entries[:, 1]]),
            "unit": np.concatenate([entries[:, 2], entries[:, 2]]),
        },
        schema={"row": pl.Int64, "entry": pl.Int64, "unit": pl.Int64},
    )
    return frame.sort("row", "entry", "unit").unique(["row", "entry"], keep="first", maintain_order=True)


def has_label(lookup: Lookup, labels: pl.DataFrame, rows: Array, entries: Array) -> Array:
    """Whether the row of the corpus has the label of the entry, by number or by name. labels: see CorpusBatch."""
    known, hashes = labels["row"].to_numpy(), hash_labels(labels["label"])
    if not len(known):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(known, rows).clip(max=len(known) - 1)
    found = np.where(known[places] == rows, hashes[places], 0)
    is_same = (found == lookup.index.labels[entries]) | (found == lookup.index.label_names[entries])
    result: Array = (found != 0) & is_same
    return result
