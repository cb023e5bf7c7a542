"""Findings about texts that occur more than once: in a split, on both sides of a pair, in two splits (leaks).

A model gives two equal texts one embedding. So a pair of equal sides always has the highest similarity, and no model can agree
with a lower score. Every two splits are compared separately; the detail of a leak begins with `in <earlier split>`.
"""

from collections.abc import Mapping
from itertools import combinations

import polars as pl

from builders import tasks
from cards.kinds import FOLDED_DETAIL, MEANING_DETAIL
from cards.manifest import Severity
from pipelines.audit.copies.containment import EQUAL, WHOLE, find_contained
from pipelines.audit.copies.near_duplicates import find_near_duplicates
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.survey import Surveys, swapped_texts, texts_key
from pipelines.audit.tables import finding_column, model_inputs
from pipelines.audit.texts import condition_column

DISGUISED_DETAIL = "disguised by invisible characters or look-alike letters"
REORDERED_DETAIL = "with the words in another order"
# (split, earlier split) -> for the rows of the first that are near-duplicates of a row of the second (if both are the same split,
# of an earlier row), or are inside one of an earlier split: `position`, `twin` (the position of the near-duplicate), `is_same`
# (whether the texts are equal after folding), `is_reordered`, `longer` (the position of the row they are inside) and `part` (how
# much of them is).
NearDuplicates = Mapping[tuple[str, str], pl.DataFrame]


def find_near_duplicates_by_split(
    layout: tasks.Layout, frames: Mapping[str, pl.LazyFrame], surveys: Surveys
) -> NearDuplicates:
    """The near-duplicates and the contained texts among the different texts of some splits of a table, compared in this order.

    frames: by split.
    """
    texts = model_inputs(layout)
    columns = sorted({name for text in texts.values() for name in text.meta.root_names()})
    rows = [frames[split].select(columns) for split in surveys]
    compared = [survey["is_first"] for survey in surveys.values()]
    numbers = [pl.repeat(number, len(mask), dtype=pl.UInt32, eager=True) for number, mask in enumerate(compared)]
    matches = find_near_duplicates(rows, texts, pl.concat(numbers), pl.concat(compared))
    contained = find_contained([[frame] for frame in rows], texts, compared).rename({"earlier": "longer"})
    matches = matches.join(contained, on=["row", "split"], how="full", coalesce=True).sort("row", "split")
    near_duplicates, start, starts = {}, 0, []
    for split, survey in surveys.items():
        starts.append(start)
        own = matches.filter(pl.col("row").is_between(start, start + survey.height, closed="left"))
        for number, earlier in enumerate(list(surveys)[: len(starts)]):
            twins = {"twin": pl.col("earlier") - starts[number], "longer": pl.col("longer") - starts[number]}
            near_duplicates[split, earlier] = own.filter(split=number).select(
                "is_same", "is_reordered", "part", position=pl.col("row") - start, **twins
            )
        start += survey.height
    return near_duplicates


def audit_duplicates(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[FindingRows]:
    """The findings about texts and pairs of texts that recur within each split of a table."""
    recurs_by_design = isinstance(task, tasks.Reranking) or len(layout.text) > 1
    severity: Severity | None = "info" if recurs_by_design else None
    findings = []
    for split, survey in surveys.items():
        findings += _find_repeated_texts(layout, split, survey, severity)
        if len(layout.text) > 1:
            copies = survey.lazy().select(  # lazy, as it is rarely needed
                "position",
                is_repeated=~pl.col("is_first"),
                twin=pl.col("position").first().over("texts"),
            )
            findings += findings_where("duplicate_pair", (layout.config, split, ""), copies, pl.col("is_repeated"))
        if isinstance(task, tasks.PairClassification | tasks.STS | tasks.Contrastive):
            findings += _find_swapped_pairs(layout, split, survey)
        twins = near_duplicates[split, split]
        rows = survey.filter("is_first").join(twins, on="position", how="left", maintain_order="left")
        rows = _with_meaning(rows, layout)
        location, is_near = (layout.config, split, finding_column(layout)), pl.col("twin").is_not_null()
        kind = "duplicate_pair" if len(layout.text) > 1 else "duplicate_text"
        findings += findings_where(
            kind,
            location,
            rows,
            is_near & pl.col("is_same"),
            detail=MEANING_DETAIL if f"meaning {layout.text[0]}" in survey.columns else FOLDED_DETAIL,
            severity=None if len(layout.text) > 1 else severity,
        )
        for how, is_reordered in (("", False), (REORDERED_DETAIL, True)):
            condition = is_near & ~pl.col("is_same") & (pl.col("is_reordered").fill_null(value=False) == is_reordered)
            detail = ", ".join(filter(None, (how, different_labels(rows.filter(condition), survey))))
            findings += findings_where("near_duplicate", location, rows, condition, detail=detail)
    return findings


def _find_repeated_texts(
    layout: tasks.Layout, split: str, survey: pl.DataFrame, severity: Severity | None
) -> list[FindingRows]:
    """A finding for the rows with a text of an earlier row; of two texts in a row, on the same side."""
    is_repeated = {side: ~pl.col(f"is_first {side}") for side in layout.text}
    counts = survey.select(**is_repeated).sum().row(0)
    detail = ", ".join(f"{side} {count:,}" for side, count in zip(layout.text, counts, strict=True) if count)
    first = {side: pl.col("position").first().over(f"hash {side}") for side in layout.text}
    rows = survey.lazy().select(
        "position",
        is_repeated=pl.any_horizontal(is_repeated.values()),
        twin=pl.coalesce(pl.when(is_repeated[side]).then(first[side]) for side in layout.text),
    )
    location, detail = (layout.config, split, finding_column(layout)), detail if len(layout.text) > 1 else ""
    return findings_where("duplicate_text", location, rows, pl.col("is_repeated"), detail=detail, severity=severity)


def _with_meaning(rows: pl.DataFrame, layout: tasks.Layout) -> pl.DataFrame:
    """The rows with `is_same` and `twin` of those whose texts mean the same as an earlier row's, where that was compared."""
    if f"meaning {layout.text[0]}" not in rows.columns:
        return rows
    rows = rows.with_columns(first=pl.col("position").first().over(texts_key(layout, "meaning")))
    is_empty = pl.all_horizontal(condition_column("empty_text", "", column) for column in layout.text)
    is_same = (pl.col("first") < pl.col("position")) & ~is_empty
    return rows.with_columns(is_same=is_same, twin=pl.when(is_same).then("first").otherwise("twin"))


def _find_swapped_pairs(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """Pairs of two different texts that occur in reverse order in an earlier row."""
    rows = survey.with_columns(swapped=swapped_texts(layout))
    firsts = rows.filter("is_first").select(swapped="texts", twin="position")
    rows = rows.join(firsts, on="swapped", how="left", maintain_order="left")
    return findings_where("swapped_pair", (layout.config, split, ""), rows, pl.col("twin") < pl.col("position"))


def different_labels(rows: pl.DataFrame, twins: pl.DataFrame) -> str:
    """How many rows have another label or score than their twin, in words; empty where the task has none.

    rows: `twin` and, where the task has labels, `label`. twins: the survey of the rows that `twin` names.
    """
    if "label" not in twins.columns or rows.is_empty():
        return ""
    different = (rows["label"] != twins["label"].gather(rows["twin"])).sum()
    return f"{different:,} with another label than the text that they resemble" if different else "with the same label"


def describe_parts(parts: pl.Series) -> str:
    """How many texts are whole in a longer one: `3 whole`, or `3 whole, 1 nearly`. parts: WHOLE or MOST."""
    whole = (parts == WHOLE).sum()
    return f"{whole:,} whole" + (f", {len(parts) - whole:,} nearly" if whole < len(parts) else "")


# The kind of a leak, the column with its twin, and how the two are the same; a row counts with the first that it has.
LEAKS = (
    ("split_leak", "exact", ""),
    ("split_leak", "folded twin", FOLDED_DETAIL),
    ("split_leak", "disguised twin", DISGUISED_DETAIL),
    ("near_leak", "near", ""),
    ("near_leak", "reordered", REORDERED_DETAIL),
    ("contained_text", "longer", ""),
)


def audit_leaks(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[FindingRows]:
    """The findings about texts and pairs of texts of a table that leak from one split into a later one."""
    findings = []
    for earlier, later in combinations(surveys, 2):
        location, detail = (layout.config, later, finding_column(layout)), f"in {earlier}"
        rows = surveys[later].filter("is_first")
        for twin, by in (("exact", "hash"), ("folded twin", "folded"), ("disguised twin", "disguise")):
            key = texts_key(layout, by)
            rows = _with_twin(rows.with_columns(key=key), "key", twin, surveys[earlier], key)
        near = near_duplicates[later, earlier].select(
            "position",
            "part",
            near=pl.when(~pl.col("is_reordered")).then("twin"),
            reordered=pl.when("is_reordered").then("twin"),
            longer=pl.when(pl.col("part") < EQUAL).then("longer"),
        )
        rows = rows.join(near, on="position", how="left", maintain_order="left")
        first_twin = pl.coalesce(pl.when(pl.col(twin).is_not_null()).then(pl.lit(twin)) for _, twin, _ in LEAKS)
        for kind, twin, how in LEAKS:
            leaked, condition = rows.with_columns(twin=pl.col(twin)), first_twin == twin
            found = leaked.filter(condition)
            labels = different_labels(found, surveys[earlier]) if kind == "near_leak" else ""
            parts = describe_parts(found["part"]) if kind == "contained_text" else ""
            where = ", ".join(filter(None, (detail, how, labels, parts)))
            findings += findings_where(kind, location, leaked, condition, detail=where, twin_split=earlier)
        if isinstance(task, tasks.PairClassification | tasks.STS):
            findings += _find_leaking_pairs(layout, (earlier, later), surveys)
    return findings


def _find_leaking_pairs(layout: tasks.Layout, splits: tuple[str, str], surveys: Surveys) -> list[FindingRows]:
    """Pairs that are in reverse order in the earlier split, and pairs that share only single texts with it, on either side."""
    earlier, later = splits
    location, detail = (layout.config, later, ""), f"in {earlier}"
    rows = surveys[later].with_columns(
        swapped=swapped_texts(layout),
        pair=texts_key(layout, "folded", ordered=False),
    )
    rows = _with_twin(rows, "swapped", "twin", surveys[earlier], texts_key(layout))
    is_swapped = pl.col("twin").is_not_null()
    findings = findings_where("swapped_pair", location, rows, is_swapped, detail=detail, twin_split=earlier)
    known_pairs = surveys[earlier].select(texts_key(layout, "folded", ordered=False)).to_series().unique()
    sides = pl.concat([surveys[earlier].select("position", side=f"hash {column}") for column in layout.text]).sort(
        "position", maintain_order=True
    )
    for number, column in enumerate(layout.text):
        rows = _with_twin(rows, f"hash {column}", f"twin {number}", sides, pl.col("side"))
    count = pl.sum_horizontal(pl.col(f"twin {number}").is_not_null() for number in range(len(layout.text)))
    rows = rows.with_columns(
        count=pl.when(~pl.col("pair").is_in(known_pairs.implode())).then(count),
        twin=pl.coalesce(f"twin {number}" for number in range(len(layout.text))),
    )
    one, both = f"{detail}, one text", f"{detail}, both texts, in different pairs"
    findings += findings_where("side_leak", location, rows, pl.col("count") == 1, detail=one, twin_split=earlier)
    return findings + findings_where("side_leak", location, rows, pl.col("count") == 2, detail=both, twin_split=earlier)


def _with_twin(rows: pl.DataFrame, key: str, twin: str, earlier: pl.DataFrame, earlier_key: pl.Expr) -> pl.DataFrame:
    """The rows with a column `twin`: the position of the first row of the earlier split with the same key; null for none."""
    firsts = earlier.select(earlier_key.alias(key), pl.col("position").alias(twin))
    firsts = firsts.unique(key, keep="first", maintain_order=True)
    return rows.join(firsts, on=key, how="left", maintain_order="left")


def find_identical_pairs(task: tasks.Task, survey: pl.DataFrame, split: str) -> list[FindingRows]:
    """A finding for the pairs of a split with equal sides and less than the highest score, and one for those equal after folding.

    In pair classification the lower of the two labels takes the place of such a score. None for other tasks.
    """
    match task:
        case tasks.STS(high=high):
            top = f"the highest is {high:g}"
        case tasks.PairClassification(names=names):
            high, top = 1, "labelled 0" if names[0] == "0" else f"labelled 0 ({names[0]})"
        case _:
            return []
    label = task.type.label
    pairs = survey.select(
        "position",
        equal=pl.col("hash sentence1") == pl.col("hash sentence2"),
        folded=pl.col("folded sentence1") == pl.col("folded sentence2"),
        score="label",
        low=pl.col("label") < high,
    )
    findings = []
    for condition, words in ((pl.col("equal"), ""), (pl.col("folded") & ~pl.col("equal"), FOLDED_DETAIL)):
        is_low = condition & pl.col("low")
        detail = f"{_score_range(pairs.filter(is_low)['score'])}, {top}" if isinstance(task, tasks.STS) else top
        detail = "; ".join(filter(None, (words, detail)))
        findings += findings_where("identical_pair", ("default", split, label), pairs, is_low, detail=detail)
    return findings


def _score_range(scores: pl.Series) -> str:
    """`score 4.8`, or `scores 3.2 to 4.8`."""
    if scores.n_unique() < 2:
        return "".join(f"score {score:g}" for score in scores.head(1))
    lowest, highest = scores.sort().gather([0, -1])
    return f"scores {lowest:g} to {highest:g}"
