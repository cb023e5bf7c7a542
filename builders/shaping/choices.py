"""Questions and answers: multiple choices as retrieval, and which answer of a site is the positive of a question.

The input is a table of questions, one row each, in the order of the raw file: query (String), options (List(String)), gold
(Int64: the 0-based index of the correct option). Splits that only add documents to the corpus need `options` alone.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from builders.errors import SourceError
from builders.papers import quotations
from builders.reading.lines import read_lines
from builders.shaping.labels import label_numbers
from builders.shaping.rows import merge_duplicates
from builders.shaping.text import WHITE_SPACE
from builders.spec import Raw, Tables


def read_gold_labels(labels: Raw, indices: Mapping[str, int], questions: Raw, count: int) -> pl.Series:
    """The `gold` column of questions whose labels are in a separate file, one per line.

    indices: for each label, the index of the option it names. questions, count: the file of the questions, and how many it has.

    Raises SourceError if the numbers of labels and questions differ, and for a label without an index.
    """
    lines = read_lines(labels)
    if len(lines) != count:
        raise SourceError(
            f"{labels.name} does not belong to {questions.name}",
            where=f"{questions.name} and {labels.name}",
            found=f"{count:,} questions and {len(lines):,} labels",
            expected="one label per question, line by line",
            todo=f"take both files from the same publication: {questions.path} and {labels.path}",
        )
    return label_numbers(pl.Series("label", lines, pl.String), indices, labels).alias("gold")


def gold_notes(corpus: str) -> str:
    """What version 1.0.0 of a reasoning set of ATEB is. corpus: whose answers it has."""
    return f"The corpus is {corpus}: our reading of the ATEB paper's {quotations()['gold_answers']}."


def build_gold_pool(
    questions: pl.DataFrame, *, prefix: str, split: str, clean: bool = False, start: bool = True
) -> Tables:
    """ATEB's construction: the corpus is the correct answers to all questions, with exact duplicates merged into the first.

    clean: also merge queries, and merge queries and documents that differ only in case, white space or punctuation at the ends
    (builders.shaping.rows; start: as there). The remaining texts keep the ids that they have without `clean`.
    """
    answers = questions.select(text=pl.col("options").list.get(pl.col("gold")))
    tables = _build_retrieval(questions, answers, prefix, split)
    return merge_duplicates(tables, split=split, start=start) if clean else tables


def build_option_pool(questions: pl.DataFrame, others: Iterable[pl.DataFrame], *, prefix: str, split: str) -> Tables:
    """RAR-b's construction (Xiao et al., 2024): the corpus is all options of the questions, then those of the other splits.

    Options are in order, with exact duplicates merged into the first.
    """
    # Some versions of polars explode an empty list to a null, others to no row.
    options = [frame.select(text=pl.col("options").explode().drop_nulls()) for frame in (questions, *others)]
    return _build_retrieval(questions, pl.concat(options), prefix, split)


def _build_retrieval(questions: pl.DataFrame, pool: pl.DataFrame, prefix: str, split: str) -> Tables:
    """corpus (id `<prefix>-d-<n>`, title "", text), queries (id `<prefix>-q-<n>`, text), qrels (score 1); n from 0, in order."""

    def add_ids(frame: pl.DataFrame, letter: str) -> pl.DataFrame:
        return frame.with_columns(id=f"{prefix}-{letter}-" + pl.int_range(pl.len()).cast(pl.String))

    corpus = add_ids(pool.unique(maintain_order=True), "d").select("id", pl.lit("").alias("title"), "text")
    queries = add_ids(questions, "q").with_columns(answer=pl.col("options").list.get(pl.col("gold")))
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


def choose_answers(questions: pl.DataFrame, *, number: str, text: str, votes: str, accepted: pl.Expr) -> pl.DataFrame:
    """Questions with one answer each: the accepted one; else the one with the most votes, and of these that with the smallest id.

    questions: answers (List(Struct)), and any other columns. number, text, votes: the keys of an answer with its id (Int64), its
    text (String) and its votes (Int64). accepted: of the keys of an answer and, where these have other names, the columns of its
    question. Answers without text are passed over; null votes are the fewest.

    Returns the questions, in their order, with the columns answer (String), accepted (Int64: 1 or 0) and answer_votes (Int64)
    instead of answers; null for a question without an answer that has a text.
    """
    numbered = questions.with_row_index("question")
    answer = questions.schema["answers"]
    assert isinstance(answer, pl.List)
    assert isinstance(answer.inner, pl.Struct)
    keys = {field.name for field in answer.inner.fields}
    of_question = [name for name in accepted.meta.root_names() if name not in keys]
    listed = numbered.select("question", *of_question, "answers").filter(pl.col("answers").list.len() > 0)
    ranked = (
        listed.explode("answers")
        .unnest("answers")
        .filter(pl.col(text).str.strip_chars(WHITE_SPACE) != "")
        .select(
            "question",
            answer=text,
            accepted=accepted.fill_null(value=False).cast(pl.Int64),
            answer_votes=votes,
            number=number,
        )
        .sort(
            *("question", "accepted", "answer_votes", "number"), descending=[False, True, True, False], nulls_last=True
        )
    )
    best = ranked.unique("question", keep="first", maintain_order=True).drop("number")
    joined = numbered.drop("answers").join(best, on="question", how="left", maintain_order="left")
    return joined.drop("question")
