"""Multiple choice -> retrieval over a shared pool of answers.

The question tables that come in have one row a question, in the order of the raw file: query (String), options
(List(String), as they stand), gold (Int64, the 0-based place of the right option). Of splits that only add to the pool
`options` is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.errors import SourceError
from builders.reading import read_lines
from builders.shaping.labels import label_numbers
from builders.shaping.merging import merge_equal
from builders.spec import Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from builders.spec import Raw


def gold_lines(labels: Raw, numbers: Mapping[str, int], rows: Raw, count: int) -> pl.Series:
    """The `gold` column of questions whose labels lie in a file of their own, one a line.

    numbers: each label's place among the options. rows, count: the file of the questions, and how many it gave.

    Raises SourceError where there are not as many labels as questions, and for a label that has no place.
    """

    lines = read_lines(labels)
    if len(lines) != count:
        raise SourceError(
            f"{labels.name} does not belong to {rows.name}",
            where=f"{rows.name} and {labels.name}",
            found=f"{count:,} questions and {len(lines):,} labels",
            expected="one label a question, line by line",
            todo=f"take both files from one publication: {rows.path} and {labels.path}",
        )
    return label_numbers(pl.Series("label", lines, pl.String), numbers, labels).alias("gold")


def gold_pool(questions: pl.DataFrame, *, prefix: str, split: str, clean: bool = False) -> Tables:
    """ATEB's form: the corpus is the right answers of all questions, equal ones merged into the first.

    clean: queries are merged as well, and both also where they are equal but for case, white space and the end of the sentence
    (builders.shaping.merging); what stays keeps the id that it has without this.
    """

    right = questions.select(text=pl.col("options").list.get(pl.col("gold")))
    made = _retrieval(questions, right, prefix, split)
    return merge_equal(made, split=split) if clean else made


def option_pool(questions: pl.DataFrame, others: Iterable[pl.DataFrame], *, prefix: str, split: str) -> Tables:
    """RAR-b's form (Xiao et al., 2024): the corpus is all options of the questions, then those of the other splits, in
    order, equal ones merged into the first.
    """

    # Some versions of polars explode an empty list into a null, others into nothing.
    options = [frame.select(text=pl.col("options").explode().drop_nulls()) for frame in (questions, *others)]
    return _retrieval(questions, pl.concat(options), prefix, split)


def _retrieval(questions: pl.DataFrame, pool: pl.DataFrame, prefix: str, split: str) -> Tables:
    """corpus (id `<prefix>-d-<j>`, title "", text), queries (id `<prefix>-q-<i>`, text), qrels (score 1): 0-based, in order."""

    def numbered(frame: pl.DataFrame, letter: str) -> pl.DataFrame:
        return frame.with_columns(id=f"{prefix}-{letter}-" + pl.int_range(pl.len()).cast(pl.String))

    corpus = numbered(pool.unique(maintain_order=True), "d").select("id", pl.lit("").alias("title"), "text")
    queries = numbered(questions, "q").with_columns(answer=pl.col("options").list.get(pl.col("gold")))
    qrels = queries.join(
        corpus, left_on="answer", right_on="text", how="left", maintain_order="left", suffix="-corpus"
    ).select(pl.col("id").alias("query-id"), pl.col("id-corpus").alias("corpus-id"), pl.lit(1, pl.Int64).alias("score"))
    return Tables(
        {"corpus": {split: corpus}, "queries": {split: queries.select("id", text="query")}, "qrels": {split: qrels}},
        observed={
            "options in the pool before equal ones were merged": pool.height,
            "distinct queries": queries.get_column("query").n_unique(),
        },
    )
