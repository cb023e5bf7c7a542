"""Findings of a dataset that may be broken: what breaks a reader first, then all that can be told of the rows that are left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from cards.manifest import SEVERITIES
from pipelines.audit import integrity, quality
from pipelines.audit.languages import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cards.manifest import Finding
    from pipelines.foreign.datasets import ForeignDataset, Tables

STRUCTURE = {"missing_table", "missing_column", "wrong_type", "unexpected_table", "unexpected_column", "empty_table"}
ROWS = {"null_text", "null_value", "empty_id", "duplicate_id"}


def audit_foreign(
    dataset: ForeignDataset, *, language_sample: int | None = SAMPLE
) -> tuple[list[Finding], ForeignDataset | None]:
    """What is wrong with a dataset, and the dataset with the rows that were audited: None where there are none.

    Left out of the audit are splits that lack a table or a column, rows with a null or an id that stands before, and judgements
    and candidates that point nowhere: all of these pipelines.audit.integrity finds. Places are those of the dataset's task.
    """
    found, splits = _defects(dataset)
    found = [*dataset.found, *found]
    sound = _sound(dataset, splits, found)
    if sound is not None:
        found += quality.audit_rows(
            sound.task, sound.frames, sound.task.splits, sound.languages, language_sample=language_sample
        )
    return found, sound


def at_own_locations(dataset: ForeignDataset, found: Sequence[Finding]) -> list[tuple[Finding, Finding]]:
    """Findings with themselves at the places that the dataset itself has, errors first.

    What a table shared by several splits shows is told once.
    """
    named: dict[Finding, Finding] = {}
    for one in found:
        config, split = dataset.real.get((one.config, one.split), (one.config, one.split))
        named.setdefault(replace(one, config=config, split=split), one)
    pairs = [(one, itself) for itself, one in named.items()]
    return sorted(pairs, key=lambda pair: SEVERITIES.index(pair[0].severity))


def _defects(dataset: ForeignDataset) -> tuple[list[Finding], tuple[str, ...]]:
    """What audit.integrity finds, asked again without what it found, which hides the rest; and the splits that are left."""
    found: dict[tuple[str, str, str], Finding] = {}
    task, frames, splits = dataset.task, dataset.frames, dataset.task.splits
    mended: set[tuple[str, str]] = set()
    while splits:
        frames = _of_splits(frames, splits)
        seen = integrity.check_integrity(task, frames, splits)
        for one in seen:
            found.setdefault((one.kind, one.location, one.detail), one)
        broken = {one.split for one in seen if one.kind in STRUCTURE}
        rows = {(one.config, one.split) for one in seen if one.kind in ROWS} - mended
        if broken:
            splits = tuple(split for split in splits if split not in broken)
        elif rows:
            frames = _whole(task, frames, rows, texts=False)
            mended |= rows
        else:
            break
    return list(found.values()), splits


def _sound(dataset: ForeignDataset, splits: tuple[str, ...], found: Sequence[Finding]) -> ForeignDataset | None:
    """The rows of some splits without those that are broken; None where there are no other texts."""
    frames = _of_splits(dataset.frames, splits)
    if any(one.severity == "error" for one in found):
        frames = _whole(
            dataset.task, frames, {(one.config, one.split) for one in found if one.kind in ROWS}, texts=True
        )
        frames = _joined(frames) if "qrels" in frames and splits else frames
        with_texts = [layout.config for layout in tasks.layouts(dataset.task) if layout.text]
        splits = tuple(split for split in splits if all(_has_rows(frames[config][split]) for config in with_texts))
    if not splits:
        return None
    return replace(dataset, task=replace(dataset.task, splits=splits), frames=_of_splits(frames, splits))


def _has_rows(frame: pl.LazyFrame) -> bool:
    return not frame.head(1).collect().is_empty()


def _of_splits(frames: Tables, splits: tuple[str, ...]) -> Tables:
    return {config: {split: own[split] for split in splits if split in own} for config, own in frames.items()}


def _whole(task: tasks.Task, frames: Tables, places: set[tuple[str, str]], *, texts: bool) -> Tables:
    """The tables, those at some places without rows that have a null, an empty id, or the id of an earlier row.

    texts: whether a row goes for a null text too; else the text becomes empty, as a title does anyway.
    """
    layouts = {layout.config: layout for layout in tasks.layouts(task)}
    return {
        config: {
            split: _whole_rows(layouts[config], frame, texts=texts) if (config, split) in places else frame
            for split, frame in own.items()
        }
        for config, own in frames.items()
    }


def _whole_rows(layout: tasks.Layout, frame: pl.LazyFrame, *, texts: bool) -> pl.LazyFrame:

    schema = frame.collect_schema()
    filled = [column for column in schema if column == "title" or (column in layout.text and not texts)]
    lists = [column for column, dtype in schema.items() if isinstance(dtype, pl.List)]
    frame = frame.with_columns(pl.col(filled).fill_null(""), pl.col(lists).list.drop_nulls()).drop_nulls()
    key = "query-id" if layout.config == "top_ranked" else "id" if "id" in schema else None
    return frame if key is None else frame.filter(pl.col(key) != "").filter(pl.col(key).is_first_distinct())


def _joined(frames: Tables) -> Tables:
    """The tables of a retrieval without judgements and candidates of queries and documents that are not there."""

    joined = {config: dict(own) for config, own in frames.items()}
    for split, qrels in frames["qrels"].items():
        queries, documents = (
            frames[config][split].select("id").collect(engine="streaming")["id"].implode()
            for config in ("queries", "corpus")
        )
        asked = pl.col("query-id").is_in(queries)
        joined["qrels"][split] = qrels.filter(asked, pl.col("corpus-id").is_in(documents))
        if "top_ranked" in frames:
            listed = frames["top_ranked"][split].filter(asked).explode("corpus-ids")
            listed = listed.filter(pl.col("corpus-ids").is_in(documents))
            joined["top_ranked"][split] = listed.group_by("query-id", maintain_order=True).agg("corpus-ids")
    return joined
