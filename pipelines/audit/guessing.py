"""How well one number of a row tells its label: what a guess from the number alone is worth, and how far chance explains that.

The strength of a guess: of two rows, one with the label and one without, how often does the row with the label have the higher
number, where equal numbers count half? 0.5 is chance, 1 is always, 0 is never. It is the area under the ROC curve (AUC), and
U / mn of Mann and Whitney. It is computed from exact sums, so it does not depend on the order of the rows.

Each strength comes with its standard error if number and label are unrelated, corrected for equal numbers.
"""

import math

import polars as pl


def strength_of_labels(numbers: pl.Series, labels: pl.Series) -> pl.DataFrame:
    """The strength of a number for each label against all other rows.

    labels: of each row, a list. Columns: label (String), rows (with the label), others, strength, error. Rows without a number or
    labels do not count.
    """
    rows = pl.DataFrame({"number": numbers, "label": labels}).drop_nulls()
    n = rows.height
    ranked = rows.with_columns(rank=pl.col("number").rank("average")).explode("label").drop_nulls()
    by_label = ranked.group_by("label").agg(rows=pl.len().cast(pl.Float64), ranks=pl.col("rank").sum())
    by_label = by_label.with_columns(others=n - pl.col("rows")).filter(pl.col("others") > 0).sort("label")
    count, product = pl.col("rows"), pl.col("rows") * pl.col("others")
    equal = rows["number"].value_counts()["count"].cast(pl.Float64)
    spread = n + 1 - float((equal**3 - equal).sum()) / (n * max(n - 1, 1))
    return by_label.select(
        "label",
        pl.col("rows", "others").cast(pl.Int64),
        strength=(pl.col("ranks") - count * (count + 1) / 2) / product,
        error=(spread / (12 * product)).sqrt(),
    )


def strength_within_groups(rows: pl.DataFrame) -> tuple[float, float, int]:
    """The strength of a number within groups, on average over the groups with both kinds of rows; its error; and their number.

    rows: group, number (without nulls) and label (Boolean). With no such group, the strength is that of chance.
    """
    label, below = pl.col("label"), pl.col("without").cum_sum() - pl.col("without")
    levels = rows.group_by("group", "number").agg(
        have=label.sum().cast(pl.Int64), without=(~label).sum().cast(pl.Int64)
    )
    levels = levels.sort("group", "number").with_columns(below=below)
    equal = (pl.col("have") + pl.col("without")).cast(pl.Float64)
    groups = levels.group_by("group").agg(
        have=pl.col("have").sum(),
        without=pl.col("without").sum(),
        twice=(pl.col("have") * (2 * (pl.col("below") - pl.col("below").min()) + pl.col("without"))).sum(),
        ties=(equal**3 - equal).sum(),
    )
    groups = groups.filter(pl.col("have") > 0, pl.col("without") > 0)
    if groups.is_empty():
        return 0.5, math.inf, 0
    size, product = pl.col("have") + pl.col("without"), pl.col("have") * pl.col("without")
    by_group = groups.select(
        strength=pl.col("twice") / (2 * product),
        variance=(size + 1 - pl.col("ties") / (size * (size - 1))) / (12 * product),
    )
    n = by_group.height
    return math.fsum(by_group["strength"]) / n, math.sqrt(math.fsum(by_group["variance"])) / n, n


def rank_correlation(one: pl.Series, other: pl.Series) -> float:
    """Spearman's rank correlation of two columns without nulls; 0 if all values of one are equal."""
    first, second = (2 * column.rank("average") - len(column) - 1 for column in (one, other))  # whole numbers around 0
    ranks = pl.DataFrame({"first": first.cast(pl.Int128), "second": second.cast(pl.Int128)})
    both, squares, others = ranks.select(
        both=(pl.col("first") * pl.col("second")).sum(),
        squares=(pl.col("first") ** 2).sum(),
        others=(pl.col("second") ** 2).sum(),
    ).row(0)
    return both / math.sqrt(squares * others) if squares and others else 0.0
