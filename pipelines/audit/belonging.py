"""Findings about pairs whose texts do not belong together: sides or judgements that were shuffled, or shifted by a row.

Texts that belong together (a query and its relevant document, two sentences, a text and its translation) share a rare word, such
as a name or a number, more often than texts of different rows. Translations are also about as long as each other. An example:
47 % of ARC's questions share a rare word with their answer, 2 % with that of another question. If both shares are alike, the
judgements are probably those of other texts; if more questions share one with the answer of the next row, they are shifted.

The lead of one pairing over another is that of a sign test, in standard errors: of 100 rows that tell the two apart, 60 against
40 are a lead of 2. Nothing is said about texts that have no words in common in any pairing, as in two scripts.
"""

import math
from collections.abc import Callable, Sequence
from itertools import compress, pairwise

import numpy as np
import polars as pl

from builders import tasks
from cards.kinds import (
    MAX_PAIRS,
    MAX_RARE_PERCENT,
    MIN_BLOCK,
    MIN_RUN_LEAD,
    MIN_SHIFT_LEAD,
    MIN_SORTED,
    STANDARD_ERRORS,
    SWAPPED,
    SWAPPED_LEAD,
    USUAL_SIDE,
)
from pipelines.audit.copies.shingles import read_words
from pipelines.audit.findings import FindingRows, summary_finding
from pipelines.audit.tables import Frames, Location, copied, count_rows, model_input, model_inputs, text_layouts

MIN_UNEQUAL = 10  # rows that tell two pairings apart, for their number to say anything
BLOCKS = 10  # at most; each may be shifted by itself
Measure = Callable[[pl.DataFrame], pl.DataFrame]


def find_unrelated_pairs(task: tasks.Task, frames: Frames, split: str) -> list[FindingRows]:
    """The findings about pairs of a split, or judgements above zero, that do not belong together; none for single texts."""
    if "qrels" in frames:
        pairs, location = _read_judged(frames, split), ("qrels", split, "")
        return _judge_pairs(pairs, "qrels_at_chance", location, [_share_words]) + _find_swapped_texts(pairs, location)
    findings, measures = [], [_share_words, *([_compare_lengths] if isinstance(task, tasks.BitextMining) else [])]
    for layout in text_layouts(task):
        if len(layout.text) > 1:
            texts = dict(zip(("first", "second"), model_inputs(layout).values(), strict=True))
            pairs = _thin_out(frames[layout.config][split].select(**texts))
            findings += _judge_pairs(pairs, "pairs_at_chance", (layout.config, split, ""), measures)
            findings += _find_swapped_texts(pairs, (layout.config, split, ""))
    return findings


# What the texts of one side may have and those of the other lack.
SIDE_MARKS = {
    "a question mark at the end": r"\?[\s\"»)]*\z",
    "an end of a sentence": r"[.!…][\s\"»)]*\z",
    "a capital letter first": r"\A\P{L}*\p{Lu}",
    "Latin letters": r"\p{Latin}",
    "Cyrillic letters": r"\p{Cyrillic}",
}


def _find_swapped_texts(pairs: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding about pairs (`first`, `second`) in which the sides look exchanged: one has what only the other has elsewhere."""
    for name, pattern in SIDE_MARKS.items():
        has = pairs.select(pl.col("first", "second").str.contains(pattern).fill_null(value=False))
        for one, other in (("first", "second"), ("second", "first")):
            usual, rare = (float(has[side].sum()) / max(len(has), 1) for side in (one, other))
            swapped = int((~has[one] & has[other]).sum())
            # Were both sides independent, so many would be by chance.
            least = max(MIN_UNEQUAL, SWAPPED * len(has), SWAPPED_LEAD * (1 - usual) * rare * len(has))
            if usual >= USUAL_SIDE and rare <= 1 - USUAL_SIDE and swapped >= least:
                detail = (
                    f"{name}: {usual:.0%} of the {one} texts, {rare:.0%} of the {other}, and the reverse in these pairs"
                )
                return [summary_finding("swapped_texts", location, swapped, swapped / len(has), detail=detail)]
    return []


def _thin_out(rows: pl.LazyFrame) -> pl.DataFrame:
    """Of many rows, every nth MIN_BLOCK of them: up to twice MAX_PAIRS in all."""
    step = max(1, count_rows(rows) // MAX_PAIRS)
    some = rows.with_row_index("__row").filter(pl.col("__row") // MIN_BLOCK % step == 0)
    return some.select(copied(pl.col("first", "second"))).collect(engine="streaming")


def _read_judged(frames: Frames, split: str) -> pl.DataFrame:
    """The queries (`first`) and documents (`second`) of judgements above zero, in the order of these."""
    pairs = _thin_out(frames["qrels"][split].filter(pl.col("score") > 0).select(first="query-id", second="corpus-id"))
    for config, side in (("queries", "first"), ("corpus", "second")):
        table = frames[config][split].join(pairs.lazy(), left_on="id", right_on=side, how="semi")
        table = table.select(pl.col("id").alias(side), text=copied(model_input(config, "text")))
        texts = table.collect(engine="streaming")
        pairs = pairs.join(texts, on=side, maintain_order="left").with_columns(pl.col("text").alias(side)).drop("text")
    return pairs


def _offsets(count: int) -> dict[str, int]:
    """How many rows below a first text the second is that each pairing gives it; below the last row is the first."""
    return {"own": 0, "previous": count - 1, "next": 1 % count, "other": count // 2}


def _share_words(pairs: pl.DataFrame) -> pl.DataFrame:
    """Whether the first text of each row shares a rare word with the second (1.0 or 0.0), in each pairing."""
    texts = [read_words(pairs[side]) for side in ("first", "second")]
    rows = [np.repeat(np.arange(pairs.height), text.counts) for text in texts]
    first, second = (
        pl.DataFrame({"row": row, "word": text.numbers}).unique() for row, text in zip(rows, texts, strict=True)
    )
    second = second.filter(pl.len().over("word") <= max(1, MAX_RARE_PERCENT * pairs.height // 100))
    shared = first.join(second, on="word", suffix=" second").select("row", below=pl.col("row second") - pl.col("row"))
    return pl.DataFrame(
        {
            pairing: np.isin(np.arange(pairs.height), shared.filter(pl.col("below") % pairs.height == offset)["row"])
            for pairing, offset in _offsets(pairs.height).items()
        }
    ).cast(pl.Float64)


def _compare_lengths(pairs: pl.DataFrame) -> pl.DataFrame:
    """How near the ratio of lengths is to that of all texts together (1.0, or less), in each pairing."""
    first, second = (pairs[side].str.len_chars().cast(pl.Int64) for side in ("first", "second"))
    first, second = first * second.sum(), second * first.sum()
    ratio = pl.min_horizontal("first", "second") / pl.max_horizontal("first", "second")
    twice = pl.concat([second, second])
    moved = {name: twice.slice(offset, pairs.height) for name, offset in _offsets(pairs.height).items()}
    return pl.DataFrame(
        [
            pl.DataFrame({"first": first, "second": other}).select(ratio.alias(name))[name]
            for name, other in moved.items()
        ]
    )


def _judge_pairs(pairs: pl.DataFrame, kind: str, location: Location, measures: Sequence[Measure]) -> list[FindingRows]:
    """The findings about pairs (`first`, `second`). kind: that of pairs which fit no better than those of different rows."""
    count, findings = pairs.height, list[FindingRows]()
    if not count:
        return findings
    tables = [measure(pairs) for measure in measures]
    shares = {pairing: f"{tables[0][pairing].sum() / count:.0%}" for pairing in tables[0].columns}
    blocks = max(1, min(BLOCKS, count // (MIN_BLOCK // 2)))
    spans = [(0, count), *pairwise(count * block // blocks for block in range(blocks + 1))]
    for row in ("previous", "next"):
        is_shifted = [
            max(_lead(table[start:stop], row, "own") for table in tables) >= MIN_SHIFT_LEAD for start, stop in spans
        ]
        shifted = min(count, sum(stop - start for start, stop in compress(spans, is_shifted)))
        run, lead = max(_best_run(table, row) for table in tables)
        if shifted or (run >= MIN_BLOCK // 2 and lead >= MIN_RUN_LEAD):
            shifted = max(shifted, run)
            detail = (
                f"{shares[row]} share a rare word with the second text of the {row} row, {shares['own']} with their own"
            )
            findings.append(summary_finding("shifted_pairs", location, shifted, shifted / count, detail=detail))
    own, other = tables[0]["own"], tables[0]["other"]
    is_chance = all(_lead(table, "own", "other") < STANDARD_ERRORS for table in tables)
    is_chance &= own.sum() <= max(2 * other.sum(), MIN_UNEQUAL)
    is_sorted = [pairs[side].is_sorted() for side in ("first", "second")]
    enough = MIN_BLOCK if is_sorted[0] == is_sorted[1] else MIN_SORTED
    if count >= enough and is_chance and ((own != other).sum() >= MIN_UNEQUAL or len(tables) > 1):
        detail = f"{shares['own']} share a rare word, {shares['other']} of the texts of different rows"
        detail += "; one side is in alphabetical order, the other is not" * (enough < MIN_BLOCK)
        findings.append(summary_finding(kind, location, count, 1.0, detail=detail))
    return findings


def _best_run(table: pl.DataFrame, pairing: str) -> tuple[int, float]:
    """The rows of the run in which a pairing is better than the own one most often, and by how many standard errors."""
    steps = (table[pairing] > table["own"]).cast(pl.Int64) - (table[pairing] < table["own"]).cast(pl.Int64)
    total = pl.concat([pl.Series([0]), steps.cum_sum()])
    gain = total - total.cum_min()
    end = int(gain.arg_max() or 0)
    rows = int(total[: end + 1].reverse().arg_min() or 0)
    return rows, int(gain[end]) / math.sqrt(max(rows, 1))


def _lead(table: pl.DataFrame, pairing: str, other: str) -> float:
    """By how many standard errors a pairing is better than another: rows in which it is, less those in which the other is."""
    better, worse = int((table[pairing] > table[other]).sum()), int((table[pairing] < table[other]).sum())
    return (better - worse) / math.sqrt(max(better + worse, 1))
