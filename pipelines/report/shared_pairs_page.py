"""Pairs that sets of training data share, for the terminal and for programs: `show training --overlaps`."""

from collections.abc import Sequence
from typing import Any

from cards import markdown
from pipelines.release.shared_pairs import PairSet, SharedPairs
from pipelines.report import tables

KIND = "pair_in_other_dataset"
EXAMPLE = 60  # characters of each text
NOTE = (
    "pairs: different pairs of a query and a positive that both sets have, ignoring case, punctuation and white space; exact: the"
    " same characters. share: of the set that has fewer pairs. queries: different queries of both, whatever their positives."
    " Nothing is removed: docs/training.md."
)


def shared_pairs_page(
    shared: Sequence[SharedPairs], sets: Sequence[PairSet], missing: Sequence[str], width: int | None = None
) -> list[str]:
    """The table as lines. sets: that were compared. missing: datasets that are not built. width: as for tables.table."""
    rows = [["set", "other set", "pairs", "share", "exact", "queries", "example"]]
    for one in shared:
        numbers = (f"{one.folded_pairs:,}", f"{one.share:.1%}", f"{one.pairs:,}", f"{one.folded_queries:,}")
        rows.append([one.first.name, one.second.name, *numbers, _example(one)])
    page = []
    if shared:
        numbers_of = ("pairs", "share", "exact", "queries")
        optional = ("exact", "queries") if width is not None and width < 120 else ()
        page = [*tables.table(rows, width=width, optional=optional, numbers=numbers_of).splitlines(), ""]
    samples = sum(one.sample for one in sets)
    words = f"{len(sets)} sets compared" + (f", {samples} of them a sample or a part" if samples else "")
    page += tables.wrap(f"{words}." if shared else f"{words}: no two have a query or a pair in common.")
    if missing:
        page += tables.wrap(f"not built, not compared: {', '.join(missing)}.")
    return page + (tables.wrap(NOTE) if shared else [])


def as_json(one: SharedPairs) -> dict[str, Any]:
    """What two sets share, for programs."""
    return {
        "kind": KIND,
        "set": _name(one.first),
        "other_set": _name(one.second),
        "pairs": one.pairs,
        "folded_pairs": one.folded_pairs,
        "queries": one.queries,
        "folded_queries": one.folded_queries,
        "share": one.share,
        "example": {"query": one.query, "positive": one.positive},
    }


def _name(one: PairSet) -> dict[str, Any]:
    return {"dataset": one.dataset, "version": one.version, "config": one.name, "sample": one.sample}


def _example(one: SharedPairs) -> str:
    texts = [one.query] if one.positive is None else [one.query, one.positive]
    return " | ".join(markdown.shorten(markdown.visible(" ".join(part.split())), EXAMPLE) for part in texts)
