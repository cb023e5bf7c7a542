"""The twins of the examples of a finding: the rows that a leaking or contradicting row repeats, for the HTML report.

A test row that leaks is shown with the row of the earlier split, and a text with two labels with the rows that label it
otherwise. Texts are compared after folding, so that exact and folded leaks have twins; near-duplicates have none here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks
from builders.shaping.folding import fold_text
from pipelines.audit.tables import model_inputs, row_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from cards.manifest import Finding
    from pipelines.audit.tables import Frames

MAX_TWINS = 2  # of an example
NAME, KEY = "__name", "__key"


@dataclass(frozen=True)
class Twin:
    """A row with the texts of another one: its split, its name, its values by column."""

    split: str
    name: str
    row: dict[str, Any]


def find_twins(task: tasks.Task, rows: Frames, finding: Finding) -> dict[str, list[Twin]]:
    """The twins of each example of a leak or of conflicting labels, by the name of the example; none for other findings."""
    layout = next((one for one in tasks.layouts(task) if one.config == finding.config and one.text), None)
    split = _compared_split(finding)
    if layout is None or split is None or not finding.examples:
        return {}
    examples, others = (rows.get(finding.config, {}).get(name) for name in (finding.split, split))
    if examples is None or others is None:
        return {}
    keys = (
        _named(examples, layout)
        .filter(pl.col(NAME).is_in(finding.examples))
        .select(NAME, KEY)
        .collect(engine="streaming")
    )
    wanted = dict(keys.unique(NAME, keep="first", maintain_order=True).iter_rows())
    found = _named(others, layout).filter(pl.col(KEY).is_in(sorted(set(wanted.values())))).collect(engine="streaming")
    by_key: dict[str, list[Twin]] = {}
    for row in found.iter_rows(named=True):
        by_key.setdefault(row.pop(KEY), []).append(Twin(split, row.pop(NAME), row))
    label = task.type.label if finding.kind == "conflicting_label" else None
    return {name: _choose(by_key.get(key, []), name, finding.split, label) for name, key in wanted.items()}


def _compared_split(finding: Finding) -> str | None:
    """The split with the twins: the earlier one of a leak, which its detail names, or the same one."""
    if finding.kind == "split_leak" and finding.detail.startswith("in "):
        return finding.detail.removeprefix("in ").split(",")[0]
    return finding.split if finding.kind == "conflicting_label" else None


def _named(frame: pl.LazyFrame, layout: tasks.Layout) -> pl.LazyFrame:
    """A table with the name of each row, and a key that is equal for equal texts after folding."""
    name = row_name(frame.collect_schema().names()).cast(pl.String).alias(NAME)
    key = pl.concat_str([fold_text(text) for text in model_inputs(layout).values()], separator="\n").alias(KEY)
    return frame.with_row_index("__row").with_columns(name, key).drop("__row")


def _choose(twins: list[Twin], name: str, split: str, label: str | None) -> list[Twin]:
    """The first few twins but the row itself; of conflicting labels, one row of each other label."""
    own: Collection[Any] = [one.row.get(label) for one in twins if label and one.name == name and one.split == split]
    others = {
        repr(one.row.get(label)) if label else one.name: one
        for one in reversed(twins)
        if (one.split, one.name) != (split, name) and not (label and one.row.get(label) in own)
    }
    return list(others.values())[::-1][:MAX_TWINS]
